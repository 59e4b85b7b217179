"""The error bar of a round where people look: status page, metrics, /health,
study, the output of a node. A round in which one node of six is left is a bad
one. A server without a decoder, or without room for it, refuses one that is
asked for by name and else goes on with the running sum. Arguments: build
folder."""
import re
import sqlite3
import sys
import time

from fleet import Fleet, expect

build = sys.argv[1]
N = 6
EARLY = ['--rounds', '2', '--quorum', str(N), '--period', '0', '--early',
         '--share', '5000', '--uplink', '8000']


def refuses(fleet, words, *options):
    fleet.start_server(*EARLY, *options)
    expect(fleet.wait('server', 20) == 1 and words in fleet.log('server'),
           f'{options}: ' + fleet.log('server'))
    expect(fleet.query('SELECT count(*) FROM round')[0][0] == 0, 'a round')


def test_without_decoder():
    with Fleet(build, nodes=N, dimension=8, p=.95, uplink=[.95] * N) as fleet:
        for word in 'minimax', 'adaptive':
            refuses(fleet, 'plan 1 has no decoder', '--decoder', word)
        fleet.fit_decoder()
        refuses(fleet, 'would take 0 MiB, more than 0', '--decoder', 'minimax',
                '--memory', '0')
        for i in range(N):
            fleet.start_node(i)
        fleet.start_server(*EARLY, '--memory', '0')
        expect(fleet.wait('server') == 0, fleet.log('server'))
        expect('every sum counts 1/n' in fleet.log('server'),
               fleet.log('server'))
        decoders = fleet.query('SELECT DISTINCT decoder FROM round')
        expect(decoders == [('constant',)], f'decoded by {decoders}')
        fleet.start_server(*EARLY, '--memory', '1')
        expect(fleet.wait('server') == 0, fleet.log('server'))
        decoders = fleet.query('SELECT DISTINCT decoder FROM round')
        expect(len(decoders) == 2, f'one MiB is enough: {decoders}')


test_without_decoder()
with Fleet(build, nodes=N, dimension=8, p=.95, uplink=[.95] * N) as fleet:
    fleet.fit_decoder()
    with sqlite3.connect(fleet.study) as db:    # which the plan does not keep
        db.execute('UPDATE node SET server_eps = .1, server_delta = 1e-3 '
                   'WHERE node < 2')
    db.close()
    for i in range(N):
        fleet.start_node(i, *(['--estimate', fleet.path('estimate.npy')]
                              if i == 0 else []))
    fleet.start_server('--quorum', '1', '--period', '200', '--send', '20',
                       '--share', '80', '--uplink', '180', '--ahead', '0',
                       '--port', str(fleet.status_port))

    def wait(what):
        """Until a round with so many sums is the last one, and its bar."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            found = fleet.metrics()
            if found['pricer_sums_arrived'] == what:
                return found['pricer_squared_error_bar'], \
                    found['pricer_squared_error_planned']
            time.sleep(.05)
        expect(False, f'no round of {what} sums:\n' + fleet.log('server'))

    fleet.wait_rounds(3)
    bar, planned = wait(N)
    page = fleet.get('/')[1]
    expect('This round: expected error at most about' in page and
           'of R²: its expected squared error, at most about' in page and
           'Expected squared error of the latest estimate' in fleet.get('/metrics')[1],
           'no bar on the page, or it is no expectation')
    open_budgets = fleet.metrics()['pricer_server_budgets_open']
    expect(open_budgets == 2 and
           '2 nodes show the server more than' in page,
           f'{open_budgets} budgets are open:\n{page}')
    fleet.wait_log('node0', 'expected squared error at most about')
    said = re.findall(r'round (\d+): estimate from (\d+) sums with data of \d+ '
                      r'nodes, expected squared error at most about (\S+)',
                      fleet.log('node0', 10 ** 6))
    for number, sums, found in said:
        row = fleet.query('SELECT arrived, bar FROM round WHERE round = ?',
                          int(number))
        expect(row and row[0][0] == int(sums) and
               abs(row[0][1] - float(found)) < .06 * row[0][1],
               f'node 0 says {found} of round {number}, stored {row}')
    expect(bar < 2 * planned, f'all arrived, and a bar of {bar}')
    upper, = fleet.query('SELECT upper FROM decoder')[0]
    expect(planned == upper, f'planned {planned}, the decoder has {upper}')
    stored = fleet.query('SELECT decoder, bar FROM round WHERE arrived = ?', N)
    expect(all(row[0] == 'minimax' for row in stored) and
           min(abs(row[1] - bar) for row in stored) < 1e-15,
           f'stored {stored}, shown {bar}')
    for i in range(1, N):
        fleet.stop(f'node{i}')
    alone, _ = wait(1)
    code, text = fleet.get('/health')
    expect(code == 503 and 'a bad round' in text, f'/health: {code} {text}')
    expect('a bad round' in fleet.get('/')[1], 'the page hides a bad round')
    print(f'all arrived: bar {bar:.3g}; one node left: {alone:.3g}; planned '
          f'{planned:.3g}')
    fleet.stop('node0')
    end = time.monotonic() + 30
    while fleet.query('SELECT count(*) FROM round WHERE arrived = 0')[0][0] == 0:
        expect(time.monotonic() < end, 'no round without sums')
        time.sleep(.05)
    empty = fleet.query('SELECT estimate, bar FROM round WHERE arrived = 0')
    expect(set(empty) == {(None, None)}, 'an estimate of nobody')
