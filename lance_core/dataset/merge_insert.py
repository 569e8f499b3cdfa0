"""`MergeInsertBuilder`: configure and run a merge of new data into a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from lance_core.dataset.expressions.filters import as_filter
from lance_core.dataset.short_tracebacks import short_tracebacks
from lance_core.dataset.values.transaction import Transaction, properties_of
from lance_core.dataset.write.discard_on_failure import NewFiles, discard_on_failure
from lance_core.dataset.write.input import ReaderLike, to_reader
from lance_core.dataset.write.merge_insert.join import Join
from lance_core.dataset.write.merge_insert.merge import ExecuteResult, merge, write_merge
from lance_core.dataset.write.merge_insert.new_columns import check_can_rewrite_columns
from lance_core.dataset.write.merge_insert.plan import Matched, MergePlan, WriteMode, key_columns
from lance_core.dataset.write.merge_insert.report import analysis, outline
from lance_core.dataset.write.merge_insert.source import (
    MEMORY_BUDGET,
    MEMORY_VARIABLE,
    Source,
    read_source,
    source_schemas,
)
from lance_core.dataset.write.retry_on_conflict import ConflictRetries
from lance_core.dataset.write.target_bases import BaseChoice
from lance_core.encodings.version import FileVersion
from lance_core.errors import InvalidInputError
from lance_core.store.temporary_folder import TemporaryFolder, memory_budget
from lance_core.table.storage_version import may_mix

if TYPE_CHECKING:
    from lance_core.dataset.mixin_base import DatasetBase


@short_tracebacks
class MergeInsertBuilder:
    """A merge of new data (the source) into a table (the target).

    Rows are matched by key columns. The ``when_*`` methods choose what happens to matched rows,
    rows that only the source has, and rows that only the target has; without them nothing would
    change. A key with a null matches no row. Then call `execute`.
    """

    def __init__(self, dataset: DatasetBase, on: str | Iterable[str] | None) -> None:
        """``on``: the key columns; None means the table's unenforced primary key."""
        self._dataset = dataset
        self._plan = MergePlan(key_columns(dataset.snapshot.schema, on))

    def when_matched_update_all(self, condition: str | None = None) -> Self:
        """Replace matched target rows by the source rows.

        ``condition``: SQL; only pairs that satisfy it are updated. It names columns as
        ``source.x`` and ``target.x``. Columns that the source does not have keep their values.
        """
        _check_text("condition", condition)
        matched = Matched.UPDATE if condition is None else Matched.UPDATE_IF
        return self._with(matched=matched, condition=condition)

    def when_matched_delete(self) -> Self:
        """Delete matched target rows."""
        return self._with(matched=Matched.DELETE, condition=None)

    def when_matched_fail(self) -> Self:
        """Raise `MergeError` if any row matches."""
        return self._with(matched=Matched.FAIL, condition=None)

    def when_not_matched_insert_all(self) -> Self:
        """Insert the source rows that match no target row; columns they do not have are null."""
        return self._with(inserts=True)

    def when_not_matched_by_source_delete(self, expr: str | None = None) -> Self:
        """Delete the target rows that match no source row, those that satisfy ``expr`` if given.

        Raises `InvalidInputError` for invalid SQL.
        """
        _check_text("expr", expr)
        if expr is not None:
            as_filter(expr, self._dataset.snapshot.schema_with_descriptions.to_arrow())
        return self._with(deletes_unmatched=True, unmatched_condition=expr)

    def conflict_retries(self, max_retries: int) -> Self:
        """Set how often the merge is retried after a conflict with another writer (default 10).

        Raises ``TypeError`` unless it is an integer, `InvalidInputError` if it is negative.
        """
        if not isinstance(max_retries, int):
            raise TypeError(f"max_retries must be a whole number, got {max_retries!r}")
        limits = ConflictRetries.of(max_retries, timedelta(seconds=self._plan.retries.timeout))
        return self._with(retries=limits)

    def retry_timeout(self, timeout: timedelta) -> Self:
        """Stop retrying after ``timeout`` (default 30 s); the first attempt may take longer.

        Raises ``TypeError`` unless it is a timedelta, `InvalidInputError` if it is negative.
        """
        if not isinstance(timeout, timedelta):
            raise TypeError(f"timeout must be a timedelta, got {timeout!r}")
        return self._with(retries=ConflictRetries.of(self._plan.retries.max_retries, timeout))

    def transaction_properties(
        self,
        properties: Mapping[str, str],
        is_committed: Callable[[Mapping[str, str]], bool] | None = None,
    ) -> Self:
        """Set properties that are stored with the transaction, and commit the merge only once.

        ``is_committed`` is called with the properties of each transaction that was committed after
        the open version; if it returns True for one, `execute` raises `AlreadyCommittedError`. Then
        the merge is not computed again after a conflict: check the newest version first. Raises
        `InvalidInputError` unless names and values are text.
        """
        changes: dict[str, Any] = {"properties": properties_of(None, properties)}
        if is_committed is not None:
            timeout = timedelta(seconds=self._plan.retries.timeout)
            changes |= {"is_committed": is_committed, "retries": ConflictRetries.of(0, timeout)}
        return self._with(**changes)

    def use_index(self, use_index: bool) -> Self:
        """Set whether indices of the key columns find the rows of a source with few keys."""
        if not isinstance(use_index, bool):
            raise TypeError(f"use_index must be a bool, got {use_index!r}")
        return self._with(use_index=use_index)

    def data_storage_version(self, version: str) -> Self:
        """Set the file version of the new files, by default the table's.

        Raises `InvalidInputError` for a version that the table's files cannot be mixed with.
        """
        _check_text("version", version)
        chosen, table = FileVersion.from_selector(version), self._dataset.snapshot.storage_version
        if not may_mix(chosen.value, table.value):
            raise InvalidInputError(
                f"the table holds files of version {table.value}, files of version {version} "
                "cannot be added"
            )
        return self._with(version=chosen)

    def write_mode(self, mode: str) -> Self:
        """Set where new values are written: ``auto``, ``rewrite_rows`` or ``rewrite_columns``."""
        _check_text("mode", mode)
        try:
            return self._with(write_mode=WriteMode(mode))
        except ValueError:
            known = ", ".join(repr(member.value) for member in WriteMode)
            raise InvalidInputError(
                f"Invalid write_mode: {mode}. Expected one of {known}"
            ) from None

    def target_bases(self, bases: Sequence[str]) -> Self:
        """Write new fragments to these base paths in turn, named as in `write_dataset`.

        Deletion files, and files of `write_mode` ``rewrite_columns``, go to the table's root.
        Raises `InvalidInputError` for base paths that the table does not have.
        """
        choice = BaseChoice.of(bases, self._plan.bases.every)
        return self._to_bases(choice)

    def target_all_bases(self, include_primary: bool = True) -> Self:
        """Write new fragments to all base paths that the table has when the merge runs, in turn.

        ``include_primary``: to the table's root as well.
        """
        return self._to_bases(BaseChoice.of(self._plan.bases.references, include_primary))

    def execute(self, data_obj: ReaderLike, *, schema: pa.Schema | None = None) -> ExecuteResult:
        """Merge ``data_obj``, commit, and move the dataset to the new version.

        ``data_obj`` and ``schema``: see `lance_core.write_dataset`. A streamed source is kept in
        memory up to 512 MiB (or ``LANCE_CORE_MERGE_MEMORY_BYTES``) and on disk beyond that. If a
        concurrent writer changes the same rows, or adds rows with keys that the merge inserts, the
        merge is computed again on the newest version.

        Raises `MergeError` for several source rows with the key of one target row, and for matches
        after `when_matched_fail`; `SchemaMismatchError` for columns that do not fit the table;
        `CommitUnknownError` if the outcome is unknown, another `CommitError` if nothing changed.
        """
        with self._prepared(data_obj, schema) as (source, folder, budget):
            made, result = merge(self._dataset.snapshot, self._plan, source, folder, budget)
        self._dataset.move_to(made)
        return result

    def execute_uncommitted(
        self, data_obj: ReaderLike, *, schema: pa.Schema | None = None
    ) -> tuple[Transaction, ExecuteResult]:
        """Merge without a commit: the transaction for `LanceDataset.commit`, and the result.

        If the key columns are the table's unenforced primary key, its commit is refused after
        another merge that inserted the same keys; otherwise nothing finds them.
        """
        snapshot = self._dataset.snapshot
        with self._prepared(data_obj, schema) as (source, folder, budget):
            join = Join(snapshot, self._plan, source, folder, budget)
            with discard_on_failure(snapshot.root) as files:
                work = write_merge(join, files)
        return Transaction.of(work.transaction), work.result

    def execute_batches(self, new_data: ReaderLike) -> ExecuteResult:
        """As `execute`, under pylance's name for data in memory."""
        return self.execute(new_data)

    def execute_uncommitted_batches(
        self, new_data: ReaderLike
    ) -> tuple[Transaction, ExecuteResult]:
        """As `execute_uncommitted`."""
        return self.execute_uncommitted(new_data)

    def explain_plan(self, schema: pa.Schema | None = None, verbose: bool = False) -> str:
        """The steps of the merge of a source with ``schema``, by default the table's."""
        snapshot = self._dataset.snapshot
        if schema is not None and not isinstance(schema, pa.Schema):
            raise TypeError(f"schema must be a pyarrow.Schema, got {type(schema).__name__}")
        self._plan.check()
        source_schema = snapshot.schema.to_arrow() if schema is None else schema
        schemas = source_schemas(snapshot.schema, source_schema, self._plan, self._version)
        return outline(snapshot, self._plan, schemas)

    def analyze_plan(self, data_obj: ReaderLike, *, schema: pa.Schema | None = None) -> str:
        """Run the merge without a commit, and return its steps with time, rows and bytes.

        The written files are removed.
        """
        snapshot = self._dataset.snapshot
        with self._prepared(data_obj, schema) as (source, folder, budget):
            join = Join(snapshot, self._plan, source, folder, budget)
            files = NewFiles(snapshot.root)
            try:
                return analysis(join, files)
            finally:
                files.discard()

    def analyze_plan_batches(self, new_data: ReaderLike) -> str:
        """As `analyze_plan`."""
        return self.analyze_plan(new_data)

    @property
    def _version(self) -> FileVersion:
        return self._plan.version or self._dataset.snapshot.storage_version

    @contextmanager
    def _prepared(
        self, data: ReaderLike, schema: pa.Schema | None
    ) -> Iterator[tuple[Source, TemporaryFolder, float]]:
        """The source, a temporary folder, and the memory budget."""
        self._plan.check()
        budget = memory_budget(MEMORY_VARIABLE, MEMORY_BUDGET)
        reader = to_reader(data, schema)
        table = self._dataset.snapshot.schema
        schemas = source_schemas(table, reader.schema, self._plan, self._version)
        if self._plan.write_mode is WriteMode.REWRITE_COLUMNS:
            check_can_rewrite_columns(self._plan, *schemas)
        # A table of the caller is in memory anyway.
        limit = float("inf") if isinstance(data, pa.Table | pa.RecordBatch) else budget
        with TemporaryFolder("merge") as folder:
            kernels = self._dataset.snapshot.root.registry.kernels
            source = read_source(reader, schemas, self._plan.on, folder, limit, kernels)
            yield source, folder, budget

    def _to_bases(self, choice: BaseChoice) -> Self:
        snapshot = self._dataset.snapshot
        root = snapshot.root.allowing(choice.named_paths(snapshot.manifest.base_paths))
        self._dataset.move_to(replace(snapshot, root=root))
        return self._with(bases=choice)

    def _with(self, **changes: Any) -> Self:
        self._plan = replace(self._plan, **changes)
        return self


def _check_text(name: str, value: object) -> None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} must be a str, got {type(value).__name__}")
