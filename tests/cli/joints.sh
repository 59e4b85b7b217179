#!/usr/bin/env bash
# The joints between the parts: a plan for several rounds, rounds of a fleet, a
# plan from the links that these have measured, and all that is said about it.
# Every number that two parts speak of is compared. $1: the build folder.
set -uo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
pricer=$(realpath "$1")/pricer
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
# shellcheck source=tests/expect.sh
. "$here"/tests/expect.sh

# say NAME VERB OPTIONS...: a verb's JSON into NAME.json.
say() {
    local name=$1 verb=$2
    shift 2
    "$pricer" "$verb" ten.pricer "$@" --json >"$name.json" ||
        fail "$verb $* exited $?"
}

# Everything that is said about a plan of which NAME.json tells, and of which
# the page $1.html is about, with the further options.
about() {
    local name=$1
    shift
    say "$name-privacy" privacy "$@"
    say "$name-audit" audit --trials 1000 "$@"
    say "$name-simulate" simulate --trials 5000 --decoder constant "$@"
    "$pricer" report ten.pricer -o "$name.html" "$@" >/dev/null ||
        fail "report $*"
    python3 - "$name" <<'PYTHON' || fail "the parts disagree about the plan $name"
import html, json, re, sqlite3, sys
name = sys.argv[1]
read = lambda part: json.load(open(f'{name}{part}.json'))
plan, privacy = read(''), read('-privacy')['statements']
audit, played = read('-audit'), read('-simulate')
bad = 0
def claim(true, what):
    global bad
    if not true:
        print(f'{name}: {what}')
        bad = 1

# The budgets: what the plan checked, privacy shows, and audit does not find
# otherwise.
tables = sqlite3.connect('ten.pricer')
eps = {(i, j): e for i, j, e in tables.execute(
    'SELECT from_node, to_node, eps FROM link')}
claim(plan['open_links'] == 0, 'the plan does not pass its own check')
links = [s for s in privacy if s['observer'] == 'link']
over = [s for s in links if float(s['epsilon']) > eps[s['node'], s['at']]]
claim(len(links) == len(eps) and not over, f'above their budget: {over[:3]}')
claim(all(s['rounds'] == plan['rounds'] and s['eavesdropper'] == 'radio'
          for s in privacy), 'privacy is about other rounds or losses')
claim(audit['rounds'] == plan['rounds'] and audit['eavesdropper'] == 'radio',
      'the audit is about other rounds or losses')
claim(not audit['contradicted'], 'the audit contradicts')
claims = {c['claim']: c['epsilon'] for c in audit['audits'][0]['claims']}
claim(set(claims) == {'budget', 'account'}, f'the audit claims {claims}')
worst = {o: max(float(s['epsilon']) for s in privacy if s['observer'] == o)
         for o in ('link', 'relay', 'server')}
for row in audit['audits']:
    account = [c['epsilon'] for c in row['claims'] if c['claim'] == 'account']
    claim(abs(account[0] - worst[row['observer']]) <= .01 * account[0],
          f'{row["observer"]}: audit {account[0]}, privacy {worst}')

# The error: of the plan, as the simulation predicts it and plays it.
outcome = played['strategies'][0]
near = lambda a, b: abs(a - b) <= 1e-9 * abs(b)
claim(played['plan'] == plan['plan'], 'another plan was simulated')
claim(near(outcome['worst_case'], plan['mse_worst_case']) and
      near(outcome['predicted'], plan['mse_worst_case']),
      f'planned {plan["mse_worst_case"]}, simulated {outcome}')
claim(abs(outcome['mse'] - outcome['predicted']) < 6 * outcome['mse_stderr'],
      f'simulated {outcome}')

# The page says the same, to the digits that it has.
page = html.unescape(re.sub('<[^>]*>', ' ', open(f'{name}.html').read()))
flat = re.sub(r'\s+', ' ', page)
short = lambda x: f'{x:.3g}' if x and (abs(x) < 1e-3 or abs(x) >= 1e6) else f'{x:.4g}'
claim(f'Plan {plan["plan"]}: budgets are for {plan["rounds"]} rounds' in flat and
      'every packet counted as heard' in flat, 'the page is about something else')
claim(f'together, at worst {short(plan["mse_worst_case"])} ' in flat,
      f'the page has another error than {short(plan["mse_worst_case"])}')
claim('spend more than their (ε, δ) 0 ' in flat, 'the page finds open links')
claim('⚠' not in flat and 'too small' not in flat, 'the page warns')
claim(f'plan {short(outcome["predicted"])} {short(outcome["mse"])} ' in flat,
      f'the page has another simulation than {outcome}')
for o, most in worst.items():
    found = [float(s['epsilon']) for s in privacy if s['observer'] == o]
    row = (f' {o} data, {len(found)} statements, {plan["rounds"]} rounds, radio '
           f'0.001 {short(min(found))} '
           f'{short(sum(found) / len(found))} {short(most)} ')
    claim(row in flat, f'the page does not say "{row}"')
measured = plan['network']['origin'] == 'measured'
claim(measured == ('links as measured over' in flat), 'whose links are they?')
claim(measured != ('10 rounds were run by real nodes' in flat),
      'the page has the rounds of another plan')
sys.exit(bad)
PYTHON
}

"$pricer" new ten.pricer "$here"/examples/paper.yaml --set rounds=10 >/dev/null
say first plan
"$pricer" demo ten.pricer --rounds 10 >/dev/null || fail "demo"
about first
# An uplink and some links were down all the time, so that what is measured is
# not what the scenario says.
fewer="UPDATE arrival SET arrived = 0 WHERE node = 5;
    UPDATE delivery SET arrived = 0 WHERE link IN (1, 9, 40)"
sqlite3 ten.pricer "$fewer"
say second plan --from-deliveries
about second
[ "$(sqlite3 ten.pricer "SELECT origin, rounds, first_round, last_round
    FROM network ORDER BY network" | tr '\n' ' ')" = 'scenario|0|| measured|10|1|10 ' ] ||
    fail "the study does not say how its networks came about"
python3 - <<'PYTHON' || fail "nothing was measured"
import json, sys
one, two = (json.load(open(f'{n}.json')) for n in ('first', 'second'))
sys.exit(0 if abs(one['objective'] / two['objective'] - 1) > .01 else 1)
PYTHON
# The first plan is still what it was, and the latest is not taken for it.
about first --plan 1
# The report says what its numbers rest on.
grep -q 'links of different pairs fail independently' first.html ||
    fail "the report does not say that links fail independently"
grep -q 'credit' first-privacy.json first.html && fail "there is a credit"

# Answers about other rounds, deltas or losses, or with nodes that leave out their
# noise, stand under their own names and never for the plan's: not if there is no
# answer about the plan's own question, nor beside one.
"$pricer" new --force ten.pricer "$here"/examples/paper.yaml --set rounds=10 >/dev/null
say fifth plan
others() {
    say other-rounds privacy --rounds 1000
    say other-losses privacy --eavesdropper receiver
    say other-noise privacy --observer server
    # As an older version stored it.
    sqlite3 ten.pricer "UPDATE privacy_statement SET epsilon = epsilon * 2
        WHERE privacy = (SELECT max(privacy) FROM privacy);
        UPDATE privacy SET coalition = 'silent=2'
        WHERE privacy = (SELECT max(privacy) FROM privacy)"
}
others
say none plans
"$pricer" report ten.pricer -o none.html >/dev/null || fail "report of others"
say own privacy
others
say some plans
say same diff 1
say other-delta privacy --delta 1e-9
for verb in plans 'diff 1' 'audit --observer server --node 0 --trials 1000'; do
    # shellcheck disable=SC2086
    said=$("$pricer" ${verb%% *} ten.pricer ${verb#"${verb%% *}"} | tr -s ' \n' ' ')
    grep -q 'links of different pairs fail independently' <<<"$said" ||
        fail "$verb does not say that links fail independently"
done
"$pricer" report ten.pricer -o some.html >/dev/null || fail "report"
# Where the server's budgets ask for more noise, links keep less than their own.
"$pricer" new --force ten.pricer "$here"/examples/paper.yaml --set rounds=10 \
    --set trust.server.eps=900 --set trust.server.delta=1e-3 >/dev/null
say sixth plan
"$pricer" report ten.pricer -o budgets.html >/dev/null || fail "report of budgets"
say tight privacy
"$pricer" report ten.pricer -o tight.html >/dev/null || fail "report of accounts"
python3 - <<'PYTHON' || fail "an answer stands for another"
import html, json, re, sys
read = lambda name: json.load(open(f'{name}.json'))
page = lambda name: re.sub(r'\s+', ' ', html.unescape(
    re.sub('<[^>]*>', ' ', open(f'{name}.html').read())))
head = lambda name: page(name).split('Private enough?')[1].split('What would')[0]
eps = lambda name, at: [float(s['epsilon']) for s in read(name)['statements']
                        if s['observer'] == at]
bad = 0
def claim(true, what):
    global bad
    if not true:
        print(what)
        bad = 1

own = max(eps('own', 'server'))
for name in 'other-rounds', 'other-losses', 'other-delta':
    claim(abs(max(eps(name, 'server')) / own - 1) > 1e-3,
          f'{name} is no other question')
claim(read('none')['plans'][0]['server_eps'] is None, 'plans: an eps of others')
claim('not accounted for yet' in head('none') and 'plan’s 10 rounds' in head('none'),
      head('none'))
claim('learn of each node' not in open('none.html').read(), 'bars of others')
claim(read('some')['plans'][0]['server_eps'] == own, 'plans: another eps')
claim([side['server_eps'] for side in read('same')['plans']] == [own, own],
      'diff: another eps')
claim(f'the server: practically none (ε = {own:.4g})' in head('some'), head('some'))
drawing = open('some.html').read().split('learn of each node')[1].split('</svg>')[0]
drawn = re.findall(r'class="quiet">([^<]*)<', drawing)
wanted = []
for at in 'link', 'relay', 'server':
    most = {}
    for s in read('own')['statements']:
        if s['observer'] == at:
            most[s['node']] = max(most.get(s['node'], 0), float(s['epsilon']))
    wanted += [f'{e:.4g}' for e in most.values() if e > 0]
claim(sorted(drawn) == sorted(wanted), f'bars: {sorted(drawn)}, {sorted(wanted)}')
link = max(eps('tight', 'link'))
claim('a neighbour: practically none (ε = 1000); towards the server: practically none '
      '(ε = 900)' in head('budgets'), f'not the budgets: {head("budgets")}')
claim(link < 999 and f'a neighbour: practically none (ε = {link:.4g})' in head('tight'),
      f'{link}: {head("tight")}')
for name, made in ('some', read('some')['plans'][0]), ('same', read('same')['plans'][0]):
    claim('links of different pairs fail independently' in
          made['server_eps_assumes'], f'{name}: what the eps assumes')
claim('server_eps_assumes' not in read('none')['plans'][0], 'none: assumes')
claim('different pairs fail independently' in head('some'), 'the head assumes')
claim('1000 rounds' in page('some').split('least ε')[1], 'the table has lost others')
sys.exit(bad)
PYTHON
exit $bad
