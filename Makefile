# `make demo` and `make test` do all the set-up themselves.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
DOCS_READY := .venv/.docs-ready
# What users may install beside the package.
EXTRAS := cluster,onnx,pandas,parquet,report,s3,sklearn
PIP := -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# A third of pip's time. It leaves Python's own compiling to the first import.
UV := pip install --quiet --editable '.[$(EXTRAS)]' --group dev
# So each process but the first finds modules compiled, whatever the surroundings say.
unexport PYTHONDONTWRITEBYTECODE
# Half of a long test is waiting for processes to start; more of them gain little, need memory.
PROCESSES ?= 4
PYTEST := -m pytest --numprocesses $(PROCESSES) --dist loadfile
TEST := $(BIN)/python $(PYTEST)
# Folders of tests in which the first case shows of a version of a library what others show, too.
ALIKE := api cli clustering diagnostics features kernels methods models pipeline prediction runtime \
	solvers storage tasks
# Others than that of .venv, as far as they are installed.
PYTHONS ?= 3.12 3.13
# Those that a release is for.
DIST_PYTHONS ?= 3.11 3.12 3.13

.PHONY: help venv venv-lowest browser demo docs test test-all test-soak test-lowest test-pythons dist test-dist lint clean

help:
	@echo "make demo          train the demo's DC-SVM, on data that ships with the package"
	@echo "make test          the quick tests: five minutes on two cores, two more with the first compilation"
	@echo "make test-all      those and the long ones (half an hour on two cores)"
	@echo "make test-soak     a few of the long ones many times over (more than half an hour more)"
	@echo "make test-lowest   the quick tests at the lowest versions that pyproject.toml allows,"
	@echo "                   of most the first case of each"
	@echo "make test-pythons  the quick tests on Python $(PYTHONS), where they are installed"
	@echo "make docs          the documentation's pages, docs/_build/index.html; warnings are errors"
	@echo "make dist          an sdist, and a wheel made from it, in dist/"
	@echo "make test-dist     both in fresh environments of Python $(DIST_PYTHONS), where they are installed"
	@echo "make browser       Debian's Chromium and its driver, for a few long tests; as root"
	@echo "make lint          ruff and mypy"
	@echo "make venv          only the environment, with the dcsvm command in .venv/bin"

venv: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python $(PIP) uv
	$(BIN)/uv $(UV) --python $(BIN)/python --constraint constraints.txt
	@touch $@

browser:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
		(apt-get update --quiet && apt-get install --quiet --yes chromium chromium-driver)

# Only the pages need Sphinx, so that `make venv` is not longer for it.
$(DOCS_READY): $(READY)
	$(BIN)/uv pip install --quiet --group docs --python $(BIN)/python --constraint constraints.txt
	@touch $@

docs: $(DOCS_READY)
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --nitpicky docs docs/_build
	@echo "docs/_build/index.html: $$(find docs/_build -name '*.html' | wc -l) pages"

demo: $(READY)
	$(BIN)/dcsvm demo

test: $(READY)
	$(TEST) -m "not long"

test-all: $(READY)
	$(TEST) -m "not soak"

test-soak: $(READY)
	$(TEST) -m soak

# pip always takes the newest; uv can take the lowest of what pyproject.toml names.
venv-lowest: .venv-lowest/.ready

.venv-lowest/.ready: pyproject.toml
	$(PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/bin/python $(PIP) uv
	.venv-lowest/bin/uv $(UV) --python .venv-lowest/bin/python --resolution lowest-direct
	@touch $@

test-lowest: .venv-lowest/.ready
	DCSVM_TEST_FIRST_CASES="$(ALIKE)" .venv-lowest/bin/python $(PYTEST) -m "not long"

test-pythons: $(PYTHONS:%=test-python-%)

test-python-%:
	@python=$$(.ci/find-python $*); \
	if [ -z "$$python" ]; then echo "Python $* is not installed: its tests are skipped"; exit 0; fi; \
	set -ex; \
	[ -e .venv-$*/.ready ] || { \
		"$$python" -m venv --clear .venv-$*; \
		.venv-$*/bin/python $(PIP) pip; \
		.venv-$*/bin/python $(PIP) --editable '.[$(EXTRAS)]' --group dev; \
		touch .venv-$*/.ready; \
	}; \
	.venv-$*/bin/python $(PYTEST) -m "not long"

dist: $(READY)
	rm -rf dist
	$(BIN)/uv build --quiet --python $(BIN)/python --out-dir dist
	@ls -l dist

test-dist: $(DIST_PYTHONS:%=test-dist-%)

test-dist-%:
	@python=$$(.ci/find-python $*); \
	if [ -z "$$python" ]; then echo "Python $* is not installed: skipped"; exit 0; fi; \
	for file in dist/*; do .ci/test-dist $(BIN)/uv "$$python" "$$file" || exit 1; done

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf .venv .venv-* dist .demo .pytest_cache .mypy_cache .ruff_cache .hypothesis docs/_build docs/generated
