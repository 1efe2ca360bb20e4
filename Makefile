# The targets of the Operator SDK tutorial, without Docker, Go or kustomize. `make help` lists them.

# If any command of a pipeline fails, the target fails.
SHELL := /usr/bin/env bash -o pipefail
.SHELLFLAGS := -ec

# Version of the operator and its bundle.
VERSION ?= 0.0.1
# Channels of the bundle (comma-separated), and the default channel.
CHANNELS ?= stable
DEFAULT_CHANNEL ?= stable
# Image names: common prefix, operator, bundle, catalog, operand.
IMAGE_TAG_BASE ?= example.com/memcached-operator
IMG ?= $(IMAGE_TAG_BASE):v$(VERSION)
BUNDLE_IMG ?= $(IMAGE_TAG_BASE)-bundle:v$(VERSION)
CATALOG_IMG ?= $(IMAGE_TAG_BASE)-catalog:v$(VERSION)
MEMCACHED_IMAGE ?= docker.io/library/memcached:1.6
# Base image with opm for the catalog image. Without it, the catalog image serves itself.
CATALOG_BASE_IMG ?=
# Additional arguments of every push, such as --ca-file FILE or --plain-http.
PUSH_FLAGS ?= $(if $(REGISTRY_CA_FILE),--ca-file $(REGISTRY_CA_FILE))

CARGO ?= cargo
KUBECTL ?= kubectl
# Everything is built for one static target, so that the demo, the tests and the images share their dependencies.
TARGET ?= $(shell uname -m)-unknown-linux-musl
BIN := target/$(TARGET)/debug
DIST := target/$(TARGET)/dist
# Programs at a fixed address, as Go's are: without 28,000 relocations, each start touches a quarter of the pages less.
DIST_RUSTFLAGS := ["-Crelocation-model=static"]
BUNDLE_TOOL := $(BIN)/bundle-tool
OPERATOR := $(BIN)/memcached-operator
# Everything that `make generate` writes and git keeps.
GENERATED := config bundle bundle.Dockerfile catalog docs/rules docs/reference

.DEFAULT_GOAL := help
.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Build

.PHONY: build
build: musl ## Build both programs for development (static, fast to build)
	$(CARGO) build --locked --target $(TARGET)

# With the page of `preview`, if `make web` has built it.
PAGE = $(if $(wildcard web/dist/index.html),--features olm-bundle-tool/page)
.PHONY: dist
dist: musl ## Build both programs for release into target/dist (static, optimized)
	$(CARGO) build --profile dist --locked --target $(TARGET) $(PAGE) --config 'target.$(TARGET).rustflags=$(DIST_RUSTFLAGS)'
	@mkdir -p target/dist && cp -f $(DIST)/bundle-tool $(DIST)/memcached-operator target/dist/

# The page that validates in a browser. wasm-bindgen must have the version of Cargo.lock; wasm-opt, of
# npm's binaryen, makes the download a tenth smaller.
WASM_BINDGEN ?= wasm-bindgen
WASM_BINDGEN_VERSION = $(shell sed -n '/^name = "wasm-bindgen"$$/{n;s/^version = "\(.*\)"/\1/p}' Cargo.lock)
# What the page may take for a bundle, in bytes: 256 MiB.
WASM_MEMORY := 268435456
WASM := target/wasm32-unknown-unknown/web/olm_web.wasm
.PHONY: wasm-bindgen-version
wasm-bindgen-version:
	@echo $(WASM_BINDGEN_VERSION)

.PHONY: web
web: ## Build the page that validates bundles in a browser into web/dist (needs npm and wasm-bindgen)
	@$(WASM_BINDGEN) --version 2>/dev/null | grep -qx 'wasm-bindgen $(WASM_BINDGEN_VERSION)' || { \
	  echo "error: wasm-bindgen $(WASM_BINDGEN_VERSION) is not installed"; \
	  echo "help: cargo install --locked wasm-bindgen-cli --version $(WASM_BINDGEN_VERSION)"; exit 1; }
	@rustup target list --installed | grep -x wasm32-unknown-unknown >/dev/null || rustup target add wasm32-unknown-unknown
	$(CARGO) rustc --profile web --locked --target wasm32-unknown-unknown -p olm-web --lib --crate-type cdylib -- -C link-arg=--max-memory=$(WASM_MEMORY)
	$(WASM_BINDGEN) --target web --no-typescript --out-dir target/page --out-name olm_web $(WASM)
	cd web && npm ci --no-audit --no-fund
	web/node_modules/.bin/wasm-opt -Os --output $(WASM).opt target/page/olm_web_bg.wasm && mv $(WASM).opt target/page/olm_web_bg.wasm
	cd web && npm run --silent build

.PHONY: musl
musl:
	@rustup target list --installed | grep -x $(TARGET) >/dev/null || rustup target add $(TARGET)

.PHONY: manifests
manifests: build ## Generate config/ (CRDs, RBAC, Deployment, samples) from the operator's code
	$(OPERATOR) manifests --output-dir config --image $(IMG) --operand-image $(MEMCACHED_IMAGE)

.PHONY: base
base: manifests ## Generate the base CSV from operator/Cargo.toml, the CRDs and config/manifests/overrides.yaml
	$(BUNDLE_TOOL) generate manifests --manifest-path operator/Cargo.toml

.PHONY: bundle
bundle: base ## Generate and validate the bundle in bundle/
	$(OPERATOR) manifests --olm --image $(IMG) --operand-image $(MEMCACHED_IMAGE) | \
	  $(BUNDLE_TOOL) generate bundle --package memcached-operator --version $(VERSION) \
	    --channels $(CHANNELS) --default-channel $(DEFAULT_CHANNEL) --output-dir bundle
	$(BUNDLE_TOOL) validate bundle

.PHONY: catalog
catalog: bundle ## Add the bundle to the file-based catalog in catalog/
	$(BUNDLE_TOOL) catalog add catalog bundle --image $(BUNDLE_IMG)

.PHONY: docs
docs: build ## Generate the references of rules and commands, docs/rules/ and docs/reference/
	$(BUNDLE_TOOL) rules --output-dir docs/rules
	$(BUNDLE_TOOL) man --markdown --output-dir docs/reference

# Where links that leave docs/ lead on the site. Without it, they are plain text.
REPOSITORY_URL ?=
MDBOOK ?= mdbook
.PHONY: docs-site
docs-site: ## Build the documentation as a site in target/docs-site/book (needs mdBook)
	@command -v $(MDBOOK) >/dev/null || { echo "mdBook is not installed: cargo install --locked mdbook --version 0.4.52"; exit 1; }
	@docs/site.sh target/docs-site "$(REPOSITORY_URL)"
	$(MDBOOK) build target/docs-site

.PHONY: generate
generate: manifests catalog docs ## Generate everything that is generated and committed

##@ Test

# Many tests wait for time to pass, so twice as many run at once as there are processors.
.PHONY: test
test: export RUST_TEST_THREADS ?= $(shell expr 2 \* $$(nproc))
# Tests that miss a program (a browser, an API server) are skipped and listed; with CI set, they fail.
SKIPPED := target/skipped-tests
test: export SKIPPED_TESTS := $(abspath $(SKIPPED))
test: musl ## Run every test that needs no cluster
	@mkdir -p target && rm -f $(SKIPPED)
	$(CARGO) test --locked --target $(TARGET)
	@[ ! -s $(SKIPPED) ] || { echo; echo "Skipped, because something is not installed:"; \
	  sort $(SKIPPED) | awk -F '\t' '{print "  " $$1 ": " $$2}'; }

.PHONY: test-skipped
test-skipped: ## Run the tests that the last `make test` skipped, and fail where something is still missing
	@[ ! -s $(SKIPPED) ] || CI=true $(CARGO) test --locked --target $(TARGET) --lib --bins --tests -- --exact $$(cut -f 1 $(SKIPPED) | sort -u)

.PHONY: fmt
fmt: ## Format all sources (cargo fmt misses the files of rules, which a macro declares)
	rustfmt $$(git ls-files '*.rs')

.PHONY: rule
rule: musl ## Test the rules, and write their snapshots and examples (`make docs` then writes the rule reference)
	INSTA_UPDATE=always $(CARGO) test --locked --target $(TARGET) -p olm-rules --test it rules::

.PHONY: lint
lint: musl ## Check format, clippy, documentation, and licenses and sources of dependencies
	rustfmt --check $$(git ls-files '*.rs')
	$(CARGO) clippy --locked --target $(TARGET) --workspace --all-targets -- -D warnings
	$(CARGO) clippy --locked --target $(TARGET) -p oci-images --no-default-features --all-targets -- -D warnings
	$(CARGO) clippy --locked --target $(TARGET) -p oci-images --features server --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --target $(TARGET) --quiet --no-deps
	$(CARGO) metadata --locked --manifest-path fuzz/Cargo.toml --format-version 1 >/dev/null
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny --log-level error check licenses bans sources; \
	  else echo "cargo-deny is not installed (cargo install --locked cargo-deny); skipping the check of dependencies"; fi

# The crates that other projects depend on, in which an incompatible change needs a new version.
PUBLIC_CRATES := operator-runtime oci-images limited-http kubernetes-cel atomic-files
.PHONY: public-api
public-api: ## Check that the public API of the crates is compatible with the last release, or the version says that it is not
	@release=$$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null) || { echo "there is no release to compare the public API with"; exit 0; }; \
	if $(CARGO) semver-checks --version >/dev/null 2>&1; then \
	  $(CARGO) semver-checks --baseline-rev "$$release" $(addprefix -p ,$(PUBLIC_CRATES)); \
	else echo "cargo-semver-checks is not installed (cargo install --locked cargo-semver-checks); skipping the check of the public API"; fi

# The crates that do no I/O: what reads, validates and generates also runs in a browser.
WASM_CRATES := kube-yaml kubernetes-cel olm-model olm-rules olm-generate olm-catalog olm-diff olm-report olm-web
.PHONY: wasm
wasm: ## Check that the crates without I/O compile for WebAssembly
	@rustup target list --installed | grep -x wasm32-unknown-unknown >/dev/null || rustup target add wasm32-unknown-unknown
	$(CARGO) check --locked --target wasm32-unknown-unknown --no-default-features $(addprefix -p ,$(WASM_CRATES))

# The browser is the program CHROMIUM, chromium by default.
.PHONY: web-test
web-test: web build ## Drive the page in a headless browser, and compare its findings with those of validate
	cd web && BUNDLE_TOOL=$(abspath $(BUNDLE_TOOL)) npm test

.PHONY: vscode
vscode: export PUBLISHER ?=
vscode: export REPOSITORY ?=
vscode: build ## Build and test the extension for VS Code, and pack editors/vscode/dist/bundle-tool.vsix (needs npm)
	cd editors/vscode && npm ci --no-audit --no-fund --ignore-scripts && npm run --silent build
	cd editors/vscode && BUNDLE_TOOL=$(abspath $(BUNDLE_TOOL)) npm test
	cd editors/vscode && npm run --silent package

.PHONY: zed
zed: ## Compile the extension for Zed
	@rustup target list --installed | grep -x wasm32-wasip2 >/dev/null || rustup target add wasm32-wasip2
	cd editors/zed && $(CARGO) build --release --locked --target wasm32-wasip2

WINDOWS := x86_64-pc-windows-gnu
.PHONY: windows
windows: ## Check that bundle-tool compiles for Windows, and compare it with the one for Linux where wine is installed
	@if ! command -v x86_64-w64-mingw32-gcc >/dev/null; then \
	  echo "x86_64-w64-mingw32-gcc is not installed (package gcc-mingw-w64-x86-64); skipping the check for Windows"; \
	else \
	  rustup target list --installed | grep -x $(WINDOWS) >/dev/null || rustup target add $(WINDOWS); \
	  $(CARGO) clippy --locked --target $(WINDOWS) -p olm-bundle-tool -- -D warnings; \
	  if e2e/windows/run; then $(MAKE) --no-print-directory windows-compare; \
	  else echo "wine is not installed (package wine64); skipping the comparison of bundle-tool.exe with bundle-tool"; fi; \
	fi

.PHONY: windows-compare
windows-compare: build
	$(CARGO) build --locked --target $(WINDOWS) -p olm-bundle-tool
	CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=$(CURDIR)/e2e/windows/run $(CARGO) test --locked --target $(WINDOWS) -p atomic-files
	e2e/windows/compare $(BUNDLE_TOOL) target/$(WINDOWS)/debug/bundle-tool.exe

.PHONY: drift
drift: generate ## Fail if a generated file differs from the committed one
	@git diff --exit-code -- $(GENERATED) && test -z "$$(git status --porcelain -- $(GENERATED))" || \
	  { echo "generated files have changed: run 'make generate' and commit the result"; exit 1; }

# Which tests to run: all, or for instance E2E='whole_way::'. PROGRAMS names a directory with other programs than those of `make dist`.
E2E ?=
.PHONY: e2e
e2e: build $(if $(PROGRAMS),,dist) ## Run the tests against the cluster of KUBECONFIG and the registry of REGISTRY (e2e/README.md)
	$(CARGO) test --locked --target $(TARGET) -p e2e --lib --test it --no-fail-fast -- --test-threads=1 --nocapture $(E2E)

.PHONY: scaffold
scaffold: build ## Build, test, bundle and validate scaffolded operators
	$(CARGO) test --locked --target $(TARGET) -p e2e --test it -- --test-threads=1 --nocapture scaffold::

# Targets of fuzz/ to run, and for how many seconds each.
FUZZ ?= $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs)))
FUZZ_TIME ?= 180
# How many run at once, and further arguments: -runs=0 reads the seeds and ends.
FUZZ_JOBS ?= 1
FUZZ_ARGS ?=
# What cargo-fuzz passes without a sanitizer: coverage that libFuzzer reads. The stable compiler accepts it.
FUZZ_FLAGS := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
  -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 --cfg=fuzzing
FUZZ_HOST = $(shell rustc -vV | sed -n 's/^host: //p')
.PHONY: fuzz
fuzz: ## Fuzz the parsers, FUZZ_TIME seconds each (FUZZ=yaml for one of them); needs a C++ compiler
	cd fuzz && RUSTFLAGS="$(FUZZ_FLAGS)" $(CARGO) build --locked --release --target $(FUZZ_HOST)
	@printf '%s\n' $(FUZZ) | xargs -P $(FUZZ_JOBS) -I NAME sh -c ' \
	  mkdir -p fuzz/corpus/NAME fuzz/artifacts/NAME; \
	  if [ -z "$$(ls -A fuzz/corpus/NAME)" ] && [ -f fuzz/corpora/NAME.tar.gz ]; then tar -xzf fuzz/corpora/NAME.tar.gz -C fuzz/corpus/NAME; fi; \
	  nice fuzz/target/$(FUZZ_HOST)/release/NAME -max_total_time=$(FUZZ_TIME) -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 $(FUZZ_ARGS) \
	    -artifact_prefix=fuzz/artifacts/NAME/ fuzz/corpus/NAME fuzz/seeds/NAME >fuzz/artifacts/NAME/log 2>&1 || \
	    { echo "NAME failed:"; tail -n 40 fuzz/artifacts/NAME/log; exit 255; }; \
	  echo "NAME: $$(sed -n "s/^stat::number_of_executed_units: *//p" fuzz/artifacts/NAME/log) inputs, none failed"'

.PHONY: fuzz-corpora
fuzz-corpora: ## Keep the inputs that `make fuzz` found, as few as reach the same code
	@printf '%s\n' $(FUZZ) | xargs -P $(FUZZ_JOBS) -I NAME sh -ec ' \
	  kept=$$(mktemp -d); new=$$(mktemp); \
	  fuzz/target/$(FUZZ_HOST)/release/NAME -merge=1 -use_counters=0 "$$kept" fuzz/corpus/NAME fuzz/seeds/NAME >fuzz/artifacts/NAME/log 2>&1; \
	  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - -C "$$kept" . | gzip -9n >"$$new"; \
	  mv "$$new" fuzz/corpora/NAME.tar.gz; \
	  rm -r "$$kept"'

.PHONY: bench-validate
bench-validate: dist ## Measure validate on every bundle directory of CORPUS, one process each
	python3 e2e/bench-validate.py target/dist/bundle-tool $(CORPUS)

.PHONY: bench-operator
bench-operator: dist ## Measure 1,000 and 5,000 Memcacheds on the control plane of KUBECONFIG (docs/internals/performance.md)
	$(CARGO) build --release --locked -p e2e --bin bench-operator --bin bench-manager
	target/release/bench-operator $(BENCH)

.PHONY: bench-serve
bench-serve: dist ## Measure serve beside opm serve on the catalog directory CATALOG (docs/internals/performance.md)
	$(CARGO) run --release --locked -p e2e --bin bench-serve -- $(CATALOG) $(BENCH)

.PHONY: demo
demo: build ## Run the whole path with a registry on loopback, without a cluster
	@./demo.sh $(BIN)

.PHONY: package
package: ## Check that every library crate can be published, without publishing it
	$(CARGO) publish --dry-run --locked --allow-dirty --no-verify --workspace --exclude memcached-operator --exclude olm-web --exclude e2e --exclude test-support

##@ Release

# What a release is built for; by default, all that this machine can build.
RELEASE_TARGETS ?= $(shell packaging/build)
.PHONY: release
release: ## Build and pack a release for RELEASE_TARGETS in target/release-files, without uploading it; REPOSITORY is its URL
	packaging/release target/release-files $(foreach target,$(RELEASE_TARGETS),$(target)=$$(packaging/build $(target)))

##@ Images

.PHONY: image-build
image-build: dist ## Build the operator image as an OCI layout in target/images/operator
	$(DIST)/bundle-tool push image $(IMG) $(DIST)/memcached-operator=/memcached-operator $(IMAGE_FLAGS) --to oci:target/images/operator

.PHONY: image-push
image-push: dist ## Push the operator image
	$(DIST)/bundle-tool push image $(IMG) $(DIST)/memcached-operator=/memcached-operator $(IMAGE_FLAGS) $(PUSH_FLAGS)

IMAGE_FLAGS := --entrypoint /memcached-operator --user 65532:65532

.PHONY: docker-build docker-push
docker-build: image-build ## Same as image-build; no Docker needed
docker-push: image-push ## Same as image-push; no Docker needed

.PHONY: bundle-build
bundle-build: build ## Build the bundle image as an OCI layout in target/images/bundle
	$(BUNDLE_TOOL) push bundle bundle $(BUNDLE_IMG) --to oci:target/images/bundle

.PHONY: bundle-push
bundle-push: build ## Push the bundle image
	$(BUNDLE_TOOL) push bundle bundle $(BUNDLE_IMG) $(PUSH_FLAGS)

.PHONY: catalog-build
catalog-build: dist ## Build the catalog image as an OCI layout in target/images/catalog
	$(DIST)/bundle-tool push catalog catalog $(CATALOG_IMG) $(CATALOG_FLAGS) --to oci:target/images/catalog

.PHONY: catalog-push
catalog-push: dist ## Push the catalog image
	$(DIST)/bundle-tool push catalog catalog $(CATALOG_IMG) $(CATALOG_FLAGS) $(PUSH_FLAGS)

CATALOG_FLAGS = $(if $(CATALOG_BASE_IMG),--base $(CATALOG_BASE_IMG))

##@ Cluster

.PHONY: install
install: build ## Install the CRDs into the cluster
	$(OPERATOR) manifests --output-dir target/config >/dev/null
	$(KUBECTL) apply --server-side -k target/config/crd

# Deletes all Memcacheds while the operator is still there to remove their finalizers.
define delete_memcacheds
	@if $(KUBECTL) get crd memcacheds.cache.example.com >/dev/null 2>&1; then \
	  $(KUBECTL) delete memcacheds.cache.example.com --all --all-namespaces --timeout=$(DELETE_TIMEOUT) || { \
	    echo "error: some Memcacheds were not deleted within $(DELETE_TIMEOUT): is the operator running?"; \
	    echo "help: start it (make run, make deploy) and try again, or remove the finalizers that are left:"; \
	    echo "  kubectl patch memcached NAME -n NAMESPACE --type=merge -p '{\"metadata\":{\"finalizers\":null}}'"; \
	    exit 1; }; \
	fi
endef
# How long the deletion of all Memcacheds may take.
DELETE_TIMEOUT ?= 2m

.PHONY: uninstall
uninstall: build ## Delete all Memcacheds and the CRDs from the cluster; the operator has to be running
	$(delete_memcacheds)
	$(OPERATOR) manifests --output-dir target/config >/dev/null
	$(KUBECTL) delete --ignore-not-found -k target/config/crd

.PHONY: run
run: build ## Run the operator on this machine against the cluster of KUBECONFIG
	MEMCACHED_IMAGE=$(MEMCACHED_IMAGE) ENABLE_WEBHOOKS=false $(OPERATOR) run

.PHONY: deploy
deploy: build ## Deploy the operator and its CRDs into memcached-operator-system
	$(OPERATOR) manifests --output-dir target/config --image $(IMG) --operand-image $(MEMCACHED_IMAGE) >/dev/null
	$(KUBECTL) apply --server-side -k target/config/default
.PHONY: undeploy
undeploy: build ## Delete all Memcacheds, then the operator and its CRDs, from the cluster
	$(delete_memcacheds)
	$(OPERATOR) manifests --output-dir target/config --image $(IMG) --operand-image $(MEMCACHED_IMAGE) >/dev/null
	$(KUBECTL) delete --ignore-not-found -k target/config/default
