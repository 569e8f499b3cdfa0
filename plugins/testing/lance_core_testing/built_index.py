"""Indices that suites build in memory, and open again from their files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from lance_core.hookspecs.file_versions import FileVersion
from lance_core.hookspecs.indices import (
    IndexFolder,
    IndexOutput,
    IndexPart,
    IndexRows,
    IndexType,
    IndexTypeSpec,
    OpenIndex,
)
from lance_core.hookspecs.stores import MemoryStore, resolve_factory
from lance_core.plugins import get_manager
from lance_core_testing.index_samples import SampleMap, SampleRows

FOLDER = "_indices/1"
"""The folder of an index in its store."""


@dataclass(frozen=True, slots=True, eq=False)
class BuiltIndex:
    """An index in a store of its own."""

    store: MemoryStore
    sizes: Mapping[str, int]
    details: bytes
    folder: IndexFolder

    @property
    def files(self) -> dict[str, bytes]:
        """The bytes of each file by its name."""
        return {name: bytes(self.store.get(f"{FOLDER}/{name}")) for name in self.sizes}


class IndexBuilder:
    """Builds, merges and opens indices of the type ``spec``.

    ``parameters``: those of all built indices.
    """

    spec: IndexTypeSpec
    parameters: ClassVar[Mapping[str, Any]] = {}

    def _type(self) -> IndexType:
        type_: IndexType = resolve_factory(self.spec.factory, self.spec.name)()
        return type_

    def _build(self, rows: IndexRows, parameters: Mapping[str, Any] | None = None) -> BuiltIndex:
        chosen = self.parameters if parameters is None else parameters
        return self._written(rows.type, lambda output: self._type().build(rows, chosen, output))

    def _merge(
        self, parts: Sequence[BuiltIndex], maps: Sequence[SampleMap], rows: SampleRows | None
    ) -> BuiltIndex:
        pairs = [
            IndexPart(self._open(part), row_map) for part, row_map in zip(parts, maps, strict=True)
        ]
        data_type = parts[0].folder.kind
        return self._written(data_type, lambda output: self._type().merge(pairs, rows, output))

    def _written(self, type_: pa.DataType, write: Callable[[IndexOutput], bytes]) -> BuiltIndex:
        store, registry, paths = MemoryStore(), get_manager().encodings, list[str]()
        with IndexOutput(store, FOLDER, registry, FileVersion.V2_1, paths) as output:
            details = write(output)
        assert isinstance(details, bytes), "`build` and `merge` return serialized details"
        stored = {file.path.removeprefix(f"{FOLDER}/"): file.size for file in store.list(FOLDER)}
        assert stored == output.sizes, "an index has only files that `IndexOutput` has created"
        folder = self._folder(store, output.sizes, type_)
        return BuiltIndex(store, output.sizes, details, folder)

    def _folder(
        self, store: MemoryStore, sizes: Mapping[str, int], type_: pa.DataType
    ) -> IndexFolder:
        version = self.spec.version_for(stable_row_ids=False)
        return IndexFolder(store, FOLDER, sizes, get_manager().encodings, type_, version)

    def _open(self, built: BuiltIndex) -> OpenIndex:
        return self._type().open(built.folder, built.details)
