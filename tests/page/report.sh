#!/usr/bin/env bash
# pricer report: well-formed pages with the right sections for studies of every
# age, and a real browser's view of one. $1: the build folder.
set -euo pipefail
pricer=$(realpath "$1")/pricer
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"
# shellcheck source=tests/expect.sh
. "$root"/tests/expect.sh

# A page parses as XML, loads nothing, and its drawings hold only numbers.
check() { # page, sections that must be there
    python3 - "$@" <<'END' || fail "$1"
import re, sys
import xml.etree.ElementTree as tree
text = open(sys.argv[1], encoding="utf-8").read()
page = tree.fromstring(text.replace("<!DOCTYPE html>", ""))
sections = [s.get("id") for s in page.iter("section")]
assert sections == sys.argv[2:], sections
assert "<script" not in text and "url(" not in text and "src=" not in text
assert not re.search(r"\b-?(nan|inf)\b", re.sub(r"<pre>.*?</pre>", "", text,
                                                flags=re.S)), "nan or inf"
svg = "{http://www.w3.org/2000/svg}"
for name in ("line", "rect", "circle"):
    for shape in page.iter(svg + name):
        for key in ("x", "y", "cx", "cy", "x1", "y1", "x2", "y2", "r", "width",
                    "height"):
            if shape.get(key) is not None:
                value = float(shape.get(key))
                assert -1 <= value <= 2000, (name, key, value)
END
}

cp "$root"/examples/paper.yaml 'a<b>&"c.yaml'
"$pricer" new 'odd<name>&.pricer' 'a<b>&"c.yaml' >/dev/null
"$pricer" report 'odd<name>&.pricer' -o new.html >/dev/null
check new.html network recipe
grep -q 'no plan yet' new.html || fail "what is missing is not said"

"$pricer" plan 'odd<name>&.pricer' >/dev/null
"$pricer" report 'odd<name>&.pricer' -o planned.html >/dev/null
all="network error decoder agreement privacy price certificate recipe"
# shellcheck disable=SC2086
check planned.html $all
grep -q 'adaptive, no guarantee' planned.html || fail "decoders are missing"
grep -q 'pricer simulate' planned.html || fail "simulate is not named"

"$pricer" simulate 'odd<name>&.pricer' --trials 2000 >/dev/null
"$pricer" report 'odd<name>&.pricer' -o full.html >/dev/null
# shellcheck disable=SC2086
check full.html $all
grep -q 'simulated, 2000 trials' full.html || fail "the simulation is missing"
"$pricer" report 'odd<name>&.pricer' --output - >again.html
cmp -s full.html again.html || fail "two pages of one study differ"

# Places, and more nodes than are drawn.
"$pricer" new places.pricer "$root/examples/scattered.yaml" >/dev/null
"$pricer" plan places.pricer >/dev/null
"$pricer" report places.pricer -o places.html >/dev/null
# shellcheck disable=SC2086
check places.html $all
"$pricer" new many.pricer "$root/examples/geometric.yaml" \
    --set network.nodes=400 >/dev/null
"$pricer" plan many.pricer --tolerance 1e-4 --threads 1 >/dev/null 2>&1
"$pricer" report many.pricer -o many.html >/dev/null
# shellcheck disable=SC2086
check many.html $all
grep -q 'Drawn are the 120 of 400' many.html || fail "the choice is not said"

# Mistakes.
status=0
"$pricer" report places.pricer --plan 9 -o no.html 2>messages >out || status=$?
[ $status -eq 1 ] && [ ! -e no.html ] || fail "a plan that is not there"
status=0
"$pricer" report places.pricer -o /nonexistent/no.html 2>messages || status=$?
[ $status -eq 1 ] || fail "a folder that is not there"

# A browser draws it: light, dark, on a phone, and on paper.
browser=$(command -v chromium || true)
if [ -z "$browser" ]; then
    echo "skipped: the browser's view of a report, chromium is not there"
    exit $bad
fi
view() {
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu \
        --user-data-dir="$folder/profile" --hide-scrollbars "$@" \
        "file://$folder/full.html" >/dev/null 2>browser.log
}
view --window-size=1000,2000 --screenshot="$folder/light.png" || fail "light"
view --window-size=1000,2000 --blink-settings=preferredColorScheme=0 \
    --screenshot="$folder/dark.png" || fail "dark"
view --window-size=500,2000 --screenshot="$folder/phone.png" || fail "phone"
view --print-to-pdf="$folder/page.pdf" || fail "print"
for picture in light dark phone; do
    [ "$(stat -c %s $picture.png)" -gt 20000 ] || fail "$picture is blank"
done
cmp -s light.png dark.png && fail "dark looks as light does"
head -c 4 page.pdf | grep -q '%PDF' || fail "no PDF"
exit $bad
