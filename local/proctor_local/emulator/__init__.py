"""The one place that touches MiniStack's private names; ``selftest`` says at start which of them changed."""
