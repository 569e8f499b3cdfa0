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
from tests.interop.differential.cases import Case, copied
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

    text: str


def run(case: Case, folder: Path, report: Report = lambda _: None) -> Outcome:
    """Write, change and read the tables of ``case`` below ``folder``."""
    report(ALONE)
    control = _written(case, folder / "control", lance, lance)
    report(TOGETHER)
    if isinstance(control, Failed):
        difference = _check_alone(case, folder)
        why = f"writing: {control.text}"
    else:
        difference, why = _check(case, folder, str(control), report)
    if difference is not None:
        return Outcome(case.seed, DIFFERENT, difference)
    return Outcome(case.seed, REFUSED if why else EQUAL, why or "")


def _check(case: Case, folder: Path, control: str, report: Report) -> tuple[str | None, str]:
    """The first difference, and why pylance cannot say what is right."""
    ours = _written(case, folder / "ours", lance_core, lance if case.crossed else lance_core)
    theirs: str | Failed = control
    if case.crossed:
        theirs = _written(case, folder / "theirs", lance, lance_core)
    for name, written in (("ours", ours), ("theirs", theirs)):
        if isinstance(written, Failed):
            return f"writing {name}: {written.text}", ""
    source, refusal = case.rows(), ""
    readings: list[tuple[str, ModuleType, Any]] = [
        ("we read ours", lance_core, ours),
        ("we read theirs", lance_core, theirs),
        ("pylance reads ours", lance, ours),
    ]
    opened = {}
    for name, library, uri in readings:
        opened[name] = _call(lambda library=library, uri=uri: library.dataset(uri))
        if isinstance(opened[name], Failed):
            return f"{name}, opening: {opened[name].text}", ""
    report(ALONE)
    reference = lance.dataset(control)
    for name, table in opened.items():
        found = schema_difference(table.schema, reference.schema)
        if found is not None:
            return f"{name}, schema: {found}", ""
    for query in case.queries:
        report(ALONE)
        right, why = _right(query, reference, source)
        report(TOGETHER)
        refusal = refusal or why
        for name, table in opened.items():
            if right is None or (why and name != "we read ours"):
                continue
            found = _difference(query, table, right, source_only=bool(why))
            if found is not None:
                return f"{name}, {query.text}: {found}", ""
    return None, refusal


def _right(query: Query, reference: Any, source: pa.Table) -> tuple[Any, str]:
    """What is right, and why that is not what pylance says about its own files."""
    answer = _call(lambda: query.read(reference))
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
        return None
    table, source = lance_core.dataset(ours), case.rows()
    for query in case.queries:
        if query.expected is not None:
            found = _difference(query, table, query.expected(source), source_only=True)
            if found is not None:
                return f"we read ours, {query.text}: {found}"
    return None


def _difference(query: Query, table: Any, right: Any, source_only: bool) -> str | None:
    answer = _call(lambda: query.read(table))
    if isinstance(answer, Failed):
        return answer.text
    if not isinstance(answer, pa.Table):
        return None if answer == right else f"{answer} instead of {right}"
    if isinstance(table, lance_core.LanceDataset):
        # What pylance reads may hold other memory below nulls.
        answer.validate(full=True)
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
        deleted = _call(lambda delete=delete: library.dataset(uri).delete(delete.text))
        if isinstance(deleted, Failed):
            return deleted
    return uri


def _write(library: Any, data: pa.Table, uri: str, as_reader: bool, options: dict[str, Any]) -> Any:
    given = data.to_reader() if as_reader else data
    written = _call(lambda: library.write_dataset(given, uri, **options))
    if library is lance and isinstance(written, Failed):
        # pylance panics on some slices of arrays.
        written = _call(lambda: library.write_dataset(copied(data), uri, **options))
    return written


def _append_options(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key.startswith("max_")}


def _call(function: Callable[[], Any]) -> Any:
    """Its result, or what it raised; pylance's panics are no ``Exception``."""
    try:
        return function()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        text = " ".join(str(error).split())
        return Failed(f"{type(error).__name__}: {text[:300]}")
