"""Releases: one private vector of a node's data, for a budget towards everyone."""
from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Optional, Union

import numpy as np
from numpy.typing import ArrayLike

from ._library import (ValueFault, address, call, ffi, find_word, given, lib,
                       numbers, refuse, struct, word)


@dataclass(frozen=True, repr=False)
class Release:
    """The law of a release; made by for_budget() or of().

        release = pricer.Release.for_budget(4.0, 1e-5, dimension=16)
        seeds = release.sample(vectors)          # a row each; 16 bytes a row
        release.decode(seeds).mean(0)            # unbiased

    kind is "sphere" or "gaussian". One round of a sphere is (e0 + charge,
    0)-private towards everyone: a direction is drawn in the cap beyond
    `threshold` with probability p, where uniform ones are with probability q, and
    stands for the vector radius / m times the direction. noise is the deviation
    of a Gaussian's coordinate. No vector within the radius has a larger
    E|y - x|^2 than `variance`. The guarantee is about data of a round that differ
    by at most `diameter`, twice the radius for a sphere.
    """

    kind: str
    dimension: int
    rounds: int
    radius: float
    diameter: float
    threshold: float
    e0: float
    q: float
    p: float
    m: float
    charge: float
    noise: float
    variance: float

    @classmethod
    def for_budget(cls, eps: float, delta: float, dimension: int,
                   radius: float = 1.0, rounds: int = 1,
                   kind: str = "best", diameter: float = 0.0) -> "Release":
        """The release of least variance that keeps (eps, delta) towards everyone
        over all rounds. kind is "sphere", "gaussian", or "best", the one of less
        variance; delta may be 0 for a sphere. With a diameter a Gaussian keeps
        (eps, delta) for data that differ by at most that in every round (0: any
        data within the radius); a sphere always does for any data."""
        if rounds == 0:
            raise ValueFault("rounds = 0 is not positive")
        wish = struct("release_wish", {
            "kind": find_word("release", kind, "kind"), "dimension": dimension,
            "rounds": rounds, "radius": radius, "diameter": diameter,
            "eps": eps, "delta": delta})
        out = ffi.new("struct pricer_release_law *")
        call(lib.pricer_release_for_budget, wish, out)
        return cls._read(out)

    @classmethod
    def of(cls, kind: str, dimension: int, *, threshold: float = 0.0,
           e0: float = 0.0, noise: float = 0.0, radius: float = 1.0,
           rounds: int = 1, diameter: float = 0.0) -> "Release":
        """The sphere with this threshold and e0, a multiple of 2^-40, or the
        Gaussian with this noise, for data no further apart than the diameter
        (0: any data within the radius)."""
        law = struct("release_law", {
            "kind": find_word("release", kind, "kind"), "dimension": dimension,
            "rounds": rounds, "radius": radius, "threshold": threshold,
            "e0": e0, "noise": noise, "diameter": diameter})
        try:
            call(lib.pricer_release_complete, law)
        except ValueFault as error:
            if str(error).startswith("t = "):
                error.args = ("threshold" + str(error)[1:],)
            raise
        return cls._read(law)

    @classmethod
    def _read(cls, law: Any) -> "Release":
        found = numbers(law)
        found["kind"] = word("release", found["kind"])
        return cls(**found)

    def _struct(self) -> Any:
        law = {field.name: getattr(self, field.name) for field in fields(self)}
        law["kind"] = find_word("release", self.kind, "kind")
        return struct("release_law", law)

    @property
    def bytes(self) -> int:
        """Bytes of one release: a seed of 16, or 4 a coordinate."""
        return lib.pricer_forward_payload(
            find_word("release", self.kind, "kind"), self.dimension)

    def variance_at(self, length: ArrayLike) -> Any:
        """E|y - x|^2 of an x of this length, element by element."""
        lengths = np.asarray(length, "f8")
        refuse("length", lengths, ~((lengths >= 0) & (lengths <= self.radius)),
               f"is not between 0 and the radius, {self.radius:g}")
        law = self._struct()
        found = np.vectorize(lambda x: lib.pricer_release_variance(law, x),
                             otypes=["f8"])(lengths)
        return float(found) if found.ndim == 0 else found

    def delta(self, eps: float, rounds: Optional[int] = None) -> float:
        """All releases of so many rounds (those of the budget if not given), seen
        by anyone, are private with eps and this delta. Rounded up."""
        return self._composed(lib.pricer_release_delta, eps, rounds)

    def epsilon(self, delta: float, rounds: Optional[int] = None) -> float:
        """The least eps for a delta over so many rounds, rounded up."""
        return self._composed(lib.pricer_release_epsilon, delta, rounds)

    def _composed(self, function: Any, value: float,
                  rounds: Optional[int]) -> float:
        out = ffi.new("double *")
        call(function, self._struct(), value,
             self.rounds if rounds is None else rounds, out)
        return out[0]

    def sample(self, data: ArrayLike, seed: Optional[int] = None,
               round: int = 0) -> Union[bytes, np.ndarray]:
        """Release a vector (the result is bytes) or every row of a matrix (an
        array of uint8, a row each). Vectors longer than the radius are clipped.

        Random bits come from the kernel. With a seed, for tests and simulations
        only, row i is what node i releases in that round.
        """
        array = given(data, "f8", name="data")
        if np.ndim(data) not in (1, 2) or array.shape[-1] != self.dimension:
            raise ValueFault(f"data has shape {np.shape(data)} where vectors "
                             f"have {self.dimension} numbers")
        refuse("data", array, ~np.isfinite(array), "is not a finite number")
        rows = array.reshape(-1, self.dimension)
        held = address(rows, "double[]")
        asked = struct("release_rows", {
            "count": len(rows), "data": held, "replayed": seed is not None,
            "seed": seed or 0, "round": round})
        payload = np.zeros((len(rows), self.bytes), np.uint8)
        call(lib.pricer_release_draw, self._struct(), asked,
             address(payload, "unsigned char[]"))
        return payload.tobytes() if array.ndim == 1 else payload

    def decode(self, seeds: Union[bytes, ArrayLike]) -> np.ndarray:
        """The vector of what sample() made of a vector, or a row for each row."""
        if isinstance(seeds, (bytes, bytearray, memoryview)):
            seeds = np.frombuffer(seeds, np.uint8)
        array = np.asarray(seeds)
        if (array.dtype != np.uint8 or array.ndim not in (1, 2)
                or array.shape[-1] != self.bytes):
            raise ValueFault(f"seeds are {array.dtype} of shape {array.shape} "
                             f"where uint8, {self.bytes} a row, are needed")
        rows = np.ascontiguousarray(array).reshape(-1, self.bytes)
        values = np.zeros((len(rows), self.dimension))
        call(lib.pricer_release_decode, self._struct(), len(rows),
             address(rows, "unsigned char[]"), address(values, "double[]"))
        return values[0] if array.ndim == 1 else values

    def __repr__(self) -> str:
        how = (f"threshold {self.threshold:.6g}, e0 {self.e0:.6g}"
               if self.kind == "sphere" else f"noise {self.noise:.6g}")
        return (f"<pricer.Release, {self.kind}, dimension {self.dimension}, "
                f"radius {self.radius:g}, {self.rounds} round(s), {how}, "
                f"variance {self.variance:.6g}>")
