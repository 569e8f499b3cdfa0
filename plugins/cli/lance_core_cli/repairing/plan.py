"""What can be done about the problems of a table, and doing it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import lance_core
from lance_core import LanceDataset
from lance_core.errors import CorruptFileError, InvalidInputError, LanceError
from lance_core.file import LanceFileSession
from lance_core.fragment import LanceFragment
from lance_core.hookspecs.commits import parse_manifest_name
from lance_core_cli.repairing.columns_of_nulls import with_nulls
from lance_core_cli.verifying.problem import Problem
from lance_core_cli.verifying.verify import Level, verify

Action = Literal["restore", "drop-index", "drop-fragment", "null-column"]


@dataclass(frozen=True)
class Step:
    """One thing that repairs a table.

    ``name``: the version to restore, the index, the id of the fragment, or ``fragment:column``.
    ``text``: what it does, and what is lost by it. ``is_chosen``: False for steps that lose rows or
    values, until the caller asks for them.
    """

    action: Action
    name: str
    text: str
    is_chosen: bool

    @property
    def option(self) -> str:
        """What asks for the step on the command line."""
        return "--restore" if self.action == "restore" else f"--{self.action} {self.name}"


@dataclass
class RepairPlan:
    """The steps that repair a table, and what no step can do.

    ``uri`` and ``version``: the table as it was verified. ``left``: problems without a chosen step.
    """

    uri: str
    version: int | None
    steps: list[Step] = field(default_factory=list)
    left: list[Problem] = field(default_factory=list)

    @property
    def chosen(self) -> list[Step]:
        """The steps that `apply` does."""
        return [step for step in self.steps if step.is_chosen]

    def apply(self, storage_options: dict[str, Any] | None = None) -> LanceDataset:
        """Do the chosen steps and return the table. Older versions stay as they are.

        All steps of a kind are one commit. Each kind is a version, which `LanceDataset.restore` of
        the version before it takes back. Raises `CommitConflictError` if the table has changed.
        """
        table = lance_core.dataset(self.uri, self.version, storage_options=storage_options)
        actions = {step.action for step in self.chosen}
        if "restore" in actions:
            table.restore()
            return table
        nulls = [step.name for step in self.chosen if step.action == "null-column"]
        if nulls:
            table = with_nulls(table, [_fragment_and_column(table, name) for name in nulls])
        for step in self.chosen:
            if step.action == "drop-index":
                table.drop_index(step.name)
        dropped = [int(step.name) for step in self.chosen if step.action == "drop-fragment"]
        if dropped:
            operation = lance_core.LanceOperation.Delete([], dropped, "damaged fragments")
            table = LanceDataset.commit(table, operation, table.version)
        return table

    def asdict(self) -> dict[str, Any]:
        """The attributes, for JSON."""
        return {
            "uri": self.uri,
            "version": self.version,
            "steps": [vars(step) for step in self.steps],
            "left": [problem.asdict() for problem in self.left],
        }


def plan_repair(
    uri: str,
    *,
    level: Level = "full",
    drop_fragments: Iterable[int] = (),
    null_columns: Iterable[str] = (),
    restore: bool = False,
    storage_options: dict[str, Any] | None = None,
) -> RepairPlan:
    """What repairs the newest version of the table at ``uri``; nothing is changed.

    Damaged indices are dropped: searches read the rows instead, and the index can be created again.
    If the newest version cannot be opened, the newest one that is whole is restored. Values and
    rows are given up only if the caller says so: ``drop_fragments`` (ids), ``null_columns``
    (``"fragment:column"``), or ``restore`` for the newest version that is whole.

    Raises `InvalidInputError` for a fragment or column that is not damaged, and for a table
    of which no version is whole if one is to be restored.
    """
    newest = _newest(uri, storage_options)
    if newest is None or restore:
        return _restoring(uri, newest, level, storage_options)
    report = verify(newest, level)
    plan = RepairPlan(uri, newest.version)
    drop, null = set(drop_fragments), set(null_columns)
    damaged: dict[int, list[Problem]] = {}
    indices: set[str] = set()
    for problem in report.problems:
        if problem.fragment_id is not None:
            damaged.setdefault(problem.fragment_id, []).append(problem)
        elif problem.what == "index":
            indices.add(problem.name)
        else:
            plan.left.append(problem)
    plan.steps += [
        Step("drop-index", name, f"drop the damaged index {name}; no row is lost", True)
        for name in sorted(indices)
    ]
    for identity, problems in damaged.items():
        steps = list(_steps_of_fragment(newest, identity, problems, drop, null))
        plan.steps += steps
        if not any(step.is_chosen for step in steps):
            plan.left += problems
    _check_used(plan, drop, null)
    return plan


def _steps_of_fragment(
    table: LanceDataset,
    identity: int,
    problems: Sequence[Problem],
    drop: set[int],
    null: set[str],
) -> Iterator[Step]:
    rows = _rows_of(table, identity)
    is_dropped = identity in drop
    text = f"leave out fragment {identity}, {rows} rows"
    yield Step("drop-fragment", str(identity), text, is_dropped)
    columns = [problem.column for problem in problems]
    for column in columns:
        if column is not None and table.schema.field(column).nullable:
            name = f"{identity}:{column}"
            text = f"make {column} null in the {rows} rows of fragment {identity}"
            yield Step("null-column", name, text, name in null and not is_dropped)


def _rows_of(table: LanceDataset, identity: int) -> int | str:
    """The rows of a fragment that are not deleted, as the manifest has them."""
    fragment = table.get_fragment(identity)
    assert fragment is not None  # it was verified
    try:
        return fragment.metadata.num_rows
    except LanceError:
        return "an unknown number of"


def _fragment_and_column(table: LanceDataset, name: str) -> tuple[LanceFragment, str]:
    identity, _, column = name.partition(":")
    fragment = table.get_fragment(int(identity))
    assert fragment is not None  # the table is the version that was verified
    return fragment, column


def _check_used(plan: RepairPlan, drop: set[int], null: set[str]) -> None:
    offered = {(step.action, step.name) for step in plan.steps}
    requested = {("drop-fragment", str(name)) for name in drop} | {("null-column", n) for n in null}
    for action, name in sorted(requested - offered):
        raise InvalidInputError(f"--{action} {name}: nothing there is damaged, or can be null")


def _restoring(
    uri: str, newest: LanceDataset | None, level: Level, storage_options: dict[str, Any] | None
) -> RepairPlan:
    """Restore the newest version that is whole, other than the newest of all."""
    for number in _older_versions(uri, newest, storage_options):
        with suppress(CorruptFileError):
            table = lance_core.dataset(uri, number, storage_options=storage_options)
            if verify(table, level, other_versions=False).is_whole:
                lost = "" if newest is None else "; what later versions changed is left out"
                text = f"restore version {number}, the newest that is whole{lost}"
                return RepairPlan(uri, number, [Step("restore", str(number), text, True)])
    raise InvalidInputError(f"no version of {uri} is whole: see what `verify` says of each")


def _newest(uri: str, storage_options: dict[str, Any] | None) -> LanceDataset | None:
    """The newest version; None if its manifest is damaged."""
    try:
        return lance_core.dataset(uri, storage_options=storage_options)
    except CorruptFileError:
        return None


def _older_versions(
    uri: str, newest: LanceDataset | None, storage_options: dict[str, Any] | None
) -> list[int]:
    """Numbers of all versions but the newest, newest first; reads no manifest."""
    if newest is not None:
        numbers = [reference["version"] for reference in newest.version_refs()]
    else:
        session = LanceFileSession(uri, storage_options)
        names = [parse_manifest_name(path.rpartition("/")[2]) for path in session.list("_versions")]
        # Without a scheme it is a detached version, which is not part of the history.
        numbers = [name.version for name in names if name is not None and name.scheme is not None]
    return sorted(numbers, reverse=True)[1:]
