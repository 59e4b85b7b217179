"""Simulation: what becomes of plans in rounds by the million."""
from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

import numpy as np
from numpy.typing import ArrayLike

from ._library import (Progress, ValueFault, Watch, call, ffi, find_word, given,
                       lib, refuse, struct, view, word)
from .decoding import Decoder, choose_decoder
from .forwarding import ForwardPlan
from .planning import Plan


class Outcome(NamedTuple):
    """What became of one plan, as struct pricer_outcome says. `trials` of the
    squared errors lie between edges[k] and edges[k + 1]."""

    mse: float
    mse_stderr: float
    predicted: float
    worst_case: float
    bar: float
    bias: float
    bias_predicted: float
    difference: float
    difference_stderr: float
    trials: np.ndarray
    edges: np.ndarray


class Simulation:
    """The outcomes, the plan's own first, and how often links were up: uplink,
    link, and both (a link together with its partner) count trials."""

    def __init__(self, pointer: Any) -> None:
        made = ffi.gc(pointer, lib.pricer_simulation_free)
        self.trials: int = made.trials
        self.seed: int = made.seed
        self.clipped: int = made.clipped
        self.engine = word("engine", made.engine)
        self.data = word("data", made.data)
        self.decoder = word("decode", made.decode)
        self.uplink = view(made, made.uplink, made.nodes, "i8")
        self.link = view(made, made.link, made.links, "i8")
        self.both = view(made, made.both, made.links, "i8")
        self.outcomes = [self._outcome(made, k) for k in range(made.plans)]

    @staticmethod
    def _outcome(made: Any, k: int) -> Outcome:
        found = made.outcomes + k
        edges = [lib.pricer_outcome_edge(found, bin)
                 for bin in range(lib.PRICER_BINS + 1)]
        trials = view(made, found.bins, lib.PRICER_BINS, "i8")
        return Outcome(found.mse, found.mse_stderr, found.predicted,
                       found.worst_case, found.bar, found.bias,
                       found.bias_predicted, found.difference,
                       found.difference_stderr, trials, np.array(edges))

    @property
    def mse(self) -> float:
        """Mean squared error of the plan."""
        return self.outcomes[0].mse

    @property
    def mse_stderr(self) -> float:
        """Its standard error."""
        return self.outcomes[0].mse_stderr

    def __repr__(self) -> str:
        return (f"<pricer.Simulation of {self.trials} trials: mse "
                f"{self.mse:.6g} +- {self.mse_stderr:.2g}>")


def matrix(values: ArrayLike, name: str = "data") -> tuple[Any, list[Any]]:
    """Rows of float32 or float64 as struct pricer_matrix, without a copy, and
    what has to live as long. Errors call the rows by `name`, the argument."""
    single = getattr(values, "dtype", None) == np.float32
    array = np.atleast_2d(given(values, "f4" if single else "f8", name=name))
    if array.ndim != 2:
        raise ValueFault(f"{name} has shape {array.shape} where rows are needed")
    refuse(name, array, ~np.isfinite(array), "is not a finite number")
    held = ffi.from_buffer(array)
    made = ffi.new("struct pricer_matrix *", {
        "rows": array.shape[0], "columns": array.shape[1],
        "element": lib.PRICER_FLOAT32 if single else lib.PRICER_FLOAT64,
        "values": held})
    return made, [array, held]


def read_vectors(path: Union[str, Path]) -> np.ndarray:
    """Read vectors, a row each: .npy, IDX or CIFAR-10, perhaps gzipped."""
    out = ffi.new("struct pricer_matrix **")
    call(lib.pricer_matrix_read, str(path).encode(), out)
    made = ffi.gc(out[0], lib.pricer_matrix_free)
    kind = "f4" if made.element == lib.PRICER_FLOAT32 else "f8"
    return view(made, made.values, (made.rows, made.columns), kind)


def write_npy(values: ArrayLike, path: Union[str, Path]) -> None:
    """Write .npy as pricer does: complete or not at all."""
    made, held = matrix(values, "values")
    call(lib.pricer_matrix_write_npy, made, str(path).encode())
    del held


def asked_of(plan: Union[Plan, ForwardPlan], watch: Watch, trials: int,
             seed: Optional[int], data: Any, threads: int) -> tuple[Any, Any]:
    """struct pricer_simulation_settings for any plan, and what has to live as
    long."""
    asked = struct("simulation_settings", {
        "trials": trials, "seed": plan.network.seed if seed is None else seed,
        "threads": threads, "watch": watch.pointer})
    if isinstance(data, str):
        asked.data = find_word("data", data)
        return asked, None
    asked.data = lib.PRICER_DATA_GIVEN
    rows, held = matrix(data)
    asked.given = rows
    return asked, [rows, held]


class Asked:
    """How rounds are to be played, as struct pricer_simulation_settings, and what
    has to live as long."""

    def __init__(self, plan: Plan, watch: Watch, trials: int,
                 seed: Optional[int], data: Any,
                 decoder: Union[None, str, Decoder], threads: int) -> None:
        chosen = choose_decoder(plan, decoder)
        how = decoder if isinstance(decoder, str) else (
            "constant" if chosen is None else "minimax")
        self._c, held = asked_of(plan, watch, trials, seed, data, threads)
        self._kept: list[Any] = [watch, chosen, held]
        self._c.decode = find_word("decode", how, "decoder")
        self._c.decoder = ffi.NULL if chosen is None else chosen._c


def _simulate_forward(plan: ForwardPlan, trials: int, seed: Optional[int],
                      data: Any, engine: str, threads: int,
                      progress: Progress) -> Simulation:
    watch = Watch(progress)
    asked, held = asked_of(plan, watch, trials, seed, data, threads)
    asked.engine = find_word("engine", engine)
    out = ffi.new("struct pricer_simulation **")
    watch.call(lib.pricer_forward_simulate, plan.network._c, plan._c, asked, out)
    del held
    return Simulation(out[0])


def simulate(plan: Union[Plan, ForwardPlan], *others: Plan, trials: int = 0,
             seed: Optional[int] = None, data: Any = "worst-case",
             engine: str = "fast", decoder: Union[None, str, Decoder] = None,
             threads: int = 0, progress: Progress = None) -> Simulation:
    """Play plans of one network against the same trials.

    data is "worst-case", "random" or a row for every node. engine is "fast" (the
    noise is integrated out) or "faithful" (every message). decoder is for the
    first plan's sums: None (the plan's own, plan.decoder), "constant" (every sum
    counts alike), "minimax", "adaptive", or a Decoder that was fitted. A plan of
    forwarding is played alone and has no decoder. The result is the same to the bit
    for any number of threads.
    """
    if isinstance(plan, ForwardPlan):
        if others or decoder is not None:
            raise ValueFault("a plan of forwarding is played alone, and without "
                             "a decoder")
        return _simulate_forward(plan, trials, seed, data, engine, threads,
                                 progress)
    watch = Watch(progress)
    asked = Asked(plan, watch, trials, seed, data, decoder, threads)
    asked._c.engine = find_word("engine", engine)
    plans = ffi.new("struct pricer_plan *[]", [plan._c]
                    + [other._c for other in others])
    out = ffi.new("struct pricer_simulation **")
    watch.call(lib.pricer_simulation_run, plan.network._c, plans,
               1 + len(others), asked._c, out)
    return Simulation(out[0])
