.PHONY: bench bench-budgets

bench: venv bench-env emulator-env $(LOCAL_TEMPLATE) ## Speeds of session_limits, into benchmarks/RESULTS.md
	@PYTHONPATH=.:local $(BIN)/python -m benchmarks.sessions $(LOCAL_BUILD)/build

bench-budgets: venv $(LOCAL_TEMPLATE) ## Speeds of budget_holds at 10, 100 and 500 budgets, into benchmarks/budgets/RESULTS.md
	@PYTHONPATH=.:local $(BIN)/python -m benchmarks.budgets $(LOCAL_BUILD)/build
