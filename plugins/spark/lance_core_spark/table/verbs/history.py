"""Verbs about the versions of a table: history, restore, tags, branches, vacuum, changes."""

from __future__ import annotations

from datetime import datetime, timedelta

from pyspark.sql import DataFrame

import lance_core
from lance_core import LanceOperation
from lance_core.dataset import CleanupStats
from lance_core.errors import InvalidInputError
from lance_core_spark.table.commit_info import NOTHING
from lance_core_spark.table.history import detail, history, tags
from lance_core_spark.table.verbs.base import TableVerbs


class HistoryVerbs(TableVerbs):
    """Verbs about versions."""

    def history(self, limit: int | None = None) -> DataFrame:
        """The newest ``limit`` versions, or all, newest first, as a data frame.

        Its columns are ``version``, ``timestamp``, ``operation``, ``operationParameters``,
        ``readVersion``, ``operationMetrics`` and ``userMetadata`` (the commit message). Raises
        `InvalidInputError` for a limit below 1.
        """
        return history(self._target.spark, self._target.table.open(), limit)

    def detail(self) -> DataFrame:
        """One row about the newest version: its location, files, rows, bytes and properties."""
        return detail(self._target.spark, self._target.table.open(), str(self._target.table))

    def restoreToVersion(self, version: int) -> None:  # noqa: N802
        """Commit a new version with the content of an older one.

        Raises `DatasetNotFoundError` if there is no such version.
        """
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise InvalidInputError(f"version must be the number of a version, not {version!r}")
        self._restore(self._target.table.open(version))

    def restoreToTimestamp(self, timestamp: str | datetime) -> None:  # noqa: N802
        """Commit a new version with the content that the table had at a time.

        ``timestamp`` without a zone is local time of the driver. Raises `InvalidInputError` for
        text that is no time, and `DatasetNotFoundError` if the table is younger.
        """
        if not isinstance(timestamp, str | datetime):
            raise InvalidInputError(f"timestamp must be text or a datetime, not {timestamp!r}")
        self._restore(self._target.table.open(asof=str(timestamp)))

    def restoreToTag(self, tag: str) -> None:  # noqa: N802
        """Commit a new version with the content of a tagged one.

        Raises `RefNotFoundError` without such a tag, and `InvalidInputError` for a tag of a branch.
        """
        table, version = self._target.table.at_tag(tag)
        if table.branch is not None:
            raise InvalidInputError(f"the tag {tag!r} is on the branch {table.branch!r}")
        self._restore(table.open(version))

    def _restore(self, older: lance_core.LanceDataset) -> None:
        commit = self._target.commit
        if commit == NOTHING:  # This also works if the manifest of the newest version is damaged.
            older.restore()
            return
        newest = self._target.table.open()
        if not commit.is_done(newest):
            lance_core.LanceDataset.commit(
                newest,
                LanceOperation.Restore(older.version),
                newest.version,
                transaction_properties=commit.properties("restore", {}, {}),
                is_committed=commit.is_committed,
            )

    def createTag(  # noqa: N802
        self, tag: str, version: int | None = None, replace: bool = False
    ) -> None:
        """Name a version, by default the newest; a vacuum keeps it.

        Raises `RefConflictError` if there is such a tag, unless ``replace`` moves it,
        `InvalidRefError` for an invalid name, and `DatasetNotFoundError` without such a version.
        """
        self._target.check_no_commit("createTag")
        known = self._target.table.open().tags
        if replace and tag in known.list():
            known.update(tag, version)
        else:
            known.create(tag, version)

    def deleteTag(self, tag: str) -> None:  # noqa: N802
        """Remove a tag, not its version; raises `RefNotFoundError`."""
        self._target.check_no_commit("deleteTag")
        self._target.table.open().tags.delete(tag)

    def listTags(self) -> DataFrame:  # noqa: N802
        """The tags, one row for each, with the columns ``tag``, ``version`` and ``branch``."""
        return tags(self._target.spark, self._target.table.open())

    def createBranch(self, branch: str, version: int | None = None) -> None:  # noqa: N802
        """Create a branch that starts from a version, by default the newest.

        The option ``branch`` reads it. Raises `RefConflictError` if there is such a branch,
        `InvalidRefError` for an invalid name, and `DatasetNotFoundError` without such a version.
        """
        self._target.check_no_commit("createBranch")
        self._target.table.open().create_branch(branch, version)

    def vacuum(self, retentionHours: float | None = None) -> CleanupStats:  # noqa: N803
        """Remove versions older than ``retentionHours`` (two weeks), and files of no version.

        Versions with a tag stay, and so do recent files and versions that were superseded minutes
        ago, see `LanceDataset.cleanup_old_versions`, whose statistics are returned.
        ``retentionHours=0``: the caller guarantees that no other process writes to the table; then
        these go, too.
        """
        self._target.check_no_commit("vacuum")
        hours = retentionHours
        if hours is None:
            return self._target.table.open().cleanup_old_versions(
                error_if_tagged_old_versions=False
            )
        if isinstance(hours, bool) or not isinstance(hours, int | float) or not hours >= 0:
            raise InvalidInputError(f"retentionHours must be a number from 0 on, not {hours!r}")
        older_than = timedelta(hours=hours)
        return self._target.table.open().cleanup_old_versions(
            older_than, delete_unverified=not hours, error_if_tagged_old_versions=False
        )
