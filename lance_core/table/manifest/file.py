"""The manifest file: optional sections, the manifest, and a tail of 16 bytes.

::

    [values of dictionary columns]
    [u32 length | IndexSection]  [u32 length | Transaction]  u32 length | Manifest
    u64 position of the manifest's length | u16 major = 0 | u16 minor | "LANC"

All integers are little-endian. The manifest is sealed (`lance_core.checksums.seal`) and has the
positions of the two sections; readers use these positions, not the order. Only tables of 0.1 files
store values of dictionary columns here; the fields of the schema have their positions. See
docs/format/table.md.
"""

from __future__ import annotations

import struct
from functools import lru_cache

import pyarrow as pa

from lance_core.checksums import environment
from lance_core.checksums.seal import MARK, SEAL_BYTES, inside_seal, seal
from lance_core.errors import CorruptFileError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass, replace
from lance_core.schema.dictionary_values import (
    dictionary_fields,
    parse_values,
    serialize_dictionary,
    with_changed_dictionaries,
    with_values,
)
from lance_core.schema.field import DictionaryValues, Field
from lance_core.schema.tree import Schema
from lance_core.table.manifest.manifest import Manifest, join, section_positions, split
from lance_core.table.storage_version import facts_of

_TAIL = struct.Struct("<QHH4s")
_LENGTH = struct.Struct("<I")
_MAGIC = b"LANC"
_MAJOR, _MINOR = 0, 2

MAX_CACHED_BYTES = 32 << 10
"""Maximum size of a manifest file whose content is cached, parsed: that of some 200 fragments."""

MAX_CACHED = 16
"""Maximum number of cached manifest files, of all tables."""


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """The content of a manifest file.

    ``index_section`` is a serialized ``IndexSection`` and ``transaction`` a serialized
    ``Transaction``; None if the file has no such section.
    """

    manifest: Manifest
    index_section: bytes | None = None
    transaction: bytes | None = None


def parse_manifest_file(data: pa.Buffer | bytes | memoryview, path: str = "") -> ManifestFile:
    """Parse a whole manifest file; ``path`` is for error messages.

    Small files are cached by their bytes, together with what was derived from their fragments:
    programs open a table again and again, mostly at the version of the last time.

    Raises `CorruptFileError` for a file that contradicts the format and `UnsupportedFeatureError`
    for a table that needs features this library does not have.
    """
    view = _bytes_view(data)
    try:
        return _cached(bytes(view)) if view.nbytes <= MAX_CACHED_BYTES else _parsed(view)
    except CorruptFileError as error:
        raise error.at(path) from None


def _parsed(data: bytes | memoryview) -> ManifestFile:
    view = memoryview(data)
    parts = split(serialized_manifest(view))
    positions = section_positions(parts.message)
    return ManifestFile(
        _with_dictionaries(Manifest.from_parts(parts), view),
        _section(view, positions.index_section, "index_section"),
        _section(view, positions.transaction_section, "transaction_section"),
    )


_cached = lru_cache(MAX_CACHED)(_parsed)


def serialized_manifest(data: pa.Buffer | memoryview) -> bytes:
    """The serialized ``Manifest`` in a whole manifest file; raises like `parse_manifest_file`."""
    view = _bytes_view(data)
    return bytes(inside_seal(view, *_manifest_range(view)))


def version_of(message: bytes) -> int:
    """The version number in a serialized ``Manifest``; raises `CorruptFileError` if it is none."""
    return Manifest.from_parts(split(message)).version


def serialize_manifest_file(file: ManifestFile) -> bytes:
    """The bytes of a manifest file in the layout of current releases.

    Raises `UnsupportedFeatureError` for a 0.1 table with a dictionary column whose values are
    unknown.
    """
    manifest = file.manifest
    values, schema = _placed_dictionaries(manifest)
    parts = [values] if values else []
    position = len(values)
    if schema is not manifest.schema:
        manifest = replace(manifest, schema=schema)
    message = manifest.to_proto()
    if file.index_section is not None:
        message.index_section = position
        position += _add_section(parts, file.index_section)
    if file.transaction is not None:
        message.transaction_section = position
        position += _add_section(parts, file.transaction)
    serialized = join(message, manifest.fragments)
    tail = _TAIL.pack(position, _MAJOR, _MINOR, _MAGIC)
    if environment.WRITTEN == "no":
        _add_section(parts, serialized)
        return b"".join([*parts, tail])
    parts += [_LENGTH.pack(len(MARK) + len(serialized) + SEAL_BYTES), MARK, serialized]
    content = b"".join(parts)
    return b"".join([content, seal(content, tail), tail])


def _with_dictionaries(manifest: Manifest, view: memoryview) -> Manifest:
    """The manifest of a 0.1 table with the values of its dictionary fields, read from ``view``."""
    if not facts_of(manifest.storage_version).has_table_dictionaries:
        return manifest
    fields = [f for f in dictionary_fields(manifest.schema) if f.dictionary and f.dictionary.length]
    if not fields:
        return manifest
    values = {}
    for field in fields:
        assert field.dictionary is not None
        try:
            values[field.id] = parse_values(view, field.storage_type.value_type, field.dictionary)
        except CorruptFileError as error:
            raise error.at(field=field.name) from None
        except UnsupportedFeatureError as error:
            raise UnsupportedFeatureError(f"field {field.name!r}: {error}") from None
    return replace(manifest, schema=with_values(manifest.schema, values))


def _placed_dictionaries(manifest: Manifest) -> tuple[bytes, Schema]:
    """The dictionary values at the start of a manifest file, and the schema with their positions.

    Releases before 1.0 also wrote values for 2.0 tables, which no reader uses. Their positions
    would be wrong in the new file and are set to zero.
    """
    fields = dictionary_fields(manifest.schema)
    if not fields:
        return b"", manifest.schema
    stores_values = facts_of(manifest.storage_version).has_table_dictionaries
    parts: list[bytes] = []
    position = 0
    placed: dict[int, DictionaryValues] = {}
    for field in fields:
        if not stores_values:
            placed[field.id] = DictionaryValues(0, 0)
            continue
        if field.dictionary_values is None:
            raise UnsupportedFeatureError(
                f"the values of the dictionary column {field.name!r} are unknown, but the manifest "
                f"of a table of file version {manifest.storage_version} must contain them"
            )
        content, placed[field.id] = serialize_dictionary(field.dictionary_values, position)
        parts.append(content)
        position += len(content)

    def place(field: Field) -> Field:
        if field.dictionary is None and not stores_values:
            return field
        return replace(field, dictionary=placed[field.id])

    return b"".join(parts), with_changed_dictionaries(manifest.schema, place)


def _bytes_view(data: pa.Buffer | bytes | memoryview) -> memoryview:
    return memoryview(data).cast("B")


def _add_section(parts: list[bytes], content: bytes) -> int:
    parts += [_LENGTH.pack(len(content)), content]
    return _LENGTH.size + len(content)


def _manifest_range(view: memoryview) -> tuple[int, int]:
    """Start and end of the serialized manifest, according to the tail."""
    tail = len(view) - _TAIL.size
    if tail < _LENGTH.size:
        raise CorruptFileError(f"a manifest file of {len(view)} bytes is too short", offset=0)
    position, major, _, magic = _TAIL.unpack_from(view, tail)
    if magic != _MAGIC:
        raise CorruptFileError("the file does not end in LANC", offset=len(view) - 4)
    if major != _MAJOR:
        raise UnsupportedFeatureError(f"unsupported manifest file version {major}")
    start, stop = _bounds(view, position, "manifest position")
    if stop != tail:
        raise CorruptFileError(
            f"the manifest ends at {stop}, the tail begins at {tail}", offset=position
        )
    return start, stop


def _bounds(view: memoryview, position: int, field: str) -> tuple[int, int]:
    """Start and end of a section's content; the u32 length is at ``position``.

    Raises `CorruptFileError` naming ``field`` if the section overlaps the tail.
    """
    end = len(view) - _TAIL.size
    if position + _LENGTH.size > end:
        raise CorruptFileError(f"offset {position} is past the end", field=field)
    start = position + _LENGTH.size
    (length,) = _LENGTH.unpack_from(view, position)
    if length > end - start:
        raise CorruptFileError(
            f"{length} bytes at {start} reach past the end", offset=position, field=field
        )
    return start, start + length


def _section(view: memoryview, position: int | None, field: str) -> bytes | None:
    if position is None:
        return None
    start, stop = _bounds(view, position, f"Manifest.{field}")
    return bytes(view[start:stop])
