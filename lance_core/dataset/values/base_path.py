"""`DatasetBasePath`: a location outside of the table's root that holds files of the table."""

from __future__ import annotations

from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.manifest_parts import BasePath


@dataclass(frozen=True)
class DatasetBasePath:
    """A location for files of a table: a URI or absolute path.

    ``is_dataset_root``: True if the location is laid out as a table, with files in ``data`` and
    other folders; False if the files are directly in it. ``id`` is the number by which the
    manifest's file entries reference it; pass None (stored as 0) before the table assigns one.
    """

    path: str
    name: str | None = None
    is_dataset_root: bool = False
    id: int = 0

    def __init__(
        self,
        path: str,
        name: str | None = None,
        is_dataset_root: bool = False,
        id: int | None = None,
    ) -> None:
        """Raises `InvalidInputError` unless path and name are ``str`` and the id is a u32."""
        if not isinstance(path, str) or not (name is None or isinstance(name, str)):
            raise InvalidInputError(f"path and name of a base path are text: {path!r}, {name!r}")
        number = 0 if id is None else id
        if not isinstance(number, int) or not 0 <= number < 1 << 32:
            raise InvalidInputError(f"the id of a base path is from 0 to 2**32-1, got {id!r}")
        object.__setattr__(self, "path", path)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "is_dataset_root", bool(is_dataset_root))
        object.__setattr__(self, "id", number)

    @classmethod
    def of(cls, base: BasePath) -> DatasetBasePath:
        """The public value for a base path of a manifest or transaction."""
        return cls(base.path, base.name, base.is_dataset_root, base.id)

    def to_stored(self) -> BasePath:
        """The value that the format stores."""
        return BasePath(self.id, self.path, self.is_dataset_root, self.name)
