"""The command `proctor`: what an operator asks and tells a deployed stack. Every write says what it changed."""
