"""The source of a store's file system: a URL with options, or a registered object.

A forked child must not use its parent's file system: it opens its own, or must register one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import quote, unquote

from lance_core.errors import (
    InvalidInputError,
    LanceError,
    PluginNotFoundError,
    StoreError,
    UnsupportedFeatureError,
)
from lance_core.hookspecs import StoreUrl
from lance_core.hookspecs.concurrency import ForkSafeLock
from lance_core.hookspecs.options import Secret, without_frames
from lance_core_fsspec.errors import Redaction, one_line
from lance_core_fsspec.http_options import check_http_options
from lance_core_fsspec.mount import Mount
from lance_core_fsspec.options import arguments_of, check_names, secrets_of
from lance_core_fsspec.plugin import REGISTERED
from lance_core_fsspec.registry import registered

ARCHIVES = frozenset({"libarchive", "tar", "zip"})
"""Schemes whose URLs have no host: the path begins after the slashes."""


class Source:
    """The file system of ``url`` and ``options``.

    Raises `InvalidInputError` for invalid combinations.
    """

    def __init__(self, url: StoreUrl, options: Mapping[str, str | Secret]) -> None:
        # The part before the @ of github://owner:repository@branch is not a password.
        self.redact = Redaction(secrets_of(options, "" if url.scheme == "github" else url.netloc))
        self._url = url
        self._arguments = arguments_of(options)
        self._lock = ForkSafeLock()
        self._opened: tuple[object, Mount] | None = None
        if url.scheme == REGISTERED and options:
            names = ", ".join(options)
            raise InvalidInputError(f"a registered file system takes no options ({names})")
        if url.query and url.commit_scheme is None:
            raise InvalidInputError(
                f"a URL of scheme {url.scheme!r} has no parameters; options of the file system are "
                "given as storage_options"
            )
        if "::" in url.netloc or "::" in url.path:
            raise UnsupportedFeatureError(
                f"{url} is a chain of file systems: open it by fsspec.core.url_to_fs and give the "
                "result to lance_core_fsspec.register_file_system"
            )

    def __repr__(self) -> str:
        return self.redact(str(self._url))

    def mount(self) -> Mount:
        """The file system of this process; opens it on first use."""
        is_registered = self._url.scheme == REGISTERED
        owner: object = registered(self._url.netloc) if is_registered else os.getpid()
        with self._lock:
            if self._opened is None or self._opened[0] != owner:
                self._opened = (owner, self._named() if is_registered else self._open())
            return self._opened[1]

    def _named(self) -> Mount:
        file_system = registered(self._url.netloc)
        start = (
            file_system.root
            if file_system.root.endswith("/") or not file_system.root
            else f"{file_system.root}/"
        )
        return Mount(file_system.filesystem, f"{start}{self._url.path}", file_system.lock)

    def _open(self) -> Mount:
        failure: LanceError
        try:
            return self._new()
        except ImportError as error:
            failure = PluginNotFoundError(
                f"the file system for {self._url.scheme!r} is not installed: "
                f"{one_line(error, self.redact)}"
            )
        except LanceError as error:
            failure = without_frames(error)
        except (TypeError, ValueError) as error:
            failure = self._unusable(error)
        except Exception as error:
            failure = StoreError(f"{self} cannot be opened: {one_line(error, self.redact)}")
        # Drop the original exception and the inner frames: both may show a secret.
        raise failure

    def _new(self) -> Mount:
        from fsspec import get_filesystem_class
        from fsspec.core import url_to_fs

        file_system = get_filesystem_class(self._url.scheme)
        if self._url.scheme in {"http", "https"}:
            check_http_options(self._url, self._arguments, file_system)
        check_names(self._arguments, file_system)
        # A new instance, because its cache of listings must be off.
        arguments = {**self._arguments, "skip_instance_cache": True}
        filesystem, root = url_to_fs(self._text(arguments), **arguments)
        dircache = getattr(filesystem, "dircache", None)
        if dircache is not None and hasattr(dircache, "use_listings_cache"):
            dircache.use_listings_cache = False
        return Mount(filesystem, root, ForkSafeLock())

    def _unusable(self, error: Exception) -> LanceError:
        from fsspec.registry import known_implementations

        scheme = self._url.scheme
        if scheme not in known_implementations and "not known" in str(error):
            return PluginNotFoundError(
                f"fsspec knows no file system for {scheme!r}: install the package that has it"
            )
        return InvalidInputError(
            f"{self} cannot be opened with these options: {one_line(error, self.redact)}"
        )

    def _text(self, arguments: dict[str, object]) -> str:
        """The URL for fsspec; moves the password of an HTTP URL to ``arguments``."""
        url, netloc, path = self._url, self._url.netloc, self._url.path
        if url.scheme in {"http", "https"}:
            # fsspec logs whole URLs.
            path = quote(path)
            user, at, netloc = netloc.rpartition("@")
            if at:
                from aiohttp import BasicAuth

                name, _, password = user.partition(":")
                client_options = arguments.get("client_kwargs")
                login = {"auth": BasicAuth(unquote(name), unquote(password))}
                arguments["client_kwargs"] = {
                    **(client_options if isinstance(client_options, dict) else {}),
                    **login,
                }
        elif url.scheme in ARCHIVES:
            netloc = unquote(netloc)
        return f"{url.scheme}://{netloc}/{path}" if path else f"{url.scheme}://{netloc}"
