"""What users get of a dataset's store: its options in plain text, and access to single files."""

from __future__ import annotations

import hashlib
from typing import Any

from lance_core.dataset.snapshot.base_paths import opened
from lance_core.imports.on_demand import lazy_module
from lance_core.lazy_dataclass import dataclass
from lance_core.store.config import StoreConfig
from lance_core.store.secret import plain

sessions = lazy_module("lance_core.file.session")  # a public module, which is in a higher layer


def options_of(config: StoreConfig) -> dict[str, str] | None:
    """The storage options at the opening, None if there are none.

    Raises `InvalidInputError` if pickling dropped a secret.
    """
    return {name: plain(value) for name, value in config.options.items()} or None


def latest_options(config: StoreConfig) -> dict[str, str] | None:
    """The storage options that are valid now; None if there are none."""
    vended = {} if config.provider is None else config.provider.storage_options()
    options = {**config.options, **vended}
    return {name: plain(value) for name, value in options.items()} or None


@dataclass(frozen=True, slots=True, repr=False)
class StorageOptionsAccessor:
    """Returns the storage options of a dataset; those that a namespace vends are kept valid."""

    config: StoreConfig

    def get_storage_options(self) -> dict[str, str]:
        """The options that are valid now, in plain text."""
        return latest_options(self.config) or {}

    def initial_storage_options(self) -> dict[str, str]:
        """The options with which the dataset was opened, in plain text."""
        return options_of(self.config) or {}

    def has_provider(self) -> bool:
        """True if something refreshes the options."""
        return self.config.provider is not None

    def accessor_id(self) -> str:
        """A text that is equal for equal options, and does not show them."""
        if self.config.provider is not None:
            return self.config.provider.provider_id()
        options = sorted(self.get_storage_options().items())
        return f"static_options_{hashlib.sha256(repr(options).encode()).hexdigest()[:16]}"

    def __repr__(self) -> str:
        has_provider = str(self.has_provider()).lower()
        return f"StorageOptionsAccessor(id={self.accessor_id()}, has_provider={has_provider})"


def accessor_of(config: StoreConfig) -> StorageOptionsAccessor | None:
    """The accessor of a dataset's options; None if there are none."""
    has_any = config.options or config.provider is not None
    return StorageOptionsAccessor(config) if has_any else None


def file_session(config: StoreConfig) -> Any:
    """A `lance_core.file.LanceFileSession` for the files of the table's folder."""
    return sessions.LanceFileSession.of(opened(config, config.place_url, config.options))
