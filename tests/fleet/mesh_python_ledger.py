"""The ledger of the node in Python (mesh_python_node.py), by docs/protocol.md,
sections 6 and 11."""
import math
import sqlite3

NO_END = 2 ** 62 - 1


class Ledger:
    """Releases, and the entries of the budget `everyone` that they use. A release
    and its charge are one transaction that is on the disk before the packet
    leaves; the locking mode keeps a second process out."""

    def __init__(self, path, eps, delta):
        self.eps, self.delta = eps, delta
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute('PRAGMA locking_mode = EXCLUSIVE')
        self.db.execute('PRAGMA synchronous = EXTRA')
        self.db.execute('BEGIN EXCLUSIVE')
        self.db.execute('CREATE TABLE IF NOT EXISTS entry (dimension INTEGER, '
                        't REAL, e0 REAL, rounds INTEGER, used INTEGER, '
                        'eps REAL, delta REAL)')
        self.db.execute('CREATE TABLE IF NOT EXISTS release (round INTEGER '
                        'PRIMARY KEY, plan BLOB, payload BLOB, tag BLOB, '
                        'signature BLOB)')
        self.db.execute('COMMIT')

    def last(self):
        return self.db.execute(
            'SELECT coalesce(max(round), 0) FROM release').fetchone()[0]

    def stored(self, round_, plan):
        """The payload, tag and signature that were released, or None."""
        return self.db.execute('SELECT payload, tag, signature FROM release '
                               'WHERE round = ? AND plan = ?',
                               (round_, plan)).fetchone()

    def entry(self, law):
        """An entry with a round left for a release of this law."""
        return self.db.execute(
            'SELECT rowid FROM entry WHERE dimension = ? AND t = ? AND e0 >= ? '
            'AND used < rounds LIMIT 1', (law.d, law.t, law.e0)).fetchone()

    def has_budget(self, eps, delta):
        spent = self.db.execute('SELECT eps, delta FROM entry').fetchall()
        return math.fsum([e for e, _ in spent] + [eps]) <= self.eps and \
            math.fsum([d for _, d in spent] + [delta]) <= self.delta

    def left(self, law, rounds, eps, delta):
        """Rounds that the budget still holds."""
        held = self.db.execute(
            'SELECT coalesce(sum(rounds - used), 0) FROM entry WHERE dimension = '
            '? AND t = ? AND e0 >= ?', (law.d, law.t, law.e0)).fetchone()[0]
        spent = self.db.execute('SELECT coalesce(sum(eps), 0), '
                                'coalesce(sum(delta), 0) FROM entry').fetchone()
        more = min([(whole - used) // cost for whole, used, cost in
                    ((self.eps, spent[0], eps), (self.delta, spent[1], delta))
                    if cost > 0], default=0)
        return min(NO_END, int(held + rounds * max(0, more)))

    def charge(self, round_, plan, law, rounds, eps, delta, packet):
        """False if the budget does not hold it, or a later round is charged."""
        self.db.execute('BEGIN IMMEDIATE')
        try:
            found = self.entry(law)
            if round_ <= self.last() or \
                    (found is None and not self.has_budget(eps, delta)):
                self.db.execute('ROLLBACK')
                return False
            if found is None:
                self.db.execute('INSERT INTO entry VALUES (?,?,?,?,1,?,?)',
                                (law.d, law.t, law.e0, rounds, eps, delta))
            else:
                self.db.execute('UPDATE entry SET used = used + 1 WHERE rowid = ?',
                                found)
            self.db.execute('INSERT INTO release VALUES (?,?,?,?,?)',
                            (round_, plan, packet.payload, packet.tag,
                             packet.signature))
            self.db.execute('COMMIT')
            return True
        except sqlite3.Error:
            if self.db.in_transaction:
                self.db.execute('ROLLBACK')
            raise
