"""What callers of a compaction pass and get: options, metrics, and the result of a check."""

from __future__ import annotations

from dataclasses import fields
from typing import Literal, TypedDict

from lance_core.lazy_dataclass import dataclass


class CompactionOptions(TypedDict, total=False):
    """Options of a compaction; those that are absent come from the table's config.

    ``target_rows_per_fragment`` (1 Mi): rows of a new fragment; fragments with fewer rows are
    merged. ``max_rows_per_group`` (1024): rows of a batch in files of version 0.1.
    ``max_bytes_per_file`` (90 GiB): a new file ends at the first batch after this size.
    ``materialize_deletions`` (True): also rewrite fragments with a share of deleted rows above
    ``materialize_deletions_threshold`` (0.1). ``num_threads``: maximum number of tasks that run at
    the same time, by default one for each processor. ``batch_size``: rows that are read at once;
    ``io_buffer_size`` is accepted without an effect. ``compaction_mode`` (``"reencode"``): how rows
    get into new files; ``"try_binary_copy"`` copies the pages of files where possible,
    ``"force_binary_copy"`` raises `CompactionError` where not everything can be copied.
    ``binary_copy_read_batch_bytes`` (16 MiB): maximum bytes that a copy reads at once.
    ``verify_pages`` (False): decode each copied page once, so that a corrupt one is found.
    ``defer_index_remap`` (False): leave indices as they are, and store where their rows are now in
    a fragment-reuse index. ``max_source_fragments``, ``max_source_rows`` (live rows) and
    ``max_source_bytes`` limit what one compaction rewrites. ``excluded_fragment_ids``: fragments
    that stay as they are. ``data_storage_version``: version of the new files, by default the
    table's.

    Deprecated: ``enable_binary_copy`` and ``enable_binary_copy_force``, now ``compaction_mode``.
    """

    target_rows_per_fragment: int | None
    max_rows_per_group: int | None
    max_bytes_per_file: int | None
    materialize_deletions: bool | None
    materialize_deletions_threshold: float | None
    num_threads: int | None
    batch_size: int | None
    io_buffer_size: int | None
    compaction_mode: Literal["reencode", "try_binary_copy", "force_binary_copy"] | None
    binary_copy_read_batch_bytes: int | None
    verify_pages: bool | None
    defer_index_remap: bool | None
    max_source_fragments: int | None
    max_source_rows: int | None
    max_source_bytes: int | None
    excluded_fragment_ids: list[int] | None
    data_storage_version: str | None
    enable_binary_copy: bool | None
    enable_binary_copy_force: bool | None


@dataclass
class CompactionMetrics:
    """What a compaction has removed and added.

    ``files_removed`` counts data files and deletion files, ``bytes_written`` the bytes of the new
    data files. If pages were copied: ``pages_copied`` and ``bytes_copied`` as they were, and
    ``pages_reencoded`` for pages in which rows had changed. ``fragments_left`` counts fragments
    that stay as they were because other writers changed them each time: compact again later.
    """

    fragments_removed: int = 0
    fragments_added: int = 0
    files_removed: int = 0
    files_added: int = 0
    pages_copied: int = 0
    pages_reencoded: int = 0
    bytes_copied: int = 0
    bytes_written: int = 0
    fragments_left: int = 0

    def __add__(self, other: CompactionMetrics) -> CompactionMetrics:
        names = [metric.name for metric in fields(CompactionMetrics)]
        return CompactionMetrics(*(getattr(self, n) + getattr(other, n) for n in names))


@dataclass(frozen=True)
class CompactionCheck:
    """A compaction whose rows are the same before and after.

    ``version`` is the version of the compaction, ``read_version`` the one that it has read.
    ``checksums``: of the rows of each task.
    """

    read_version: int
    version: int
    num_rows: int
    checksums: list[str]
