#!/usr/bin/env python3
"""A mean that moves slowly, followed with and without `reference: last`.

    examples/following/following.py --pricer build/pricer --to out

Makes the readings of twelve sensors over 60 rounds (a common vector of length
0.7 that turns by half a degree a round, each sensor within about 0.05 of it),
plans the same network with the same budgets twice, plays both with `pricer
simulate --rounds`, and writes a table and a picture of the error by round."""
import argparse
import json
import os
import subprocess

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS, NODES, D = 60, 12, 8


def readings(seed=1):
    """[rounds * nodes][D], round by round."""
    rng = np.random.default_rng(seed)
    own = .05 / np.sqrt(D) * rng.normal(size=(NODES, D))
    angle = np.radians(.5) * np.arange(ROUNDS)
    common = np.zeros((ROUNDS, D))
    common[:, 0], common[:, 1] = .7 * np.cos(angle), .7 * np.sin(angle)
    return (common[:, None, :] + own[None]).reshape(-1, D)


def play(pricer, folder, name, walks, dropped=()):
    """The walk of the scenario without the keys that are dropped."""
    study, yaml = (os.path.join(folder, name + end)
                   for end in ('.pricer', '.yaml'))
    with open(os.path.join(HERE, 'following.yaml')) as file:
        text = ''.join(line for line in file if not line.startswith(dropped))
    with open(yaml, 'w') as file:
        file.write(text)
    for command in ([pricer, 'new', '--force', study, yaml],
                    [pricer, 'plan', study]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run(
        [pricer, 'simulate', study, '--rounds', str(ROUNDS), '--trials',
         str(walks), '--data', os.path.join(folder, 'readings.npy'), '--csv',
         os.path.join(folder, name + '.csv'), '--json'], check=True,
        capture_output=True, text=True)
    return json.loads(done.stdout)


def draw(path, curves):
    """Both errors over the rounds, on a logarithmic scale, as SVG."""
    width, height, left, low, high = 640, 320, 60, 1e-3, 1

    def point(t, error):
        x = left + (width - left - 20) * t / (ROUNDS - 1)
        y = 20 + (height - 60) * np.log(high / error) / np.log(high / low)
        return f'{x:.1f},{y:.1f}'

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} '
           f'{height}" font-family="sans-serif" font-size="13">',
           '<title>Squared error by round, with and without reference: last'
           '</title>', f'<rect width="{width}" height="{height}" fill="#fff"/>']
    for error in (1e-3, 1e-2, 1e-1, 1):
        x, y = point(0, error).split(',')
        out.append(f'<path d="M{x} {y}H{width - 20}" stroke="#ddd"/><text '
                   f'x="{left - 8}" y="{float(y) + 4}" text-anchor="end">'
                   f'{error:g}</text>')
    for k, (name, errors) in enumerate(curves):
        colour, dash = (('#0072b2', ''), ('#d55e00', '6 4'))[k]
        path_of = 'M' + 'L'.join(point(t, e) for t, e in enumerate(errors))
        at = point(ROUNDS - 1, errors[-1]).split(',')
        out.append(f'<path d="{path_of}" fill="none" stroke="{colour}" '
                   f'stroke-width="2" stroke-dasharray="{dash}"/><text '
                   f'x="{at[0]}" y="{float(at[1]) - 8}" text-anchor="end" '
                   f'fill="{colour}">{name}</text>')
    out.append(f'<text x="{width / 2}" y="{height - 10}" text-anchor="middle">'
               f'round, 1 to {ROUNDS}</text></svg>')
    with open(path, 'w') as file:
        file.write('\n'.join(out) + '\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--pricer', default='pricer')
    parser.add_argument('--to', default='following-out')
    parser.add_argument('--walks', type=int, default=400)
    asked = parser.parse_args()
    os.makedirs(asked.to, exist_ok=True)
    np.save(os.path.join(asked.to, 'readings.npy'), readings())
    pricer = os.path.abspath(asked.pricer) if '/' in asked.pricer \
        else asked.pricer
    relative = play(pricer, asked.to, 'relative', asked.walks)
    plain = play(pricer, asked.to, 'plain', asked.walks,
                 ('reference:', 'step:'))
    print('| round | each by itself | +- | reference: last | +- | nodes cut |')
    print('|---|---|---|---|---|---|')
    for t in (0, 1, 2, 4, 9, 14, 19, 29, 39, 59):
        print(f'| {t + 1} | {plain["error"][t]:.4f} | '
              f'{plain["error_stderr"][t]:.4f} | {relative["error"][t]:.4f} | '
              f'{relative["error_stderr"][t]:.4f} | {relative["cut"][t]:.1f} |')
    draw(os.path.join(asked.to, 'following.svg'),
         [('reference: last', relative['error']),
          ('each round by itself', plain['error'])])


if __name__ == '__main__':
    main()
