#!/bin/sh
# Installs bundle-tool: downloads the archive of a release, verifies its checksum, and installs the program.
#
#   curl -fsSL @REPOSITORY@/releases/latest/download/install.sh | sh
#   curl -fsSL @REPOSITORY@/releases/latest/download/install.sh | sh -s -- --version v1.2.0 --to /usr/local/bin
set -eu

repository=@REPOSITORY@
version=latest
directory=

usage() {
  cat <<USAGE
Install bundle-tool

Usage: install.sh [--version VERSION] [--to DIR]

Options:
  --version VERSION  Release to install, such as v1.2.0 [default: the latest]
  --to DIR           Directory to install to [default: ~/.local/bin, as root /usr/local/bin]

Environment:
  BUNDLE_TOOL_RELEASE  URL of the directory with the archive and SHA256SUMS, such as that of a mirror
USAGE
}
fail() {
  echo "error: $1" >&2
  exit 2
}

while [ $# -gt 0 ]; do
  case $1 in
    --version | --to)
      [ $# -gt 1 ] || fail "$1 requires a value"
      if [ "$1" = --to ]; then directory=$2; else version=$2; fi
      shift 2
      ;;
    -h | --help) usage; exit 0 ;;
    *) fail "unexpected argument \`$1\`; see install.sh --help" ;;
  esac
done

case $(uname -s) in
  Linux) os=linux ;;
  Darwin) os=darwin ;;
  *) fail "no release for $(uname -s): build it with cargo install --git $repository olm-bundle-tool" ;;
esac
case $(uname -m) in
  x86_64 | amd64) arch=amd64 ;;
  aarch64 | arm64) arch=arm64 ;;
  ppc64le | s390x) arch=$(uname -m) ;;
  *) fail "no release for $(uname -m): build it with cargo install --git $repository olm-bundle-tool" ;;
esac

if [ -z "$directory" ]; then
  if [ "$(id -u)" = 0 ]; then
    directory=/usr/local/bin
  else
    directory=${HOME:?HOME is not set: use --to}/.local/bin
  fi
fi
case $version in
  latest) url=$repository/releases/latest/download ;;
  v*) url=$repository/releases/download/$version ;;
  *) url=$repository/releases/download/v$version ;;
esac
url=${BUNDLE_TOOL_RELEASE:-$url}
case $url in
  # A copy that does not come from a release contains no URL of the repository.
  @*) fail "this copy of install.sh belongs to no release: set BUNDLE_TOOL_RELEASE to the URL of one" ;;
esac

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
trap 'exit 130' INT TERM

download() {
  if command -v curl >/dev/null 2>&1; then
    curl --fail --silent --show-error --location --retry 3 --connect-timeout 30 --output "$temporary/$1" "$url/$1"
  elif command -v wget >/dev/null 2>&1; then
    wget --quiet --tries=3 --timeout=30 --output-document="$temporary/$1" "$url/$1"
  else
    fail "curl or wget is required"
  fi || fail "failed to download $url/$1"
}

archive=bundle-tool-$os-$arch.tar.gz
download SHA256SUMS
download "$archive"

expected=$(awk -v name="$archive" '$2 == name || $2 == "*" name {print $1}' "$temporary/SHA256SUMS")
[ -n "$expected" ] || fail "$url/SHA256SUMS has no checksum of $archive"
if command -v sha256sum >/dev/null 2>&1; then
  found=$(sha256sum "$temporary/$archive")
elif command -v shasum >/dev/null 2>&1; then
  found=$(shasum -a 256 "$temporary/$archive")
else
  fail "sha256sum or shasum is required"
fi
found=${found%% *}
[ "$found" = "$expected" ] || fail "the checksum of $archive is $found, expected $expected: nothing was installed"

tar -xzf "$temporary/$archive" -C "$temporary" bundle-tool || fail "$archive contains no bundle-tool"
mkdir -p "$directory" || fail "cannot create $directory: use --to"
# A rename, so that a running bundle-tool is replaced whole or not at all.
{ cp "$temporary/bundle-tool" "$directory/.bundle-tool.$$" && chmod 755 "$directory/.bundle-tool.$$" &&
  mv -f "$directory/.bundle-tool.$$" "$directory/bundle-tool"; } ||
  { rm -f "$directory/.bundle-tool.$$"; fail "cannot write to $directory: use --to"; }

"$directory/bundle-tool" --version
echo "installed $directory/bundle-tool"
case :$PATH: in
  *:"$directory":*) ;;
  *) echo "note: $directory is not in PATH" ;;
esac
