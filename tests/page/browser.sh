#!/usr/bin/env bash
# Reports in a real browser: at 390 and 1280 pixels, light and dark, nothing is
# wider than the window or cut, no error is on the console, text stands out from
# what is behind it; and on paper. $1: the build folder.
set -uo pipefail
pricer=$(realpath "$1")/pricer
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
# shellcheck source=tests/expect.sh
. "$root"/tests/expect.sh
browser=$(command -v chromium || true)
if [ -z "$browser" ]; then
    echo "skipped: the browser's view of a report, chromium is not there"
    exit 77
fi
view() { # page options...
    local page=$1
    shift
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu \
        --user-data-dir="$folder/profile" --hide-scrollbars \
        --enable-logging=stderr "$@" "file://$folder/$page" 2>browser.log
}

# Pages with everything: a circle of nodes with a simulation and rounds that were
# run, sixty nodes with places, twenty with long names, and more nodes than are
# drawn one by one; the last two with 'scheme: forward' too, one of them mute.
"$pricer" new ten.pricer "$root"/examples/paper.yaml >/dev/null
"$pricer" plan ten.pricer >/dev/null
"$pricer" privacy ten.pricer >/dev/null
"$pricer" simulate ten.pricer --trials 2000 >/dev/null
sqlite3 ten.pricer "WITH RECURSIVE k(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM k WHERE n < 40)
    INSERT INTO round (round, plan, attempts, arrived, contributors, weight, error, estimate, decoder, bar)
    SELECT n, 1, 1, 3 + n % 3, 7 + n % 4, 0.8, 0.05 + 0.01 * (n % 5), zeroblob(1024), 'minimax', 0.1 + 0.02 * (n % 5)
    FROM k"
cp "$root"/examples/campus/*.csv .
sed 's/^  everyone: .*/  eps: 4\n  delta: 1e-5\n  server: {eps: 8}/' "$root"/examples/campus/campus.yaml >campus.yaml
"$pricer" new places.pricer campus.yaml >/dev/null
"$pricer" plan places.pricer >/dev/null
"$pricer" privacy places.pricer >/dev/null
"$pricer" new many.pricer "$root"/examples/geometric.yaml --set network.nodes=400 >/dev/null
"$pricer" plan many.pricer --tolerance 1e-4 --threads 1 >/dev/null 2>&1
printf '%s\n' 'dimension: 3' 'trust: {eps: 2, delta: 1e-4, server: {eps: 3, delta: 1e-5}}' \
    'network: {files: {nodes: names.csv, links: between.csv}}' >names.yaml
awk 'BEGIN { print "node,name,p,x,y"; for (i = 0; i < 20; i++)
    printf "%d,%s-of-the-town-%d,%g,%d,%d\n", i, i % 2 ? "mill" : "harbour-crane", i,
        i % 5 ? 0.2 : 0.9, 90 * (i % 5), 70 * int(i / 5) }' >names.csv
awk 'BEGIN { print "from,to,p"; for (i = 0; i < 20; i++) for (k = 1; k < 6; k += 2)
    print i "," (i + k) % 20 ",0.8" }' >between.csv
"$pricer" new names.pricer names.yaml >/dev/null
"$pricer" plan names.pricer >/dev/null
"$pricer" privacy names.pricer >/dev/null
sed '2s/.*/trust: {everyone: {eps: 2}}/; s/names.csv/mute.csv/' names.yaml >named.yaml
{
    cat names.csv
    echo '20,lighthouse-keeper,0,400,300'
} >mute.csv
"$pricer" new forward.pricer named.yaml >/dev/null
"$pricer" plan forward.pricer >/dev/null
sqlite3 forward.pricer "INSERT INTO simulation VALUES (1, 1, 'fast', 'worst-case', 1, 500, 0, 'constant');
    INSERT INTO simulation_strategy VALUES (1, 'plan', .3, .01, NULL, .35, .1, NULL, 0, 0, NULL);
    INSERT INTO simulation_bin VALUES (1, 'plan', .1, .2, 300), (1, 'plan', .2, .4, 200);
    INSERT INTO round (round, plan, attempts, arrived, contributors, weight, error, decoder, bar)
    VALUES (1, 1, 1, 3, 3, 0.6, 0.2, 'constant', 0.5), (2, 1, 1, 4, 4, 0.8, 0.1, 'constant', 0.4)"
printf '%s\n' 'dimension: 2' 'trust: {everyone: {eps: 4}}' 'network: {generator: geometric,' \
    '  nodes: 150, uplink: 0.05, good: {fraction: 0.15, uplink: 0.9}}' >field.yaml
"$pricer" new field.pricer field.yaml >/dev/null
"$pricer" plan field.pricer >/dev/null
for page in ten places many names forward field; do
    "$pricer" report $page.pricer -o $page.html >/dev/null || fail "report $page"
    { # the script goes behind the page's own end, where a browser takes it too
        cat $page.html
        echo '<script>'
        cat "$root"/tests/page/look.js
        echo '</script>'
    } >look-$page.html
done
# A window is never narrower than 500 pixels, so a page is looked at in a frame.
frame() { # page width
    cat <<END
<!DOCTYPE html><html><head><meta name="color-scheme" content="light dark"></head>
<body><script>addEventListener('message', event => {
    const seen = document.createElement('pre');
    seen.id = 'seen';
    seen.textContent = event.data;
    document.body.append(seen);
})</script><iframe src="look-$1.html" width="$2" height="2000" style="border:0"></iframe>
</body></html>
END
}
grep -q 'nodes in the estimate' ten.html || fail "the rounds are not drawn"
grep -q 'ε spent, at most' ten.html || fail "what rounds have cost is not drawn"
for page in ten places; do
    grep -q 'ε towards a link' $page.html || fail "$page: eps and budgets are not drawn"
    grep -q 'aria-label="Who relays for whom"' $page.html || fail "$page: no matrix"
done
for page in ten places forward field; do
    for question in 'Accurate enough' 'Private enough' 'What would make it better'; do
        grep -q "<dt>$question?</dt>" $page.html || fail "$page: $question is not answered"
    done
done

for page in ten places many names forward field; do
    for width in 390 1280; do
        for scheme in 1 0; do # light, dark
            [ $page = ten ] || [ $page = forward ] || [ $((width > 400)) -eq $scheme ] || continue
            what="$page at $width, $([ $scheme = 1 ] && echo light || echo dark)"
            frame $page $width >frame.html
            view frame.html --window-size=1400,2100 --virtual-time-budget=3000 --dump-dom \
                --blink-settings=preferredColorScheme=$scheme >dom.html ||
                fail "$what: no view"
            sed -n '/<pre id="seen">/,/<\/pre>/p' dom.html | sed 's/<[^>]*>//g' >seen.txt
            grep -q "^looked at $width\$" seen.txt || fail "$what: the browser did not look"
            grep -v '^looked at' seen.txt | grep . && fail "$what: see above"
            grep -i 'CONSOLE' browser.log && fail "$what: an error on the console"
        done
    done
done

# Pictures: none blank, dark not as light; and a page of paper.
for width in 390 1280; do
    view ten.html --window-size=$width,3000 --screenshot="$folder/light$width.png" \
        >/dev/null || fail "light at $width"
    view ten.html --window-size=$width,3000 --blink-settings=preferredColorScheme=0 \
        --screenshot="$folder/dark$width.png" >/dev/null || fail "dark at $width"
    for picture in light$width dark$width; do
        [ "$(stat -c %s $picture.png)" -gt 40000 ] || fail "$picture is blank"
    done
    cmp -s light$width.png dark$width.png && fail "dark looks as light does"
done
view ten.html --print-to-pdf="$folder/page.pdf" >/dev/null || fail "print"
head -c 4 page.pdf | grep -q '%PDF' || fail "no PDF"
exit $bad
