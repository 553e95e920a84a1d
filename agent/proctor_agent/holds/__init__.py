"""What to do about each intent: pure decisions from what was seen, and the loop that carries them out."""
