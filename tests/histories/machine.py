"""Histories of two copies of a table: one library changes each, and both must stay the same.

Each step is done to both copies, by lance_core to one and by pylance to the other; from time to
time they exchange copies, so that each goes on with what the other left. After each step the rows,
schemas, row ids and versions of rows are compared with the model and between the copies.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import lance as pylance
import pyarrow as pa
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

import lance_core
from tests.histories.history import Copy, History
from tests.histories.model import KEY, RefusedError, State
from tests.histories.values import JSON, LIST, STRUCT, VECTOR, draw_rows
from tests.histories.verbs import columns, indices, misuse, reads, references, rows, versions
from tests.histories.verbs.base import Change, Read, Reference, Table, Verb

MEMORY = Path("/dev/shm")
SCHEMA = pa.schema(
    {
        KEY: pa.int64(),
        "n": pa.int32(),
        "S": pa.string(),
        "l": LIST,
        "p": STRUCT,
        "j": JSON,
        "v": VECTOR,
    }
)
VERBS: tuple[type[Verb], ...] = (
    *rows.VERBS,
    *columns.VERBS,
    *versions.VERBS,
    *indices.VERBS,
    *references.VERBS,
    *reads.VERBS,
    *misuse.VERBS,
)
ROW_VERSIONS = ["_row_created_at_version", "_row_last_updated_at_version"]


class Machine(RuleBasedStateMachine):
    """``file_version`` and ``stable`` (row ids) are set by subclasses."""

    file_version = "2.1"
    stable = False

    def __init__(self) -> None:
        super().__init__()
        memory = MEMORY if MEMORY.is_dir() else None
        self.folder = tempfile.mkdtemp(prefix="lance-history-", dir=memory)
        self.copies = [Copy(str(Path(self.folder, name))) for name in ("ours", "theirs")]
        self.history = History(self.file_version, self.stable, State(SCHEMA))

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @initialize(data=st.data(), limit=st.integers(1, 4))
    def create(self, data: st.DataObject, limit: int) -> None:
        history = self.history
        state = history.state = history.state.successor()
        state.origin = None
        state.add(draw_rows(data.draw, history, SCHEMA, most=6))
        for copy, library in zip(self.copies, (lance_core, pylance), strict=True):
            library.write_dataset(
                state.table(state.rows.values()),
                copy.uri,
                max_rows_per_file=limit,
                data_storage_version=self.file_version,
                enable_stable_row_ids=self.stable,
            )
        self.compare()

    def step(self, verb: type[Verb], data: st.DataObject, swapped: bool) -> None:
        """Does one step to both copies and to the model."""
        history = self.history
        call = verb.draw(data.draw, history)
        if call is None:
            return
        note(f"{'swapped: ' if swapped else ''}{call}")
        if isinstance(call, Change):
            self.change(call, swapped)
        elif isinstance(call, Reference):
            first, second = self.results(call, swapped)
            same("result", first, second)
            call.refer(self.history, first)
            self.compare()
        elif isinstance(call, Read):
            for copy, found in zip(self.copies, self.results(call, swapped), strict=True):
                same("result", found, call.expected(copy, history.state))

    def results(self, call: Verb, swapped: bool, refused: bool = False) -> list[Any]:
        """What a step gives with either copy."""
        libraries = (pylance, lance_core) if swapped else (lance_core, pylance)
        found = [
            outcome(call, Table(library, copy.uri, self.history.state.branch))
            for copy, library in zip(self.copies, libraries, strict=True)
        ]
        for each in found:
            if isinstance(each, BaseException) is not refused:
                raise AssertionError(f"{found}") from (None if refused else each)
        return found

    def change(self, call: Change, swapped: bool) -> None:
        """Makes the next version, unless both libraries refuse to."""
        state, refused = self.history.state.successor(), False
        try:
            call.change(state)
        except RefusedError:
            refused = True
        results = self.results(call, swapped, refused)
        ours, theirs = reversed(results) if swapped else results
        if refused:
            assert isinstance(ours, type(theirs)), f"{ours!r} instead of {theirs!r}"
            self.compare()
            return
        same("result", ours, theirs)
        state.made_by = type(call)
        self.history.state = state
        self.compare()

    def compare(self) -> None:
        """What both copies hold, as each library reads it, and what they must hold."""
        history, state = self.history, self.history.state
        history.states[state.place] = state
        for copy, library in zip(self.copies, (pylance, lance_core), strict=True):
            found = read(Table(library, copy.uri, state.branch), history)
            check_rows(copy, state, found, self.stable)


def outcome(call: Verb, table: Table) -> Any:
    """The result of a call, or its error; pylance's panics are no ``Exception``."""
    try:
        return call.apply(table)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return error


def read(table: Table, history: History) -> pa.Table:
    """All rows with their ids and, where they have any, versions."""
    more = ROW_VERSIONS if history.stable else []
    dataset, schema = table.open(), history.state.schema
    assert dataset.version == history.state.version
    assert dataset.schema.equals(schema, check_metadata=True), f"{dataset.schema}, not {schema}"
    return dataset.to_table([*history.state.names, *more], with_row_id=True)


def same(what: str, found: Any, expected: Any) -> None:
    """Fails with both."""
    assert found == expected, f"{what}: {found} instead of {expected}"


def check_rows(copy: Copy, state: State, found: pa.Table, stable: bool) -> None:
    """Rows, their order, ids and versions are those of the model."""
    keys = found[KEY].to_pylist()
    rows = found.select(state.names).to_pylist()
    same("rows", {row[KEY]: row for row in rows}, state.rows)
    expected = copy.expected_order(state)
    last = len(state.added) + len(state.moved & state.rows.keys()) if state.unordered else 0
    first = len(keys) - last
    if state.reordered:
        first = 0
    same("order", keys[:first], expected[:first])
    same("last rows", sorted(keys[first:]), sorted(expected[first:]))
    copy.order[state.place] = keys
    check_ids(copy, state, dict(zip(keys, found["_rowid"].to_pylist(), strict=True)), stable)
    if stable:
        created, updated = (found[name].to_pylist() for name in ROW_VERSIONS)
        same("created", dict(zip(keys, created, strict=True)), state.created)
        same("updated", dict(zip(keys, updated, strict=True)), state.updated)


def check_ids(copy: Copy, state: State, ids: dict[int, int], stable: bool) -> None:
    """Rows keep their ids; new ones get ids that no row has or had."""
    copy.ids[state.place] = ids
    if state.origin is None:
        return
    new = set(state.added) if stable else state.moved.union(state.added)
    before = copy.ids[state.origin]
    if stable or not state.readdressed:
        kept = {key: each for key, each in ids.items() if key not in new}
        same("row ids", kept, {key: before[key] for key in kept})
    before_now = [place for place in copy.ids if place[0] == state.branch and place != state.place]
    used = {each for place in before_now for each in copy.ids[place].values()}
    same("row ids used before", used & {ids[key] for key in ids.keys() & new}, set())


def machine(file_version: str, stable: bool, verbs: tuple[type[Verb], ...]) -> type[Machine]:
    """A machine with a rule for each verb."""
    rules: dict[str, Any] = {"file_version": file_version, "stable": stable}
    for verb in verbs:
        rules[verb.__name__] = _rule(verb)
    return type("Machine", (Machine,), rules)


def _rule(verb: type[Verb]) -> Any:
    def step(self: Machine, data: st.DataObject, swapped: bool) -> None:
        self.step(verb, data, swapped)

    step.__name__ = verb.__name__
    return rule(data=st.data(), swapped=st.booleans())(step)
