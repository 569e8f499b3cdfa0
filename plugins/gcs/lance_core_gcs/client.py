"""Requests to Google Cloud Storage through google-cloud-storage.

The version tag of an object is its generation, a number that changes with every write and that a
precondition can name. Generation 0 means that no object exists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa
from google.api_core.client_info import ClientInfo
from google.auth.credentials import AnonymousCredentials
from google.cloud.storage import Blob, Bucket, Client
from requests import Response

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.options import Secret
from lance_core.hookspecs.stores import ByteRange, StoreCapabilities
from lance_core_gcs.errors import Meaning
from lance_core_gcs.options import CLIENTS, GcsOptions, RegisteredClient, check_endpoint
from lance_core_gcs.session import PLAIN, USER_AGENT, Session
from lance_core_gcs.uploads import CHUNK, Upload, Uploads
from lance_core_remote.client import (
    Content,
    Failure,
    ListingPage,
    RemoteClient,
    RemoteObject,
    RequestError,
    UploadedPart,
)
from lance_core_remote.connection_failures import origin_of
from lance_core_remote.log_redaction import LogRedaction
from lance_core_remote.response_limits import MAX_RESPONSE

FIELDS = "name,size,generation,updated"
"""Properties of objects to request in listings."""

T = TypeVar("T")

BINARY = "application/octet-stream"
OF_UPLOAD = Meaning(Failure.EXISTS, Failure.REFUSED, frozenset({308}))
"""For requests to a resumable upload, whose precondition belongs to its first request."""

MAX_OBJECT = 5 << 40
"""Maximum bytes of an object."""

MAX_MULTIPART = 8 << 20
"""Maximum bytes of an object that the SDK writes with one request."""

_UPLOAD = re.compile(r"(upload_id=)[^&\s\"]+")
_redaction = LogRedaction("google", "urllib3", redact=partial(_UPLOAD.sub, r"\1***"))
"""The URL of an upload grants write access, and urllib3 logs URLs."""


class GcsClient(RemoteClient):
    """Requests to a bucket.

    Every SDK call passes ``retry=None``, so a request is sent once. Otherwise a retry could fail by
    a precondition that its own first attempt has changed.
    """

    max_put_size = MAX_OBJECT
    max_copy_size = MAX_OBJECT
    min_part_size = CHUNK
    part_multiple = CHUNK
    max_parts = 1 << 20
    max_parts_at_once = 1

    def __init__(self, options: GcsOptions, capabilities: StoreCapabilities) -> None:
        _redaction.attach()
        self._options = options
        self._capabilities = capabilities
        self._uploads = Uploads()
        self._content_type = options.settings.content_type or BINARY
        self._given = _registered(options)
        self._session, self._opened = _connect(options, self._given)

    @property
    def name(self) -> str:
        return f"gs://{self._options.bucket}"

    @property
    def capabilities(self) -> StoreCapabilities:
        return self._capabilities

    @property
    def guarantor(self) -> str:
        """Server, bucket, and the proxy that writes pass."""
        proxy = self._options.settings.proxy_url
        parts = (self._options.endpoint, self._options.bucket, origin_of(proxy) if proxy else "")
        return "\n".join(("gcs", *parts))

    def get(self, key: str, wanted: ByteRange | None, etag: str | None = None) -> Content:
        most = MAX_OBJECT if wanted is None else wanted.length
        body = _Body()
        download = partial(
            self._blob(key).download_to_file,
            body,
            start=None if wanted is None else wanted.start,
            end=None if wanted is None else wanted.stop - 1,
            # Otherwise the service decompresses objects with content encoding and ignores the
            # range.
            raw_download=True,
            if_generation_match=etag,
            # The service only has checksums of whole objects.
            checksum=None,
            retry=None,
            single_shot_download=True,
        )
        _, response = self._call(download, Meaning(Failure.CHANGED), most)
        generation = response.headers.get("x-goog-generation")
        if response.status_code not in {200, 206} or generation is None:
            raise RequestError(
                Failure.UNKNOWN, f"the response (HTTP {response.status_code}) has no object"
            )
        return Content(body.data, _size(response, body.data.size, wanted), generation)

    def head(self, key: str) -> RemoteObject:
        blob = self._blob(key)
        self._call(lambda: blob.reload(retry=None))
        return _checked(_remote_object, blob)

    def put(self, key: str, body: Sequence[memoryview], *, if_absent: bool) -> None:
        blob, data = self._blob(key), b"".join(body)
        upload = partial(
            blob.upload_from_string,
            data,
            content_type=self._content_type,
            if_generation_match=_condition(if_absent),
            # For longer objects, the SDK compares checksums afterwards. On a mismatch it deletes
            # the object without a precondition, which could be an object of another writer by then.
            checksum="crc32c" if len(data) <= MAX_MULTIPART else None,
            retry=None,
        )
        self._call(upload, _of_bucket(if_absent, {308}))
        # A proxy may answer for the service. Only a generation proves that the object exists.
        _checked(_generation, blob)

    def delete(self, key: str) -> None:
        self._call(lambda: self._blob(key).delete(retry=None))

    def copy(self, source: str, target: str, *, if_absent: bool) -> None:
        """Copy an object; copies between locations or storage classes take several requests."""
        blob = self._blob(target)
        meaning = Meaning(Failure.EXISTS if if_absent else None)
        token, before = None, -1
        while True:
            rewrite = partial(
                blob.rewrite,
                self._blob(source),
                token=token,
                if_generation_match=_condition(if_absent),
                retry=None,
            )
            (token, copied, _), _ = self._call(rewrite, meaning)
            if token is None:
                _checked(_generation, blob)
                return
            if copied <= before:
                raise RequestError(Failure.UNKNOWN, "the copy makes no progress")
            before = copied

    def list_page(
        self, prefix: str, start_after: str | None, token: str | None, *, deep: bool
    ) -> ListingPage:
        pages = self._bucket.list_blobs(
            prefix=prefix,
            start_offset=start_after,
            page_token=token,
            delimiter=None if deep else "/",
            fields=f"items({FIELDS}),nextPageToken",
            retry=None,
        )
        blobs, _ = self._call(lambda: list(next(pages.pages)), _of_bucket(False))
        objects = [_checked(_remote_object, blob) for blob in blobs]
        return ListingPage(objects, _checked(_text, pages.next_page_token or "") or None)

    def start_upload(self, key: str, *, if_absent: bool) -> str:
        start = partial(
            self._blob(key).create_resumable_upload_session,
            content_type=self._content_type,
            if_generation_match=_condition(if_absent),
            retry=None,
        )
        url, _ = self._call(start, _of_bucket(if_absent))
        if not re.fullmatch(r"[!-~]+", url):
            raise RequestError(Failure.UNKNOWN, "the response names no upload")
        return self._uploads.add(Upload(Secret(url), if_absent))

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
            # The SDK cannot cancel an upload.
            cancel = partial(self._session.request, "DELETE", started.url.reveal())
            self._call(cancel, Meaning(expected=frozenset({404, 410, 499})))

    def renew_credentials(self) -> bool:
        return self._session.renew_credentials()

    def close(self) -> None:
        self._session.close()

    @property
    def _bucket(self) -> Bucket:
        """The SDK's bucket; a new one if another client has been registered under the name."""
        client = _registered(self._options)
        if client is not self._given:
            if (
                check_endpoint(client.api_endpoint, self._options.settings)
                != self._options.endpoint
            ):
                raise InvalidInputError("the registered client has another endpoint than before")
            self._session, self._opened = _connect(self._options, client)
            self._given = client
        return self._opened

    def _blob(self, key: str) -> Blob:
        return self._bucket.blob(key)

    def _send_chunk(
        self, url: str, headers: Mapping[str, str], body: Sequence[memoryview]
    ) -> Response:
        send = partial(self._session.request, "PUT", url, body, headers)
        return self._call(send, OF_UPLOAD)[1]

    def _call(
        self, work: Callable[[], T], meaning: Meaning = PLAIN, most: int = MAX_RESPONSE
    ) -> tuple[T, Response]:
        return self._session.call(work, meaning, most)


class _Body:
    """A file that receives a body in one piece and keeps it without a copy."""

    data = pa.py_buffer(b"")

    def write(self, piece: bytes) -> int:
        self.data = pa.py_buffer(piece)
        return len(piece)


def _registered(options: GcsOptions) -> Any:
    """The client that the caller registered; None if the options name none."""
    identity = options.identity
    return CLIENTS.get(identity.name) if isinstance(identity, RegisteredClient) else None


def _connect(options: GcsOptions, registered: Any) -> tuple[Session, Bucket]:
    session = Session(options.endpoint, options.settings, options.identity)
    client = Client(
        project=None,
        credentials=AnonymousCredentials(),  # the session adds the headers of the real credentials
        _http=session,
        client_info=ClientInfo(user_agent=USER_AGENT),
        client_options={"api_endpoint": options.endpoint},
        extra_headers={} if registered is None else registered._extra_headers,  # noqa: SLF001 (no getter)
    )
    # Otherwise background threads request the bucket's properties for traces, even if these are
    # off.
    client._bucket_metadata_cache = None  # noqa: SLF001 (the switch is an environment variable)
    return session, client.bucket(options.bucket)


def _of_bucket(if_absent: bool, expected: AbstractSet[int] = frozenset()) -> Meaning:
    """Failures of requests that do not address an object: 404 means that the bucket is missing."""
    return Meaning(Failure.EXISTS if if_absent else None, Failure.REFUSED, frozenset(expected))


def _condition(if_absent: bool) -> int | None:
    return 0 if if_absent else None


def _size(response: Response, length: int, requested: ByteRange | None) -> int:
    """Bytes of the whole object. Raises REFUSED unless ``length`` bytes are those ``requested``."""
    if response.status_code != 206:
        if requested is None or (requested.start == 0 and length <= requested.length):
            return length
        raise RequestError(Failure.REFUSED, "the service ignores ranges")
    text = response.headers.get("content-range", "")
    match = re.fullmatch(r"bytes ([0-9]{1,15})-[0-9]{1,15}/([0-9]{1,15})", text)
    if match is None or requested is None or int(match[1]) != requested.start:
        raise RequestError(Failure.REFUSED, "the response has another range than requested")
    return int(match[2])


def _checked(read: Callable[[Any], T], value: Any) -> T:
    """``read(value)`` for properties from the service. Raises UNKNOWN if they are malformed."""
    try:
        return read(value)
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        reason = type(error).__name__
    raise RequestError(Failure.UNKNOWN, f"the response cannot be read ({reason})")


def _remote_object(blob: Blob) -> RemoteObject:
    # The SDK's getters accept numbers and texts, and take 20 microseconds per date.
    fields = blob._properties  # noqa: SLF001
    updated, size = datetime.fromisoformat(fields["updated"]), int(fields["size"])
    if updated.tzinfo is None or size < 0:
        raise ValueError
    return RemoteObject(_text(fields["name"]), size, updated, _text(fields["generation"]))


def _generation(blob: Blob) -> str:
    return _text(blob._properties["generation"])  # noqa: SLF001 (its getter accepts None)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
