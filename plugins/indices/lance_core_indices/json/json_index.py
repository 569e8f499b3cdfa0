"""`Json`: the type of index over the values at a path in JSON documents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.hookspecs.indices import (
    IndexFolder,
    IndexOutput,
    IndexPart,
    IndexQuery,
    IndexRows,
    IndexType,
    OfJsonField,
    Precision,
    RowNumbers,
    plain_index_type,
)
from lance_core.hookspecs.json_values import parse_path
from lance_core.hookspecs.options import did_you_mean, hint, shortened
from lance_core_indices.json.details import (
    DATA_TYPE,
    PATH,
    TARGET,
    TARGET_PARAMETERS,
    TARGETS,
    TYPE_NAMES,
    JsonDetails,
    parse_details,
)
from lance_core_indices.json.json_rows import NO_VALUES, JsonRows, RowsAfterNulls
from lance_core_indices.json.open_json import OpenJson


class Json(IndexType):
    """An index of another type, ``target_index_type``, over the values at ``path``.

    ``target_index_parameters``: the parameters of that index, as a dict or as the text of a JSON
    object. ``target_data_type``: the type of the values, ``"bool"``, ``"int"``, ``"float"`` or
    ``"string"``; by default that of the first value.
    """

    is_of_json = True

    def accepts(self, kind: pa.DataType) -> bool:
        """JSON columns, whose files have binary JSON."""
        return bool(pa.types.is_large_binary(kind))

    def precision(self, query: IndexQuery, kind: pa.DataType, details: bytes) -> Precision | None:
        """That of the index over the values, for a query of the field that ``path`` names."""
        if not isinstance(query, OfJsonField):
            return None
        parsed = parse_details(details)
        if parsed.keys != query.keys or parsed.kind not in (None, query.kind):
            return None
        return parsed.target.precision(query.query, query.kind, parsed.target_details)

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        """See `IndexType.check_parameters`; the path and the type over the values are required."""
        _checked(parameters)

    def details_of(self, parameters: Mapping[str, Any]) -> bytes:
        """The path, the type of index over the values and, if it is stated, their type."""
        return _checked(parameters)[0].to_bytes()

    def parameters_of(self, details: bytes) -> Mapping[str, Any]:
        """The path, the type of index over the values and, if it is stated, their type."""
        return parse_details(details).parameters

    def accepts_stable_row_ids(self, details: bytes) -> bool:
        """False for indices of zones: pylance takes their row addresses for row ids."""
        return parse_details(details).spec.name in ("btree", "bitmap", "ngram")

    def build(self, rows: IndexRows, parameters: Mapping[str, Any], output: IndexOutput) -> bytes:
        """Reads the documents; raises `InvalidInputError` for values that cannot be indexed."""
        details, inner = _checked(parameters)
        values = JsonRows(rows, details.path, output.scratch, details.kind)
        target = _build(details, values, inner, output)
        return replace(details, kind=values.kind, target_details=target).to_bytes()

    def open(self, folder: IndexFolder, details: bytes) -> OpenJson:
        """Opens the index over the values."""
        return OpenJson(folder, parse_details(details))

    def merge(
        self, parts: Sequence[IndexPart], rows: IndexRows | None, output: IndexOutput
    ) -> bytes:
        """Merges the indices over the values, which must have the same type."""
        opened = [_opened(part) for part in parts]
        details, value_type = opened[0].details, _common_kind(opened, rows)
        new = None if rows is None else JsonRows(rows, details.path, output.scratch, value_type)
        if new is not None:
            value_type = new.kind
        full, nulls = list[IndexPart](), list[RowNumbers]()
        for part, index in zip(parts, opened, strict=True):
            if index.has_values:
                full.append(IndexPart(index.target, part.map))
            else:
                moved, is_kept = part.map.moved(index.null_rows)
                nulls.append(np.sort(moved[is_kept]))
        values: IndexRows | None = new
        if nulls:
            values = RowsAfterNulls(nulls, new, NO_VALUES if value_type is None else value_type)
        details = replace(details, kind=value_type)
        if full:
            target = details.target.merge(full, values, output)
        else:
            assert values is not None
            target = _build(details, values, opened[0].target.parameters, output)
        return replace(details, target_details=target).to_bytes()


def _build(
    details: JsonDetails, values: IndexRows, inner: Mapping[str, Any], output: IndexOutput
) -> bytes:
    """Write an index over ``values``; returns its own details."""
    if not details.target.accepts(values.type):
        raise InvalidInputError(
            f"the values at JSON path {shortened(details.path)} have type {values.type}, which an "
            f"index of type {details.spec.label} does not accept"
        )
    return details.target.build(values, inner, output)


def _common_kind(opened: Sequence[OpenJson], rows: IndexRows | None) -> pa.DataType | None:
    """The type of the values of all indices; None if they have no values, or do not state it."""
    path = shortened(opened[0].details.path)
    types = {index.kind for index in opened if index.has_values}
    if None in types and (rows is not None or len(types) > 1):
        raise UnsupportedFeatureError(
            f"the index of JSON path {path} does not state the type of its values, so that others "
            "cannot be added: build it again with optimize_indices(retrain=True)"
        )
    if len(types) > 1:
        names = " and ".join(sorted(map(str, types)))
        raise InvalidInputError(f"the indices of JSON path {path} have values of types {names}")
    return next(iter(types), None)


def _opened(part: IndexPart) -> OpenJson:
    assert isinstance(part.source, OpenJson)
    return part.source


def _checked(parameters: Mapping[str, Any]) -> tuple[JsonDetails, Mapping[str, Any]]:
    """Details from the parameters of an index, and the parameters of that over the values."""
    known = (PATH, TARGET, TARGET_PARAMETERS, DATA_TYPE)
    for name in parameters:
        if name not in known:
            raise InvalidInputError(f"a JSON index has no parameter {name!r}{hint(name, known)}")
    path, target = parameters.get(PATH), parameters.get(TARGET)
    if not isinstance(path, str):
        raise InvalidInputError(f"a JSON index needs the parameter {PATH}, a string, got {path!r}")
    parse_path(path)
    spec = TARGETS.get(plain_index_type(target)) if isinstance(target, str) else None
    if spec is None:
        raise InvalidInputError(
            f"a JSON index needs the parameter {TARGET}, one of {', '.join(TARGETS)}; "
            f"got {target!r}{did_you_mean(str(target), TARGETS)}"
        )
    data_type = parameters.get(DATA_TYPE)
    if data_type is not None and data_type not in TYPE_NAMES:
        raise InvalidInputError(
            f"{DATA_TYPE} must be one of {', '.join(TYPE_NAMES)}; got {data_type!r}"
        )
    details = JsonDetails(path, spec, kind=None if data_type is None else TYPE_NAMES[data_type])
    inner = _inner(parameters.get(TARGET_PARAMETERS))
    details.target.check_parameters(inner)
    return details, inner


def _inner(parameters: Any) -> Mapping[str, Any]:
    """The parameters of the index over the values."""
    inner = parameters
    if isinstance(parameters, str):
        try:
            inner = json.loads(parameters)
        except ValueError:
            inner = parameters
    if inner is None:
        return {}
    if not isinstance(inner, Mapping):
        raise InvalidInputError(
            f"{TARGET_PARAMETERS} must be a dict or the text of a JSON object, got {parameters!r}"
        )
    return inner
