"""What can be done about the problems of a table, and doing it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import lance_core
from lance_core import LanceDataset
from lance_core.errors import InvalidInputError, LanceError
from lance_core.fragment import LanceFragment
from lance_core_cli.manifests import SET_ASIDE
from lance_core_cli.repairing.columns_of_nulls import with_nulls
from lance_core_cli.repairing.undeleted_rows import known_deletions, with_deleted_rows
from lance_core_cli.repairing.versions import newest, newest_whole_version, set_aside
from lance_core_cli.verifying.problem import DELETION_FILE, Problem
from lance_core_cli.verifying.verify import Level, verify

Action = Literal[
    "restore", "drop-index", "drop-fragment", "null-column", "undelete", "drop-tag", "set-aside"
]


@dataclass(frozen=True)
class Step:
    """One thing that repairs a table.

    ``name``: the version to restore or to set aside, the index, the tag, the id of the fragment, or
    ``fragment:column``. ``text``: what it does, and what is lost by it. ``is_chosen``: False for
    steps that lose something, until the caller asks for them.
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

        Steps of a kind are one commit, those of ``undelete`` two. Each is a version, which
        `LanceDataset.restore` of the version before it takes back. Raises `CommitConflictError` if
        the table has changed.
        """
        table = lance_core.dataset(self.uri, self.version, storage_options=storage_options)
        actions = {step.action for step in self.chosen}
        if "restore" in actions:
            table.restore()
            return table
        nulls = [step.name for step in self.chosen if step.action == "null-column"]
        if nulls:
            table = with_nulls(table, [_fragment_and_column(table, name) for name in nulls])
        undeleted = {int(step.name) for step in self.chosen if step.action == "undelete"}
        if undeleted:
            table = with_deleted_rows(table, undeleted)
        for step in self.chosen:
            if step.action == "drop-index":
                table.drop_index(step.name)
            elif step.action == "drop-tag":
                table.tags.delete(step.name)
            elif step.action == "set-aside":
                set_aside(table, int(step.name))
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
    requested: Iterable[tuple[Action, object]] = (),
    *,
    level: Level = "full",
    restore: bool = False,
    storage_options: dict[str, Any] | None = None,
) -> RepairPlan:
    """What repairs the newest version of the table at ``uri``; nothing is changed.

    Damaged indices are dropped: searches read the rows instead, and the index can be created again.
    If the newest version cannot be opened, the newest one that is whole is restored. All else is
    done only if it is ``requested``, by action and name, such as ``("drop-fragment", 1)``:

    - ``drop-fragment``: the id of a fragment, whose rows are left out.
    - ``null-column``: ``"fragment:column"``, whose values become null.
    - ``undelete``: the id of a fragment whose deletion file is damaged; deleted rows come back.
    - ``drop-tag``: the name of a tag that cannot be read.
    - ``set-aside``: an older version whose manifest cannot be read, and so blocks cleanups.

    ``restore`` goes back to the newest version that is whole. Raises `InvalidInputError` for a
    request about something that is not damaged, and for a table of which no version is whole if
    one is to be restored.
    """
    table = newest(uri, storage_options)
    if table is None or restore:
        number = newest_whole_version(uri, table, level, storage_options)
        if number is None:
            raise InvalidInputError(f"no version of {uri} is whole: see what `verify` says of each")
        return RepairPlan(uri, number, [_restoring(number, table, True)])
    requests = {(action, str(name)) for action, name in requested}
    plan = RepairPlan(uri, table.version)
    by_fragment: dict[int, list[Problem]] = {}
    for problem in verify(table, level).problems:
        if problem.fragment_id is not None:
            by_fragment.setdefault(problem.fragment_id, []).append(problem)
        elif problem.what != "index":
            _add(plan, [problem], _steps_of_table(table, problem, level, storage_options), requests)
        elif not any(step.name == problem.name for step in plan.steps):
            text = f"drop the damaged index {problem.name}; no row is lost"
            plan.steps.append(Step("drop-index", problem.name, text, True))
    for identity, problems in by_fragment.items():
        _add(plan, problems, _steps_of_fragment(table, identity, problems), requests)
    for action, name in sorted(requests - {(step.action, step.name) for step in plan.steps}):
        raise InvalidInputError(f"--{action} {name}: nothing there is damaged, or can be null")
    return plan


def _add(
    plan: RepairPlan,
    problems: Sequence[Problem],
    steps: Iterable[Step],
    requests: Set[tuple[Action, str]],
) -> None:
    """Add steps against ``problems``, and those problems that no requested step mends."""
    steps = list(steps)
    requested = [step for step in steps if (step.action, step.name) in requests]
    # Nothing else has to be done about a fragment that is left out.
    repairs = [step for step in requested if step.action == "drop-fragment"] or requested
    plan.steps += [replace(step, is_chosen=step in repairs) for step in steps]
    plan.left += [
        problem for problem in problems if not any(_mends(step, problem) for step in repairs)
    ]


def _mends(step: Step, problem: Problem) -> bool:
    if step.action == "null-column":
        return step.name == f"{problem.fragment_id}:{problem.column}"
    return step.action != "undelete" or problem.what == DELETION_FILE


def _steps_of_table(
    table: LanceDataset, problem: Problem, level: Level, storage_options: dict[str, Any] | None
) -> Iterator[Step]:
    """What can be done about a problem of no fragment and no index."""
    if problem.what == "tag":
        text = f"drop the tag {problem.name}; cleanups may remove its version"
        yield Step("drop-tag", problem.name, text, False)
    elif problem.what == "version" and problem.name == str(table.version):
        number = newest_whole_version(table.uri, table, level, storage_options)
        if number is not None:
            yield _restoring(number, table, False)
    elif problem.what == "version":
        text = f"move the manifest of version {problem.name} into the folder {SET_ASIDE}"
        yield Step(
            "set-aside", problem.name, f"{text}; what only it names may be cleaned up", False
        )


def _restoring(number: int, table: LanceDataset | None, is_chosen: bool) -> Step:
    lost = "" if table is None else "; what later versions changed is left out"
    text = f"restore version {number}, the newest that is whole{lost}"
    return Step("restore", str(number), text, is_chosen)


def _steps_of_fragment(
    table: LanceDataset, identity: int, problems: Sequence[Problem]
) -> Iterator[Step]:
    rows = _rows_of(table, identity)
    text = f"leave out fragment {identity}, {rows} rows"
    yield Step("drop-fragment", str(identity), text, False)
    for problem in problems:
        if problem.what == DELETION_FILE:
            yield Step("undelete", str(identity), _returning(table, identity), False)
        elif problem.column is not None and table.schema.field(problem.column).nullable:
            name = f"{identity}:{problem.column}"
            text = f"make {problem.column} null in the {rows} rows of fragment {identity}"
            yield Step("null-column", name, text, False)


def _returning(table: LanceDataset, identity: int) -> str:
    fragment = table.get_fragment(identity)
    assert fragment is not None  # it was verified
    known = known_deletions(table, fragment)
    count = fragment.num_deletions - len(known.offsets)
    since = "" if known.version is None else f" after version {known.version}"
    moved = ", but for those that live on elsewhere" if table.has_stable_row_ids else ""
    return f"bring back rows of fragment {identity} that were deleted{since}: {count}{moved}"


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
