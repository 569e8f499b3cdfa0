"""Every built-in index type, and that of the example plugin, keeps the contract of index types.

Here with a few types of columns; with all types in ``tox -e matrix``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import ClassVar

import lance_core_example_sorted_hash
import pyarrow as pa

from lance_core.builtin import lance_index_types
from lance_core.testing.index_type import IndexTypeTests

_SPECS = {spec.name: spec for spec in lance_index_types()}


class SomeTypes(IndexTypeTests):
    """The contract with columns of the types ``few`` only, unless all cases are wanted."""

    few: tuple[str, ...] = ()

    def samples(self) -> Mapping[str, pa.Array]:
        found = super().samples()
        if os.environ.get("LANCE_CORE_FULL_RUN"):
            return found
        return {name: found[name] for name in self.few}


class TestSortedHash(SomeTypes):
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
    few = ("float", "string")
    spec = _SPECS["zonemap"]
    parameters: ClassVar = {"rows_per_zone": 50}


class TestBloomFilter(SomeTypes):
    few = ("int32",)
    spec = _SPECS["bloomfilter"]
    parameters: ClassVar = {"number_of_items": 50}


class TestNGram(SomeTypes):
    few = ("string",)
    spec = _SPECS["ngram"]
