"""Google Cloud Storage by its JSON interface.

The version tag of an object is its generation: a number that every write changes, and that a
condition can name; generation 0 is "no object".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from lance_core.store.base import ByteRange, StoreCapabilities
from lance_core.store.config import Secret
from lance_core.store.remote.client import (
    Content,
    Failure,
    ListingPage,
    RemoteClient,
    RemoteObject,
    RequestError,
    UploadedPart,
)
from lance_core_gcs.credentials import Authorization
from lance_core_gcs.failures import Meaning, of_answer
from lance_core_gcs.logs import hide_uploads
from lance_core_gcs.options import GcsOptions
from lance_core_gcs.transport import MAX_LISTING, Answer, Transport
from lance_core_gcs.uploads import CHUNK, Upload, Uploads

FIELDS = "name,size,generation,updated"
"""What is asked of the properties of an object."""

T = TypeVar("T")

PLAIN = Meaning()
OF_UPLOAD = Meaning(Failure.EXISTS, Failure.REFUSED, frozenset({308}))
"""Of requests to a resumable upload. It states its condition at its start, if it has one."""

NO_HEADERS: Mapping[str, str] = {}
BINARY = {"content-type": "application/octet-stream"}

# Without it the service unpacks objects that were stored compressed, and ignores the range.
AS_STORED = {"accept-encoding": "gzip"}

MAX_OBJECT = 5 << 40
"""Bytes of the largest object."""


class GcsClient(RemoteClient):
    """Requests to a bucket."""

    max_put_size = MAX_OBJECT
    max_copy_size = MAX_OBJECT
    min_part_size = CHUNK
    part_multiple = CHUNK
    max_parts = 1 << 20
    max_parts_at_once = 1

    def __init__(self, options: GcsOptions, capabilities: StoreCapabilities) -> None:
        hide_uploads()
        self._name = f"gs://{options.bucket}"
        self._capabilities = capabilities
        self._transport = Transport(options.endpoint, options.settings)
        self._authorization = Authorization(options.identity, self._transport.fetch)
        self._bucket = options.bucket
        self._objects = f"/storage/v1/b/{options.bucket}/o"
        self._incoming = f"/upload/storage/v1/b/{options.bucket}/o"
        self._uploads = Uploads()

    @property
    def name(self) -> str:
        return self._name

    @property
    def capabilities(self) -> StoreCapabilities:
        return self._capabilities

    def get(self, key: str, wanted: ByteRange | None, etag: str | None = None) -> Content:
        query = {"alt": "media"}
        if etag is not None:
            query["ifGenerationMatch"] = etag
        headers, most = AS_STORED, MAX_OBJECT
        if wanted is not None:
            headers = AS_STORED | {"range": f"bytes={wanted.start}-{wanted.stop - 1}"}
            most = wanted.length
        place = _place(self._object(key), query)
        answer = self._send("GET", place, Meaning(Failure.CHANGED), headers, most=most)
        generation = answer.headers.get("x-goog-generation")
        if answer.status not in {200, 206} or generation is None:
            raise RequestError(Failure.UNKNOWN, f"HTTP {answer.status} comes with no object")
        return Content(answer.body, _size(answer, wanted), generation)

    def head(self, key: str) -> RemoteObject:
        answer = self._send("GET", _place(self._object(key), {"fields": FIELDS}), PLAIN)
        return _read(answer, _remote_object)

    def put(self, key: str, body: Sequence[memoryview], *, if_absent: bool) -> None:
        query = {"uploadType": "media", "name": key, "fields": "generation"}
        place = _place(self._incoming, query | _condition(if_absent))
        # Others on the way answer for the service, too: only this says that there is an object.
        _read(self._send("POST", place, _of_bucket(if_absent), BINARY, body), _generation)

    def delete(self, key: str) -> None:
        self._send("DELETE", self._object(key), PLAIN)

    def copy(self, source: str, target: str, *, if_absent: bool) -> None:
        """Copies between places or kinds of storage take several requests."""
        rewrite = f"rewriteTo/b/{self._bucket}/o/{quote(target, safe='')}"
        query = {"fields": "done,rewriteToken,totalBytesRewritten"} | _condition(if_absent)
        meaning = Meaning(Failure.EXISTS if if_absent else None)
        before = -1
        while True:
            place = _place(f"{self._object(source)}/{rewrite}", query)
            progress = _read(self._send("POST", place, meaning), _progress)
            if progress is None:
                return
            copied, query["rewriteToken"] = progress
            if copied <= before:
                raise RequestError(Failure.UNKNOWN, "the copy makes no progress")
            before = copied

    def list_page(
        self, prefix: str, start_after: str | None, token: str | None, *, deep: bool
    ) -> ListingPage:
        query = {"prefix": prefix, "fields": f"items({FIELDS}),nextPageToken"}
        if start_after is not None:
            query["startOffset"] = start_after
        if token is not None:
            query["pageToken"] = token
        if not deep:
            query["delimiter"] = "/"
        return _read(self._send("GET", _place(self._objects, query), _of_bucket(False)), _page)

    def start_upload(self, key: str, *, if_absent: bool) -> str:
        query = {"uploadType": "resumable", "name": key} | _condition(if_absent)
        kind = {"x-upload-content-type": BINARY["content-type"]}
        place = _place(self._incoming, query)
        answer = self._send("POST", place, _of_bucket(if_absent), kind)
        # Only path and query: whoever answers does not choose where credentials go.
        said = answer.headers.get("location", "")
        _, _, upload = said.partition(f"{self._incoming}?")
        if not re.fullmatch(r"[!-~]+", upload):
            raise RequestError(Failure.UNKNOWN, "the answer names no upload")
        return self._uploads.add(Upload(Secret(f"{self._incoming}?{upload}"), if_absent))

    def upload_part(
        self, key: str, upload: str, number: int, body: Sequence[memoryview]
    ) -> UploadedPart:
        length = self._uploads.get(upload).append(number, body, self._send_chunk)
        return UploadedPart(number, str(length))

    def finish_upload(
        self, key: str, upload: str, parts: Sequence[UploadedPart], *, if_absent: bool
    ) -> None:
        started = self._uploads.get(upload)
        if started.if_absent != if_absent:
            raise RequestError(Failure.UNSUPPORTED, "an upload states its condition at its start")
        started.finish(self._send_chunk)
        self._uploads.drop(upload)

    def abort_upload(self, key: str, upload: str) -> None:
        started = self._uploads.drop(upload)
        if started is not None:
            meaning = Meaning(expected=frozenset({404, 410, 499}))
            self._send("DELETE", started.place.reveal(), meaning)

    def renew_credentials(self) -> bool:
        return self._authorization.renew()

    def close(self) -> None:
        self._transport.close()

    def _object(self, key: str) -> str:
        return f"{self._objects}/{quote(key, safe='')}"

    def _send_chunk(
        self, place: str, headers: Mapping[str, str], body: Sequence[memoryview]
    ) -> Answer:
        return self._send("PUT", place, OF_UPLOAD, headers, body)

    def _send(
        self,
        method: str,
        place: str,
        meaning: Meaning,
        headers: Mapping[str, str] = NO_HEADERS,
        body: Sequence[memoryview] = (),
        *,
        most: int = MAX_LISTING,
    ) -> Answer:
        """The answer to a request that was not refused."""
        own = self._authorization.headers()
        answer = self._transport.send(method, place, {**headers, **own}, body, most)
        if meaning.accepts(answer.status):
            return answer
        raise of_answer(answer.status, answer.headers, answer.body.to_pybytes(), meaning)


def _of_bucket(if_absent: bool) -> Meaning:
    """Of requests that name no object that has to be there: what is missing is the bucket."""
    return Meaning(Failure.EXISTS if if_absent else None, Failure.REFUSED)


def _condition(if_absent: bool) -> dict[str, str]:
    return {"ifGenerationMatch": "0"} if if_absent else {}


def _place(path: str, query: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(query)}"


def _size(answer: Answer, wanted: ByteRange | None) -> int:
    """The size of the whole object; REFUSED if the answer is no part of it that was asked for."""
    if answer.status != 206:
        if wanted is None or (wanted.start == 0 and answer.body.size <= wanted.length):
            return int(answer.body.size)
        raise RequestError(Failure.REFUSED, "the service ignores ranges")
    said = answer.headers.get("content-range", "")
    found = re.fullmatch(r"bytes ([0-9]{1,15})-[0-9]{1,15}/([0-9]{1,15})", said)
    if found is None or wanted is None or int(found[1]) != wanted.start:
        raise RequestError(Failure.REFUSED, "the service answers with another range")
    return int(found[2])


def _read(answer: Answer, read: Callable[[dict[str, Any]], T]) -> T:
    """What ``read`` finds in the JSON of an answer."""
    if answer.body.size > MAX_LISTING:
        raise RequestError(Failure.UNKNOWN, f"the answer has more than {MAX_LISTING} bytes")
    try:
        return read(json.loads(answer.body.to_pybytes()))
    except (
        *(ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError),
    ) as error:
        reason = type(error).__name__
    raise RequestError(Failure.UNKNOWN, f"the answer cannot be read ({reason})")


def _remote_object(fields: dict[str, Any]) -> RemoteObject:
    updated, size = datetime.fromisoformat(fields["updated"]), int(fields["size"])
    if updated.tzinfo is None or size < 0:
        raise ValueError
    return RemoteObject(_text(fields["name"]), size, updated, _generation(fields))


def _generation(fields: dict[str, Any]) -> str:
    return _text(fields["generation"])


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _page(fields: dict[str, Any]) -> ListingPage:
    objects = [_remote_object(item) for item in fields.get("items", ())]
    return ListingPage(objects, _text(fields.get("nextPageToken", "")) or None)


def _progress(fields: dict[str, Any]) -> tuple[int, str] | None:
    """How many bytes are copied, and what goes on with it; None when it is done."""
    if fields["done"] is True:
        return None
    return int(fields["totalBytesRewritten"]), _text(fields["rewriteToken"])
