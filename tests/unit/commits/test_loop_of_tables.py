"""Commits to whole tables: losers clean up, and conflicts can be tried again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.commits import loop
from lance_core.commits.base import ManifestLocation
from lance_core.commits.loop import commit_transaction
from lance_core.errors import (
    CommitError,
    CommitUnknownError,
    InvalidInputError,
    RetryableCommitConflictError,
)
from lance_core.store.base import ObjectStore
from lance_core.store.memory import MemoryStore
from lance_core_testing.sample_transactions import (
    IMPATIENT,
    append,
    creation,
)
from tests.unit.commits.loop_steps import Beaten, commit, uuids


@pytest.fixture
def store() -> ObjectStore:
    return MemoryStore()


# --- exceptions of others -----------------------------------------------------------------------


def test_whatever_a_handler_raises_later_a_loser_has_certainly_not_committed(
    store: ObjectStore,
) -> None:
    base = commit(store, creation())

    class Breaks(Beaten):
        def latest(self) -> ManifestLocation | None:
            if not self.times:
                raise RuntimeError("a defect of the plugin")
            return super().latest()

    transaction = append(1)
    with pytest.raises(CommitError, match=r"not committed: .*Breaks: latest raised") as failed:
        commit_transaction(Breaks(store, 1), store, transaction, base, environment=IMPATIENT)
    assert not isinstance(failed.value, CommitUnknownError)
    assert transaction.uuid not in uuids(store)


def rows_from(first: int) -> pa.Table:
    return pa.table({"i": range(first, first + 10)})


def deletion_files(uri: str) -> tuple[set[str], set[str]]:
    """The files of deletions in the table's folder, and those that a version names."""
    dataset = lance.dataset(uri)
    named = {
        f"{uri}/{fragment.deletion_file.store_path(fragment.id)}"
        for version in dataset.versions()
        for fragment in lance.dataset(uri, version["version"]).snapshot.manifest.fragments
        if fragment.deletion_file is not None
    }
    return {str(path) for path in Path(uri, "_deletions").iterdir()}, named


def test_deletions_merged_for_a_version_that_was_not_made_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish, is_still_right = loop.publish, loop._Attempts._is_still_right
    for way in ("publish", "is_still_right"):
        uri = str(tmp_path / way)
        lance.write_dataset(rows_from(0), uri)
        late = lance.dataset(uri)
        lance.dataset(uri).delete("i = 1")
        calls: list[str] = []

        def overtaken(*args: Any, uri: str = uri, calls: list[str] = calls) -> Any:
            calls.append("publish")
            if len(calls) == 1:  # its deletions are merged with the other's by now
                lance.dataset(uri).delete("i = 3")
            return publish(*args)

        def wrong_once(*args: Any, calls: list[str] = calls) -> bool:
            calls.append("is_still_right")
            return len(calls) > 1 and is_still_right(*args)

        with monkeypatch.context() as patched:
            if way == "publish":
                patched.setattr(loop, "publish", overtaken)
            else:
                patched.setattr(loop._Attempts, "_is_still_right", wrong_once)
            late.delete("i = 2")
        assert len(calls) >= 2
        there, named = deletion_files(uri)
        assert there == named
        deleted = {1, 2, 3} if way == "publish" else {1, 2}
        assert set(lance.dataset(uri).to_table()["i"].to_pylist()) == set(range(10)) - deleted


def test_what_does_not_fit_a_later_version_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise InvalidInputError("this does not go together")

    uri = str(tmp_path / "table")
    lance.write_dataset(rows_from(0), uri)
    files = lance.fragment.write_fragments(rows_from(10), uri)
    assert isinstance(files, list)
    append = lance.LanceOperation.Append(files)
    for error, text in (
        (InvalidInputError, r"^this does not go together"),
        (
            RetryableCommitConflictError,
            r"for version 2: .* 1 does not fit it: this does not go",
        ),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(loop, "apply", refuse)
            with pytest.raises(error, match=text):
                lance.LanceDataset.commit(uri, append, read_version=1)
        lance.dataset(uri).insert(rows_from(20))
