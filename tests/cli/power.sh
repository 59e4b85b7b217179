#!/usr/bin/env bash
# pricer power as a user meets it, on the sample that the project ships.
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
/usr/bin/python3 - "$data" <<'END'
# 7 x 7 means of the images.
import gzip, sys
import numpy as np
bytes_ = gzip.open(sys.argv[1]).read()[16:]
images = np.frombuffer(bytes_, np.uint8).reshape(-1, 7, 4, 7, 4) / 255
np.save('small.npy', images.mean((2, 4)).reshape(len(images), 49)
        .astype(np.float32))
END
run() {
    "$pricer" power ten.pricer --data small.npy --unit-norm --json "$@" 2>messages
}
value() { # file, expression over j
    python3 -c "import json, sys; j = json.load(open('$1')); print($2)"
}
"$pricer" new ten.pricer "$root/examples/paper.yaml" >/dev/null

# The same result for any number of threads; another for another seed.
run --seeds 2 --threads 1 >one.json
run --seeds 2 --threads 3 >three.json
cmp -s one.json three.json || fail "threads change the result"
run --seeds 2 --seed 7 >other.json
cmp -s one.json other.json && fail "the seed changes nothing"

# In one place it is exact; PriCER is close to its prediction, which is better
# than without collaboration; budgets are kept over all iterations.
run --iterations 40 --seeds 10 --vectors found.npy >run.json
[ "$(value run.json "j['one_place']['error'][-1] < 1e-12")" = True ] ||
    fail "in one place: $(value run.json "j['one_place']['error'][-1]")"
[ "$(value run.json "j['pricer']['error'][-1] < 1.5 * j['predicted'][-1] < 0.1
     and j['pricer']['error'][-1] < j['none']['error'][-1]")" = True ] ||
    fail "PriCER: $(value run.json "j['pricer']['error'][-1],
        j['predicted'][-1], j['none']['error'][-1]")"
[ "$(value run.json "all(b['spent'] <= b['eps'] * 1.000001
     for b in j['budget']) and len(j['budget']) > 0")" = True ] ||
    fail "a budget is exceeded"
[ "$(value run.json "abs(j['eigenvalues'][0]['found']
     / j['eigenvalues'][0]['exact'] - 1) < 0.3")" = True ] ||
    fail "eigenvalue $(value run.json "j['eigenvalues']")"

# The vectors are NumPy's too, by its own eigenvectors.
[ "$(/usr/bin/python3 -c "
import numpy as np
x = np.load('small.npy').astype(float)
x /= np.linalg.norm(x, axis=1, keepdims=True)
v = np.load('found.npy')
print(v.shape == (1, 49) and
      (v[0] @ np.linalg.eigh(x.T @ x)[1][:, -1]) ** 2 > 0.9)")" = True ] ||
    fail "found.npy"

# Where eps leaves nothing, it says so.
"$pricer" new shy.pricer "$root/examples/paper.yaml" --set trust.ring.eps=1 \
    --set trust.self.eps=1 --set trust.eps=1 >/dev/null
"$pricer" power shy.pricer --data small.npy --unit-norm >table 2>messages
grep -q 'over 0.1' table || fail "a prediction where there is none"

# Mistakes: exit 2 for the usage, 1 for the rest, and nothing on stdout.
status=0
"$pricer" power ten.pricer 2>messages >out || status=$?
[ $status -eq 2 ] && [ ! -s out ] && grep -q -- '--data' messages ||
    fail "a missing --data"
status=0
"$pricer" power ten.pricer --data small.npy --carry 1 2>messages || status=$?
[ $status -eq 2 ] || fail "--carry 1"
status=0
run --components 50 >out || status=$?
[ $status -eq 1 ] && [ ! -s out ] &&
    grep -q '50 components of rows with 49 numbers' messages ||
    fail "more components than columns"
exit $bad
