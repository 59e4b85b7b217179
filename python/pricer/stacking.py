"""Rounds of several attempts that send the same payloads: data that does not
change, over links that are drawn anew."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional

import numpy as np
from numpy.typing import ArrayLike

from ._library import (Progress, Watch, address, call, ffi, find_word, lib,
                       shaped, struct)
from .decoding import Decoded, Decoder
from .planning import Plan
from .simulation import matrix


class Repeated(NamedTuple):
    """Squared errors in simulated rounds, each with its standard error: all sums
    decoded together; the mean of all attempts' sums over n; the same if every
    attempt had fresh noise for the same budgets. bar: mean of the decoder's."""

    trials: int
    stacked: float
    stacked_stderr: float
    equal: float
    equal_stderr: float
    fresh: float
    fresh_stderr: float
    bar: float


class Stack:
    """The decoder of all sums of a round with several attempts.

        plan = pricer.plan(network, repeat=5)
        stack = pricer.Stack(plan)
        stack.decoder.upper                  # the worst case of a round
        stack.decode(uplink, link, sums)     # a row for each attempt
        stack.simulate(trials=10000)

    A link is charged for one release, since its payload is; what the server
    learns from the attempts together, pricer.privacy() says of such a plan.
    """

    def __init__(self, plan: Plan, attempts: Optional[int] = None, *,
                 decoder: Optional[Decoder] = None, patterns: int = 0,
                 seed: Optional[int] = None, threads: int = 0,
                 progress: Progress = None) -> None:
        """Fit the decoder, or take one that was; attempts are the plan's own
        `repeat` if they are not given."""
        net = plan.network
        self.plan = plan
        self.attempts = plan.settings.repeat if attempts is None else attempts
        self._seed = net.seed if seed is None else seed
        if decoder is None:
            watch = Watch(progress)
            asked = struct("decoder_settings", {
                "patterns": patterns, "seed": self._seed, "threads": threads,
                "watch": watch.pointer})
            fitted = ffi.new("struct pricer_decoder **")
            watch.call(lib.pricer_stack_fit, net._c, plan._c, asked,
                       self.attempts, fitted)
            decoder = Decoder(fitted[0], plan)
        self.decoder = decoder
        out = ffi.new("struct pricer_stack **")
        call(lib.pricer_stack_new, net._c, plan._c, decoder._c, self.attempts,
             out)
        self._c = ffi.gc(out[0], lib.pricer_stack_free)

    def __reduce__(self) -> Any:
        return _restore, (self.plan, self.attempts, self.decoder, self._seed)

    def __repr__(self) -> str:
        return (f"<pricer.Stack of {self.attempts} attempts: worst case "
                f"{self.decoder.upper:.6g}>")

    def decode(self, uplink: ArrayLike, link: ArrayLike,
               sums: Optional[ArrayLike] = None,
               withheld: Optional[ArrayLike] = None) -> Decoded:
        """As Receiver.decode(), with a row for each attempt in everything:
        uplink and link say what arrived in it, withheld whose own part is not
        in its sum, coefficient what its sums count."""
        net = self.plan.network
        up = shaped(uplink, bool, (self.attempts, net.nodes), "uplink")
        through = shaped(link, bool, (self.attempts, net.links), "link")
        rows = None
        if sums is not None:
            rows = shaped(sums, "f8", (*up.shape, net.dimension), "sums")
        kept = np.zeros(up.shape, bool)
        if withheld is not None:
            kept = shaped(withheld, bool, up.shape, "withheld")
        lib.pricer_stack_withhold(self._c, ffi.from_buffer("bool[]", kept))
        coefficient = np.zeros(up.shape)
        out = ffi.new("struct pricer_decoded *")
        lib.pricer_stack_decode(self._c, ffi.from_buffer("bool[]", up),
                                ffi.from_buffer("bool[]", through),
                                address(coefficient, "double[]"), out)
        estimate = None if rows is None else coefficient[up] @ rows[up]
        return Decoded(coefficient, out.bar, out.slack, out.sums,
                       bool(out.is_estimate), estimate)

    def simulate(self, trials: int = 0, data: Any = "worst-case", *,
                 seed: Optional[int] = None, threads: int = 0) -> Repeated:
        """Play rounds for "worst-case" or "random" data, or a row for every
        node. The same to the bit for any number of threads."""
        plan = self.plan
        asked = struct("simulation_settings", {
            "trials": trials, "seed": self._seed if seed is None else seed,
            "threads": threads, "decoder": self.decoder._c,
            "decode": find_word("decode", "minimax")})
        held: Any = None
        if isinstance(data, str):
            asked.data = find_word("data", data)
        else:
            asked.data = lib.PRICER_DATA_GIVEN
            made, held = matrix(data)
            held.append(made)
            asked.given = made
        out = ffi.new("struct pricer_repeated *")
        call(lib.pricer_stack_simulate, plan.network._c, plan._c, asked,
             self.attempts, out)
        del held
        return Repeated(out.trials, out.stacked.value, out.stacked.error,
                        out.equal.value, out.equal.error, out.fresh.value,
                        out.fresh.error, out.bar)


def _restore(plan: Plan, attempts: int, decoder: Decoder, seed: int) -> Stack:
    """A stack that was pickled."""
    return Stack(plan, attempts, decoder=decoder, seed=seed)
