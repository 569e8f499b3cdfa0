"""Run verbs on tables while a plugin tells a lie, and check afterwards that nothing is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

import lance_core as lance
from lance_core.errors import CommitUnknownError, LanceError
from tests.liars.lies import Lie, no_lie

ROWS = pa.table({"x": pa.array(range(10), pa.int64()), "s": [f"row {i}" for i in range(10)]})
MORE = pa.table({"x": pa.array([100, 101], pa.int64()), "s": ["new", "newer"]})


class LyingPlugin(Protocol):
    """A plugin that tells ``lie``."""

    lie: Lie


def _append(uri: str) -> None:
    lance.write_dataset(MORE, uri, mode="append")


def _delete(uri: str) -> None:
    lance.dataset(uri).delete("x < 3")


def _upsert(uri: str) -> None:
    source = pa.table({"x": pa.array([1, 100], pa.int64()), "s": ["other", "new"]})
    merge = lance.dataset(uri).merge_insert("x")
    merge.when_matched_update_all().when_not_matched_insert_all().execute(source)


def _overwrite(uri: str) -> None:
    lance.write_dataset(MORE, uri, mode="overwrite")


def _compact(uri: str) -> None:
    lance.dataset(uri).optimize.compact_files()


def _copy_pages(uri: str) -> None:
    lance.dataset(uri).optimize.compact_files(compaction_mode="try_binary_copy")


def _add_column(uri: str) -> None:
    lance.dataset(uri).add_columns({"y": "x + 1"})


def _index(uri: str) -> None:
    lance.dataset(uri).create_scalar_index("x", "BTREE")


def _clean_up(uri: str) -> None:
    lance.dataset(uri).cleanup_old_versions(timedelta(0), delete_unverified=True)


def _restore(uri: str) -> None:
    lance.dataset(uri, version=1).restore()


def _read(uri: str) -> None:
    assert lance.dataset(uri).to_table().sort_by("x").equals(ROWS)


VERBS: dict[str, Callable[[str], None]] = {
    "append": _append,
    "delete": _delete,
    "upsert": _upsert,
    "overwrite": _overwrite,
    "compact": _compact,
    "copy pages": _copy_pages,
    "add a column": _add_column,
    "create an index": _index,
    "clean up": _clean_up,
    "check out and restore": _restore,
    "read": _read,
}


def content(path: Path) -> list[dict[str, Any]]:
    """All columns of all rows, read by a healthy store and handler."""
    dataset = lance.dataset(str(path))
    return sorted(dataset.to_table().to_pylist(), key=lambda row: row["x"])


class Trial:
    """A table of two fragments, and what it holds before and after a verb."""

    def __init__(self, folder: Path, verb: str) -> None:
        self.verb = VERBS[verb]
        self.folder = folder
        self.model = folder / "model"
        lance.write_dataset(ROWS.slice(0, 5), str(self.model))
        lance.write_dataset(ROWS.slice(5), str(self.model), mode="append")
        self.before = content(self.model)
        honest = shutil.copytree(self.model, folder / "honest")
        self.verb(str(honest))
        self.after = content(honest)
        self.count = 0

    def run(self, plugin: LyingPlugin, scheme: str, lie: Lie) -> BaseException | None:
        """Run the verb while the plugin tells ``lie``; check that nothing is lost.

        Returns the error in which the verb ended, None if it succeeded.
        """
        self.count += 1
        path = shutil.copytree(self.model, self.folder / str(self.count))
        plugin.lie = lie
        ended: BaseException | None = None
        try:
            self.verb(f"{scheme}://{path}")
        except BaseException as error:
            ended = error
        plugin.lie = no_lie()
        self.check(path, ended)
        assert isinstance(ended, LanceError | None) or ended is lie.raised, repr(ended)
        shutil.rmtree(path)
        return ended

    def check(self, path: Path, ended: BaseException | None) -> None:
        """Check that the table has the rows that the end of the verb promises."""
        now = content(path)
        if ended is None:
            assert now == self.after
        elif isinstance(ended, LanceError) and not isinstance(ended, CommitUnknownError):
            assert now == self.before, f"not committed, according to {ended!r}"
        else:
            assert now in (self.before, self.after)
