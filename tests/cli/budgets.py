#!/usr/bin/env python3
"""Over random small scenarios no part of pricer contradicts another about
budgets: what plan has checked, privacy shows for every link to be within its
budget over the planned rounds, with every packet counted as heard; the audit
does not contradict it; a plan from measured links keeps to its own network.
The same holds for the receiver alone. $1: the build folder,
$2: how many scenarios (12).

The audits are judged with a false alarm of 1e-6 a table, so of a run of this
test with 12 scenarios at most 1e-4."""
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile

pricer = os.path.join(os.path.realpath(sys.argv[1]), 'pricer')
count = int(sys.argv[2]) if len(sys.argv) > 2 else 12
study = 'a.pricer'
bad = 0


def complain(what, about):
    global bad
    bad += 1
    print(f'FAILED: {what}: {about}')


def run(*words, expected=0):
    done = subprocess.run([pricer, *words, '--json'], capture_output=True,
                          text=True, check=False)
    if done.returncode != expected:
        complain(' '.join(words), f'exit {done.returncode}: {done.stderr}')
        return None
    return json.loads(done.stdout)


def scenario(draw, number):
    """A scenario of a few nodes; every third trusts losses."""
    nodes = draw.randint(2, 6)
    uplink = [round(draw.choice([.1, .5, .9, 1, draw.random()]), 3)
              for _ in range(nodes)]
    return {
        'dimension': draw.choice([1, 4, 100]),
        'radius': draw.choice([1, .01, 30]),
        'rounds': draw.choice([1, 2, 3, 10, 40, 1000]),
        'seed': number + 1,
        'network': {
            'generator': draw.choice(['erdos-renyi', 'ring']),
            'nodes': nodes, 'uplink': uplink,
            'p': draw.choice([.1, .5, .95, 1]),
            'reciprocity': draw.choice([0, .5, 1])},
        'trust': {
            'eps': 10 ** draw.uniform(-2, 3), 'delta': 10 ** draw.uniform(-8, -1),
            'self': {'eps': 10 ** draw.uniform(-1, 3)},
            'ring': {'hops': 1, 'eps': 10 ** draw.uniform(-1, 3)},
            **({'server': {'eps': 10 ** draw.uniform(-1, 2)}}
               if number % 2 == 0 else {})},
        'objective': {'bias': draw.choice(['worst-case', 'unbiased'])}}


def insert(tables, table, row):
    """A row with the columns that matter here, and 0 in the others that may
    not be empty."""
    names = {c[1]: c[2] for c in tables.execute(f'PRAGMA table_info({table})')
             if c[3] and c[1] not in row}
    row = {**row, **{n: b'' if t == 'BLOB' else '' if t == 'TEXT' else 0
                     for n, t in names.items()}}
    tables.execute(f'INSERT INTO {table} ({",".join(row)}) VALUES '
                   f'({",".join("?" * len(row))})', list(row.values()))


def add_rounds(draw):
    """Rounds in which links were up as often as it pleases them."""
    tables = sqlite3.connect(study)
    nodes = tables.execute('SELECT count(*) FROM node').fetchone()[0]
    links = tables.execute('SELECT count(*) FROM link').fetchone()[0]
    up = [draw.random() for _ in range(nodes + links)]
    for r in range(1, draw.randint(2, 60)):
        insert(tables, 'round', {'round': r, 'plan': 1, 'arrived': 0})
        for i in range(nodes):
            insert(tables, 'arrival', {'round': r, 'node': i,
                                       'arrived': draw.random() < up[i]})
        for l in range(links):
            insert(tables, 'delivery', {'round': r, 'link': l,
                                        'arrived': draw.random() < up[nodes + l]})
    tables.commit()
    tables.close()


def check(what, plan):
    """Everything that is said about the latest plan."""
    tables = sqlite3.connect(study)
    budget = {(i, j): eps for i, j, eps in tables.execute(
        'SELECT from_node, to_node, eps FROM link')}
    server = {i: eps for i, eps in tables.execute(
        'SELECT node, server_eps FROM node') if eps is not None}
    tables.close()
    if plan.get('open_budgets', 0) != 0:
        complain(what, f'open server budgets: {plan}')
    if plan['open_links'] != 0:
        complain(what, f'the plan has {plan["open_links"]} open links')
    found = run('privacy', study, '--observer', 'link')
    for s in found['statements'] if found else []:
        if float(s['epsilon']) > budget[s['node'], s['at']]:
            complain(what, f'{s} of {budget[s["node"], s["at"]]}')
        if s['rounds'] != plan['rounds'] or s['eavesdropper'] != 'radio':
            complain(what, f'{s}: not what the plan was made for')
    towards = run('privacy', study, '--observer', 'server')
    for s in towards['statements'] if towards else []:
        if float(s['epsilon']) > server.get(s['node'], float('inf')):
            complain(what, f'{s} of {server[s["node"]]}')
    if found and found['statements']:
        audit = run('audit', study, '--observer', 'link', '--trials', '1000')
        if audit and (audit['eavesdropper'] != 'radio' or 'budget' not in
                      [c['claim'] for c in audit['audits'][0]['claims']]):
            complain(what, f'the budget was not audited: {audit}')
    for decoder, key in (plan['decoder'], 'decoder_mse_upper'), \
            ('constant', 'mse_worst_case'):
        played = run('simulate', study, '--trials', '50',
                     '--decoder', decoder)
        if not played:
            continue
        error = played['strategies'][0]['worst_case']
        if abs(error - plan[key]) > 1e-9 * error:
            complain(what, f'error {error}, planned {key} {plan[key]}')


def main():
    draw = random.Random(15)
    os.chdir(folder)
    for number in range(count):
        about = scenario(draw, number)
        with open('s.yaml', 'w', encoding='utf-8') as file:
            json.dump(about, file)
        what = json.dumps(about)
        if run('new', '--force', study, 's.yaml') is None:
            continue
        plan = run('plan', study)
        if plan is None:
            continue
        check(what, plan)
        add_rounds(draw)
        plan = run('plan', study, '--from-deliveries')
        if plan is not None:
            check(what + ' measured', plan)
    print(f'{count} scenarios, each planned and planned anew as measured')


with tempfile.TemporaryDirectory() as folder:
    main()
    os.chdir('/')
sys.exit(bad > 0)
