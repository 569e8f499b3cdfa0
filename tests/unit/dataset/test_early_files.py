"""2.0 files of releases up to 0.13, whose strings are lists of bytes, are read as others are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.file import LanceFileReader
from tests.early_files import write_early
from tests.table_surgery import edit_fragment

WORDS = pa.array(["a", "", None, "äöü €", "word " * 30])


def rows(count: int) -> pa.Table:
    order = np.arange(count) * 7 % 5
    words = WORDS.take(pa.array(order))
    numbers = pa.array(range(count))
    lengths = np.arange(count) % 3
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    items = WORDS.take(pa.array(np.arange(lengths.sum()) % 5))
    return pa.table(
        {
            "string": words,
            "number": numbers,
            "binary": words.cast(pa.binary()),
            "large_string": words.cast(pa.large_string()),
            "lists": pa.ListArray.from_arrays(offsets, items),
            "struct": pa.StructArray.from_arrays([words, numbers], ["s", "n"]),
            "large_binary": words.cast(pa.large_binary()),
            "empty": pa.array([""] * count),
            "null": pa.array([None] * count, pa.string()),
            "last": numbers,
        }
    )


@pytest.mark.parametrize(("count", "cache"), [(1, 0), (40, 0), (3000, 0), (3000, 20_000)])
def test_rows_are_read(count: int, cache: int, uri: str) -> None:
    data = rows(count)
    options = {"data_cache_bytes": cache} if cache else {}
    dataset = write_early(data, uri, **options)
    assert dataset.schema == data.schema
    found = dataset.to_table()
    found.validate(full=True)
    assert found.equals(data)
    for start, length in ((0, 1), (count // 3, 50), (count - 1, 1)):
        assert dataset.to_table(offset=start, limit=length).equals(data.slice(start, length))
    some = [row * 31 % count for row in range(60)]
    for wanted in (some, sorted(set(some)), [count - 1]):
        assert dataset.take(wanted).equals(data.take(wanted))
    assert dataset.to_table(columns=["struct.s", "lists"]).num_rows == count
    words = data["string"].to_pylist()
    assert dataset.count_rows(filter="string = 'äöü €'") == words.count("äöü €")
    assert dataset.count_rows(filter="large_string = ''") == words.count("")
    assert dataset.count_rows(filter="struct.s IS NULL") == words.count(None)


def test_a_table_of_early_files_goes_on_with_those_of_today(uri: str) -> None:
    data = rows(100)
    dataset = write_early(data, uri)
    dataset.insert(data)
    dataset.delete("number >= 50")
    expected = pa.concat_tables([data[:50], data[:50]])
    assert dataset.to_table().equals(expected.combine_chunks())
    assert len(dataset.get_fragments()) == 2
    dataset.validate()


def test_early_files_are_read_by_themselves(uri: str) -> None:
    data = rows(300)
    write_early(data, uri)
    (path,) = (Path(uri) / "data").iterdir()
    reader = LanceFileReader(path)
    assert reader.read_all(batch_size=1000).to_table().equals(data)
    some = LanceFileReader(path, columns=["last", "string"])
    assert (
        some.take_rows([3, 4, 299])
        .to_table()
        .equals(data.select(["last", "string"]).take([3, 4, 299]))
    )


def test_the_bytes_of_strings_count_as_theirs(uri: str) -> None:
    data = rows(40)
    sizes = {
        stored.id: stored.bytes_on_disk
        for stored in write_early(data, uri).stats.data_stats().fields
    }
    words = sum(len(word.encode()) for word in data["string"].to_pylist() if word)
    assert sizes[0] == 8 * 40 + words


def damaged(uri: str, change: Callable[[bytes], bytes]) -> lance.LanceDataset:
    write_early(pa.table({"s": ["äää", "bcd"] * 9}), uri)
    (path,) = (Path(uri) / "data").iterdir()
    path.write_bytes(change(path.read_bytes()))
    return lance.dataset(uri)


def test_bytes_that_are_no_text_are_damage(uri: str) -> None:
    dataset = damaged(uri, lambda raw: raw.replace("äää".encode(), b"\xff" * 6))
    with pytest.raises(CorruptFileError, match="field 's': a string is not UTF-8"):
        dataset.to_table()
    with pytest.raises(CorruptFileError, match="a string is not UTF-8"):
        dataset.take([4])


def test_ends_that_do_not_ascend_are_damage(uri: str) -> None:
    ends = np.array([6, 9], "<u8").tobytes()
    dataset = damaged(uri, lambda raw: raw.replace(ends, ends[8:] + ends[:8]))
    with pytest.raises(CorruptFileError, match="ascend"):
        dataset.to_table()


def test_ends_without_bytes_are_damage(uri: str) -> None:
    write_early(pa.table({"n": [1, 2], "s": ["a", "b"]}), uri)
    dataset = edit_fragment(
        lance.dataset(uri), lambda fragment: fragment.files[0].column_indices.__setitem__(1, 2)
    )
    # The column of the bytes is none of ends; behind it there is none.
    with pytest.raises((CorruptFileError, UnsupportedFeatureError), match="'s'"):
        dataset.to_table()
