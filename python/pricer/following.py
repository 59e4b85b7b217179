"""Rounds one after another: how well the estimate follows the mean."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional, Union

import numpy as np

from ._library import Progress, ValueFault, Watch, ffi, lib, view
from .decoding import Decoder
from .forwarding import ForwardPlan
from .planning import Plan
from .simulation import Asked, asked_of


class Walk(NamedTuple):
    """Round by round the mean squared error, its standard error, how many nodes'
    changes were cut and the mean error bar (NaN: sums without decoder); and of the first
    walk the estimate after each round, and whether the round made one; clipped
    is how many vectors were longer than the radius."""

    error: np.ndarray
    error_stderr: np.ndarray
    cut: np.ndarray
    bar: np.ndarray
    estimate: np.ndarray
    made: np.ndarray
    clipped: int


def walk(plan: Union[Plan, ForwardPlan], rounds: int, *, walks: int = 0,
         seed: Optional[int] = None, data: Any = "worst-case",
         decoder: Union[None, str, Decoder] = None, threads: int = 0,
         progress: Progress = None) -> Walk:
    """Play rounds one after another, `walks` (200) times over.

    Where the network's rounds are relative to the last estimate (`reference:
    last`, network.reach above 0) each is relative to the one before. data is
    "worst-case", "random", a row for every node, or a row for every node of
    every round, round by round. decoder is as for simulate(). Of a plan of
    forwarding every release is made, and every node has the last estimate.
    """
    watch = Watch(progress)
    out = ffi.new("struct pricer_walk **")
    if isinstance(plan, ForwardPlan):
        if decoder is not None:
            raise ValueFault("a plan of forwarding has no decoder")
        asked, held = asked_of(plan, watch, walks, seed, data, threads)
        watch.call(lib.pricer_forward_walk, plan.network._c, plan._c, asked,
                   rounds, out)
        del held
    else:
        sums = Asked(plan, watch, walks, seed, data, decoder, threads)
        watch.call(lib.pricer_walk_play, plan.network._c, plan._c, sums._c,
                   rounds, out)
    made = ffi.gc(out[0], lib.pricer_walk_free)
    return Walk(*(view(made, getattr(made, name), rounds, "f8")
                  for name in ("error", "error_stderr", "cut", "bar")),
                view(made, made.estimate, (rounds, made.dimension), "f8"),
                view(made, made.made, rounds, "?"), made.clipped)
