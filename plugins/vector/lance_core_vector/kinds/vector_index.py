"""`VectorIndex`: the index type of all vector indices of the format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.hookspecs.indices import (
    IndexFolder,
    IndexOutput,
    IndexPart,
    IndexQuery,
    IndexRows,
    IndexType,
    OpenIndex,
    Precision,
    RowProblem,
    VectorIndexDetails,
    parse_details_message,
)
from lance_core_vector.distances import METRICS, STORED_METRICS
from lance_core_vector.graphs.stored_graph import SCHEMA as GRAPH_SCHEMA
from lance_core_vector.kinds.hnsw_index import HnswIndex
from lance_core_vector.kinds.ivf_index import IvfIndex
from lance_core_vector.kinds.merge import merge
from lance_core_vector.kinds.move import move
from lance_core_vector.kinds.verify import verify
from lance_core_vector.partitions.index_files import INDEX_KEY, ROW_ID, IndexFiles, IvfModel
from lance_core_vector.plugin import KINDS
from lance_core_vector.quantizers.base import Quantizer, check_columns
from lance_core_vector.quantizers.flat import FlatQuantizer
from lance_core_vector.quantizers.product import ProductQuantizer
from lance_core_vector.quantizers.rabit import RabitQuantizer
from lance_core_vector.quantizers.scalar import ScalarQuantizer
from lance_core_vector.training.build import build
from lance_core_vector.training.details import (
    build_parameters_of,
    details_of,
    kind_of,
    version_of,
)
from lance_core_vector.training.parameters import BuildParameters, warn_of_unused
from lance_core_vector.training.shared_training import shared_training
from lance_core_vector.vectors import vector_type


class VectorIndex(IndexType):
    """IVF indices, with or without a graph; they rank rows and answer no filters."""

    is_trained = True

    def accepts(self, kind: pa.DataType) -> bool:
        vector = vector_type(kind)
        if vector is None:
            return False
        item, is_multivector = vector[0].value_type, vector[1]
        return pa.types.is_floating(item) or (item == pa.uint8() and not is_multivector)

    def precision(self, query: IndexQuery, kind: pa.DataType, details: bytes) -> Precision | None:
        return None

    def check_parameters(self, parameters: Mapping[str, Any]) -> None:
        BuildParameters.of(parameters)
        warn_of_unused(parameters)

    def check_column(self, kind: pa.DataType, parameters: Mapping[str, Any]) -> None:
        BuildParameters.of(parameters).check_column(kind)

    def details_of(self, parameters: Mapping[str, Any]) -> bytes:
        return details_of(BuildParameters.of(parameters))

    def build_parameters_of(self, details: bytes) -> Mapping[str, Any]:
        return build_parameters_of(details)

    def version_of(self, details: bytes) -> int | None:
        return version_of(details)

    def parameters_of(self, details: bytes) -> Mapping[str, Any]:
        message = parse_details_message(VectorIndexDetails, details)
        metric = STORED_METRICS[message.metric_type % len(STORED_METRICS)]
        parameters: dict[str, Any] = {"metric_type": metric.upper()}
        if message.HasField("hnsw_index_config"):
            graph = message.hnsw_index_config
            parameters["hnsw"] = {
                "max_connections": graph.max_connections,
                "construction_ef": graph.construction_ef,
                "max_level": graph.max_level,
            }
        name = message.WhichOneof("compression")
        if name == "pq":
            parameters["compression"] = {
                "type": "pq",
                "num_bits": message.pq.num_bits,
                "num_sub_vectors": message.pq.num_sub_vectors,
            }
        elif name in ("sq", "rq"):
            parameters["compression"] = {"type": name, "num_bits": getattr(message, name).num_bits}
        if name == "rq":
            parameters["compression"]["rotation_type"] = (
                "matrix" if message.rq.rotation_type else "fast"
            )
        return parameters

    def label_of(self, details: bytes) -> str | None:
        return kind_of(details)

    def trained_parameters(
        self,
        sample: Callable[[int], IndexRows],
        num_rows: int,
        parameters: Mapping[str, Any],
    ) -> Mapping[str, Any]:
        return shared_training(sample, num_rows, BuildParameters.of(parameters))

    def build(self, rows: IndexRows, parameters: Mapping[str, Any], output: IndexOutput) -> bytes:
        return build(rows, BuildParameters.of(parameters), output)

    def open(self, folder: IndexFolder, details: bytes) -> OpenIndex:
        vector = vector_type(folder.kind)
        files = IndexFiles.of(folder)
        metric = METRICS.get(files.metric)
        if files.kind not in KINDS or metric is None:
            raise UnsupportedFeatureError(
                f"index {files.index.path} of the type {files.kind!r} and the metric "
                f"{files.metric!r}"
            )
        if vector is None or metric.of_bits != (vector[0].value_type == pa.uint8()):
            raise CorruptFileError(
                f"metric {metric.name} of a column of {folder.kind}",
                files.index.path,
                field=INDEX_KEY,
            )
        model = IvfModel.of(files, vector[0].list_size)
        if metric.of_bits != (model.centroids.dtype == "uint8"):
            raise CorruptFileError(
                f"numbers of type {model.centroids.dtype} for the metric {metric.name}",
                files.index.path,
                field="IVF.centroids_tensor",
            )
        quantizer = _quantizer(files, model, vector[0])
        stored = files.codes.schema
        check_columns({ROW_ID: pa.uint64(), **quantizer.columns}, stored, files.codes.path)
        if model.graph_rows is not None:
            graph = {field.name: field.type for field in GRAPH_SCHEMA}
            check_columns(graph, files.index.schema, files.index.path)
        # Some writers leave out the graphs of indices that they merge.
        index_class = IvfIndex if model.graph_rows is None else HnswIndex
        return index_class(files, model, quantizer, metric, details, vector[0])

    def merge(
        self, parts: Sequence[IndexPart], rows: IndexRows | None, output: IndexOutput
    ) -> bytes:
        source = parts[0].source
        assert isinstance(source, IvfIndex)
        if len(parts) > 1 or rows is not None:
            return merge(parts, rows, source.vector, output)
        return move(source, parts[0].map, output)

    def verify(self, part: IndexPart) -> Iterator[RowProblem]:
        return verify(part)


def _quantizer(files: IndexFiles, model: IvfModel, vector: pa.DataType) -> Quantizer:
    name = files.kind.rsplit("_", 1)[-1]
    if name == "FLAT":
        return FlatQuantizer(vector, METRICS[files.metric], files.codes.path)
    if files.metric == "hamming":
        raise CorruptFileError(
            f"codes of type {name} have no Hamming distance", files.index.path, field=INDEX_KEY
        )
    if name == "PQ":
        return ProductQuantizer.of(files, model)
    if name == "SQ":
        return ScalarQuantizer.of(files, vector.list_size)
    return RabitQuantizer.of(files, model)
