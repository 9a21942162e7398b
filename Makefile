# `make dev` and `make test` are the two commands; `make help` lists the rest.
# Works with GNU make 3.81 (macOS). Each step is a file with its inputs, so nothing is done twice.

.DELETE_ON_ERROR:
# Steps wait for each other, except where a target makes several lanes.
ifndef SIDE_BY_SIDE
.NOTPARALLEL:
endif

PORT ?= 8787

# MODEL=local: a real, small model on this machine instead of the demo.
MODEL      ?=
MODEL_PORT ?= 18080

# Wrangler needs Node 22, which is an npm package here. A prefix rather than an exported PATH: `npm ci` replaces that
# very node, and make 3.81 ignores an exported PATH when it starts a command itself. The two switches keep wrangler from
# requests of its own: metrics, and a sample of `request.cf`.
TOOLS    := PATH="$(CURDIR)/node_modules/.bin:$$PATH" WRANGLER_SEND_METRICS=false CLOUDFLARE_CF_FETCH_ENABLED=false
WRANGLER := $(TOOLS) CI=1 wrangler

# With NAME, ADVICE and a command: runs it, and prints a line with its time.
STEP  := scripts/step
# The same, and prints the output.
STAGE := scripts/step --show
AGAIN := "Is there a network? The same command goes on where it stopped."
LOG   := ""

RUST     := .tools/rust
CRATES   := .tools/crates
NPM      := node_modules/.package-lock.json
PAGE_NPM := web/node_modules/.package-lock.json
PAGE     := web/dist/index.html
D1       := .wrangler/state/migrated
LLM      := .tools/local-model/installed
PYTHON   := .tools/contract/installed
LIBRARIES := .tools/libraries/installed
BROWSER  := .tools/chromium

# Two builds of the Worker. The first is deployed. The second compiles fast: `make dev` serves it, and the suites test it.
# It has faults on command and the tools of MCP's conformance tests. They answer only where the variables FAULTS_URL and
# FIXTURES are set.
WORKER := build/index.js
DEV    := target/dev-worker/index.js
# The first before wasm-opt, which takes minutes and changes no behaviour.
LINKED := target/linked-worker/index.js

# Makes a Worker of the compiled module. A file rather than `cargo run`, which would wait for whatever else is compiled. A
# Worker is as old as its sources: cargo touches this file when it builds other programs.
XTASK := $(or $(CARGO_TARGET_DIR),target)/debug/xtask
# The programs that run tests, and the tests.
PROGRAMS := target/programs

RUST_SOURCES := $(shell find src durable -type f ! -name '*tests.rs' ! -path '*/tests/*' ! -path '*/testing/*') \
	Cargo.toml Cargo.lock rust-toolchain.toml .cargo/config.toml tests/conformance/fixtures.json
XTASK_SOURCES := $(shell find scripts/xtask -type f)
# The page's checks run again after a change of what they read. A clone has no such file, so CI runs them always.
PAGE_CHECKED := target/page-checked
PAGE_CHECKS := $(shell find scripts docs tests/deploy tests/bench tests/contract tests/browser durable/providers/src/config \
	-type f ! -path 'scripts/xtask/*' ! -name '*.pyc') Makefile wrangler.toml package-lock.json .dev.vars.example
PAGE_SOURCES := $(shell find web -type f ! -path 'web/dist/*' ! -path '*/node_modules/*')

# GNU make 4 prints the output of a stage when it ends, or is cut off; make 3.81 mixes the lanes.
LANES := --no-print-directory --silent $(if $(filter output-sync,$(.FEATURES)),--output-sync) SIDE_BY_SIDE=1
# The line of a step that failed stands last, below the output of the other lanes.
OR_SAY_WHY := || { cat target/steps/failed >&2; exit 1; }

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-24s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The compiler keeps two cores busy; npm, the page and D1 mostly wait beside it.
.PHONY: dev
dev: ## build the missing parts and serve http://localhost:8787 (PORT=…, MODEL=local)
	@scripts/preflight $(PORT)
	@[ -e $(DEV) ] || echo "The first build takes about three minutes on two cores, a later one seconds:"
	@+$(MAKE) $(LANES) --jobs=3 $(DEV) $(PAGE) $(D1) .dev.vars $(if $(filter local,$(MODEL)),$(LLM)) $(OR_SAY_WHY)
	@$(TOOLS) ESPALIER_WORKER=$(DEV) PORT=$(PORT) MODEL=$(MODEL) MODEL_PORT=$(MODEL_PORT) scripts/dev

.PHONY: build
build: ## the Worker and the page, as they are deployed
	@scripts/preflight
	@[ -e $(WORKER) ] || echo "The first build takes about five minutes on two cores:"
	@+$(MAKE) $(LANES) --jobs=3 $(WORKER) $(PAGE) $(OR_SAY_WHY)

# ---- checks ----

# First everything that the suites need, two lanes at a time. Then what compiles; then the end-to-end tests alone, because
# three lanes of suites on two cores let calls reach their time limits; then the suites that mostly wait.
.PHONY: test
test: ## everything that CI runs
	@scripts/preflight
	@[ -e $(PROGRAMS) ] || echo "The first run takes about half an hour on two cores:"
	@+$(MAKE) $(LANES) --jobs=2 $(DEV) $(PROGRAMS) $(PAGE) $(PYTHON) $(BROWSER) $(OR_SAY_WHY)
	@+$(MAKE) $(LANES) --jobs=2 verify release mcp-conformance faults-small $(OR_SAY_WHY)
	@+$(MAKE) $(LANES) e2e $(OR_SAY_WHY)
	@+$(MAKE) $(LANES) --jobs=2 browser contract mcp-conformance-server $(OR_SAY_WHY)

.PHONY: bare
bare: ## both commands of the README in a new clone without anything of ours, as CI runs them (MINUTES=58)
	@scripts/bare

# N-207 N-229: these leave no test out.
.PHONY: verify
verify: lint native page-checks ## the quick part: format, lints, native tests, the page's own checks

.PHONY: lint
lint: $(CRATES)
	@$(STEP) "format" "Run cargo fmt --all." cargo fmt --all --check
	@$(STEP) "clippy" $(LOG) cargo clippy --locked --workspace --all-targets -- -D warnings
	@$(STEP) "clippy for wasm32" $(LOG) cargo clippy --locked -p espalier --target wasm32-unknown-unknown \
		--features faults,fixtures -- -D warnings
	@$(STEP) "lengths of files and functions" $(LOG) scripts/lengths
	@$(STEP) "the audit of the lock file" "Run make audit, and commit scripts/audited." scripts/audit compare
	@$(STEP) "requirements without a test" $(LOG) scripts/coverage-of-requirements
	@$(STEP) "the mutants apply" $(LOG) sh -ec 'for it in tests/faults/mutants/*.patch; do git apply --check -C1 "$$it"; done'

# `isolate_memory` counts all allocations of its process, so it has its own process.
NATIVE := --locked --workspace --lib --bin xtask --test isolate_memory

.PHONY: native
native: $(PROGRAMS)
	@$(STAGE) "native tests" $(LOG) cargo test --quiet $(NATIVE)

.PHONY: page-checks
page-checks: $(PAGE_CHECKED)

$(PAGE_CHECKED): $(PAGE_SOURCES) $(PAGE_NPM) $(PAGE_CHECKS)
	@$(TOOLS) $(STEP) "the page's types" $(LOG) npm --prefix web run check
	@$(TOOLS) $(STEP) "the page's tests" $(LOG) npm --prefix web test
	@$(TOOLS) $(STEP) "the tests of make deploy" $(LOG) node --test --test-reporter=dot tests/deploy/*.test.mjs
	@$(TOOLS) $(STEP) "the API's description" $(LOG) scripts/description
	@$(TOOLS) $(STEP) "the figures of docs/scale.md" $(LOG) node tests/bench/scale.mjs --check
	@mkdir -p $(@D) && touch $@

.PHONY: types
types: $(RUST) ## the page's types, made from the wire's in Rust, and the lists of tools (`verify` compares them)
	ESPALIER_WRITE_TYPES=1 cargo test --locked --quiet --workspace --lib -- the_page_has_the_wires_types \
		each_context_is_offered_its_tools

.PHONY: journals
journals: $(RUST) ## the missing golden journals of the present format, made by the engine's tests (`verify` compares them)
	ESPALIER_WRITE_JOURNALS=1 cargo test --locked --quiet -p engine --lib -- \
		the_journals_of_this_format_are_what_is_written

.PHONY: openapi
openapi: $(RUST) ## openapi.json and docs/routes.md, made from the routing table and the wire's types (`verify` compares it)
	ESPALIER_WRITE_OPENAPI=1 cargo test --locked --quiet -p espalier --lib matches_the_routes_and_types

.PHONY: catalogue
catalogue: ## the catalogue of models, from two packages of PyPI and our corrections (NEWEST=1: from their newest versions)
	@scripts/catalogue $(if $(NEWEST),newest)

.PHONY: audit
audit: $(RUST) $(NPM) $(PAGE_NPM) ## known holes, licences and sources of our dependencies (asks the network); writes scripts/audited
	@$(TOOLS) scripts/audit

# The Worker that the suites test: SERVED=build/index.js is the deployed one.
SERVED ?= $(DEV)
# The binary starts the fake LLM and `wrangler dev`, runs the command against them and stops both.
E2E := $(TOOLS) ESPALIER_SKIP_BUILD=1 ESPALIER_WORKER=$(SERVED) target/debug/e2e

.PHONY: e2e
e2e: $(SERVED) $(PROGRAMS) $(PAGE) $(PYTHON) ## the end-to-end tests against real workerd (ARGS="threads:: quotas::")
	@$(STAGE) "end-to-end tests" $(LOG) env $(E2E) scripts/e2e-tests $(ARGS)

# The protocol's own tests of clients. tests/e2e/mcp.rs tests the client in the Worker.
.PHONY: mcp-conformance
mcp-conformance: $(PROGRAMS) $(NPM) ## the MCP client against the conformance tests of the protocol
	@$(STAGE) "conformance of the MCP client" $(LOG) env $(TOOLS) scripts/mcp-conformance

.PHONY: mcp-conformance-server
mcp-conformance-server: $(SERVED) $(PROGRAMS) $(PAGE) ## our MCP server against the conformance tests of the protocol, in both revisions
	@E2E_LOGS=target/e2e/conformance $(STAGE) "conformance of the MCP server" $(LOG) env $(E2E) --instances fixtures -- \
		node tests/conformance/server.mjs

.PHONY: contract
contract: $(SERVED) $(PROGRAMS) $(PAGE) $(PYTHON) ## schemathesis against openapi.json: no 5xx, and only promised answers (ARGS="--seed 7 --max-examples 500")
	@E2E_LOGS=target/e2e/contract $(STAGE) "contract" $(LOG) env $(E2E) --instances main -- scripts/contract $(ARGS)

.PHONY: browser
browser: $(SERVED) $(PROGRAMS) $(PAGE) $(BROWSER) ## the page in a headless Chromium (ARGS="safety access")
	@E2E_LOGS=target/e2e/browser CHROMIUM_BIN="$$(scripts/chromium)" $(STAGE) "browser" $(LOG) env $(E2E) \
		--instances main,closed,demo,mcp -- node tests/browser/page.mjs $(ARGS)

.PHONY: lighthouse
lighthouse: $(WORKER) $(PROGRAMS) $(PAGE) ## Lighthouse's marks for the page (fetches Lighthouse from npm)
	CHROMIUM_BIN="$$(scripts/chromium)" && export CHROMIUM_BIN && \
		$(E2E) node tests/browser/lighthouse.mjs

# The release build: about ten turns, no fault and no fixture in it, its size and the rows that a turn writes.
.PHONY: release
release: $(LINKED) $(PROGRAMS) $(PAGE)
	@E2E_LOGS=target/e2e/release $(STAGE) "the release build" $(LOG) env $(TOOLS) ESPALIER_SKIP_BUILD=1 \
		ESPALIER_WORKER=$(LINKED) target/debug/e2e --instances main,demo -- scripts/release-tests
	@ESPALIER_BUILD=$(dir $(LINKED)) $(TOOLS) $(STEP) "its size, and the rows of a turn" $(LOG) node tests/bench/figures.mjs

.PHONY: faults
faults: $(PROGRAMS) $(PAGE) $(DEV) ## kill the runtime 400 times under load, and check that no turn is lost and no finished call repeated (ARGS="--seed 7")
	$(TOOLS) target/debug/espalier-faults $(ARGS)

.PHONY: faults-small
faults-small: $(PROGRAMS) $(DEV)
	@$(STAGE) "twenty kills" $(LOG) env $(TOOLS) target/debug/espalier-faults --small $(ARGS)

# What is too long for `make test`: every suite on the deployed build, or on one of its profile where the suite needs
# faults or fixtures, and a bystander of large requests waits half as long (`tests/e2e/hostile/bodies.rs`); large numbers;
# all mutants. Each part takes at most an hour on two cores.
NIGHTLY ?= suites reads writes turns libraries faults mutants catalogue
OPTIMISED := target/optimised-worker/index.js

.PHONY: nightly nightly-suites nightly-reads nightly-writes nightly-turns nightly-libraries nightly-faults nightly-mutants nightly-catalogue
nightly: ## what is too long for `make test`, in parts (NIGHTLY="suites reads writes turns libraries faults mutants catalogue")
	@scripts/preflight
	@+$(MAKE) --no-print-directory $(addprefix nightly-,$(NIGHTLY)) $(OR_SAY_WHY)

nightly-suites: $(WORKER) $(OPTIMISED) $(PROGRAMS) $(PAGE)
	@+LOOKS=all BYSTANDER_MS=100 $(MAKE) --no-print-directory SERVED=$(WORKER) e2e browser
	@+$(MAKE) --no-print-directory SERVED=$(OPTIMISED) mcp-conformance-server

# 500 examples of all operations take more than an hour.
nightly-reads: ONLY := --include-method GET
nightly-writes: ONLY := --exclude-method GET
nightly-reads nightly-writes: $(WORKER) $(PROGRAMS) $(PAGE) $(PYTHON)
	@+$(MAKE) --no-print-directory SERVED=$(WORKER) ARGS="--max-examples 500 $(ONLY)" contract

RANDOM_TURNS := turn::tests::property turn::tests::holds agents::tests::random workflow::tests::random

nightly-turns: $(RUST)
	@ESPALIER_TURNS=1000000 $(STAGE) "a million random turns" $(LOG) \
		cargo test --locked --profile bench -p engine --lib -- $(RANDOM_TURNS)

nightly-libraries: $(SERVED) $(PROGRAMS) $(PAGE) $(LIBRARIES) ## the libraries with which people write clients, each by its defaults (ARGS="langchain ai-react")
	@E2E_LOGS=target/e2e/libraries $(STAGE) "clients' libraries" $(LOG) env $(E2E) --instances main -- scripts/libraries $(ARGS)

nightly-faults: $(OPTIMISED) $(PROGRAMS)
	@$(STAGE) "four hundred kills" $(LOG) env $(TOOLS) target/debug/espalier-faults --build $(dir $(OPTIMISED)) $(ARGS)

nightly-mutants: faults-mutants

# `make test` compares with the catalogue's own date.
nightly-catalogue: $(RUST)
	@ESPALIER_TODAY=$$(date -u +%F) $(STAGE) "the documents' models, as of today" $(LOG) \
		cargo test --locked -p providers --lib -- catalogue::documents

.PHONY: faults-mutants
faults-mutants: $(XTASK) $(NPM) ## plant bugs, and check that the harness of `make faults` finds each of them (ONLY="NAME …")
	@$(TOOLS) ONLY="$(ONLY)" scripts/faults-mutants

# The code that runs on the host. The object and its stores exist on wasm32 alone; the end-to-end tests run them.
.PHONY: coverage
coverage: $(RUST) ## how much of the engine's code its native tests run, by file
	rustup component add llvm-tools
	"$$(scripts/cargo-tool cargo-llvm-cov)" llvm-cov --locked -p wire -p engine -p providers -p features --lib \
		--ignore-filename-regex '(tests?|_tests)(/[a-z_]+)?\.rs$$|/testing/|\.cargo|rustup'

# A million random turns, then each parser of foreign bytes for so many seconds. Earlier finds stand in fuzz/seeds, new
# ones in fuzz/artifacts.
FUZZ_TURNS   ?= 1000000
FUZZ_SECONDS ?= 180
FUZZ_TARGETS := sse deltas chat_request output_schema page address media

.PHONY: fuzz
fuzz: $(RUST) ## FUZZ_TURNS random turns, and random bytes for each parser (FUZZ_SECONDS each)
	ESPALIER_TURNS=$(FUZZ_TURNS) cargo test --locked --profile bench -p engine --lib -- $(RANDOM_TURNS)
	@for target in $(FUZZ_TARGETS); do \
		mkdir -p fuzz/corpus/$$target && echo "fuzzing $$target for $(FUZZ_SECONDS) s" && \
		PATH="$$(dirname "$$(scripts/cargo-tool cargo-fuzz)"):$$PATH" cargo fuzz run -s none $$target \
			fuzz/corpus/$$target fuzz/seeds/$$target -- \
			-max_total_time=$(FUZZ_SECONDS) -max_len=8192 -timeout=5 -print_final_stats=1 || exit 1; \
	done

.PHONY: coverage-of-requirements
coverage-of-requirements: ## fails if no test names a requirement of status `must`
	@scripts/coverage-of-requirements

# The same code with its names, for the table by crate: the shipped code is stripped.
NAMED := target/named/wasm32-unknown-unknown/release/espalier.wasm

$(NAMED): $(WORKER)
	CARGO_PROFILE_RELEASE_STRIP=none cargo build --locked --release --lib -p espalier \
		--target wasm32-unknown-unknown --target-dir target/named
	@touch $@

.PHONY: bench
bench: $(WORKER) $(NAMED) $(NPM) ## size, cold start, latency, throughput, CPU, rows and cost beside three floors, and the dialects (ARGS="--help")
	@$(TOOLS) node tests/bench/run.mjs $(ARGS)

.PHONY: scale
scale: $(NPM) ## docs/scale.md: load, cost and limits from 1,000 to 100 million turns a day (ARGS="--write", "--figures FILE")
	@$(TOOLS) node tests/bench/scale.mjs $(ARGS)

# Real turns with a real model: what holds for every turn, never what the model decides. Not part of `make test`.
.PHONY: smoke-model
smoke-model: $(WORKER) $(PROGRAMS) $(PAGE) $(if $(SMOKE_BASE_URL),,$(LLM)) ## real turns with the local model (or SMOKE_BASE_URL=… SMOKE_MODEL=…, and SMOKE_KEY in the environment)
	@$(TOOLS) MODEL_PORT=$(MODEL_PORT) scripts/smoke-model

# ---- operation ----

.PHONY: key
key: $(D1) ## mint an API key, locally or with REMOTE=1 (NAME=… TENANT=… SCOPES=… DAYS=… KEY_USER=…)
	@$(TOOLS) REMOTE=$(REMOTE) NAME="$(NAME)" TENANT="$(TENANT)" SCOPES="$(SCOPES)" DAYS="$(DAYS)" \
		KEY_USER="$(KEY_USER)" scripts/make-key

.PHONY: keys
keys: $(D1) ## the API keys, locally or with REMOTE=1
	@$(TOOLS) REMOTE=$(REMOTE) scripts/keys

.PHONY: revoke
revoke: $(D1) ## revoke an API key, locally or with REMOTE=1 (PREFIX=…)
	@test -n "$(PREFIX)" || { echo "make revoke: which one? PREFIX=… (make keys lists them)" >&2; exit 2; }
	@$(TOOLS) REMOTE=$(REMOTE) PREFIX="$(PREFIX)" scripts/keys

.PHONY: deploy
deploy: $(NPM) $(if $(filter 1,$(DRY)),,$(WORKER) $(PAGE)) ## set up what your Cloudflare account lacks, and deploy to it (DRY=1 prints the commands)
	@$(TOOLS) DRY=$(DRY) YES=$(YES) scripts/deploy

.PHONY: clean
clean: ## deletes the builds and the local databases; keeps .dev.vars and the tools
	rm -rf build target .wrangler web/dist

# ---- steps ----

# rust-toolchain.toml names version, components and target; rustup installs them.
$(RUST): rust-toolchain.toml
	@$(STEP) "Rust" $(AGAIN) rustup target add wasm32-unknown-unknown
	@mkdir -p $(@D) && touch $@

$(CRATES): Cargo.lock $(RUST)
	@$(STEP) "crates" $(AGAIN) cargo fetch --locked
	@mkdir -p $(@D) && touch $@

# Only errors: npm warns of what the packages ask of Node, which is here the Node among them.
$(NPM): package.json package-lock.json .npmrc
	@$(STEP) "packages of the tools" $(AGAIN) npm ci --no-fund --no-audit --loglevel=error
	@touch $@

# By the Node of this machine, and without --prefix: npm finds its global settings (a registry, a certificate) beside the
# Node that runs it, or below the prefix.
$(PAGE_NPM): web/package.json web/package-lock.json $(NPM)
	@$(STEP) "packages of the page" $(AGAIN) sh -c "cd web && npm ci --no-fund --no-audit --loglevel=error"
	@touch $@

# Of the whole workspace, like the native tests: cargo would choose other features of the dependencies for one package, and
# compile them once more.
$(XTASK): $(XTASK_SOURCES) Cargo.lock $(CRATES)
	@$(STEP) "the program that builds the Worker" $(LOG) cargo build --locked --workspace --bin xtask
	@touch $@

BUILD_WORKER = $(TOOLS) $(STEP) "the Worker$(1)" $(LOG) $(XTASK) worker --out $(@D)

$(WORKER): $(RUST_SOURCES) $(XTASK_SOURCES) $(NPM) | $(XTASK)
	@$(call BUILD_WORKER, for deployment) --profile release --optimise
	@touch $@

$(LINKED): $(RUST_SOURCES) $(XTASK_SOURCES) $(NPM) | $(XTASK)
	@$(call BUILD_WORKER, for deployment without wasm-opt) --profile release
	@touch $@

$(OPTIMISED): $(RUST_SOURCES) $(XTASK_SOURCES) $(NPM) | $(XTASK)
	@$(call BUILD_WORKER, with faults as optimised as the deployed one) --profile release -- --features faults,fixtures
	@touch $@

$(DEV): $(RUST_SOURCES) $(XTASK_SOURCES) $(NPM) | $(XTASK)
	@$(call BUILD_WORKER) --profile dev -- --features faults,fixtures
	@touch $@

$(PROGRAMS): $(DEV) $(shell find src durable replay tests/e2e tests/support tests/faults examples -name '*.rs')
	@$(STEP) "programs of the tests" $(LOG) cargo build --locked --workspace --bins --example mcp_client
	@$(STEP) "tests" $(LOG) cargo test --no-run $(NATIVE) --test e2e
	@touch $@

$(PAGE): $(PAGE_SOURCES) $(PAGE_NPM)
	@$(TOOLS) $(STEP) "the page" $(LOG) npm --prefix web run build
	@touch $@

$(D1): migrations/*.sql wrangler.toml $(NPM)
	@$(STEP) "the local database" $(LOG) env $(WRANGLER) d1 migrations apply DB --local
	@touch $@

$(PYTHON): tests/contract/requirements.txt
	@$(STEP) "schemathesis" $(AGAIN) scripts/contract install
	@touch $@

$(LIBRARIES): tests/libraries/package-lock.json tests/libraries/requirements.txt $(NPM)
	@$(STEP) "packages of clients' libraries" $(AGAIN) scripts/libraries install
	@touch $@

$(BROWSER):
	@$(STEP) "Chromium" $(AGAIN) scripts/chromium
	@mkdir -p $(@D) && touch $@

$(LLM): scripts/local-model scripts/local-model.py scripts/local-model.txt
	@$(STEP) "the local model" $(AGAIN) scripts/local-model install
	@touch $@

# Made once and then yours: it switches anonymous sessions on, with a secret of this machine.
.dev.vars:
	@umask 077; secret=$$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n'); \
		sed "s/^SESSION_SECRET=.*/SESSION_SECRET=$$secret/" .dev.vars.example > $@
