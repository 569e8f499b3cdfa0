"""The descriptor of a file version: what reads and writes its files, and those of the core.

What a version can do is in its `lance_core.file_version.FileVersion`; its code is imported at its
first use. A plugin returns descriptors from the hook ``lance_file_versions``.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

from lance_core.errors import PluginLoadError, UnsupportedFeatureError
from lance_core.file_version import FileVersion, VersionFacts
from lance_core.lazy_dataclass import dataclass

__all__ = [
    "COLUMN_ENCODING_URL",
    "FIRST_WITH_VALUE_ENCODINGS",
    "FORMAT_VERSIONS",
    "FieldDecoder",
    "FieldEncoders",
    "FileVersion",
    "FileVersionSpec",
    "VersionFacts",
]

COLUMN_ENCODING_URL = "/lance.encodings.ColumnEncoding"
"""Type URL of the ``Any`` message with a column's encoding, in all 2.x versions."""

FIRST_WITH_VALUE_ENCODINGS = FileVersion("2.0")
"""The first version whose files may have value encodings of plugins."""

Code: TypeAlias = "Callable[..., Any] | str"
"""A function, or its import path ``"module:attribute"``, imported on first use."""

Importer: TypeAlias = Callable[[str], ModuleType]
"""Imports a module, as `importlib.import_module` does."""


class FieldDecoder(NamedTuple):
    """The functions that decode fields; see `lance_core.encodings.dispatch` for their arguments."""

    decode_field: Callable[..., Any]
    group_key: Callable[..., Any] | None
    decode_columns: Callable[..., Any] | None
    find_integers: Callable[..., Any] | None


class FieldEncoders(NamedTuple):
    """The functions that encode fields; see `lance_core.encodings.dispatch` for their arguments."""

    field_encoder: Callable[..., Any]
    small_columns: Callable[..., Any] | None
    flush_together: Callable[..., Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVersionSpec:
    """Describes a file version. All functions may be import paths ``"module:attribute"``.

    ``version``: a `FileVersion` of the format, or the `VersionFacts` of another version.
    ``read_content``: from the `lance_core.datafile.tail.Tail` of a file to its
    `lance_core.datafile.content.FileContent`. ``writer``: from an `ObjectWriter`, a `Schema`,
    `FileOptions` and the keywords ``registry`` and ``blobs`` to a
    `lance_core.datafile.file_output.FileOutput`; None if files can only be read.

    The others are for files with the container of 2.x, whose ``read_content`` and ``writer`` are
    those of the core: ``decode_field`` and ``field_encoder``, and optional fast paths to many small
    columns (``group_key`` with ``decode_columns``, ``small_columns`` with ``flush_together``) and
    to keys (``find_integers``). `lance_core.encodings.dispatch` and
    `lance_core.encodings.fast.version_paths` describe them.
    """

    version: VersionFacts
    read_content: Code = "lance_core.datafile.metadata:read_metadata"
    writer: Code | None = "lance_core.datafile.writer:FileWriter"
    decode_field: Code | None = None
    group_key: Code | None = None
    decode_columns: Code | None = None
    find_integers: Code | None = None
    field_encoder: Code | None = None
    small_columns: Code | None = None
    flush_together: Code | None = None

    def decoder(self, import_module: Importer) -> FieldDecoder:
        """Import the functions that decode fields.

        Raises `UnsupportedFeatureError` if the version has none.
        """
        if self.decode_field is None:
            raise UnsupportedFeatureError(f"reading file version {self.version} is not supported")
        return FieldDecoder(
            resolved(self.decode_field, import_module),
            _optional(self.group_key, import_module),
            _optional(self.decode_columns, import_module),
            _optional(self.find_integers, import_module),
        )

    def encoders(self, import_module: Importer) -> FieldEncoders:
        """Import the functions that encode fields; raises as `decoder` does."""
        if self.field_encoder is None:
            raise UnsupportedFeatureError(f"writing file version {self.version} is not supported")
        return FieldEncoders(
            resolved(self.field_encoder, import_module),
            _optional(self.small_columns, import_module),
            _optional(self.flush_together, import_module),
        )


def _optional(code: Code | None, import_module: Importer) -> Callable[..., Any] | None:
    return None if code is None else resolved(code, import_module)


def resolved(code: Code, import_module: Importer) -> Callable[..., Any]:
    """The function that ``code`` is or names.

    Raises `PluginLoadError` for a function that does not exist.
    """
    if callable(code):
        return code
    module, _, attribute = code.partition(":")
    function = getattr(import_module(module), attribute, None)
    if not callable(function):
        raise PluginLoadError(f"module {module!r} has no function {attribute!r}")
    return function  # type: ignore[no-any-return]


# Paths and not functions: only the code of the versions in use is imported.
_V2_0, _V2_1 = "lance_core.encodings.v2_0", "lance_core.encodings.v2_1"


def _with_page_layouts(version: FileVersion) -> FileVersionSpec:
    """The descriptor of 2.1 or 2.2, which share their code."""
    return FileVersionSpec(
        version=version,
        decode_field=f"{_V2_1}.fields:decode_field",
        group_key=f"{_V2_1}.fast.column_group:group_key",
        decode_columns=f"{_V2_1}.fast.column_group:decode_columns",
        find_integers=f"{_V2_1}.fast.key_search:find_integers",
        field_encoder=f"{_V2_1}.write.field_encoder:field_encoder",
        small_columns=f"{_V2_1}.fast.small_columns:SmallColumns",
        flush_together=f"{_V2_1}.fast.small_columns:flush_together",
    )


FORMAT_VERSIONS = (
    FileVersionSpec(
        version=FileVersion("2.0"),
        decode_field=f"{_V2_0}.fields:decode_field",
        group_key=f"{_V2_0}.fast.column_group:group_key",
        decode_columns=f"{_V2_0}.fast.column_group:decode_columns",
        field_encoder=f"{_V2_0}.field_encoder:field_encoder",
    ),
    _with_page_layouts(FileVersion("2.1")),
    _with_page_layouts(FileVersion("2.2")),
)
"""The file versions of the core."""
