"""The index types of the format, and that of the example plugin, keep the contract of index types.

Here with a few types of columns; with all types in ``tox -e matrix``.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import lance_core_example_sorted_hash
import numpy as np
import pyarrow as pa

from lance_core.index.queries import IndexQuery, OfJsonField, PlainQuery
from lance_core.schema.json.encoding import encode_json
from lance_core_indices.json.json_rows import JsonRows
from lance_core_indices.plugin import SCALAR_TYPES
from lance_core_testing.index_samples import SampleRows, sample_arrays
from lance_core_testing.index_type import IndexTypeTests

_SPECS = {spec.name: spec for spec in SCALAR_TYPES}


class SomeTypes(IndexTypeTests):
    """The contract with columns of the types ``few`` only, unless all cases are wanted."""

    few: tuple[str, ...] = ()
    # Some types sort or group within budgets of up to 256 MiB; other tests measure these.
    build_bytes = 4 << 20
    max_build_bytes = 64 << 20

    def samples(self) -> Mapping[str, pa.Array]:
        found = super().samples()
        if os.environ.get("LANCE_CORE_FULL_RUN"):
            return found
        return {name: found[name] for name in self.few}


class TestSortedHash(SomeTypes):
    build_bytes = 64 << 20
    max_build_bytes = 48 << 20
    few = ("int16",)
    spec = lance_core_example_sorted_hash.SPEC


class TestBTree(SomeTypes):
    few = ("double", "fixed_size_binary[3]")
    spec = _SPECS["btree"]
    parameters: ClassVar = {"zone_size": 50}


class TestBitmap(SomeTypes):
    few = ("bool", "string")
    spec = _SPECS["bitmap"]


class TestLabelList(SomeTypes):
    few = ("list<item: string>",)
    spec = _SPECS["label_list"]


class TestZoneMap(SomeTypes):
    build_bytes = 64 << 20
    max_build_bytes = 48 << 20
    few = ("float", "string")
    spec = _SPECS["zonemap"]
    parameters: ClassVar = {"rows_per_zone": 50}


class TestBloomFilter(SomeTypes):
    build_bytes = 64 << 20
    max_build_bytes = 48 << 20
    few = ("int32",)
    spec = _SPECS["bloomfilter"]
    parameters: ClassVar = {"number_of_items": 50}


class TestNGram(SomeTypes):
    few = ("string",)
    spec = _SPECS["ngram"]


class JsonTests(SomeTypes):
    """Documents whose field ``x`` has the values of a column; nulls in all forms."""

    spec = _SPECS["json"]
    columns: tuple[str, ...] = ("int64", "double", "string", "bool")

    def samples(self) -> Mapping[str, pa.Array]:
        return {name: _documents(sample_arrays()[name]) for name in self.few or self.columns}

    def indexed(self, values: pa.Array) -> pa.Array:
        if not values.null_count < len(values):
            return pa.nulls(len(values), pa.int64())
        rows = SampleRows(values, np.arange(len(values), dtype=np.uint64), len(values))
        (batch,) = JsonRows(rows, "a.x", Path).batches()
        return batch.values

    def query(self, query: PlainQuery, kind: pa.DataType) -> IndexQuery:
        return OfJsonField(("a", "x"), kind, query)


def _documents(values: pa.Array) -> pa.Array:
    """JSON documents with ``values``, of which those that JSON does not have are null."""
    empty = itertools.cycle([None, '{"a": {"x": null}}', '{"a": []}', "[]", "{}"])
    texts = []
    for value in values.to_pylist():
        is_value = value is not None and not (isinstance(value, float) and not math.isfinite(value))
        texts.append(json.dumps({"a": {"y": [1], "x": value}}) if is_value else next(empty))
    return encode_json(pa.array(texts), "j")


def _over(target: str, **parameters: int) -> dict[str, object]:
    return {"path": "$.a.x", "target_index_type": target, "target_index_parameters": parameters}


class TestJsonOverBTree(JsonTests):
    parameters: ClassVar = _over("btree", zone_size=50)


class TestJsonOverBitmap(JsonTests):
    few = ("string",)
    parameters: ClassVar = _over("bitmap")


class TestJsonOverZoneMap(JsonTests):
    few = ("double",)
    parameters: ClassVar = _over("zonemap", rows_per_zone=50)


class TestJsonOverBloomFilter(JsonTests):
    few = ("int64",)
    parameters: ClassVar = _over("bloomfilter", number_of_items=50)


class TestJsonOverNGram(JsonTests):
    few = ("string",)
    parameters: ClassVar = _over("ngram")
