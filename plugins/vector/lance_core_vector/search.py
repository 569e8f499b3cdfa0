"""`VectorSearch`: the search that the argument ``nearest`` of a scan asks for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from lance_core.errors import InvalidInputError, InvalidTypeError
from lance_core.hookspecs.searches import RankedQuery, RankedSearch, SearchedColumns
from lance_core_vector.distances import METRICS, Metric
from lance_core_vector.options import NearestOptions
from lance_core_vector.query import VectorQuery, warn_of_undefined
from lance_core_vector.vectors import NUMBERS, vector_type


class VectorSearch(RankedSearch):
    """Makes a `VectorQuery` of a dictionary with the keys of pylance."""

    count_key = "k"

    def query(self, value: Any, type_of: SearchedColumns) -> RankedQuery:
        options = NearestOptions.of(value)
        data_type = type_of(options.column)
        vector = vector_type(data_type)
        if vector is None:
            raise InvalidTypeError(
                f"Query column {options.column} must be a vector. Got {data_type}."
            )
        item, is_multivector = vector
        metric = _metric(options, item.value_type)
        queries = options.queries
        if queries.shape[1] != item.list_size:
            raise InvalidInputError(
                f"Query vector size {queries.shape[1]} does not match index column size "
                f"{item.list_size}"
            )
        if metric.of_bits:
            if not np.isin(queries, np.arange(256)).all():
                raise InvalidInputError("a query of bytes has numbers from 0 to 255")
            queries = queries.astype(np.uint8)
        else:
            # As the vectors of the column are stored.
            with np.errstate(over="ignore"):
                queries = queries.astype(NUMBERS[item.value_type]).astype(np.float64)
            warn_of_undefined(queries, metric)
        scan = None if options.recall is None else type_of.scan
        return VectorQuery(options, queries, metric, is_multivector=is_multivector, scan=scan)


def _metric(options: NearestOptions, item: pa.DataType) -> Metric:
    """The metric of a query against vectors of ``item``; raises `InvalidInputError`."""
    if item not in NUMBERS:
        raise InvalidInputError(
            f"column {options.column!r} has vectors of {item}: float16, float32, float64 or uint8 "
            "are searched"
        )
    is_bits = item == pa.uint8()
    metric = options.metric or METRICS["hamming" if is_bits else "l2"]
    if metric.of_bits != is_bits:
        raise InvalidInputError(
            f"Distance type {metric.name} does not support vectors of {item} (column "
            f"{options.column!r})"
        )
    return metric
