"""Rounds one after another: how well the estimate follows the mean."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional, Union

import numpy as np

from ._library import Progress, Watch, ffi, find_word, lib, view
from .decoding import Decoder
from .planning import Plan
from .simulation import matrix


class Walk(NamedTuple):
    """Round by round the mean squared error, its standard error, how many nodes'
    changes were cut and the mean error bar (NaN: no decoder); and of the first
    walk the estimate after each round, and whether the round made one."""

    error: np.ndarray
    error_stderr: np.ndarray
    cut: np.ndarray
    bar: np.ndarray
    estimate: np.ndarray
    made: np.ndarray


def walk(plan: Plan, rounds: int, *, walks: int = 0,
         seed: Optional[int] = None, data: Any = "worst-case",
         decoder: Union[None, str, Decoder] = None, threads: int = 0,
         progress: Progress = None) -> Walk:
    """Play rounds one after another, `walks` (200) times over.

    Where the network's rounds are relative to the last estimate (`reference:
    last`, network.reach above 0) each is relative to the one before. data is
    "worst-case", "random", a row for every node, or a row for every node of
    every round, round by round. decoder is as for simulate().
    """
    watch = Watch(progress)
    asked = ffi.new("struct pricer_simulation_settings *", {
        "trials": walks, "seed": plan.network.seed if seed is None else seed,
        "threads": threads, "watch": watch.pointer,
        "decode": find_word("decode", "constant")})
    kept: list[Any] = []
    if isinstance(data, str):
        asked.data = find_word("data", data)
    else:
        asked.data = lib.PRICER_DATA_GIVEN
        given, held = matrix(data)
        asked.given = given
        kept += [given, held]
    if decoder is not None and decoder != "constant":
        name = decoder if isinstance(decoder, str) else "minimax"
        fitted = Decoder.fit(plan) if isinstance(decoder, str) else decoder
        asked.decode = find_word("decode", name)
        asked.decoder = fitted._c
        kept.append(fitted)
    out = ffi.new("struct pricer_walk **")
    watch.call(lib.pricer_walk_play, plan.network._c, plan._c, asked, rounds,
               out)
    made = ffi.gc(out[0], lib.pricer_walk_free)
    return Walk(*(view(made, getattr(made, name), rounds, "f8")
                  for name in ("error", "error_stderr", "cut", "bar")),
                view(made, made.estimate, (rounds, made.dimension), "f8"),
                view(made, made.made, rounds, "?"))
