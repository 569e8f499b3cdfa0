"""Operations on the indices of tables, for any namespace, and how it opens a table."""

from __future__ import annotations

from typing import Any

import lance_namespace as names
from lance_namespace import errors

import lance_core as lance
from lance_core.errors import DatasetNotFoundError
from lance_core_namespace.requests import id_of, operation, page_of, shown

_OF_VECTORS = (
    *("num_partitions", "num_sub_vectors", "num_bits", "sample_rate", "max_iterations"),
    *("target_partition_size", "m", "ef_construction"),
)
_OF_TEXTS = (
    *("with_position", "base_tokenizer", "language", "max_token_length", "lower_case", "stem"),
    *("remove_stop_words", "ascii_folding"),
)


class TableIndices(names.LanceNamespace):
    """The operations on indices; `lance_core_namespace.tables` has the others."""

    def dataset_of(self, request: Any, version: int | None = None) -> lance.LanceDataset:
        """The table that a request names, at the version and branch that it asks for.

        Raises ``TableNotFoundError``, or ``TableVersionNotFoundError``.
        """
        branch = getattr(request, "branch", None)
        dataset = self.open_table(id_of(request))
        if version is None and branch is None:
            return dataset
        try:
            return dataset.checkout_version((branch, version))
        except DatasetNotFoundError as error:
            named = f"version {version} of table {shown(request.id)}"
            if version is None:
                raise errors.TableBranchNotFoundError(
                    f"table {shown(request.id)} has no branch {branch!r}"
                ) from error
            raise errors.TableVersionNotFoundError(f"{named} does not exist") from error

    def open_table(self, id_: tuple[str, ...]) -> lance.LanceDataset:
        """The table at its newest version; a namespace may know a shorter way."""
        return lance.dataset(namespace_client=self, table_id=list(id_))

    @operation
    def create_table_index(self, request: Any) -> Any:
        """Index a column: for filters, for vector search, or for full-text search."""
        index_type = request.index_type.upper()
        options = {name: getattr(request, name) for name in (*_OF_VECTORS, *_OF_TEXTS)}
        chosen = {name: value for name, value in options.items() if value is not None}
        dataset = self.dataset_of(request)
        if index_type.startswith("IVF") or index_type == "VECTOR":
            metric = request.distance_type or "L2"
            dataset.create_index(request.column, index_type, request.name, metric, **chosen)
        else:
            dataset.create_scalar_index(request.column, index_type, request.name, **chosen)
        return names.CreateTableIndexResponse(transaction_id=_transaction(dataset))

    @operation
    def create_table_scalar_index(self, request: Any) -> Any:
        """Index a column for filters."""
        dataset = self.dataset_of(request)
        dataset.create_scalar_index(request.column, request.index_type.upper(), request.name)
        return names.CreateTableIndexResponse(transaction_id=_transaction(dataset))

    @operation
    def list_table_indices(self, request: Any) -> Any:
        """The indices of a table."""
        dataset = self.dataset_of(request, request.version)
        indices = {index.name: index for index in dataset.describe_indices()}
        rows = dataset.count_rows()
        page, token = page_of(list(indices), request)
        return names.ListTableIndicesResponse.from_dict(
            {"indexes": [_content(indices[name], rows) for name in page], "page_token": token}
        )

    @operation
    def describe_table_index_stats(self, request: Any) -> Any:
        """How many rows an index covers."""
        dataset = self.dataset_of(request, request.version)
        statistics = dataset.stats.index_stats(request.index_name or "")
        return names.DescribeTableIndexStatsResponse(
            index_type=statistics["index_type"],
            num_indexed_rows=statistics["num_indexed_rows"],
            num_unindexed_rows=statistics["num_unindexed_rows"],
            num_indices=statistics["num_indices"],
        )

    @operation
    def drop_table_index(self, request: Any) -> Any:
        """Remove an index."""
        dataset = self.dataset_of(request)
        dataset.drop_index(request.index_name or "")
        return names.DropTableIndexResponse(transaction_id=_transaction(dataset))


def _content(index: Any, rows: int) -> dict[str, Any]:
    newest = max(index.segments, key=lambda segment: segment.index_version)
    created = newest.created_at
    return {
        "index_name": index.name,
        "index_uuid": str(newest.uuid),
        "columns": list(index.field_names),
        "status": "SUCCEEDED",
        "index_type": index.index_type,
        "type_url": index.type_url,
        "num_indexed_rows": index.num_rows_indexed,
        "num_unindexed_rows": max(rows - index.num_rows_indexed, 0),
        "size_bytes": index.total_size_bytes,
        "num_segments": len(index.segments),
        "created_at": None if created is None else created.isoformat(),
        "index_version": newest.index_version,
    }


def _transaction(dataset: lance.LanceDataset) -> str | None:
    transaction = dataset.read_transaction(dataset.version)
    return None if transaction is None else transaction.uuid
