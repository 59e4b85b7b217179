#!/usr/bin/env python3
"""How many clients does it take to learn within one small budget?

    examples/federated/budget.py --data FOLDER [--clients N...] [--csv FILE]
    examples/federated/budget.py --synthetic

Clients hold equal shards of Fashion-MNIST (FOLDER has its four files): alike
(iid), or two classes each. A client sends one private release a round. Everyone
may see all of its releases, and all rounds together are (8, 1e-5)-private for all
of the client's data. The server takes the mean of the releases that it gets:

    no privacy   the mean of the vectors themselves
    sphere       16-byte seeds, links that never fail
    gaussian     the Gaussian mechanism, links that never fail
    mesh         sphere, in the network of mesh.yaml: who arrives is drawn, and the
                 plan's coefficients count it
    no relays    the same without forwarding: who has no uplink is not heard

Images become 21 numbers that depend on no data: low frequencies of the cosine
transform, weighted by the root of the frequency, scaled to length 1. Clients send

    means        for every class the mean of its features: 210 numbers, one round;
                 the server takes the class whose mean is nearest
    statistics   that and the second moments of the features: 441 numbers, one
                 round; linear discriminant analysis
    gradient     the gradient of softmax regression, scaled to length 1: 210
                 numbers, 2, 5 or 10 rounds

Prints test accuracy, mean and standard deviation over some runs (other shards,
noise and links). NumPy is all it needs besides pricer.
"""
from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from typing import Callable, Iterator, NamedTuple, Optional

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import federated  # noqa: E402
import numpy as np  # noqa: E402
import pricer  # noqa: E402

EPS, DELTA, CLASSES = 8.0, 1e-5, federated.CLASSES
FREQUENCIES = 6   # u + v < 6: 21 of them
STEP = 4.0        # of a gradient of length 1
FLOOR = 0.2       # of eigenvalues of a covariance, in parts of their mean
WAYS = ("no privacy", "sphere", "gaussian", "mesh", "no relays")

Data = federated.Data


# ------------------------------------------------------------------ data --

def features(images: np.ndarray) -> np.ndarray:
    """The low frequencies of square images, as vectors of length 1."""
    side = images.shape[1]
    waves = np.cos(np.pi * np.arange(FREQUENCIES)[:, None]
                   * (2 * np.arange(side) + 1) / (2 * side))
    found = np.einsum("ux,nxy,vy->nuv", waves, images / 255 - 0.3, waves,
                      optimize=True)
    u, v = np.nonzero(np.add.outer(range(FREQUENCIES), range(FREQUENCIES))
                      < FREQUENCIES)
    return unit(found[:, u, v] * np.sqrt(1 + u + v))


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)


def read_data(folder: str) -> Data:
    found = [federated.read_idx(os.path.join(folder, f"{name}-ubyte.gz"))
             for name in ("train-images-idx3", "train-labels-idx1",
                          "t10k-images-idx3", "t10k-labels-idx1")]
    return Data(features(found[0]), found[1].astype(int), features(found[2]),
                found[3].astype(int))


def synthetic_data() -> Data:
    data = federated.synthetic_data(np.random.default_rng(3))
    return data._replace(images=unit(data.images),
                         test_images=unit(data.test_images))


class Shards(NamedTuple):
    """What the clients hold: clients by rows by features, and labels."""

    rows: np.ndarray
    labels: np.ndarray
    classes: int  # that a client has about; public


def deal(data: Data, clients: int, kind: str,
         rng: np.random.Generator) -> Shards:
    """Equal shards; "two classes": two pieces of the rows sorted by class."""
    order = rng.permutation(len(data.labels))
    if kind != "iid":
        order = order[np.argsort(data.labels[order], kind="stable")]
        pieces = np.array_split(order, 2 * clients)
        least = min(map(len, pieces))
        order = np.concatenate([pieces[k][:least]
                                for k in rng.permutation(2 * clients)])
    size = len(order) // clients
    order = order[:size * clients].reshape(clients, size)
    return Shards(data.images[order], data.labels[order],
                  CLASSES if kind == "iid" else 2)


# --------------------------------------------------------------- methods --

def score(rows: np.ndarray, means: np.ndarray,
          covariance: np.ndarray) -> np.ndarray:
    """Log-likelihoods of normal classes, up to a constant."""
    inverse = np.linalg.solve(covariance, means.T)
    return rows @ inverse - np.einsum("ck,kc->c", means, inverse) / 2


class Means:
    """The mean of each class, in one round."""

    def __init__(self, inputs: int, rounds: int = 1) -> None:
        self.inputs, self.rounds = inputs, rounds
        self.size = CLASSES * inputs

    def gain(self, shards: Shards) -> float:
        """What makes the vector of a client about 1 long; from public numbers."""
        one = 1 / shards.rows.shape[1]
        return 1 / np.sqrt(one + (1 - one) / shards.classes)

    def vectors(self, shards: Shards) -> np.ndarray:
        """A row for each client; the release clips to length 1."""
        chosen = np.eye(CLASSES)[shards.labels]
        sums = np.einsum("nmk,nmc->nck", shards.rows, chosen)
        return self.gain(shards) / shards.rows.shape[1] * sums.reshape(
            len(sums), -1)

    def take(self, estimate: np.ndarray, shards: Shards) -> None:
        self.means = estimate.reshape(CLASSES, -1) * CLASSES / self.gain(shards)

    def scores(self, rows: np.ndarray) -> np.ndarray:
        return score(rows, self.means, np.eye(self.inputs))


class Statistics(Means):
    """That and second moments, each half of the message."""

    def __init__(self, inputs: int, rounds: int = 1) -> None:
        super().__init__(inputs, rounds)
        self.split, self.pairs = self.size, np.triu_indices(inputs)
        self.size += len(self.pairs[0])
        # both halves of a symmetric matrix in one number
        self.weight = np.where(self.pairs[0] == self.pairs[1], 1, np.sqrt(2))

    def vectors(self, shards: Shards) -> np.ndarray:
        moments = np.einsum("nmk,nml->nkl", shards.rows, shards.rows)
        moments = (moments / shards.rows.shape[1]
                   - np.eye(self.inputs) / self.inputs)
        return np.hstack([super().vectors(shards),
                          moments[:, self.pairs[0], self.pairs[1]]
                          * self.weight]) / np.sqrt(2)

    def take(self, estimate: np.ndarray, shards: Shards) -> None:
        estimate = estimate * np.sqrt(2)
        super().take(estimate[:self.split], shards)
        moments = np.eye(self.inputs) / self.inputs
        moments[self.pairs] += estimate[self.split:] / self.weight
        moments = np.triu(moments) + np.triu(moments, 1).T
        values, vectors = np.linalg.eigh(
            moments - self.means.T @ self.means / CLASSES)
        values = np.maximum(values, FLOOR / self.inputs)
        self.covariance = (vectors * values) @ vectors.T

    def scores(self, rows: np.ndarray) -> np.ndarray:
        return score(rows, self.means, self.covariance)


class Gradient:
    """Steps of softmax regression."""

    def __init__(self, inputs: int, rounds: int) -> None:
        self.rounds, self.size = rounds, CLASSES * inputs
        self.model = np.zeros((inputs, CLASSES))

    def vectors(self, shards: Shards) -> np.ndarray:
        scores = shards.rows @ self.model
        scores = np.exp(scores - scores.max(2, keepdims=True))
        scores /= -scores.sum(2, keepdims=True)
        scores += np.eye(CLASSES)[shards.labels]
        return unit(np.einsum("nmk,nmc->nkc", shards.rows, scores).reshape(
            len(scores), -1))

    def take(self, estimate: np.ndarray, _shards: Shards) -> None:
        self.model = self.model + STEP * estimate.reshape(self.model.shape)

    def scores(self, rows: np.ndarray) -> np.ndarray:
        return rows @ self.model


METHODS = {"means": (Means, (1,)), "statistics": (Statistics, (1,)),
           "gradient": (Gradient, (2, 5, 10))}

Server = Callable[[np.ndarray, int], np.ndarray]


# --------------------------------------------------------------- servers --

def clip(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True),
                                1)


def mesh_plan(clients: int, size: int, rounds: int,
              hops: Optional[int] = None) -> pricer.ForwardPlan:
    return pricer.plan(pricer.Network.from_scenario(
        os.path.join(HERE, "mesh.yaml"),
        {"network.nodes": clients, "dimension": size, "rounds": rounds,
         "release": "sphere"}), hops=hops)


class Budget:
    """The releases of one message and number of rounds, and its servers."""

    def __init__(self, clients: int, size: int, rounds: int) -> None:
        self.laws = {kind: pricer.Release.for_budget(
            EPS, DELTA, size, rounds=rounds, kind=kind)
            for kind in ("sphere", "gaussian")}
        self.plans = {"mesh": mesh_plan(clients, size, rounds),
                      "no relays": mesh_plan(clients, size, rounds, 0)}

    def server(self, way: str, seed: int) -> Server:
        """From the vectors of a round to the estimate of their mean."""
        if way == "no privacy":
            return lambda vectors, _: clip(vectors).mean(0)
        if way in self.plans:
            rounds = pricer.ForwardRounds(self.plans[way], seed)
            return lambda vectors, t: rounds.play(vectors, t).estimate
        law = self.laws[way]
        return lambda vectors, t: law.decode(
            law.sample(vectors, seed=seed, round=t)).mean(0)


def learn(data: Data, shards: Shards, method, server: Server) -> float:
    """Test accuracy after all rounds."""
    for t in range(method.rounds):
        method.take(server(method.vectors(shards), t), shards)
    guess = method.scores(data.test_images).argmax(1)
    return float(np.mean(guess == data.test_labels))


# ---------------------------------------------------------------- output --

class Row(NamedTuple):
    """The runs of one way to learn."""

    clients: int
    shards: str
    method: str
    rounds: int
    size: int
    way: str
    accuracy: list[float]


def run(data: Data, clients: list[int], kinds: list[str],
        repeat: int) -> Iterator[Row]:
    inputs = data.images.shape[1]
    for count in clients:
        for name, (method, rounds) in METHODS.items():
            for many in rounds:
                budget = Budget(count, method(inputs, many).size, many)
                for kind in kinds:
                    dealt = [deal(data, count, kind,
                                  np.random.default_rng([7, seed]))
                             for seed in range(repeat)]
                    for way in WAYS:
                        made = method(inputs, many)
                        yield Row(count, kind, name, many, made.size, way, [
                            learn(data, shards, method(inputs, many),
                                  budget.server(way, 1 + seed))
                            for seed, shards in enumerate(dealt)])


def table(rows: list[Row]) -> Iterator[str]:
    """A line for each number of clients, shards and method."""
    yield ("| clients | shards | method | rounds | numbers | "
           + " | ".join(WAYS) + " |")
    yield "|---" * (5 + len(WAYS)) + "|"
    lines: dict[tuple, dict[str, str]] = {}
    for row in rows:
        found = np.array(row.accuracy)
        lines.setdefault(row[:5], {})[row.way] = (
            f"{found.mean():.2f} ({found.std(ddof=min(1, len(found) - 1)):.2f})")
    for key, cells in lines.items():
        yield ("| " + " | ".join(map(str, key)) + " | "
               + " | ".join(cells[way] for way in WAYS) + " |")


def write_csv(rows: list[Row], path: str) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow([*Row._fields[:-1], "run", "accuracy"])
        for row in rows:
            for k, value in enumerate(row.accuracy):
                out.writerow([*row[:-1], k, value])


def main(words: Optional[list[str]] = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", metavar="FOLDER",
                        help="Fashion-MNIST's four .gz files")
    parser.add_argument("--synthetic", action="store_true",
                        help="small made-up data instead")
    parser.add_argument("--clients", type=int, nargs="+", metavar="N",
                        help="how many (100 1000 10000)")
    parser.add_argument("--repeat", type=int, default=4,
                        help="runs with other shards, noise and links (4)")
    parser.add_argument("--csv", metavar="FILE", help="write every run")
    ask = parser.parse_args(words)
    if (ask.data is not None) + ask.synthetic != 1:
        parser.error("one of --data FOLDER and --synthetic")
    if ask.repeat < 1:
        parser.error(f"--repeat = {ask.repeat} is not positive")
    data = synthetic_data() if ask.synthetic else read_data(ask.data)
    counts = ask.clients or ([20, 200] if ask.synthetic else [100, 1000, 10000])
    for count in counts:
        if not 2 <= 2 * count <= len(data.labels):
            parser.error(f"--clients {count}: {len(data.labels)} rows are "
                         "shared by 1 to half as many clients")
    started, rows = time.time(), []
    for row in run(data, counts, ["iid", "two classes"], ask.repeat):
        rows.append(row)
        print(f"{row.clients} clients, {row.shards}, {row.method}, {row.way}: "
              f"{time.time() - started:.0f} s", file=sys.stderr)
    if ask.csv:
        write_csv(rows, ask.csv)
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
