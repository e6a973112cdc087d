# One target directory outside the checkout, shared by demo, tests and CI; one profile.
export CARGO_TARGET_DIR ?= $(HOME)/.cache/groundwork/target
BIN := $(CARGO_TARGET_DIR)/debug
SHELL := /bin/bash

.PHONY: demo build test test-faults lint generate bench gates help

help: ## Show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: ## Ingest the example, ask three questions, then serve until Ctrl-C (DEMO_EXIT=1 ends after the answers)
	@hack/demo.sh

build: ## Build both binaries
	cargo build --locked --workspace

test: ## Run all tests; prints the number skipped
	@hack/test.sh

test-faults: ## The operator with every fault between it and a real API server; prints how many runs came to the same
	@hack/test-faults.sh

lint: ## Formatting, clippy with warnings as errors, licences and sources of dependencies
	@hack/lint.sh

generate: ## Rewrite generated files: CRDs in the chart, API reference, examples' snapshots
	GROUNDWORK_GENERATE=1 cargo test --locked -q -p groundwork-crds -p groundwork --lib --bins generated

bench: ## Measure speed and size side by side with the named peers
	@hack/bench.sh

gates: ## The whole table of evaluation gates (needs GROUNDWORK_EVAL_DATA)
	@hack/gates.sh
