"""What is in the way of a process for a while: a full disk, a locked database.
For tests. A fleet says by database(name) which file a process writes to."""
import resource
import sqlite3


class Disk:
    """A process for which the disk is full, until it ends."""

    def __init__(self, fleet, name):
        self.name, self.pid = name, fleet.processes[name].pid
        self.set(2000)

    def set(self, most):
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE,
                         (most, resource.RLIM_INFINITY))

    def end(self):
        try:
            self.set(resource.RLIM_INFINITY)
        except ProcessLookupError:
            pass        # it was killed


class Lock:
    """Somebody else writes to the database of a process, until it ends."""

    def __init__(self, fleet, name):
        self.name = name
        self.db = sqlite3.connect(fleet.database(name), isolation_level=None,
                                  timeout=5)
        self.db.execute('BEGIN IMMEDIATE')

    def end(self):
        self.db.execute('COMMIT')
        self.db.close()
