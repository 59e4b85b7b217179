#!/usr/bin/env bash
# Make Debian packages of the source tree: programs with their units, library,
# headers, Python. They go to the folder $1, checked by lintian.
set -euo pipefail
cd "$(dirname "$0")/.."
to=$(realpath -m "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$to" "$work/pricer"
# What git knows, and what is new and not ignored.
git ls-files --cached --others --exclude-standard -z |
    while IFS= read -r -d '' file; do [ ! -f "$file" ] || printf '%s\0' "$file"; done |
    tar --null --files-from=- -c | tar -x -C "$work/pricer"
cp -r "$work/pricer/packaging/debian" "$work/pricer/debian"
cd "$work/pricer"
echo "building (dpkg-buildpackage); the log is $to/build.log" >&2
dpkg-buildpackage --build=binary --no-sign >"$to/build.log" 2>&1 ||
    { tail -40 "$to/build.log" >&2; exit 1; }
# The packages are for one's own machines and have nobody's address.
lintian --allow-root --fail-on error \
    --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog \
    "$work"/pricer_*.changes | tee "$to/lintian.log"
rm -f "$to"/*.deb
mv "$work"/*.deb "$to"
ls -1 "$to"/*.deb
