#!/usr/bin/env bash
# Prepares what mdBook builds the site from: a copy of docs/ in the directory $1. SUMMARY.md gets the pages of rules and commands, and
# links that leave docs/ lead to the repository at $2; without it, they become plain text.
set -euo pipefail
cd "$(dirname "$0")"
url=$2
case $1 in /*) target=$1 ;; *) target=../$1 ;; esac
rm -rf "$target" && mkdir -p "$target"
cp -r . "$target" && rm "$target/site.sh"
pages() {
  local page
  for page in "$1"/*.md; do
    case ${page##*/} in README.md | exit-codes.md | environment.md | settings.md) continue ;; esac
    printf '  - [%s](%s)\n' "$(sed -n 's/^# //p' "$page" | head -n 1)" "$page"
  done
}
while IFS= read -r line; do
  printf '%s\n' "$line"
  case $line in
    *'(reference/README.md)') pages reference ;;
    *'(rules/README.md)') pages rules ;;
  esac
done <SUMMARY.md >"$target/SUMMARY.md"
# `../X` from docs/, `../../X` from its directories.
for page in "$target"/*.md "$target"/*/*.md; do
  below=${page#"$target"/} up=
  case $below in */*) up=../ ;; esac
  if [ -n "$url" ]; then
    sed -i "s|](${up}\.\./\([^)]*\))|]($url/blob/HEAD/\1)|g" "$page"
  else
    sed -i "s|\[\([^]]*\)\](${up}\.\./[^)]*)|\1|g" "$page"
  fi
  # mdBook names the page of README.md index.html. The links to the repository have a scheme.
  case $below in SUMMARY.md) ;; *) sed -i 's|\(](\([^:)]*/\)\{0,1\}\)README\.md|\1index.md|g' "$page" ;; esac
done
