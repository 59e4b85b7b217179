"""A program beside a node: hand in the vector of each round, get the estimate.

The node runs with --feed unix:PATH and does everything else: noise, trust,
ledger, network. docs/feed.md has the messages; python3-msgpack reads them.
"""
from __future__ import annotations

import errno
import os
import select
import socket
import struct
import time
from typing import Any, Iterator, NamedTuple, Optional

import numpy as np
from numpy.typing import ArrayLike

from ._library import Fault, ValueFault

_VERSION = 1
_PLAN, _ROUND, _VECTOR, _TAKEN, _RESULT, _BYE = range(1, 7)
_DATA, _PROBE, _SPENT, _TRUST, _LATE, _NONE, _LEDGER = range(1, 8)
_BUSY = 1
_LARGEST = 64 << 20
_DECODERS = ("minimax", "constant", "adaptive")
NO_END = 2 ** 62 - 1


class NodeFault(Fault):
    """What a node, or the lack of one, has to say; `round` where it is known."""

    def __init__(self, text: str, round: Optional[int] = None) -> None:
        super().__init__(text)
        self.round = round


class SpentFault(NodeFault):
    """The node's budgets hold no more: nothing was sent."""


class LateFault(NodeFault):
    """The vector came when the round did not wait for it any more."""


class RefusedFault(NodeFault):
    """The node did not send the vector, for another reason than the above."""


class NoEstimateFault(NodeFault):
    """The round went by without an estimate that reached this node."""


class GoneFault(NodeFault, ConnectionError):
    """No node is at the socket, or not any more."""


class TimeoutFault(NodeFault, TimeoutError):
    """It took longer than the caller would wait."""


class NodePlan(NamedTuple):
    """What the node's plan asks for. `left` is for how many rounds the budgets
    of the node still hold; None: no end."""

    node: int
    nodes: int
    plan: int
    dimension: int
    radius: float
    rounds: int
    left: Optional[int]


class Result(NamedTuple):
    """What came of a round. `bar` is the server's error bar: the expected
    squared error is about that for the worst data. `took_part`: data of this
    node went out in it; `length` and `clipped` are of the vector then."""

    round: int
    estimate: Optional[np.ndarray]
    bar: float
    arrived: int
    contributors: int
    decoder: str
    took_part: bool
    length: Optional[float] = None
    clipped: bool = False


class Round(NamedTuple):
    """A round that waits for a vector until `deadline` (time.monotonic())."""

    participant: "Participant"
    number: int
    dimension: int
    radius: float
    deadline: float
    left: Optional[int]

    @property
    def remaining(self) -> float:
        """Seconds until the vector must be there."""
        return self.deadline - time.monotonic()

    def submit(self, vector: ArrayLike,
               timeout: Optional[float] = None) -> np.ndarray:
        """Hand the vector in for this round and wait for its estimate."""
        return self.participant._submit(self, vector, timeout)

    def skip(self) -> None:
        """There is no vector in this round: the node only relays, at once."""
        self.participant._send(self.number, b"")


class Participant:
    """The program that a node takes its vectors from.

        with pricer.Participant("/var/lib/pricer/node0/feed") as node:
            estimate = node.submit(vector)

    or, where the vector depends on the round,

        for round in node:               # ends when the budgets are spent
            model += round.submit(train(model, round.radius))

    `submit` waits for a round, hands the vector in and waits for the estimate of
    that round; `last` has the error bar and the rest. A vector longer than the
    radius is clipped by the node. A node that is not there yet, or that is
    started anew, is waited for, up to `timeout` seconds; None: for ever. For one
    thread at a time.
    """

    def __init__(self, path: str, timeout: Optional[float] = None) -> None:
        self.path = path[5:] if path.startswith("unix:") else path
        self.timeout = timeout
        self.plan: Optional[NodePlan] = None
        self.last: Optional[Result] = None
        self._socket: Optional[socket.socket] = None
        self._bytes = bytearray()
        self._open: Optional[Round] = None
        self._done = 0  # the last round that is over
        self._fate: dict[int, tuple[float, bool]] = {}
        try:
            import msgpack
        except ImportError as error:
            raise ImportError("pricer.Participant needs python3-msgpack"
                              ) from error
        self._msgpack = msgpack

    # -------------------------------------------------------- connection --

    def connect(self, timeout: Optional[float] = None) -> "Participant":
        """Connect now rather than with the first call that needs it."""
        self._connect(self._until(timeout))
        return self

    def close(self) -> None:
        """Leave; the node goes on without a part of its own."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._open = None, None
        self._bytes.clear()

    def __reduce__(self) -> Any:
        raise TypeError("a Participant is a connection and is not pickled")

    def __repr__(self) -> str:
        state = "connected" if self._socket is not None else "not connected"
        return f"<pricer.Participant at {self.path!r}, {state}>"

    def __enter__(self) -> "Participant":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _until(self, timeout: Optional[float]) -> float:
        timeout = self.timeout if timeout is None else timeout
        return float("inf") if timeout is None else time.monotonic() + timeout

    def _connect(self, until: float) -> None:
        """Try until somebody is there."""
        pause = 0.05
        while self._socket is None:
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                made.connect(self.path)
                _check_owner(made, self.path)
                self._socket = made
            except OSError as error:
                made.close()
                if isinstance(error, Fault) or error.errno in (
                        errno.EACCES, errno.EPERM, errno.ENOTSOCK):
                    raise GoneFault(f"{self.path}: {error}") from error
                if time.monotonic() + pause > until:
                    raise GoneFault(f"no node is at {self.path} "
                                    f"({error.strerror})") from error
                time.sleep(pause)
                pause = min(1, 2 * pause)

    # ---------------------------------------------------------- messages --

    def _send(self, round: int, values: bytes) -> None:
        body = self._msgpack.packb([_VERSION, _VECTOR, round, values])
        if self._socket is None:
            raise GoneFault("the node is gone", round)
        try:
            self._socket.settimeout(None)
            self._socket.sendall(struct.pack(">I", len(body)) + body)
        except OSError as error:
            self._take_all()  # raises why, if the node has said so
            self.close()
            raise GoneFault(f"the node is gone ({error.strerror})",
                            round) from error

    def _receive(self, until: float) -> bool:
        """More bytes; False: none came in time."""
        assert self._socket is not None
        wait = max(0.0, until - time.monotonic())
        if not select.select([self._socket], [], [],
                             None if wait == float("inf") else wait)[0]:
            return False
        try:
            got = self._socket.recv(1 << 20)
        except OSError:
            got = b""
        if not got:
            self.close()
            raise GoneFault("the node is gone")
        self._bytes += got
        return True

    def _frame(self) -> Optional[list]:
        """A message that has come whole, or None."""
        if len(self._bytes) < 4:
            return None
        size, = struct.unpack_from(">I", self._bytes)
        if size > _LARGEST:
            self.close()
            raise GoneFault(f"{self.path} is not the feed of a node")
        if len(self._bytes) < 4 + size:
            return None
        body = bytes(self._bytes[4:4 + size])
        del self._bytes[:4 + size]
        try:
            message = self._msgpack.unpackb(body)
            if message[0] != _VERSION:
                raise ValueError(f"version {message[0]}")
        except (ValueError, TypeError, IndexError) as error:
            self.close()
            raise GoneFault(f"{self.path} is not the feed of a node: {error}"
                            ) from error
        return message

    def _take(self, message: list) -> Any:
        """Note what a message says. Returns TAKEN as it is, or a Result."""
        kind, rest = message[1], message[2:]
        if kind == _PLAN and rest[2] > 0:
            self.plan = NodePlan(*rest[:6], _left(rest[6]))
        elif kind == _ROUND:
            number, dimension, radius, wait, clock, left = rest
            # it may have waited here while the program did something else
            ago = time.clock_gettime(time.CLOCK_BOOTTIME) - clock / 1000
            self._open = Round(
                self, number, dimension, radius,
                time.monotonic() + wait / 1000 - max(0, ago), _left(left))
        elif kind == _TAKEN:
            return rest
        elif kind == _RESULT:
            number, arrived, contributors, decoder, bar, took, values = rest
            self._done = max(self._done, number)
            if self._open is not None and self._open.number <= number:
                self._open = None
            self.last = Result(
                number, np.frombuffer(values, "<f8") if values else None, bar,
                arrived, contributors, _DECODERS[decoder], took,
                *self._fate.pop(number, (None, False)))
            return self.last
        elif kind == _BYE:
            self.close()
            raise GoneFault(f"{self.path}: the node ends the connection: "
                            f"{rest[1]}")
        return None

    def _next(self, until: float, round: Optional[int] = None) -> Any:
        """Wait for one message and note it."""
        while (message := self._frame()) is None:
            if not self._receive(until):
                raise TimeoutFault("nothing came from the node in time", round)
        return self._take(message)

    def _take_all(self) -> None:
        """Note everything that has come, without waiting."""
        while self._socket is not None:
            message = self._frame()
            if message is not None:
                self._take(message)
            elif not self._receive(time.monotonic()):
                return

    # ------------------------------------------------------------ rounds --

    def next_round(self, timeout: Optional[float] = None) -> Round:
        """Wait for a round that takes vectors. SpentFault: there will be none,
        since the budgets are spent."""
        until = self._until(timeout)
        while True:
            try:
                self._connect(until)
                self._take_all()
                while self._open is None or self._open.remaining <= 0:
                    self._check_left()
                    self._next(until)
                self._check_left(self._open)
                found, self._open = self._open, None
                return found
            except GoneFault as error:
                # it may be started anew; whoever was turned away is not
                if time.monotonic() > until or "another program" in str(error):
                    raise
                time.sleep(0.05)

    def _check_left(self, open: Optional[Round] = None) -> None:
        left = open.left if open is not None else (
            self.plan.left if self.plan is not None else None)
        if left == 0:
            raise SpentFault("nothing of the node's data goes out any more: its "
                             "budgets are spent, or its plan and trust file "
                             "let nothing out")

    def submit(self, vector: ArrayLike,
               timeout: Optional[float] = None) -> np.ndarray:
        """Hand the vector in for the next round that takes it, and wait for the
        estimate of that round."""
        until = self._until(timeout)
        while True:
            left = until - time.monotonic()
            round = self.next_round(None if left == float("inf") else left)
            try:
                return self._submit(round, vector, left)
            except LateFault:
                if time.monotonic() > until:
                    raise

    def __iter__(self) -> Iterator[Round]:
        """The rounds as they come, until the budgets are spent."""
        while True:
            try:
                yield self.next_round()
            except SpentFault:
                return

    def results(self) -> Iterator[Result]:
        """What comes of every round, without taking part in any."""
        seen = self.last
        while True:
            try:
                self._connect(self._until(None))
                self._next(self._until(None))
                if self._open is not None:
                    self._open.skip()
                    self._open = None
            except GoneFault as error:
                if "another program" in str(error):
                    raise
            if self.last is not seen and self.last is not None:
                seen = self.last
                yield seen

    def _submit(self, round: Round, vector: ArrayLike,
                timeout: Optional[float]) -> np.ndarray:
        values = np.ascontiguousarray(vector, "<f8")
        if values.shape != (round.dimension,):
            raise ValueFault(f"a vector of shape {values.shape} where the plan "
                             f"has {round.dimension} elements")
        if not np.isfinite(values).all():
            raise ValueFault("the vector has elements that are not finite")
        until = self._until(timeout)
        self._send(round.number, values.tobytes())
        self._wait_taken(round.number, until)
        while self._done < round.number:
            self._next(until, round.number)
            if self._open is not None and self._open.number > round.number:
                break
        result = self.last
        if result is None or result.round != round.number or (
                result.estimate is None):
            raise NoEstimateFault(
                f"round {round.number} gave no estimate, or none that this node "
                "may read (pricer-server --readers)", round.number)
        return result.estimate

    def _wait_taken(self, number: int, until: float) -> None:
        while True:
            taken = self._next(until, number)
            if isinstance(taken, list) and taken[0] == number:
                break
        _, part, length, clipped, text = taken
        if part == _DATA:
            self._fate[number] = (length, clipped)
            return
        kind = {_SPENT: SpentFault, _LATE: LateFault}.get(part, RefusedFault)
        raise kind(f"round {number}: {text}", number)


def _left(left: int) -> Optional[int]:
    return None if left >= NO_END else left


def _check_owner(made: socket.socket, path: str) -> None:
    """Private numbers go to a node of this user or of root only."""
    raw = made.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    uid = struct.unpack("3i", raw)[1]
    if os.geteuid() != 0 and uid not in (0, os.geteuid()):
        raise GoneFault(f"the node at {path} belongs to another user")
