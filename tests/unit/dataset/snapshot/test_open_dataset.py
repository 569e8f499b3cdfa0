"""`LanceDataset` has the constructor of pylance, whose further arguments `dataset` has, too."""

from __future__ import annotations

import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import InvalidInputError


def written(uri: str) -> lance.LanceDataset:
    lance.write_dataset(pa.table({"a": [1, 2]}), uri)
    return lance.write_dataset(pa.table({"a": [3]}), uri, mode="append")


def test_the_arguments_of_the_constructor_are_in_the_order_of_pylance(uri: str) -> None:
    written(uri)
    session = lance.Session()
    dataset = lance.LanceDataset(
        uri,
        1,
        4096,
        None,
        0,
        None,
        {"durability": "fast"},
        None,
        {"columns": ["a"]},
        session=session,
    )
    assert (dataset.version, dataset.count_rows(), dataset.session()) == (1, 2, session)
    assert dataset.initial_storage_options == {"durability": "fast"}


def test_a_serialized_manifest_names_the_version(uri: str) -> None:
    newest = written(uri)
    serialized = newest.checkout_version(1)._ds.serialized_manifest()
    assert lance.LanceDataset(uri, serialized_manifest=serialized).version == 1
    assert lance.LanceDataset(uri, 2, serialized_manifest=serialized).version == 2


def test_what_would_change_the_result_is_refused(uri: str) -> None:
    written(uri)
    with pytest.raises(InvalidInputError, match="a mapping from URIs to options"):
        lance.LanceDataset(uri, base_store_params=[uri])  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="must be given together"):
        lance.LanceDataset(uri, table_id=["a"])
    with pytest.raises(InvalidInputError, match="name a table by its uri"):
        lance.dataset()
    with pytest.raises(TypeError, match="did you mean 'block_size'"):
        lance.dataset(uri, blok_size=1)  # type: ignore[call-arg]


def test_a_write_without_a_mode_creates_the_table(uri: str) -> None:
    assert lance.write_dataset(pa.table({"a": [1]}), uri, mode=None).version == 1
