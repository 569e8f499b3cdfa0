"""The entry module of the plugin: descriptors only."""

from __future__ import annotations

from collections.abc import Iterable

from lance_core.hookspecs import IndexTypeSpec, hookimpl

_TABLE, _PACKAGE = "/lance.table.", "lance_core_indices"

SCALAR_TYPES = (
    IndexTypeSpec(
        name="btree",
        label="BTree",
        details_url=f"{_TABLE}BTreeIndexDetails",
        factory=f"{_PACKAGE}.btree:BTree",
        stable_row_id_version=1,
    ),
    IndexTypeSpec(
        name="bitmap",
        label="Bitmap",
        details_url=f"{_TABLE}BitmapIndexDetails",
        factory=f"{_PACKAGE}.bitmap:Bitmap",
    ),
    IndexTypeSpec(
        name="label_list",
        label="LabelList",
        details_url=f"{_TABLE}LabelListIndexDetails",
        factory=f"{_PACKAGE}.label_list:LabelList",
        version=1,
    ),
    IndexTypeSpec(
        name="zonemap",
        label="ZoneMap",
        details_url=f"{_TABLE}ZoneMapIndexDetails",
        factory=f"{_PACKAGE}.zone_map:ZoneMap",
    ),
    IndexTypeSpec(
        name="bloomfilter",
        label="BloomFilter",
        details_url="/lance.index.pb.BloomFilterIndexDetails",
        factory=f"{_PACKAGE}.bloom_filter:BloomFilter",
    ),
    IndexTypeSpec(
        name="ngram",
        label="NGram",
        details_url=f"{_TABLE}NGramIndexDetails",
        factory=f"{_PACKAGE}.ngram:NGram",
    ),
    IndexTypeSpec(
        name="json",
        label="Json",
        details_url="/lance.index.pb.JsonIndexDetails",
        factory=f"{_PACKAGE}.json:Json",
    ),
)
"""The scalar index types of the format."""


@hookimpl
def lance_index_types() -> Iterable[IndexTypeSpec]:
    """The scalar index types of the format."""
    return SCALAR_TYPES
