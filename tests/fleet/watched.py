"""Memory and descriptors of processes over their lives. For tests."""
import os
import time


class Watched:
    """One life of a process. What it has in its first `settled` seconds is not
    compared with."""

    def __init__(self, name, process, settled):
        self.name, self.process, self.settled = name, process, settled
        self.begun, self.first, self.last = time.monotonic(), None, None

    def look(self):
        try:
            with open(f'/proc/{self.process.pid}/status') as file:
                memory = next(int(line.split()[1]) for line in file
                              if line.startswith('VmRSS'))
            files = len(os.listdir(f'/proc/{self.process.pid}/fd'))
        except (OSError, StopIteration):
            return
        if time.monotonic() > self.begun + self.settled:
            self.last, self.looked = (memory / 1024, files), time.monotonic()
            self.first = self.first or self.last

    def growth(self):
        return None if self.first is None else (
            self.last[0] - self.first[0], self.last[1] - self.first[1])

    def tell(self):
        """Of its settled life: from when to when, and what it had."""
        return (f'{self.name} {self.first[0]:.1f} to {self.last[0]:.1f} MiB, '
                f'{self.first[1]} to {self.last[1]} descriptors in '
                f'{self.looked - self.begun - self.settled:.0f} s')


def longest(lives, server):
    """The longest life of the server, or of a node."""
    return max((life for life in lives if life.first is not None and
                (life.name == 'server') == server),
               key=lambda life: life.looked - life.begun, default=None)
