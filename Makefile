# Each target sets up what it needs: only Python 3.11+ and make must be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORES ?= $(shell nproc 2>/dev/null || echo 2)
READY := $(VENV)/.ready

.PHONY: help install run reproduction-docs test test-slow fuzz test-wheel test-cluster test-faults lint format clean bench bench-quick lock licenses wheel site docs

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

# Everything from a lock file, whose digests pip compares; fewfold itself needs nothing more.
PIP_LOCKED := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes

$(READY): pyproject.toml dependencies/dev.lock
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing fewfold and what it needs into $(VENV) (a minute or two) ..."
	@$(PIP_LOCKED) --requirement dependencies/dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m pip check --disable-pip-version-check
	@touch $(READY)

install: $(READY)  ## create .venv and install fewfold into it

run: $(READY)  ## run the default config and print where the report is
	@$(BIN)/fewfold run --cores $(CORES)

PYTEST := $(BIN)/python -m pytest -n $(CORES) --dist loadfile --no-loadscope-reorder

test: $(READY)  ## run all tests but the slow ones
	@$(PYTEST) -m "not slow"

test-slow: $(READY)  ## run the tests marked slow
	@$(PYTEST) -m slow

fuzz: $(READY)  ## change the contents of 5000 files, seal them again, and use them
	@$(BIN)/python tests/fuzz_contents.py --cases 5000

test-wheel: $(READY)  ## build the wheel, install it into a new environment, and use it from another folder
	@$(BIN)/python -m pytest tests/package -rs

wheel: $(READY)  ## build dist/fewfold-*.whl
	@$(BIN)/python -m hatchling build -t wheel -d dist

lint: $(READY)  ## check style of Python and Snakemake files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint
	$(BIN)/lint-imports
	$(BIN)/python tests/_words.py
	$(BIN)/codespell

format: $(READY)  ## put Python and Snakemake files into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

reproduction-docs: $(READY)  ## write docs/reproduction.md and its figures from data/published and data/measured
	@$(BIN)/python benchmarks/pages/reproduction.py

lock:  ## write dependencies/*.lock from pyproject.toml (UPGRADE=--upgrade takes the newest versions)
	@folder=$$(mktemp -d) && $(PYTHON) -m venv $$folder && $$folder/bin/python -m pip install --quiet pip-tools packaging \
	  && $$folder/bin/python dependencies/lock.py $(UPGRADE); status=$$?; rm -rf $$folder; exit $$status

licenses: $(READY)  ## write docs/licenses.md; refuse a run-time dependency under the GPL alone
	@$(BIN)/python dependencies/licenses.py

clean:  ## remove results and logs (data/cache stays)
	rm -rf results logs .snakemake

test-cluster: $(READY)  ## run the workflow on a real SLURM with two virtual nodes (needs root; installs Debian's packages)
	@tests/cluster/slurm.sh install
	@$(PIP_LOCKED) --requirement dependencies/slurm.lock
	@$(BIN)/python -m pytest tests/cluster --durations=0

test-faults: $(READY)  ## kill, damage and fill up runs, and see them finish all the same
	@$(BIN)/python -m pytest tests/faults -n $(CORES) -rs

SITE := $(VENV)/.site

$(SITE): $(READY) dependencies/docs.lock
	@$(PIP_LOCKED) --requirement dependencies/docs.lock
	@touch $(SITE)

site: $(SITE)  ## build the documentation into results/site; any warning is an error
	@$(BIN)/python docs/reading_grade.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@! grep -rlE --include="*.html" "<script[^>]*src=.https?:" results/site  # a page that fetches a script is listed: it must work offline

docs: site  ## build the documentation and serve it at http://localhost:8000
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

PEERS := $(VENV)/.peers

$(PEERS): $(READY)
	@$(PIP_LOCKED) --requirement dependencies/peers.lock
	@touch $(PEERS)

bench: $(PEERS)  ## measure fewfold beside its peers on MNIST and others (hours), and write docs/benchmarks.md
	@$(BIN)/python benchmarks/startup.py
	@for mode in quick full losses; do $(BIN)/python benchmarks/bench.py $$mode || exit 1; done
	@$(BIN)/fewfold run --cores $(CORES) --configfile config/benchmark.yaml --out results/benchmark
	@$(BIN)/fewfold run --cores $(CORES) --configfile config/benchmark.yaml --configfile config/benchmark_slow.yaml --out results/benchmark_slow
	@$(BIN)/python benchmarks/accuracy.py results/benchmark results/benchmark_slow
	@$(BIN)/python benchmarks/bench.py page

bench-quick: $(READY)  ## the same on small data, compared with the committed ratios (minutes)
	@$(BIN)/python benchmarks/bench.py quick --check
