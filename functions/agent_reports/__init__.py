"""agent_reports: takes in what the nodes' agents report; the only writer of observed state."""

FUNCTION = "agent_reports"
"""Its name in parameters, records and sources of events."""
