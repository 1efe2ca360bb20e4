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
  awk 'FNR == 1 {titled = FILENAME ~ /\/(README|exit-codes|environment|settings)\.md$/}
    !titled && /^# / {titled = 1; printf "  - [%s](%s)\n", substr($0, 3), FILENAME}' "$1"/*.md
}
while IFS= read -r line; do
  printf '%s\n' "$line"
  case $line in
    *'(reference/README.md)') pages reference ;;
    *'(rules/README.md)') pages rules ;;
  esac
done <SUMMARY.md >"$target/SUMMARY.md"
# `../X` from docs/, `../../X` from its directories.
for up in '' ../; do
  if [ -z "$up" ]; then files=("$target"/*.md); else files=("$target"/*/*.md); fi
  if [ -n "$url" ]; then
    sed -i "s|](${up}\.\./\([^)]*\))|]($url/blob/HEAD/\1)|g" "${files[@]}"
  else
    sed -i "s|\[\([^]]*\)\](${up}\.\./[^)]*)|\1|g" "${files[@]}"
  fi
  # mdBook names the page of README.md index.html. Links with a scheme, such as those to the repository, are left unchanged.
  for file in "${files[@]}"; do [ "$file" = "$target/SUMMARY.md" ] || printf '%s\0' "$file"; done |
    xargs -0 sed -i 's|\(](\([^:)]*/\)\{0,1\}\)README\.md|\1index.md|g'
done
