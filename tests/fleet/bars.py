"""The error bar of a round where people look: status page, metrics, /health,
study. A round in which one node of six is left is a bad one. Arguments: build
folder."""
import sys
import time

from fleet import Fleet, expect

build = sys.argv[1]
N = 6
with Fleet(build, nodes=N, dimension=8, p=.95, uplink=[.95] * N) as fleet:
    fleet.fit_decoder()
    for i in range(N):
        fleet.start_node(i)
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
    expect('This round: error at most about' in page, 'no bar on the page')
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
