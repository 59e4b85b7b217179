"""A fleet with a fixed seed gives the faithful simulator's estimates, bit for
bit, and with the plan's decoder its error bars too; its deliveries are the
emulated ones. Arguments: build folder, rounds."""
import subprocess
import sys

from fleet import Fleet, PAPER_UPLINK, expect

build = sys.argv[1]
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 60


def run(fleet, decoder, rounds=rounds):
    """Rounds with this decoder, which are the simulator's; how they are."""
    for i in range(10):
        fleet.start_node(i, *fleet.emulation())
    fleet.start_server('--early', '--period', '0', '--rounds', str(rounds),
                       '--quorum', '10', '--emulate', '--seed',
                       str(fleet.seed), '--share', '20000', '--uplink', '30000',
                       *(['--decoder', decoder] if decoder else []))
    expect(fleet.wait('server') == 0, 'the server failed:\n' +
           fleet.log('server'))
    used, = fleet.query('SELECT DISTINCT decoder FROM round')[0]
    done = subprocess.run([build + '/tests/fleet_replay', fleet.study,
                           fleet.path('data.npy'), str(fleet.seed),
                           str(rounds), used], capture_output=True, text=True)
    print(used + ':', done.stdout, end='')
    expect(done.returncode == 0, 'the fleet differs from the simulator')
    expect(fleet.dropped() == {}, f'messages were dropped: {fleet.dropped()}')
    for i in range(10):
        expect(fleet.stop(f'node{i}') == 0, f'node {i} did not stop well')
    return used, fleet.query('SELECT avg(error), avg(bar), count(bar) FROM '
                             'round')[0]


with Fleet(build, nodes=10, dimension=32, uplink=PAPER_UPLINK) as fleet:
    used, (error, bar, count) = run(fleet, None)
    expect(used == 'constant', f'a plan without decoder is decoded: {used}')
    expect(count > 0 and bar > 0, 'no bars')
    for i in range(10):
        charged, = fleet.ledger(i, 'SELECT count(*), count(DISTINCT round) '
                                'FROM release')
        expect(charged == (11 * rounds, rounds),
               f'node {i} charged {charged} releases')
    expect(fleet.run('pricer-node', '--ledger', fleet.path('0.ledger'),
                     '--ledger-show', '--json').stdout.count('"releases"')
           == 11, '--ledger-show')
    fleet.check_study()

bars = {}
for decoder in (None, 'adaptive', 'constant'):
    with Fleet(build, nodes=10, dimension=32, uplink=PAPER_UPLINK) as fleet:
        fleet.fit_decoder()
        used, (error, bars[used], count) = run(fleet, decoder)
        expect(used == (decoder or 'minimax'), f'{used} instead of {decoder}')
        print(f'mean squared error {error:.4f}, mean bar {bars[used]:.4f}')
        expect(used == 'adaptive' or error < bars[used],
               'the error is above its bar')     # seeds are fixed: no chance
expect(bars['minimax'] < bars['constant'], f'decoding does not help: {bars}')
