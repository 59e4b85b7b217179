"""Figures, where Matplotlib is there: each function returns its axes."""
from __future__ import annotations

from typing import Any, Iterable, Optional

import numpy as np

from .planning import Plan
from .privacy import Accountant
from .simulation import Simulation


def _axes(axes: Any) -> Any:
    if axes is not None:
        return axes
    from matplotlib import pyplot

    return pyplot.subplots()[1]


def network(plan: Plan, axes: Optional[Any] = None) -> Any:
    """The network, its links as wide as the expected weight that they carry and
    its nodes as dark as they reach the server. Nodes without positions stand on
    a circle."""
    axes = _axes(axes)
    net = plan.network
    turn = 2 * np.pi * np.arange(net.nodes) / net.nodes
    x, y = (net.x, net.y) if net.x.size else (np.cos(turn), np.sin(turn))
    carried = plan.weight * net.p * net.uplink[net.to]
    most = carried.max(initial=1e-300)
    for link in np.flatnonzero(carried > 0.001 * most):
        ends = [net.from_[link], net.to[link]]
        axes.plot(x[ends], y[ends], color="0.6", zorder=1,
                  linewidth=3 * carried[link] / most)
    axes.scatter(x, y, c=net.uplink, cmap="viridis_r", vmin=0, vmax=1, zorder=2)
    axes.set_aspect("equal")
    axes.set_axis_off()
    return axes


def errors(simulation: Simulation, names: Iterable[str] = ("plan",),
           axes: Optional[Any] = None) -> Any:
    """How the squared errors of the trials are distributed."""
    axes = _axes(axes)
    for outcome, name in zip(simulation.outcomes, names):
        axes.stairs(outcome.trials / simulation.trials, outcome.edges,
                    label=f"{name}: mean {outcome.mse:.4g}")
    axes.set(xscale="log", xlabel="squared error", ylabel="part of the trials")
    axes.legend()
    return axes


def composition(plan: Plan, rounds: Iterable[int], delta: float,
                observers: Iterable[str] = ("link", "relay", "server"),
                axes: Optional[Any] = None) -> Any:
    """The eps of the worst node against rounds, for several observers."""
    axes = _axes(axes)
    counts = list(rounds)
    for observer in observers:
        eps = [Accountant(plan, observer, rounds=count).get_epsilon(delta)
               for count in counts]
        axes.plot(counts, eps, marker=".", label=observer)
    axes.set(xscale="log", yscale="log", xlabel="rounds",
             ylabel=f"eps at delta = {delta:g}")
    axes.legend()
    return axes
