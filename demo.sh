#!/usr/bin/env bash
# make demo: the whole path on this machine, from the operator's code to images in a registry on loopback.
# Takes the directory of the built programs. PORT sets the registry's port; by default, any free one is used.
set -euo pipefail
tool=$1/bundle-tool operator=$1/memcached-operator
package=memcached-operator version=0.0.1 base=example.com/memcached-operator
# The bundle records when it was created: the time of the commit, so that every run produces the same bytes.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
work=$(mktemp -d "${TMPDIR:-/tmp}/demo.XXXXXX")
server=
cleanup() {
  [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

say() { printf '\n%s\n' "$*"; }
show() { printf '  $ %s\n' "${*//$work\//}" >&2; "$@"; }
digest() { sed 's/.*@//' "$1"; }

say "1. Generate a bundle from the operator's manifests"
"$operator" manifests --stdout >"$work/manifests.yaml"
show "$tool" generate bundle --package $package --version $version --channels stable --default-channel stable \
  --output-dir "$work/bundle" <"$work/manifests.yaml"
(cd "$work" && find bundle bundle.Dockerfile -type f | sort | sed 's/^/    /')

say "2. Validate it as the API server and OLM would"
show "$tool" validate "$work/bundle"

say "3. Start a registry on loopback"
mkdir "$work/registry" && mkfifo "$work/address"
"$tool" registry serve --address "127.0.0.1:${PORT:-0}" --dir "$work/registry" >"$work/address" &
server=$!
read -r registry <"$work/address" || { echo "the registry did not start" >&2; exit 2; }
echo "  serving at $registry"

say "4. Push the operator, its bundle and a catalog as images, without Docker"
push() { show "$tool" push "$@" --plain-http; }
push image "$registry/$package:v$version" "$operator=/memcached-operator" \
  --entrypoint /memcached-operator --user 65532:65532 >"$work/operator.pushed"
push bundle "$work/bundle" "$registry/$package-bundle:v$version" >"$work/bundle.pushed"
show "$tool" catalog add "$work/catalog" "$work/bundle" --image "$base-bundle:v$version"
push catalog "$work/catalog" "$registry/$package-catalog:v$version" --data-only >"$work/catalog.pushed"

say "5. Pull the bundle back by digest, and build it again without a registry"
show "$tool" render "$(cat "$work/bundle.pushed")" --plain-http --image "$base-bundle:v$version" >"$work/pulled.json"
show "$tool" render "$work/bundle" --image "$base-bundle:v$version" >"$work/local.json"
cmp "$work/pulled.json" "$work/local.json"
show "$tool" push bundle "$work/bundle" "$base-bundle:v$version" --to "oci:$work/layout" >"$work/layout.written"
[ "$(digest "$work/bundle.pushed")" = "$(digest "$work/layout.written")" ] || { echo "the digests differ" >&2; exit 1; }
echo "  the same content, the same digest"

say "Digests, the same on every machine:"
for image in operator bundle catalog; do printf '  %-9s %s\n' "$image" "$(digest "$work/$image.pushed")"; done
cat <<'NEXT'

Next, on a cluster with OLM and a registry that it pulls from (docs/how-to/example-on-cluster.md):
  make image-push bundle bundle-push catalog catalog-push IMG=... BUNDLE_IMG=... CATALOG_IMG=...
  kubectl create namespace memcached
  kubectl apply -n memcached -f docs/install.yaml     # with your catalog image in it
Or without OLM:
  make image-push deploy IMG=...
NEXT
