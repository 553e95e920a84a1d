"""Services and actions that MiniStack lacks, one small module each. How to add one: ``local/README.md``."""
