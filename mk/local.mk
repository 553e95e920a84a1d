# The local AWS: an exam week to look at, and the tests on the deployed stack. See docs/local.md.

LOCAL_BUILD := .aws-sam-local
LOCAL_ARCH := $(if $(filter arm64 aarch64,$(shell uname -m)),arm64,x86_64)
LOCAL_TEMPLATE := $(LOCAL_BUILD)/build/template.yaml
LOCAL_SOURCES = template.yaml $(shell find functions layers scripts -type f -not -name '*.pyc')
RUNTIME_HOME := .runtime
PORT ?= $(if $(KEEP),4566,0)
E2E_FLAGS ?=
PLAY = --template $(LOCAL_TEMPLATE) --emulator $(EMULATOR_HOME)/bin/python --architecture $(LOCAL_ARCH) --port $(PORT)
LOCKS += requirements/runtime

$(LOCAL_TEMPLATE): $(LOCAL_SOURCES) | $(SAM_HOME)/.installed
	@echo "building layers and functions for $(LOCAL_ARCH) into $(LOCAL_BUILD)"
	@$(SAM) build --cached --parallel --build-dir $(LOCAL_BUILD)/build --cache-dir $(LOCAL_BUILD)/cache \
		--parameter-overrides Architecture=$(LOCAL_ARCH) > $(LOCAL_BUILD).log 2>&1 \
		|| { cat $(LOCAL_BUILD).log; rm -f $(LOCAL_BUILD).log; exit 1; }
	@rm -f $(LOCAL_BUILD).log
	@touch $@

.PHONY: run
run: venv emulator-env $(LOCAL_TEMPLATE) ## An exam week, then the budgets' week, on the local AWS (KEEP=1 leaves the first up, PORT=n)
	@PYTHONPATH=local exec $(BIN)/python -m proctor_local.exam_week $(PLAY) $(if $(KEEP),--keep)
	@PYTHONPATH=local exec $(BIN)/python -m proctor_local.budget_week $(PLAY)

.PHONY: run-budgets
run-budgets: venv emulator-env $(LOCAL_TEMPLATE) ## Departments spend their money on a real Slurm (KEEP=1 leaves it up, PORT=n)
	@PYTHONPATH=local exec $(BIN)/python -m proctor_local.budget_week $(PLAY) $(if $(KEEP),--keep)

.PHONY: runtime-env
runtime-env: $(RUNTIME_HOME)/.installed

$(RUNTIME_HOME)/.installed: requirements/runtime.txt
	$(call install,$(RUNTIME_HOME),requirements/runtime.txt,3.13)
	@touch $@

.PHONY: e2e
e2e: venv emulator-env sam-env runtime-env $(LOCAL_TEMPLATE) ## Scenarios on the deployed stack, and every IAM statement proved
	@$(BIN)/python -m pytest -q -p no:cacheprovider tests/e2e $(E2E_FLAGS)

.PHONY: e2e-budgets
e2e-budgets: venv emulator-env $(LOCAL_TEMPLATE) ## Of those, budgets on the deployed stack and a real Slurm
	@$(BIN)/python -m pytest -q -p no:cacheprovider tests/e2e/budgets $(E2E_FLAGS)
