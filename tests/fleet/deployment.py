"""docs/deployment.md, word for word, up to the mesh, which mesh_deployment.py runs:
every command of its shell blocks, in order, with the units that are installed. The
three machines are network namespaces with a bridge between them, and folders of one
machine; for scp, chown, runuser and systemctl there are stand-ins that do what those
would do here. Needs the right to make namespaces; else it is skipped with a reason.
Arguments: build folder."""
import os
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time

from fleet import expect, fail, spawn

build = os.path.realpath(sys.argv[1])
root = os.path.realpath(os.path.join(os.path.dirname(__file__), '..', '..'))
HERE = 'PRICER_DEPLOYMENT'
MESH = 'A mesh of thirty machines'

STAND_INS = {
    # scp -rp FROM HOST:TO
    'scp': '#!/bin/sh\nexec cp -rp "$2" "${3#*:}"\n',
    'chown': '#!/bin/sh\nexit 0\n',
    # runuser -u USER -- COMMAND...
    'runuser': '#!/bin/sh\nshift 3\nexec "$@"\n',
    # systemctl enable --now UNIT
    'systemctl': '#!/bin/sh\necho "$3" >>"$PRICER_UNITS"\n',
}


def enter_namespaces(nodes=2, cut=()):
    """Run this again where 10.0.0.1 and /var/lib/pricer are nobody else's: the
    server's machine, with a bridge to those of the nodes. `cut` are pairs of nodes,
    -1 the server, between which nothing passes."""
    if HERE in os.environ:
        return
    inside = """set -e
mount -t tmpfs none /var/lib
mkdir -m 0700 /var/lib/pricer
mount -t tmpfs none /etc/systemd/system
mount -t tmpfs none /run
mkdir /run/netns
ip link set lo up
ip link add br0 type bridge
ip addr add 10.0.0.1/24 dev br0
ip link set br0 up
for k in $(seq 0 $((NODES - 1))); do
    ip netns add node$k
    ip link add to$k type veth peer name eth0 netns node$k
    ip link set to$k master br0 up
    ip -n node$k addr add 10.0.0.$((k + 2))/24 dev eth0
    ip -n node$k link set eth0 up
    ip -n node$k link set lo up
    ip netns exec node$k true
done
""".replace('NODES', str(nodes))
    for a, b in [*cut, *[(b, a) for a, b in cut]]:
        where = '' if a < 0 else f'-n node{a}'
        inside += f'ip {where} route add blackhole 10.0.0.{b + 2}/32\n'
    inside += 'exec "$@"\n'
    spaces = ['unshare', '--mount', '--net']
    if os.getuid() != 0:
        spaces += ['--user', '--map-root-user']
    done = subprocess.run([*spaces, 'mount', '-t', 'tmpfs', 'none', '/run'],
                          capture_output=True, text=True)
    if done.returncode != 0:
        print('skipped: fleet_deployment needs namespaces '
              f'({done.stderr.strip()})')
        sys.exit(77)
    os.environ[HERE] = '1'
    os.execvp(spaces[0], [*spaces, 'sh', '-c', inside, 'sh', sys.executable,
                          os.path.realpath(sys.argv[0]), build])


def at(machine):
    """What runs a command on a machine."""
    return [] if machine == 'server' else ['ip', 'netns', 'exec', machine]


def read_page():
    """The commands of the page: (machine, command, section, block)."""
    with open(os.path.join(root, 'docs', 'deployment.md')) as file:
        page = file.read()
    commands, section, block, end, blocks = [], '', False, None, 0
    for line in page.splitlines():
        if line.startswith('#') and not block:
            section = line.lstrip('# ')
        elif line.startswith('```'):
            block = line == '```sh'
            blocks += 1
        elif block:
            match = re.match(r'(server|node\d+|nodeI)# (.*)', line)
            if match and end is None:
                commands.append([*match.groups(), section, blocks])
                here = re.search(r"<<'(\w+)'", line)
                end = here.group(1) if here else None
            else:
                commands[-1][1] += '\n' + line
                end = None if line == end else end
    return commands


class Machines:
    def __init__(self, folder):
        self.folder, self.where, self.services = folder, {}, {}
        os.mkdir(self.path('bin'))
        for name, text in STAND_INS.items():
            with open(self.path('bin', name), 'w') as file:
                file.write(text)
            os.chmod(self.path('bin', name), 0o755)
        self.environment = dict(
            os.environ, PRICER_UNITS=self.path('units'),
            PATH=':'.join([self.path('bin'), build,
                           os.path.dirname(sys.executable), os.environ['PATH']]))

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def run(self, machine, command):
        """In the folder that the machine's last command left; start() follows."""
        where, left = self.where.get(machine, '/'), self.path('pwd-' + machine)
        done = subprocess.run(
            [*at(machine), 'bash', '-ec', f'{command}\npwd >{left}'],
            cwd=where, env=self.environment, capture_output=True, text=True, timeout=120)
        if done.returncode == 0:
            with open(left) as file:
                self.where[machine] = file.read().strip()
        return done

    def new_units(self):
        if not os.path.exists(self.path('units')):
            return []
        with open(self.path('units')) as file:
            units = file.read().split()
        os.remove(self.path('units'))
        return units

    def start(self):
        """The units that systemctl was asked for. In the main thread: they end
        with the thread that starts them."""
        for unit in self.new_units():
            self.start_unit(unit)

    def start_unit(self, unit):
        """What systemd makes of a unit and its drop-in."""
        name, _, instance = unit.partition('@')
        settings = {}
        drop_in = f'/etc/systemd/system/{unit}.service.d/folder.conf'
        for path in (os.path.join(build, name + ('@' if instance else '') +
                                  '.service'), drop_in):
            with open(path) as file:
                for line in file:
                    key, equals, value = line.strip().partition('=')
                    if equals and not line.startswith('#'):
                        settings[key] = value.replace('%i', instance)
        key, _, value = settings['Environment'].partition('=')
        words = settings['ExecStart'].replace('${%s}' % key, value).split()
        expect(settings['LimitCORE'] == '0' and settings['User'] == 'pricer',
               unit)
        words[0] = os.path.join(build, os.path.basename(words[0]))
        with open(self.path(unit), 'w') as log:
            self.services[unit] = spawn(
                [*at(instance or 'server'), *words],
                cwd=settings['WorkingDirectory'], stdout=log, stderr=log)

    def log(self, unit):
        with open(self.path(unit)) as file:
            return file.read()

    def logs(self):
        return '\n'.join(self.log(unit) for unit in self.services)

    def stop(self):
        for service in self.services.values():
            service.send_signal(signal.SIGTERM)
        for unit, service in self.services.items():
            try:
                service.wait(30)
            except subprocess.TimeoutExpired:
                service.kill()
                service.wait()


def read_rounds():
    """By plan: how many contributed at least, and how many rounds."""
    db = sqlite3.connect('file:/var/lib/pricer/fleet.pricer?mode=ro', uri=True,
                         timeout=10)
    try:
        return db.execute('SELECT plan, min(contributors), count(*) FROM round '
                          'GROUP BY plan ORDER BY plan').fetchall()
    finally:
        db.close()


def wait(machines, plan, count):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        rounds = read_rounds()
        if len(rounds) >= plan and rounds[plan - 1][2] >= count:
            return rounds
        time.sleep(.5)
    fail(f'{rounds}: no rounds\n{machines.logs()}')


def follow(machines):
    later = False
    for machine, command, section, _ in read_page():
        if section == MESH:
            break
        if section.startswith('5') and not later: # "Some twenty seconds later"
            later = True
            wait(machines, 1, 2)
        done = machines.run(machine, command)
        machines.start()
        print(f'{machine}# {command.splitlines()[0]}')
        expect(done.returncode == 0,
               done.stdout + done.stderr + machines.logs())
        if '/health' in command:
            expect(done.stdout == 'ok\n', done.stdout + machines.logs())
        if 'ledger-show' in command:
            expect(re.search(r'^server +2 ', done.stdout, re.M) or
                   re.search(r'^server +3 ', done.stdout, re.M), done.stdout)


def check(machines):
    """Rounds with everyone in them, nothing refused, and the new plan taken."""
    rounds = wait(machines, 2, 1)
    expect(rounds[0][1] == 2, f'{rounds}\n{machines.logs()}')
    expect('refused' not in machines.logs(), machines.logs())
    for node in 'node0', 'node1':
        for name in os.listdir('/var/lib/pricer/' + node):
            mode = os.stat(f'/var/lib/pricer/{node}/{name}').st_mode
            expect(stat.S_IMODE(mode) & 0o077 == 0 or
                   name.endswith(('.pub', '.npy')), f'{node}/{name}: {mode:o}')


def main():
    enter_namespaces()
    with tempfile.TemporaryDirectory() as folder:
        machines = Machines(folder)
        try:
            follow(machines)
            check(machines)
        finally:
            machines.stop()


if __name__ == '__main__':
    main()
