SEEDS ?= 200
SUITE ?=

.PHONY: simulate
simulate: venv ## Simulate whole days with faults, then the planted bugs: make simulate SEEDS=2000
	@PYTHONHASHSEED=0 PYTHONPATH=layers/proctor:functions:agent:. $(BIN)/python -m tests.simulation --suite "$(SUITE)" --seeds $(SEEDS) --processes $(JOBS)

.PHONY: simulate-seed
simulate-seed: venv ## Tell the story of one seed: make simulate-seed SEED=7 [SUITE=budget] [PLANTED="dry-run"]
	@PYTHONHASHSEED=0 PYTHONPATH=layers/proctor:functions:agent:. $(BIN)/python -m tests.simulation --suite "$(SUITE)" --seed $(or $(SEED),0) --planted "$(PLANTED)"
