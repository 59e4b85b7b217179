#!/usr/bin/env python3
"""Federated learning over links that come and go, within a budget for the run.

    examples/federated/federated.py --data FOLDER [--to FOLDER]
    examples/federated/federated.py --synthetic

Ten clients hold shards of Fashion-MNIST (FOLDER has its four files): alike
(iid), or two classes each. In every round each client trains on its own shard
and sends how its model moved, cut to the radius, through the network of
network.yaml, and the server moves the common model by the estimate of the mean.
eps is what a client's neighbour, or the server of its own part, may learn about
all of the client's data over all rounds, at delta = 1e-5.

Prints the test accuracy of each way to learn, and writes federated.csv and, where
Matplotlib is there, federated.svg. NumPy is all it needs besides pricer.
"""
from __future__ import annotations

import argparse
import csv
import gzip
import os
import sys
import time
from typing import Callable, Iterator, NamedTuple, Optional

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "python"))
import numpy as np  # noqa: E402
import pricer  # noqa: E402

CLIENTS, CLASSES, DELTA = 10, 10, 1e-5
WAYS = ("centralised", "perfect links", "no collaboration", "PriCER",
        "PriCER, decoder")


# ------------------------------------------------------------------ data --

class Data(NamedTuple):
    """Images as rows of features, and their classes."""

    images: np.ndarray
    labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def read_idx(path: str) -> np.ndarray:
    with gzip.open(path) as file:
        raw = file.read()
    shape = [int.from_bytes(raw[4 + 4 * k:8 + 4 * k], "big")
             for k in range(raw[3])]
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def features(images: np.ndarray, side: int) -> np.ndarray:
    """Means over squares of pixels, in which a public scale is taken out, and a
    constant for the bias."""
    step = images.shape[1] // side
    small = images.reshape(-1, side, step, side, step).mean((2, 4)) / 255
    rows = small.reshape(len(small), -1) - 0.3
    return np.hstack([rows, np.ones((len(rows), 1))])


def read_data(folder: str, side: int) -> Data:
    found = [read_idx(os.path.join(folder, f"{name}-ubyte.gz")) for name in (
        "train-images-idx3", "train-labels-idx1", "t10k-images-idx3",
        "t10k-labels-idx1")]
    return Data(features(found[0], side), found[1].astype(int),
                features(found[2], side), found[3].astype(int))


def synthetic_data(rng: np.random.Generator) -> Data:
    """Ten clouds that a line can tell apart, most of the time."""
    centres = rng.normal(size=(CLASSES, 8))
    labels = np.arange(3000) % CLASSES
    rows = centres[labels] + 0.7 * rng.normal(size=(3000, 8))
    rows = np.hstack([rows / 2, np.ones((3000, 1))])
    return Data(rows[:2000], labels[:2000], rows[2000:], labels[2000:])


def shards(data: Data, kind: str, rng: np.random.Generator) -> list[np.ndarray]:
    """Which rows each client holds; "two classes": i and i + 1."""
    if kind == "iid":
        return np.array_split(rng.permutation(len(data.labels)), CLIENTS)
    halves = [np.array_split(rng.permutation(np.flatnonzero(data.labels == c)),
                             2) for c in range(CLASSES)]
    return [np.concatenate([halves[i][0], halves[(i + 1) % CLASSES][1]])
            for i in range(CLIENTS)]


# ---------------------------------------------------------------- models --

class Softmax:
    """Softmax regression: a matrix of features by classes."""

    def __init__(self, inputs: int) -> None:
        self.shape = (inputs, CLASSES)
        self.size = inputs * CLASSES

    def start(self, _rng: np.random.Generator) -> np.ndarray:
        return np.zeros(self.size)

    def scores(self, model: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return rows @ model.reshape(self.shape)

    def gradient(self, model: np.ndarray, rows: np.ndarray,
                 labels: np.ndarray) -> np.ndarray:
        return (rows.T @ excess(self.scores(model, rows), labels)).ravel()


class Network:
    """One hidden layer of rectifiers."""

    def __init__(self, inputs: int, hidden: int = 16) -> None:
        self.first, self.second = (inputs, hidden), (hidden, CLASSES)
        self.split = inputs * hidden
        self.size = self.split + hidden * CLASSES

    def start(self, rng: np.random.Generator) -> np.ndarray:
        return np.concatenate([
            rng.normal(size=self.split) / np.sqrt(self.first[0]),
            rng.normal(size=self.size - self.split) / np.sqrt(self.second[0])])

    def layers(self, model: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (model[:self.split].reshape(self.first),
                model[self.split:].reshape(self.second))

    def scores(self, model: np.ndarray, rows: np.ndarray) -> np.ndarray:
        first, second = self.layers(model)
        return np.maximum(rows @ first, 0) @ second

    def gradient(self, model: np.ndarray, rows: np.ndarray,
                 labels: np.ndarray) -> np.ndarray:
        first, second = self.layers(model)
        inner = rows @ first
        kept = np.maximum(inner, 0)
        error = excess(kept @ second, labels)
        back = (error @ second.T) * (inner > 0)
        return np.concatenate([(rows.T @ back).ravel(),
                               (kept.T @ error).ravel()])


def excess(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Probabilities less the truth, over the number of rows."""
    scores = np.exp(scores - scores.max(1, keepdims=True))
    scores /= scores.sum(1, keepdims=True)
    scores[np.arange(len(labels)), labels] -= 1
    return scores / len(labels)


def accuracy(kind, model: np.ndarray, data: Data) -> float:
    guess = kind.scores(model, data.test_images).argmax(1)
    return float(np.mean(guess == data.test_labels))


# -------------------------------------------------------------- learning --

class Task(NamedTuple):
    """What is learnt, and how clients do it."""

    data: Data
    kind: object
    parts: list[np.ndarray]
    rounds: int
    steps: int = 10
    batch: int = 100
    rate: float = 0.5
    radius: float = 1.0
    seed: int = 1


def moved(task: Task, model: np.ndarray, rows: np.ndarray, round: int,
          client: int) -> np.ndarray:
    """How a client's model moves on its own rows, cut to the radius."""
    rng = np.random.default_rng([task.seed, round, client])
    mine = model.copy()
    for _ in range(task.steps):
        pick = rows[rng.integers(0, len(rows), task.batch)]
        mine -= task.rate * task.kind.gradient(
            mine, task.data.images[pick], task.data.labels[pick])
    step = mine - model
    return step * min(1, task.radius / max(np.linalg.norm(step), 1e-12))


def learn(task: Task, estimate: Callable[[np.ndarray, int], np.ndarray],
          parts: Optional[list[np.ndarray]] = None) -> list[float]:
    """Accuracy after every round; estimate(moves, round) is the mean, or what
    the server takes for it."""
    parts = parts or task.parts
    model = task.kind.start(np.random.default_rng(task.seed))
    found = []
    for round in range(task.rounds):
        moves = np.array([moved(task, model, rows, round, client)
                          for client, rows in enumerate(parts)])
        model = model + estimate(moves, round)
        found.append(accuracy(task.kind, model, task.data))
    return found


def network(task: Task, eps: float) -> pricer.Network:
    """The clients' network with one eps for everyone, over all rounds."""
    return pricer.Network.from_scenario(
        os.path.join(HERE, "network.yaml"),
        {"dimension": task.kind.size, "radius": task.radius,
         "trust.eps": eps, "trust.self.eps": eps, "trust.delta": DELTA,
         "rounds": task.rounds})


def ways(task: Task, eps: float) -> Iterator[tuple[str, list[float],
                                                    Optional[pricer.Plan]]]:
    """Learn over the network without relaying, with it, and with a decoder."""
    net = network(task, eps)
    plans = (pricer.baseline(net, "best"), pricer.plan(net))
    decoder = pricer.Decoder.fit(plans[1], horizon=float(task.rounds))
    for name, plan, chosen in ((WAYS[2], plans[0], None),
                               (WAYS[3], plans[1], None),
                               (WAYS[4], plans[1], decoder)):
        rounds = pricer.Rounds(plan, seed=task.seed, decoder=chosen)
        yield name, learn(task, lambda moves, t, rounds=rounds: rounds.play(
            moves, t).estimate), plan


def bounds(task: Task) -> Iterator[tuple[str, list[float]]]:
    """What no network and no privacy would give."""
    whole = [np.concatenate(task.parts)]
    yield WAYS[0], learn(task, lambda moves, _: moves[0], whole)
    yield WAYS[1], learn(task, lambda moves, _: moves.mean(0))


# ---------------------------------------------------------------- output --

class Row(NamedTuple):
    """One run. eps is what the run may spend on a link, and server what the
    server learns of the worst client, over all rounds."""

    model: str
    shards: str
    eps: float
    way: str
    server: float
    accuracy: list[float]


def run(data: Data, models: dict, eps: list[float], rounds: int,
        **options) -> list[Row]:
    rows = []
    for model, kind in models.items():
        for cut in ("iid", "two classes"):
            task = Task(data, kind, shards(data, cut, np.random.default_rng(7)),
                        rounds, **options)
            for way, found in bounds(task):
                rows.append(Row(model, cut, np.inf, way, np.inf, found))
            for budget in eps:
                server = 0.0
                for way, found, plan in ways(task, budget):
                    server = pricer.Accountant(plan, "server").compose(
                        rounds).get_epsilon(DELTA)
                    rows.append(Row(model, cut, budget, way, server, found))
                print(f"{model}, {cut}, eps = {budget:g}: done",
                      file=sys.stderr)
    return rows


def table(rows: list[Row]) -> Iterator[str]:
    """Accuracy after the last round, a line for each model, shards and eps."""
    yield ("| model | shards | eps of a link, whole run | eps of the server | "
           + " | ".join(WAYS) + " |")
    yield "|---" * (4 + len(WAYS)) + "|"
    cells = {(r.model, r.shards, r.eps, r.way): r for r in rows}
    for model, cut, eps in dict.fromkeys(
            (r.model, r.shards, r.eps) for r in rows if np.isfinite(r.eps)):
        shown = [cells[model, cut, np.inf if way in WAYS[:2] else eps, way]
                 for way in WAYS]
        yield (f"| {model} | {cut} | {eps:g} | {shown[3].server:.0f} | "
               + " | ".join(f"{r.accuracy[-1]:.3f}" for r in shown) + " |")


def write_csv(rows: list[Row], path: str) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["model", "shards", "eps", "way", "server_eps", "round",
                      "accuracy"])
        for row in rows:
            for number, value in enumerate(row.accuracy, 1):
                out.writerow([row.model, row.shards, row.eps, row.way,
                              row.server, number, value])


def draw(rows: list[Row], path: str) -> bool:
    """Accuracy against eps and against rounds; False without Matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "pricer", "font.size": 8})
    from matplotlib import pyplot

    model = rows[0].model
    eps = sorted({r.eps for r in rows if np.isfinite(r.eps)})
    shown = eps[len(eps) // 2]
    figure, axes = pyplot.subplots(2, 2, figsize=(8, 6), sharey=True)
    for line, cut in enumerate(("iid", "two classes")):
        mine = [r for r in rows if (r.model, r.shards) == (model, cut)]
        for colour, way in enumerate(WAYS):
            over = [r for r in mine if r.way == way]
            last = {r.eps: r.accuracy[-1] for r in over}
            flat = last.get(np.inf)
            axes[line, 0].plot(eps, [last.get(e, flat) for e in eps],
                               "--" if flat else ".-", color=f"C{colour}",
                               label=way)
            for r in over:
                if r.eps in (shown, np.inf):
                    axes[line, 1].plot(range(1, len(r.accuracy) + 1),
                                       r.accuracy, color=f"C{colour}")
        axes[line, 0].set(xscale="log", xlabel="eps of a link, whole run",
                          ylabel=f"accuracy, {cut}")
        axes[line, 1].set(xlabel=f"round, at eps = {shown:g}")
    axes[0, 0].legend()
    figure.suptitle(model)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", metavar="FOLDER",
                        help="Fashion-MNIST's four .gz files")
    parser.add_argument("--synthetic", action="store_true",
                        help="small made-up data instead")
    parser.add_argument("--to", default=".", metavar="FOLDER",
                        help="where the table and the figure go")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--side", type=int, default=7,
                        help="images as so many means a side (7)")
    parser.add_argument("--eps", type=float, nargs="+",
                        default=[3, 30, 300, 3000])
    ask = parser.parse_args()
    if (ask.data is None) == (not ask.synthetic):
        parser.error("either --data FOLDER or --synthetic")
    started = time.time()
    if ask.synthetic:
        data = synthetic_data(np.random.default_rng(3))
        models = {"softmax regression": Softmax(data.images.shape[1])}
    else:
        data = read_data(ask.data, ask.side)
        models = {"softmax regression": Softmax(data.images.shape[1]),
                  "network": Network(data.images.shape[1])}
    rows = run(data, models, ask.eps, ask.rounds)
    os.makedirs(ask.to, exist_ok=True)
    write_csv(rows, os.path.join(ask.to, "federated.csv"))
    drawn = draw(rows, os.path.join(ask.to, "federated.svg"))
    print("\n".join(table(rows)))
    print(f"{ask.rounds} rounds, delta = {DELTA:g}, every packet counted as "
          f"heard; {time.time() - started:.0f} s"
          + ("" if drawn else "; no figure without Matplotlib"),
          file=sys.stderr)


if __name__ == "__main__":
    main()
