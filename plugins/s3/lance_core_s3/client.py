"""Requests to a bucket."""

from __future__ import annotations

import base64
import os
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.store.base import ByteRange, StoreCapabilities
from lance_core.store.remote.client import (
    Content,
    Failure,
    ListingPage,
    RemoteClient,
    RemoteObject,
    RequestError,
    UploadedPart,
)
from lance_core.store.remote.response_limits import read_content
from lance_core.store.remote.settings import RemoteSettings
from lance_core_s3.body import body_of
from lance_core_s3.capabilities import OF_AMAZON, OF_OTHERS, WITHOUT_CONDITIONS, is_amazon
from lance_core_s3.errors import request_error
from lance_core_s3.sdk import LOG_REDACTION, make_client
from lance_core_s3.settings import Encryption, S3Settings

T = TypeVar("T")

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_RANGE = re.compile(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18})", re.ASCII)

_OF_LISTINGS = ("IsTruncated", "KeyCount", "MaxKeys", "Name")
"""Of these, every listing has some."""

_NOTHING_THERE = {"IfNoneMatch": "*"}


class S3Client(RemoteClient):
    """Requests to the bucket of ``settings``.

    A process that was forked makes connections of its own.
    """

    def __init__(self, settings: S3Settings, remote: RemoteSettings) -> None:
        self._settings = settings
        self._remote = remote
        self._lock = ForkSafeLock()
        self._sdk: Any = make_client(settings, remote)
        host = urlsplit(self._sdk.meta.endpoint_url).hostname or ""
        self._capabilities = _capabilities(settings, host)
        self._every = {"Bucket": settings.bucket} | (
            {"RequestPayer": "requester"} if settings.requester_pays else {}
        )
        self._encryption = _encrypted(settings.encryption)
        _clients.add(self)

    @property
    def name(self) -> str:
        return f"s3://{self._settings.bucket}"

    @property
    def capabilities(self) -> StoreCapabilities:
        return self._capabilities

    def get(self, key: str, wanted: ByteRange | None, etag: str | None = None) -> Content:
        asked: dict[str, Any] = {"Key": key, **self._encryption.use}
        if wanted is not None:
            asked["Range"] = f"bytes={wanted.start}-{wanted.stop - 1}"
        if etag is not None:
            asked["IfMatch"] = etag

        def read(sdk: Any) -> Content:
            return _content(sdk.get_object(**self._every, **asked), wanted)

        return self._ask(read, Failure.REFUSED if etag is None else Failure.CHANGED)

    def head(self, key: str) -> RemoteObject:
        answer = self._send("head_object", Key=key, **self._encryption.use)
        size, date = _field(answer, "ContentLength"), _field(answer, "LastModified")
        return RemoteObject(key, _size(size), date, answer.get("ETag"))

    def put(self, key: str, body: Sequence[memoryview], *, if_absent: bool) -> None:
        condition = _NOTHING_THERE if if_absent else {}
        answer = self._send(
            "put_object", Key=key, Body=body_of(body), **condition, **self._encryption.write
        )
        _field(answer, "ETag")

    def delete(self, key: str) -> None:
        self._send("delete_object", Key=key)

    def copy(self, source: str, target: str, *, if_absent: bool) -> None:
        if if_absent:
            raise RequestError(Failure.UNSUPPORTED, "S3 copies without conditions")
        if source == target:
            self.head(source)  # S3 refuses to copy an object onto itself
            return
        place = {"Bucket": self._settings.bucket, "Key": source}
        self._send(
            "copy_object",
            Key=target,
            CopySource=place,
            **self._encryption.write,
            **self._encryption.source,
        )

    def list_page(
        self, prefix: str, start_after: str | None, token: str | None, *, deep: bool
    ) -> ListingPage:
        asked: dict[str, Any] = {"Prefix": prefix}
        if not deep:
            asked["Delimiter"] = "/"
        if token is not None:
            asked["ContinuationToken"] = token
        elif start_after is not None:
            # Answers repeat it, in XML, which has not all characters. Fewer come earlier.
            asked["StartAfter"] = _NOT_IN_XML.split(start_after, maxsplit=1)[0]
        return _page(self._send("list_objects_v2", **asked))

    def start_upload(self, key: str, *, if_absent: bool) -> str:
        answer = self._send("create_multipart_upload", Key=key, **self._encryption.write)
        return str(_field(answer, "UploadId"))

    def upload_part(
        self, key: str, upload: str, number: int, body: Sequence[memoryview]
    ) -> UploadedPart:
        answer = self._send(
            "upload_part",
            Key=key,
            UploadId=upload,
            PartNumber=number,
            Body=body_of(body),
            **self._encryption.use,
        )
        return UploadedPart(number, str(_field(answer, "ETag")))

    def finish_upload(
        self, key: str, upload: str, parts: Sequence[UploadedPart], *, if_absent: bool
    ) -> None:
        sent = [{"PartNumber": part.number, "ETag": part.tag} for part in parts]
        self._send(
            "complete_multipart_upload",
            Key=key,
            UploadId=upload,
            MultipartUpload={"Parts": sent},
            **(_NOTHING_THERE if if_absent else {}),
        )

    def abort_upload(self, key: str, upload: str) -> None:
        try:
            self._send("abort_multipart_upload", Key=key, UploadId=upload)
        except RequestError as error:
            if error.failure is not Failure.MISSING:
                raise

    def renew_credentials(self) -> bool:
        if self._settings.credentials.keys is not None or self._settings.credentials.skip:
            return False
        # Another client goes through the chain of sources again, and forgets what they said before.
        # Requests that are under way keep the old one.
        self._sdk = make_client(self._settings, self._remote)
        return True

    def close(self) -> None:
        with self._lock:
            sdk, self._sdk = self._sdk, None
        if sdk is not None:
            sdk.close()

    def forget_connections(self) -> None:
        """Use none of the connections that there are: they belong to another process."""
        self._sdk = None

    def _connected(self) -> Any:
        with self._lock:
            if self._sdk is None:
                self._sdk = make_client(self._settings, self._remote)
            return self._sdk

    def _send(self, operation: str, **asked: Any) -> Any:
        unmet = Failure.EXISTS if "IfNoneMatch" in asked else Failure.REFUSED
        return self._ask(lambda sdk: getattr(sdk, operation)(**self._every, **asked), unmet)

    def _ask(self, request: Callable[[Any], T], unmet: Failure) -> T:
        """What ``request`` returns; a `RequestError` that has nothing of what the SDK raised."""
        sdk = self._connected()
        try:
            with LOG_REDACTION.quiet():
                return request(sdk)
        except RequestError as error:
            failed = error
        except Exception as error:
            failed = request_error(error, unmet=unmet, secrets=self._secrets())
        raise failed

    def _secrets(self) -> list[str]:
        keys, encryption = self._settings.credentials.keys, self._settings.encryption
        known = [
            keys.secret if keys else None,
            keys.token if keys else None,
            encryption.customer_key if encryption else None,
        ]
        return [secret.reveal() for secret in known if secret]


_clients: weakref.WeakSet[S3Client] = weakref.WeakSet()


def _forget_all() -> None:
    for client in list(_clients):
        client.forget_connections()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def _capabilities(settings: S3Settings, host: str) -> StoreCapabilities:
    if not settings.conditional_put:
        return WITHOUT_CONDITIONS
    return OF_AMAZON if is_amazon(host) else OF_OTHERS


def _field(answer: Mapping[str, Any], name: str) -> Any:
    """What every answer of this kind has, and not everything that calls itself a server sends."""
    if name not in answer:
        raise RequestError(Failure.UNKNOWN, f"the answer has no {name}")
    return answer[name]


def _size(size: int) -> int:
    if size < 0:
        raise RequestError(Failure.UNKNOWN, f"the answer tells of {size} bytes")
    return size


def _page(answer: Mapping[str, Any]) -> ListingPage:
    """What an answer to ListObjectsV2 lists; nothing is only what says of itself that it is so."""
    found = [
        RemoteObject(
            _field(one, "Key"),
            _size(_field(one, "Size")),
            _field(one, "LastModified"),
            one.get("ETag"),
        )
        for one in answer.get("Contents", ())
    ]
    if not found and not any(name in answer for name in _OF_LISTINGS):
        raise RequestError(Failure.UNKNOWN, "the answer is no listing")
    if not answer.get("IsTruncated"):
        return ListingPage(found, None)
    return ListingPage(found, str(_field(answer, "NextContinuationToken")))


def _content(answer: Any, wanted: ByteRange | None) -> Content:
    """The body of an answer to GET."""
    try:
        length, size = _measures(answer, wanted)
        return Content(read_content(answer["Body"], length), size, answer.get("ETag"))
    except BaseException:
        answer["Body"].close()
        raise


def _measures(answer: Any, wanted: ByteRange | None) -> tuple[int, int]:
    """How many bytes come and the size of the object, if it is what was asked for."""
    length = answer.get("ContentLength")
    if length is None or length < 0:
        raise RequestError(Failure.UNSUPPORTED, "the server does not tell the length of its answer")
    start, size = 0, length
    if "ContentRange" in answer:
        start, size = _place(answer["ContentRange"])
    if wanted is not None and (start != wanted.start or length > wanted.length):
        raise RequestError(Failure.UNSUPPORTED, "the server does not send the range asked for")
    return length, size


def _place(content_range: str) -> tuple[int, int]:
    """Where a range begins and the size of the object: 10 and 100 in ``bytes 10-19/100``."""
    found = _RANGE.fullmatch(content_range)
    if found is None:
        raise RequestError(Failure.UNKNOWN, "the answer does not tell the size of the object")
    return int(found[1]), int(found[2])


@dataclass(frozen=True, slots=True, repr=False)
class _Encrypted:
    """Parameters that encryption adds to requests; a customer's key is among them."""

    write: Mapping[str, Any]
    """That make an object."""
    use: Mapping[str, Any]
    """That read one or send its parts."""
    source: Mapping[str, Any]
    """That read one to copy it."""


def _encrypted(encryption: Encryption | None) -> _Encrypted:
    if encryption is None:
        return _Encrypted({}, {}, {})
    if encryption.customer_key is not None:
        key = base64.b64decode(encryption.customer_key.reveal())
        use = {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": key}
        return _Encrypted(use, use, {f"CopySource{name}": value for name, value in use.items()})
    write: dict[str, Any] = {"ServerSideEncryption": encryption.kind}
    if encryption.kms_key is not None:
        write["SSEKMSKeyId"] = encryption.kms_key
    if encryption.bucket_key is not None:
        write["BucketKeyEnabled"] = encryption.bucket_key
    return _Encrypted(write, {}, {})
