"""The storage options of a table about checksums: which are checked, and which are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lance_core.encodings.registry import EncodingRegistry
from lance_core.errors import InvalidInputError
from lance_core.plugins.store_cache import CHECKSUMS_OPTION, VERIFY_OPTION
from lance_core.store.config import StoreConfig
from lance_core.store.secret import plain

PAGES = "pages"
"""The value of both options."""


def with_checksums(config: StoreConfig, options: Mapping[str, Any]) -> StoreConfig:
    """``config`` with ``verify`` and ``checksums`` of ``options``, unless they are None."""
    names = (VERIFY_OPTION, CHECKSUMS_OPTION)
    stated = {name: options[name] for name in names if options.get(name) is not None}
    return config.with_options({**config.options, **stated}) if stated else config


def registry_for(registry: EncodingRegistry, config: StoreConfig) -> EncodingRegistry:
    """``registry`` for readers and writers with the options of ``config``.

    Raises `InvalidInputError` for a value that an option does not have.
    """
    checks, sums = (_is_pages(config, name) for name in (VERIFY_OPTION, CHECKSUMS_OPTION))
    return registry.with_checksums(checks=checks, sums=sums) if checks or sums else registry


def _is_pages(config: StoreConfig, name: str) -> bool:
    value = config.options.get(name)
    if value is None:
        return False
    if plain(value) != PAGES:
        raise InvalidInputError(f"{name} must be {PAGES!r}, got {plain(value)!r}")
    return True
