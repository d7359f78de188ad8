PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
RUN_ARCH := arch_configs/multiprecision_16x16.yaml
RUN_NET := workloads/demo_digits.yaml
RUN_DATA := workloads/demo_digits_test.npz
RUN_INPUTS := workloads/demo_digits_calibration.npz

.DEFAULT_GOAL := help
.PHONY: help install run test test-all check bench

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[onnx,test,check]'
	touch $(STAMP)

install: $(STAMP) ## create .venv with all extras

run: $(STAMP) ## the main job on the built-in example, into results/demo
	$(BIN)/seada run $(RUN_ARCH) $(RUN_NET) --precision auto --inputs $(RUN_INPUTS) --eval $(RUN_DATA) --out results/demo

test: $(STAMP) ## the fast tier of tests
	$(BIN)/seada warmup
	$(BIN)/pytest -n 2

test-all: $(STAMP) ## all tests
	$(BIN)/seada warmup
	$(BIN)/pytest -n 2 -m ''

check: $(STAMP) ## ruff and mypy strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP) ## times and memory, one core, after warm-up; with PEERS=1 AccelForge and ZigZag beside ours
	$(BIN)/python scripts/bench.py $(if $(PEERS),--peers) $(if $(JSON),--json $(JSON))
