#!/usr/bin/env bash
# Whom files are for: what holds data, budgets or keys is its owner's alone under
# any umask; what a verb writes where it is told to has the permissions that the
# umask gives. $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
build=$(realpath "$1")
pricer=$build/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

# of MODE FILE...: they have it.
of() {
    local mode=$1 file
    shift
    for file in "$@"; do
        [ "$(stat -c %a "$file")" = "$mode" ] ||
            fail "umask $mask: $file has mode $(stat -c %a "$file"), expected $mode"
    done
}

cat >three.yaml <<'YAML'
dimension: 2
network: {generator: ring, nodes: 3, p: 0.5, uplink: 0.5}
trust: {eps: 1}
YAML
for mask in 000 022 077 777; do
    mkdir "$mask"
    cd "$mask" || exit 1
    umask $mask
    "$pricer" new three.pricer ../three.yaml >/dev/null || fail new
    of 600 three.pricer
    chmod 666 three.pricer
    "$pricer" new --force three.pricer ../three.yaml >/dev/null ||
        fail "new --force"
    "$pricer" plan three.pricer >/dev/null || fail plan
    "$pricer" keygen a.key >/dev/null || fail keygen
    "$pricer" fleet three.pricer --to fleet >/dev/null || fail fleet
    of 600 three.pricer a.key fleet/*/*.key fleet/*/*.ledger fleet/*/*.trust \
        fleet/*/*.conf
    of 700 fleet fleet/*
    of 644 a.key.pub
    umask 022
    cd ..
done

# Everything that a demo keeps: vectors, keys, ledgers, trust files, logs, study.
mask=000
umask 000
"$pricer" demo 022/three.pricer --rounds 3 --keep kept >/dev/null || fail demo
"$pricer" demo --rounds 3 --keep made >/dev/null || fail demo
of 700 kept made
while read -r file; do
    of 600 "$file"
done < <(find kept made -type f ! -name '*.pub')

# What is written out.
for mask in 000 022 027; do
    umask $mask
    rm -rf out three.html
    "$pricer" export 022/three.pricer --to out >/dev/null || fail export
    "$pricer" report 022/three.pricer -o three.html >/dev/null || fail report
    of "$(printf %o $((0666 & ~0$mask)))" out/*.csv out/*.npy three.html
done
exit $bad
