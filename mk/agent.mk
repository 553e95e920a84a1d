# The agent on the nodes: its bundle, its tests on a real Slurm, its drills and benchmarks.

NODES ?= 100 1000 5000
# JOBS is also the number of test workers: only a value given on the command line is meant for the benchmark.
BENCH_JOBS := $(if $(filter command line,$(origin JOBS)),$(JOBS))
ROUNDS ?= 1
AGENT_PATH := .:local:agent:layers/proctor

.PHONY: agent
agent: ## Make the agent's offline bundle in agent/build (reproducible, with its SHA-256)
	@python3 agent/build_agent.py

.PHONY: test-slurm
test-slurm: venv ## The agent against a real Slurm (installs Slurm by apt where that is possible)
	@$(BIN)/python -m pytest -m slurm tests/agent

.PHONY: drill-holds
drill-holds: venv ## Every way to undo a hold, and the seconds until it is back, into benchmarks/agent/RESULTS.md
	@PYTHONPATH=$(AGENT_PATH) $(BIN)/python benchmarks/agent/drill_holds.py $(ROUNDS)

.PHONY: bench-agent
bench-agent: venv ## Memory and processor time of the agent, into benchmarks/agent/RESULTS.md (NODES="100 5000" JOBS=n)
	@status=0; for nodes in $(NODES); do \
		PYTHONPATH=$(AGENT_PATH) $(BIN)/python benchmarks/agent/bench_agent.py \
			$$nodes $(or $(BENCH_JOBS),$$((nodes * 2))) || status=$$?; \
	done; exit $$status

.PHONY: lint-lifecycle
lint-lifecycle: ## shellcheck over the lifecycle scripts
	@command -v shellcheck >/dev/null || { echo "shellcheck is missing: apt-get install shellcheck"; exit 1; }
	@shellcheck lifecycle/*.sh
