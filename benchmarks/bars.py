"""Bars: the minimum speed ratios to pylance, or to another subject, that must be reached."""

from __future__ import annotations

_OF_2_0 = {"write": None, "scan": 1.5, "column": 1.5, "filter": 1.0, "take": 1.5, "one": 1.0}
_LATER = {"write": None, "scan": 1.2, "column": None, "filter": 1.0, "take": 1.2, "one": 1.0}
_NO_KERNELS = 0.4

_SPECIAL_OF_2_0 = {("wide", "write"): 0.8, ("blobs", "scan"): None, ("compressible", "scan"): None}
_SPECIAL_LATER = {
    ("wide", "write"): 0.7,
    ("embed", "write"): 2.0,
    ("nested", "scan"): 2.0,
    ("embed", "scan"): 3.0,
    ("blobs", "scan"): 5.0,
    ("embed", "take"): 5.0,
    ("wide", "column i32"): 1.2,
    ("wide", "column text"): 1.5,
}
_FSST = {("wide", "scan"), ("wide", "column text"), ("wide", "column code"), ("wide", "write")}

SCAN_OF_FRAGMENTS = {1_000_000: None, 20_000: 1.2, 1_000: 1.0, 1: 0.7}
"""Scans by the rows of a fragment."""

MANY_FRAGMENTS = 1.0
"""Filters of 2,000 fragments, and what needs only a few of 10,000 or 100,000 fragments."""

VERSIONS = 1.0
COLUMNS_WIDE = 1.0
MAX_COLUMN_GROWTH = 1.25
"""Most that a column costs among 10,000 columns, in columns among 100."""

MAX_LOCKED = {"large fragments": 15, "fragments of 1,000 rows": 35}
"""Percent of a scan with one processor during which the interpreter lock is held."""

MAX_MS_PER_PAGE = 0.06
"""Milliseconds of processor time for a page of 1,000 rows."""

SECOND_CORE = 1.6
"""A scan of large fragments of 2.2 with two processors, to one."""

SCAN_TO_VORTEX = 1.0
"""Full scans of the workload ``ten``, to Vortex."""

COPY_TO_PEER_REENCODE = {
    "plain 8 x 250,000": 20.0,
    "plain 200 x 10,000": 10.0,
    "text 200 x 5,000": 10.0,
    "embeddings 200 x 250": 3.0,
    "152 columns 200 x 1,000": 2.0,
}
COPY_TO_PEER_COPY = 2.0
COPY_TO_CP = {"plain 8 x 250,000": 0.6}
HYBRID_TO_REENCODE = 8.0
REENCODE_TO_PEER = 0.8
SCAN_TO_FRESH = 0.83
MAX_COMPACTION_MB = 64
"""Compaction of small files: by copying pages, or by re-encoding them."""

SPARK = {
    "write": 1.0,
    "write, plain": 0.95,
    "write, 500 small partitions": 0.77,
    "all columns aggregated": 0.9,
    "two columns grouped": 0.8,
    "0.1 % of rows, 3 columns": 1.5,
    "count": 0.8,
    "two columns grouped by aggregate": 1.25,
    "selected rows summed by aggregate": 1.25,
    "keys looked up": 3.3,
    "few rows by an index": 3.3,
    "TPC-H Q1 by aggregate": 2.85,
    "TPC-H Q6 by aggregate": 1.25,
    "TPC-H Q1 by read": 0.83,
    "TPC-H Q3 by read": 0.71,
    "TPC-H Q6 by read": 1.0,
    "TPC-H Q12 by read": 1.0,
    "merge of 1 %": 2.0,
}
"""Work on Spark, to Spark's own Parquet."""

SPARK_PLANNING_SECONDS = 0.3


def bar(version: str, workload: str, operation: str, kernels: bool = True) -> float | None:
    """The bar of ``operation`` (a key of the tables above, or ``column NAME``), None for no bar."""
    kind, key = operation.partition(" ")[0], (workload, operation)
    if version == "2.0":
        return _SPECIAL_OF_2_0[key] if key in _SPECIAL_OF_2_0 else _OF_2_0[kind]
    wanted = _SPECIAL_LATER[key] if key in _SPECIAL_LATER else _LATER[kind]
    if kernels or wanted is None:
        return wanted
    return None if key in _FSST else _NO_KERNELS
