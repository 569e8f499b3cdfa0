"""Everything that the author of an index type needs.

A type implements `IndexType`, and `OpenIndex` for one index, and is described by an
`IndexTypeSpec`. The rest are tools: sets of rows, an order of values, sorts that exceed memory,
hashes and filters, details for the manifest.
"""

from lance_core.index.base import (
    IndexBatch,
    IndexNotWrittenError,
    IndexPart,
    IndexRows,
    IndexType,
    OpenIndex,
    Precision,
    RowMap,
    RowNumbers,
    SearchResult,
    UnansweredQueryError,
)
from lance_core.index.details import (
    IVF,
    JsonIndexDetails,
    JsonTargetDataType,
    Tensor,
    VectorIndexDetails,
    ZoneMapIndexDetails,
    details_key,
    parse_details_message,
    parse_message,
)
from lance_core.index.external_sort import ExternalSort
from lance_core.index.files import (
    IndexFileReader,
    IndexFileWriter,
    IndexFolder,
    IndexOutput,
    Progress,
)
from lance_core.index.loads import count_parts
from lance_core.index.queries import (
    Contains,
    HasAll,
    HasAny,
    IndexQuery,
    InRange,
    IsIn,
    IsNull,
    MatchesRegex,
    OfJsonField,
    PlainQuery,
    StartsWith,
)
from lance_core.index.runs import Batches, MemoryShares, Run, merge_runs
from lance_core.index.sort_order import (
    Positions,
    SortedValues,
    is_any_above,
    is_ascending,
    is_orderable,
    key_bytes,
    search_keys,
    searchable,
    some_keys,
    sort_indices,
    sort_key_indices,
    sort_keys,
)
from lance_core.index.spec import IndexTypeSpec, plain_index_type
from lance_core.index.split_block_filter import BLOCK_BYTES, FilterSet, build_filters, filter_bytes
from lance_core.index.xxhash64 import hash_array
from lance_core.store.temporary_folder import spill_errors
from lance_core.table.indices.roaring import ARRAYS_COOKIE, BITSET_BYTES, MAX_ARRAY
from lance_core.table.indices.row_set import EMPTY, RowSet

__all__ = [
    "ARRAYS_COOKIE",
    "BITSET_BYTES",
    "BLOCK_BYTES",
    "EMPTY",
    "IVF",
    "MAX_ARRAY",
    "Batches",
    "Contains",
    "ExternalSort",
    "FilterSet",
    "HasAll",
    "HasAny",
    "InRange",
    "IndexBatch",
    "IndexFileReader",
    "IndexFileWriter",
    "IndexFolder",
    "IndexNotWrittenError",
    "IndexOutput",
    "IndexPart",
    "IndexQuery",
    "IndexRows",
    "IndexType",
    "IndexTypeSpec",
    "IsIn",
    "IsNull",
    "JsonIndexDetails",
    "JsonTargetDataType",
    "MatchesRegex",
    "MemoryShares",
    "OfJsonField",
    "OpenIndex",
    "PlainQuery",
    "Positions",
    "Precision",
    "Progress",
    "RowMap",
    "RowNumbers",
    "RowSet",
    "Run",
    "SearchResult",
    "SortedValues",
    "StartsWith",
    "Tensor",
    "UnansweredQueryError",
    "VectorIndexDetails",
    "ZoneMapIndexDetails",
    "build_filters",
    "count_parts",
    "details_key",
    "filter_bytes",
    "hash_array",
    "is_any_above",
    "is_ascending",
    "is_orderable",
    "key_bytes",
    "merge_runs",
    "parse_details_message",
    "parse_message",
    "plain_index_type",
    "search_keys",
    "searchable",
    "some_keys",
    "sort_indices",
    "sort_key_indices",
    "sort_keys",
    "spill_errors",
]
