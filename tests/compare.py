#!/usr/bin/env python3
"""Compare the numbers of two builds, for changes that must not move them.

    tests/compare.py OLD NEW [SCENARIO.yaml ...]

OLD and NEW are build folders with `pricer` in them; without scenarios all of
examples/ are compared. Needs nothing but Python. Not part of `./run check`:
there is no old build there.

A seed may give another network in the new build, so the network is made once,
by the old one, exported, and read from its CSV files by both; whether the new
one would have made the same is said and does not count. Then, of each scenario:
  - plan: every `objective`, of the plan and of the baselines, to 1e-12;
  - privacy: every eps, for each observer below, to 1e-9, of the old build's
    weights in both; for each observer the line also says how many eps lie
    outside what the other build proves (below its lower eps): none may,
    whatever the method;
  - simulate: equal bit for bit, both engines, again of the old weights.
Times and paths are left out. The exit status is 1 if anything differs.
"""
import csv
import glob
import json
import math
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
OBJECTIVE, EPS = 1e-12, 1e-9
IGNORED = {'seconds', 'study'}
FEW = 100  # nodes up to which the slower questions are asked

HEARD = ['--eavesdropper', 'receiver']

# Questions about privacy, and whether they are quick in large networks.
QUESTIONS = [
    (['--observer', 'link', *HEARD], True),
    (['--observer', 'relay', *HEARD], True),
    (['--observer', 'server', *HEARD], True),
    (['--observer', 'link', '--rounds', '10', *HEARD], True),
    (['--observer', 'link', '--eavesdropper', 'radio'], True),
    (['--observer', 'relay', '--protect', 'identity', *HEARD], False),
    (['--observer', 'relay', '--protect', 'identity', '--rounds', '10',
      *HEARD], False),
    (['--observer', 'server', '--rounds', '10', *HEARD], False),
    (['--observer', 'server', '--eavesdropper', 'radio'], False),
    (['--observer', 'server', '--mode', 'paper', *HEARD], False),
    (['--coalition', '1,4', *HEARD], False),
    (['--coalition', '1,4,server', *HEARD], False),
]
SIMULATIONS = [
    ['--trials', '20000', '--strategy', 'naive', '--strategy', 'best'],
    ['--trials', '20000', '--data', 'random'],
    ['--trials', '16', '--engine', 'faithful'],
]

failures = 0


def report(what, good, words):
    global failures
    failures += not good
    print('  %-4s  %-62s %s' % ('ok' if good else 'DIFF', what, words),
          flush=True)


def pricer(build, *words):
    done = subprocess.run([os.path.join(build, 'pricer')] + list(words),
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError('%s/pricer %s: %s' % (build, ' '.join(words),
                                                 done.stderr.strip()))
    return json.loads(done.stdout) if '--json' in words else None


def leaves(value, path=()):
    """Every number, word and flag of a JSON value, with the keys to it."""
    if isinstance(value, dict):
        for key, below in value.items():
            if key not in IGNORED:
                yield from leaves(below, path + (key,))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from leaves(below, path + (index,))
    else:
        yield path, value


def number(value):
    return math.inf if value == 'inf' else value


def distance(a, b):
    """Relative; 0 for equal values, infinity for what cannot be compared."""
    a, b = number(a), number(b)
    if a == b:
        return 0.0
    if not all(type(x) in (int, float) and math.isfinite(x) for x in (a, b)):
        return math.inf
    return abs(a - b) / max(abs(a), abs(b))


def farthest(old, new, chosen):
    """The largest distance of the leaves whose last key is chosen."""
    a, b = dict(leaves(old)), dict(leaves(new))
    keys = [path for path in a.keys() | b.keys()
            if any(part in chosen for part in path[-1:])]
    return max((distance(a.get(k, 'absent'), b.get(k, 'absent')) for k in keys),
               default=math.inf)


def rows(folder, table):
    with open(os.path.join(folder, table + '.csv')) as file:
        return list(csv.DictReader(file))


def write(path, header, lines):
    with open(path, 'w') as file:
        file.writelines(','.join(line) + '\n' for line in [header] + lines)


def export_network(build, scenario, folder):
    """The scenario's network and settings, as files that any build reads."""
    study, tables = os.path.join(folder, 'made.pricer'), folder + '/made'
    pricer(build, 'new', study, scenario)
    pricer(build, 'export', study, '--to', tables)
    nodes, links = rows(tables, 'node'), rows(tables, 'link')
    setting = {row['key']: row['value'] for row in rows(tables, 'setting')}
    columns = ['node', 'p'] + ['x', 'y'] * (nodes[0]['x'] != '')
    write(folder + '/nodes.csv', columns,
          [[node[c] for c in columns] for node in nodes])
    write(folder + '/links.csv', ['from', 'to', 'p', 'joint', 'eps', 'delta'],
          [[n['node'], n['node'], '', '', n['eps'], n['delta']] for n in nodes] +
          [[link[c] for c in ('from_node', 'to_node', 'p', 'joint', 'eps',
                              'delta')] for link in links])
    with open(folder + '/files.yaml', 'w') as file:
        for key in ('dimension', 'radius', 'rounds', 'seed'):
            if key in setting:
                file.write('%s: %s\n' % (key, setting[key]))
        file.write('network: {files: {nodes: nodes.csv, links: links.csv}}\n')
        file.write('objective: {bias: %s, calibration: %s' %
                   (setting['bias'], setting['calibration']))
        if setting['bias'] in ('l1', 'l2'):
            file.write(', lambda: %s' % setting['lambda'])
        file.write('}\n')
    return folder + '/files.yaml', len(nodes)


def export_weights(build, study, folder):
    """The study's plan as a table for `pricer plan --weights`."""
    tables = folder + '/weights'
    pricer(build, 'export', study, '--to', tables)
    ends = {row['link']: (row['from_node'], row['to_node'])
            for row in rows(tables, 'link')}
    write(folder + '/weights.csv', ['from', 'to', 'alpha', 'sigma'],
          [[*ends[row['link']], row['weight'], row['noise']]
           for row in rows(tables, 'plan_link')] +
          [[row['node'], row['node'], row['weight'], row['noise']]
           for row in rows(tables, 'plan_node')])
    return folder + '/weights.csv'


def outside(old, new):
    """How many eps are below what the other build has shown to be too low."""
    count = 0
    for a, b in zip(old['statements'], new['statements']):
        for one, other in ((a, b), (b, a)):
            eps = number(one.get('account', one['epsilon']))
            count += eps < number(other['epsilon_lower']) * (1 - EPS)
    return count


def compare_plans(builds, studies):
    plans = [pricer(build, 'plan', study, '--json')
             for build, study in zip(builds, studies)]
    off = farthest(*plans, {'objective'})
    report('plan', off <= OBJECTIVE, 'objectives %.1e apart' % off)


def compare_privacy(builds, studies, nodes):
    for question, quick in QUESTIONS:
        if nodes > FEW and not quick:
            continue
        answers = [pricer(build, 'privacy', study, '--json', *question)
                   for build, study in zip(builds, studies)]
        off = farthest(*answers, {'epsilon', 'epsilon_lower', 'corrected',
                                  'account', 'floor'})
        wrong = outside(*answers)
        report('privacy ' + ' '.join(question), off <= EPS and wrong == 0,
               'eps %.1e apart, %d outside' % (off, wrong))


def compare_simulations(builds, studies):
    for options in SIMULATIONS:
        results = [list(leaves(pricer(build, 'simulate', study, '--json',
                                      *options)))
                   for build, study in zip(builds, studies)]
        same = results[0] == results[1]
        report('simulate ' + ' '.join(options), same,
               'bit for bit' if same else 'not equal')


def compare_networks(builds, scenario, folder):
    """Says whether a seed still gives the same network; either is fine."""
    study, tables = folder + '/other.pricer', folder + '/other'
    pricer(builds[1], 'new', study, scenario)
    pricer(builds[1], 'export', study, '--to', tables)
    same = all(rows(folder + '/made', table) == rows(tables, table)
               for table in ('node', 'link'))
    report('new', True, 'the same network' if same else 'another network')


def compare(builds, scenario, folder):
    files, nodes = export_network(builds[0], scenario, folder)
    compare_networks(builds, scenario, folder)
    studies = [folder + '/old.pricer', folder + '/new.pricer']
    for build, study in zip(builds, studies):
        pricer(build, 'new', study, files)
    compare_plans(builds, studies)
    weights = export_weights(builds[0], studies[0], folder)
    for build, study in zip(builds, studies):
        pricer(build, 'plan', study, '--weights', weights)
    compare_privacy(builds, studies, nodes)
    compare_simulations(builds, studies)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.split('\n\n')[1].strip())
    builds = [os.path.abspath(path) for path in sys.argv[1:3]]
    scenarios = sys.argv[3:] or sorted(glob.glob(HERE + '/../examples/*.yaml'))
    for scenario in scenarios:
        print(os.path.basename(scenario), flush=True)
        with tempfile.TemporaryDirectory() as folder:
            try:
                compare(builds, scenario, folder)
            except RuntimeError as error:
                report('', False, str(error))
    print('%d differ' % failures if failures else 'nothing differs')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
