"""Networks: who reaches whom, how reliably, and how much they trust each other."""
from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

import numpy as np
from numpy.typing import ArrayLike

from ._library import (Progress, ValueFault, Watch, address, call, ffi, find_word, given,
                       layout, lib, view, word)

NODE = layout("struct pricer_node")
LINK = layout("struct pricer_link")


@dataclass(frozen=True)
class Settings:
    """What is asked of the planner; zero means the default.

    bias is "worst-case", "unbiased", "l1" or "l2" (the last two with lambda_),
    calibration "analytic" or "classic". eps and delta of every link are spent
    over `rounds` rounds, every packet counted as heard. A round has `repeat`
    attempts that send the same payloads. `horizon`, for decoders, is how many
    rounds' results users average.
    """

    bias: str = "worst-case"
    lambda_: float = 0.0
    calibration: str = "analytic"
    rounds: int = 1
    repeat: int = 1
    horizon: float = 0.0
    tolerance: float = 0.0
    iterations: int = 0
    threads: int = 0

    def replace(self, **changes: Any) -> "Settings":
        """The same with some other values."""
        return replace(self, **changes)

    def _struct(self, watch: Optional[Watch] = None) -> Any:
        return ffi.new("struct pricer_settings *", {
            "bias": find_word("bias", self.bias),
            "lambda": self.lambda_,
            "calibration": find_word("calibration", self.calibration),
            "rounds": self.rounds,
            "repeat": self.repeat,
            "horizon": self.horizon,
            "tolerance": self.tolerance,
            "iterations": self.iterations,
            "threads": self.threads,
            "watch": watch.pointer if watch else ffi.NULL})

    @classmethod
    def _read(cls, struct: Any) -> "Settings":
        return cls(word("bias", struct.bias), getattr(struct, "lambda"),
                   word("calibration", struct.calibration),
                   max(struct.rounds, 1), max(struct.repeat, 1), struct.horizon,
                   struct.tolerance, struct.iterations, struct.threads)


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
                    to: ArrayLike = (), p: ArrayLike = 1.0,
                    eps: ArrayLike = np.inf, delta: ArrayLike = 1.0, *,
                    joint: Optional[ArrayLike] = None,
                    self_eps: ArrayLike = np.inf, self_delta: ArrayLike = 1.0,
                    server_eps: Optional[ArrayLike] = None,
                    server_delta: Optional[ArrayLike] = None,
                    x: Optional[ArrayLike] = None,
                    y: Optional[ArrayLike] = None, dimension: int = 1,
                    radius: float = 1.0, reciprocity: float = 0.0,
                    names: Optional[Sequence[Optional[str]]] = None,
                    diameter: float = 0.0,
                    node_radius: Optional[ArrayLike] = None,
                    node_diameter: Optional[ArrayLike] = None,
                    settings: Optional[Settings] = None,
                    seed: int = 1) -> "Network":
        """Build a network from an array for each number of a node or link.

        Node i reaches the server with probability uplink[i]; link l carries
        from_[l]'s data to to[l] with probability p[l], which must stay
        (eps[l], delta[l])-private from to[l]. self_eps and self_delta are the
        same for a node's own part at the server, server_eps and server_delta
        bound all that the server learns. joint[l] is the probability that l and
        its partner are up together, or NaN: taken from the reciprocity. names
        are what people call the nodes, None or "" for none. No vector is longer
        than radius, none of node i than node_radius[i] (NaN: radius); data that
        must not be told apart are at most diameter, or node_diameter[i], away
        from each other (0 and NaN: twice the radius). A single number stands for every node or link. Arrays of float64 (int32
        for from_ and to) are read where they are.
        """
        kept: list[Any] = []

        def field(values: Optional[ArrayLike], count: int,
                  kind: str = "double") -> Any:
            if values is None:
                return ffi.NULL
            array = given(values, "f8" if kind == "double" else "i4", count)
            kept.append(address(array, kind + "[]"))
            return kept[-1]

        nodes = np.size(uplink)
        texts = ffi.NULL
        if names is not None:
            if len(names) != nodes:
                raise ValueFault(f"{len(names)} names for {nodes} nodes")
            kept.extend(ffi.new("char[]", (name or "").encode())
                        for name in names)
            texts = ffi.new("char *[]", kept[-nodes:] if nodes else [])
            kept.append(texts)
        links = np.size(from_)
        arrays = ffi.new("struct pricer_network_arrays *", {
            "dimension": dimension, "radius": radius,
            "reciprocity": reciprocity, "node_count": nodes,
            "uplink": field(np.atleast_1d(uplink), nodes),
            "self_eps": field(self_eps, nodes),
            "self_delta": field(self_delta, nodes),
            "x": field(x, nodes), "y": field(y, nodes),
            "server_eps": field(server_eps, nodes),
            "server_delta": field(server_delta, nodes),
            "link_count": links,
            "from": field(from_, links, "int32_t"),
            "to": field(to, links, "int32_t"),
            "p": field(p, links), "joint": field(joint, links),
            "eps": field(eps, links), "delta": field(delta, links),
            "names": ffi.cast("char const * const *", texts),
            "diameter": diameter,
            "node_radius": field(node_radius, nodes),
            "node_diameter": field(node_diameter, nodes)})
        out = ffi.new("struct pricer_network **")
        call(lib.pricer_network_build_arrays, arrays, out, ffi.NULL)
        return cls(out[0], settings, seed)

    @classmethod
    def from_records(cls, nodes: np.ndarray, links: np.ndarray, *,
                     dimension: int = 1, radius: float = 1.0,
                     reciprocity: float = 0.0,
                     settings: Optional[Settings] = None,
                     seed: int = 1) -> "Network":
        """Build a network from structured arrays of the dtypes pricer.NODE and
        pricer.LINK, in any order."""
        nodes = np.ascontiguousarray(nodes, NODE)
        links = np.ascontiguousarray(links, LINK)
        kept = [ffi.from_buffer("struct pricer_node[]", nodes),
                ffi.from_buffer("struct pricer_link[]", links)]
        parts = ffi.new("struct pricer_network_parts *", {
            "dimension": dimension, "radius": radius,
            "reciprocity": reciprocity, "nodes": kept[0],
            "node_count": nodes.size, "links": kept[1],
            "link_count": links.size})
        out = ffi.new("struct pricer_network **")
        call(lib.pricer_network_build, parts, out, ffi.NULL)
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

    def retrust(self, changes: Mapping[tuple[int, int], float]) -> "Network":
        """A copy in which links (i, j), or own parts (i, i), have another eps."""
        count = len(changes)
        array = ffi.new("struct pricer_trust[]",
                        [(i, j, eps) for (i, j), eps in changes.items()])
        out = ffi.new("struct pricer_network **")
        call(lib.pricer_network_retrust, self._c, array, count, out)
        return Network(out[0], self.settings, self.seed)

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

    def __repr__(self) -> str:
        return (f"<pricer.Network of {self.nodes} nodes and {self.links} links, "
                f"dimension {self.dimension}, radius {self.radius:g}>")


def _add_arrays() -> None:
    about = {
        "uplink": "Probability of reaching the server, by node.",
        "self_eps": "eps of the own part at the server, by node.",
        "self_delta": "delta of the own part at the server, by node.",
        "server_eps": "eps of all that the server learns, by node; may be empty.",
        "server_delta": "delta of that, by node; may be empty.",
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
        words: Iterable[str] = (f"{key}={value}"
                                for key, value in (overrides or {}).items())
        texts = [ffi.new("char[]", text.encode()) for text in words]
        out = ffi.new("struct pricer_scenario **")
        call(lib.pricer_scenario_read, str(path).encode(),
             ffi.new("char *[]", texts) if texts else ffi.NULL, len(texts), out)
        self._c = ffi.gc(out[0], lib.pricer_scenario_free)

    @property
    def settings(self) -> Settings:
        """What it asks of the planner."""
        settings = ffi.new("struct pricer_settings *")
        lib.pricer_scenario_settings(self._c, settings)
        return Settings._read(settings)

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
