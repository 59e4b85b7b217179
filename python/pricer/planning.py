"""Calibration and plans: how much noise a budget asks for, and the best weights."""
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Optional, Union

import numpy as np
from numpy.typing import ArrayLike

from ._library import (Progress, ValueFault, Watch, address, call, ffi,
                       find_word, given, lib, numbers, refuse, struct, view)
from .forwarding import (ForwardPlan, is_forward, plan_forward,
                         refuse_settings)
from .network import Network, Settings

if TYPE_CHECKING:
    from .decoding import Decoder

BASELINES = ("naive", "unbiased", "best", "colrel")


class Calibration(NamedTuple):
    """mu, the most that one packet may say: sensitivity over noise. Whether the
    budget truly holds with it is `guaranteed`."""

    mu: float
    guaranteed: bool


def calibrate(eps: float, delta: float, rounds: int = 1, p: float = 1.0,
              calibration: str = "analytic") -> Calibration:
    """How much a packet may say within (eps, delta) over so many rounds.

    The standard deviation that a message of sensitivity s needs is s / mu. p is
    the probability that the receiver gets a packet; 1, as in plans, counts every
    packet as heard.
    """
    budget = struct("budget", {
        "calibration": find_word("calibration", calibration), "eps": eps,
        "delta": delta, "rounds": rounds, "p": p})
    mu, sure = ffi.new("double *"), ffi.new("bool *")
    call(lib.pricer_calibrate, budget, mu, sure)
    return Calibration(mu[0], bool(sure[0]))


def delta_gaussian(eps: ArrayLike, mu: ArrayLike) -> Any:
    """The least delta for which a Gaussian mechanism with sensitivity mu times
    its deviation is (eps, delta)-private; element by element."""
    eps, mu = (given(values, "f8", name=name) if np.ndim(values) else values
               for name, values in (("eps", eps), ("mu", mu)))
    found = np.vectorize(lib.pricer_gaussian_delta, otypes=["f8"])(eps, mu)
    return float(found) if found.ndim == 0 else found


class Error(NamedTuple):
    """The error that a plan leads to; as struct pricer_error says."""

    variance: float
    piv: float
    tiv: float
    mse_paper: float
    mse_worst_case: float
    bias_l1: float
    objective: float


class SolveInfo(NamedTuple):
    """What the planner's answer is worth: no plan has less than `bound`.
    outcome is "optimal", "limit" or "stopped"."""

    outcome: str
    objective: float
    bound: float
    gap: float
    iterations: int
    inner_steps: int
    seconds: float


class Certificate(NamedTuple):
    """What a check of a plan from nothing but itself finds."""

    feasible: bool
    open_links: int
    open_budgets: int
    objective: float
    bound: float
    gap: float
    largest_bias: float
    words: str


class Plan:
    """What every node multiplies its data with and the noise it adds.

    weight[l] and noise[l] belong to link l of `network`, self_weight[i] and
    self_noise[i] to node i's own part. All are views that cannot be written to.
    """

    def __init__(self, pointer: Any, network: Network, settings: Settings,
                 info: Optional[SolveInfo] = None) -> None:
        self._c = ffi.gc(pointer, lib.pricer_plan_free)
        self.network = network
        self.settings = settings
        self.info = info
        self.number: Optional[int] = None  # in the study that it is stored in
        self._decoder: Any = False  # not fitted yet
        self._decodes = False  # some decoder was made for this plan

    @classmethod
    def from_arrays(cls, network: Network, weight: ArrayLike, noise: ArrayLike,
                    self_weight: ArrayLike, self_noise: ArrayLike,
                    **settings: Any) -> "Plan":
        """A plan that comes from elsewhere."""
        arrays = {}
        for name, values, count in (
                ("weight", weight, network.links),
                ("noise", noise, network.links),
                ("self_weight", self_weight, network.nodes),
                ("self_noise", self_noise, network.nodes)):
            arrays[name] = array = given(values, "f8", count, name)
            refuse(name, array, ~(np.isfinite(array) & (array >= 0)),
                   "is not a weight" if "weight" in name
                   else "is not a standard deviation")
        return cls._fill(network, network.settings.replace(**settings), None,
                         arrays, 0.0)

    @classmethod
    def _fill(cls, network: Network, settings: Settings,
              info: Optional[SolveInfo], arrays: Mapping[str, np.ndarray],
              sum_multiplier: float) -> "Plan":
        """A plan with these arrays, which are as long as they have to be."""
        out = ffi.new("struct pricer_plan **")
        call(lib.pricer_plan_new, network._c, out)
        made = cls(out[0], network, settings, info)
        for name, array in arrays.items():
            ffi.memmove(getattr(made._c, name), np.ascontiguousarray(array),
                        array.nbytes)
        made._c.sum_multiplier = sum_multiplier
        return made

    def __reduce__(self) -> Any:
        arrays = {name: self._array(name, self._c.links)
                  for name in ("weight", "noise")}
        for name in ("self_weight", "self_noise", "row_multiplier",
                     "relay_multiplier"):
            arrays[name] = self._array(name, self._c.nodes)
        state = {name: getattr(self, name)
                 for name in ("number", "_decoder", "_decodes")}
        return Plan._fill, (self.network, self.settings, self.info, arrays,
                            self._c.sum_multiplier), state

    @classmethod
    def read(cls, path: Union[str, Path], network: Network,
             progress: Progress = None, **settings: Any) -> "Plan":
        """Read a CSV file with the columns from,to,alpha,sigma."""
        watch = Watch(progress)
        out = ffi.new("struct pricer_plan **")
        watch.call(lib.pricer_plan_read, str(path).encode(), network._c,
                   watch.pointer, out)
        return cls(out[0], network, network.settings.replace(**settings))

    def _array(self, name: str, count: int) -> np.ndarray:
        return view(self._c, getattr(self._c, name), count, "f8")

    @property
    def weight(self) -> np.ndarray:
        """Weights, by link."""
        return self._array("weight", self._c.links)

    @property
    def noise(self) -> np.ndarray:
        """Standard deviations of the noise per coordinate, by link."""
        return self._array("noise", self._c.links)

    @property
    def self_weight(self) -> np.ndarray:
        """Weights of the own parts, by node."""
        return self._array("self_weight", self._c.nodes)

    @property
    def self_noise(self) -> np.ndarray:
        """Standard deviations of the own parts' noise, by node."""
        return self._array("self_noise", self._c.nodes)

    @property
    def decoder(self) -> Optional["Decoder"]:
        """How the server weighs the sums that arrive unless something else is
        asked for: the minimax decoder that `pricer plan` fits, here when it is
        first needed. None, every sum counts alike, for networks of more than
        300 nodes and plans that no decoder can be fitted to. May be set to another, or None."""
        if self._decoder is False:
            from .decoding import usual_decoder

            self._decoder = usual_decoder(self)
        return self._decoder

    @decoder.setter
    def decoder(self, decoder: Optional["Decoder"]) -> None:
        self._decoder = decoder

    @property
    def expected_weight(self) -> np.ndarray:
        """What of each node's vector arrives in the mean; 1 is unbiased."""
        net = self.network
        total = self.self_weight * net.uplink
        np.add.at(total, net.from_, self.weight * net.p * net.uplink[net.to])
        return total

    @property
    def error(self) -> Error:
        """The error of the estimate, by formula."""
        out = ffi.new("struct pricer_error *")
        call(lib.pricer_plan_evaluate, self.network._c,
             self.settings._struct(), self._c, out)
        return Error(**numbers(out))

    def verify(self) -> Certificate:
        """Check feasibility, budgets and optimality with other code than the
        planner's."""
        out = ffi.new("struct pricer_certificate *")
        call(lib.pricer_plan_verify, self.network._c, self.settings._struct(),
             self._c, out)
        return Certificate(**numbers(out), words=ffi.string(out.words).decode())

    def trust_price(self) -> tuple[np.ndarray, np.ndarray]:
        """d objective / d ln eps of every link, and of every own part."""
        price = np.zeros(self.network.links)
        own = np.zeros(self.network.nodes)
        call(lib.pricer_trust_price, self.network._c, self.settings._struct(),
             self._c, address(price, "double[]"), address(own, "double[]"))
        return price, own

    def server_price(self) -> np.ndarray:
        """d objective / d ln eps of every budget towards the server."""
        price = np.zeros(self.network.nodes)
        call(lib.pricer_trust_server_price, self.network._c,
             self.settings._struct(), self._c, address(price, "double[]"))
        return price

    def link_price(self) -> tuple[np.ndarray, np.ndarray]:
        """d objective / d p of every link, and of every uplink."""
        price = np.zeros(self.network.links)
        uplink = np.zeros(self.network.nodes)
        call(lib.pricer_link_price, self.network._c, self._c,
             address(price, "double[]"), address(uplink, "double[]"))
        return price, uplink

    def __repr__(self) -> str:
        return (f"<pricer.Plan for {self.network.nodes} nodes, "
                f"{self.settings.rounds} round(s), "
                f"worst case {self.error.mse_worst_case:.6g}>")


def plan(network: Network, *, warm: Optional[Plan] = None,
         progress: Progress = None,
         **settings: Any) -> Union[Plan, ForwardPlan]:
    """The weights that minimise the error of the server's estimate while every
    link stays within its budget, with a proof (`plan.info.bound`).

    Keywords are those of Settings and stand above the network's own. `warm` is a
    plan of the same network to begin near. For a network with budgets towards
    everyone, the releases that keep them and the coefficients of least error: a
    ForwardPlan.
    """
    refuse_settings(network, [*settings, *(["warm"] if warm else [])])
    asked = network.settings.replace(**settings)
    if is_forward(network):
        return plan_forward(network, asked, progress)
    watch = Watch(progress)
    out = ffi.new("struct pricer_plan **")
    info = ffi.new("struct pricer_solve_info *")
    watch.call(lib.pricer_plan_optimise, network._c, asked._struct(watch),
               warm._c if warm else ffi.NULL, out, info)
    found = numbers(info)
    found["outcome"] = ("optimal", "limit", "stopped")[found["outcome"]]
    return Plan(out[0], network, asked, SolveInfo(**found))


def baseline(network: Network, name: str, *, progress: Progress = None,
             **settings: Any) -> Plan:
    """What a plan is compared with: "naive", "unbiased", "best" (all without
    relaying) or "colrel" (relaying without privacy)."""
    if name not in BASELINES:
        raise ValueFault(f"name = {name!r} is none of " + ", ".join(BASELINES))
    asked = network.settings.replace(**settings)
    watch = Watch(progress)
    out = ffi.new("struct pricer_plan **")
    watch.call(lib.pricer_plan_baseline, network._c, asked._struct(watch),
               BASELINES.index(name), out)
    return Plan(out[0], network, asked)


def descend(network: Network, *, step: float = 0.0, noise_step: float = 0.0,
            starts: int = 0, iterations: int = 0, seed: Optional[int] = None,
            trace: Any = None, progress: Progress = None,
            **settings: Any) -> Plan:
    """Plan as the paper does, by projected gradient descent.

    trace(start, iteration, objective) is called along the way.
    """
    asked = network.settings.replace(**settings)
    watch = Watch(progress)
    options: dict[str, Any] = {
        "weight_step": step, "noise_step": noise_step, "starts": starts,
        "iterations": iterations,
        "seed": network.seed if seed is None else seed}
    if trace:
        def note(_context: Any, start: int, iteration: int,
                 objective: float) -> None:
            trace(start, iteration, objective)

        options["trace"] = ffi.callback(
            "void(void *, int32_t, int64_t, double)", note,
            onerror=lambda kind, error, _trace: setattr(watch, "error", error))
    out = ffi.new("struct pricer_plan **")
    watch.call(lib.pricer_plan_descend, network._c, asked._struct(watch),
               struct("gradient", options), out)
    return Plan(out[0], network, asked)


def erdos_renyi(**network: float) -> Mapping[str, float]:
    """The optimal plan of the one family where it is a formula; keywords are
    the fields of struct pricer_erdos_renyi."""
    asked = struct("erdos_renyi", network)
    out = ffi.new("struct pricer_closed_form *")
    call(lib.pricer_erdos_renyi_solve, asked, out)
    return numbers(out)
