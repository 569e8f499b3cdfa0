"""The terms of JSON documents: path, type and value of each value that is no object or array.

A path has the keys of objects, with dots between them; elements of an array have the path of the
array. The terms of a text are those of the analyzer, each with the path: ``a.b,str,word``. Other
values are one term, as they are written: ``a.b,number,1.5``, ``c,bool,true`` or ``d,null,null``.
Queries have such triples, with semicolons between them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.arrays import from_numpy, from_values
from lance_core.hookspecs.json_values import members_of, texts
from lance_core.hookspecs.options import shortened
from lance_core_text.analyzers.analyze import AnalyzedTexts, Token, analyze_texts
from lance_core_text.analyzers.parameters import TextParameters

_TEXT = "str"
_TYPES = ("number", "bool", "null")
"""The types of values that are one term."""


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


class _Leaf(NamedTuple):
    """A value of a document; texts have the type `_TEXT`."""

    document: int
    path: str
    type: str
    value: str


def is_json(parameters: TextParameters) -> bool:
    """True if documents are JSON."""
    return parameters.lance_tokenizer == "json"


def analyze_documents(values: pa.Array, parameters: TextParameters) -> AnalyzedTexts:
    """The terms of JSON documents, as binary JSON or as text; those of nulls are none.

    Positions count terms. Raises `CorruptFileError` for invalid binary JSON.
    """
    documents = texts(members_of(values)) if pa.types.is_large_binary(values.type) else values
    leaves = [
        leaf
        for number, text in enumerate(documents.to_pylist())
        if text is not None
        for leaf in _leaves(number, text)
    ]
    is_text = np.array([leaf.type == _TEXT for leaf in leaves], np.bool_)
    owners = np.array([leaf.document for leaf in leaves], np.int64)
    strings = [leaf for leaf in leaves if leaf.type == _TEXT]
    words = from_values([leaf.value for leaf in strings], pa.large_string())
    analyzed = analyze_texts(words, parameters, with_offsets=False)
    # The terms of texts that have the same path are the same.
    paths: dict[str, int] = {}
    of_texts = np.array([paths.setdefault(leaf.path, len(paths)) for leaf in strings], np.int64)
    keys = of_texts[analyzed.texts] * len(analyzed.terms) + analyzed.codes
    distinct, of_words = np.unique(keys, return_inverse=True)
    names, terms = list(paths), analyzed.terms.to_pylist()
    numbers: dict[str, int] = {}
    for key in distinct.tolist():
        path, term = divmod(key, len(terms))
        numbers[f"{names[path]},{_TEXT},{terms[term]}"] = len(numbers)
    others = [
        numbers.setdefault(f"{leaf.path},{leaf.type},{leaf.value}", len(numbers))
        for leaf in leaves
        if leaf.type != _TEXT
    ]
    counts = np.ones(len(leaves), np.int64)
    counts[is_text] = np.bincount(analyzed.texts, minlength=len(strings))
    codes = np.empty(int(counts.sum()), np.int64)
    of_text = np.repeat(is_text, counts)
    codes[of_text], codes[~of_text] = of_words, others
    documents_of = np.repeat(owners, counts)
    lengths = np.bincount(documents_of, minlength=len(values))
    positions = np.arange(len(codes)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    nothing = np.empty(0, np.int64)
    every = from_values(list(numbers), pa.large_string())
    return AnalyzedTexts(every, codes, documents_of, positions, nothing, nothing)


def analyze_triples(text: str, parameters: TextParameters) -> list[Token]:
    """The terms of a query, at successive positions. Raises `InvalidInputError`."""
    triples: list[str] = []
    for triple in text.split(";"):
        parts = triple.split(",", 2)
        if len(parts) != 3:
            raise InvalidInputError(
                "JSON documents are searched by triples such as 'path,str,words', with semicolons "
                f"between them: got {shortened(triple)}"
            )
        path, value_type, value = parts
        if value_type in _TYPES:
            triples.append(triple)
        elif value_type == _TEXT:
            words = analyze_texts(from_values([value], pa.large_string()), parameters)
            terms = words.terms.take(from_numpy(words.codes)).to_pylist()
            triples += [f"{path},{_TEXT},{term}" for term in terms]
        else:
            raise InvalidInputError(
                f"the type in {shortened(triple)} is none of {_TEXT}, {', '.join(_TYPES)}"
            )
    return [Token(term, position, 0, 0) for position, term in enumerate(triples)]


def prefix_length(term: str) -> int:
    """The characters of a term before its value: those of the path and the type."""
    return len(term) - len(term.split(",", 2)[-1])


def _leaves(document: int, text: str) -> Iterator[_Leaf]:
    """The values of a document, in its order."""
    value = json.loads(
        text, parse_float=_Number, parse_int=_Number, parse_constant=_Number, strict=False
    )
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            items = [(f"{path}.{key}" if path else key, member) for key, member in value.items()]
            waiting += reversed(items)
        elif isinstance(value, list):
            waiting += [(path, element) for element in reversed(value)]
        elif isinstance(value, _Number):
            yield _Leaf(document, path, "number", value)
        elif isinstance(value, str):
            yield _Leaf(document, path, _TEXT, value)
        elif value is None:
            yield _Leaf(document, path, "null", "null")
        else:
            yield _Leaf(document, path, "bool", "true" if value else "false")
