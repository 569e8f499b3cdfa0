"""SQL functions of JSON columns, which are binary JSON (``large_binary``) in expressions."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.errors import InvalidInputError
from lance_core.hookspecs import json_values
from lance_core.hookspecs.arrays import from_numpy
from lance_core.hookspecs.json_values import (
    Members,
    PathMatches,
    element,
    elements,
    field,
    follow,
    lengths,
    members_of,
    parse_path,
)
from lance_core.sql_functions import (
    JSON_POSITION,
    Apply,
    Datum,
    JsonField,
    Node,
    call,
    cast,
    check_added,
    is_text,
    with_nullable,
)

OfText = Callable[..., pa.Array]
"""The result for JSON values and a key or path (perhaps more text); NULL for absent values."""


def _planned(operator: JsonField | Apply, of_text: OfText, node: Node, *texts: Node) -> Node:
    if not pa.types.is_large_binary(node.type):
        raise InvalidInputError(f"{operator.name} needs a JSON column, not {node.type}")
    arguments = [text if is_text(text.type) else cast(text, pa.string()) for text in texts]
    kernel = functools.partial(_each_text, of_text=of_text)
    return with_nullable(call(operator, kernel, node, *arguments), True)


def _each_text(value: Datum, *texts: Datum, of_text: OfText) -> Datum:
    """``of_text`` for each distinct combination of ``texts``, which usually are constants."""
    if isinstance(value, pa.Scalar):
        if all(isinstance(text, pa.Scalar) for text in texts):
            return _each_text(pa.repeat(value, 1), *texts, of_text=of_text)[0]
        count = next(len(text) for text in texts if not isinstance(text, pa.Scalar))
        value = pa.repeat(value, count)
    values = members_of(value)
    if all(isinstance(text, pa.Scalar) for text in texts):
        return _of_one(values, [text.as_py() for text in texts], of_text)
    columns = [
        pa.repeat(text, len(values)) if isinstance(text, pa.Scalar) else text for text in texts
    ]
    names = [str(i) for i in range(len(columns))]
    rows = pa.table([*columns, from_numpy(np.arange(len(values)))], [*names, "row"])
    groups = rows.group_by(names, use_threads=False).aggregate([("row", "list")]).to_pylist()
    order = [np.asarray(group["row_list"], np.int64) for group in groups]
    parts = [
        _of_one(values.take(picked), [group[name] for name in names], of_text)
        for group, picked in zip(groups, order, strict=True)
    ]
    if not parts:
        return _of_one(values, [None for _ in texts], of_text)
    return pa.concat_arrays(parts).take(from_numpy(np.argsort(np.concatenate(order))))


def _of_one(values: Members, texts: list[str | None], of_text: OfText) -> pa.Array:
    if None in texts:
        nothing = values.where(np.zeros(len(values), bool))
        return of_text(nothing, *["" for _ in texts])
    return of_text(values, *texts)


def _get(values: Members, key: str, convert: Callable[[Members], pa.Array]) -> pa.Array:
    member = field(values, key.encode())
    if JSON_POSITION.fullmatch(key):
        at = element(values, int(key))
        member = Members(
            values.data,
            np.where(at.exists, at.kinds, member.kinds),
            np.where(at.exists, at.starts, member.starts),
            np.where(at.exists, at.ends, member.ends),
        )
    return convert(member)


def _extract(values: Members, path: str) -> pa.Array:
    matches = follow(parse_path(path), values)
    # A path such as $.** matches the data of nested values again and again.
    check_added("json_extract", matches.values.num_bytes - values.num_bytes)
    texts = json_values.texts(matches.values)
    counts = np.bincount(matches.owner, minlength=len(values))
    if (counts > 1).any():
        lists = pa.LargeListArray.from_arrays(_offsets(counts), texts)
        joined = pc.binary_join(lists, ",")
        many = pc.binary_join_element_wise("[", joined, "]", "")
        texts = pc.if_else(from_numpy(counts > 1), many, joined)
    elif len(texts) == len(values):
        return texts
    else:
        texts = _placed(texts, matches, len(values))
    return pc.if_else(from_numpy(counts > 0), texts, pa.scalar(None, texts.type))


def _exists(values: Members, path: str) -> pa.Array:
    matches = follow(parse_path(path), values)
    hits = np.bincount(matches.owner, minlength=len(values)) > 0
    return _unless_absent(from_numpy(hits), values)


def _array_length(values: Members, path: str) -> pa.Array:
    matches = _first(follow(parse_path(path), values))
    return _placed(from_numpy(lengths(matches.values)), matches, len(values))


def _array_contains(values: Members, path: str, item: str) -> pa.Array:
    matches = follow(parse_path(path), values)
    owner, inner = elements(matches.values)
    hits = np.asarray(pc.equal(json_values.texts(inner), item))
    is_text = np.flatnonzero(inner.is_string)
    hits[is_text] |= np.asarray(pc.equal(json_values.strings(inner.take(is_text)), item))
    contains = np.zeros(len(values), bool)
    contains[matches.owner[owner[hits]]] = True
    return _unless_absent(from_numpy(contains), values)


def _first(matches: PathMatches) -> PathMatches:
    """The first of the values of each owner."""
    firsts = np.flatnonzero(np.diff(matches.owner, prepend=-1))
    return PathMatches(matches.owner[firsts], matches.values.take(firsts))


def _placed(array: pa.Array, matches: PathMatches, count: int) -> pa.Array:
    """``array``, which has one value for each distinct owner, at the places of the owners."""
    positions = np.zeros(count, np.int64)
    positions[matches.owner] = np.arange(len(array))
    has = np.zeros(count, bool)
    has[matches.owner] = True
    return array.take(
        pc.if_else(from_numpy(has), from_numpy(positions), pa.scalar(None, pa.int64()))
    )


def _unless_absent(array: pa.Array, values: Members) -> pa.Array:
    return pc.if_else(from_numpy(values.exists), array, pa.scalar(None, array.type))


def _offsets(counts: npt.NDArray[np.int64]) -> pa.Array:
    return from_numpy(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))


def _get_as(name: str, convert: Callable[[Members], pa.Array]) -> Callable[..., Node]:
    """The function ``name``: the field or element that its second argument names, converted."""
    return functools.partial(_planned, JsonField(name), functools.partial(_get, convert=convert))


json_get = _get_as("json_get", json_values.binary)
json_get_string = _get_as("json_get_string", json_values.strings)
json_get_int = _get_as("json_get_int", json_values.integers)
json_get_float = _get_as("json_get_float", json_values.floats)
json_get_bool = _get_as("json_get_bool", json_values.booleans)
json_extract = functools.partial(_planned, Apply("json_extract"), _extract)
json_exists = functools.partial(_planned, Apply("json_exists"), _exists)
json_array_length = functools.partial(_planned, Apply("json_array_length"), _array_length)
json_array_contains = functools.partial(_planned, Apply("json_array_contains"), _array_contains)
