"""Speeds of budget_holds: what judging some hundred budgets costs."""
