"""The entry module of the plugin: descriptors only."""

from __future__ import annotations

from collections.abc import Iterable

from lance_core.hookspecs import IndexTypeSpec, ToolSpec, hookimpl
from lance_core.hookspecs.searches import SearchSpec

KINDS = (
    *("IVF_FLAT", "IVF_PQ", "IVF_SQ", "IVF_RQ"),
    *("IVF_HNSW_FLAT", "IVF_HNSW_PQ", "IVF_HNSW_SQ"),
)
"""The kinds of indices of the format, as their files and users name them."""


@hookimpl
def lance_searches() -> Iterable[SearchSpec]:
    """The search for the nearest vectors."""
    return (SearchSpec(name="nearest", factory="lance_core_vector.search:VectorSearch"),)


@hookimpl
def lance_index_types() -> Iterable[IndexTypeSpec]:
    """The vector indices of the format, all of one type."""
    return (
        IndexTypeSpec(
            name="vector",
            label="Vector",
            details_url="/lance.index.pb.VectorIndexDetails",
            factory="lance_core_vector.kinds.vector_index:VectorIndex",
            version=2,
            kinds=KINDS,
        ),
    )


@hookimpl
def lance_tools() -> Iterable[ToolSpec]:
    """What builds vector indices step by step, and what looks at their vectors."""
    names = (
        "indices_builder:IndicesBuilder",
        "kmeans_model:KMeans",
        "models:IndexFileVersion",
        "models:IvfModel",
        "models:PqModel",
        "validation:validate_vector_index",
    )
    return [ToolSpec(f"lance_core_vector.builder.{name}") for name in names]
