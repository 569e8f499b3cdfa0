"""Value encodings of plugins: the interface, and the selection by field metadata.

The author of such an encoding converts an array without nulls to bytes and back. The core handles
nulls, lists, structs, pages and random access; it splits values into blocks, see
`lance_core.encodings.plugin_values.foreign_blocks`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_core.encodings.registry import EncodingFamily, EncodingRegistry, EncodingSpec
from lance_core.encodings.version import FIRST_WITH_VALUE_ENCODINGS, FileVersion
from lance_core.error_texts.plugin_calls import CheckedCalls
from lance_core.errors import (
    InvalidInputError,
    PluginConflictError,
    PluginError,
    PluginLoadError,
    PluginNotFoundError,
    UnsupportedFeatureError,
)
from lance_core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from lance_core.encodings.decoding import Int64Array
    from lance_core.encodings.page import ForeignEncoding
    from lance_core.schema import Field

ENCODING_KEY = "lance-encoding:encoding"
"""Metadata key of a leaf field: the name or the type URL of the encoding of its values."""

MAX_BLOCK_VALUES = 1 << 20

ValueEncoder = Callable[[pa.Array], bytes | pa.Buffer]
"""Encodes values, at least one and none null, to bytes that contain all that decoding needs.

The array may be a slice. Its type is one of those that the encoding accepts.
"""

ValueDecoder = Callable[[pa.Buffer, pa.DataType, int], pa.Array]
"""Decodes bytes to exactly the given number of values of exactly the given type, without nulls.

Damaged bytes must raise `CorruptFileError`, before memory is allocated for what they claim. Any
other exception, and an array of another length or type, is reported as `CorruptFileError`.
"""


ValueTake = Callable[[pa.Buffer, pa.DataType, int, "Int64Array"], pa.Array]
"""Same as `ValueDecoder`, but returns only the values at ascending positions, at least one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueEncodingSpec(EncodingSpec):
    """A value encoding that is not part of the format.

    ``key``: its type URL, with a slash, e.g. ``"/example.org/alp"``; files record it. ``name``: a
    short name for field metadata. ``distribution``: the package that readers must install; files
    record it, too. ``accepts``: returns True for each supported storage type. ``block_values``:
    values per block; reading a single value decodes a whole block, unless ``take`` is set. ``take``
    returns single values of a block, equal to those of ``decoder``, at a lower cost. ``scalar_at``
    is not used.
    """

    encoder: ValueEncoder
    decoder: ValueDecoder
    take: ValueTake | None = None
    name: str
    distribution: str
    accepts: Callable[[pa.DataType], bool]
    block_values: int = 1 << 16
    min_file_version: FileVersion = FIRST_WITH_VALUE_ENCODINGS
    family: EncodingFamily = EncodingFamily.VALUES

    def __post_init__(self) -> None:
        """Raise `PluginLoadError` for a key or name that no reader could look up."""
        if "/" not in self.key or self.key.startswith("/lance.encodings"):
            raise PluginLoadError(f"{self.key!r} cannot be the type URL of a plugin's encoding")
        if not re.fullmatch(r"[a-z][a-z0-9._-]*", self.name):
            raise PluginLoadError(f"{self.name!r} cannot be the name of an encoding")
        if not self.distribution:
            raise PluginLoadError(f"encoding {self.key!r} does not say which package to install")
        if not 0 < self.block_values <= MAX_BLOCK_VALUES:
            raise PluginLoadError(
                f"block_values is {self.block_values}, must be from 1 to {MAX_BLOCK_VALUES}"
            )


def value_encoding(field: Field, path: str, registry: EncodingRegistry) -> ValueEncodingSpec | None:
    """The encoding that the metadata of a leaf field requests; None if it requests none.

    ``path`` names the field in errors: `PluginNotFoundError`, `PluginConflictError`, and
    `UnsupportedFeatureError` if the encoding does not accept the type of the field.
    """
    requested = field.metadata.get(ENCODING_KEY)
    if requested is None:
        return None
    spec = find_value_encoding(requested, registry, f"field {path!r}")
    if not accepts(spec, field.storage_type, path):
        raise UnsupportedFeatureError(
            f"field {path!r}: encoding {requested!r} is not for values of type {field.storage_type}"
        )
    return spec


def accepts(spec: ValueEncodingSpec, type_: pa.DataType, path: str = "") -> bool:
    """Whether ``spec`` encodes values of type ``type_``; ``path`` is that of the field.

    Raises `PluginError` if the plugin raises an error of Python or returns another value.
    """
    calls = CheckedCalls(error_name(spec), partial(PluginError, field=path))
    return bool(calls("accepts", bool, lambda: spec.accepts(type_)))


def error_name(spec: ValueEncodingSpec) -> str:
    """The encoding and its distribution, for errors."""
    return f"encoding {spec.key!r} of {spec.distribution}"


def find_value_encoding(
    key: str, registry: EncodingRegistry, what: str, distribution: str = ""
) -> ValueEncodingSpec:
    """The encoding with this name or type URL.

    ``what`` names the object that needs it and ``distribution`` the package to install, for errors.
    Raises `PluginNotFoundError` and `PluginConflictError`.
    """
    offers = registry.offers(EncodingFamily.VALUES)
    specs = [
        (provider, spec)
        for offered in offers.values()
        for provider, spec in offered
        if isinstance(spec, ValueEncodingSpec)
    ]
    matches = [(who, spec) for who, spec in specs if key in (spec.key, spec.name)]
    if len(matches) == 1:
        return matches[0][1]
    if matches:
        names = " and ".join(sorted(repr(provider) for provider, _ in matches))
        raise PluginConflictError(f"{what}: encoding {key!r} is provided by {names}")
    text = [f"{what} needs encoding {key!r}, which no plugin provides"]
    if distribution:
        text.append(f"pip install {distribution}")
    known = sorted(f"{spec.name} ({spec.key})" for _, spec in specs)
    text.append(f"known: {', '.join(known) or 'none'}")
    if registry.failed:
        text.append("failed to load: " + "; ".join(registry.failed))
    raise PluginNotFoundError(". ".join(text))


def unknown_page(encoding: ForeignEncoding) -> PluginNotFoundError:
    """The error for a page whose encoding message is not part of the format."""
    return PluginNotFoundError(
        f"a page is described by {encoding.type_url!r}, which is not known; read it with the "
        "software that wrote it"
    )


def check_value_encodings(field: Field, registry: EncodingRegistry) -> None:
    """Raise as `value_encoding` does unless the requested encodings of all leaf fields exist.

    Raises `InvalidInputError` if a field that is not a leaf requests an encoding.
    """
    for path, part in field.derived("value_encodings", lambda: _requested(field)):
        value_encoding(part, path, registry)


def _requested(field: Field) -> Sequence[tuple[str, Field]]:
    """The leaf fields that request an encoding, with their paths; raises `InvalidInputError`."""
    requests = []
    for path, part, is_leaf in _with_paths(field, field.name):
        if ENCODING_KEY not in part.metadata:
            continue
        if not is_leaf:
            raise InvalidInputError(
                f"field {path!r}: {ENCODING_KEY!r} belongs to a field that holds values itself, "
                f"not to one of type {part.storage_type}"
            )
        requests.append((path, part))
    return requests


def refuse_value_encodings(fields: Iterable[Field], version: FileVersion) -> None:
    """Raise `UnsupportedFeatureError` if a field requests an encoding; ``version`` allows none."""
    for field in fields:
        for path, part, _ in _with_paths(field, field.name):
            if ENCODING_KEY in part.metadata:
                raise UnsupportedFeatureError(
                    f"field {path!r} asks for encoding {part.metadata[ENCODING_KEY]!r}, but file "
                    f"version {version} has no encodings of plugins"
                )


def _with_paths(field: Field, path: str, packed: bool = False) -> Iterable[tuple[str, Field, bool]]:
    # The members of packed structs and of blobs are stored in one column with their siblings, so
    # that none of them has an encoding of its own.
    packed |= field.is_packed_struct or field.is_blob
    yield path, field, not field.children and not packed
    for child in field.children:
        yield from _with_paths(child, f"{path}.{child.name}", packed)
