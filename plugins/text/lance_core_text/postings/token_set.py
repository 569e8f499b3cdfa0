"""The terms of a partition and their numbers: a sorted column, or a finite state transducer."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.errors import CorruptFileError
from lance_core.hookspecs.analyzers import Integers
from lance_core.hookspecs.arrays import to_numpy
from lance_core.hookspecs.indices import IndexFileReader
from lance_core_text.loops.near_terms import index_of
from lance_core_text.postings.fst import Fst

FST_BYTES = "_token_fst_bytes"
FST_SIZE = "_token_next_id"
FST_TERM_BYTES = "_token_total_length"
TERM_COLUMN = "_token"
NUMBER_COLUMN = "_token_id"


class TokenSet(Protocol):
    """The terms of a partition; the number of a term is its row in the file of postings."""

    def number(self, term: str) -> int | None:
        """The number of ``term``, None if the partition does not have it."""

    def all(self) -> tuple[pa.Array, Integers]:
        """All terms, sorted by their bytes, as large strings, and the number of each."""

    @property
    def nbytes(self) -> int:
        """The bytes in memory."""


class SortedTokens:
    """Terms in a sorted column beside their numbers. ``count``: the rows of postings."""

    def __init__(self, terms: pa.Array, numbers: Integers, count: int, path: str) -> None:
        self._terms = terms
        self._numbers = numbers
        if len(terms) > 1 and pc.any(pc.greater_equal(terms[:-1], terms[1:])).as_py():
            raise CorruptFileError("terms are not sorted", path, field=TERM_COLUMN)
        _check_numbers(numbers, count, path)

    def number(self, term: str) -> int | None:
        index = index_of(self._terms, term)
        return None if index is None else int(self._numbers[index])

    def all(self) -> tuple[pa.Array, Integers]:
        return self._terms, self._numbers

    @property
    def nbytes(self) -> int:
        return int(self._terms.nbytes + self._numbers.nbytes)


class FstTokens:
    """Terms in a transducer. ``count``: the rows of postings."""

    def __init__(self, fst: Fst, count: int, path: str) -> None:
        self._fst = fst
        self._count = count
        self._path = path
        if fst.num_keys != count:
            raise CorruptFileError(
                f"{fst.num_keys} terms for {count} rows of postings", path, field=FST_BYTES
            )

    def number(self, term: str) -> int | None:
        try:
            return self._fst.get(term.encode())
        except (ValueError, IndexError) as error:
            raise CorruptFileError(str(error), self._path, field=FST_BYTES) from None

    def all(self) -> tuple[pa.Array, Integers]:
        try:
            terms, numbers = self._fst.items()
            terms = terms.cast(pa.large_string())
        except (ValueError, IndexError, pa.ArrowInvalid) as error:
            raise CorruptFileError(str(error), self._path, field=FST_BYTES) from None
        _check_numbers(numbers, self._count, self._path)
        return terms, numbers

    @property
    def nbytes(self) -> int:
        return self._fst.nbytes


def _check_numbers(numbers: Integers, count: int, path: str) -> None:
    """Raise `CorruptFileError` unless each row of postings has one term."""
    is_other = len(numbers) != count or (count and (numbers.min() < 0 or numbers.max() >= count))
    if is_other or (np.bincount(numbers, minlength=count) != 1).any():
        raise CorruptFileError(
            f"{len(numbers)} terms for {count} rows of postings", path, field=FST_BYTES
        )


def read_tokens(reader: IndexFileReader, count: int) -> TokenSet:
    """The terms in a file of a partition with ``count`` rows of postings.

    Raises `CorruptFileError`.
    """
    if FST_BYTES in reader.names:
        (stored,) = reader.arrays([FST_BYTES])
        if len(stored) != 1 or stored.null_count or not pa.types.is_large_binary(stored.type):
            raise CorruptFileError(
                f"{len(stored)} transducers of type {stored.type}", reader.path, field=FST_BYTES
            )
        try:
            fst = Fst(stored[0].as_buffer())
        except ValueError as error:
            raise CorruptFileError(str(error), reader.path, field=FST_BYTES) from None
        return FstTokens(fst, count, reader.path)
    terms, numbers = reader.arrays([TERM_COLUMN, NUMBER_COLUMN])
    if terms.null_count or numbers.null_count:
        raise CorruptFileError("a term or its number is null", reader.path, field=TERM_COLUMN)
    if not pa.types.is_string(terms.type) or not pa.types.is_integer(numbers.type):
        raise CorruptFileError(
            f"terms of type {terms.type}, numbers of type {numbers.type}", reader.path
        )
    return SortedTokens(
        terms.cast(pa.large_string()), to_numpy(numbers).astype(np.int64), count, reader.path
    )
