#!/usr/bin/env python3
"""Run the commands of docs/study.md and docs/scale.md.

    tests/cli/tutorial.py BUILD

The blocks of ```sh run in one shell in an empty folder, with the programs of the
build first on its path; the jobs of docs/scale.md smaller and by mpirun, where
there is MPI. A page with commands that no test runs fails the test.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


# Who runs the other pages' commands, or says what they come to.
ELSEWHERE = {
    'README.md': 'tests/cli/docs.py',
    'docs/tutorial.md': 'tests/cli/docs.py',
    'docs/paper.md': 'tests/cli/docs.py',
    'docs/sums.md': 'tests/cli/docs.py',
    'docs/following.md': 'tests/cli/docs.py',
    'docs/deployment.md': 'tests/fleet/deployment.py',
    'docs/python.md': 'tests/install.sh',       # the same, into another folder
    'docs/architecture.md': 'tests/lint.sh',    # draws and compares
}
HERE = ['docs/study.md', 'docs/scale.md']


def read(name):
    with open(os.path.join(ROOT, name), encoding='utf-8') as file:
        return file.read()


def blocks_of(name):
    return re.findall(r'^```sh\n(.*?)^```', read(name), re.M | re.S)


def account_for_all():
    """Every page with commands has someone who runs them."""
    pages = [os.path.relpath(page, ROOT) for page in
             glob.glob(ROOT + '/docs/*.md') + [ROOT + '/README.md']]
    for page in pages:
        assert not blocks_of(page) or page in HERE or page in ELSEWHERE, page
    for page, test in ELSEWHERE.items():
        assert blocks_of(page) and os.path.exists(os.path.join(ROOT, test)), page


def run_scale(folder, build):
    """The jobs of docs/scale.md, of fewer trials, without a cluster."""
    if not (os.path.exists(build + '/pricer-mpi') and shutil.which('mpirun')):
        print('skipped: docs/scale.md, as there is no MPI')
        return
    mpirun = 'mpirun --allow-run-as-root --oversubscribe -n 2 '
    one, job = blocks_of('docs/scale.md')
    assert '--trials 10000000000' in one and 'srun ' in job
    script = one.replace('mpirun -n 4 ', mpirun).replace('10000000000', '20000')
    script += job.replace('srun ', mpirun).replace('--threads 1', '--threads 1 --trials 1000')
    said = run('pricer new --force ten.pricer {0}; pricer plan ten.pricer >plan.txt\n'
               'cp {0} field.yaml\n{1}'.format(ROOT + '/examples/paper.yaml', script),
               folder, build)
    assert '20000 trials' in said, said
    with open(os.path.join(folder, 'sweep', 'sweep.csv'), encoding='utf-8') as table:
        assert len(table.read().splitlines()) == 1 + 4 * 3


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
    account_for_all()
    with tempfile.TemporaryDirectory() as folder:
        study = blocks_of('docs/study.md')
        said = run('rm -f ten.pricer; pricer new ten.pricer %s/examples/paper.yaml\n%s'
                   % (ROOT, '\n'.join(study)), folder, build)
        assert '0|1|0.5' in said and '(9, 0.1)' in said, said
        run_scale(folder, build)


if __name__ == '__main__':
    main()
