"""Kill server and nodes with SIGKILL at random moments during rounds, some of them
while a disk is full or a database is locked, start them again, and look at what
is left: no release uncharged, no round stored twice, every database whole, every
process back. Arguments: build folder, number of kills (also from PRICER_KILLS);
many are shared out over fleets one after another."""
import os
import random
import signal
import sys
import time

from faults import Disk, Lock
from fleet import Fleet, expect

build = sys.argv[1]
kills = int(sys.argv[2] if len(sys.argv) > 2
            else os.environ.get('PRICER_KILLS', 25))
NODES, EACH = 4, 200    # kills a fleet: a ledger lists its last 10,000 rounds
NAMES = ['server'] + [f'node{i}' for i in range(NODES)]
TIMES = ['--early', '--share', '150', '--uplink', '300']
random.seed(kills)


def start(fleet, name):
    log = fleet.path(f'{name}.log')
    fleet.begun[name] = os.path.getsize(log) if os.path.exists(log) else 0
    if name == 'server':    # in some lives rounds begin before others are stored
        fleet.start_server(*TIMES, '--period', random.choice(['0', '10']))
    else:
        fleet.start_node(int(name[4:]))


def expect_alive(fleet):
    """Nothing ends by itself, also if its disk is full when it begins."""
    for name in NAMES:
        expect(fleet.processes[name].poll() is None,
               f'{name} had ended by itself:\n' +
               fleet.log(name, 10 ** 7)[fleet.begun[name]:])


def kill_some(fleet, count):
    """Kill, in a third of the cases with a fault in someone's way, who may be the
    one that begins anew; how many faults there were of each kind."""
    faults = {Disk: 0, Lock: 0}
    for _ in range(count):
        kind = random.choice([Disk, Lock, None, None, None, None])
        fault = kind and kind(fleet, random.choice(NAMES))
        time.sleep(random.uniform(0, .5))
        expect_alive(fleet)
        name = random.choice(NAMES)
        fleet.stop(name, signal.SIGKILL)
        time.sleep(random.choice([0, 0, .05]))
        start(fleet, name)
        if kind is Disk:        # also for the one that begins
            fault.end()
            fault = Disk(fleet, random.choice([fault.name, name]))
        if fault:
            faults[kind] += 1
            time.sleep(random.uniform(0, .2))
            fault.end()
    return faults


def wait_all_back(fleet):
    stored = fleet.rounds()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        expect_alive(fleet)
        last = fleet.query('SELECT arrived FROM round ORDER BY round DESC '
                           'LIMIT 5')
        if fleet.rounds() > stored + 5 and last == [(NODES,)] * 5:
            return
        time.sleep(.2)
    expect(False, 'not every process came back:\n' + fleet.log('server'))


def check_study(fleet):
    """Nothing is stored twice, and numbers were noted before they were used."""
    fleet.check_study()
    numbers = [r for r, in fleet.query('SELECT round FROM round')]
    expect(len(numbers) == len(set(numbers)), 'a round is stored twice')
    opened, = fleet.query('SELECT round FROM round_opened')[0]
    expect(max(numbers) <= opened, 'a stored round was not noted before')
    return len(numbers)


def run(count):
    with Fleet(build, nodes=NODES, dimension=64) as fleet:
        fleet.begun = {}
        for name in NAMES:
            start(fleet, name)
        fleet.wait_rounds(3)
        faults = kill_some(fleet, count)
        wait_all_back(fleet)
        for name in NAMES:
            expect(fleet.stop(name) == 0, f'{name} did not stop well:\n' +
                   fleet.log(name))
        rounds = check_study(fleet)
        shares = fleet.check_charged()
        print(f'{count} kills, {faults[Disk]} full disks, {faults[Lock]} locks, '
              f'{rounds} rounds stored, {shares} shares arrived and all are '
              'charged', flush=True)


while kills > 0:
    run(min(kills, EACH))
    kills -= EACH
