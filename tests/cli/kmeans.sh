#!/usr/bin/env bash
# pricer kmeans as a user meets it, on the sample that the project ships.
# $1: the build folder.
set -euo pipefail
pricer=$(realpath "$1")/pricer
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"
# shellcheck source=tests/expect.sh
. "$root"/tests/expect.sh
data=$root/data/shapes-1000-images-idx3-ubyte.gz
run() {
    "$pricer" kmeans ten.pricer --data "$data" --unit-norm --json "$@" \
        2>messages
}
value() { # file, expression over j
    python3 -c "import json, sys; j = json.load(open('$1')); print($2)"
}

"$pricer" new ten.pricer "$root/examples/scattered.yaml" >/dev/null

# The same result for any number of threads, and for the same seed.
run --seeds 2 --threads 1 >one.json
run --seeds 2 --threads 3 >three.json
cmp -s one.json three.json || fail "threads change the result"
run --seeds 2 --seed 7 >other.json
cmp -s one.json other.json && fail "the seed changes nothing"

# Ours is close to K-means in one place, and keeps every budget.
[ "$(value one.json "j['relative_inertia'] < 1.3")" = True ] ||
    fail "relative inertia $(value one.json "j['relative_inertia']")"
[ "$(value one.json \
    "all(b['spent'] == 'inf' if b['eps'] == 'inf' else
         b['spent'] <= b['eps'] * 1.000001 for b in j['budget'])")" = True ] ||
    fail "a budget is exceeded"

# The paper's procedure spends more than one release's budget, and says so.
"$pricer" kmeans ten.pricer --data "$data" --unit-norm --procedure paper \
    --calibration classic --seeds 1 --rounds 3 >table 2>messages
grep -q 'exceeded by the run' messages || fail "no word about composition"
grep -q 'relative inertia' table || fail "no table"

# Relaying helps the paper's procedure; perfect links are close to one place.
run --procedure paper --seeds 4 >paper.json
run --procedure paper --strategy none --seeds 4 >none.json
run --procedure paper --strategy perfect --seeds 1 >perfect.json
[ "$(python3 -c "import json
a, b, c = (json.load(open(f + '.json'))['relative_inertia']
           for f in ('perfect', 'paper', 'none'))
print(a < 1.2 and a < b < c)")" = True ] || fail "the order of strategies"

# The decoder of the plan: by default, and better for the paper's procedure.
[ "$(value one.json "j['decoder']")" = minimax ] || fail "no decoder"
[ "$(value paper.json "j['decoder']")" = constant ] || fail "a decoder"
run --procedure paper --decoder minimax --seeds 4 >decoded.json
[ "$(python3 -c "import json
a, b = (json.load(open(f + '.json'))['relative_inertia']
        for f in ('decoded', 'paper'))
print(a < b)")" = True ] || fail "the decoder does not help"

# Links drawn for every centre: chance evens out, so runs differ less.
run --procedure paper --calibration classic --seeds 4 >round.json
run --procedure paper --calibration classic --seeds 4 --links-per centroid \
    >centroid.json
[ "$(python3 -c "import json
a, b = (json.load(open(f + '.json'))['deviation'] for f in ('round', 'centroid'))
print(b < a / 2)")" = True ] || fail "links per centroid"
status=0
run --links-per centroid >out || status=$?
[ $status -eq 2 ] || fail "--links-per centroid with pricer's procedure"

# Centres are written as they are counted.
run --seeds 1 --clusters 3 --rounds 2 --centres centres.npy >/dev/null
head -c 128 centres.npy | grep -q "'shape': (3, 784)" || fail "centres.npy"

# Mistakes: exit 2 for the usage, 1 for the rest, and nothing on stdout.
status=0
"$pricer" kmeans ten.pricer 2>messages >out || status=$?
[ $status -eq 2 ] && [ ! -s out ] && grep -q -- '--data' messages ||
    fail "a missing --data"
status=0
"$pricer" kmeans ten.pricer --data "$data" --clusters 0 2>messages || status=$?
[ $status -eq 2 ] || fail "--clusters 0"
status=0
"$pricer" kmeans ten.pricer --data "$data" --clusters 2000 2>messages >out ||
    status=$?
[ $status -eq 1 ] && [ ! -s out ] || fail "more clusters than points"
grep -q '2000 clusters of 1000 points' messages || fail "its message"
status=0
"$pricer" kmeans ten.pricer --data /nonexistent 2>messages || status=$?
[ $status -eq 1 ] || fail "a file that is not there"
exit $bad
