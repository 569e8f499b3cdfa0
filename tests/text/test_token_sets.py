"""Transducers that are written here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lance_core as lance
from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core_text.postings.fst import Fst
from lance_core_text.postings.token_set import FstTokens, SortedTokens
from lance_core_text.write.encode_fst import FstWriter
from tests.text.corpus import texts


def written(keys: list[bytes], parts: int = 1) -> Fst:
    writer, first = FstWriter(), 0
    for part in np.array_split(np.array(keys, object), parts):
        writer.add(part.tolist(), first)
        first += len(part)
    return Fst(pa.py_buffer(writer.finish()))


@pytest.mark.parametrize(
    "letters", [b"ab", b"te/oasr", bytes(range(20, 60)), bytes(range(70)), bytes(range(256))]
)
def test_keys_of_any_bytes_have_their_numbers(letters: bytes) -> None:
    random = np.random.default_rng(len(letters))
    sizes = random.integers(0, 5, 1_000).tolist()
    every = {bytes(random.choice(list(letters), size).tolist()) for size in sizes}
    keys = sorted(every | {b"", *(bytes([letter]) for letter in letters)})
    fst = written(keys, parts=3)
    terms, numbers = fst.items()
    assert terms.to_pylist() == keys
    assert numbers.tolist() == list(range(len(keys)))
    assert [fst.get(key) for key in keys[::7]] == list(range(0, len(keys), 7))
    assert fst.get(b"\xff" * 7) is None


@pytest.mark.parametrize("keys", [[], [b""], [b"a"], [b"", b"a"], [b"a", b"b"], [b"ab", b"abc"]])
def test_few_keys(keys: list[bytes]) -> None:
    assert written(keys).items()[0].to_pylist() == keys


def test_both_sets_answer_alike(tmp_path: Path) -> None:
    table = pa.table({"id": range(500), "t": texts(500, 5)})
    answers = []
    for token_set in ("arrow", "fst"):
        dataset = lance.write_dataset(table, tmp_path / token_set)
        dataset.create_scalar_index("t", "INVERTED", token_set_format=token_set)
        dataset = lance.dataset(dataset.uri)
        (tokens,) = Path(dataset.uri).glob("_indices/*/*_tokens.lance")
        names = lance.file.LanceFileReader(str(tokens)).metadata().schema.names
        assert ("_token_fst_bytes" in names) == (token_set == "fst")
        answers.append([dataset.to_table(["id"], full_text_query=f"w{n}") for n in range(9)])
    assert answers[0] == answers[1]


def test_unknown_sets_are_refused(tmp_path: Path) -> None:
    dataset = lance.write_dataset(pa.table({"t": ["a"]}), tmp_path / "t")
    with pytest.raises(InvalidInputError, match="'arrow' or 'fst'"):
        dataset.create_scalar_index("t", "INVERTED", token_set_format="tree")


def test_numbers_of_terms_are_those_of_the_rows_of_postings() -> None:
    terms = pa.array(["a", "b", "c"], pa.large_string())
    assert SortedTokens(terms, np.array([2, 0, 1]), 3, "path").number("b") == 0
    for numbers, count in (([0, 1, 1], 3), ([0, 1, 3], 3), ([0, 1, 2], 4), ([0, 1, 2], 2)):
        with pytest.raises(CorruptFileError, match="3 terms for"):
            SortedTokens(terms, np.array(numbers), count, "path")
    fst = written([b"a", b"b", b"c"])
    assert FstTokens(fst, 3, "path").number("b") == 1
    for count in (2, 4):
        with pytest.raises(CorruptFileError, match="3 terms for"):
            FstTokens(fst, count, "path")
