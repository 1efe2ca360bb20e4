# The targets of the Operator SDK's tutorial, without Docker, Go or kustomize. `make help` lists them.

# The operator's version.
VERSION ?= 0.0.1
# The bundle's channels, separated by commas, and the one that is taken where a subscription names none.
CHANNELS ?= stable
DEFAULT_CHANNEL ?= stable
# The images. The first part of their names; the operator's own; the bundle's; the catalogue's; the operand's.
IMAGE_TAG_BASE ?= example.com/memcached-operator
IMG ?= $(IMAGE_TAG_BASE):v$(VERSION)
BUNDLE_IMG ?= $(IMAGE_TAG_BASE)-bundle:v$(VERSION)
CATALOG_IMG ?= $(IMAGE_TAG_BASE)-catalog:v$(VERSION)
MEMCACHED_IMAGE ?= docker.io/library/memcached:1.6
# An image with opm for the catalogue to stand on; without one the catalogue's image is data only.
CATALOG_BASE_IMG ?=
# Further arguments of every push, such as --ca-file FILE or --plain-http.
PUSH_FLAGS ?= $(if $(REGISTRY_CA_FILE),--ca-file $(REGISTRY_CA_FILE))

CARGO ?= cargo
KUBECTL ?= kubectl
TARGET ?= $(shell uname -m)-unknown-linux-musl
BIN := target/$(TARGET)/release
BUNDLE_TOOL := $(BIN)/bundle-tool
OPERATOR := $(BIN)/memcached-operator
# Everything that `make generate` writes and git keeps.
GENERATED := config bundle bundle.Dockerfile catalog docs/rules.md

.DEFAULT_GOAL := help
.PHONY: help
help: ## This list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Build

.PHONY: build
build: musl ## Both programs as static binaries, in target/<machine>-unknown-linux-musl/release
	$(CARGO) build --release --locked --target $(TARGET)
	@mkdir -p target/release && cp -f $(BUNDLE_TOOL) $(OPERATOR) target/release/

.PHONY: musl
musl:
	@rustup target list --installed | grep -qx $(TARGET) || rustup target add $(TARGET)

.PHONY: manifests
manifests: build ## CRDs, RBAC, the manager's Deployment, samples: config/, from the operator's code
	$(OPERATOR) manifests --output-dir config --image $(IMG) --operand-image $(MEMCACHED_IMAGE)

.PHONY: base
base: manifests ## The base CSV, from operator/Cargo.toml, the CRDs and config/manifests/overrides.yaml
	$(BUNDLE_TOOL) generate manifests --manifest-path operator/Cargo.toml

.PHONY: bundle
bundle: base ## The bundle, from the operator's manifests: bundle/
	$(OPERATOR) manifests --stdout --image $(IMG) --operand-image $(MEMCACHED_IMAGE) | \
	  $(BUNDLE_TOOL) generate bundle --package memcached-operator --version $(VERSION) \
	    --channels $(CHANNELS) --default-channel $(DEFAULT_CHANNEL) --output-dir bundle
	$(BUNDLE_TOOL) validate bundle

.PHONY: catalog
catalog: bundle ## The file-based catalogue with the bundle in it: catalog/
	$(BUNDLE_TOOL) catalog add catalog bundle --image $(BUNDLE_IMG)

.PHONY: docs
docs: build ## The pages that are made from code: docs/rules.md
	$(BUNDLE_TOOL) rules --output markdown > docs/rules.md.new && mv docs/rules.md.new docs/rules.md

.PHONY: generate
generate: manifests catalog docs ## Everything that is generated and kept in git

##@ Test

.PHONY: test
test: ## Everything that needs no cluster
	$(CARGO) test --locked

.PHONY: lint
lint: ## Format, clippy without warnings, licences and duplicates of dependencies
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny --log-level error check licenses bans sources; \
	  else echo "cargo deny is not installed (cargo install --locked cargo-deny); dependencies were not checked"; fi

.PHONY: drift
drift: generate ## Fails where what is generated is not what git keeps
	@git diff --exit-code -- $(GENERATED) && test -z "$$(git status --porcelain -- $(GENERATED))" || \
	  { echo "generated files have changed: run 'make generate' and commit them"; exit 1; }

# Which of them: all, or for instance E2E='--test whole_way'.
E2E ?=
.PHONY: e2e
e2e: build ## The tests against the cluster of KUBECONFIG and the registry of REGISTRY (e2e/README.md)
	$(CARGO) test --locked -p e2e $(E2E) --no-fail-fast -- --test-threads=1 --nocapture

.PHONY: bench-operator
bench-operator: build ## What 1 000 and 5 000 Memcacheds cost, on the control plane of KUBECONFIG (docs/performance.md)
	$(CARGO) run --release --locked -p e2e --bin bench-operator -- $(BENCH)

.PHONY: demo
demo: build ## The whole way with a registry of its own on loopback, without a cluster
	@./demo.sh $(BIN)

##@ Images

.PHONY: image-build
image-build: build ## The operator's image, as an OCI layout in target/images/operator
	$(BUNDLE_TOOL) push image $(IMG) $(OPERATOR)=/memcached-operator $(IMAGE_FLAGS) --to oci:target/images/operator

.PHONY: image-push
image-push: build ## The operator's image, to its registry
	$(BUNDLE_TOOL) push image $(IMG) $(OPERATOR)=/memcached-operator $(IMAGE_FLAGS) $(PUSH_FLAGS)

IMAGE_FLAGS := --entrypoint /memcached-operator --user 65532:65532

.PHONY: docker-build docker-push
docker-build: image-build ## As image-build: no Docker is needed
docker-push: image-push ## As image-push: no Docker is needed

.PHONY: bundle-build
bundle-build: build ## The bundle's image, as an OCI layout in target/images/bundle
	$(BUNDLE_TOOL) push bundle bundle $(BUNDLE_IMG) --to oci:target/images/bundle

.PHONY: bundle-push
bundle-push: build ## The bundle's image, to its registry
	$(BUNDLE_TOOL) push bundle bundle $(BUNDLE_IMG) $(PUSH_FLAGS)

.PHONY: catalog-build
catalog-build: build ## The catalogue's image, as an OCI layout in target/images/catalog
	$(BUNDLE_TOOL) push catalog catalog $(CATALOG_IMG) $(CATALOG_FLAGS) --to oci:target/images/catalog

.PHONY: catalog-push
catalog-push: build ## The catalogue's image, to its registry
	$(BUNDLE_TOOL) push catalog catalog $(CATALOG_IMG) $(CATALOG_FLAGS) $(PUSH_FLAGS)

CATALOG_FLAGS = $(if $(CATALOG_BASE_IMG),--base $(CATALOG_BASE_IMG))

##@ Cluster

.PHONY: install
install: build ## The CRDs, into the cluster
	$(OPERATOR) manifests --output-dir target/config >/dev/null
	$(KUBECTL) apply --server-side -k target/config/crd

.PHONY: uninstall
uninstall: build ## The CRDs, out of the cluster, with all Memcacheds
	$(OPERATOR) manifests --output-dir target/config >/dev/null
	$(KUBECTL) delete --ignore-not-found -k target/config/crd

.PHONY: run
run: build ## The operator on this machine, against the cluster of KUBECONFIG
	MEMCACHED_IMAGE=$(MEMCACHED_IMAGE) ENABLE_WEBHOOKS=false $(OPERATOR) run

.PHONY: deploy
deploy: build ## The operator with its CRDs, into memcached-operator-system
	$(OPERATOR) manifests --output-dir target/config --image $(IMG) --operand-image $(MEMCACHED_IMAGE) >/dev/null
	$(KUBECTL) apply --server-side -k target/config/default

.PHONY: undeploy
undeploy: build ## The operator with its CRDs, out of the cluster
	$(OPERATOR) manifests --output-dir target/config --image $(IMG) --operand-image $(MEMCACHED_IMAGE) >/dev/null
	$(KUBECTL) delete --ignore-not-found -k target/config/default
