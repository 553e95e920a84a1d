"""Where Lambda enters session_limits."""

from proctor.runtime.cold_start import collector_at_rest

with collector_at_rest():
    from session_limits.app import lambda_handler

__all__ = ["lambda_handler"]
