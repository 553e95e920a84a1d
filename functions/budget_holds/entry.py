"""Where Lambda enters budget_holds."""

from proctor.runtime.cold_start import collector_at_rest

with collector_at_rest():
    from budget_holds.app import lambda_handler

__all__ = ["lambda_handler"]
