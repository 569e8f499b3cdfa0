"""`DatasetBasePath`: another place that files of a table may be in."""

from __future__ import annotations

from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.table.manifest_parts import BasePath


@dataclass(frozen=True)
class DatasetBasePath:
    """A place for files of a table, by its URI or absolute path.

    ``is_dataset_root``: it is laid out as a table, with files in ``data`` and other folders; else
    files are directly in it. ``id`` is what the table's files name it by; None (shown as 0) until
    the table has given it one.
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
        """Raises `InvalidInputError` for anything but text, or an id that is not a u32."""
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
        """A base path of a manifest or transaction."""
        return cls(base.path, base.name, base.is_dataset_root, base.id)

    def to_stored(self) -> BasePath:
        """The value that the format stores."""
        return BasePath(self.id, self.path, self.is_dataset_root, self.name)
