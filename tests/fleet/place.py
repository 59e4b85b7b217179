"""A folder in which commands are run as an operator types them, with the programs
of a build. Nothing outlives it."""
import os
import shutil
import subprocess
import tempfile

from fleet import expect


class Place:
    def __init__(self, build):
        self.dir = tempfile.mkdtemp(prefix='pricer-place-')
        self.environment = dict(os.environ,
                                PATH=build + ':' + os.environ['PATH'])

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def write(self, name, text):
        with open(self.path(name), 'w') as file:
            file.write(text)

    def read_bytes(self, *names):
        with open(self.path(*names), 'rb') as file:
            return file.read()

    def read(self, *names):
        return self.read_bytes(*names).decode()

    def run(self, command, expected=0):
        """What became of it."""
        done = subprocess.run(command, shell=True, cwd=self.dir, text=True,
                              env=self.environment, capture_output=True,
                              timeout=60)
        expect(done.returncode == expected,
               f'{command}: {done.returncode}\n{done.stdout}{done.stderr}')
        return done

    def ask(self, command):
        """What it prints."""
        return self.run(command).stdout

    def remove(self):
        shutil.rmtree(self.dir)
