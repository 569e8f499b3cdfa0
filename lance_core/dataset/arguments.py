"""The keyword arguments of public methods, for type checkers, editors and `help`.

The methods collect them in ``**options`` and check their names when they are called, with
suggestions for misspelt ones. Type checkers import this module, and whoever asks for a `signature`.
Arguments whose type is ``object`` are pylance's: they have no effect here, or raise
`UnsupportedFeatureError`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, TypeAlias, TypedDict

import pyarrow as pa
import pyarrow.compute as pc

from lance_core.commits.handlers.lock import CommitLock
from lance_core.commits.options import DEFAULT_OPTIONS
from lance_core.dataset.read.columns.ordering import ColumnOrdering
from lance_core.dataset.read.columns.projection import Columns
from lance_core.dataset.read.scan_metrics import StatisticsCallback
from lance_core.dataset.read.scan_options import HasFragmentId
from lance_core.dataset.read.sources.scan_splits import ScanSplit
from lance_core.dataset.snapshot.session import Session
from lance_core.dataset.values.compaction import CompactionOptions
from lance_core.dataset.write.fragment_writer import (
    DEFAULT_MAX_BYTES_PER_FILE,
    DEFAULT_MAX_ROWS_PER_FILE,
)
from lance_core.dataset.write.write import AllWriteArguments

Mode: TypeAlias = Literal["create", "append", "overwrite"]
"""What a write does with the rows that a table has."""


class OpenArguments(TypedDict, total=False):
    """Of `lance_core.dataset`, beside those that it names.

    ``allow_base_paths``: URL prefixes of locations outside of the table from which its files may be
    read, or "yes" for all. ``base_store_params``: storage options by the URI of a base path, which
    allow it as well. ``commit_lock``: a function that gets the version number of a commit and
    returns a context manager that excludes other writers. ``session``: the caches to use, by
    default those of a new `Session` with ``index_cache_size_bytes`` and
    ``metadata_cache_size_bytes``. Instead of the URI, ``namespace_client`` and ``table_id``: a
    catalog, and the name of the table in it.
    With ``verify="pages"``, reads check pages of data files and indices against their checksums,
    where writers stored some; with ``checksums="pages"``, writes through the dataset store them.
    """

    allow_base_paths: str | Sequence[str] | None
    commit_lock: CommitLock | None
    session: Session | None
    verify: Literal["pages"] | None
    checksums: Literal["pages"] | None
    index_cache_size_bytes: int | None
    metadata_cache_size_bytes: int | None
    block_size: object
    index_cache_size: object
    metadata_cache_size: object
    read_params: object
    s3_credentials_refresh_offset_seconds: object
    ignore_namespace_table_storage_options: object
    serialized_manifest: bytes | None
    base_store_params: Mapping[str, Mapping[str, str]] | None
    namespace: object
    namespace_client: object
    table_id: Sequence[str] | None


class CloneArguments(OpenArguments, total=False):
    """Of clones, beside those that they name."""

    default_scan_options: Mapping[str, Any] | None


class MoreScanArguments(TypedDict, total=False):
    """Of `LanceDataset.scanner`, beside those that it names; see `ScanOptions`."""

    batch_size_bytes: int | None
    strict_batch_size: bool | None
    fragments: Sequence[HasFragmentId] | None
    row_ranges: Sequence[tuple[int, int, int]] | None
    splits: Sequence[ScanSplit] | None
    with_row_id: bool | None
    with_row_address: bool | None
    blob_handling: str | None
    use_stats: bool | None
    late_materialization: bool | Sequence[str] | None
    include_deleted_rows: bool | None
    order_by: Sequence[ColumnOrdering | str] | None
    row_addr_allowlist: bytes | None
    row_addr_blocklist: bytes | None
    scan_stats_callback: StatisticsCallback | None
    use_scalar_index: bool | None
    fast_search: bool | None
    batch_readahead: int | None
    fragment_readahead: int | None
    io_buffer_size: int | None
    scan_in_order: bool | None
    prefilter: bool | None
    disable_scoring_autoprojection: bool | None
    full_text_query: object
    index_segments: object


class HeadArguments(MoreScanArguments, total=False):
    """Of ``head``, beside the number of rows."""

    columns: Columns
    filter: str | pc.Expression | None
    offset: int | None
    nearest: object
    batch_size: int | None


class ScanArguments(MoreScanArguments, total=False):
    """Of reads that name only ``columns`` and ``filter``."""

    limit: int | None
    offset: int | None
    nearest: object
    batch_size: int | None


class PandasArguments(ScanArguments, total=False):
    """Of reads as a data frame: also those of `LanceScanner.to_pandas` and `pyarrow.Table`'s."""

    blob_mode: Literal["lazy", "bytes", "descriptions"]
    memory_pool: pa.MemoryPool | None
    categories: Sequence[str] | None
    strings_to_categorical: bool
    zero_copy_only: bool
    integer_object_nulls: bool
    date_as_object: bool
    timestamp_as_object: bool
    use_threads: bool
    deduplicate_objects: bool
    ignore_metadata: bool
    safe: bool
    split_blocks: bool
    self_destruct: bool
    maps_as_pydicts: Literal["lossy", "strict"] | None
    types_mapper: Callable[[pa.DataType], object] | None
    coerce_temporal_nanoseconds: bool


class FragmentPandasArguments(PandasArguments, total=False):
    """The same of a fragment, whose reads name only ``columns``."""

    filter: str | pc.Expression | None


class NearestArguments(TypedDict, total=False):
    """Of `ScannerBuilder.nearest`, beside those that it names: keys of ``nearest`` in scans."""

    metric: str | None
    nprobes: int | None
    minimum_nprobes: int | None
    maximum_nprobes: int | None
    refine_factor: int | None
    use_index: bool
    ef: int | None
    query_parallelism: int | None
    approx_mode: Literal["fast", "normal", "accurate"]
    distance_range: tuple[float | None, float | None] | None
    search_effort: float | None


class FragmentScanArguments(ScanArguments, total=False):
    """Of reads of a fragment, which name only ``columns``."""

    filter: str | pc.Expression | None


class InsertArguments(AllWriteArguments, total=False):
    """Of `LanceDataset.insert`, beside the mode."""

    schema: pa.Schema | None


class CommitArguments(TypedDict, total=False):
    """Of commits, beside those that they name; see `lance_core.dataset.write.commit.options_of`."""

    enable_v2_manifest_paths: bool | None
    enable_stable_row_ids: bool | None
    detached: bool | None
    max_retries: int | None
    commit_timeout: timedelta | None
    commit_message: str | None
    transaction_properties: Mapping[str, str] | None
    data_storage_version: str | None
    is_committed: Callable[[Mapping[str, str]], bool] | None
    namespace_client: object
    table_id: object
    namespace_client_managed_versioning: object
    base_store_params: Mapping[str, Mapping[str, str]] | None


class CleanupArguments(TypedDict, total=False):
    """Of `LanceDataset.cleanup_old_versions`, beside those that it names."""

    error_if_tagged_old_versions: bool
    delete_rate_limit: int | None
    delete_concurrency: int | None


class CleanupPlanArguments(TypedDict, total=False):
    """Of `LanceDataset.explain_cleanup_old_versions`, beside those that it names."""

    error_if_tagged_old_versions: bool
    delete_rate_limit: int | None


DEFAULTS: dict[str, Any] = {
    "max_rows_per_file": DEFAULT_MAX_ROWS_PER_FILE,
    "max_bytes_per_file": DEFAULT_MAX_BYTES_PER_FILE,
    "max_rows_per_group": 1024,
    "enable_v2_manifest_paths": True,
    "external_blob_mode": "reference",
    "blob_mode": "lazy",
    "error_if_tagged_old_versions": True,
    "date_as_object": True,
    "use_threads": True,
    "deduplicate_objects": True,
    "safe": True,
    "use_index": True,
    "approx_mode": "normal",
    "commit_timeout": timedelta(minutes=30),
}
"""The defaults that are neither None nor, of arguments that are true or false, False."""

_OF_FRAGMENTS = {"with_row_id": False, "with_row_address": False, "batch_readahead": 16}
DEFAULTS_OF: dict[str, dict[str, Any]] = {
    "CommitArguments": {
        "enable_v2_manifest_paths": None,
        "detached": False,
        "max_retries": DEFAULT_OPTIONS.max_retries,
        "namespace_client_managed_versioning": False,
    },
    "CompactionOptions": {"max_bytes_per_file": None, "max_rows_per_group": None},
    "FragmentScanArguments": _OF_FRAGMENTS,
    "FragmentPandasArguments": _OF_FRAGMENTS,
}
"""Those of single groups of arguments, which come before `DEFAULTS`."""

_HOLDERS = {each.__name__: each for each in (AllWriteArguments, CompactionOptions)}


def signature(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function, with the keys of a ``TypedDict`` as arguments of their own."""
    plain = inspect.signature(function, follow_wrapped=False)
    parameters = list(plain.parameters.values())
    last = parameters[-1] if parameters else None
    if last is None or last.kind is not inspect.Parameter.VAR_KEYWORD:
        return plain
    named = re.fullmatch(r"Unpack\[(\w+)\]", str(last.annotation))
    if named is None:
        return plain
    defaults = {**DEFAULTS, **DEFAULTS_OF.get(named[1], {})}
    keys = _HOLDERS.get(named[1]) or globals()[named[1]]
    for name, of_key in keys.__annotations__.items():
        text = getattr(of_key, "__forward_arg__", of_key)
        default = defaults.get(name, False if text == "bool" else None)
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.insert(-1, inspect.Parameter(name, kind, default=default, annotation=text))
    return plain.replace(parameters=parameters[:-1])
