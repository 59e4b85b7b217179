"""Plans of forwarding: one private release a node and round, over several hops."""
from __future__ import annotations

from typing import Any, Iterator, Mapping, NamedTuple, Optional

import numpy as np

from ._library import (Progress, ValueFault, Watch, address, call, ffi,
                       find_word, layout, lib, numbers, struct, view, word)
from .network import Network, Settings
from .releasing import Release

FORWARD_NODE = layout("struct pricer_forward_node")
_PLAN_NAMES = {"missing": "mse_missing", "noise": "mse_noise"}


class ForwardCheck(NamedTuple):
    """What a check of a plan by other code finds; `words` has the first thing that
    is wrong where it is not good. `violations` nodes do not keep their budgets;
    `used` is the largest share of one. mse_one_sided is the error of data in one
    direction, counted again; NaN: not counted."""

    good: bool
    violations: int
    used: float
    mse_one_sided: float
    mse_stderr: float
    gap: float
    patterns: int
    words: str


class ForwardPlan:
    """Which release every node makes, and how the server counts what arrives.

    By node, as arrays that cannot be written to: threshold, loss (e0), noise,
    variance, coefficient, arrival (the probability of that), relays (that it
    needs at least; -1: never heard), and release, the kind. No data within the
    radii have a mean squared error above mse_worst_case, whose standard error is
    mse_stderr, 0 where all patterns of links were enumerated (patterns = 0). It is
    mse_missing + mse_noise. mse_alone is without relays, mse_perfect with links
    that never fail, zero_mse that of always answering zero. `heard` nodes can be
    heard within `hops` relays, and a node sends `bytes` in a round of `repeat`
    attempts, in which its release stays the same.
    """

    def __init__(self, pointer: Any, network: Network,
                 settings: Settings) -> None:
        self._c = ffi.gc(pointer, lib.pricer_forward_plan_free)
        self.network = network
        self.settings = settings
        self.number: Optional[int] = None  # in the study that it is stored in
        for name, value in numbers(self._c).items():
            setattr(self, _PLAN_NAMES.get(name, name), value)
        self.table = view(self._c, self._c.node, self._c.nodes, FORWARD_NODE)

    nodes: int
    hops: int
    repeat: int
    heard: int
    mse_worst_case: float
    mse_stderr: float
    mse_missing: float
    mse_noise: float
    mse_alone: float
    mse_perfect: float
    zero_mse: float
    gap: float
    bytes: float
    patterns: int
    measured: int

    def __getattr__(self, name: str) -> np.ndarray:
        if name in FORWARD_NODE.names:
            return self.table[name]
        raise AttributeError(name)

    @property
    def release(self) -> np.ndarray:
        """The kind of each node's release, "sphere" or "gaussian"."""
        words = [word("release", kind) for kind in range(3)]
        return np.array(words)[self.table["release"]]

    def release_of(self, node: int) -> Release:
        """The release of a node, for its radius and the plan's rounds."""
        if not 0 <= node < self.nodes:
            raise ValueFault(f"node = {node} is no node: the nodes are 0 to "
                             f"{self.nodes - 1}")
        return self._release(node, self.network.node_radius[node])

    def _release(self, node: int, radius: float) -> Release:
        row = self.table[node]
        return Release.of(word("release", row["release"]),
                          self.network.dimension, threshold=row["threshold"],
                          e0=row["loss"], noise=row["noise"], radius=radius,
                          rounds=self.settings.rounds,
                          diameter=self.network.node_diameter[node])

    def _laws(self) -> Iterator[Release]:
        """The different laws of the nodes, as far as privacy goes."""
        ratio = self.table["noise"] / self.network.node_radius
        keys = np.stack([self.table["release"], self.table["threshold"],
                         self.table["loss"], ratio,
                         self.network.node_diameter / self.network.node_radius])
        for node in np.unique(keys, axis=1, return_index=True)[1]:
            yield self.release_of(int(node))

    def verify(self, releases_only: bool = False) -> ForwardCheck:
        """Check budgets and errors with other code than the planner's. With
        releases_only the error is not counted, nor is it for coefficients of
        measured arrivals."""
        releases_only = releases_only or self.measured > 0
        out = ffi.new("struct pricer_forward_check *")
        call(lib.pricer_forward_plan_verify, self.network._c,
             self.settings.rounds, self._c, releases_only, out)
        return ForwardCheck(**numbers(out), words=ffi.string(out.words).decode())

    @classmethod
    def _fill(cls, network: Network, settings: Settings,
              fields: Mapping[str, Any], table: np.ndarray) -> "ForwardPlan":
        """A plan that was pickled."""
        held = np.ascontiguousarray(table)
        made = struct("forward_plan", fields)
        made.node = address(held, "struct pricer_forward_node[]")
        plan = cls.__new__(cls)
        plan._c, plan._held = made, held
        plan.network, plan.settings, plan.number = network, settings, None
        for name, value in fields.items():
            setattr(plan, _PLAN_NAMES.get(name, name), value)
        held.flags.writeable = False
        plan.table = held
        return plan

    def __reduce__(self) -> Any:
        table = np.zeros(self.nodes, FORWARD_NODE)  # nothing between the fields
        for name in FORWARD_NODE.names:
            table[name] = self.table[name]
        return (ForwardPlan._fill, (self.network, self.settings,
                                    numbers(self._c), table),
                {"number": self.number})

    def __repr__(self) -> str:
        return (f"<pricer.ForwardPlan for {self.nodes} nodes, {self.hops} "
                f"hop(s), {self.settings.rounds} round(s), worst case "
                f"{self.mse_worst_case:.6g}>")


_SUM_SETTINGS = ("bias", "lambda_", "calibration", "tolerance",
                 "iterations")
FORWARD_SETTINGS = ("hops", "release", "repeat")


def is_forward(network: Network) -> bool:
    """Whether the network has budgets towards everyone."""
    return network.everyone_eps.size > 0


def refuse_settings(network: Network, names: Any) -> None:
    """Refuse keywords that plans of the network's scheme do not have."""
    forward = is_forward(network)
    for name in names:
        if name in (_SUM_SETTINGS + ("warm",) if forward else FORWARD_SETTINGS):
            schemes = ("sum", "forward") if forward else ("forward", "sum")
            raise ValueFault(f"{name} belongs to 'scheme: {schemes[0]}', and the "
                             f"network has 'scheme: {schemes[1]}'")


def plan_forward(network: Network, asked: Settings,
                 progress: Progress = None) -> ForwardPlan:
    """The releases for the budgets, and the coefficients of least error."""
    watch = Watch(progress)
    out = ffi.new("struct pricer_forward_plan **")
    watch.call(lib.pricer_forward_plan_make, network._c,
               asked._forward(network.seed, watch), out)
    return ForwardPlan(out[0], network, asked)
