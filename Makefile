# `make demo` and `make test` do all the set-up themselves.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# A file's tests share what it made; more than four processes gain little and need memory.
TEST := $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile

.PHONY: help venv browser demo test test-all lint clean

help:
	@echo "make demo      train the demo's DC-SVM, on data that ships with the package"
	@echo "make test      the quick tests (under 5 minutes)"
	@echo "make test-all  those and the long ones (under 40 minutes)"
	@echo "make browser   Debian's Chromium and its driver, for a few long tests; as root"
	@echo "make lint      ruff and mypy"
	@echo "make venv      only the environment, with the dcsvm command in .venv/bin"

venv: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--editable '.[cluster,onnx,pandas,parquet,report,s3,sklearn]' --group dev
	@touch $(READY)

browser:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
		(apt-get update --quiet && apt-get install --quiet --yes chromium chromium-driver)

demo: $(READY)
	$(BIN)/dcsvm demo

test: $(READY)
	$(TEST) -m "not long"

test-all: $(READY)
	$(TEST)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf .venv .demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
