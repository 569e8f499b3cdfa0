"""Texts of what a version stores, for looking at a table by hand. Their form may change.

And `simd_info`, of the processor.
"""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from lance_core.dataset import FragmentMetadata, LanceDataset

__all__ = [
    "format_fragment",
    "format_manifest",
    "format_schema",
    "list_transactions",
    "simd_info",
]

RULE = "-" * 40


def format_schema(dataset: LanceDataset) -> str:
    """The stored fields, as text of the messages ``lance.file.Field``."""
    return "\n".join(str(field) for field in dataset.snapshot.schema.to_proto())


def format_fragment(fragment: FragmentMetadata, dataset: LanceDataset) -> str:
    """The fragment, as text of the message ``lance.table.DataFragment``."""
    return str(fragment.to_fragment().to_proto())


def format_manifest(dataset: LanceDataset) -> str:
    """The open version: its number, flags, config and counts, its schema and its fragments."""
    manifest = dataset.snapshot.manifest
    facts = {
        "version": manifest.version,
        "reader_flags": manifest.flags.reader,
        "writer_flags": manifest.flags.writer,
        "max_fragment_id": manifest.max_fragment_id,
        "next_row_id": manifest.next_row_id,
        "file_version": manifest.storage_version,
        "config": dict(manifest.config),
        "table_metadata": dict(manifest.table_metadata),
        "rows": dataset.count_rows(),
    }
    fragments = [str(fragment.to_proto()) for fragment in manifest.fragments]
    lines = [f"{name}: {value}" for name, value in facts.items()]
    return "\n".join([*lines, RULE, format_schema(dataset), RULE, *fragments])


def list_transactions(dataset: LanceDataset, max_transactions: int = 10) -> list[str]:
    """The transactions of the newest versions up to the open one, the newest first."""
    transactions = dataset.get_transactions(max_transactions)
    return [
        "(not recorded)" if transaction is None else repr(transaction)
        for transaction in transactions
    ]


FEATURES = (
    *("sse2", "sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "avx", "avx2", "fma", "f16c"),
    *("bmi1", "bmi2", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512fp16"),
)
"""Features of processors that `simd_info` lists."""

_FLAGS = {"sse3": "pni", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "avx512fp16": "avx512_fp16"}
"""The names that Linux has for some of `FEATURES`."""


def simd_info() -> dict[str, str | list[str]]:
    """The vector instructions of this processor.

    ``tier``: those that Arrow uses, such as "avx2". ``target_arch``: the kind of processor.
    ``host_features``: those of `FEATURES` that it has; only Linux says so.
    """
    cpu = Path("/proc/cpuinfo")
    flags = set(cpu.read_text().split()) if cpu.exists() else set()
    return {
        "tier": pa.runtime_info().simd_level,
        "target_arch": platform.machine(),
        "host_features": [name for name in FEATURES if _FLAGS.get(name, name) in flags],
    }
