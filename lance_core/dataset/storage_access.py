"""What users get of a dataset's store: its options in plain text, and access to single files."""

from __future__ import annotations

import hashlib
from typing import Any

from lance_core.imports.on_demand import lazy_module
from lance_core.lazy_dataclass import dataclass
from lance_core.store.config import StoreConfig
from lance_core.store.secret import plain

sessions = lazy_module("lance_core.file.session")  # a public module, which is in a higher layer


def options_of(config: StoreConfig) -> dict[str, str] | None:
    """The storage options, None if there are none.

    Raises `InvalidInputError` if pickling dropped a secret.
    """
    return {name: plain(value) for name, value in config.options.items()} or None


@dataclass(frozen=True, slots=True, repr=False)
class StorageOptionsAccessor:
    """Returns the storage options of a dataset, which are those with which it was opened."""

    config: StoreConfig

    def get_storage_options(self) -> dict[str, str]:
        """The options in plain text."""
        return options_of(self.config) or {}

    def initial_storage_options(self) -> dict[str, str]:
        """The same."""
        return self.get_storage_options()

    def has_provider(self) -> bool:
        """False: nothing refreshes the options."""
        return False

    def accessor_id(self) -> str:
        """A text that is equal for equal options, and does not show them."""
        options = sorted(self.get_storage_options().items())
        return f"static_options_{hashlib.sha256(repr(options).encode()).hexdigest()[:16]}"

    def __repr__(self) -> str:
        return f"StorageOptionsAccessor(id={self.accessor_id()}, has_provider=false)"


def accessor_of(config: StoreConfig) -> StorageOptionsAccessor | None:
    """The accessor of a dataset's options; None if there are none."""
    return StorageOptionsAccessor(config) if config.options else None


def file_session(config: StoreConfig) -> Any:
    """A `lance_core.file.LanceFileSession` for the files of the table's folder."""
    return sessions.LanceFileSession(config.place, options_of(config))
