"""Networks: who reaches whom, how reliably, and how much they trust each other."""
from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

import numpy as np
from numpy.typing import ArrayLike

from ._library import (Progress, ValueFault, Watch, address, call, ffi, find_word,
                       given, layout, lib, struct, view, word)

DELTA = 1e-5  # of links, nodes and budgets without a finite eps, as in scenarios
NODE = layout("struct pricer_node")
LINK = layout("struct pricer_link")


@dataclass(frozen=True)
class Settings:
    """What is asked of the planner; zero means the default.

    bias is "worst-case", "unbiased", "l1" or "l2" (the last two with lambda_),
    calibration "analytic" or "classic". eps and delta of every link are spent
    over `rounds` rounds, every packet counted as heard.

    Plans of `scheme: forward` have rounds, threads, and: repeat, the attempts of a
    round that pass the same releases on, hops, the most relays that a release goes
    over (None: the fewest with an error within 1 % of 16 hops), and release,
    "best", "sphere" or "gaussian".
    """

    bias: str = "worst-case"
    lambda_: float = 0.0
    calibration: str = "analytic"
    rounds: int = 1
    repeat: int = 1
    tolerance: float = 0.0
    iterations: int = 0
    threads: int = 0
    hops: Optional[int] = None
    release: str = "best"

    def replace(self, **changes: Any) -> "Settings":
        """The same with some other values."""
        return replace(self, **changes)

    def _struct(self, watch: Optional[Watch] = None) -> Any:
        return struct("settings", {
            "bias": find_word("bias", self.bias),
            "lambda": self.lambda_,
            "calibration": find_word("calibration", self.calibration),
            "rounds": self.rounds,
            "tolerance": self.tolerance,
            "iterations": self.iterations,
            "threads": self.threads,
            "watch": watch.pointer if watch else ffi.NULL})

    def _forward(self, seed: int, watch: Optional[Watch] = None) -> Any:
        """The same for a plan of forwarding."""
        return struct("forward_settings", {
            "rounds": self.rounds, "hops": -1 if self.hops is None else self.hops,
            "repeat": self.repeat,
            "release": find_word("release", self.release), "seed": seed,
            "threads": self.threads,
            "watch": watch.pointer if watch else ffi.NULL})

    def _with_forward(self, made: Any) -> "Settings":
        """The same with what a scenario asks of a plan of forwarding."""
        return self.replace(repeat=max(made.repeat, 1),
                            hops=None if made.hops < 0 else made.hops,
                            release=word("release", made.release))

    @classmethod
    def _read(cls, made: Any) -> "Settings":
        return cls(word("bias", made.bias), getattr(made, "lambda"),
                   word("calibration", made.calibration),
                   rounds=max(made.rounds, 1), tolerance=made.tolerance,
                   iterations=made.iterations, threads=made.threads)


class Network:
    """A network, made once and never changed.

    Its arrays are views of the library's memory and cannot be written to. Links
    are ordered by (from_, to), which is the order of every array over links.
    """

    def __init__(self, pointer: Any, settings: Optional[Settings] = None,
                 seed: int = 1) -> None:
        self._c = ffi.gc(pointer, lib.pricer_network_free)
        self.settings = settings or Settings()
        self.seed = seed

    @classmethod
    def from_arrays(cls, uplink: ArrayLike, from_: ArrayLike = (),
                    to: ArrayLike = (), p: Optional[ArrayLike] = None,
                    eps: Optional[ArrayLike] = None,
                    delta: Optional[ArrayLike] = None, *,
                    joint: Optional[ArrayLike] = None,
                    self_eps: ArrayLike = np.inf,
                    self_delta: Optional[ArrayLike] = None,
                    server_eps: Optional[ArrayLike] = None,
                    server_delta: Optional[ArrayLike] = None,
                    everyone_eps: Optional[ArrayLike] = None,
                    everyone_delta: Optional[ArrayLike] = None,
                    x: Optional[ArrayLike] = None,
                    y: Optional[ArrayLike] = None, dimension: int = 1,
                    radius: float = 1.0, reciprocity: float = 1.0,
                    names: Optional[Sequence[Optional[str]]] = None,
                    diameter: float = 0.0,
                    node_radius: Optional[ArrayLike] = None,
                    node_diameter: Optional[ArrayLike] = None,
                    settings: Optional[Settings] = None,
                    seed: int = 1) -> "Network":
        """Build a network from an array for each number of a node or link.

        Node i reaches the server with probability uplink[i]; link l carries
        from_[l]'s data to to[l] with probability p[l], which must stay
        (eps[l], delta[l])-private from to[l]. Links have no default p and eps;
        eps = inf is full trust. self_eps and self_delta are the
        same for a node's own part at the server, server_eps and server_delta
        bound all that the server learns. everyone_eps and everyone_delta
        bound all that everyone learns, and make the network one of `scheme:
        forward`; eps of its links may be left out. Every finite eps needs its
        delta; the others may be left out or NaN and are 1e-5 then. joint[l] is the
        probability that l and its partner are up together, or NaN: taken from
        the reciprocity, 1 where both are up and down together, 0 where they are
        independent. names
        are what people call the nodes, None or "" for none. Vectors are clipped
        to length radius, those of node i to node_radius[i] (NaN: radius); data
        that must not be told apart are at most diameter, or node_diameter[i],
        away from each other (0 and NaN: twice the radius). A single number is
        that of every node or link. Arrays of float64 (int32 for from_ and to)
        are read where they are.
        """
        kept: list[Any] = []
        nodes, links = np.size(uplink), np.size(from_)

        def field(name: str, values: Optional[ArrayLike], count: int,
                  kind: str = "double") -> Any:
            if values is None:
                return ffi.NULL
            array = given(values, "f8" if kind == "double" else "i4", count,
                          name)
            kept.append(address(array, kind + "[]"))
            return kept[-1]

        def trust(of: str, eps: Optional[ArrayLike],
                  delta: Optional[ArrayLike], count: int) -> dict[str, Any]:
            """The fields eps and delta of links, nodes or budgets."""
            if eps is not None:
                eps = given(eps, "f8", count, of + "eps")
                delta = _fill_delta(of, eps, delta)
            return {of + "eps": field(of + "eps", eps, count),
                    of + "delta": field(of + "delta", delta, count)}

        if eps is None and everyone_eps is not None:
            eps = np.inf
        for name, values in (("p", p), ("eps", eps)):
            if links and values is None:
                raise ValueFault(f"{name} is missing: links have no default")
        if server_eps is None and server_delta is not None:
            raise ValueFault("server_eps is missing where server_delta is given")
        if everyone_eps is None and everyone_delta is not None:
            raise ValueFault("everyone_eps is missing where everyone_delta is given")
        texts = ffi.NULL
        if names is not None:
            if len(names) != nodes:
                raise ValueFault(f"{len(names)} names for {nodes} nodes")
            kept.extend(ffi.new("char[]", (name or "").encode())
                        for name in names)
            texts = ffi.new("char *[]", kept[-nodes:] if nodes else [])
            kept.append(texts)
        arrays = struct("network_arrays", {
            "dimension": dimension, "radius": radius,
            "reciprocity": reciprocity, "node_count": nodes,
            "uplink": field("uplink", np.atleast_1d(uplink), nodes),
            **trust("self_", self_eps, self_delta, nodes),
            "x": field("x", x, nodes), "y": field("y", y, nodes),
            **trust("server_", server_eps, server_delta, nodes),
            **trust("everyone_", everyone_eps, everyone_delta, nodes),
            "link_count": links,
            "from": field("from_", from_, links, "int32_t"),
            "to": field("to", to, links, "int32_t"),
            "p": field("p", p, links), "joint": field("joint", joint, links),
            **trust("", eps, delta, links),
            "names": ffi.cast("char const * const *", texts),
            "diameter": diameter,
            "node_radius": field("node_radius", node_radius, nodes),
            "node_diameter": field("node_diameter", node_diameter, nodes)})
        out = ffi.new("struct pricer_network **")
        place = struct("place", {"node": -1, "link": -1})
        try:
            call(lib.pricer_network_build_arrays, arrays, out, place)
        except ValueFault as error:
            error.args = (_name_argument(str(error), place.node, place.link),)
            raise
        return cls(out[0], settings, seed)

    @classmethod
    def from_records(cls, nodes: np.ndarray, links: np.ndarray, *,
                     dimension: int = 1, radius: float = 1.0,
                     reciprocity: float = 1.0,
                     settings: Optional[Settings] = None,
                     seed: int = 1) -> "Network":
        """Build a network from structured arrays of the dtypes pricer.NODE and
        pricer.LINK, in any order. Every number has to be given; a joint may be
        NaN, and so may positions."""
        nodes = np.ascontiguousarray(nodes, NODE)
        links = np.ascontiguousarray(links, LINK)
        kept = [ffi.from_buffer("struct pricer_node[]", nodes),
                ffi.from_buffer("struct pricer_link[]", links)]
        parts = struct("network_parts", {
            "dimension": dimension, "radius": radius,
            "reciprocity": reciprocity, "nodes": kept[0],
            "node_count": nodes.size, "links": kept[1],
            "link_count": links.size})
        out = ffi.new("struct pricer_network **")
        place = struct("place", {"node": -1, "link": -1})
        try:
            call(lib.pricer_network_build, parts, out, place)
        except ValueFault as error:
            for name, index in (("nodes", place.node), ("links", place.link)):
                if index >= 0:
                    error.args = (f"{name}[{index}]: {error}",)
            raise
        return cls(out[0], settings, seed)

    @classmethod
    def from_scenario(cls, path: Union[str, Path],
                      overrides: Optional[Mapping[str, Any]] = None,
                      progress: Progress = None) -> "Network":
        """Make or read the network of a scenario file, pricer-scenario(5).

        overrides stand above the file, such as {"network.p": 0.5}. What the
        scenario asks of the planner and its seed go with the network.
        """
        scenario = Scenario(path, overrides)
        return scenario.network(progress)

    def retrust(self, changes: Mapping[tuple[int, int], Any]) -> "Network":
        """A copy in which links (i, j), or own parts (i, i), have another eps,
        or another (eps, delta). A link whose eps was infinite has no delta that
        anybody chose: it needs both."""
        pairs = {ends: _read_trust(f"changes[{ends}]", value)
                 for ends, value in changes.items()}
        array = ffi.new("struct pricer_trust[]",
                        [(i, j, eps) for (i, j), (eps, _) in pairs.items()])
        out = ffi.new("struct pricer_network **")
        call(lib.pricer_network_retrust, self._c, array, len(pairs), out)
        made = Network(out[0], self.settings, self.seed)
        for (i, j), (eps, delta) in pairs.items():
            own, link = i == j, self.find(i, j)
            before = self.self_eps[i] if own else self.eps[link]
            if delta is not None:
                store = made._c.self_delta if own else made._c.delta
                store[i if own else link] = delta
            elif np.isinf(before) and np.isfinite(eps):
                raise ValueFault(f"changes[{(i, j)}] = {eps:g}: delta is missing, "
                                 "as eps was infinite; give (eps, delta)")
        return made

    def find(self, from_: int, to: int) -> int:
        """The index of the link from_ -> to, or -1."""
        return lib.pricer_network_find(self._c, from_, to)

    # What the network holds.

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return self._c.nodes

    @property
    def links(self) -> int:
        """How many links there are."""
        return self._c.links

    @property
    def dimension(self) -> int:
        """How many numbers each node's vector has."""
        return self._c.dimension

    @property
    def reach(self) -> float:
        """The radius of the data where rounds are relative to the last estimate
        (`reference: last`), and radius is then the step; otherwise 0."""
        return self._c.reach

    @property
    def radius(self) -> float:
        """No vector is longer."""
        return self._c.radius

    @property
    def names(self) -> list[Optional[str]]:
        """What people call the nodes, None where they do not."""
        if self._c.name == ffi.NULL:
            return [None] * self.nodes
        return [ffi.string(self._c.name[i]).decode() or None
                for i in range(self.nodes)]

    def _nodes(self, name: str) -> np.ndarray:
        return view(self._c, getattr(self._c, name), self.nodes, "f8")

    def _links(self, name: str, dtype: str = "f8") -> np.ndarray:
        return view(self._c, getattr(self._c, name), self.links, dtype)

    def __reduce__(self) -> Any:
        keep = {name: getattr(self, name) for name in _ARRAYS
                if getattr(self, name).size}
        if any(self.names):
            keep["names"] = self.names
        keep.update(dimension=self.dimension, radius=self.radius,
                    settings=self.settings, seed=self.seed)
        return _restore, (keep, self.reach)

    def __repr__(self) -> str:
        return (f"<pricer.Network of {self.nodes} nodes and {self.links} links, "
                f"dimension {self.dimension}, radius {self.radius:g}>")


_ARRAYS = ("uplink", "from_", "to", "p", "joint", "eps", "delta", "self_eps",
           "self_delta", "server_eps", "server_delta", "everyone_eps", "everyone_delta",
           "x", "y", "node_radius", "node_diameter")


def _restore(arrays: Mapping[str, Any], reach: float) -> Network:
    """A network that was pickled."""
    made = Network.from_arrays(**arrays)
    made._c.reach = reach
    return made


def _fill_delta(of: str, eps: np.ndarray,
                delta: Optional[ArrayLike]) -> np.ndarray:
    """The deltas that belong to eps; those of a finite eps must be given."""
    if delta is None:
        delta = np.nan
    array = given(delta, "f8", eps.size, of + "delta")
    missing = np.isnan(array)
    if not missing.any():
        return array
    for k in np.flatnonzero(missing & np.isfinite(eps))[:1]:
        raise ValueFault(f"{of}delta[{k}] is missing: {of}eps[{k}] = {eps[k]:g} "
                         "is finite")
    return np.where(missing, DELTA, array)


def _read_trust(name: str, value: Any) -> tuple[float, Optional[float]]:
    """eps and perhaps delta, as retrust() takes them."""
    try:
        eps, delta = (value, None) if np.ndim(value) == 0 else value
        eps, delta = float(eps), None if delta is None else float(delta)
    except (TypeError, ValueError):
        raise ValueFault(f"{name} = {value!r} is neither eps nor (eps, delta)"
                         ) from None
    if not eps > 0:
        raise ValueFault(f"{name}: eps = {eps:g} is not a positive number or inf")
    if delta is not None and not 0 < delta <= 1:
        raise ValueFault(f"{name}: delta = {delta:g} is outside (0, 1]")
    return eps, delta


_NODE_ARGUMENTS = {"p": "uplink", "eps": "self_eps", "delta": "self_delta",
                   "radius": "node_radius", "diameter": "node_diameter",
                   "name": "names"}


def _name_argument(text: str, node: int, link: int) -> str:
    """The library's words about an entry, with the argument and its index."""
    found = re.match(r"(\w+) = (.*)", text, re.S)
    if node < 0 and link < 0:
        return text
    if found and link >= 0:
        return f"{found[1]}[{link}] = {found[2]}"
    if found:
        name = _NODE_ARGUMENTS.get(found[1], found[1])
        return f"{name}[{node}] = {found[2]}"
    if link >= 0:
        return f"from_[{link}], to[{link}]: {text}"
    what = "names[{0}]" if "name" in text else "x[{0}], y[{0}]"
    return f"{what.format(node)}: {text}"


def _add_arrays() -> None:
    about = {
        "uplink": "Probability of reaching the server, by node.",
        "self_eps": "eps of the own part at the server, by node.",
        "self_delta": "delta of the own part at the server, by node.",
        "server_eps": "eps of all that the server learns, by node; may be empty.",
        "server_delta": "delta of that, by node; may be empty.",
        "everyone_eps": "eps of all that everyone learns, by node; may be empty.",
        "everyone_delta": "delta of that, by node; may be empty.",
        "node_radius": "No vector of the node is longer, by node.",
        "node_diameter": "Neighbouring data are no further apart, by node.",
        "x": "Positions in metres, by node; may be empty.",
        "y": "Positions in metres, by node; may be empty."}
    for name, text in about.items():
        setattr(Network, name, property(
            lambda self, name=name: self._nodes(name), doc=text))
    about = {
        "from": "The sender of every link.", "to": "The relay of every link.",
        "partner": "The link in the other direction, or -1.",
        "in_link": "The links ordered by (to, from_).",
        "p": "Probability of being up, by link.",
        "joint": "Probability that link and partner are up together.",
        "eps": "Trust of the sender in the relay, by link.",
        "delta": "The delta that belongs to eps, by link."}
    for name, text in about.items():
        dtype = "i4" if name in ("from", "to", "partner", "in_link") else "f8"
        setattr(Network, "from_" if name == "from" else name, property(
            lambda self, name=name, dtype=dtype: self._links(name, dtype),
            doc=text))
    for name, text in {"out_start": "Where the links that leave a node start.",
                       "in_start": "Where in in_link those start that arrive."
                       }.items():
        setattr(Network, name, property(
            lambda self, name=name: view(self._c, getattr(self._c, name),
                                         self.nodes + 1, "i4"), doc=text))


_add_arrays()


class Scenario:
    """A scenario file as read."""

    def __init__(self, path: Union[str, Path],
                 overrides: Optional[Mapping[str, Any]] = None) -> None:
        self.path = str(path)
        self.overrides = dict(overrides or {})
        words: Iterable[str] = (f"{key}={value}"
                                for key, value in (overrides or {}).items())
        texts = [ffi.new("char[]", text.encode()) for text in words]
        out = ffi.new("struct pricer_scenario **")
        call(lib.pricer_scenario_read, str(path).encode(),
             ffi.new("char *[]", texts) if texts else ffi.NULL, len(texts), out)
        self._c = ffi.gc(out[0], lib.pricer_scenario_free)

    def __reduce__(self) -> Any:
        return Scenario, (str(Path(self.path).resolve()), self.overrides)

    def __repr__(self) -> str:
        more = f", {self.overrides!r}" if self.overrides else ""
        return f"pricer.Scenario({self.path!r}{more})"

    @property
    def settings(self) -> Settings:
        """What it asks of the planner."""
        settings = ffi.new("struct pricer_settings *")
        lib.pricer_scenario_settings(self._c, settings)
        forward = ffi.new("struct pricer_forward_settings *")
        lib.pricer_scenario_forward_settings(self._c, forward)
        return Settings._read(settings)._with_forward(forward)

    @property
    def seed(self) -> int:
        """What its generators and simulations draw from."""
        return lib.pricer_scenario_seed(self._c)

    def network(self, progress: Progress = None) -> Network:
        """Make or read its network."""
        watch = Watch(progress)
        out = ffi.new("struct pricer_network **")
        watch.call(lib.pricer_scenario_network, self._c, watch.pointer, out)
        return Network(out[0], self.settings, self.seed)
