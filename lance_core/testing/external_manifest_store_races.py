"""Part of the contract of external manifest stores: of racing writers exactly one adds a row."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from lance_core.commits.external_manifest_store import ExternalManifestStore, ManifestEntry
from lance_core.errors import ObjectExistsError
from lance_core.testing.commit_handler_races import WRITERS, race

ROUNDS = 12


class RowRaceTests:
    """Threads that share an object, and threads with an object each."""

    def test_of_racing_writers_exactly_one_adds_the_row(
        self, make_rows: Callable[[], ExternalManifestStore], base_uri: str
    ) -> None:
        shared = make_rows()
        for version in range(1, ROUNDS + 1):
            entries = _staged(base_uri, version)

            def add(writer: int, entries: list[ManifestEntry] = entries) -> bool:
                rows = shared if entries[0].version % 2 else make_rows()
                try:
                    rows.put_if_absent(base_uri, entries[writer])
                except ObjectExistsError:
                    return False
                return True

            won = race(add)
            assert won.count(True) == 1
            assert shared.get(base_uri, version) == entries[won.index(True)]
            assert shared.get_latest(base_uri) == entries[won.index(True)]

    def test_racing_replacements_leave_one_of_them_whole(
        self, make_rows: Callable[[], ExternalManifestStore], base_uri: str
    ) -> None:
        rows = make_rows()
        rows.put_if_absent(base_uri, _staged(base_uri, 1)[0])
        for _ in range(ROUNDS):
            entries = _staged(base_uri, 1)

            def replace(writer: int, entries: list[ManifestEntry] = entries) -> None:
                rows.put_if_present(base_uri, entries[writer])

            race(replace)
            assert rows.get(base_uri, 1) in entries


def _staged(base_uri: str, version: int) -> list[ManifestEntry]:
    """A row for each writer, all of the same version."""
    return [
        ManifestEntry(version, f"{base_uri}/_versions/{version}.manifest-{uuid.uuid4()}", number)
        for number in range(WRITERS)
    ]
