#!/usr/bin/env python3
"""Run the commands of docs/tutorial.md, README and docs/study.md, in order.

    tests/cli/tutorial.py BUILD

Every block of ```sh of the tutorial runs in one shell in an empty folder, with
the programs of the build first on its path; so do README's lines in such blocks
that run pricer, with the examples of the source folder.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(name):
    with open(os.path.join(ROOT, name), encoding='utf-8') as file:
        return file.read()


def run(script, folder, build):
    path = build + os.pathsep + os.environ['PATH']
    done = subprocess.run(['bash', '-euo', 'pipefail', '-c', script], cwd=folder,
                          env={**os.environ, 'PATH': path}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit('FAILED:\n%s\n%s' % (script, done.stdout))
    return done.stdout


def main():
    build = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        blocks = re.findall(r'^```sh\n(.*?)^```', read('docs/tutorial.md'), re.M | re.S)
        assert len(blocks) > 7, len(blocks)
        said = run('\n'.join(blocks), folder, build)
        for words in ('what it means', 'good uplinks at', 'measured by the fleet',
                      'rooms.html'):
            assert words in said, words
        for name in ('rooms.html', 'trade-off.svg'):
            assert os.path.getsize(os.path.join(folder, name)) > 1000, name
        lines = re.findall(r'^(?:build/)?(pricer [^#\n]*)',
                           ''.join(re.findall(r'^```sh\n(.*?)^```', read('README.md'),
                                              re.M | re.S)), re.M)
        assert len(lines) > 15, len(lines)
        script = '\n'.join(lines).replace('examples/', ROOT + '/examples/')
        run(script, folder, build)
        study = re.findall(r'^```sh\n(.*?)^```', read('docs/study.md'), re.M | re.S)
        said = run('rm -f ten.pricer; pricer new ten.pricer %s/examples/paper.yaml\n%s'
                   % (ROOT, '\n'.join(study)), folder, build)
        assert '0|1|0.5' in said and '(9, 0.1)' in said, said


if __name__ == '__main__':
    main()
