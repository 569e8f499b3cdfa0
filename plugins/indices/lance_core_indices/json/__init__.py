"""JSON: an index of another type over the values at a path in JSON documents."""

from lance_core_indices.json.json_index import Json

__all__ = ["Json"]
