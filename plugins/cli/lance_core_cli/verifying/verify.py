"""Check a version of a table: its files against each other, every page, indices against rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Literal

from lance_core import LanceDataset
from lance_core.errors import (
    CorruptFileError,
    InvalidInputError,
    LanceError,
    NotFoundError,
    UnsupportedFeatureError,
)
from lance_core.fragment import LanceFragment
from lance_core.indices import IndexDescription
from lance_core_cli.stored_rows import stored_batches
from lance_core_cli.verifying.indices import index_problems
from lance_core_cli.verifying.problem import DELETION_FILE, Problem, VerifyReport

Level = Literal["structure", "checksums", "pages", "full"]
LEVELS: tuple[Level, ...] = ("structure", "checksums", "pages", "full")

_LANCE_FILES = (".lance", ".idx")
"""What the names of files of indices end with that are like data files."""

_DAMAGE = (CorruptFileError, NotFoundError, UnsupportedFeatureError)
"""Errors of damaged pages: a flipped bit may name an encoding that does not exist."""


def verify(
    table: LanceDataset,
    level: Level = "pages",
    progress: Callable[[int, int], None] | None = None,
    *,
    other_versions: bool = True,
) -> VerifyReport:
    """Check the open version of ``table``, and that all ``other_versions`` can be opened.

    Levels, each with all that those before it check:

    - ``structure``: manifests and tags can be read; all data and deletion files are there, have the
      fields and rows that the manifest says, and row ids are unique.
    - ``checksums``: the pages of data files, and the files of indices, have the checksums that
      their writer stored, if it did; ``report.summed`` are the bytes of those that have some.
    - ``pages``: every page of every column is read and decoded, those of deleted rows and the bytes
      of blobs, too. In pages without checksums, a flipped bit that makes another valid value is not
      noticed.
    - ``full``: what indices have is compared with the rows; of indices of scalars, what they find
      for a sample of values.

    ``progress`` is called with the number of fragments that are done, and of all. Damage is in the
    report; errors of stores, such as a missing permission, are raised. Raises `InvalidInputError`
    for another level.
    """
    if level not in LEVELS:
        raise InvalidInputError(f"level must be one of {', '.join(LEVELS)}, got {level!r}")
    report = VerifyReport(table.uri, table.version, level)
    if other_versions:
        _check_versions(table, report)
        _check_tags(table, report)
    indices: list[IndexDescription] = []
    with _noted(report, "version", str(table.version)):
        indices = table.describe_indices()
    fragments = table.get_fragments()
    for done, fragment in enumerate(fragments):
        if _check_structure(fragment, report):
            _check_bytes(table, fragment, report)
        if progress is not None:
            progress(done + 1, len(fragments))
    if report.is_whole:  # else its fragments fail again
        with _noted(report, "row ids", "all"):
            table.validate()
    if level != "structure":
        _check_index_files(table, indices, report)
    if level == "full":
        _check_indices(table, indices, report)
    return report


def _check_versions(table: LanceDataset, report: VerifyReport) -> None:
    for reference in table.version_refs():
        report.versions += 1
        with _noted(report, "version", str(reference["version"])):
            table.checkout_version(reference["version"])


def _check_tags(table: LanceDataset, report: VerifyReport) -> None:
    """Each tag can be read, and so can the version that it names."""
    for path in table.new_file_session().list("_refs/tags"):
        name = path.rpartition("/")[2].removesuffix(".json")
        with _noted(report, "tag", name):
            table.checkout_version(name)


def _check_structure(fragment: LanceFragment, report: VerifyReport) -> bool:
    """True if the files of the fragment agree with the manifest."""
    report.fragments += 1
    before = len(report.problems)
    identity = fragment.fragment_id
    with _noted(report, DELETION_FILE, f"of fragment {identity}", fragment_id=identity):
        fragment.delete_rows([])  # reads which are deleted, and changes nothing
    if len(report.problems) == before:
        with _noted(report, "fragment", str(identity), fragment_id=identity):
            fragment.validate()
            report.rows += fragment.count_rows()
    return len(report.problems) == before


def _check_bytes(table: LanceDataset, fragment: LanceFragment, report: VerifyReport) -> None:
    """Checksums, then pages, as far as the level goes; of damaged bytes no page is decoded."""
    if report.level == "structure" or not _check_sums(table, fragment, report):
        return
    if report.level != "checksums":
        _check_pages(table, fragment, report)


def _check_sums(table: LanceDataset, fragment: LanceFragment, report: VerifyReport) -> bool:
    """True if all pages have their checksums; else the report names the columns that have not."""
    try:
        report.summed += fragment.check_pages()
    except CorruptFileError as error:
        before = len(report.problems)
        for name in table.schema.names:
            where = f"{name} of fragment {fragment.fragment_id}"
            with _noted(report, "column", where, fragment.fragment_id, name):
                fragment.check_pages([name])
        if len(report.problems) == before:
            identity = fragment.fragment_id
            report.problems.append(Problem("fragment", str(identity), str(error), identity))
        return False
    return True


def _check_index_files(
    table: LanceDataset, indices: Iterable[IndexDescription], report: VerifyReport
) -> None:
    """The files of indices in the table's folder; an index is damaged once, whatever its files."""
    session = table.new_file_session()
    for index in indices:
        paths = [
            path
            for segment in index.segments
            for path in session.list(f"_indices/{segment.uuid}")
            if path.endswith(_LANCE_FILES)
        ]
        with _noted(report, "index", index.name):
            report.summed += sum(map(session.check_file, paths))


def _check_pages(table: LanceDataset, fragment: LanceFragment, report: VerifyReport) -> None:
    """Read all columns at once; only if that fails, column by column, to name those at fault."""
    try:
        report.bytes += _decode(fragment, None)
    except _DAMAGE:
        for name in table.schema.names:
            where = f"{name} of fragment {fragment.fragment_id}"
            with _noted(report, "column", where, fragment.fragment_id, name, _DAMAGE):
                report.bytes += _decode(fragment, [name])


def _decode(fragment: LanceFragment, columns: list[str] | None) -> int:
    """Read columns of a fragment, also deleted rows. Returns the bytes of the values."""
    return sum(batch.nbytes for batch in stored_batches(fragment, columns))


def _check_indices(
    table: LanceDataset, indices: Iterable[IndexDescription], report: VerifyReport
) -> None:
    rows_are_whole = not any(problem.fragment_id is not None for problem in report.problems)
    damaged = {problem.name for problem in report.problems if problem.what == "index"}
    for index in indices:
        report.indices += 1
        if index.name in damaged:
            continue
        try:
            with _noted(report, "index", index.name):
                table.prewarm_index(index.name)
                if not rows_are_whole:
                    report.unchecked.append(f"index {index.name}: its rows cannot be read")
                    continue
                for text in index_problems(table, index):
                    report.problems.append(Problem("index", index.name, text))
        except UnsupportedFeatureError as error:
            report.unchecked.append(f"index {index.name}: {error}")


@contextmanager
def _noted(
    report: VerifyReport,
    what: str,
    name: str,
    fragment_id: int | None = None,
    column: str | None = None,
    damage: tuple[type[LanceError], ...] = (CorruptFileError, NotFoundError),
) -> Iterator[None]:
    """Add errors that are ``damage`` to the report. Others say nothing about the bytes."""
    try:
        yield
    except damage as error:
        report.problems.append(Problem(what, name, str(error), fragment_id, column))
