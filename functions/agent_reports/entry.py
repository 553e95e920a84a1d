"""Where Lambda enters agent_reports."""

from proctor.runtime.cold_start import collector_at_rest

with collector_at_rest():
    from agent_reports.app import lambda_handler

__all__ = ["lambda_handler"]
