"""Feature flags of a manifest: the bits this library implements, and the bits a version must set.

A reader must know every bit of ``reader_feature_flags``, a writer every bit of
``writer_feature_flags``. Drafts and releases of the format assign different meanings to bits 9 and
above, so this library accepts none of them.
"""

from __future__ import annotations

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass

DELETION_FILES = 1 << 0
STABLE_ROW_IDS = 1 << 1
V2_FORMAT_DEPRECATED = 1 << 2
TABLE_CONFIG = 1 << 3
BASE_PATHS = 1 << 4
TRANSACTION_FILE_DISABLED = 1 << 5
"""Commits to the table store the transaction in the manifest only, not in a file of its own."""
COVERED_INDEX_METADATA = 1 << 7
MIXED_FILE_VERSIONS = 1 << 8
"""The table may have data files of several versions from 2.0 on. The flag is never cleared."""

_KNOWN = (
    DELETION_FILES
    | STABLE_ROW_IDS
    | V2_FORMAT_DEPRECATED
    | TABLE_CONFIG
    | BASE_PATHS
    | TRANSACTION_FILE_DISABLED
    | COVERED_INDEX_METADATA
    | MIXED_FILE_VERSIONS
)

_NAMES = {
    0: "deletion files",
    1: "stable row ids",
    2: "v2 format (deprecated)",
    3: "table config",
    4: "base paths",
    5: "transaction file disabled",
    6: "data overlay files",
    7: "covered index metadata",
    8: "mixed data file versions",
    9: "fragment reuse with stable row ids",
    10: "tagged fragment reuse index",
    11: "spilled row lineage",
    14: "managed blobs",
    15: "field ids that are never reused",
    16: "zone write seed",
}


@dataclass(frozen=True, slots=True)
class FeatureFlags:
    """The two bit sets of a manifest, unsigned 64-bit."""

    reader: int = 0
    writer: int = 0

    def has(self, flag: int) -> bool:
        """True if ``flag`` is set for readers or writers."""
        return bool((self.reader | self.writer) & flag)


NO_FLAGS = FeatureFlags()


@dataclass(frozen=True, slots=True)
class FlagFacts:
    """Properties of a version's content that determine its flags."""

    deletion_files: bool
    stable_row_ids: bool
    config: bool
    base_paths: bool
    indices: bool
    mixed_file_versions: bool = False


def describe(flags: int) -> str:
    """The set bits of ``flags`` with their names, for error messages."""
    bits = [bit for bit in range(64) if flags >> bit & 1]
    return ", ".join(f"bit {bit} ({_NAMES.get(bit, 'unknown')})" for bit in bits)


def check_readable(reader_flags: int) -> None:
    """Raise `UnsupportedFeatureError` if a table with these flags cannot be read correctly."""
    unknown = reader_flags & ~_KNOWN
    if unknown:
        raise UnsupportedFeatureError(
            f"unsupported reader feature flags {reader_flags}: {describe(unknown)}; "
            "reading this table needs a newer version of this library"
        )


def check_writable(flags: FeatureFlags) -> None:
    """Raise `UnsupportedFeatureError` if committing to a table with these flags is not safe.

    A writer must also read the table, so the reader flags are checked too. Raises
    `CorruptFileError` if only one of the two sets has the bit for stable row ids.
    """
    check_readable(flags.reader)
    unknown = flags.writer & ~_KNOWN
    if unknown:
        raise UnsupportedFeatureError(
            f"unsupported writer feature flags {flags.writer}: {describe(unknown)}; "
            "committing to this table needs a newer version of this library"
        )
    if (flags.reader ^ flags.writer) & STABLE_ROW_IDS:
        raise CorruptFileError(
            "stable row ids are set for readers or for writers only", field="writer_feature_flags"
        )


def recompute(previous: FeatureFlags, facts: FlagFacts) -> FeatureFlags:
    """The flags of a new version; ``previous`` are the flags of the version before it.

    The deprecated bit 2 is cleared: this library always writes ``data_format``, which replaces it.
    """
    both = 0
    if facts.deletion_files:
        both |= DELETION_FILES
    if facts.stable_row_ids:
        both |= STABLE_ROW_IDS
    if facts.base_paths:
        both |= BASE_PATHS
    if facts.mixed_file_versions:
        both |= MIXED_FILE_VERSIONS
    reader, writer = both, both
    if facts.config:
        writer |= TABLE_CONFIG
    writer |= previous.writer & TRANSACTION_FILE_DISABLED
    if facts.indices:
        reader |= previous.reader & COVERED_INDEX_METADATA
        writer |= previous.writer & COVERED_INDEX_METADATA
    return FeatureFlags(reader, writer)
