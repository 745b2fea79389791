# What one can do here; bare `make` lists it.
SHELL := /bin/sh
VENV := .venv
CACHE := $(or $(SONORANT_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/sonorant)
BIN := $(VENV)/bin
PROTOS := $(wildcard protos/sonorant/v1/*.proto)
SECTIONS := $(wildcard sonorant/recipe/*.py sonorant/*/*section.py sonorant/augment/*.py)
VALUES_SCHEMA := charts/sonorant/values.schema.json
CHART_STAGES := charts/sonorant/stages.yaml
# Of `make demo` and `make ablation`: a recipe's name; recordings of all but digits must be in the data folder.
RECIPE := digits
RUN := runs/$(RECIPE)
# The whole chain in one process: few cores have more of it than of a service per stage, and examples are the same.
DEMO := $(BIN)/sonorant demo --recipe recipes/$(RECIPE).yaml --set pipeline.layout=fused
MINUTES := 3
SEED :=
# Of `make chaos`, sharing its minutes: command (sonorant train, faults from outside), split, fused, strict, rounded, damaged.
VARIANT := split command
IMAGES := localhost/sonorant
TARGETS :=
# Of `make results`: names of rows, or patterns such as 'digits-*'; default: all.
ROWS :=
# Folder of helm, kubectl and an S3 server, if they are not in PATH; a test cluster keeps its programs there.
CLUSTER_BIN ?= $(HOME)/.cache/test-cluster/bin

.PHONY: help setup demo ablation results test chaos drill images test-cluster test-large test-gpu lint format verify docs protos lock clean distclean
help: ## list what one can do (the default)
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | awk -F '\t' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: ## install system packages, virtual environment, Horovod and protos
	@bootstrap/system
	@bootstrap/venv $(VENV) $(CACHE) dev
	@$(MAKE) --no-print-directory protos

demo: setup ## the main job: prepare, train, export, serve, stream, report (resumes; done: seconds; RECIPE)
	$(DEMO) --run $(RUN)

ablation: setup ## train once more without augmentation and show what it brings
	$(DEMO) --run $(RUN)
	$(DEMO) --run $(RUN)-ablation --set 'stages=[]'
	$(BIN)/sonorant report --run $(RUN) --compare $(RUN)-ablation

results: setup ## train and measure each system of recipes/results/systems.yaml that has no report yet, in docs/results.md (ROWS)
	$(BIN)/sonorant results run $(if $(ROWS),$(patsubst %,'%',$(ROWS)))

test test-cluster: export PATH := $(PATH):$(CLUSTER_BIN)

# A browser plays its fake microphone in real time, so the tests of the web page have the processors to themselves.
IN_BROWSER := $(wildcard tests/services/recognizer/test_web_page*.py)

# Three at a time on two processors: many wait for processes to start, or to be found dead. A test that hangs fails by name
# after ten minutes, twice a test's patience; one that hangs below Python ends its worker, with all threads' stacks.
test: setup ## run the tests, three files at a time; helm and an S3 server for them are built where Go is, Chromium is installed by root
	@tests/programs $(CLUSTER_BIN)
	$(BIN)/pytest -q -n 3 --dist loadfile --no-loadscope-reorder --timeout 600 $(addprefix --ignore ,$(IN_BROWSER)) \
	    -o faulthandler_timeout=660 -o faulthandler_exit_on_timeout=true
	$(BIN)/pytest -q --timeout 600 $(IN_BROWSER)

chaos: setup ## break everything during trainings; prove each example used once, and no standstill (MINUTES, SEED, VARIANT)
	PYTHONPATH=.:tests $(BIN)/python -m chaos --minutes $(MINUTES) $(VARIANT:%=--variant %) $(if $(SEED),--seed $(SEED))

drill: setup ## time until work flows again, by process and fault (docs/faults.md); a kill: 3 s, 5 s for Redis and coordinator
	PYTHONPATH=.:tests $(BIN)/python -m chaos.drill
	PYTHONPATH=.:tests $(BIN)/python -m chaos.command_drill --out runs/drill.json

images: ## build the images with docker, podman or buildah; PUSH=1 pushes them (TAG, BASE, BUILD_FLAGS: see docker/build)
	docker/build $(IMAGES) $(TARGETS)

test-cluster: setup ## on a Kubernetes cluster: KUBECONFIG's, or one made here by ../shared/cluster (TESTS, DIGITS=whole, LAUNCHER=mpijob)
	tests/cluster/run $(BIN)/pytest -q -n 2 tests/cluster $(if $(TESTS),-k '$(TESTS)')

test-large: setup ## build systems at their papers' sizes and train two steps of each (8 GiB of memory)
	$(BIN)/pytest -q tests/large

test-gpu: setup ## hold a GPU's kernels and steps against the CPU's (TensorFlow's build for GPUs in .venv: docs/train-your-speech.md)
	$(BIN)/pytest -q tests/gpu

lint: setup ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup ## mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

verify: setup ## regenerate what is generated and compare; the site, with its links
	$(BIN)/sonorant recipe schema | diff docs/recipe.schema.json - || { echo "run: make docs/recipe.schema.json"; exit 1; }
	$(BIN)/python charts/stages.py | diff $(CHART_STAGES) - || { echo "run: make $(CHART_STAGES)"; exit 1; }
	$(BIN)/sonorant recipe reference | diff docs/recipe.md - || { echo "run: make docs/recipe.md"; exit 1; }
	$(BIN)/sonorant results page | diff docs/results.md - || { echo "run: make docs/results.md"; exit 1; }
	$(BIN)/python charts/schema.py | diff $(VALUES_SCHEMA) - || { echo "run: make $(VALUES_SCHEMA)"; exit 1; }
	$(BIN)/mkdocs build --strict

docs: setup ## build the site of docs/ and docstrings in build/site
	$(BIN)/mkdocs build

docs/recipe.schema.json: $(SECTIONS)
	$(BIN)/sonorant recipe schema > $@

docs/recipe.md: $(SECTIONS)
	$(BIN)/sonorant recipe reference > $@

docs/results.md: recipes/results/systems.yaml $(wildcard recipes/*.yaml docs/results/*.json sonorant/results/*.py)
	$(BIN)/sonorant results page > $@

$(VALUES_SCHEMA): charts/schema.py $(SECTIONS)
	$(BIN)/python charts/schema.py > $@

$(CHART_STAGES): charts/stages.py $(wildcard sonorant/augment/*.py) services/stage/wiring.py
	$(BIN)/python charts/stages.py > $@

protos: sonorant/v1/__init__.py
sonorant/v1/__init__.py: $(PROTOS) protos/compile.py
	@$(BIN)/python protos/compile.py

lock: setup ## resolve the requirements anew
	requirements/lock

clean: ## undo `make demo`: runs, and what was downloaded or spoken for it
	rm -rf runs .cache

distclean: clean ## undo everything: virtual environment, caches, compiled protos
	rm -rf $(VENV) $(CACHE) build/site sonorant/v1 .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
