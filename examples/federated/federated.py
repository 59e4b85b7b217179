#!/usr/bin/env python3
"""Federated learning over links that come and go, within a budget for the run.

    examples/federated/federated.py --data FOLDER [--to FOLDER]
    examples/federated/federated.py --sample
    examples/federated/federated.py --synthetic
    examples/federated/federated.py --daemons [--data FOLDER]

Ten clients hold shards of Fashion-MNIST (FOLDER has its four files): alike
(iid), or two classes each. In every round each client trains on its own shard
and sends how its model moved, cut to the radius, through the network of
network.yaml, and the server moves the common model by the estimate of the mean.
eps is what a client's neighbour, or the server of its own part, may learn about
all of the client's data over all rounds, at delta = 1e-5.

With --daemons one run goes through a pricer-server and ten pricer-nodes on this
machine (daemons.py): until the nodes' ledgers say that the budgets are spent.

Prints the test accuracy of each way to learn (over some runs, with its deviation
from run to run), and writes federated.csv and, where Matplotlib is there,
federated.svg. NumPy is all it needs besides pricer.
"""
from __future__ import annotations

import argparse
import csv
import gzip
import os
import shutil
import sys
import time
from typing import Callable, Iterator, NamedTuple, Optional

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "python"))
import numpy as np  # noqa: E402
import daemons  # noqa: E402
import pricer  # noqa: E402

CLIENTS, CLASSES, DELTA = 10, 10, 1e-5
WAYS = ("centralised", "perfect links", "no collaboration", "PriCER")


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


def sample_data(side: int) -> Data:
    """The thousand images that come with pricer: 800 to learn from, 200 to
    test."""
    images, labels = (
        read_idx(os.path.join(ROOT, "data", f"shapes-1000-{name}"))
        for name in ("images-idx3-ubyte.gz", "labels-idx1-ubyte.gz"))
    rows, labels = features(images, side), labels.astype(int)
    return Data(rows[:800], labels[:800], rows[800:], labels[800:])


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
    repeat: int = 1  # runs, with seeds from this one on


def repeated(task: Task, once: Callable[[Task], list[float]]) -> np.ndarray:
    """Accuracy after every round, a row for each run."""
    return np.array([once(task._replace(seed=task.seed + k))
                     for k in range(task.repeat)])


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


SCENARIO = os.path.join(HERE, "network.yaml")


def changes(task: Task, eps: float) -> dict:
    """What the scenario says anew: one eps for everyone, over all rounds."""
    return {"dimension": task.kind.size, "radius": task.radius,
            "trust.eps": eps, "trust.self.eps": eps, "trust.delta": DELTA,
            "rounds": task.rounds}


def network(task: Task, eps: float) -> pricer.Network:
    """The clients' network."""
    return pricer.Network.from_scenario(SCENARIO, changes(task, eps))


def ways(task: Task, eps: float) -> Iterator[tuple[str, np.ndarray,
                                                   pricer.Plan]]:
    """Learn over the network without relaying, and with it."""
    net = network(task, eps)
    plans = (pricer.baseline(net, "best"), pricer.plan(net))
    for name, plan in zip(WAYS[2:], plans):
        def once(run: Task, plan=plan) -> list[float]:
            rounds = pricer.Rounds(plan, seed=run.seed, decoder="constant")
            return learn(run, lambda moves, t: rounds.play(moves, t).estimate)
        yield name, repeated(task, once), plan


def through_daemons(task: Task, eps: float, programs: str,
                    *more: str) -> tuple[daemons.Learnt, pricer.Plan]:
    """Learn with PriCER's plan through a server and ten nodes."""
    plan = pricer.plan(network(task, eps))
    found = daemons.learn(
        plan, SCENARIO, changes(task, eps), programs,
        task.kind.start(np.random.default_rng(task.seed)),
        lambda model, t, client: moved(task, model, task.parts[client], t,
                                       client),
        lambda model: accuracy(task.kind, model, task.data), task.rounds, None,
        *more)
    return found, plan


def bounds(task: Task) -> Iterator[tuple[str, np.ndarray]]:
    """What no network and no privacy would give."""
    whole = [np.concatenate(task.parts)]
    yield WAYS[0], repeated(task, lambda run: learn(
        run, lambda moves, _: moves[0], whole))
    yield WAYS[1], repeated(task, lambda run: learn(
        run, lambda moves, _: moves.mean(0)))


# ---------------------------------------------------------------- output --

class Row(NamedTuple):
    """The runs of one way. eps is what a run may spend on a link, and server
    what the server learns of the worst client, over all rounds."""

    model: str
    shards: str
    eps: float
    way: str
    server: float
    accuracy: np.ndarray  # runs by rounds

    @property
    def last(self) -> float:
        """After the last round, on average over the runs."""
        return float(self.accuracy[:, -1].mean())

    @property
    def spread(self) -> float:
        """The standard deviation of that from run to run."""
        return float(self.accuracy[:, -1].std(ddof=min(1, len(
            self.accuracy) - 1)))


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
                    server = pricer.Accountant(plan, "server").get_epsilon(
                        DELTA)
                    rows.append(Row(model, cut, budget, way, server, found))
                print(f"{model}, {cut}, eps = {budget:g}: done",
                      file=sys.stderr)
    return rows


def table(rows: list[Row]) -> Iterator[str]:
    """Accuracy after the last round and how much it differs from run to run, a
    line for each model, shards and eps."""
    yield ("| model | shards | eps of a link, whole run | eps of the server | "
           + " | ".join(WAYS) + " |")
    yield "|---" * (4 + len(WAYS)) + "|"
    cells = {(r.model, r.shards, r.eps, r.way): r for r in rows}
    for model, cut, eps in dict.fromkeys(
            (r.model, r.shards, r.eps) for r in rows if np.isfinite(r.eps)):
        shown = [cells[model, cut, np.inf if way in WAYS[:2] else eps, way]
                 for way in WAYS]
        yield (f"| {model} | {cut} | {eps:g} | {shown[3].server:.0f} | "
               + " | ".join(f"{r.last:.2f} ({r.spread:.2f})" for r in shown)
               + " |")


def write_csv(rows: list[Row], path: str) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["model", "shards", "eps", "way", "server_eps", "run",
                      "round", "accuracy"])
        for row in rows:
            for (k, t), value in np.ndenumerate(row.accuracy):
                out.writerow([row.model, row.shards, row.eps, row.way,
                              row.server, k + 1, t + 1, value])


def draw(rows: list[Row], path: str) -> bool:
    """Accuracy against eps and against rounds; False without Matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "pricer", "font.size": 8})
    from matplotlib import pyplot

    models = list(dict.fromkeys(r.model for r in rows))
    figure, axes = pyplot.subplots(2, 2 * len(models), sharey=True,
                                   squeeze=False,
                                   figsize=(1 + 3.2 * len(models), 5))
    for column, model in enumerate(models):
        for line, cut in enumerate(("iid", "two classes")):
            draw_pair(axes[line, 2 * column:2 * column + 2],
                      [r for r in rows if (r.model, r.shards) == (model, cut)])
            axes[line, 0].set(ylabel=f"accuracy, {cut}")
        axes[0, 2 * column].set(title=model)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="lower center",
                  ncols=len(WAYS))
    figure.savefig(path, metadata={"Date": None})
    return True


def draw_pair(axes: np.ndarray, rows: list[Row]) -> None:
    """Accuracy against eps, and against rounds at the eps in the middle, on
    average over the runs."""
    eps = sorted({r.eps for r in rows if np.isfinite(r.eps)})
    shown = eps[len(eps) // 2]
    for colour, way in enumerate(WAYS):
        over = [r for r in rows if r.way == way]
        last = {r.eps: r.last for r in over}
        flat = last.get(np.inf)
        axes[0].plot(eps, [last.get(e, flat) for e in eps],
                     "--" if flat else ".-", color=f"C{colour}", label=way)
        for r in over:
            if r.eps in (shown, np.inf):
                axes[1].plot(range(1, r.accuracy.shape[1] + 1),
                             r.accuracy.mean(0), color=f"C{colour}")
    axes[0].set(xscale="log", xlabel="eps of a link, whole run")
    axes[1].set(xlabel=f"round, at eps = {shown:g}")


def find_programs() -> str:
    """The folder of pricer-server and pricer-node: the build, or an installed
    one."""
    for folder in (os.path.join(ROOT, "build"),
                   os.path.dirname(shutil.which("pricer-node") or "")):
        if folder and os.path.exists(os.path.join(folder, "pricer-node")):
            return folder
    sys.exit("federated.py: there is no pricer-node; ./run build makes it")


def run_daemons(data: Data, eps: list[float], rounds: int,
                repeat: int) -> None:
    """Runs for each eps, with what the ledgers have to say, and the same in this
    process with noise that is as real."""
    kind = Softmax(data.images.shape[1])
    print("| shards | eps of a link, whole run | rounds | releases in the "
          "ledgers | nodes spent | daemons | in process |\n" + "|---" * 7 + "|")
    for cut in ("iid", "two classes"):
        task = Task(data, kind, shards(data, cut, np.random.default_rng(7)),
                    rounds, repeat=repeat)
        for budget in eps:
            found, inside = [], []
            for _ in range(repeat):
                learnt, plan = through_daemons(task, budget, find_programs())
                found.append(learnt)
                play = pricer.Rounds(plan, secret=True,
                                     decoder="constant").play
                inside.append(learn(task, lambda moves, t: play(
                    moves, t).estimate))
            shown = [Row("", cut, budget, "", 0, np.array(runs)) for runs in (
                [learnt.accuracy for learnt in found], inside)]
            releases = max(max(learnt.releases) for learnt in found)
            spent = min(learnt.spent for learnt in found)
            print(f"| {cut} | {budget:g} | {rounds} | {releases} | {spent} of "
                  f"{CLIENTS} | " + " | ".join(
                      f"{row.last:.2f} ({row.spread:.2f})" for row in shown)
                  + " |", flush=True)
    print(f"The server asked for {daemons.MORE} rounds more; the nodes had "
          "spent their budgets and sent nothing.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", metavar="FOLDER",
                        help="Fashion-MNIST's four .gz files")
    parser.add_argument("--sample", action="store_true",
                        help="the thousand images that come with pricer")
    parser.add_argument("--synthetic", action="store_true",
                        help="small made-up data instead")
    parser.add_argument("--daemons", action="store_true",
                        help="through a server and ten nodes; by default with "
                        "--sample, 10 rounds, eps 100 1000")
    parser.add_argument("--to", default=".", metavar="FOLDER",
                        help="where the table and the figure go")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--repeat", type=int, default=4,
                        help="runs with other links, noise and batches (4)")
    parser.add_argument("--side", type=int, default=7,
                        help="images as so many means a side (7)")
    parser.add_argument("--eps", type=float, nargs="+")
    ask = parser.parse_args()
    ask.sample = ask.sample or (ask.daemons and not ask.data
                                and not ask.synthetic)
    if (ask.data is not None) + ask.sample + ask.synthetic != 1:
        parser.error("one of --data FOLDER, --sample and --synthetic")
    started = time.time()
    data = (synthetic_data(np.random.default_rng(3)) if ask.synthetic else
            sample_data(ask.side) if ask.sample else
            read_data(ask.data, ask.side))
    if ask.daemons:
        run_daemons(data, ask.eps or [100, 1000], ask.rounds or 10, ask.repeat)
        return
    models = {"softmax regression": Softmax(data.images.shape[1])}
    if not ask.synthetic:
        models["network"] = Network(data.images.shape[1])
    ask.rounds = ask.rounds or 30
    rows = run(data, models, ask.eps or [3, 30, 300, 3000], ask.rounds,
               repeat=ask.repeat)
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
