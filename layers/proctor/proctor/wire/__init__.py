"""AWS envelopes as pydantic models. Parses only; decides nothing and calls nothing."""
