# `make demo` and `make test` do all the set-up themselves.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help venv demo test test-all lint clean

help:
	@echo "make demo      train the demo's DC-SVM, on data that ships with the package"
	@echo "make test      the quick tests (under 5 minutes)"
	@echo "make test-all  those and the long ones (under 40 minutes)"
	@echo "make lint      ruff and mypy"
	@echo "make venv      only the environment, with the dcsvm command in .venv/bin"

venv: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--editable '.[cluster,parquet,report,s3,sklearn]' --group dev
	@touch $(READY)

demo: $(READY)
	$(BIN)/dcsvm demo

test: $(READY)
	$(BIN)/python -m pytest -m "not long"

test-all: $(READY)
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf .venv .demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
