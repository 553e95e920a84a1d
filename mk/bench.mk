.PHONY: bench

bench: venv bench-env emulator-env $(LOCAL_TEMPLATE) ## Speeds of session_limits, into benchmarks/RESULTS.md
	@PYTHONPATH=.:local $(BIN)/python -m benchmarks.sessions $(LOCAL_BUILD)/build
