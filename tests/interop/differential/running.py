"""Run a case with both libraries and compare what each reads of its own and the other's files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import lance
import pyarrow as pa

import lance_core
from lance_core.errors import LanceError
from tests.interop.differential.cases import ADDED, Case, copied
from tests.interop.differential.compare import first_difference, schema_difference
from tests.interop.differential.queries import Query

EQUAL = "equal"
REFUSED = "refused by pylance"
DIFFERENT = "different"

Report = Callable[[str], None]
"""Is told what is about to be done: pylance may take the whole process down."""
ALONE = "pylance alone"
TOGETHER = "both"


@dataclass(frozen=True)
class Outcome:
    """``kind`` is one of the three above; ``why`` names the first refusal or difference."""

    seed: int
    kind: str
    why: str = ""


@dataclass(frozen=True)
class Failed:
    """What a call raised."""

    error: BaseException

    @property
    def text(self) -> str:
        shown = " ".join(str(self.error).split())
        return f"{type(self.error).__name__}: {shown[:300]}"

    @property
    def is_typed(self) -> bool:
        """Whether this is an error that this library documents."""
        return isinstance(self.error, LanceError)


@dataclass(frozen=True)
class Reading:
    """A table that one library wrote, opened by one of both."""

    text: str
    table: Any
    is_own: bool
    """Whether this library reads what it wrote itself: where pylance fails, that must work."""


def run(case: Case, folder: Path, report: Report = lambda _: None) -> Outcome:
    """Write, change and read the tables of ``case`` below ``folder``."""
    report(ALONE)
    control = _written(case, folder / "control", lance, lance)
    report(TOGETHER)
    if isinstance(control, Failed):
        difference = _check_alone(case, folder)
        why = f"writing: {control.text}"
    else:
        difference, why = _check(case, folder, control, report)
    if difference is not None:
        return Outcome(case.seed, DIFFERENT, difference)
    return Outcome(case.seed, REFUSED if why else EQUAL, why)


def _check(case: Case, folder: Path, control: str, report: Report) -> tuple[str | None, str]:
    """The first difference, and why pylance cannot say what is right."""
    readings = _opened(case, folder, control)
    if isinstance(readings, str):
        return readings, ""
    report(ALONE)
    reference = lance.dataset(control)
    source, refusal = case.rows(), ""
    for query in case.queries:
        report(ALONE)
        right, why = _right(query, reference, source)
        report(TOGETHER)
        refusal = refusal or why
        for reading in readings:
            if why and not reading.is_own:
                continue
            found = _difference(query, reading.table, right, source_only=bool(why))
            if found is not None:
                return f"{reading.text}, {query.text}: {found}", ""
    return None, refusal


def _opened(case: Case, folder: Path, control: str) -> list[Reading] | str:
    """The tables that are compared with ``control``, or the first difference."""
    written = {"ours": _written(case, folder / "ours", lance_core, _changing(case))}
    written["theirs"] = (
        _written(case, folder / "theirs", lance, lance_core) if case.crossed else control
    )
    schema, readings = lance.dataset(control).schema, []
    for library, name in ((lance_core, "ours"), (lance_core, "theirs"), (lance, "ours")):
        uri = written[name]
        if isinstance(uri, Failed):
            return f"writing {name}: {uri.text}"
        text = f"{'we read' if library is lance_core else 'pylance reads'} {name}"
        table = _call(library.dataset, uri)
        if isinstance(table, Failed):
            return f"{text}, opening: {table.text}"
        found = schema_difference(table.schema, schema)
        if found is not None:
            return f"{text}, schema: {found}"
        readings.append(Reading(text, table, library is lance_core and name == "ours"))
    return readings


def _changing(case: Case) -> ModuleType:
    """The library that changes the tables which this one creates."""
    return lance if case.crossed else lance_core


def _right(query: Query, reference: Any, source: pa.Table) -> tuple[Any, str]:
    """What is right, and why that is not what pylance says about its own files."""
    answer = _call(query.read, reference)
    expected = None if query.expected is None else query.expected(source)
    if isinstance(answer, Failed):
        return expected, f"{query.text}: {answer.text}"
    if expected is not None:
        found = first_difference(answer, expected)
        if found is not None:
            return expected, f"{query.text}: {found}"
    return answer, ""


def _check_alone(case: Case, folder: Path) -> str | None:
    """The first difference between what we write and what we read again."""
    ours = _written(case, folder / "ours", lance_core, lance_core)
    if isinstance(ours, Failed):
        return None if ours.is_typed else f"writing ours: {ours.text}"
    table, source = lance_core.dataset(ours), case.rows()
    for query in case.queries:
        right = None if query.expected is None else query.expected(source)
        found = _difference(query, table, right, source_only=True)
        if found is not None:
            return f"we read ours, {query.text}: {found}"
    return None


def _difference(query: Query, table: Any, right: Any, source_only: bool) -> str | None:
    """Between what ``query`` finds and what is ``right``; None for that: nobody knows."""
    answer = _call(query.read, table)
    if isinstance(answer, Failed):
        return None if right is None and answer.is_typed else answer.text
    if isinstance(answer, pa.Table) and isinstance(table, lance_core.LanceDataset):
        # What pylance reads may hold other memory below nulls.
        answer.validate(full=True)
    if right is None:
        return None
    if not isinstance(answer, pa.Table):
        return None if answer == right else f"{answer} instead of {right}"
    found = first_difference(answer, right)
    if found is None and not source_only:
        schemas = [answer.schema, right.schema]
        if query.loses_metadata:
            schemas = [schema.remove_metadata() for schema in schemas]
        found = schema_difference(*schemas)
    return found


def _written(case: Case, path: Path, first: ModuleType, then: ModuleType) -> str | Failed:
    """The table at ``path``, created by library ``first`` and changed by ``then``."""
    uri = str(path)
    for number, data in enumerate(case.writes):
        options = _append_options(case.options) if number else dict(case.options)
        options["mode"] = "append" if number else "create"
        written = _write(then if number else first, data, uri, case.as_reader, options)
        if isinstance(written, Failed):
            return written
    library: Any = then
    for delete in case.deletes:
        deleted = _call(library.dataset(uri).delete, delete.text)
        if isinstance(deleted, Failed):
            return deleted
    if case.update is not None:
        dataset = library.dataset(uri)
        updated = _call(dataset.update, {"key": f"key + {ADDED}"}, case.update.text)
        if isinstance(updated, Failed):
            return updated
    if case.compaction is not None:
        # What pylance copies is tested elsewhere; here it tells what is right.
        mode = case.compaction if library is lance_core else "reencode"
        compacted = _call(library.dataset(uri).optimize.compact_files, compaction_mode=mode)
        if isinstance(compacted, Failed):
            return compacted
    return uri


def _write(library: Any, data: pa.Table, uri: str, as_reader: bool, options: dict[str, Any]) -> Any:
    given = data.to_reader() if as_reader else data
    written = _call(library.write_dataset, given, uri, **options)
    if library is lance and isinstance(written, Failed):
        # pylance panics on some slices of arrays. Not all dictionaries can be copied.
        written = _call(lambda: library.write_dataset(copied(data), uri, **options))
    return written


def _append_options(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key.startswith("max_")}


def _call(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Its result, or what it raised; pylance's panics are no ``Exception``."""
    try:
        return function(*arguments, **options)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return Failed(error)
