"""The details of a vector index: what a manifest says about how it was built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lance_core.hookspecs.indices import VectorIndexDetails, parse_details_message
from lance_core_vector.distances import STORED_METRICS
from lance_core_vector.training.parameters import BuildParameters

VERSION = 1
VERSION_OF_RQ = 2
"""The ``index_version`` that readers need, of all kinds and of `IVF_RQ`."""


def details_of(parameters: BuildParameters) -> bytes:
    """The serialized details of an index with these parameters."""
    number: Any = STORED_METRICS.index(parameters.metric.name)
    details = VectorIndexDetails(metric_type=number)
    if parameters.partition_rows is not None:
        details.target_partition_size = parameters.partition_rows
    if parameters.codes == "PQ":
        details.pq.num_bits = parameters.bits
        assert parameters.num_parts is not None
        details.pq.num_sub_vectors = parameters.num_parts
    elif parameters.codes == "SQ":
        details.sq.num_bits = 8
    elif parameters.codes == "RQ":
        details.rq.num_bits = parameters.bits
    else:
        details.flat.SetInParent()
    if parameters.graph is not None:
        details.hnsw_index_config.max_connections = parameters.graph.m
        details.hnsw_index_config.construction_ef = parameters.graph.ef
        details.hnsw_index_config.max_level = parameters.graph.max_level
    data: bytes = details.SerializeToString()
    return data


def kind_of(details: bytes) -> str:
    """The kind, as in ``IVF_PQ``. Raises `CorruptFileError` for damaged details."""
    message = parse_details_message(VectorIndexDetails, details)
    graph = "HNSW_" if message.HasField("hnsw_index_config") else ""
    return f"IVF_{graph}{(message.WhichOneof('compression') or 'flat').upper()}"


def version_of(details: bytes) -> int:
    """The ``index_version`` of an index. Raises `CorruptFileError` for damaged details."""
    return VERSION_OF_RQ if kind_of(details) == "IVF_RQ" else VERSION


def build_parameters_of(details: bytes) -> Mapping[str, Any]:
    """The parameters that build such an index. Raises `CorruptFileError` for damaged details."""
    message = parse_details_message(VectorIndexDetails, details)
    parameters: dict[str, Any] = {
        "kind": kind_of(details),
        "metric": STORED_METRICS[message.metric_type % len(STORED_METRICS)],
    }
    if message.target_partition_size:
        parameters["target_partition_size"] = message.target_partition_size
    if message.HasField("hnsw_index_config"):
        graph = message.hnsw_index_config
        parameters["m"] = graph.max_connections
        parameters["ef_construction"] = graph.construction_ef
        parameters["max_level"] = graph.max_level
        parameters = {name: value for name, value in parameters.items() if value}
    compression = message.WhichOneof("compression")
    if compression in ("pq", "rq"):
        parameters["num_bits"] = getattr(message, compression).num_bits
    if compression == "pq":
        parameters["num_sub_vectors"] = message.pq.num_sub_vectors
    return parameters
