.PHONY: fuzz

fuzz: venv ## hostile events into every function: make fuzz N=100000
	@PYTHONPATH=layers/proctor:functions:agent:. $(BIN)/python -m tests.fuzz $(or $(N),20000) $(or $(SEED),1)
