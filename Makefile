SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
UV := scripts/uv
SAM_HOME := .tools/sam
EMULATOR_HOME := .emulator
BENCH_HOME := .bench
ARCH ?= arm64
JOBS ?= 2
LOCKS := layers/dependencies/requirements requirements/dev requirements/sam requirements/emulator requirements/bench requirements/uv
FAST_TESTS = $(filter-out tests/e2e/ tests/simulation/,$(wildcard tests/*/))
FAST_MARKERS := not (slow or slurm or emulator or stack)

unexport AWS_CA_BUNDLE PIP_FIND_LINKS PYTHONPATH VIRTUAL_ENV
export PYTHONDONTWRITEBYTECODE := 1
export SAM_CLI_TELEMETRY := 0

SAM := PATH="$(CURDIR)/$(SAM_HOME)/bin:$$PATH" $(SAM_HOME)/bin/sam

define install
@rm -f $(1)/.installed
@test -x $(1)/bin/python || { python=$$(scripts/find-python $(3)) && $(UV) venv -q --clear -p "$$python" $(1); }
@$(UV) pip sync -q --python $(1)/bin/python --require-hashes $(2)
endef

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: venv
venv: $(VENV)/.installed ## Make .venv: what tests and checks need, and the `proctor` command

$(VENV)/.installed: requirements/dev.txt pyproject.toml $(wildcard cli/proctor_cli/__init__.py)
	$(call install,$(VENV),requirements/dev.txt,3.13 3.12)
	@$(UV) pip install -q --python $(BIN)/python --offline --no-deps --no-build-isolation -e .
	@touch $@

.PHONY: sam-env
sam-env: $(SAM_HOME)/.installed

$(SAM_HOME)/.installed: requirements/sam.txt
	$(call install,$(SAM_HOME),requirements/sam.txt,3.13)
	@touch $@

.PHONY: emulator-env
emulator-env: $(EMULATOR_HOME)/.installed

$(EMULATOR_HOME)/.installed: requirements/emulator.txt
	$(call install,$(EMULATOR_HOME),requirements/emulator.txt,3.13 3.12)
	@touch $@

.PHONY: bench-env
bench-env: $(BENCH_HOME)/.installed

$(BENCH_HOME)/.installed: requirements/bench.txt
	$(call install,$(BENCH_HOME),requirements/bench.txt,3.13 3.12)
	@touch $@

.PHONY: check
check: format-check lint types imports test sam-validate sam-build ## Everything a change must pass

.PHONY: test
test: venv ## The fast tests, without a network, a Slurm or an emulator
	@$(BIN)/python -m pytest -n $(JOBS) -m "$(FAST_MARKERS)" $(FAST_TESTS)

.PHONY: fmt
fmt: venv ## Format the code and apply the safe fixes
	@$(BIN)/ruff format -q
	@$(BIN)/ruff check -q --fix-only

.PHONY: format-check
format-check: venv ## Fail when `make fmt` would change the layout
	@$(BIN)/ruff format -q --check --diff

.PHONY: lint
lint: venv ## Style, sizes, and the lists that must agree
	@$(BIN)/ruff check -q
	@$(BIN)/python -m scripts.consistency

.PHONY: types
types: venv ## mypy, strict
	@$(BIN)/mypy
	@$(if $(wildcard agent/proctor_agent/__init__.py),$(BIN)/mypy --python-version 3.10 -p proctor_agent)

.PHONY: imports
imports: venv ## Who may import whom
	@PYTHONPATH=layers/proctor:functions:agent $(BIN)/lint-imports --no-cache --no-logo

.PHONY: sam-validate
sam-validate: sam-env ## Validate template.yaml, without credentials
	@$(SAM) validate --lint

.PHONY: sam-build
sam-build: sam-env ## Build layers and functions for ARCH (arm64, or x86_64)
	$(if $(filter arm64 x86_64,$(ARCH)),,$(error ARCH=$(ARCH): use arm64 or x86_64))
	@$(SAM) build --cached --parallel --parameter-overrides Architecture=$(ARCH)

.PHONY: lock
lock: ## Write the locks again (UPGRADE=--upgrade for newer versions)
	@for lock in $(LOCKS); do \
		$(UV) pip compile -q --no-header --generate-hashes --universal --python-version 3.12 \
			-p "$$(scripts/find-python)" $(UPGRADE) "$$lock.in" -o "$$lock.txt" || exit 1; \
	done

.PHONY: schemas
schemas: venv ## Write docs/schema again from the policy types
	@$(BIN)/python -m proctor_cli.schemas

.PHONY: clean
clean: ## Remove what the other targets made
	rm -rf $(VENV) .tools $(EMULATOR_HOME) $(BENCH_HOME) .runtime .aws-sam .aws-sam-local .mypy_cache .pytest_cache .ruff_cache .hypothesis proctor.egg-info

include $(sort $(wildcard mk/*.mk))
