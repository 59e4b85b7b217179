"""Accounts of privacy: what every observer learns from a plan, proved."""
from __future__ import annotations

import inspect
from typing import Any, Iterable, Mapping, NamedTuple, Optional, Union

import numpy as np

from ._library import (Progress, ValueFault, Watch, address, call, ffi,
                       find_word, given, layout, lib, refuse, struct, view,
                       word)
from .forwarding import ForwardPlan
from .planning import Plan

STATEMENT = layout("struct pricer_statement")


class PaperBound(NamedTuple):
    """The paper's bound for a statement in one round: as printed, with whether
    that is a guarantee and why; and corrected, which always is. At a relay also
    delta', zeta and r as printed and corrected, else NaN."""

    printed: float
    corrected: float
    reason: str
    guarantee: bool
    delta_prime: float
    zeta: float
    r_printed: float
    r_corrected: float


class Statements:
    """One answer for each link (link, relay) or node (server, coalition).

    Seen by the observer, what node[k] holds is (eps[k], delta[k])-private; the
    observer is at[k], or -1: the server or a coalition. For the same delta no
    eps below eps_lower[k] holds, or could come out of this account, if not
    exact[k]. The arrays are views of `table`, a structured array.
    """

    def __init__(self, plan: Union[Plan, ForwardPlan],
                 table: np.ndarray) -> None:
        self.plan = plan
        self.table = table

    def __getattr__(self, name: str) -> np.ndarray:
        if name in STATEMENT.names:
            return self.table[name]
        raise AttributeError(name)

    def __reduce__(self) -> Any:
        return Statements, (self.plan, self.table)

    def __repr__(self) -> str:
        seen = ", ".join(word("observer", value)
                         for value in np.unique(self.observer))
        return (f"<pricer.Statements: {len(self)}, seen by {seen or 'nobody'}, "
                f"eps up to {self.worst:.6g}>")

    def __len__(self) -> int:
        return len(self.table)

    @property
    def worst(self) -> float:
        """The largest eps."""
        return float(self.table["eps"].max(initial=0.0))

    def paper(self, index: int, delta_prime: float = 0.0) -> PaperBound:
        """The paper's bound for one of the statements; delta_prime is its
        delta', 0: half of the delta. It has none for forwarding."""
        if isinstance(self.plan, ForwardPlan):
            raise ValueFault("the paper has no bounds for releases that are "
                             "forwarded")
        statement = ffi.from_buffer("struct pricer_statement[]",
                                    self.table[index:index + 1])
        out = ffi.new("struct pricer_paper_bound *")
        call(lib.pricer_privacy_paper, self.plan.network._c, self.plan._c,
             statement, delta_prime, out)
        return PaperBound(out.printed, out.corrected,
                          ffi.string(out.reason).decode(), out.guarantee,
                          out.delta_prime, out.zeta, out.r_printed,
                          out.r_corrected)

    def to_pandas(self) -> Any:
        """The table as a pandas.DataFrame, with words for enumerations."""
        import pandas

        frame = pandas.DataFrame(
            {name: self.table[name] for name in STATEMENT.names})
        for name in ("observer", "protect"):
            frame[name] = [word(name, value) for value in frame[name]]
        return frame


def _check_question(plan: Plan, observer: Optional[str], protect: str,
                    members: Iterable[int], relays: str,
                    eavesdropper: Optional[str]) -> np.ndarray:
    """Refuse what no account can be asked about; the members of a coalition."""
    for name, value in (("observer", observer), ("protect", protect),
                        ("relays", relays), ("eavesdropper", eavesdropper)):
        if value is not None:
            find_word(name, value)
    team, nodes = given(list(members), "i4", name="members"), plan.network.nodes
    refuse("members", team, (team < 0) | (team >= nodes),
           f"is no node: the nodes are 0 to {nodes - 1}")
    return team


_ASKED_OF_SUMS = {"eavesdropper": "radio", "members": (),
                  "with_server": False, "with_reader": False, "relays": "sums",
                  "decodes": None}


def _refuse_sums(asked: Mapping[str, Any]) -> None:
    """Refuse what is not asked of plans of forwarding."""
    if asked["observer"] not in (None, "everyone"):
        raise ValueFault(f"observer = {asked['observer']!r}: with forwarding "
                         "everyone sees the same, observer is 'everyone'")
    if asked["protect"] != "data":
        raise ValueFault(f"protect = {asked['protect']!r}: forwarding does not "
                         "hide who takes part")
    for name, default in _ASKED_OF_SUMS.items():
        if asked[name] != default:
            raise ValueFault(f"{name} = {asked[name]!r} belongs to 'scheme: sum', "
                             "and the plan has 'scheme: forward'")


def _account_forward(plan: ForwardPlan, delta: float, rounds: Optional[int],
                     threads: int, progress: Progress) -> "Statements":
    watch = Watch(progress)
    question = struct("question", {
        "observer": lib.PRICER_OBSERVER_EVERYONE, "delta": delta,
        "eavesdropper": lib.PRICER_RADIO, "relays": lib.PRICER_RELAYS_SHARES,
        "rounds": plan.settings.rounds if rounds is None else rounds,
        "threads": threads, "watch": watch.pointer})
    out = ffi.new("struct pricer_statement **")
    watch.call(lib.pricer_forward_privacy_account, plan.network._c, plan._c,
               question, out)
    owner = ffi.gc(out[0], lib.pricer_statements_free)
    return Statements(plan, view(owner, owner, plan.nodes, STATEMENT))


def privacy(plan: Union[Plan, ForwardPlan], observer: Optional[str] = None, protect: str = "data", *,
            delta: float = 0.0, rounds: Optional[int] = None,
            eavesdropper: str = "radio", members: Iterable[int] = (),
            with_server: bool = False, with_reader: bool = False,
            relays: str = "sums", decodes: Optional[bool] = None,
            threads: int = 0, progress: Progress = None) -> Statements:
    """Account for every link, relay or node that an observer looks at.

    observer is "link" (the default), "relay" (the default for identities),
    "server", "reader" (of the estimate),
    "listener" (hears all that a node sends) or "coalition" (its members, perhaps
    with_server or with_reader). relays see "sums" or, as in a fleet, "shares".
    With decodes the estimate may be any function of the sums and the reader's
    number is the server's; without, it is their sum, and noise in sums without
    a node's data counts; by default it is as the plan has a decoder or has not.
    protect is "data" or, of a relay, "identity". delta 0 is each
    statement's own. rounds are those of the plan if not given. The eavesdropper
    is "radio" (every packet is heard, as budgets count) or "receiver" (what is
    lost is lost). Of a plan of forwarding the observer is "everyone", there is one
    statement a node, and only delta and rounds are asked for.
    """
    if isinstance(plan, ForwardPlan):
        _refuse_sums({name: value for name, value in locals().items()})
        return _account_forward(plan, delta, rounds, threads, progress)
    if observer is None:
        observer = "relay" if protect == "identity" else "link"
    team = _check_question(plan, observer, protect, members, relays,
                           eavesdropper)
    if decodes is None:  # nobody else looks at the estimate
        decodes = not (observer == "reader" or with_reader) or (
            plan._decodes or plan.decoder is not None)
    watch = Watch(progress)
    held = address(team, "int32_t[]")
    question = ffi.new("struct pricer_question *", {
        "observer": find_word("observer", observer),
        "protect": find_word("protect", protect),
        "eavesdropper": find_word("eavesdropper", eavesdropper),
        "delta": delta,
        "rounds": plan.settings.rounds if rounds is None else rounds,
        "members": held if team.size else ffi.NULL, "member_count": team.size,
        "with_server": with_server, "with_reader": with_reader,
        "relays": find_word("relays", relays),
        "decodes": decodes, "threads": threads,
        "watch": watch.pointer})
    out = ffi.new("struct pricer_statement **")
    count = ffi.new("int64_t *")
    watch.call(lib.pricer_privacy_account, plan.network._c, plan._c, question,
               out, count)
    owner = ffi.gc(out[0], lib.pricer_statements_free)
    return Statements(plan, view(owner, owner, count[0], STATEMENT))


class Accountant:
    """Compose rounds of a plan, for any observer:

        accountant = pricer.Accountant(plan, observer="server")
        eps = accountant.get_epsilon(delta=1e-5)  # of all the plan's rounds
        accountant.compose(100)                   # and a hundred more

    It starts with the rounds that the plan is made for, or with `rounds`. Rounds
    of one plan compose in one account of all that they show, not by a sum of
    bounds. Other keywords are those of privacy(). Numbers are of the worst node.
    Of a plan of forwarding the observer is "everyone": all who see any number of
    copies of a node's releases.
    """

    def __init__(self, plan: Union[Plan, ForwardPlan],
                 observer: Optional[str] = None, *,
                 rounds: Optional[int] = None, **question: Any) -> None:
        if "delta" in question:
            raise TypeError("delta is an argument of get_epsilon()")
        forward = isinstance(plan, ForwardPlan)
        observer = observer or ("everyone" if forward else "server")
        asked = inspect.signature(privacy).bind(plan, observer, **question)
        asked.apply_defaults()
        _check_question(*(asked.arguments[name] for name in (
            "plan", "observer", "protect", "members", "relays",
            "eavesdropper")))
        if forward:
            _refuse_sums(asked.arguments)
        self.plan = plan
        self.rounds = 0
        self.compose(plan.settings.rounds if rounds is None else rounds)
        self._question = dict(question, observer=observer)

    def compose(self, rounds: int = 1) -> "Accountant":
        """Count that many more rounds."""
        if rounds != int(rounds) or rounds < 0:
            raise ValueFault(f"rounds = {rounds} cannot be added")
        self.rounds += int(rounds)
        return self

    def __repr__(self) -> str:
        more = "".join(f", {name}={value!r}"
                       for name, value in self._question.items())
        return f"<pricer.Accountant of {self.rounds} round(s){more}>"

    def statements(self, delta: float) -> Statements:
        """What is proved for every link or node after the rounds so far."""
        return privacy(self.plan, rounds=self.rounds, delta=delta,
                       **self._question)

    def get_epsilon(self, delta: float) -> float:
        """The eps that holds for all at this delta; 0 where no round is."""
        if delta == 0 and isinstance(self.plan, ForwardPlan) and self.rounds:
            return max(law.epsilon(0, self.rounds)
                       for law in self.plan._laws())
        return self.statements(delta).worst if self.rounds else 0.0

    def get_delta(self, eps: float) -> float:
        """A delta that holds for all at this eps: less than 1 % above the least
        that the account proves, or 1e-290 where that is less; 1 if none is. Of
        forwarding the least itself."""
        if isinstance(self.plan, ForwardPlan) and self.rounds:
            return max(law.delta(eps, self.rounds)
                       for law in self.plan._laws())
        if self.rounds == 0 or self.get_epsilon(1e-290) <= eps:
            return 0.0 if self.rounds == 0 else 1e-290
        low, high = -300.0, 0.0  # powers of 10: low does not hold, high does
        while high - low > 0.004:
            middle = (low + high) / 2
            if self.get_epsilon(10.0 ** middle) <= eps:
                high = middle
            else:
                low = middle
        return 10.0 ** high
