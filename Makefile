# `make dev` and `make test` are the two commands; `make help` lists the rest.
# Works with GNU make 3.81 (macOS). Each step is a file with its inputs, so nothing is done twice.

.DELETE_ON_ERROR:
# Steps wait for each other, except those of `make test`.
ifndef SIDE_BY_SIDE
.NOTPARALLEL:
endif
.PHONY: help dev test verify audit types journals openapi contract coverage coverage-of-requirements figures fuzz e2e mcp-conformance mcp-conformance-server browser lighthouse faults faults-small faults-mutants bench scale smoke-model deploy key keys revoke build clean

PORT ?= 8787

# MODEL=local: a real, small model on this machine instead of the demo.
MODEL      ?=
MODEL_PORT ?= 18080

# Wrangler needs Node 22, which is an npm package here. A prefix rather than an exported PATH: `npm ci` replaces that
# very node, and make 3.81 ignores an exported PATH when it starts a command itself. The two switches keep wrangler from
# requests of its own: metrics, and a sample of `request.cf`.
TOOLS    := PATH="$(CURDIR)/node_modules/.bin:$$PATH" WRANGLER_SEND_METRICS=false CLOUDFLARE_CF_FETCH_ENABLED=false
WRANGLER := $(TOOLS) CI=1 wrangler

RUST   := .tools/rust
NPM    := node_modules/.package-lock.json

# Three builds of the Worker. The first is deployed, and every suite but the faults tests it, size and speed included.
# `make dev` serves the second, which compiles in seconds after a change. The third has faults on command, and the tools
# that the conformance tests of MCP call.
WORKER := build/index.js
DEV    := target/dev-worker/index.js
FAULTS := target/faults-worker/index.js

PAGE   := web/dist/index.html
D1     := .wrangler/state/migrated
LLM    := .tools/local-model/installed
PYTHON := .tools/contract/installed

PAGE_NPM := web/node_modules/.package-lock.json

RUST_SOURCES := $(shell find src durable -type f ! -name '*tests.rs' ! -path '*/tests/*' ! -path '*/testing/*') \
	Cargo.toml Cargo.lock rust-toolchain.toml
PAGE_SOURCES := $(shell find web -type f ! -path 'web/dist/*' ! -path '*/node_modules/*')

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-24s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

dev: $(DEV) $(PAGE) $(D1) .dev.vars $(if $(filter local,$(MODEL)),$(LLM)) ## build the missing parts and serve http://localhost:8787 (PORT=…, MODEL=local)
	@$(TOOLS) ESPALIER_WORKER=$(DEV) PORT=$(PORT) MODEL=$(MODEL) MODEL_PORT=$(MODEL_PORT) scripts/dev

build: $(WORKER) $(PAGE) ## the Worker and the page, as they are deployed

# A tool that cannot be made ends the build: within an assignment before a command its failure would be lost.
WORKER_BUILD = bindgen="$$(scripts/cargo-tool wasm-bindgen-cli)" && builder="$$(scripts/cargo-tool worker-build)" && \
	$(TOOLS) WASM_BINDGEN_BIN="$$bindgen" \
	WASM_OPT_BIN="$(CURDIR)/scripts/wasm-opt" \
	ESBUILD_BIN="$(CURDIR)/node_modules/.bin/esbuild" \
	"$$builder"

# ---- checks ----

# Two stages at a time, in this order: compiling a crate and linking the Worker use one core each, and the suites mostly
# wait. GNU make 4 prints the output of a stage when it ends, or is cut off; make 3.81 mixes the two.
BUILDS := verify $(WORKER) $(FAULTS) mcp-conformance figures faults-small
# The turns of these suites have time limits, so they begin when nothing is compiled any more, and the largest runs alone.
SUITES := contract browser mcp-conformance-server

LANES := --jobs=2 $(if $(filter output-sync,$(.FEATURES)),--output-sync) SIDE_BY_SIDE=1

test: $(RUST) $(NPM) $(PAGE_NPM) ## everything that CI runs
	@+$(MAKE) --no-print-directory $(LANES) $(BUILDS)
	@+$(MAKE) --no-print-directory e2e
	@+$(MAKE) --no-print-directory $(LANES) $(SUITES)

# A Worker with few features, as ARCHITECTURE.md has it.
FEW := files,web

# `isolate_memory` counts all allocations of its process, so it has its own process.
NATIVE := --workspace --lib --test isolate_memory

# N-207 N-229: these leave no test out.
verify: $(RUST) $(PAGE_NPM) ## the quick part: format, lints, native tests, the page's own checks, our dependencies
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo clippy --locked -p espalier --target wasm32-unknown-unknown -- -D warnings
	cargo clippy --locked -p espalier --target wasm32-unknown-unknown --features faults,fixtures -- -D warnings
	cargo clippy --locked -p espalier --target wasm32-unknown-unknown --no-default-features --features $(FEW) -- -D warnings
	@if cargo nextest --version >/dev/null 2>&1; then set -x; cargo nextest run --locked $(NATIVE); \
	else set -x; cargo test --locked $(NATIVE); fi
	cd web && $(TOOLS) npm run check && $(TOOLS) npm test
	$(TOOLS) node --test --test-reporter=dot tests/deploy/*.test.mjs
	$(TOOLS) scripts/description
	$(TOOLS) scripts/audit quick
	scripts/coverage-of-requirements
	$(TOOLS) scripts/lengths
	@for patch in tests/faults/mutants/*.patch; do git apply --check -C1 "$$patch" || exit 1; done
	$(TOOLS) node tests/bench/scale.mjs --check

types: $(RUST) ## the page's types, made from the wire's in Rust, and the lists of tools (`verify` compares them)
	ESPALIER_WRITE_TYPES=1 cargo test --locked --quiet --workspace --lib -- the_page_has_the_wires_types \
		each_context_is_offered_its_tools

journals: $(RUST) ## the golden journals of the present format, made by the engine's tests (`verify` compares them)
	ESPALIER_WRITE_JOURNALS=1 cargo test --locked --quiet -p engine --lib -- \
		the_journals_of_this_format_are_what_is_written

openapi: $(RUST) ## openapi.json, made from the routing table and the wire's types (`verify` compares it)
	ESPALIER_WRITE_OPENAPI=1 cargo test --locked --quiet -p espalier --lib the_file_matches_the_routes_and_types

audit: $(RUST) $(NPM) $(PAGE_NPM) ## known holes, licences and sources of our dependencies (asks the network)
	@$(TOOLS) scripts/audit

# The binary starts the fake LLM and `wrangler dev`, runs the command against them and stops both.
E2E := $(TOOLS) ESPALIER_SKIP_BUILD=1 scripts/harness e2e

e2e: $(WORKER) $(PAGE) $(PYTHON) ## the end-to-end tests against real workerd (ARGS="threads:: quotas::")
	$(E2E) scripts/e2e-tests $(ARGS)

# The protocol's own tests of clients. tests/e2e/mcp.rs tests the client in the Worker.
mcp-conformance: $(RUST) $(NPM) ## the MCP client against the conformance tests of the protocol
	@$(TOOLS) scripts/mcp-conformance

# Its tools stand behind the feature `fixtures`, in the build that has faults too.
mcp-conformance-server: $(FAULTS) $(PAGE) ## our MCP server against the conformance tests of the protocol, in both revisions
	E2E_LOGS=target/e2e/conformance $(E2E) --instances fixtures -- node tests/conformance/server.mjs

contract: $(WORKER) $(PAGE) $(PYTHON) ## schemathesis against openapi.json: no 5xx, and only promised answers (ARGS="--seed 7 --max-examples 500")
	E2E_LOGS=target/e2e/contract $(E2E) --instances main -- scripts/contract $(ARGS)

browser: $(WORKER) $(PAGE) ## the page in a headless Chromium (ARGS="safety access")
	CHROMIUM_BIN="$$(scripts/chromium)" && export CHROMIUM_BIN && \
		E2E_LOGS=target/e2e/browser $(E2E) --instances main,closed,demo,mcp -- node tests/browser/page.mjs $(ARGS)

lighthouse: $(WORKER) $(PAGE) ## Lighthouse's marks for the page (fetches Lighthouse from npm)
	CHROMIUM_BIN="$$(scripts/chromium)" && export CHROMIUM_BIN && $(E2E) node tests/browser/lighthouse.mjs

faults: $(WORKER) $(PAGE) $(FAULTS) ## kill the runtime 400 times under load, and check that no turn is lost and no finished call repeated (ARGS="--seed 7")
	$(TOOLS) scripts/harness espalier-faults $(ARGS)

faults-small: $(WORKER) $(FAULTS)
	$(TOOLS) scripts/harness espalier-faults --small $(ARGS)

faults-mutants: $(WORKER) $(NPM) ## plant bugs, and check that the harness of `make faults` finds each of them (ONLY="NAME …")
	@$(TOOLS) ONLY="$(ONLY)" scripts/faults-mutants

# The code that runs on the host. The object and its stores exist on wasm32 alone; the end-to-end tests run them.
coverage: $(RUST) ## how much of the engine's code its native tests run, by file
	rustup component add llvm-tools
	"$$(scripts/cargo-tool cargo-llvm-cov)" llvm-cov --locked -p wire -p engine -p providers -p features --lib \
		--ignore-filename-regex '(tests?|_tests)(/[a-z_]+)?\.rs$$|/testing/|\.cargo|rustup'

# A million random turns, then each parser of foreign bytes for so many seconds. Earlier finds stand in fuzz/seeds, new
# ones in fuzz/artifacts.
FUZZ_TURNS   ?= 1000000
FUZZ_SECONDS ?= 180
FUZZ_TARGETS := sse deltas chat_request output_schema page address

fuzz: $(RUST) ## FUZZ_TURNS random turns, and random bytes for each parser (FUZZ_SECONDS each)
	ESPALIER_TURNS=$(FUZZ_TURNS) cargo test --locked --profile bench -p engine --lib turn::tests::property
	@for target in $(FUZZ_TARGETS); do \
		mkdir -p fuzz/corpus/$$target && echo "fuzzing $$target for $(FUZZ_SECONDS) s" && \
		PATH="$$(dirname "$$(scripts/cargo-tool cargo-fuzz)"):$$PATH" cargo fuzz run -s none $$target \
			fuzz/corpus/$$target fuzz/seeds/$$target -- \
			-max_total_time=$(FUZZ_SECONDS) -max_len=8192 -timeout=5 -print_final_stats=1 || exit 1; \
	done

coverage-of-requirements: ## fails if no test names a requirement of status `must`
	@scripts/coverage-of-requirements

# The same code with its names, for the table by crate: the shipped code is stripped.
NAMED := target/named/wasm32-unknown-unknown/release/espalier.wasm

$(NAMED): $(WORKER)
	CARGO_PROFILE_RELEASE_STRIP=none cargo build --locked --release --lib -p espalier \
		--target wasm32-unknown-unknown --target-dir target/named
	@touch $@

figures: $(WORKER) $(NPM) ## fail if the upload or the rows that a turn writes grew above what is recorded
	@$(TOOLS) node tests/bench/figures.mjs

bench: $(WORKER) $(NAMED) $(NPM) ## size, cold start, latency, throughput, CPU, rows and cost beside three floors, and the dialects (ARGS="--help")
	@$(TOOLS) node tests/bench/run.mjs $(ARGS)

scale: $(NPM) ## docs/scale.md: load, cost and limits from 1,000 to 100 million turns a day (ARGS="--write", "--figures FILE")
	@$(TOOLS) node tests/bench/scale.mjs $(ARGS)

# Real turns with a real model: what holds for every turn, never what the model decides. Not part of `make test`.
smoke-model: $(WORKER) $(PAGE) $(if $(SMOKE_BASE_URL),,$(LLM)) ## real turns with the local model (or SMOKE_BASE_URL=… SMOKE_MODEL=…, and SMOKE_KEY in the environment)
	@$(TOOLS) MODEL_PORT=$(MODEL_PORT) scripts/smoke-model

# ---- operation ----

key: $(D1) ## mint an API key, locally or with REMOTE=1 (NAME=… TENANT=… SCOPES=… DAYS=… KEY_USER=…)
	@$(TOOLS) REMOTE=$(REMOTE) NAME="$(NAME)" TENANT="$(TENANT)" SCOPES="$(SCOPES)" DAYS="$(DAYS)" \
		KEY_USER="$(KEY_USER)" scripts/make-key

keys: $(D1) ## the API keys, locally or with REMOTE=1
	@$(TOOLS) REMOTE=$(REMOTE) scripts/keys

revoke: $(D1) ## revoke an API key, locally or with REMOTE=1 (PREFIX=…)
	@test -n "$(PREFIX)" || { echo "make revoke: which one? PREFIX=… (make keys lists them)" >&2; exit 2; }
	@$(TOOLS) REMOTE=$(REMOTE) PREFIX="$(PREFIX)" scripts/keys

deploy: $(NPM) $(if $(filter 1,$(DRY)),,$(WORKER) $(PAGE)) ## set up what your Cloudflare account lacks, and deploy to it (DRY=1 prints the commands)
	@$(TOOLS) DRY=$(DRY) YES=$(YES) scripts/deploy

clean: ## deletes the builds and the local databases; keeps .dev.vars and the tools
	rm -rf build target .wrangler web/dist

# ---- steps ----

# rust-toolchain.toml names version, components and target; rustup installs them.
$(RUST): rust-toolchain.toml
	@command -v rustup >/dev/null || { echo "rustup is missing: see https://rustup.rs" >&2; exit 1; }
	rustup target add wasm32-unknown-unknown
	cargo --version
	@mkdir -p $(@D) && touch $@

$(NPM): package.json package-lock.json .npmrc
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' || \
		{ echo "Node 20 or newer is missing: see https://nodejs.org" >&2; exit 1; }
	npm ci --no-fund --no-audit
	@touch $@

$(WORKER): $(RUST_SOURCES) scripts/wasm-opt scripts/function-order.mjs $(RUST) $(NPM)
	$(WORKER_BUILD) --release
	@touch $@

$(DEV): $(RUST_SOURCES) $(RUST) $(NPM)
	$(WORKER_BUILD) --profile local --no-opt --out-dir $(@D)
	@touch $@

$(FAULTS): $(RUST_SOURCES) $(RUST) $(NPM)
	$(WORKER_BUILD) --profile local --no-opt --out-dir $(@D) -- --features faults,fixtures
	@touch $@

$(PAGE_NPM): web/package.json web/package-lock.json $(NPM)
	cd web && $(TOOLS) npm ci --no-fund --no-audit
	@touch $@

$(PAGE): $(PAGE_SOURCES) $(PAGE_NPM)
	cd web && $(TOOLS) npm run build
	@touch $@

$(D1): migrations/*.sql wrangler.toml $(NPM)
	$(WRANGLER) d1 migrations apply DB --local
	@touch $@

$(PYTHON): tests/contract/requirements.txt
	scripts/contract install
	@touch $@

$(LLM): scripts/local-model scripts/local-model.py scripts/local-model.txt
	scripts/local-model install
	@touch $@

# Made once and then yours: it switches anonymous sessions on, with a secret of this machine.
.dev.vars:
	@umask 077; secret=$$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n'); \
		sed "s/^SESSION_SECRET=.*/SESSION_SECRET=$$secret/" .dev.vars.example > $@
