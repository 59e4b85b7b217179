"""What goes wrong with keys is in the logs of both sides, with what to do: a
wrong server key, a key that is not enrolled, silence. Arguments: build
folder."""
import os
import sys

from fleet import Fleet, expect

build = sys.argv[1]
N, D = 3, 4

with Fleet(build, nodes=N, dimension=D) as fleet:
    wrong = fleet.run('pricer', 'keygen', fleet.path('wrong')).stdout.strip()
    stranger = fleet.run('pricer', 'keygen',
                         fleet.path('stranger')).stdout.strip()
    # Node 0 has another key for the server, node 1 one that nobody knows, and
    # node 2 does not run.
    words = fleet.node_arguments(0)
    words[words.index('--server-key') + 1] = wrong
    fleet.spawn('node0', words)
    words = fleet.node_arguments(1)
    words[words.index('--key') + 1] = fleet.path('stranger')
    fleet.spawn('node1', words)
    fleet.start_server('--quorum', '3')
    fleet.wait_log('node0', 'is --server-key its public key')
    fleet.wait_log('server', 'a node with another server key than ' +
                   fleet.keys['server'])
    fleet.wait_log('node1', "does not admit this node's key " + stranger)
    fleet.wait_log('node1', 'pricer enrol STUDY 1')
    fleet.wait_log('server', f'the key {stranger} is not enrolled')
    for i in range(N):
        fleet.wait_log('server', f'node {i} is silent')
    # Each is said now and then, not all the time.
    lines = len(fleet.log('server', 10 ** 6).splitlines())
    expect(lines < 10, f'{lines} lines:\n' + fleet.log('server'))
    expect(len(fleet.log('node0', 10 ** 6).splitlines()) < 5,
           fleet.log('node0'))
    # Silence on the other side.
    fleet.stop('node0')
    fleet.stop('server')
    os.remove(fleet.path('node0.log'))
    fleet.start_node(0)
    fleet.wait_log('node0', 'no word from the server')
    # And all is well when the keys are: node 1 runs on and is let in.
    fleet.run('pricer', 'enrol', fleet.study, '1', stranger,
              fleet.addresses[1])
    fleet.start_server('--quorum', '3', '--early', '--period', '500',
                       '--rounds', '3')
    fleet.start_node(2)
    expect(fleet.wait('server') == 0, fleet.log('server'))
    print('wrong keys and silence are put into words on both sides')
