"""Speeds of session_limits: cold start, own cost of a warm event, AWS calls, and the sweep as sessions grow."""
