"""One round: shares with exact noise, links that come and go, the estimate."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional, Union

import numpy as np
from numpy.typing import ArrayLike

from ._library import (ValueFault, address, call, ffi, find_word, lib, refuse,
                       shaped)
from .decoding import Decoder, Receiver, choose_decoder
from .forwarding import ForwardPlan
from .network import Network
from .planning import Plan


class Stream:
    """Random words: addressed by a seed, so that anything can be played again,
    or the operating system's, for data that is really private."""

    def __init__(self, seed: Optional[int] = None, purpose: str = "other",
                 round: int = 0, from_: int = 0, to: int = 0) -> None:
        """Without a seed the stream is secret."""
        self._c = ffi.new("struct pricer_random *")
        if seed is None:
            call(lib.pricer_random_secret, self._c)
        else:
            self.replay(seed, purpose, round, from_, to)

    def __reduce__(self) -> Any:
        raise TypeError("a Stream is not pickled: its noise must not be used "
                        "twice")

    def __repr__(self) -> str:
        kind = "secret" if self._c.secret else "replayed"
        return f"<pricer.Stream, {kind}>"

    def replay(self, seed: int, purpose: str, round: int, from_: int,
               to: int) -> None:
        """Start again as the stream of another address."""
        lib.pricer_random_replay(
            self._c, seed, getattr(lib, "PRICER_PURPOSE_" + purpose.upper()),
            round, from_, to)

    def word(self) -> int:
        """The next 64 bits."""
        return lib.pricer_random_word(self._c)

    def wipe(self) -> None:
        """Forget its state."""
        lib.pricer_random_wipe(self._c)


class Played(NamedTuple):
    """What became of a round. bar is the decoder's error bar, or None, of
    forwarding that of those who arrived; clipped is how many vectors were longer
    than their node's radius and were cut. arrived says, of forwarding, whose
    releases the server got."""

    estimate: np.ndarray
    uplink: np.ndarray
    link: np.ndarray
    bar: Optional[float]
    clipped: int
    arrived: Optional[np.ndarray] = None


def draw_links(network: Network, seed: int,
               round: int) -> tuple[np.ndarray, np.ndarray]:
    """Which uplinks and which links are up in a round, as simulations draw
    them."""
    pair = ffi.new("struct pricer_pair *")

    def up(*values: Any) -> bool:
        pair[0] = values
        return lib.pricer_round_up(seed, round, pair)

    partner = network.partner
    back = (np.where(partner >= 0, network.p[partner], 0) if network.links
            else np.zeros(0))
    uplink = [up(j, lib.PRICER_SERVER, p, 0, 0)
              for j, p in enumerate(network.uplink.tolist())]
    link = [up(*rest) for rest in
            zip(network.from_.tolist(), network.to.tolist(),
                network.p.tolist(), back.tolist(), network.joint.tolist())]
    return np.array(uplink, bool), np.array(link, bool)


def check_data(network: Network, data: ArrayLike) -> tuple[np.ndarray, int]:
    """A row for every node, and how many are too long."""
    rows = shaped(data, "f8", (network.nodes, network.dimension), "data")
    refuse("data", rows, ~np.isfinite(rows), "is not a finite number")
    # as long as the radius but for rounding is not clipped
    return rows, int(np.sum(np.linalg.norm(rows, axis=1)
                            > network.node_radius * (1 + 1e-12)))


class ForwardRounds:
    """Play rounds of a plan of forwarding in this process, every release as a node
    makes it.

        rounds = pricer.ForwardRounds(plan, seed=1)
        estimate = rounds.play(data, round=0).estimate

    Round t of a seed is trial t of the faithful simulator. With secret=True
    releases are drawn from the kernel, as they have to be for data that is really
    private; links are still drawn from the seed.
    """

    def __init__(self, plan: ForwardPlan, seed: Optional[int] = None,
                 secret: bool = False) -> None:
        net = plan.network
        if plan.repeat > 1:
            raise ValueFault(f"rounds of this plan have {plan.repeat} attempts: "
                             "pricer.simulate() plays them")
        self.plan = plan
        self.seed = net.seed if seed is None else seed
        self._secret = secret
        self._bytes = [lib.pricer_forward_payload(kind, net.dimension)
                       for kind in range(3)]
        self._payload = np.zeros(max(self._bytes), np.uint8)
        self._senders = [self._sender(i) for i in range(net.nodes)]
        out = ffi.new("struct pricer_forward_receiver **")
        call(lib.pricer_forward_receiver_new, net._c, plan._c, out)
        self._receiver = ffi.gc(out[0], lib.pricer_forward_receiver_free)

    def _sender(self, node: int) -> Any:
        net = self.plan.network
        out = ffi.new("struct pricer_forward_sender **")
        call(lib.pricer_forward_sender_new, self.plan._c.node + node,
             net.node_radius[node], net.dimension, out)
        return ffi.gc(out[0], lib.pricer_forward_sender_free)

    def __reduce__(self) -> Any:
        return ForwardRounds, (self.plan, self.seed, self._secret)

    def __repr__(self) -> str:
        return (f"<pricer.ForwardRounds of {self.plan!r}, seed {self.seed}"
                f"{', secret releases' if self._secret else ''}>")

    def links(self, round: int) -> tuple[np.ndarray, np.ndarray]:
        """Which uplinks and which links are up in a round."""
        return draw_links(self.plan.network, self.seed, round)

    def arrived(self, uplink: np.ndarray, link: np.ndarray) -> np.ndarray:
        """Whose releases reach the server over links that are up."""
        net = self.plan.network
        there = np.array(uplink, bool)
        for _ in range(self.plan.hops):
            more = there.copy()
            more[net.from_[link & there[net.to]]] = True
            there = more
        return there

    def play(self, data: ArrayLike, round: int = 0) -> Played:
        """One round with a row of data for every node."""
        net = self.plan.network
        data, clipped = check_data(net, data)
        uplink, link = self.links(round)
        there = self.arrived(uplink, link)
        estimate = np.zeros(net.dimension)
        payload = address(self._payload, "unsigned char[]")
        random = ffi.NULL if self._secret else ffi.new("struct pricer_random *")
        for node in np.flatnonzero(there).tolist():
            if not self._secret:
                lib.pricer_random_replay(
                    random, self.seed, lib.PRICER_PURPOSE_NOISE, round, node,
                    lib.PRICER_SERVER)
            call(lib.pricer_forward_release, self._senders[node],
                 address(data[node], "double[]"), random, payload)
            call(lib.pricer_forward_receiver_add, self._receiver, node, payload,
                 self._bytes[self.plan.table["release"][node]],
                 address(estimate, "double[]"))
        bar = lib.pricer_forward_bar(net._c, self.plan._c,
                                     address(there, "bool[]"))
        return Played(estimate, uplink, link, bar, clipped, there)


class Rounds:
    """Play rounds of a plan in this process, every message as a node makes it.

        rounds = pricer.Rounds(plan, seed=1)
        estimate = rounds.play(data, round=0).estimate

    Links are drawn from the seed, as simulations draw them: trial t of the
    faithful engine is round t. With secret=True the noise is the operating
    system's and no round can be played again; so it has to be for data that is
    really private. decoder is None (the plan's own, plan.decoder), "constant"
    (every sum counts alike, as in the paper), "minimax", or a Decoder.
    """

    def __init__(self, plan: Plan, seed: Optional[int] = None,
                 secret: bool = False,
                 decoder: Union[None, str, Decoder] = None) -> None:
        net = plan.network
        if isinstance(decoder, str):
            find_word("decode", decoder, "decoder")
            if decoder == "adaptive":
                raise ValueFault("decoder = 'adaptive' is for simulate()")
        self.plan = plan
        self.seed = net.seed if seed is None else seed
        self._noise = Stream() if secret else Stream(self.seed)
        self._secret = secret
        self.grid = ffi.new("struct pricer_grid *")
        call(lib.pricer_grid_choose, net._c, plan._c, self.grid)
        self._slices = [self._slice(i) for i in range(net.nodes)]
        self.decoder = choose_decoder(plan, decoder)
        self._receiver = (Receiver(plan, self.decoder) if self.decoder
                          else None)
        self._message = np.zeros(net.dimension, "i8")
        self._sums = np.zeros((net.nodes, net.dimension), "i8")

    def __reduce__(self) -> Any:
        return Rounds, (self.plan, self.seed, self._secret,
                        self.decoder or "constant")

    def __repr__(self) -> str:
        return (f"<pricer.Rounds of {self.plan!r}, seed {self.seed}"
                f"{', secret noise' if self._secret else ''}>")

    def _slice(self, node: int) -> Any:
        out = ffi.new("struct pricer_slice **")
        call(lib.pricer_slice_build, self.plan.network._c, self.plan._c,
             self.grid, node, out)
        return ffi.gc(out[0], lib.pricer_slice_free)

    def links(self, round: int) -> tuple[np.ndarray, np.ndarray]:
        """Which uplinks and which links are up in a round."""
        return draw_links(self.plan.network, self.seed, round)

    def share(self, node: int, to: int, vector: np.ndarray,
              round: int) -> np.ndarray:
        """The message of a node for a relay, or itself, on the integer grid."""
        vector = shaped(vector, "f8", (self.plan.network.dimension,), "vector")
        piece = self._slices[node]
        for k in range(piece.count):
            if piece.shares[k].to == to:
                return self._share(piece, piece.shares + k, vector,
                                   round).copy()
        raise ValueFault(f"node {node} has no share for {to}")

    def limit(self, node: int, to: int) -> int:
        """How large the values of an honest message are, at most."""
        piece = self._slices[node]
        for k in range(piece.count):
            if piece.shares[k].to == to:
                return lib.pricer_round_limit(self.grid, piece.radius,
                                              self._honest(piece, k))
        return 0

    def length(self, node: int, to: int) -> float:
        """How long (in L2) an honest message is, but for one in 10^9."""
        piece = self._slices[node]
        for k in range(piece.count):
            if piece.shares[k].to == to:
                return lib.pricer_round_length(self.grid, piece.radius,
                                               piece.dimension,
                                               self._honest(piece, k), 1)
        return 0

    @staticmethod
    def _honest(piece: Any, k: int) -> Any:
        """A share with the noise that its message really gets."""
        share = piece.shares + k
        noise = lib.pricer_round_noise(piece, share)
        return ffi.new("struct pricer_share *",
                       (share.to, share.weight, noise))

    def _share(self, piece: Any, share: Any, vector: np.ndarray,
               round: int) -> np.ndarray:
        if not self._secret:
            self._noise.replay(self.seed, "noise", round, piece.node, share.to)
        call(lib.pricer_round_share, piece, share, address(vector, "double[]"),
             self._noise._c, address(self._message, "int64_t[]"))
        return self._message

    def play(self, data: ArrayLike, round: int = 0) -> Played:
        """One round with a row of data for every node."""
        net = self.plan.network
        data, clipped = check_data(net, data)
        uplink, link = self.links(round)
        self._sums[:] = 0
        for node, piece in enumerate(self._slices):
            for k in range(piece.count):
                share = piece.shares + k
                to = share.to
                if not uplink[to] or (to != node
                                      and not link[net.find(node, to)]):
                    continue
                message = self._share(piece, share, data[node], round)
                call(lib.pricer_round_add, self.grid, 1,
                     address(message, "int64_t[]"), net.dimension,
                     address(self._sums[to], "int64_t[]"))
        count = self._decode if self._receiver else self._average
        estimate, bar = count(uplink, link)
        return Played(estimate, uplink, link, bar, clipped)

    def _average(self, uplink: np.ndarray,
                 link: np.ndarray) -> tuple[np.ndarray, Optional[float]]:
        """Every sum counts 1 / nodes, as in the paper."""
        net = self.plan.network
        total = np.zeros(net.dimension, "i8")
        estimate = np.zeros(net.dimension)
        for relay in np.flatnonzero(uplink):
            call(lib.pricer_round_add, self.grid, self._slices[relay].parts,
                 address(self._sums[relay], "int64_t[]"), net.dimension,
                 address(total, "int64_t[]"))
        lib.pricer_round_estimate(self.grid, net.nodes,
                                  address(total, "int64_t[]"), net.dimension,
                                  address(estimate, "double[]"))
        return estimate, None

    def _decode(self, uplink: np.ndarray,
                link: np.ndarray) -> tuple[np.ndarray, Optional[float]]:
        """The decoder says what every sum counts."""
        net = self.plan.network
        found = self._receiver.decode(uplink, link)
        estimate = np.zeros(net.dimension)
        for relay in np.flatnonzero(uplink):
            lib.pricer_round_combine(
                self.grid, found.coefficient[relay],
                address(self._sums[relay], "int64_t[]"), net.dimension,
                address(estimate, "double[]"))
        return estimate, found.bar
