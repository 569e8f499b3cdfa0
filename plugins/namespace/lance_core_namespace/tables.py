"""Operations on the rows, columns, indices, tags and branches of tables, for any namespace."""

from __future__ import annotations

import io
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import lance_namespace as names
import numpy as np
import pyarrow as pa
from lance_namespace import errors

import lance_core as lance
from lance_core.errors import InvalidRefError, RefConflictError, RefNotFoundError
from lance_core_namespace.json_schemas import json_schema
from lance_core_namespace.requests import id_of, operation, page_of
from lance_core_namespace.table_indices import TableIndices

_SMALL_FRAGMENT = 1024 * 1024
"""Rows below which statistics call a fragment small; compactions merge such fragments."""


class TableOperations(TableIndices):
    """What a namespace can do with its tables, once ``describe_table`` tells where they are.

    A namespace that inherits it implements ``describe_table``, ``declare_table`` and what lists and
    removes tables. All other operations open the table by `dataset_of`.
    """

    @operation
    def count_table_rows(self, request: Any) -> Any:
        """The rows of a table that satisfy ``predicate``."""
        dataset = self.dataset_of(request, request.version)
        return names.CountTableRowsResponse(count=dataset.count_rows(request.predicate))

    @operation
    def insert_into_table(self, request: Any, request_data: bytes) -> Any:
        """Append rows, or replace all by them; ``request_data``: a stream of Arrow's IPC format."""
        mode: Any = (request.mode or "append").lower()
        if mode not in {"append", "overwrite"}:
            raise errors.InvalidInputError(f"mode is 'append' or 'overwrite', got {mode!r}")
        rows = rows_of(request_data)
        made = lance.write_dataset(rows, self.dataset_of(request), None, mode)
        return names.InsertIntoTableResponse(num_inserted_rows=rows.num_rows, version=made.version)

    @operation
    def merge_insert_into_table(self, request: Any, request_data: bytes) -> Any:
        """Update and insert rows by the values of the columns ``on``."""
        if not request.on:
            raise errors.InvalidInputError("a merge needs the columns 'on'")
        dataset = self.dataset_of(request)
        merge = dataset.merge_insert(request.on)
        if request.when_matched_update_all:
            merge = merge.when_matched_update_all(request.when_matched_update_all_filt)
        if request.when_not_matched_insert_all:
            merge = merge.when_not_matched_insert_all()
        if request.when_not_matched_by_source_delete:
            condition = request.when_not_matched_by_source_delete_filt
            merge = merge.when_not_matched_by_source_delete(condition)
        if request.timeout:
            merge = merge.retry_timeout(_seconds(request.timeout))
        result = merge.execute(rows_of(request_data))
        return names.MergeInsertIntoTableResponse(
            num_updated_rows=result["num_updated_rows"],
            num_inserted_rows=result["num_inserted_rows"],
            num_deleted_rows=result["num_deleted_rows"],
            version=dataset.version,
        )

    @operation
    def update_table(self, request: Any) -> Any:
        """Change columns of the rows that satisfy ``predicate``, by expressions of SQL."""
        if not all(len(pair) == 2 for pair in request.updates):
            raise errors.InvalidInputError("an update is a pair of a column and an expression")
        dataset = self.dataset_of(request)
        result = dataset.update(dict(request.updates), request.predicate)
        return names.UpdateTableResponse(
            updated_rows=result["num_rows_updated"], version=dataset.version
        )

    @operation
    def delete_from_table(self, request: Any) -> Any:
        """Delete the rows that satisfy ``predicate``."""
        dataset = self.dataset_of(request)
        dataset.delete(request.predicate)
        return names.DeleteFromTableResponse(version=dataset.version)

    @operation
    def query_table(self, request: Any) -> Any:
        """Rows that satisfy ``filter``, or the nearest ones to a vector, in Arrow's file format."""
        table = self._queried(request).to_table()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, table.schema) as file:
            file.write_table(table)
        return names.QueryTableResponse(data=sink.getvalue().to_pybytes())

    @operation
    def explain_table_query_plan(self, request: Any) -> Any:
        """The plan of a query, as a text."""
        query = request.query.model_copy(update={"id": request.id, "branch": request.branch})
        return self._queried(query).explain_plan(verbose=bool(request.verbose))

    @operation
    def analyze_table_query_plan(self, request: Any) -> Any:
        """The plan of a query that ran, with its metrics, as a text."""
        return self._queried(request).analyze_plan()

    @operation
    def list_table_tags(self, request: Any) -> Any:
        """The tags of a table, with their versions."""
        tags = self.dataset_of(request).tags.list()
        page, token = page_of(list(tags), request)
        return names.ListTableTagsResponse.from_dict(
            {"tags": {tag: _tag(tags[tag]) for tag in page}, "page_token": token}
        )

    @operation
    def get_table_tag_version(self, request: Any) -> Any:
        """The version of a tag."""
        tags = self.dataset_of(request).tags.list()
        if request.tag not in tags:
            raise errors.TableTagNotFoundError(f"there is no tag {request.tag!r}")
        tag = tags[request.tag]
        return names.GetTableTagVersionResponse(version=tag["version"], branch=tag["branch"])

    @operation
    def create_table_tag(self, request: Any) -> Any:
        """Give a version a name."""
        self.dataset_of(request).tags.create(request.tag, _reference(request))
        return names.CreateTableTagResponse()

    @operation
    def delete_table_tag(self, request: Any) -> Any:
        """Remove the name of a version."""
        self.dataset_of(request).tags.delete(request.tag)
        return names.DeleteTableTagResponse()

    @operation
    def update_table_tag(self, request: Any) -> Any:
        """Let a tag name another version."""
        self.dataset_of(request).tags.update(request.tag, _reference(request))
        return names.UpdateTableTagResponse()

    @operation
    def list_table_branches(self, request: Any) -> Any:
        """The branches of a table."""
        branches = self.dataset_of(request).branches.list()
        page, token = page_of(list(branches), request)
        return names.ListTableBranchesResponse.from_dict(
            {"branches": {name: _branch(branches[name]) for name in page}, "page_token": token}
        )

    @operation
    def create_table_branch(self, request: Any) -> Any:
        """Make a branch that begins at a version."""
        dataset = self.dataset_of(request)
        try:
            dataset.create_branch(request.name, (request.from_branch, request.from_version))
        except RefConflictError as error:
            raise errors.TableBranchAlreadyExistsError(str(error)) from error
        return names.CreateTableBranchResponse()

    @operation
    def delete_table_branch(self, request: Any) -> Any:
        """Remove a branch and its versions."""
        try:
            self.dataset_of(request).branches.delete(request.name)
        except (RefNotFoundError, InvalidRefError) as error:
            raise errors.TableBranchNotFoundError(str(error)) from error
        return names.DeleteTableBranchResponse()

    @operation
    def restore_table(self, request: Any) -> Any:
        """Make an older version the newest one."""
        dataset = self.dataset_of(request, request.version)
        dataset.restore()
        return names.RestoreTableResponse(transaction_id=_transaction(dataset))

    @operation
    def update_table_schema_metadata(self, request: Any) -> Any:
        """Replace the metadata of the schema."""
        dataset = self.dataset_of(request)
        metadata = dataset.update_schema_metadata(request.metadata or {}, replace=True)
        return names.UpdateTableSchemaMetadataResponse(
            metadata=metadata, transaction_id=_transaction(dataset)
        )

    @operation
    def alter_table_add_columns(self, request: Any) -> Any:
        """Add columns that expressions of SQL compute."""
        dataset = self.dataset_of(request)
        expressions = {}
        for column in request.new_columns:
            if column.expression is None:
                raise errors.UnsupportedOperationError("a new column is given by an expression")
            expressions[column.name] = column.expression
        dataset.add_columns(expressions)
        return names.AlterTableAddColumnsResponse(version=dataset.version)

    @operation
    def alter_table_alter_columns(self, request: Any) -> Any:
        """Rename columns, or change whether they may be null."""
        dataset = self.dataset_of(request)
        changes: list[Any] = []
        for change in request.alterations:
            if change.data_type is not None or change.virtual_column is not None:
                raise errors.UnsupportedOperationError("the types of columns are not changed")
            members = {"path": change.path, "name": change.rename, "nullable": change.nullable}
            changes.append({key: value for key, value in members.items() if value is not None})
        dataset.alter_columns(*changes)
        return names.AlterTableAlterColumnsResponse(version=dataset.version)

    @operation
    def alter_table_drop_columns(self, request: Any) -> Any:
        """Remove columns."""
        dataset = self.dataset_of(request)
        dataset.drop_columns(request.columns)
        return names.AlterTableDropColumnsResponse(version=dataset.version)

    @operation
    def get_table_stats(self, request: Any) -> Any:
        """The number of rows, bytes, indices and fragments of a table."""
        dataset = self.dataset_of(request)
        rows = np.array([part.count_rows() for part in dataset.get_fragments()], np.int64)
        quantiles = np.percentile(rows, [25, 50, 75, 99]) if len(rows) else np.zeros(4)
        p25, p50, p75, p99 = (int(value) for value in quantiles)
        lengths = {
            "min": int(rows.min(initial=0 if not len(rows) else rows.max())),
            "max": int(rows.max(initial=0)),
            "mean": int(rows.mean()) if len(rows) else 0,
            "p25": p25,
            "p50": p50,
            "p75": p75,
            "p99": p99,
        }
        sizes = dataset.stats.data_stats().fields
        return names.GetTableStatsResponse.from_dict(
            {
                "total_bytes": sum(field.bytes_on_disk for field in sizes),
                "num_rows": int(rows.sum()),
                "num_indices": len(dataset.describe_indices()),
                "fragment_stats": {
                    "num_fragments": len(rows),
                    "num_small_fragments": int((rows < _SMALL_FRAGMENT).sum()),
                    "lengths": lengths,
                },
            }
        )

    @operation
    def describe_transaction(self, request: Any) -> Any:
        """The state of a transaction, whose identifier is the last part of the name."""
        *id_, uuid = id_of(request, "transaction")
        table = request.model_copy(update={"id": id_})
        for transaction in self.dataset_of(table).get_transactions(100) if id_ else ():
            if transaction is not None and transaction.uuid == uuid:
                operation_name = type(transaction.operation).__name__
                properties = {"uuid": uuid, "operation": operation_name}
                return names.DescribeTransactionResponse(status="SUCCEEDED", properties=properties)
        raise errors.TransactionNotFoundError(f"there is no transaction {uuid!r}")

    def details_of(self, dataset: lance.LanceDataset) -> dict[str, Any]:
        """What a description of a table has if ``load_detailed_metadata`` is asked for."""
        version = dataset.versions()[-1]
        return {
            "version": dataset.version,
            "schema": json_schema(dataset.schema),
            "metadata": {name: str(value) for name, value in version["metadata"].items()},
            "is_only_declared": False,
        }

    def _queried(self, request: Any) -> lance.LanceScanner:
        """A scan of the rows that a query asks for."""
        dataset = self.dataset_of(request, request.version)
        columns: Any = None
        if request.columns is not None:
            columns = request.columns.column_names or request.columns.column_aliases
        options: dict[str, Any] = {
            "columns": columns,
            "filter": request.filter,
            "offset": request.offset,
            "with_row_id": bool(request.with_row_id),
            "prefilter": bool(request.prefilter),
            "fast_search": bool(request.fast_search),
        }
        query = request.full_text_query
        if query is not None:
            if query.string_query is None:
                raise errors.UnsupportedOperationError("a full-text query is a string query")
            text = query.string_query
            options["full_text_query"] = {"query": text.query, "columns": text.columns}
        vector = request.vector.single_vector if request.vector is not None else None
        if vector:
            options["nearest"] = _nearest(request, vector)
        elif request.vector is not None and request.vector.multi_vector:
            raise errors.UnsupportedOperationError("a query has one vector")
        else:
            options["limit"] = request.k or None
        return dataset.scanner(**options)


def rows_of(data: bytes) -> pa.Table:
    """The rows of a stream of Arrow's IPC format; raises ``InvalidInputError`` for other bytes."""
    if not data:
        raise errors.InvalidInputError("the rows are missing: an Arrow IPC stream is required")
    try:
        with pa.ipc.open_stream(io.BytesIO(data)) as stream:
            table = stream.read_all()
            table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0][:200]
        raise errors.InvalidInputError(f"the rows are not an Arrow IPC stream: {reason}") from error
    return table


def _nearest(request: Any, vector: list[float]) -> dict[str, Any]:
    members = {
        "column": request.vector_column or "vector",
        "q": vector,
        "k": request.k,
        "metric": request.distance_type,
        "nprobes": request.nprobes,
        "minimum_nprobes": request.minimum_nprobes,
        "maximum_nprobes": request.maximum_nprobes,
        "refine_factor": request.refine_factor,
        "ef": request.ef,
        "use_index": not request.bypass_vector_index,
    }
    if request.lower_bound is not None or request.upper_bound is not None:
        members["distance_range"] = (request.lower_bound, request.upper_bound)
    return {name: value for name, value in members.items() if value is not None}


def _reference(request: Any) -> tuple[str | None, int]:
    return request.branch, request.version


def _tag(tag: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "branch": tag["branch"],
        "version": tag["version"],
        "manifestSize": tag["manifest_size"],
    }


def _branch(branch: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "parentBranch": branch["parent_branch"],
        "parentVersion": branch["parent_version"],
        "createAt": branch["create_at"],
        "manifestSize": branch["manifest_size"],
        "metadata": dict(branch["metadata"]),
    }


def _transaction(dataset: lance.LanceDataset) -> str | None:
    """The identifier of the transaction that made the open version."""
    transaction = dataset.read_transaction(dataset.version)
    return None if transaction is None else transaction.uuid


def _seconds(text: str) -> timedelta:
    """A duration such as ``30s`` or ``5m``; raises ``InvalidInputError`` for another text."""
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
    number = text.rstrip("msh")
    try:
        return timedelta(seconds=float(number) * units[text[len(number) :] or "s"])
    except (ValueError, KeyError, OverflowError):
        raise errors.InvalidInputError(
            f"a timeout is a number with a unit, such as '30s', got {text[:40]!r}"
        ) from None
