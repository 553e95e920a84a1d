"""session_limits: ends Session Manager sessions over a person's cap, and those that nobody may have."""

FUNCTION = "session_limits"
"""Its name in parameters, records and sources of events."""
