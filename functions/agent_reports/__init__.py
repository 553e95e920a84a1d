"""agent_reports: takes in what the nodes' agents report; the only writer of observed state."""
