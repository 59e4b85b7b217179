"""The same learning between processes: a pricer-server and ten pricer-nodes on
this machine, and for each node a client that has its shard and takes part
through pricer.Participant.

The plan, and with it every node's trust file, has budgets for so many rounds
and not for one more; the server asks for more, and the nodes' ledgers say no.
Links are lost as network.yaml says (--emulate); noise is the operating
system's.
"""
from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from typing import Any, Callable, NamedTuple, Optional

import numpy as np
import pricer

MORE = 3  # rounds that the server asks for beyond the budgets


class Learnt(NamedTuple):
    """What a run of the daemons has come to."""

    accuracy: list[float]  # after every round
    models: list[np.ndarray]  # of the clients, in the end
    rounds: list[int]  # that client 0 had an estimate of
    spent: int  # clients that were told that their budgets are spent
    releases: list[int]  # of each node, the most to one receiver
    log: str  # of the server


def free_ports(count: int) -> list[int]:
    """Ports nobody listens on now; taken together, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Fleet:
    """Folders of all machines in one, and their processes; a context manager
    that stops what it has started."""

    def __init__(self, plan: pricer.Plan, scenario: str, changes: dict,
                 programs: str, decoder: Optional[pricer.Decoder]) -> None:
        self.programs, self.nodes = programs, plan.network.nodes
        self.seed = plan.network.seed
        self.processes: list[subprocess.Popen] = []
        self.folder = tempfile.mkdtemp(prefix="pricer-federated-")
        self.study = os.path.join(self.folder, "federated.pricer")
        with pricer.new_study(self.study, scenario, changes) as study:
            study.add_plan(plan, decoder or "constant")
        ports = free_ports(self.nodes + 1)
        addresses = os.path.join(self.folder, "addresses.csv")
        with open(addresses, "w", encoding="utf-8") as file:
            file.write("node,address\n" + "".join(
                f"{who},127.0.0.1:{port}\n" for who, port in
                zip(["server", *range(self.nodes)], ports)))
        self.run("pricer", "fleet", "--to", self.path(""), "--addresses",
                 addresses, self.study)

    def path(self, *names: str) -> str:
        return os.path.join(self.folder, "machines", *names)

    def feed(self, node: int) -> str:
        return self.path(f"node{node}", "feed")

    def run(self, program: str, *words: str) -> str:
        done = subprocess.run([os.path.join(self.programs, program), *words],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stderr.strip()}")
        return done.stdout

    def start(self, program: str, where: str, *words: str) -> subprocess.Popen:
        with open(self.path(where, "log"), "w", encoding="utf-8") as log:
            self.processes.append(subprocess.Popen(
                [os.path.join(self.programs, program), *words],
                cwd=self.path(where), stdin=subprocess.DEVNULL, stdout=log,
                stderr=log))
        return self.processes[-1]

    def start_node(self, node: int, *more: str) -> None:
        """With the vector from the feed, not from a file."""
        conf = self.path(f"node{node}", "node.conf")
        with open(conf, encoding="utf-8") as file:
            lines = [line for line in file
                     if line.split()[:1] not in (["data"], ["row"])]
        with open(conf, "w", encoding="utf-8") as file:
            file.writelines(lines + ["feed unix:feed\n"])
        self.start("pricer-node", f"node{node}", "--config", "node.conf",
                   "--emulate", self.study, "--seed", str(self.seed), *more)

    def start_server(self, rounds: int) -> subprocess.Popen:
        """A stage ends when everything is there, since all is on one machine."""
        return self.start(
            "pricer-server", "server", "--config", "server.conf", "--early",
            "--period", "0", "--send", "0", "--share", "30000", "--uplink",
            "60000", "--quorum", str(self.nodes), "--port", "0", "--rounds",
            str(rounds), "--readers", "all", "--emulate", "--seed",
            str(self.seed))

    def releases(self, node: int) -> int:
        """The most that a node's ledger has for one receiver."""
        shown = json.loads(self.run(
            "pricer-node", "--ledger-show", "--json", "--ledger",
            self.path(f"node{node}", "node.ledger")))
        return max((account["releases"] for account in shown["accounts"]),
                   default=0)

    def log(self, where: str) -> str:
        with open(self.path(where, "log"), encoding="utf-8") as file:
            return file.read()

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(self, *_: Any) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Client(threading.Thread):
    """One client: trains on its own shard in every round and moves its model by
    the estimate, which is the same for all."""

    def __init__(self, feed: str, model: np.ndarray,
                 move: Callable[[np.ndarray, int], np.ndarray],
                 look: Optional[Callable[[np.ndarray], float]] = None) -> None:
        super().__init__(daemon=True)
        self.node = pricer.Participant(feed, timeout=120).connect()
        self.model, self.move, self.look = model, move, look
        self.accuracy: list[float] = []
        self.rounds: list[int] = []
        self.spent, self.fault = False, ""

    def run(self) -> None:
        try:
            with self.node:
                self.learn()
        except pricer.NodeFault as fault:
            self.fault = str(fault)

    def learn(self) -> None:
        first = None
        for round in self.node:
            first = round.number if first is None else first
            step = self.move(self.model, round.number - first)
            try:
                self.model = self.model + round.submit(step)
                self.rounds.append(round.number)
            except pricer.NoEstimateFault:
                pass  # no sum with data arrived: the model stays
            if self.look:
                self.accuracy.append(self.look(self.model))
        self.spent = True


def learn(plan: pricer.Plan, scenario: str, changes: dict, programs: str,
          start: np.ndarray, move: Callable[[np.ndarray, int, int], np.ndarray],
          look: Callable[[np.ndarray], float], rounds: int,
          decoder: Optional[pricer.Decoder] = None, *more: str) -> Learnt:
    """Learn through the daemons; move(model, round, client) is how a client's
    model moves. `more` are options of the nodes."""
    with Fleet(plan, scenario, changes, programs, decoder) as fleet:
        for node in range(fleet.nodes):
            fleet.start_node(node, *more)
        clients = [
            Client(fleet.feed(node), start,
                   lambda model, t, node=node: move(model, t, node),
                   look if node == 0 else None)
            for node in range(fleet.nodes)]
        server = fleet.start_server(rounds + MORE)
        for client in clients:
            client.start()
        for client in clients:
            client.join(300)
        for node, client in enumerate(clients):
            if not client.spent:
                raise RuntimeError(f"client {node}: {client.fault}\n"
                                   + fleet.log(f"node{node}"))
        server.wait(60)
        return Learnt(clients[0].accuracy, [c.model for c in clients],
                      clients[0].rounds, sum(c.spent for c in clients),
                      [fleet.releases(node) for node in range(fleet.nodes)],
                      fleet.log("server"))
