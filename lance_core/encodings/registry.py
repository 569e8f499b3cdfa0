"""The registry of encodings and kernels from the core and from plugins."""

from __future__ import annotations

import copy
import enum
import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lance_core.encodings.kernels import NUMPY, Kernels
from lance_core.encodings.version import (
    FORMAT_VERSIONS,
    Code,
    FieldDecoder,
    FieldEncoders,
    FileVersion,
    FileVersionSpec,
    Importer,
    VersionFacts,
    resolved,
)
from lance_core.errors import PluginConflictError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass


class EncodingFamily(enum.Enum):
    """The protobuf message whose ``oneof`` contains the encoding.

    `EncodingSpec.key` must be unique within a family. In `VALUES` it is a type URL.
    """

    __hash__ = object.__hash__  # `enum.Enum` hashes in Python code, which slows every lookup

    ARRAY = "lance.encodings.ArrayEncoding"
    """Arrays of 2.0 files."""
    COMPRESSIVE = "lance.encodings21.CompressiveEncoding"
    """Compression of values within a page layout."""
    VALUES = "lance_core.encodings.ForeignValues"
    """Value encodings of plugins, in files of any 2.x version."""


Decoder = Callable[..., Any]
Encoder = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class EncodingSpec:
    """One encoding, offered by the core or a plugin. Immutable.

    ``key`` is the name of the protobuf alternative (``"flat"``, ``"nullable"``, …), or a type URL
    in `EncodingFamily.VALUES`. ``min_file_version`` is the first file version that may contain the
    encoding. The family prescribes the types of ``decoder`` and ``encoder`` (for
    `EncodingFamily.ARRAY` see `lance_core.encodings.v2_0.base`, for `EncodingFamily.COMPRESSIVE`
    `lance_core.encodings.v2_1.codecs.base`). ``encoder`` is None for a read-only encoding. Specs of
    `EncodingFamily.VALUES` are
    `lance_core.encodings.plugin_values.value_encoding.ValueEncodingSpec`.

    ``take`` and ``scalar_at`` are optional fast paths to some values and to one value, with types
    that the family prescribes. They return the same values as ``decoder``, the fallback.
    """

    key: str
    min_file_version: FileVersion
    decoder: Decoder
    encoder: Encoder | None = None
    family: EncodingFamily = EncodingFamily.ARRAY
    take: Callable[..., Any] | None = None
    scalar_at: Callable[..., Any] | None = None


_CORE_VERSIONS: Mapping[VersionFacts, FileVersionSpec] = {
    spec.version: spec for spec in FORMAT_VERSIONS
}


def _core_version(version: FileVersion) -> FileVersionSpec:
    spec = _CORE_VERSIONS.get(version)
    if spec is None:
        raise UnsupportedFeatureError(f"file version {version} is not supported without its plugin")
    return spec


class EncodingRegistry:
    """Finds encodings by family and key, and what reads and writes file versions.

    Built from (provider's name, spec) pairs; immutable.

    A key that two providers offer raises an error only when it is looked up. ``failed``: texts
    about plugins that did not load, for errors about a missing encoding. ``kernels``: the kernels
    that all encodings use. ``spec_of``: finds the descriptor of a file version, and raises an error
    if no plugin provides it; by default it finds those of the core. ``import_module`` imports the
    code of file versions. ``allowed_encodings``: a cache of the compressive encodings that files of
    a version may contain. ``checks_pages``: True if readers check pages against their checksums;
    ``sums_pages``: True if writers store these. False: the environment decides.
    """

    __slots__ = (
        "_decoders",
        "_encoders",
        "_entries",
        "_import",
        "_resolved",
        "_spec_of",
        "allowed_encodings",
        "checks_pages",
        "failed",
        "kernels",
        "sums_pages",
    )

    def __init__(
        self,
        offered: Iterable[tuple[str, EncodingSpec]],
        failed: Sequence[str] = (),
        kernels: Kernels = NUMPY,
        spec_of: Callable[[FileVersion], FileVersionSpec] | None = None,
        import_module: Importer = importlib.import_module,
    ) -> None:
        entries: dict[tuple[EncodingFamily, str], list[tuple[str, EncodingSpec]]] = {}
        for provider, spec in offered:
            entries.setdefault((spec.family, spec.key), []).append((provider, spec))
        self._entries = entries
        self.checks_pages = self.sums_pages = False
        self.failed = tuple(failed)
        self.kernels = kernels
        self._spec_of = spec_of or _core_version
        self._import = import_module
        self._resolved: dict[str, Callable[..., Any]] = {}
        self._decoders: dict[FileVersion, FieldDecoder] = {}
        self._encoders: dict[FileVersion, FieldEncoders] = {}
        self.allowed_encodings: dict[tuple[str, FileVersion], EncodingSpec] = {}

    def with_checksums(self, *, checks: bool, sums: bool) -> EncodingRegistry:
        """The same registry, for readers that check pages, and writers that store checksums."""
        changed = copy.copy(self)
        changed.checks_pages, changed.sums_pages = checks, sums
        return changed

    def file_version(self, version: FileVersion) -> FileVersionSpec:
        """The descriptor of a file version.

        Raises `PluginNotFoundError` if no plugin provides it, and `PluginConflictError`.
        """
        return self._spec_of(version)

    def resolved(self, code: Code) -> Callable[..., Any]:
        """The function that ``code`` is or names, imported at the first call."""
        if not isinstance(code, str):
            return code
        known = self._resolved.get(code)
        if known is None:
            known = self._resolved[code] = resolved(code, self._import)
        return known

    def decoder(self, version: FileVersion) -> FieldDecoder:
        """The functions that decode fields, imported at the first call; raises as `file_version`.

        Also raises `UnsupportedFeatureError` if the version has none.
        """
        known = self._decoders.get(version)
        if known is None:
            known = self._decoders[version] = self._spec_of(version).decoder(self._import)
        return known

    def encoders(self, version: FileVersion) -> FieldEncoders:
        """The functions that encode fields; see `decoder`."""
        known = self._encoders.get(version)
        if known is None:
            known = self._encoders[version] = self._spec_of(version).encoders(self._import)
        return known

    def find(self, key: str, family: EncodingFamily = EncodingFamily.ARRAY) -> EncodingSpec:
        """The encoding with this key.

        Raises `PluginConflictError` if several providers offer the key, and
        `UnsupportedFeatureError` if none does.
        """
        entry = self._entries.get((family, key))
        if entry is None:
            raise self._unknown(key, family)
        if len(entry) > 1:
            names = " and ".join(repr(provider) for provider, _ in entry)
            raise PluginConflictError(f"encoding {key!r} is provided by {names}")
        return entry[0][1]

    def offers(self, family: EncodingFamily) -> dict[str, list[tuple[str, EncodingSpec]]]:
        """For each key of a family, the pairs of provider's name and spec."""
        return {key: list(entry) for (of, key), entry in self._entries.items() if of is family}

    def keys(self, family: EncodingFamily = EncodingFamily.ARRAY) -> list[str]:
        """The keys of a family, sorted."""
        return sorted(key for of, key in self._entries if of is family)

    def _unknown(self, key: str, family: EncodingFamily) -> Exception:
        known = ", ".join(self.keys(family)) or "none"
        return UnsupportedFeatureError(f"encoding {key!r} is not supported; known are {known}")
