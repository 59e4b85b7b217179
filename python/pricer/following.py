"""Rounds one after another: how well the estimate follows the mean."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional

import numpy as np

from ._library import Progress, ValueFault, Watch, ffi, lib, view
from .forwarding import ForwardPlan
from .simulation import asked_of


class Walk(NamedTuple):
    """Round by round the mean squared error, its standard error, how many nodes'
    changes were cut and the mean error bar; and of the first walk the estimate after each round, and whether the round made one; clipped
    is how many vectors were longer than the radius."""

    error: np.ndarray
    error_stderr: np.ndarray
    cut: np.ndarray
    bar: np.ndarray
    estimate: np.ndarray
    made: np.ndarray
    clipped: int


def walk(plan: ForwardPlan, rounds: int, *, walks: int = 0,
         seed: Optional[int] = None, data: Any = "worst-case",
         threads: int = 0, progress: Progress = None) -> Walk:
    """Play rounds of a plan of forwarding one after another, `walks` (200)
    times over.

    Where the network's rounds are relative to the last estimate (`reference:
    last`, network.reach above 0) each is relative to the one before. data is
    "worst-case", "random", a row for every node, or a row for every node of
    every round, round by round. Every release is made, and every node has the
    last estimate.
    """
    if not isinstance(plan, ForwardPlan):
        raise ValueFault("walk() plays plans of 'scheme: forward'")
    watch = Watch(progress)
    out = ffi.new("struct pricer_walk **")
    asked, held = asked_of(plan, watch, walks, seed, data, threads)
    watch.call(lib.pricer_forward_walk, plan.network._c, plan._c, asked,
               rounds, out)
    del held
    made = ffi.gc(out[0], lib.pricer_walk_free)
    return Walk(*(view(made, getattr(made, name), rounds, "f8")
                  for name in ("error", "error_stderr", "cut", "bar")),
                view(made, made.estimate, (rounds, made.dimension), "f8"),
                view(made, made.made, rounds, "?"), made.clipped)
