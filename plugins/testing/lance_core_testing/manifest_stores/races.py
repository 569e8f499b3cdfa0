"""Part of the contract of external manifest stores: exactly one racing writer adds a row."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from lance_core.errors import ObjectExistsError
from lance_core.hookspecs.commits import ExternalManifestStore, ManifestEntry
from lance_core_testing.processes import (
    PROCESSES,
    Attempt,
    Wait,
    in_another_process,
    race_overtaken,
    race_processes,
)
from lance_core_testing.threads import race_threads

WRITERS = 6
ROUNDS = 12

MakeRows: TypeAlias = Callable[[], ExternalManifestStore]
"""Creates an instance; all instances of a test share their rows."""


class RowRaceTests:
    """Threads that share an object, threads with an object each, and processes."""

    def test_of_racing_writers_exactly_one_adds_the_row(
        self, make_rows: MakeRows, base_uri: str
    ) -> None:
        shared = make_rows()
        for version in range(1, ROUNDS + 1):
            entries = _staged(base_uri, version)

            def add(writer: int, entries: list[ManifestEntry] = entries) -> bool:
                rows = shared if entries[0].version % 2 else make_rows()
                return _added(rows, base_uri, entries[writer])

            won = race_threads(add, WRITERS)
            winners = [entries[writer] for writer, has_won in enumerate(won) if has_won]
            _check_one(shared, base_uri, winners, f"{WRITERS} threads")

    def test_racing_replacements_leave_one_of_them_whole(
        self, make_rows: MakeRows, base_uri: str
    ) -> None:
        rows = make_rows()
        rows.put_if_absent(base_uri, _staged(base_uri, 1)[0])
        for _ in range(ROUNDS):
            entries = _staged(base_uri, 1)

            def replace(writer: int, entries: list[ManifestEntry] = entries) -> None:
                rows.put_if_present(base_uri, entries[writer])

            race_threads(replace, WRITERS)
            row = rows.get(base_uri, 1)
            assert row in entries, f"after racing replacements the row is {row}, nobody's"

    def test_of_racing_processes_exactly_one_adds_the_row(
        self, shared_rows: MakeRows, base_uri: str
    ) -> None:
        for numbers in race_overtaken(_Attempts(shared_rows, base_uri)):
            assert len(numbers) == 1, (
                "one process was stopped in the middle of put_if_absent while another added the "
                f"same row, and {len(numbers)} of them were told that they did; exactly one must be"
            )
        won = race_processes(_Adding(shared_rows, base_uri))
        rows = shared_rows()
        for version in range(1, ROUNDS + 1):
            winners = [entry for added in won for entry in added if entry.version == version]
            assert len(winners) == 1, (
                f"{len(winners)} of {PROCESSES} processes were told that they added the row of "
                f"version {version}; exactly one must be"
            )
            row = rows.get(base_uri, version)
            assert row == winners[0], f"the row is {row}; it must be the winner's, {winners[0]}"

    def test_another_process_sees_the_same_rows(self, shared_rows: MakeRows, base_uri: str) -> None:
        rows = shared_rows()
        (entry, more, *_) = (_staged(base_uri, version)[0] for version in (1, 2))
        rows.put_if_absent(base_uri, entry)
        row = rows.get_latest(base_uri)
        assert row == entry, f"get_latest gave {row}; it must give the row just added"
        seen = in_another_process(_Following(shared_rows, base_uri, more))
        assert seen == entry, f"another process was given {seen}; it must be given {entry}"
        latest = rows.get_latest(base_uri)
        assert latest == more, (
            f"get_latest gave {latest} after another process added {more}; nothing old may be kept"
        )


@dataclass(frozen=True)
class _Attempts:
    """Attempts to add rows of higher versions than those of the race."""

    make_rows: MakeRows
    base_uri: str

    def __call__(self) -> Attempt:
        rows = self.make_rows()

        def attempt(writer: int, number: int) -> bool:
            entry = _staged(self.base_uri, number + ROUNDS + 1)[writer]
            return _added(rows, self.base_uri, entry)

        return attempt


@dataclass(frozen=True)
class _Adding:
    """Adds a row for each version; returns the acknowledged rows."""

    make_rows: MakeRows
    base_uri: str

    def __call__(self, writer: int, wait: Wait) -> list[ManifestEntry]:
        rows = self.make_rows()
        rows.get_latest(self.base_uri)  # connects
        added = []
        for version in range(1, ROUNDS + 1):
            entry = _staged(self.base_uri, version)[writer]
            wait()
            if _added(rows, self.base_uri, entry):
                added.append(entry)
        return added


@dataclass(frozen=True)
class _Following:
    """Reads the newest row, then adds ``entry``; returns the row read."""

    make_rows: MakeRows
    base_uri: str
    entry: ManifestEntry

    def __call__(self) -> ManifestEntry | None:
        rows = self.make_rows()
        latest = rows.get_latest(self.base_uri)
        rows.put_if_absent(self.base_uri, self.entry)
        return latest


def _added(rows: ExternalManifestStore, base_uri: str, entry: ManifestEntry) -> bool:
    try:
        rows.put_if_absent(base_uri, entry)
    except ObjectExistsError:
        return False
    return True


def _check_one(
    rows: ExternalManifestStore, base_uri: str, winners: list[ManifestEntry], of: str
) -> None:
    assert len(winners) == 1, (
        f"{len(winners)} of {of} were told that they added a row; exactly one must be"
    )
    for row in (rows.get(base_uri, winners[0].version), rows.get_latest(base_uri)):
        assert row == winners[0], f"the row is {row}; it must be the winner's, {winners[0]}"


def _staged(base_uri: str, version: int) -> list[ManifestEntry]:
    """A row for each writer, all of the same version."""
    return [
        ManifestEntry(version, f"{base_uri}/_versions/{version}.manifest-{uuid.uuid4()}", number)
        for number in range(WRITERS)
    ]
