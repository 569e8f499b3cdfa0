"""Where the new data files of a write go: to the table's root, or to base paths in turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lance_core.dataset.snapshot.snapshot import Snapshot, TableRoot
from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import ObjectStore
from lance_core.table.manifest_parts import BasePath
from lance_core.table.paths import data_file_path


@dataclass(frozen=True, slots=True)
class TargetBase:
    """A location of new data files: the store of ``base``, or of the table's root for None."""

    store: ObjectStore
    base: BasePath | None = None

    @property
    def base_id(self) -> int | None:
        """The id by which the manifest names the location; None for the table's root."""
        return None if self.base is None else self.base.id

    def data_file_path(self, name: str) -> str:
        """The path of the data file ``name`` in the store."""
        path = data_file_path(name)
        return path if self.base is None or self.base.is_dataset_root else name


@dataclass(frozen=True, slots=True)
class BaseChoice:
    """The base paths that a caller asks for, by name or path, or all of the table.

    ``references``: names, paths, or the URI of the table for its root. ``every``: None for those
    of ``references``, True for the root and all base paths, False for all base paths.
    """

    references: tuple[str, ...] = ()
    every: bool | None = None

    @classmethod
    def of(cls, target_bases: Sequence[str] | None, target_all_bases: bool | None) -> BaseChoice:
        """Raises `InvalidInputError` unless the arguments are as `write_dataset` says."""
        if isinstance(target_bases, str):
            raise InvalidInputError(f"target_bases must be a list of text, got {target_bases!r}")
        references = tuple(target_bases or ())
        if not all(isinstance(reference, str) for reference in references):
            raise InvalidInputError(f"target_bases must be a list of text, got {target_bases!r}")
        if not isinstance(target_all_bases, bool | None):
            raise InvalidInputError(f"target_all_bases must be a bool, got {target_all_bases!r}")
        if references and target_all_bases is not None:
            raise InvalidInputError("target_all_bases cannot be combined with target_bases")
        return cls(references, target_all_bases)

    @classmethod
    def from_arguments(cls, arguments: Mapping[str, Any]) -> BaseChoice:
        """Of the arguments of `write_dataset`; see `of`."""
        return cls.of(arguments.get("target_bases"), arguments.get("target_all_bases"))

    def named_paths(self, bases: Iterable[BasePath]) -> list[str]:
        """The paths of ``bases`` that the caller has written out, which is a permission to use."""
        return [base.path for base in bases if base.path in self.references]

    def targets(
        self, root: TableRoot, bases: Sequence[BasePath], branch: str | None
    ) -> tuple[TargetBase, ...]:
        """The locations in the order of their turns; empty stands for the table's root alone.

        ``bases``: the base paths of the table; ``branch``: the branch that its manifest names.
        Raises `InvalidInputError` for a base path that the table does not have, and
        `BasePathRefusedError` for one that the caller has not allowed.
        """
        chosen: list[BasePath | None] = [
            self._referred(name, root, bases) for name in self.references
        ]
        if self.every is not None:
            chosen = [*([None] if self.every else []), *bases]
        return tuple(
            TargetBase(root.store if base is None else root.base_store(branch, base.path), base)
            for base in chosen
        )

    def targets_of(self, snapshot: Snapshot) -> tuple[TargetBase, ...]:
        """As `targets`, for an open version."""
        if self == BaseChoice():
            return ()
        manifest = snapshot.manifest
        return self.targets(snapshot.root, manifest.base_paths, manifest.branch)

    def _referred(
        self, reference: str, root: TableRoot, bases: Sequence[BasePath]
    ) -> BasePath | None:
        for base in bases:
            if reference == base.name:
                return base
        for base in bases:
            if reference == base.path:
                return base
        if reference in (root.uri, root.base_uri):
            return None
        names = ", ".join(repr(base.name) for base in bases if base.name)
        raise InvalidInputError(
            f"target_bases: the table has no base path with the name or path {reference!r}; "
            f"its names are: {names or 'none'}"
        )


def targets_by_id(snapshot: Snapshot, ids: Iterable[int | None]) -> tuple[TargetBase, ...]:
    """The locations of the base paths ``ids``; raises the errors of `Snapshot.store_of`."""
    bases = [snapshot.base(id_) for id_ in ids]
    return tuple(TargetBase(snapshot.store_of(base), base) for base in bases)
