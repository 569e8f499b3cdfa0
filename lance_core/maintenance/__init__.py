"""What tools that write tables anew are made with, such as compactions.

- **One version**: `Snapshot`, its fragments, its indices and their fragment-reuse index;
  `open_table` opens others.
- **Rows as they are stored**: a `ScanPlan` of `Span` names them, `scan_batches` and `scan_windows`
  read them, a `WindowSizer` says how many at a time.
- **New files**: `write_fragments` and `write_field_groups`, deletion files, and `NewFiles`, which
  removes them if no version names them.
- **Commits**: `Rewrite` puts fragments in place of others; rows that moved are an `AddressMap`, and
  `SegmentWriter` writes indices with their new addresses.
"""

from lance_core.commits.environment import SYSTEM, Environment
from lance_core.commits.history import transaction_of
from lance_core.commits.loop import MAX_PAUSE
from lance_core.commits.options import DEFAULT_OPTIONS, CommitOptions
from lance_core.concurrency.backoff import backoff
from lance_core.concurrency.fork_safe import cached_property
from lance_core.concurrency.pools import in_order, num_threads
from lance_core.datafile.file_output import FileOptions
from lance_core.datafile.parallel import num_threads as column_threads
from lance_core.datafile.writer import FieldGroup
from lance_core.dataset.maintenance.indices.rows import AddressesInFragments
from lance_core.dataset.maintenance.indices.segments import SegmentWriter, uses_row_ids
from lance_core.dataset.mixin_base import DatasetBase
from lance_core.dataset.read.columns.projection import Output, Projection
from lance_core.dataset.read.columns.widths import fixed_bytes, probable_bytes
from lance_core.dataset.read.fragments.live_rows import live
from lance_core.dataset.read.fragments.span import Span
from lance_core.dataset.read.plan import ScanPlan, narrowed
from lance_core.dataset.read.scan import scan_batches, scan_windows
from lance_core.dataset.read.sources.fragment_spans import num_rows, stored_bytes
from lance_core.dataset.read.sources.prefilter.fragment_reuse import fragment_reuse, reuse_index
from lance_core.dataset.read.sources.prefilter.stored_indices import (
    field_of,
    index_type,
    indices_of,
    missing_plugins,
    open_index,
    spec_of,
)
from lance_core.dataset.read.sources.row_source import SpanRows
from lance_core.dataset.read.windows.join_fragments import in_long_runs
from lance_core.dataset.read.windows.window_sizing import WindowBytes, WindowSizer, first_rows
from lance_core.dataset.snapshot import open_table
from lance_core.dataset.snapshot.snapshot import HasSnapshot, Snapshot, Target
from lance_core.dataset.values.fragment_metadata import FragmentMetadata
from lance_core.dataset.values.progress import FragmentWriteProgress
from lance_core.dataset.values.progress_bar import progress_bar
from lance_core.dataset.write.commit import commit
from lance_core.dataset.write.commit_change import new_transaction
from lance_core.dataset.write.deletions import write_deletion_file
from lance_core.dataset.write.discard_on_failure import (
    NewFiles,
    discard_data_files,
    discard_on_failure,
)
from lance_core.dataset.write.fragment_writer import (
    DEFAULT_MAX_BYTES_PER_FILE,
    BlobOptions,
    WriteOptions,
    new_fragment,
    write_field_groups,
    write_fragments,
)
from lance_core.dataset.write.legacy_dictionaries import with_dictionaries
from lance_core.encodings.arrow.huge_pages import HUGE_PAGE
from lance_core.encodings.decoding import Int64Array, RowRange
from lance_core.error_texts.suggestions import did_you_mean, shortened
from lance_core.errors import warn_caller
from lance_core.file_version import FileVersion
from lance_core.imports.on_demand import Part, load
from lance_core.index.base import IndexPart
from lance_core.schema import binary_json, check_storable, given_to_files, has_blobs, to_storage
from lance_core.schema.align import align_batch
from lance_core.schema.field import Field
from lance_core.schema.tree import Schema
from lance_core.store.secret import hide_secrets
from lance_core.table.fragments.deletion import RowOffsets
from lance_core.table.fragments.fragment import Fragment
from lance_core.table.indices.address_map import AddressMap, AddressRuns
from lance_core.table.indices.index_coverage import REUSE_INDEX, exchanged
from lance_core.table.indices.index_metadata import (
    IndexMetadata,
    encode_fragment_ids,
    fragment_bitmap,
    parse_index_section,
)
from lance_core.table.indices.reuse_index import (
    MAX_INLINE_BYTES,
    FragmentDigest,
    ReuseGroup,
    ReuseVersion,
    address_bitmap,
    content_bytes,
    external_details,
    inline_details,
)
from lance_core.table.indices.row_set import UInt64Array
from lance_core.table.manifest.feature_flags import check_writable
from lance_core.table.manifest_parts import BasePath
from lance_core.table.paths import INDICES, data_file_name, data_file_path
from lance_core.table.row_ids.row_lineage import RowLineage
from lance_core.table.row_ids.u64_segment import Offsets
from lance_core.table.storage_version import may_mix
from lance_core.table.transactions.operations import ReserveFragments, Rewrite
from lance_core.table.transactions.operations.rewrite import (
    NewReuseIndex,
    RewriteGroup,
    RewrittenIndex,
)
from lance_core.table.transactions.transaction import Transaction

__all__ = [
    "DEFAULT_MAX_BYTES_PER_FILE",
    "DEFAULT_OPTIONS",
    "HUGE_PAGE",
    "INDICES",
    "MAX_INLINE_BYTES",
    "MAX_PAUSE",
    "REUSE_INDEX",
    "SYSTEM",
    "AddressMap",
    "AddressRuns",
    "AddressesInFragments",
    "BasePath",
    "BlobOptions",
    "CommitOptions",
    "DatasetBase",
    "Environment",
    "Field",
    "FieldGroup",
    "FileOptions",
    "FileVersion",
    "Fragment",
    "FragmentDigest",
    "FragmentMetadata",
    "FragmentWriteProgress",
    "HasSnapshot",
    "IndexMetadata",
    "IndexPart",
    "Int64Array",
    "NewFiles",
    "NewReuseIndex",
    "Offsets",
    "Output",
    "Part",
    "Projection",
    "ReserveFragments",
    "ReuseGroup",
    "ReuseVersion",
    "Rewrite",
    "RewriteGroup",
    "RewrittenIndex",
    "RowLineage",
    "RowOffsets",
    "RowRange",
    "ScanPlan",
    "Schema",
    "SegmentWriter",
    "Snapshot",
    "Span",
    "SpanRows",
    "Target",
    "Transaction",
    "UInt64Array",
    "WindowBytes",
    "WindowSizer",
    "WriteOptions",
    "address_bitmap",
    "align_batch",
    "backoff",
    "binary_json",
    "cached_property",
    "check_storable",
    "check_writable",
    "column_threads",
    "commit",
    "content_bytes",
    "data_file_name",
    "data_file_path",
    "did_you_mean",
    "discard_data_files",
    "discard_on_failure",
    "encode_fragment_ids",
    "exchanged",
    "external_details",
    "field_of",
    "first_rows",
    "fixed_bytes",
    "fragment_bitmap",
    "fragment_reuse",
    "given_to_files",
    "has_blobs",
    "hide_secrets",
    "in_long_runs",
    "in_order",
    "index_type",
    "indices_of",
    "inline_details",
    "live",
    "load",
    "may_mix",
    "missing_plugins",
    "narrowed",
    "new_fragment",
    "new_transaction",
    "num_rows",
    "num_threads",
    "open_index",
    "open_table",
    "parse_index_section",
    "probable_bytes",
    "progress_bar",
    "reuse_index",
    "scan_batches",
    "scan_windows",
    "shortened",
    "spec_of",
    "stored_bytes",
    "to_storage",
    "transaction_of",
    "uses_row_ids",
    "warn_caller",
    "with_dictionaries",
    "write_deletion_file",
    "write_field_groups",
    "write_fragments",
]
