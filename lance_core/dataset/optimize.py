"""`LanceDataset.optimize`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, cast

from lance_core.dataset import compaction
from lance_core.dataset.mixin_base import DatasetBase
from lance_core.dataset.short_tracebacks import short_tracebacks
from lance_core.dataset.values.auto_cleanup_options import (
    INTERVAL,
    OLDER_THAN,
    AutoCleanupConfig,
    auto_cleanup_keys,
)
from lance_core.dataset.values.compaction import (
    CompactionCheck,
    CompactionMetrics,
    CompactionOptions,
)
from lance_core.dataset.values.progress import FragmentWriteProgress
from lance_core.dataset.write import config
from lance_core.error_texts.suggestions import unknown_argument
from lance_core.errors import warn_caller
from lance_core.imports.on_demand import lazy_module

if TYPE_CHECKING:
    from lance_core.dataset.maintenance.indices import optimize as optimizing_indices
else:
    optimizing_indices = lazy_module("lance_core.dataset.maintenance.indices.optimize")


@short_tracebacks
class DatasetOptimizer:
    """Rewrites the files of a table for faster reads; `LanceDataset.optimize` returns it."""

    def __init__(self, dataset: DatasetBase) -> None:
        self._dataset = dataset

    def compact_files(
        self,
        *,
        progress: FragmentWriteProgress | None = None,
        **options: Unpack[CompactionOptions],
    ) -> CompactionMetrics:
        """Merge small fragments, remove deleted rows and dropped columns, and open the new version.

        Neighbours with fewer than ``target_rows_per_fragment`` rows are merged, and fragments with
        many deleted rows are rewritten; the new fragments are the last ones of the table.
        `CompactionOptions` lists all options with their defaults; keys of the table's config with
        the prefix ``lance.compaction.`` replace these. ``progress``: called at the begin and the
        end of each new fragment. Without fragments to rewrite nothing is committed.

        Other writers may go on: rows that they delete or update are deleted in the new
        fragments, too. Fragments that they replace are planned again, several times;
        `CompactionMetrics.fragments_left` counts those that stay as they are.

        Raises `InvalidInputError` and `InvalidTypeError` for invalid options, `CompactionError` for
        those that do not fit the table, `PluginNotFoundError` without the extra ``compaction``,
        `RetryableCommitConflictError` if other writers have
        replaced all of the fragments each time, `CorruptFileError` for corrupt files, and the
        errors of the store and of a commit. The new files are removed if the compaction has
        certainly failed.
        """
        for name in options.keys() - CompactionOptions.__annotations__.keys():
            raise unknown_argument(name, CompactionOptions.__annotations__)
        return compaction.Compaction.execute(self._dataset, options, progress=progress)

    def verify(self) -> CompactionCheck:
        """Compare checksums of the newest compaction's rows before and after it, by scans.

        Raises `CorruptFileError` if rows differ, and `CompactionError` if no version is a
        compaction, or if a cleanup has removed the files before it.
        """
        return compaction.Compaction.verify(self._dataset)

    def optimize_indices(
        self,
        *,
        num_indices_to_merge: int | None = None,
        index_names: Sequence[str] | None = None,
        retrain: bool = False,
    ) -> None:
        """Add the rows that indices do not cover to them, and move to the new version.

        Of each index, the newest ``num_indices_to_merge`` segments (by default one) and the new
        rows become one segment; with 0, the new rows become a segment of their own. From 2 on,
        segments are merged even if no rows are new. ``index_names``: only these; a name without an
        index, and an index of an unknown type, lead to a warning. ``retrain``: build each index
        again from all rows, as one segment; if its files cannot be read, with default parameters
        and an `IndexWarning`. All indices are committed at once; without anything to
        do nothing is committed.

        Other writers may go on. Indices that meet a conflict are planned again on the newest
        version, several times; an `IndexWarning` names those that are left without all rows.

        Raises `InvalidTypeError`, `InvalidInputError` for a negative number, `CorruptFileError` and
        `ObjectNotFoundError` for damaged files, and `RetryableCommitConflictError` if other writers
        have changed all of the indices each time.
        """
        options = optimizing_indices.IndexOptimization(
            num_indices_to_merge=num_indices_to_merge, index_names=index_names, retrain=retrain
        )
        self._dataset.move_to(optimizing_indices.optimize(self._dataset.snapshot, options))

    def enable_auto_cleanup(self, auto_cleanup_config: AutoCleanupConfig, **kwargs: Any) -> None:
        """Let commits clean up older versions; the values go to the config of the table.

        Raises `InvalidInputError` for a negative or fractional value, and for an unknown name.
        """
        _ignored(kwargs)
        values = auto_cleanup_keys(cast(Mapping[str, int], auto_cleanup_config))
        self._dataset.move_to(config.update_config(self._dataset.snapshot, values, False))

    def disable_auto_cleanup(self, **kwargs: Any) -> None:
        """Stop the automatic cleanup; a table without one stays as it is."""
        _ignored(kwargs)
        keys = [INTERVAL, OLDER_THAN]
        self._dataset.move_to(config.delete_config_keys(self._dataset.snapshot, keys))


def _ignored(arguments: Mapping[str, Any]) -> None:
    """Warn about arguments without an effect, as pylance accepts any."""
    if arguments:
        names = ", ".join(sorted(arguments))
        warn_caller(f"arguments without an effect: {names}")
