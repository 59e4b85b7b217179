"""Studies: a network and everything learnt about it, in one file."""
from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Mapping, Optional, Union

import numpy as np

from ._library import (Fault, MemoryFault, Progress, StoppedFault, ValueFault,
                       Watch, call, ffi, find_word, lib, struct, word)
from .decoding import Decoder, choose_decoder
from .forwarding import ForwardPlan
from .network import Network, Scenario, Settings
from .planning import Plan

try:
    import pandas
except ImportError:
    pandas = None  # tables are dictionaries of arrays then


class Study:
    """An open study; a context manager that closes it.

        with pricer.open_study("ten.pricer") as study:
            plan = study.plan()
            rounds = study.table("round")
    """

    def __init__(self, path: Union[str, Path], writable: bool = False) -> None:
        out = ffi.new("struct pricer_study **")
        call(lib.pricer_study_open, str(path).encode(), writable, out)
        self.path = str(path)
        self._c = ffi.gc(out[0], lib.pricer_study_close)

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a Study is an open file and is not pickled: pickle its "
                        "path, or its network and plans")

    def __repr__(self) -> str:
        return (f"<pricer.Study {self.path!r}"
                f"{', closed' if self._c is None else ''}>")

    def close(self) -> None:
        """Close the file; the study is not to be used any more."""
        if self._c is not None:
            ffi.release(self._c)
            self._c = None

    def _settings(self) -> tuple[Settings, int]:
        settings = ffi.new("struct pricer_settings *")
        seed = ffi.new("int64_t *")
        call(lib.pricer_study_settings, self._c, settings, seed)
        found = Settings._read(settings)
        if self.scheme == "forward":
            forward = ffi.new("struct pricer_forward_settings *")
            call(lib.pricer_study_forward_settings, self._c, forward)
            found = found._with_forward(forward)
        return found, seed[0]

    @property
    def scheme(self) -> str:
        """The scheme of its plans, "sum" or "forward"."""
        scheme = ffi.new("enum pricer_scheme *")
        call(lib.pricer_study_scheme, self._c, scheme)
        return word("scheme", scheme[0])

    @property
    def settings(self) -> Settings:
        """What the scenario asked of the planner."""
        return self._settings()[0]

    @property
    def seed(self) -> int:
        """The scenario's seed."""
        return self._settings()[1]

    @property
    def scenario(self) -> str:
        """The text of the scenario."""
        out = ffi.new("char **")
        call(lib.pricer_study_scenario, self._c, out)
        text = ffi.string(out[0]).decode()
        lib.pricer_study_text_free(out[0])
        return text

    @property
    def network(self) -> Network:
        """The network of the scenario."""
        out = ffi.new("struct pricer_network **")
        call(lib.pricer_study_network, self._c, out)
        return Network(out[0], *self._settings())

    def plan(self, number: int = 0) -> Union[Plan, ForwardPlan]:
        """A plan by its number, or the latest, with the network that it was
        made for, its settings and the decoder that is stored with it."""
        if self.scheme == "forward":
            return self._forward_plan(number)
        network = ffi.new("struct pricer_network **")
        plan = ffi.new("struct pricer_plan **")
        record = ffi.new("struct pricer_plan_record *")
        call(lib.pricer_study_plan, self._c, number, network, plan, record)
        settings = Settings._read(record.settings)
        found = Plan(plan[0], Network(network[0], settings, self.seed),
                     settings)
        found.number = record.id
        found.decoder = self.decoder(found)
        return found

    def _forward_plan(self, number: int) -> ForwardPlan:
        plan = ffi.new("struct pricer_forward_plan **")
        record = ffi.new("struct pricer_forward_record *")
        call(lib.pricer_study_forward_plan, self._c, number, plan, record)
        network = self.network
        asked = record.settings
        found = ForwardPlan(plan[0], network, network.settings.replace(
            rounds=max(asked.rounds, 1), hops=asked.hops,
            release=word("release", asked.release)))
        found.number = record.id
        return found

    def decoder(self, plan: Plan) -> Optional[Decoder]:
        """The decoder that is stored with a plan of this study, or None."""
        out = ffi.new("struct pricer_decoder **")
        call(lib.pricer_study_decoder, self._c, plan.number, plan.network._c,
             out)
        return Decoder(out[0], plan) if out[0] != ffi.NULL else None

    def add_plan(self, plan: Union[Plan, ForwardPlan],
                 decoder: Union[None, str, Decoder] = None) -> int:
        """Store a plan for the study's network; its number. decoder is stored
        with it: None is the plan's own, "constant" is none."""
        if isinstance(plan, ForwardPlan):
            return self._add_forward_plan(plan)
        decoder = choose_decoder(plan, decoder)
        error, bound, gap = plan.error, np.nan, np.nan
        if plan.info:
            bound, gap = max(plan.info.bound, 0), max(plan.info.gap, 0)
        record = struct("plan_record", {
            "settings": plan.settings._struct()[0],
            "method": find_word("method", "exact" if plan.info else "given"),
            "tolerance": plan.settings.tolerance or 1e-8,
            "bound": bound, "gap": gap,
            "iterations": plan.info.iterations if plan.info else 0,
            "decoder": decoder._c if decoder else ffi.NULL,
            **error._asdict()})
        number = ffi.new("int64_t *")
        call(lib.pricer_study_add_plan, self._c, plan.network._c, plan._c,
             record, number)
        plan.number = number[0]
        return number[0]

    def _add_forward_plan(self, plan: ForwardPlan) -> int:
        if plan.nodes != self.tables()["node"] or self.scheme != "forward":
            raise ValueFault("the plan is not for the network of the study")
        record = struct("forward_record", {
            "settings": plan.settings._forward(plan.network.seed)[0],
            "made": int(time.time())})
        number = ffi.new("int64_t *")
        call(lib.pricer_study_add_forward_plan, self._c, plan._c, record,
             number)
        plan.number = number[0]
        return number[0]

    def tables(self) -> dict[str, int]:
        """The names of all tables, with how many rows each has."""
        out = ffi.new("struct pricer_table **")
        count = ffi.new("int32_t *")
        call(lib.pricer_study_tables, self._c, out, count)
        found = {ffi.string(out[0][k].name).decode(): out[0][k].rows
                 for k in range(count[0])}
        lib.pricer_tables_free(out[0], count[0])
        return found

    def table(self, name: str) -> Any:
        """A table as a pandas.DataFrame, or a dictionary of arrays where there
        is no pandas. docs/study.md says what the columns mean."""
        names: list[str] = []
        rows: list[list[Any]] = []
        watch = Watch(None)

        def columns(_context: Any, texts: Any, count: int) -> bool:
            names.extend(ffi.string(texts[k]).decode() for k in range(count))
            return True

        def row(_context: Any, cells: Any, count: int) -> bool:
            rows.append([_value(cells[k]) for k in range(count)])
            return True

        def failed(_kind: Any, error: BaseException, _trace: Any) -> bool:
            watch.error = error
            return False

        visitor = ffi.new("struct pricer_visitor *")
        kept = (ffi.callback("bool(void *, char *const *, int32_t)", columns,
                             error=False, onerror=failed),
                ffi.callback("bool(void *, struct pricer_cell *, int32_t)", row,
                             error=False, onerror=failed))
        visitor.columns = ffi.cast(
            ffi.typeof(visitor.columns), kept[0])
        visitor.row = ffi.cast(ffi.typeof(visitor.row), kept[1])
        watch.call(lib.pricer_study_visit, self._c, name.encode(), visitor)
        table = {title: np.array([row[k] for row in rows])
                 for k, title in enumerate(names)}
        return pandas.DataFrame(table) if pandas else table


def _value(cell: Any) -> Any:
    """A cell as Python has it; bytes are not handed out, nor is what is empty."""
    if cell.kind == lib.PRICER_CELL_COUNT:
        return cell.count
    if cell.kind == lib.PRICER_CELL_NUMBER:
        return cell.number
    if cell.kind == lib.PRICER_CELL_TEXT:
        return ffi.string(cell.text).decode("utf-8", "replace")
    return None


def open_study(path: Union[str, Path], writable: bool = False) -> Study:
    """Open a study, to read or to add to it."""
    return Study(path, writable)


def new_study(path: Union[str, Path], scenario: Union[str, Path],
              overrides: Optional[Mapping[str, Any]] = None, *,
              replace: bool = False, progress: Progress = None) -> Study:
    """Make a study of a scenario file, as `pricer new` does, and open it."""
    read = Scenario(scenario, overrides)
    network = read.network(progress)
    watch = Watch(progress)
    watch.call(lib.pricer_study_create, str(path).encode(), replace, read._c,
               network._c, watch.pointer)
    return Study(path, writable=True)
