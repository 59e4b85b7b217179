"""examples/federated through the daemons: with noise from the seed the clients'
models are those of the run in one process, to the bit, so that with real noise
they have the same law; the budgets last for the rounds of the plan and not for one
more. Arguments: build folder."""
import os
import sys
import time

import numpy as np

from fleet import expect

build = os.path.realpath(sys.argv[1])
root = os.path.realpath(os.path.join(os.path.dirname(__file__), '..', '..'))
os.environ['PRICER_LIBRARY'] = os.path.join(build, 'libpricer.so')
os.environ['PRICER_INCLUDE'] = os.path.join(root, 'include')
sys.path.insert(0, os.path.join(root, 'examples', 'federated'))
import federated  # noqa: E402
import pricer  # noqa: E402

ROUNDS = 4
started = time.monotonic()
data = federated.synthetic_data(np.random.default_rng(3))
task = federated.Task(data, federated.Softmax(data.images.shape[1]),
                      federated.shards(data, 'two classes',
                                       np.random.default_rng(7)), ROUNDS)
found, plan = federated.through_daemons(task, 100, build, '--replay-noise')
models = []


def inside(moves, t, rounds=pricer.Rounds(plan, seed=plan.network.seed,
                                          decoder='constant')):
    models.append(rounds.play(moves, t).estimate)
    return models[-1]


accuracy = federated.learn(task, inside)
model = task.kind.start(np.random.default_rng(task.seed))
for step in models:
    model = model + step
for mine in found.models:
    expect(np.array_equal(mine, model), 'a client has another model than in one '
           f'process: off by {np.abs(mine - model).max()}')
expect(found.accuracy[-1] == accuracy[-1], f'{found.accuracy}, {accuracy}')
expect(found.spent == 10 and found.releases == [ROUNDS] * 10,
       f'{found.spent} spent, releases {found.releases}')
expect(f'{ROUNDS} rounds done' in found.log and 'anything left' in found.log,
       found.log)
print(f'federated: good ({time.monotonic() - started:.1f} s)')
