"""Tables on a WebDAV server (RFC 4918), by requests of the standard library."""

from __future__ import annotations

import base64
import http.client
import re
import ssl
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import NamedTuple, TypeVar
from urllib.parse import quote, unquote, urlsplit
from xml.etree import ElementTree

import pyarrow as pa

from lance_core.errors import InvalidInputError, UnsupportedFeatureError
from lance_core.hookspecs import ObjectStore, StoreCapabilities, StoreUrl
from lance_core.hookspecs.options import Secret
from lance_core.hookspecs.stores import ByteRange, Guarantee
from lance_core_remote.client import (
    Content,
    Failure,
    ListingPage,
    RemoteClient,
    RemoteObject,
    RequestError,
    UploadedPart,
)
from lance_core_remote.option_values import take
from lance_core_remote.request_deadline import TimedConnection
from lance_core_remote.settings import RemoteSettings
from lance_core_remote.store import RemoteStore

T = TypeVar("T")

UPLOADS = ".uploads"
"""The folder of the server where parts wait; assembled as Nextcloud does it."""

FAILURES = {
    404: Failure.MISSING,
    408: Failure.UNKNOWN,
    412: Failure.EXISTS,
    416: Failure.RANGE,
    423: Failure.BUSY,
    429: Failure.BUSY,
    501: Failure.UNSUPPORTED,
    503: Failure.BUSY,
}
"""What statuses mean. Others from 300 on are REFUSED, from 500 on UNKNOWN."""

SUCCESSES = {"DELETE": (200, 204), "GET": (200, 206), "HEAD": (200,), "PROPFIND": (207,)}
"""What servers say when they have done it; with others, somebody on the way may have answered."""

CAPABILITIES = StoreCapabilities(
    # Servers differ in whether they heed If-None-Match: it is tried before commits rely on it.
    put_if_absent=Guarantee.UNKNOWN,
    multipart_if_absent=Guarantee.UNKNOWN,
    copy_if_absent=Guarantee.UNKNOWN,
    strong_reads=Guarantee.YES,
)


MOST = 64 << 20
"""Bytes of the longest answer: reads of objects have 8 MiB, listings of large tables a few."""


def open_webdav(url: StoreUrl, options: Mapping[str, str | Secret]) -> ObjectStore:
    """The store of ``webdav://host:port/folder``; over TLS unless ``allow_http`` is set."""
    left = dict(options)
    settings = RemoteSettings.of(left)
    login = take(left, "webdav_user"), take(left, "webdav_password")
    if settings.proxy_url is not None or settings.allow_invalid_certificates:
        raise UnsupportedFeatureError("webdav:// knows no proxies and checks all certificates")
    if not url.netloc or "@" in url.netloc:
        raise InvalidInputError(f"{url}: write webdav://host:port/folder, and no password in it")
    return RemoteStore(WebdavClient(url.netloc, login, settings), url.path, settings)


class TlsConnection(TimedConnection, http.client.HTTPSConnection):
    """The same over TLS."""


class Answer(NamedTuple):
    """What the server said: status, headers and body."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes


class WebdavClient(RemoteClient):
    """Requests to one server, each over a connection of its own."""

    def __init__(
        self, host: str, login: tuple[str | None, str | None], settings: RemoteSettings
    ) -> None:
        self._host = host
        self._settings = settings
        self._agent = settings.user_agent or "lance-core"
        user, password = login
        token = base64.b64encode(f"{user}:{password or ''}".encode()).decode()
        self._login = None if user is None else Secret(f"Basic {token}")

    @property
    def name(self) -> str:
        return f"webdav://{self._host}"

    @property
    def capabilities(self) -> StoreCapabilities:
        return CAPABILITIES

    def get(self, key: str, wanted: ByteRange | None, etag: str | None = None) -> Content:
        headers = {}
        if wanted is not None:
            headers["Range"] = f"bytes={wanted.start}-{wanted.stop - 1}"
        if etag is not None:
            headers["If-Match"] = etag
        try:
            answer = self._send("GET", key, headers)
        except RequestError as error:
            if error.failure is Failure.EXISTS:  # 412 is about If-Match here
                raise RequestError(Failure.CHANGED, error.text) from None
            raise
        body, tag = pa.py_buffer(answer.body), answer.headers["ETag"]
        if answer.status == 200 and (wanted is None or wanted.start == 0):
            return Content(body, body.size, tag)
        part = re.fullmatch(
            r"bytes (\d{1,15})-\d+/(\d{1,15})", answer.headers["Content-Range"] or ""
        )
        if wanted is None or part is None or int(part[1]) != wanted.start:
            raise RequestError(Failure.REFUSED, f"{self._host} sends other bytes of {key!r}")
        return Content(body, int(part[2]), tag)

    def head(self, key: str) -> RemoteObject:
        headers = self._send("HEAD", key).headers
        about = headers["Content-Length"], headers["Last-Modified"], headers["ETag"]
        return self._understood(lambda: _object(key, *about))

    def put(self, key: str, body: Sequence[memoryview], *, if_absent: bool) -> None:
        headers = {"If-None-Match": "*"} if if_absent else {}
        self._send("PUT", key, headers, body)

    def delete(self, key: str) -> None:
        self._send("DELETE", key)

    def copy(self, source: str, target: str, *, if_absent: bool) -> None:
        self._send("COPY", source, _to(target, if_absent=if_absent))

    def list_page(
        self, prefix: str, start_after: str | None, token: str | None, *, deep: bool
    ) -> ListingPage:
        try:
            answer = self._send("PROPFIND", prefix, {"Depth": "infinity" if deep else "1"})
        except RequestError as error:
            if error.failure is not Failure.MISSING:
                raise
            # A folder that is missing is empty, but only on a server that has folders.
            self._send("PROPFIND", "", {"Depth": "0"})
            return ListingPage((), None)
        found = self._understood(lambda: list(_objects(ElementTree.fromstring(answer.body))))
        shown = [each for each in found if not each.key.startswith(f"{UPLOADS}/")]
        return ListingPage(sorted(shown, key=lambda each: each.key), None)

    def start_upload(self, key: str, *, if_absent: bool) -> str:
        upload = f"{UPLOADS}/{uuid.uuid4()}"
        self._send("MKCOL", f"{upload}/")
        return upload

    def upload_part(
        self, key: str, upload: str, number: int, body: Sequence[memoryview]
    ) -> UploadedPart:
        self._send("PUT", f"{upload}/{number:05}", {}, body)
        return UploadedPart(number, f"{number:05}")

    def finish_upload(
        self, key: str, upload: str, parts: Sequence[UploadedPart], *, if_absent: bool
    ) -> None:
        self._send("MOVE", f"{upload}/.file", _to(key, if_absent=if_absent))

    def abort_upload(self, key: str, upload: str) -> None:
        self._send("DELETE", f"{upload}/")

    def _send(
        self,
        method: str,
        key: str,
        headers: Mapping[str, str] | None = None,
        body: Sequence[memoryview] = (),
    ) -> Answer:
        """Send one request, once; `RequestError` for whatever is no success."""
        connection = self._connection()
        try:
            try:
                connection.connect()
            except ssl.SSLError as error:
                raise RequestError(Failure.REFUSED, f"{self._host}: {error}") from None
            except OSError as error:
                raise RequestError(Failure.UNSENT, f"{self._host}: {error}") from None
            try:
                length = {"Content-Length": str(sum(view.nbytes for view in body))}
                every = {"User-Agent": self._agent, **(headers or {}), **length}
                if self._login is not None:
                    every["Authorization"] = self._login.reveal()
                connection.request(method, f"/{quote(key)}", body, every)
                response = connection.getresponse()
                content = response.read(MOST + 1)
            except (OSError, http.client.HTTPException) as error:
                text = f"{self._host} did not answer: {type(error).__name__}: {error}"
                raise RequestError(Failure.UNKNOWN, text) from None
        finally:
            connection.close()
        status, after = response.status, response.headers.get("Retry-After", "")
        if status in SUCCESSES.get(method, (201, 204)) and len(content) <= MOST:
            return Answer(status, response.headers, content)
        other = Failure.REFUSED if 300 <= status < 500 else Failure.UNKNOWN
        raise RequestError(
            FAILURES.get(status, other),
            f"{self._host} answers {method}: {status} {response.reason[:80]}",
            float(after) if after.isdecimal() else None,
        )

    def _connection(self) -> TimedConnection:
        connecting = self._settings.connect_timeout
        if self._settings.allow_http:
            connection = TimedConnection(self._host, timeout=connecting)
        else:
            context = ssl.create_default_context()
            connection = TlsConnection(self._host, timeout=connecting, context=context)
        connection.seconds = self._settings.timeout
        return connection

    def _understood(self, read: Callable[[], T]) -> T:
        """What ``read`` makes of an answer; UNKNOWN if that is nothing."""
        try:
            return read()
        except (ArithmeticError, ElementTree.ParseError, LookupError, TypeError, ValueError):
            raise RequestError(Failure.UNKNOWN, f"{self._host} answers something else") from None


def _to(key: str, *, if_absent: bool) -> dict[str, str]:
    """Headers of a copy or a move."""
    return {"Destination": f"/{quote(key)}", "Overwrite": "F" if if_absent else "T"}


def _objects(listing: ElementTree.Element) -> Iterable[RemoteObject]:
    """The objects of a multistatus document: its responses, without those for folders."""
    for response in listing.iter("{DAV:}response"):
        if response.find(".//{DAV:}collection") is None:
            path = urlsplit(response.findtext("{DAV:}href", "")).path
            size = response.findtext(".//{DAV:}getcontentlength")
            modified = response.findtext(".//{DAV:}getlastmodified")
            etag = response.findtext(".//{DAV:}getetag")
            yield _object(unquote(path).removeprefix("/"), size, modified, etag)


def _object(key: str, size: str | None, modified: str | None, etag: str | None) -> RemoteObject:
    date = parsedate_to_datetime(modified or "")
    if int(size or "") < 0 or date.tzinfo is None:
        raise ValueError
    return RemoteObject(key, int(size or ""), date, etag)
