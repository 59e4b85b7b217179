#!/usr/bin/env bash
# pricer import: lists of measured links become a scenario that can be planned;
# nothing is overwritten, and mistakes have a file and line. $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
pricer=$(realpath "$1")/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

cat >list.txt <<'END'
# sender receiver p, measured twice for some; gw is the gateway
kitchen gw 0.9
2nd-floor gw 0.02
2nd-floor kitchen 0.7
2nd-floor kitchen 0.8
kitchen 2nd-floor 0.75
17 kitchen 0.5
17 gw 0
gw kitchen 0.9
kitchen kitchen 1
garage 17
END
expect 0 "home: 4 nodes, 1 of them with an uplink, 3 links, from 7 measurements" \
    "$pricer" import list.txt --server gw --min-p 0.05 --to home
[ "$(cat home/nodes.csv)" = "node,p,name
0,0,2nd-floor
1,0,id-17
2,0,garage
3,0.90000000000000002,kitchen" ] || fail "nodes: $(cat home/nodes.csv)"
[ "$(cat home/links.csv)" = "from,to,p
0,3,0.75
1,3,0.5
3,0,0.75" ] || fail "links: $(cat home/links.csv)"
expect 0 "4 nodes, 3 links" "$pricer" new home.pricer home/scenario.yaml
expect 0 "kitchen (3)" "$pricer" plan home.pricer
expect 0 '"pairs_repeated": 1' "$pricer" import list.txt --server gw --to json --json
for words in '"nodes": 4' '"uplinks": 2' '"links": 3' '"measurements": 7' \
    '"pairs_left_out": 1' '"rows_without_p": 1' '"rows_from_server": 1' \
    '"rows_to_self": 1' '"header": false'; do
    rm -r json
    expect 0 "$words" "$pricer" import list.txt --server gw --to json --json
done
for words in 'once, of which p is the mean: 1' 'p not above --min-p: 2' \
    'without p: 1' 'from the server: 1' 'to itself: 1' \
    'next: pricer new STUDY again/scenario.yaml'; do
    rm -rf again
    expect 0 "$words" "$pricer" import list.txt --server gw --min-p 0.05 --to again
done

# What exists stays, and a run that fails leaves nothing behind.
before=$(cat home/*)
expect 1 "home/nodes.csv: exists, and is not overwritten" \
    "$pricer" import list.txt --server gw --to home
[ "$(cat home/*)" = "$before" ] || fail "files were overwritten"
rm home/nodes.csv home/links.csv
expect 1 "home/scenario.yaml: exists, and is not overwritten" \
    "$pricer" import list.txt --server gw --to home
[ "$(ls home)" = scenario.yaml ] || fail "something was left: $(ls home)"
printf 'a;gw;0.9\nb;gw;85\n' >percent.csv
expect 1 "percent.csv:2: p = 85 is not a probability (percent? then divide by 100)" \
    "$pricer" import percent.csv --server gw --to percent
[ ! -e percent ] || fail "a folder was made for a list that is refused"

expect 2 "--server ID is missing" "$pricer" import list.txt --to x
expect 2 "--to DIR is missing" "$pricer" import list.txt --server gw
expect 2 "--min-p is a number from 0, below 1" \
    "$pricer" import list.txt --server gw --to x --min-p 5
expect 1 "the server gateway is in no line" "$pricer" import list.txt --server gateway --to x
expect 1 "No such file or directory" "$pricer" import none.txt --server gw --to x
expect 1 "list.txt/nodes.csv: Not a directory" "$pricer" import list.txt --server gw --to list.txt
exit $bad
