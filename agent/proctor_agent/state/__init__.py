"""What the agent keeps on its node: its key, the last intents, and what each hold replaced."""
