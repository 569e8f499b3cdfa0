"""Parse table locations that users write.

``s3+ddb://bucket/path?ddbTableName=T`` names a store scheme (``s3``), a commit scheme (``ddb``), a
bucket, a path in it, and query parameters. A text without a scheme is a literal local path; so is
every `os.PathLike`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import field, replace

from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.store.secret_detection import sounds_secret

_CONTROL = re.compile("[\0-\x1f\x7f]")


@dataclass(frozen=True, slots=True, repr=False)
class StoreUrl:
    """A parsed location.

    ``path``: for scheme ``file``, an absolute path of the operating system; otherwise the decoded
    path without leading and trailing slashes, "" for the root. ``netloc``: bucket or host, as
    written. ``text``: the text that the user wrote. The string form hides possible secrets: the
    text before an ``@``, and the values of ``query``.
    """

    scheme: str
    path: str
    netloc: str = ""
    commit_scheme: str | None = None
    query: Mapping[str, str] = field(default_factory=dict, hash=False)
    text: str = field(default="", compare=False)

    def __str__(self) -> str:
        scheme = f"{self.scheme}+{self.commit_scheme}" if self.commit_scheme else self.scheme
        host = self.netloc.rpartition("@")
        netloc = f"***@{host[2]}" if host[1] else host[2]
        path = self.path if self.scheme == "file" or not self.path else f"/{self.path}"
        query = "&".join(f"{name}=***" for name in self.query)
        if (scheme, query) == ("file", ""):
            return path
        return f"{scheme}://{netloc}{path}{'?' if query else ''}{query}"

    def below(self, folder: str) -> StoreUrl:
        """The location of ``folder`` in this one; "" returns the location itself."""
        if not folder:
            return self
        is_rooted = self.path or self.scheme == "file"
        path = f"{self.path.rstrip('/')}/{folder}" if is_rooted else folder
        return replace(self, path=path, text=uri_below(self.text, folder))

    def __repr__(self) -> str:
        return f"StoreUrl({str(self)!r})"


def parse_uri(uri: str | os.PathLike[str]) -> StoreUrl:
    """Parse a URI or local path. Raises `InvalidInputError` for malformed texts.

    URLs are percent-decoded, and their ``.`` and ``..`` segments are resolved. Local paths are made
    absolute, with ``~`` for the home directory; no other characters have a special meaning.
    """
    if not isinstance(uri, str) and isinstance(uri, os.PathLike):
        path = os.fspath(uri)
        if not isinstance(path, str):
            raise InvalidInputError("a path must be text, not bytes")
        _refuse_control(path)
        return _local_url(path)
    if not isinstance(uri, str):
        raise InvalidInputError(f"a URI is text or a path, not {type(uri).__name__}")
    _refuse_control(uri)
    start, rest = _split_scheme(uri)
    if not start:
        return _local_url(uri)
    scheme, plus, commit_scheme = start.lower().partition("+")
    if not rest.startswith("//") and not (scheme == "file" and rest.startswith("/")):
        raise InvalidInputError(
            f"{shown_uri(uri)!r} starts like a URI but is not one: write {start}://…, "
            f"or ./{start}:… for a local path"
        )
    return _url(uri, scheme, commit_scheme if plus else None, rest)


def is_local_text(uri: str) -> bool:
    """True if ``uri`` is a local path without a scheme."""
    return not _split_scheme(uri)[0]


def uri_below(uri: str, folder: str) -> str:
    """The URI of ``folder`` below ``uri`` ("" for ``uri`` itself); a query is preserved."""
    if not folder:
        return uri
    if is_local_text(uri):
        return f"{uri.rstrip('/')}/{folder}"
    from urllib.parse import quote

    location, mark, query = uri.partition("?")
    return f"{location.rstrip('/')}/{quote(folder)}{mark}{query}"


def uri_above(uri: str, folder: str) -> str | None:
    """The inverse of `uri_below`; None unless the path of ``uri`` ends in ``folder``."""
    location, mark, query = uri, "", ""
    if not is_local_text(uri):
        from urllib.parse import quote

        location, mark, query = uri.partition("?")
        folder = quote(folder)
    above, end = location.rstrip("/"), f"/{folder}"
    if not above.endswith(end) or above == end:
        return None
    return f"{above.removesuffix(end)}{mark}{query}"


def without_secrets(uri: str) -> str:
    """``uri`` without the password before an ``@`` and without secret query parameters."""
    before, separator, rest = uri.partition("://")
    if not separator:
        return uri
    authority = _authority(rest)
    user, at, host = authority.rpartition("@")
    path, mark, query = rest[len(authority) :].partition("?")
    public = "&".join(
        parameter for parameter in query.split("&") if not _is_secret_parameter(parameter)
    )
    return f"{before}://{user.partition(':')[0]}{at}{host}{path}{mark if public else ''}{public}"


def shown_uri(uri: str) -> str:
    """A form of ``uri``, which may be any text, that is safe to show.

    Hides a possible password, query and fragment; returns at most 200 characters.
    """
    before, separator, rest = uri.partition("://")
    if not separator:
        before, separator, rest = uri.partition(":")
    user, at, behind = rest.rpartition("@")
    # An unquoted password may contain "/" or "?".
    if at and (separator == ":" or ":" in user or "/" not in user):
        uri = f"{before}{separator}***@{behind}"
    shown = uri.partition("?")[0].partition("#")[0]
    return shown if len(shown) <= 200 else f"{shown[:200]}…"


def _is_secret_parameter(parameter: str) -> bool:
    from urllib.parse import unquote_plus

    return sounds_secret(unquote_plus(parameter.partition("=")[0]))


def _split_scheme(uri: str) -> tuple[str, str]:
    """The scheme before the first colon ("" if there is none), and the rest of ``uri``.

    A single letter is a Windows drive instead of a scheme.
    """
    start, colon, rest = uri.partition(":")
    if not colon or "/" in start or len(start) == 1:
        return "", uri
    names = start.split("+")
    if len(names) <= 2 and len(names[0]) > 1 and all(_is_scheme(name) for name in names):
        return start, rest
    if rest.startswith("//"):
        raise InvalidInputError(f"{start!r} cannot be the scheme of a URI")
    return "", uri


def _is_scheme(name: str) -> bool:
    plain = name.replace(".", "").replace("-", "")
    return name.isascii() and name[:1].isalpha() and plain.isalnum()


def _authority(rest: str) -> str:
    """The part of ``rest`` (the text after ``//``) that names a host or bucket."""
    for end in "/?#":
        rest = rest.partition(end)[0]
    return rest


def _refuse_control(text: str) -> None:
    if _CONTROL.search(text):
        raise InvalidInputError("a URI or path must not contain control characters")
    if text.isascii():
        return
    try:
        # Python represents local file names that are not UTF-8 with surrogates; they are valid.
        os.fsencode(text)
    except UnicodeEncodeError:
        raise InvalidInputError("a URI or path must not contain lone surrogates") from None


def _local_url(path: str) -> StoreUrl:
    if not path:
        raise InvalidInputError("the URI is empty")
    if path[0] == "/":
        absolute = os.path.normpath(path)
    else:
        absolute = os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111 (text stays text)
    return StoreUrl("file", absolute, text=path)


def _url(uri: str, scheme: str, commit_scheme: str | None, rest: str) -> StoreUrl:
    rest, has_fragment, _ = rest.partition("#")
    if has_fragment:
        raise InvalidInputError(f"{shown_uri(uri)!r}: fragments are not supported; write # as %23")
    rest, _, query = rest.partition("?")
    if not rest.startswith("//"):  # file:/path
        rest = f"//{rest}"
    netloc, slash, raw_path = rest[2:].partition("/")
    _refuse_password(netloc, scheme)
    if scheme == "file":
        # Repeated slashes count as one, as in any local path.
        raw_path = "/".join(part for part in raw_path.split("/") if part)
    path = _decoded_path(raw_path, uri)
    if scheme == "file":
        if netloc not in {"", "localhost"}:
            raise InvalidInputError(
                f"{shown_uri(uri)!r}: a file URI has no host; write file:// and an absolute path"
            )
        if not slash:
            raise InvalidInputError(f"{shown_uri(uri)!r}: a file URI needs an absolute path")
        return StoreUrl("file", f"/{path}", "", commit_scheme, _query(query, uri), uri)
    return StoreUrl(scheme, path, netloc, commit_scheme, _query(query, uri), uri)


def _refuse_password(netloc: str, scheme: str) -> None:
    """Raise `InvalidInputError` if ``netloc`` seems to end within a password that contains a "/".

    A number must follow the ":" of a host. Two colons are valid: they join URLs of fsspec; stores
    judge resource names such as ``arn:…`` themselves.
    """
    host = netloc.rpartition("@")[2]
    _, colon, port = host.rpartition(":")
    is_port = port.isascii() and port.isdigit()
    if (
        colon
        and not is_port
        and not host.endswith("]")
        and "::" not in host
        and not host.startswith("arn:")
    ):
        raise InvalidInputError(
            f"a URI of scheme {scheme!r} has no port number after the ':' of its host; write the "
            "'/' of a password as %2F"
        )


def _decoded_path(raw: str, uri: str) -> str:
    parts = raw.removesuffix("/").split("/") if raw else []
    segments: list[str] = []
    for part in parts:
        if part == "..":
            if not segments:
                raise InvalidInputError(f"the path of {shown_uri(uri)!r} leaves its root")
            segments.pop()
        elif part != ".":
            segments.append(_decoded_segment(part, uri))
    return "/".join(segments)


def _decoded_segment(part: str, uri: str) -> str:
    from urllib.parse import unquote

    try:
        segment = unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise InvalidInputError(f"{shown_uri(uri)!r}: the path is not UTF-8") from None
    _refuse_control(segment)
    if segment in {"", ".", ".."} or "/" in segment:
        raise InvalidInputError(f"{shown_uri(uri)!r}: {part!r} cannot be a segment of a path")
    return segment


def _query(query: str, uri: str) -> dict[str, str]:
    from urllib.parse import parse_qsl

    try:
        pairs = parse_qsl(
            query, keep_blank_values=True, strict_parsing=bool(query), errors="strict"
        )
    except ValueError:
        raise InvalidInputError(f"the query of {shown_uri(uri)!r} is malformed") from None
    parameters = dict(pairs)
    if len(parameters) < len(pairs):
        raise InvalidInputError(f"{shown_uri(uri)!r}: a query parameter is given twice")
    return parameters
