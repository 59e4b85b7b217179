"""A fleet the way its operator runs it: new, plan, fleet, the printed commands,
rounds until the budgets end, a plan from what was measured, budgets raised, report.
Every number that two parts of it tell is the same: rounds by study, page, metrics,
report and ledgers; the weight that arrived by rounds and by deliveries; eps by the
ledgers and by the accounts. Nothing is charged while no round is opened, files are
their owner's alone, and nodes have names, and radii and diameters of their own.
Arguments: build folder."""
import json
import math
import os
import re
import signal
import sqlite3
import stat
import sys
import time
import urllib.request

import numpy as np

from fleet import expect, free_ports, spawn
from place import Place

build = os.path.realpath(sys.argv[1])
NAMES = ['roof', 'cellar', 'garden', 'gate']
RADII, DIAMETERS = [1, .6, .8, 1], [2, 1.2, 1.6, 1.5]
N, D, T = len(NAMES), 8, 12
DELTA = 1e-6
SCENARIO = f'''dimension: {D}
radius: 1
rounds: {T}
network: {{files: {{nodes: nodes.csv, links: links.csv}}, reciprocity: 1}}
trust: {{eps: 40, delta: {DELTA}, self: {{eps: 50, delta: {DELTA}}}, server: {{eps: 60, delta: {DELTA}}}}}
'''
TIMES = '--period 240 --send 120 --share 170 --uplink 220'


def eps_of(mu):
    """The eps of a Gaussian release of this ratio at DELTA."""
    def delta(eps):
        def below(x):
            return math.erfc(-x / math.sqrt(2)) / 2
        return (below(mu / 2 - eps / mu) -
                math.exp(eps) * below(-mu / 2 - eps / mu))
    low, high = 0., 200.
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if delta(middle) > DELTA else (low, middle)
    return high


class Operator(Place):
    def __init__(self):
        super().__init__(build)
        self.processes = {}

    def start(self, name, command):
        with open(self.path(name + '.log'), 'a') as log:
            self.processes[name] = spawn(
                'umask 000; ' + command.replace('&& ', '&& exec '), shell=True,
                cwd=self.dir, env=self.environment, stdout=log, stderr=log)

    def query(self, sql, path='f.pricer'):
        db = sqlite3.connect(self.path(path), timeout=10)
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()

    def get(self, path):
        try:
            with urllib.request.urlopen(f'http://127.0.0.1:{self.port}{path}',
                                        timeout=5) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.read().decode()

    def until(self, what, condition, timeout=40):
        end = time.monotonic() + timeout
        while not condition():
            expect(time.monotonic() < end, f'{what} did not happen:\n' +
                   self.read('server.log') + self.read('roof.log'))
            time.sleep(.05)

    def ledger(self, name):
        return {row['node']: row for row in json.loads(self.ask(
            f'pricer-node --ledger fleet/{name}/node.ledger --ledger-show '
            '--json'))['accounts']}

    def spent(self, name):
        """What a node has charged, and the last round that it has noted."""
        path = f'fleet/{name}/node.ledger'
        return (self.query('SELECT key, sum(releases) FROM account GROUP BY key',
                           path), self.query('SELECT last FROM server', path))

    def metrics(self):
        return dict(line.rsplit(' ', 1) for line in
                    self.get('/metrics').splitlines() if line[0] != '#')

    def close(self):
        for process in self.processes.values():
            process.terminate()
        codes = {name: process.wait(20) for name, process in
                 self.processes.items()}
        self.remove()
        return codes


def set_up(place):
    place.write('nodes.csv', 'node,p,name,radius,diameter\n' + ''.join(
        f'{i},0.9,{name},{RADII[i]},{DIAMETERS[i]}\n'
        for i, name in enumerate(NAMES)))
    place.write('links.csv', 'from,to,p\n' + ''.join(
        f'{i},{j},0.8\n' for i in range(N) for j in range(N) if i != j))
    place.write('f.yaml', SCENARIO)
    place.run('pricer new f.pricer f.yaml')
    text = place.ask('pricer plan f.pricer')
    expect('every packet counted as heard' in text, text)
    ports = free_ports(N + 2)
    place.port = ports[N + 1]
    place.write('where.csv', f'node,address\nserver,localhost:{ports[N]}\n' +
                ''.join(f'{i},127.0.0.1:{ports[i]}\n' for i in range(N)))
    made = json.loads(place.ask('umask 000; pricer fleet f.pricer --to fleet '
                                '--addresses where.csv --json'))
    for i, name in enumerate(NAMES):
        np.save(place.path('fleet', name, 'vector.npy'), np.full((1, D), .1 * i))
    for member in made['members'][1:]:
        place.start(member['name'], member['start'])
    place.server = (made['members'][0]['start'] +
                    f' {TIMES} --quorum {N} --port {place.port}')
    place.start('server', place.server)


def check_weight(place):
    """How much of the plan's weight came, by what is stored of every part."""
    parts = {(None, i): w for i, w in place.query(
        'SELECT node, weight FROM plan_node WHERE plan = 1')}
    links = {l: (i, j, w) for l, i, j, w in place.query(
        'SELECT link, from_node, to_node, weight FROM plan_link JOIN link USING '
        '(link) WHERE plan = 1')}
    total = sum(parts.values()) + sum(w for _, _, w in links.values())
    held = set(place.query('SELECT round, node, link FROM withheld'))
    came = set(place.query('SELECT round, node FROM arrival WHERE arrived'))
    heard = set(place.query('SELECT round, link FROM delivery WHERE arrived'))
    rounds = place.query('SELECT round, weight FROM round WHERE plan = 1 ORDER BY 1')
    for r, weight in rounds:
        wanted = sum(w for (_, i), w in parts.items()
                     if (r, i) in came and (r, i, -1) not in held)
        wanted += sum(w for l, (i, j, w) in links.items() if (r, l) in heard
                      and (r, j) in came and (r, i, l) not in held)
        expect(abs(weight - wanted / total) < 1e-9,
               f'round {r}: {weight} of the weight, {wanted / total} by its parts')
    expect(max(weight for _, weight in rounds) > 1 - 1e-9, f'never all: {rounds}')
    told = float(place.metrics()['pricer_weight_arrived'])
    expect(abs(told - rounds[-1][1]) < 1e-9, f'metrics: {told}, {rounds[-1]}')
    expect(f'with {100 * told:.0f} % of the plan' in place.get('/'), f'page: {told}')


def check_covered(place, stored):
    """What the report says of the budgets: in how many rounds a part may have been
    sent, which is all but those in which it was withheld as spent."""
    spent = [stored - n for n, in place.query(
        "SELECT (SELECT count(*) FROM withheld w WHERE w.link = l.link AND reason = "
        "'spent') FROM plan_link l WHERE plan = 1 AND weight > 0 UNION ALL SELECT "
        "(SELECT count(*) FROM withheld w WHERE w.link = -1 AND w.node = o.node AND "
        "reason = 'spent') FROM plan_node o WHERE plan = 1 AND weight > 0")]
    text = re.search(r'The budgets are for (\d+) rounds: ([^<]*)', place.read('f.html'))
    wanted = (f'may have sent in {max(spent)};' if max(spent) > T else
              f'of the {stored} that were run' if stored > T else
              f'{T - stored} are left with this plan')
    expect(int(text[1]) == T and wanted in text[2], f'{text[0]}, not {wanted}')


def restart_server(place, last):
    """Only a server that has run a round says after which nobody has more."""
    said = 'no node has anything left to send'
    expect(f'{said} after round {last}:' in place.read('server.log'),
           place.read('server.log'))
    place.processes['server'].terminate()
    expect(place.processes['server'].wait(20) == 0, place.read('server.log'))
    place.start('server', place.server)
    place.until('the end, again', lambda: f'{said}: ' in place.read('server.log'))


def check_rounds(place):
    """Who tells how many rounds there were."""
    stored, last, estimates = place.query(
        'SELECT count(*), max(round), count(estimate) FROM round')[0]
    metrics = place.metrics()
    told = [int(metrics[f'pricer_{name}']) for name in
            ('rounds_total', 'round', 'estimates_total')]
    expect(told == [stored, last, estimates], f'{told}: {stored}, {last}')
    page = place.get('/')
    expect(f'{stored} rounds since the start, the last one number {last},' in page
           and f'; {estimates} rounds gave an estimate' in page, page[:3000])
    place.run('pricer report f.pricer -o f.html')
    text = re.sub(r'<[^>]*>', ' ', place.read('f.html'))
    expect(re.search(rf'\b{stored} rounds', text), f'the report has not {stored} '
           f'rounds: {re.findall(".{40}rounds.{40}", text)}')
    for name in NAMES:
        for where, text in (('page', page), ('report', place.read('f.html')),
                            ('metrics', place.get('/metrics')),
                            ('health', place.get('/health'))):
            expect(name in text, f'{where} does not say {name}')
    return stored, last


def check_ledgers(place, last):
    """Each receiver got the planned rounds, and knows what the account says."""
    accounts = {(row['node'], row['at']): row['epsilon'] for row in json.loads(
        place.ask(f'pricer privacy f.pricer --observer link --rounds {T} --json')
    )['statements']}
    carried = {(i, j) for i, j in place.query(
        'SELECT from_node, to_node FROM plan_link JOIN link USING (link) WHERE '
        'plan = 1 AND weight > 0')}
    seen = 0
    for i, name in enumerate(NAMES):
        rows = place.ledger(name)
        expect(set(rows) - {'server', 'server, all'} ==
               {j for a, j in carried if a == i}, f'{name}: {rows}')
        for to, row in rows.items():
            # A server that is late by half of `send` is taken for lost: one round
            # may be a node's own before the server has told it to wait.
            expect(row['last_round'] <= last + 1, f'{name} was charged in round '
                   f'{row["last_round"]}, and {last} was the last')
            expect(row['releases'] == T, f'{name} to {to}: {row}')
            if (i, to) in accounts:
                eps = eps_of(row['mu'])
                expect(abs(eps / accounts[i, to] - 1) < 1e-6,
                       f'{name} to {to}: {eps} by the ledger, '
                       f'{accounts[i, to]} by the account')
                seen += 1
    expect(seen == len(carried) > 0, f'{seen} of {len(carried)} links')


def check_names(place):
    """A node's log and ledger call its neighbours by their names."""
    given = place.read('fleet', 'roof', 'node.trust')
    less = re.sub(r'^1,[^,]*,', '1,0.001,', given, flags=re.M)
    for text, said in ((less, 'refused (round 0, to cellar (1)): the noise to node '
                       'cellar (1) is too small'), (given, 'read anew')):
        place.write('fleet/roof/node.trust', text)
        place.processes['roof'].send_signal(signal.SIGHUP)
        place.until(said, lambda: said in place.read('roof.log'))
    for name in NAMES:
        show = f'cd fleet/{name} && pricer-node --config node.conf --ledger-show'
        text = place.ask(show)
        rows = [line for line in text.splitlines()[1:] if line[:6] != 'server']
        expect(rows and all(re.match(r'(%s) \(\d\) ' % '|'.join(NAMES), line)
                            for line in rows), text)
        told = json.loads(place.ask(show + ' --json'))['accounts']
        expect([row['name'] for row in told if 'name' in row] ==
               [NAMES[row['node']] for row in told if row['node'] in range(N)],
               told)


def check_private(place):
    for folder, _, files in os.walk(place.path('fleet')):
        for name in files:
            mode = stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode)
            expect(mode == 0o600 or name.endswith(('.pub', '.npy')),
                   f'{folder}/{name} has mode {mode:o}')


def go_on(place):
    """A plan from what was measured, and budgets that their owners raise."""
    place.run('pricer plan f.pricer --from-deliveries')
    place.until('the new plan', lambda: 'plan 2 takes the place of plan 1' in
                place.read('server.log'))
    for name in NAMES:
        trust, rows = re.subn(r'^(\w+),([456]0),([^,]*),[456]0,',
                              r'\1,\2,\3,9999,',
                              place.read('fleet', name, 'node.trust'), flags=re.M)
        expect(rows == N + 1, f'budgets do not read as they were given:\n{trust}')
        place.write(f'fleet/{name}/node.trust', trust)
        place.processes[name].send_signal(signal.SIGHUP)
    place.until('rounds of the new plan', lambda: place.query(
        f'SELECT count(*) FROM round WHERE plan = 2 AND arrived = {N}')[0][0] > 4)
    numbers = [r for r, in place.query('SELECT round FROM round')]
    expect(len(numbers) == len(set(numbers)), 'a number twice')
    place.run('pricer report f.pricer -o f.html')
    expect(f'The {stored} rounds with other plans are not counted here' in
           place.read('f.html'), 'the report does not count the rounds before')


place = Operator()
try:
    set_up(place)
    place.until('the end of the budgets', lambda: 'no round is opened until' in
                place.read('server.log'))
    time.sleep(.3)
    before = [place.spent(name) for name in NAMES]
    time.sleep(1)   # some four rounds that nobody may open
    after = [place.spent(name) for name in NAMES]
    expect(before == after, f'charged while no round is open: {before}, {after}')
    stored, last = check_rounds(place)
    check_weight(place)
    check_covered(place, stored)
    check_ledgers(place, last)
    check_names(place)
    check_private(place)
    restart_server(place, last)
    go_on(place)
finally:
    codes = place.close()
expect(set(codes.values()) == {0}, f'exit codes {codes}')
print(f'{stored} rounds for a plan of {T}, and more of the next')
