"""Principal components of rows that are spread over the nodes of a network."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional

import numpy as np
from numpy.typing import ArrayLike

from ._library import (Progress, ValueFault, Watch, address, call, ffi, given,
                       lib, one_blas_thread, struct)
from .network import Network
from .planning import Plan
from .simulation import matrix


class Components(NamedTuple):
    """Eigenvectors, a row each, their eigenvalues, and after every iteration
    the error (mean squared sine of the angles to the exact space) and what the
    plan's error predicts for it, 1 where it predicts nothing."""

    vectors: np.ndarray
    values: np.ndarray
    error: np.ndarray
    predicted: Optional[np.ndarray]
    exact_vectors: np.ndarray
    exact_values: np.ndarray


def power_dimension(columns: int, components: int = 1) -> int:
    """The numbers of one message: the dimension of a network to plan with, for
    as many rounds as there are iterations."""
    asked = ffi.new("struct pricer_power_settings *",
                    {"components": components})
    return lib.pricer_power_dimension(asked, columns)


def power(rows: ArrayLike, network: Network, plan: Optional[Plan] = None, *,
          components: int = 1, iterations: int = 20, reach: float = 0.1,
          carry: float = 0.8, seed: Optional[int] = None,
          in_order: bool = False, threads: int = 0,
          progress: Progress = None) -> Components:
    """Power iteration over the links of a network; without a plan every message
    arrives, bare. The plan has to be for a network of power_dimension() and for
    `iterations` rounds. Keywords as in struct pricer_power_settings; with carry
    0 earlier rounds do not count."""
    table = given(rows, "f4", name="rows")
    if table.ndim != 2:
        raise ValueFault(f"rows has shape {table.shape}, not (rows, columns)")
    dimension = power_dimension(table.shape[1], components)
    if plan is not None and plan.network.dimension != dimension:
        raise ValueFault(f"the plan is for dimension {plan.network.dimension}, "
                         f"messages have {dimension} numbers")
    watch = Watch(progress)
    held, kept = matrix(table, "rows")
    asked = struct("power_settings", {
        "components": components, "iterations": iterations, "reach": reach,
        "carry": carry or -1, "seed": network.seed if seed is None else seed,
        "in_order": in_order, "threads": threads, "watch": watch.pointer})
    exact = np.zeros((components, table.shape[1])), np.zeros(table.shape[1])
    truth = _vectors(*exact)
    found = np.zeros_like(exact[0]), np.zeros(components)
    errors = np.zeros(iterations), np.zeros(iterations)
    result = ffi.new("struct pricer_power_result *", {
        "found": _vectors(*found)[0], "exact": truth,
        "error": address(errors[0], "double[]")})
    over = plan.network if plan is not None else network
    chosen = plan._c if plan is not None else ffi.NULL
    with one_blas_thread():
        call(lib.pricer_power_exact, held, network._c, asked, truth)
        watch.call(lib.pricer_power_run, held, over._c, chosen, asked, result)
        if plan is not None:
            result.error = address(errors[1], "double[]")
            call(lib.pricer_power_predict, held, over._c, chosen, asked, result)
    del kept
    return Components(*found, errors[0], errors[1] if plan is not None else None,
                      *exact)


def _vectors(vectors: np.ndarray, values: np.ndarray) -> Any:
    return ffi.new("struct pricer_power_vectors *", {
        "vectors": address(vectors, "double[]"),
        "values": address(values, "double[]")})
