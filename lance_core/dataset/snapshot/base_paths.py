"""Base paths: locations of files outside of a table's root, and the permission to read them.

A base path is part of the table's metadata, so the creator of the table chose it, not the reader.
Without permission, reads are allowed only inside the URI that the user opened; for a branch opened
by its own URI, inside the table that contains it. All other locations need the caller's permission:
the storage option `ALLOW_OPTION` or the environment variable `ALLOW_VARIABLE`, with the value "yes"
or URL prefixes separated by commas. A location is also allowed if the caller gives storage options
for it (``base_store_params``), which apply there and below it. Other storage options, and with them
credentials, apply to a base path only if it is on the same host as the opened URI; all buckets of a
service are on the host that the options name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, unquote

from lance_core.errors import BasePathRefusedError, CorruptFileError, InvalidInputError
from lance_core.plugins import get_manager, open_store
from lance_core.plugins.store_cache import ALLOW_OPTION
from lance_core.store.base import ObjectStore
from lance_core.store.config import StoreConfig
from lance_core.store.secret import Secret, plain
from lance_core.store.uri import StoreUrl, is_local_text, parse_uri, shown_uri, uri_above
from lance_core.store.wrappers.prefix import PrefixStore
from lance_core.table.refs import branch_folder, recorded_branch

ALLOW_VARIABLE = "LANCE_CORE_ALLOW_BASE_PATHS"
"""The environment variable with the default of `ALLOW_OPTION`."""

_ALL, _NONE = "yes", "no"
_MAX_LENGTH = 4096


def open_base(config: StoreConfig, branch: str | None, path: str) -> ObjectStore:
    """The store rooted at the base path ``path`` of the table that ``config`` describes.

    ``branch``: the branch that the version's manifest names. Raises `BasePathRefusedError` for a
    location without permission, and `CorruptFileError` for an invalid base path.
    """
    base = parse_base(path)
    for own in _own_places(config, branch):
        below = _relative(base, own)
        if below is not None:
            return _folder(opened(config, own, config.options), below)
    for uri in sorted(config.base_options, key=len, reverse=True):
        below = _relative(base, parse_uri(uri))
        if below is not None:
            return _folder(open_store(parse_uri(uri), config.base_options[uri]), below)
    allowed = known_places(config)
    if _ALL in allowed:
        return opened(config, base, _options_for(config, base))
    for prefix in map(parse_uri, allowed):
        below = _relative(base, prefix)
        if below is not None:
            return _folder(opened(config, prefix, _options_for(config, prefix)), below)
    raise BasePathRefusedError(
        f"the table {config.place_url} names files at {base}, outside of itself; to read "
        f"them, open it with the storage option {ALLOW_OPTION}={_allowing(path)!r} or set "
        f"{ALLOW_VARIABLE}",
        path,
    )


def opened(config: StoreConfig, url: StoreUrl, options: Mapping[str, str | Secret]) -> ObjectStore:
    """The store at ``url`` with ``options`` of ``config``; its provider keeps them valid."""
    if config.provider is None or not options:
        return open_store(url, options)
    return config.provider.open_store(url, options)


def object_place(uri: str) -> tuple[str, str]:
    """The folder (as a base path) and the file name of the object at the absolute URI ``uri``.

    Raises `CorruptFileError` for anything but an absolute URI of an object.
    """
    try:
        url = parse_base(uri)
    except CorruptFileError as error:
        raise CorruptFileError(
            f"the URI of a blob is invalid: {error.reason}", field="blob_uri"
        ) from error
    folder, _, name = url.path.rpartition("/")
    if not name:
        raise CorruptFileError(
            f"the URI {shown_uri(uri)!r} of a blob does not name an object", field="blob_uri"
        )
    if url.scheme == "file":
        return folder or "/", name
    return f"{url.scheme}://{url.netloc}/{quote(folder)}", name


def allowing(config: StoreConfig, uris: Iterable[str]) -> StoreConfig:
    """``config`` with added permission to read at ``uris``; "yes" in ``uris`` allows all."""
    every = list(dict.fromkeys([*known_places(config), *map(_allowing, uris)]))
    text = _ALL if _ALL in every else ",".join(every)
    return config.with_options({**config.options, ALLOW_OPTION: text})


def known_places(config: StoreConfig) -> list[str]:
    """The URL prefixes outside of the table that ``config`` allows to read; "yes" for all."""
    option = config.options.get(ALLOW_OPTION)
    text = os.environ.get(ALLOW_VARIABLE, "") if option is None else plain(option)
    words = [part.strip() for part in text.split(",")]
    return [_ALL if word.lower() == _ALL else word for word in words if word not in ("", _NONE)]


def parse_base(path: str) -> StoreUrl:
    """The URL of a base path; raises `CorruptFileError` unless it is absolute and unambiguous.

    Invalid are relative paths, ``.`` and ``..`` (also percent-encoded), empty segments,
    backslashes, control characters, passwords, queries and fragments.
    """
    reason = _objection(path)
    if reason is None:
        try:
            return parse_uri(path)
        except InvalidInputError as error:
            reason = f"cannot be used: {error}"
    raise CorruptFileError(f"base path {shown_uri(path)!r} {reason}", field="Manifest.base_paths")


def _objection(path: str) -> str | None:
    if not path or len(path) > _MAX_LENGTH or not path.isprintable():
        return "is empty, longer than 4096 characters or not printable"
    try:
        local = is_local_text(path)
    except InvalidInputError:
        return "is neither a path nor a URL"
    if local:
        rest = path
    else:
        authority, _, rest = path.partition(":")[2].removeprefix("//").partition("/")
        if any(character in path for character in "?#") or ":" in authority.rpartition("@")[0]:
            return "has a query, a fragment or a password"
        rest = f"/{rest}"
    if not rest.startswith("/"):
        return "is not absolute"
    plain_text = unquote(rest)
    segments = plain_text.removeprefix("/").removesuffix("/").split("/")
    if segments != [""] and any(segment in {"", ".", ".."} for segment in segments):
        return "has an empty, '.' or '..' segment"
    return "contains a backslash" if "\\" in plain_text else None


def _own_places(config: StoreConfig, branch: str | None) -> Iterator[StoreUrl]:
    """The URL that the user opened and, if it is a branch, the URL of the table around it."""
    yield config.url
    branch = recorded_branch(branch)
    if branch is not None and not config.folder:
        above = uri_above(config.uri, branch_folder(branch))
        if above is not None:
            yield parse_uri(above)


def _relative(base: StoreUrl, prefix: StoreUrl) -> str | None:
    """The path of ``base`` relative to ``prefix``, "" if both are equal, None if it is not inside.

    Symbolic links in ``prefix``, which the caller named, are resolved; those in ``base`` are not.
    """
    if (base.scheme, base.netloc) != (prefix.scheme, prefix.netloc):
        return None
    roots = [prefix.path]
    if prefix.scheme == "file":
        roots.append(os.path.realpath(prefix.path))
    for root in roots:
        folder = root.rstrip("/")
        if base.path.rstrip("/") == folder:
            return ""
        if not folder or base.path.startswith(f"{folder}/"):
            return base.path[len(folder) :].strip("/")
    return None


def _folder(store: ObjectStore, below: str) -> ObjectStore:
    """A view of a folder of ``store``; unlike a new store, it cannot leave the store's root."""
    return PrefixStore(store, below) if below else store


def _allowing(uri: str) -> str:
    """``uri`` as an entry of the comma-separated permission list."""
    uri = uri.strip()
    if uri.lower() in (_ALL, _NONE):
        return uri.lower()
    url = parse_uri(uri)
    if url.scheme == "file":
        return f"file://{quote(url.path)}" if "," in url.path else url.path
    return f"{url.scheme}://{url.netloc}/{quote(url.path)}"


def _options_for(config: StoreConfig, location: StoreUrl) -> dict[str, str | Secret]:
    own = config.url
    same = (own.scheme, own.netloc) == (location.scheme, location.netloc)
    return dict(config.options) if same or _same_service(own, location) else {}


def _same_service(own: StoreUrl, other: StoreUrl) -> bool:
    """True if both URLs are buckets or containers of the service that the options name.

    A URL with ``@`` names its service itself, for example another account.
    """
    if "file" in {own.scheme, other.scheme} or "@" in other.netloc:
        return False
    spec = get_manager().object_store(own.scheme)
    return spec.has_containers and other.scheme in spec.schemes
