"""Decoding: the best linear estimate from the sums that arrived, with a bar."""
from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional, Union

import numpy as np
from numpy.typing import ArrayLike

from ._library import (Fault, MemoryFault, Progress, StoppedFault, ValueFault,
                       Watch, address, call, ffi, lib, numbers, shaped, struct,
                       view)
from .network import Network
from .planning import Plan


class Decoder:
    """How a server weighs the sums that arrive; fit() makes the best one.

    Against all data within the radius its mean squared error is at most
    `upper`, and no linear decoder of the plan has less than `lower`, each up to
    its standard error.
    """

    def __init__(self, pointer: Any, plan: Plan) -> None:
        self._c = ffi.gc(pointer, lib.pricer_decoder_free)
        self.plan = plan
        plan._decodes = True

    @classmethod
    def fit(cls, plan: Plan, *, rank: int = 0, patterns: int = 0,
            unbiased: Optional[bool] = None, spread: float = 0.0,
            blind: bool = False, seed: Optional[int] = None, threads: int = 0,
            progress: Progress = None) -> "Decoder":
        """Fit the decoder of a plan; keywords as in struct
        pricer_decoder_settings. That of an unbiased plan is unbiased unless it is
        asked for otherwise: such results are there to be averaged."""
        if unbiased is None:
            unbiased = plan.settings.bias == "unbiased"
        watch = Watch(progress)
        asked = struct("decoder_settings", {
            "rank": rank, "patterns": patterns, "unbiased": unbiased,
            "spread": spread, "blind": blind,
            "seed": plan.network.seed if seed is None else seed,
            "threads": threads, "watch": watch.pointer})
        out = ffi.new("struct pricer_decoder **")
        watch.call(lib.pricer_decoder_fit, plan.network._c, plan._c, asked, out)
        return cls(out[0], plan)

    @classmethod
    def from_arrays(cls, plan: Plan, own: ArrayLike, shared: ArrayLike,
                    target: ArrayLike, cap: ArrayLike,
                    blend: float = 1.0, unbiased: bool = False) -> "Decoder":
        """A decoder that comes from elsewhere."""
        nodes, width = plan.network.nodes, np.shape(shared)[-1:]
        arrays = {
            "own": shaped(own, "f8", (nodes,), "own"),
            "shared": shaped(shared, "f8", (nodes, *width), "shared"),
            "target": shaped(target, "f8", (nodes,), "target"),
            "cap": shaped(cap, "f8", (nodes,), "cap")}
        return cls._fill(plan, arrays, {"blend": blend, "unbiased": unbiased})

    @classmethod
    def _fill(cls, plan: Plan, arrays: Mapping[str, np.ndarray],
              rest: Mapping[str, Any]) -> "Decoder":
        """A decoder with these arrays, which have the right shapes, and these
        other numbers."""
        out = ffi.new("struct pricer_decoder **")
        call(lib.pricer_decoder_new, plan.network.nodes,
             arrays["shared"].shape[1], out)
        made = cls(out[0], plan)
        for name, value in rest.items():
            setattr(made._c, name, value)
        for name, array in arrays.items():
            if array.size:
                ffi.memmove(getattr(made._c, name), np.ascontiguousarray(array),
                            array.nbytes)
        return made

    def __reduce__(self) -> Any:
        rest = numbers(self._c)
        arrays = {name: getattr(self, name)
                  for name in ("own", "shared", "target", "cap")}
        return Decoder._fill, (self.plan, arrays, rest)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in ("nodes", "rank", "blind", "unbiased", "blend", "constant",
                    "lower", "reached", "upper", "lower_stderr",
                    "upper_stderr", "patterns", "exact"):
            return getattr(self._c, name)
        if name in ("own", "target", "cap"):
            return view(self._c, getattr(self._c, name), self._c.nodes, "f8")
        if name == "shared":
            return view(self._c, self._c.shared,
                        (self._c.nodes, self._c.rank), "f8")
        raise AttributeError(name)

    def __repr__(self) -> str:
        return (f"<pricer.Decoder: worst case {self._c.upper:.6g}, constant "
                f"{self._c.constant:.6g}>")


def usual_decoder(plan: Plan) -> Optional[Decoder]:
    """The decoder that a plan has if nothing is said about it, as the command
    line decides; None where every sum counts alike."""
    if plan.network.nodes > lib.PRICER_DECODER_NODES:
        return None
    try:
        return Decoder.fit(plan)
    except (MemoryFault, StoppedFault):
        raise
    except Fault:  # this plan has none
        return None


def choose_decoder(plan: Plan,
                   asked: Union[None, str, Decoder]) -> Optional[Decoder]:
    """From what a caller says, None for the plan's own, to a decoder, or None
    where every sum counts alike."""
    if asked is None:
        return plan.decoder
    if not isinstance(asked, str):
        return asked
    return None if asked == "constant" else plan.decoder or Decoder.fit(plan)


def genie(network: Network, *, seed: Optional[int] = None, threads: int = 0,
          progress: Progress = None, **settings: Any) -> tuple[float, float]:
    """No plan within the budgets with any linear decoder has a smaller worst
    case than this; the number and its standard error."""
    watch = Watch(progress)
    asked = ffi.new("struct pricer_decoder_settings *", {
        "seed": network.seed if seed is None else seed, "threads": threads,
        "watch": watch.pointer})
    planned = network.settings.replace(**settings)._struct()
    out = ffi.new("struct pricer_estimate *")
    watch.call(lib.pricer_decoder_genie, network._c, planned, asked, out)
    return out.value, out.error


class Decoded(NamedTuple):
    """What a round's pattern is worth: coefficient[j] of relay j's sum, the
    error bar (expected squared error for the data that the decoder prepares
    for), and the estimate where sums were given. is_estimate is False where
    nothing arrived."""

    coefficient: np.ndarray
    bar: float
    slack: float
    sums: int
    is_estimate: bool
    estimate: Optional[np.ndarray]


class Receiver:
    """Plan and decoder made ready for round after round; one for each thread."""

    def __init__(self, plan: Plan, decoder: Decoder) -> None:
        out = ffi.new("struct pricer_receiver **")
        call(lib.pricer_receiver_new, plan.network._c, plan._c, decoder._c, out)
        self._c = ffi.gc(out[0], lib.pricer_receiver_free)
        self.plan = plan
        self.decoder = decoder
        self._withheld: Optional[np.ndarray] = None

    def __reduce__(self) -> Any:
        return _restore_receiver, (self.plan, self.decoder, self._withheld)

    def __repr__(self) -> str:
        return f"<pricer.Receiver of {self.plan!r} with {self.decoder!r}>"

    def withhold(self, withheld: Optional[ArrayLike]) -> None:
        """Whose own part is known not to be in their sum from now on, by node;
        None: nobody's."""
        if withheld is None:
            lib.pricer_receiver_withhold(self._c, ffi.NULL)
            self._withheld = None
            return
        array = shaped(withheld, bool, (self.plan.network.nodes,), "withheld")
        lib.pricer_receiver_withhold(self._c, ffi.from_buffer("bool[]", array))
        self._withheld = array.copy()

    def decode(self, uplink: ArrayLike, link: ArrayLike,
               sums: Optional[ArrayLike] = None,
               adaptive: bool = False) -> Decoded:
        """uplink[j]: the sum of relay j arrived; link[l]: it holds the share of
        link l; sums: a row for every relay, in the data's units, which the
        adaptive decoder learns from and the estimate is made of."""
        net = self.plan.network
        up = shaped(uplink, bool, (net.nodes,), "uplink")
        through = shaped(link, bool, (net.links,), "link")
        coefficient = np.zeros(net.nodes)
        out = ffi.new("struct pricer_decoded *")
        rows = None
        if sums is not None:
            rows = shaped(sums, "f8", (net.nodes, net.dimension), "sums")
        if adaptive and rows is None:
            raise ValueFault("the adaptive decoder learns from the sums")
        where = (self._c, ffi.from_buffer("bool[]", up),
                 ffi.from_buffer("bool[]", through))
        if adaptive:
            lib.pricer_receiver_adapt(*where, address(rows, "double[]"),
                                      address(coefficient, "double[]"), out)
        else:
            lib.pricer_receiver_decode(*where,
                                       address(coefficient, "double[]"), out)
        estimate = None if rows is None else coefficient[up] @ rows[up]
        return Decoded(coefficient, out.bar, out.slack, out.sums,
                       bool(out.is_estimate), estimate)


def _restore_receiver(plan: Plan, decoder: Decoder,
                      withheld: Optional[np.ndarray]) -> Receiver:
    """A receiver that was pickled."""
    made = Receiver(plan, decoder)
    made.withhold(withheld)
    return made


def decode(plan: Plan, uplink: ArrayLike, link: ArrayLike,
           sums: Optional[ArrayLike] = None, *,
           decoder: Optional[Decoder] = None,
           adaptive: bool = False) -> Decoded:
    """The best estimate from the sums that arrived in one round; see
    Receiver.decode(). Without a decoder the plan's own is taken, or one is
    fitted, which takes a while: for many rounds keep a Receiver."""
    return Receiver(plan, decoder or plan.decoder or Decoder.fit(plan)).decode(
        uplink, link, sums, adaptive)
