"""The configuration with which a process opens a table's store, here or elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, field, replace
from typing import Any

from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.store.namespaces import TableProvider
from lance_core.store.paths import check_folder
from lance_core.store.secret import (
    Secret,
    are_secrets_carried,
    carrying_secrets,
    check_storage_options,
    texts_of,
    wrap_secrets,
)
from lance_core.store.uri import StoreUrl, is_local_text, parse_uri, uri_below, without_secrets

__all__ = ["Secret", "StoreConfig", "carrying_secrets"]


@dataclass(frozen=True, slots=True, repr=False)
class StoreConfig:
    """A URI with options, which can be sent to other processes. Holds no client.

    ``commit_handler``: name of the requested handler, or None. ``folder``: the folder below the URI
    that is opened, such as a branch; "" for the URI itself. Links in that folder never lead outside
    of the URI. ``provider``: what opens the stores if the options are not fixed. ``base_options``:
    options of base paths of the table, by URI; they are never stored. Options with secret names are
    wrapped. Pickling makes a local path absolute and drops secrets, including those in the URI (see
    `without_secrets`), except inside `carrying_secrets`. The representation shows neither option
    values nor secrets of the URI. Raises `InvalidInputError` for a malformed URI or option.
    """

    uri: str
    options: Mapping[str, str | Secret] = field(default_factory=dict, hash=False)
    commit_handler: str | None = None
    folder: str = ""
    provider: TableProvider | None = None
    parsed: InitVar[StoreUrl | None] = None
    base_options: Mapping[str, Mapping[str, str | Secret]] = field(default_factory=dict, hash=False)
    url: StoreUrl = field(init=False, compare=False)
    """The parsed ``uri``; a relative path refers to the working directory at creation."""

    def __post_init__(self, parsed: StoreUrl | None) -> None:
        object.__setattr__(self, "url", parsed or parse_uri(self.uri))
        check_folder(self.folder)
        # Copy the options, so that the caller cannot change this frozen object.
        if type(self.options) is dict and not self.options:
            object.__setattr__(self, "options", {})
            return
        object.__setattr__(self, "options", _wrapped(self.options))

    def __repr__(self) -> str:
        names = self.options if isinstance(self.options, Mapping) else ()  # invalid in an error
        options = ", ".join(f"{name}=***" for name in names)
        handler = f", commit_handler={self.commit_handler!r}" if self.commit_handler else ""
        folder = f", folder={self.folder!r}" if self.folder else ""
        return f"StoreConfig({str(self.url)!r}, options=({options}){handler}{folder})"

    def __reduce__(self) -> tuple[type[StoreConfig], tuple[object, ...]]:
        arguments = (self._uri_to_send(), self.options, self.commit_handler, self.folder)
        return (StoreConfig, (*arguments, self.provider, None, self.base_options))

    def with_options(self, options: Mapping[str, str | Secret]) -> StoreConfig:
        """The same location with other options."""
        return replace(self, options=options, parsed=self.url)

    def with_base_options(self, options: Mapping[str, Mapping[str, Any]]) -> StoreConfig:
        """The same location with options of base paths, by URI, beside those that it has.

        Raises `InvalidInputError` for an invalid URI or option.
        """
        if not isinstance(options, Mapping):
            raise InvalidInputError("options of base paths are a mapping from URIs to options")
        for uri in options:
            if not isinstance(uri, str):
                raise InvalidInputError("options of base paths are a mapping from URIs to options")
            parse_uri(uri)
        new = {uri: _wrapped(of_base or {}) for uri, of_base in options.items()}
        return replace(self, base_options={**self.base_options, **new}, parsed=self.url)

    def in_folder(self, folder: str) -> StoreConfig:
        """The location of another folder below the same URI."""
        return replace(self, folder=folder, parsed=self.url)

    @property
    def place(self) -> str:
        """The URI that is opened: ``folder`` below ``uri``."""
        return uri_below(self.uri, self.folder)

    @property
    def place_url(self) -> StoreUrl:
        """The parsed `place`."""
        return self.url.below(self.folder)

    def _uri_to_send(self) -> str:
        if is_local_text(self.uri):
            return self.url.path
        return self.uri if are_secrets_carried() else without_secrets(self.uri)


def _wrapped(options: Any) -> Mapping[str, str | Secret]:
    """A checked copy of options, so that the caller cannot change a frozen object."""
    if isinstance(options, Mapping):
        options = texts_of(options)
    check_storage_options(options)
    return wrap_secrets(options)
