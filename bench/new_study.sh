#!/usr/bin/env bash
# From a CSV network of a million links to a study, next to sqlite3's .import of
# the same file, which splits the text but checks, sorts and indexes nothing.
# The best of five runs each, alternating. $1: the build folder.
set -euo pipefail
pricer=$(realpath "$1")/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
awk 'BEGIN { srand(1); n = 20000
    print "node,p" > "nodes.csv"; print "from,to,p" > "links.csv"
    for (i = 0; i < n; i++) {
        printf "%d,%.4f\n", i, rand() > "nodes.csv"
        for (k = 1; k <= 50; k++)
            printf "%d,%d,%.6f\n", i, (i + 7 * k) % n, .005 + .99 * rand() > "links.csv"
    } }'
cat >s.yaml <<EOF
dimension: 10
network: {files: {nodes: nodes.csv, links: links.csv}}
trust: {eps: 1}
EOF
seconds() { # of the command
    local from to
    from=$(date +%s.%N)
    "$@" >/dev/null
    to=$(date +%s.%N)
    awk -v a="$from" -v b="$to" 'BEGIN { print b - a }'
}
ours=99 rival=99
for _ in 1 2 3 4 5; do
    rm -f a.pricer b.db
    t=$(seconds "$pricer" new a.pricer s.yaml)
    ours=$(awk -v a="$ours" -v b="$t" 'BEGIN { print a < b ? a : b }')
    t=$(seconds sqlite3 b.db '.mode csv' '.import links.csv link')
    rival=$(awk -v a="$rival" -v b="$t" 'BEGIN { print a < b ? a : b }')
done
awk -v a="$ours" -v b="$rival" 'BEGIN {
    printf "%-44s %10s %12s %8s\n", "a study of 10^6 links from CSV", "pricer", "sqlite3", "ratio"
    printf "%-44s %8.2f s %10.2f s %7.2fx\n", "pricer new / .import", a, b, b / a }'
