"""Binary JSON: paths into many values at once, and what they contain, as Arrow arrays.

For authors of indices and functions of JSON columns.
"""

from lance_core.schema.json.members import (
    CONTAINER,
    FALSE,
    NULL,
    TRUE,
    Members,
    element,
    elements,
    field,
    lengths,
    members_of,
)
from lance_core.schema.json.path import PathMatches, field_names, follow, parse_path
from lance_core.schema.json.values import (
    are_int64,
    binary,
    booleans,
    floats,
    integers,
    strings,
    texts,
)

__all__ = [
    "CONTAINER",
    "FALSE",
    "NULL",
    "TRUE",
    "Members",
    "PathMatches",
    "are_int64",
    "binary",
    "booleans",
    "element",
    "elements",
    "field",
    "field_names",
    "floats",
    "follow",
    "integers",
    "lengths",
    "members_of",
    "parse_path",
    "strings",
    "texts",
]
