"""Each library's commit follows one of the other that overtook it, as if it were its own.

A dataset is opened, somebody else commits, then the change is made through what was opened. Either
that leaves what one order or the other makes of the table; or it is refused, and then pylance
refuses the same change in the same way after a commit of its own.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import lance
import pytest

import lance_core
from lance_core.errors import CommitConflictError, RetryableCommitConflictError
from tests.examples import share
from tests.interop.partners import (
    CHANGES,
    START,
    Prepared,
    State,
    copy,
    create,
    prepare,
)

pytestmark = pytest.mark.usefixtures("without_waiting_for_the_disk")

LATE_FOR_PYLANCE = (
    "append",
    "delete rows",
    "restore",
    "update",
    "merge insert",
    "compact",
    "index",
)
"""Those that look at what was committed most closely; we commit each kind late."""

STRICTER = {
    ("index", "update in place"): "retryable",
    ("drop column", "field metadata"): "retryable",
}
"""Where we refuse what pylance commits: values or settings of the other side would be lost."""


@dataclass(frozen=True)
class Side:
    """A change, who commits it, and whether a dataset is asked for it or a transaction is made."""

    name: str
    variant: int
    library: ModuleType
    is_stored: bool

    @classmethod
    def of(cls, name: str, variant: int, library: ModuleType) -> Side:
        return cls(name, variant, library, library is lance_core and not CHANGES[name].by_both)

    def by_pylance(self) -> Side:
        return Side(self.name, self.variant, lance, self.is_stored)

    def apply(self, state: State) -> State:
        return CHANGES[self.name].model(state, self.variant)


class Race:
    """Runs pairs of changes in copies of a table."""

    def __init__(self, folder: Path, stable_row_ids: bool) -> None:
        self.base, self.root = folder / "base", folder / "table"
        create(self.base, stable_row_ids)
        self.prepared: dict[tuple[str, int], Prepared] = prepare(self.base, folder)
        self.known: dict[tuple[Side, Side], str] = {}

    def run(self, late: Side, early: Side) -> str:
        """How ``late`` ends through a dataset that was opened before ``early`` was committed."""
        shutil.rmtree(self.root, ignore_errors=True)
        copy(self.base, self.root)
        opened = late.library.dataset(str(self.root))
        self._commit(early, early.library.dataset(str(self.root)))
        return ending(lambda: self._commit(late, opened))

    def by_pylance_alone(self, late: Side, early: Side) -> str:
        pair = late.by_pylance(), early.by_pylance()
        if pair not in self.known:
            self.known[pair] = self.run(*pair)
        return self.known[pair]

    def _commit(self, side: Side, opened: Any) -> None:
        if side.is_stored:
            self.prepared[side.name, side.variant].commit(side.library, self.root)
        else:
            CHANGES[side.name].call(opened, side.variant)


@pytest.fixture(scope="module")
def race(tmp_path_factory: pytest.TempPathFactory) -> Race:
    return Race(tmp_path_factory.mktemp("partners"), stable_row_ids=False)


@pytest.fixture(scope="module")
def stable_race(tmp_path_factory: pytest.TempPathFactory) -> Race:
    return Race(tmp_path_factory.mktemp("stable"), stable_row_ids=True)


def ending(work: Callable[[], None]) -> str:
    """Committed, or in which of three ways refused."""
    try:
        work()
    except RetryableCommitConflictError:
        return "retryable"
    except CommitConflictError:
        return "incompatible"
    except OSError as error:
        text = str(error).lower()
        if "retr" in text:
            return "retryable"
        return "incompatible" if "conflict" in text or "incompatible" in text else "refused"
    return "committed"


def seen(library: ModuleType, root: Path) -> dict[str, Any]:
    """Everything that a library says of the newest version."""
    dataset: Any = library.dataset(str(root))
    schema = dataset.schema
    rows = dataset.to_table(with_row_id=True).sort_by("i")
    ids = rows["_rowid"].to_pylist()
    assert len(set(ids)) == len(ids)
    return {
        "rows": rows.drop_columns("_rowid").to_pylist(),
        "ids": ids,
        "columns": tuple(schema.names),
        "config": dataset.config(),
        "metadata": dict(dataset.metadata),
        "schema metadata": _as_text(schema.metadata),
        "field metadata": _as_text(schema.field("a").metadata),
        "version": dataset.version,
        "fragments": [
            (f.fragment_id, f.num_deletions, f.count_rows()) for f in dataset.get_fragments()
        ],
        "tags": {name: tag["version"] for name, tag in dataset.tags.list().items()},
    }


def _as_text(metadata: dict[bytes, bytes] | None) -> dict[str, str]:
    return {key.decode(): value.decode() for key, value in (metadata or {}).items()}


def expected(state: State) -> dict[str, Any]:
    return {
        "rows": state.shown(),
        "columns": state.columns,
        "config": state.config,
        "metadata": state.metadata,
        "schema metadata": state.schema_metadata,
        "field metadata": state.field_metadata,
    }


def check(race: Race, late: Side, early: Side) -> None:
    """Both read the same, and it is what one order or the other makes of the table."""
    verdict = race.run(late, early)
    found = seen(lance, race.root)
    assert seen(lance_core, race.root) == found
    assert found["tags"]["start"] == 2
    ids = [entry[0] for entry in found["fragments"]]
    assert len(set(ids)) == len(ids)
    orders = [early.apply(START)]
    if verdict == "committed":
        orders = [late.apply(orders[0]), early.apply(late.apply(START))]
    assert {name: found[name] for name in expected(START)} in list(map(expected, orders))
    if "index" in (late.name, early.name):
        through_index = lance.dataset(race.root).count_rows("a >= 0")
        assert through_index == len(found["rows"])
    if verdict != "committed":
        is_ours = late.library is lance_core
        stricter = STRICTER.get((late.name, early.name)) if is_ours else None
        alone = race.by_pylance_alone(late, early)
        assert (verdict, alone) == ((stricter, "committed") if stricter else (alone, alone))


@pytest.mark.parametrize("name", CHANGES)
def test_our_change_follows_any_of_pylance_that_overtook_it(race: Race, name: str) -> None:
    """Half of the others; all of them in a full run."""
    for other in share(list(CHANGES), 2, turn=list(CHANGES).index(name)):
        check(race, Side.of(name, 0, lance_core), Side.of(other, 1, lance))


@pytest.mark.parametrize("name", LATE_FOR_PYLANCE)
def test_a_change_of_pylance_follows_any_of_ours_that_overtook_it(race: Race, name: str) -> None:
    for other in share(list(CHANGES), 2, turn=LATE_FOR_PYLANCE.index(name)):
        check(race, Side.of(name, 0, lance), Side.of(other, 1, lance_core))


@pytest.mark.parametrize("library", [lance_core, lance], ids=["ours", "pylance"])
@pytest.mark.parametrize("name", ["append", "delete rows", "update", "compact"])
def test_a_change_follows_others_where_rows_keep_their_ids(
    stable_race: Race, name: str, library: ModuleType
) -> None:
    other = lance if library is lance_core else lance_core
    for early in ("append", "delete rows", "delete by value", "update", "merge insert", "compact"):
        check(stable_race, Side.of(name, 0, library), Side.of(early, 1, other))


def test_a_version_that_both_have_built_upon_stays_as_it_was(race: Race) -> None:
    """A tag of it still opens it, whoever reads."""
    race.run(Side.of("delete rows", 0, lance_core), Side.of("compact", 1, lance))
    for library in (lance, lance_core):
        opened: Any = library.dataset(str(race.root), version="start")
        assert opened.to_table().to_pylist() == START.shown()
