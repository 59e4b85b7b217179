"""A fleet with a fixed seed gives the faithful simulator's estimates, bit for
bit; its deliveries are the emulated ones. Arguments: build folder, rounds."""
import subprocess
import sys

from fleet import Fleet, PAPER_UPLINK, expect

build = sys.argv[1]
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 60
with Fleet(build, nodes=10, dimension=32, uplink=PAPER_UPLINK) as fleet:
    for i in range(10):
        fleet.start_node(i, *fleet.emulation())
    fleet.start_server('--early', '--period', '0', '--rounds', str(rounds),
                       '--quorum', '10', '--emulate', '--seed',
                       str(fleet.seed), '--share', '20000', '--uplink', '30000')
    expect(fleet.wait('server') == 0, 'the server failed:\n' +
           fleet.log('server'))
    done = subprocess.run([build + '/tests/fleet_replay', fleet.study,
                           fleet.path('data.npy'), str(fleet.seed),
                           str(rounds)], capture_output=True, text=True)
    print(done.stdout, end='')
    expect(done.returncode == 0, 'the fleet differs from the simulator')
    expect(fleet.dropped() == {}, f'messages were dropped: {fleet.dropped()}')
    for i in range(10):
        expect(fleet.stop(f'node{i}') == 0, f'node {i} did not stop well')
        charged, = fleet.ledger(i, 'SELECT count(*), count(DISTINCT round) '
                                'FROM release')
        expect(charged == (10 * rounds, rounds),
               f'node {i} charged {charged} releases')
    expect(fleet.run('pricer-node', '--ledger', fleet.path('0.ledger'),
                     '--ledger-show', '--json').stdout.count('"releases"')
           == 10, '--ledger-show')
    fleet.check_study()
