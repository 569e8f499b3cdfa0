"""Requests to a bucket through a boto3 client."""

from __future__ import annotations

import base64
import os
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from json import JSONDecodeError
from typing import Any, TypeVar
from urllib.parse import urlsplit

import boto3
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.concurrency import ForkSafeLock
from lance_core.hookspecs.options import Secret
from lance_core.hookspecs.stores import ByteRange, StoreCapabilities, StoreUrl
from lance_core_remote.aws_sessions import SESSIONS
from lance_core_remote.botocore_failures import check_ca_bundle, trusted_file
from lance_core_remote.client import (
    Content,
    Failure,
    ListingPage,
    RemoteClient,
    RemoteObject,
    RequestError,
    UploadedPart,
)
from lance_core_remote.connection_failures import origin_of, shown
from lance_core_remote.log_redaction import LogRedaction
from lance_core_remote.option_values import GivenOptions
from lance_core_remote.proxies import certificates_file, proxies_of
from lance_core_remote.settings import RemoteSettings
from lance_core_remote.store import RemoteStore
from lance_core_s3.body import body_of
from lance_core_s3.capabilities import OF_AMAZON, OF_OTHERS, WITHOUT_CONDITIONS, is_amazon
from lance_core_s3.credentials import DEFAULT_REGION, session_of
from lance_core_s3.errors import request_error
from lance_core_s3.options import Encryption, S3Settings
from lance_core_s3.response import bound_responses, content_of, field, object_of, page_of

T = TypeVar("T")

USER_AGENT = f"lance-core-s3 Boto3/{boto3.__version__}"

LOG_REDACTION = LogRedaction("boto3", "botocore", "s3transfer", "urllib3")

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_NOTHING_THERE = {"IfNoneMatch": "*"}


def open_store(url: StoreUrl, options: Mapping[str, str | Secret]) -> RemoteStore:
    """The objects below ``url``; a `StoreFactory`. Sends no request.

    Options that S3 does not define are ignored; they belong to other components, such as the
    commit handler.
    """
    left = GivenOptions(options)
    settings = S3Settings.of(url, left)
    remote = RemoteSettings.of(left)
    return RemoteStore(S3Client(settings, remote), url.path, remote)


class S3Client(RemoteClient):
    """Requests to the bucket of ``settings``.

    A forked process opens its own connections.
    """

    def __init__(self, settings: S3Settings, remote: RemoteSettings) -> None:
        self._settings = settings
        self._remote = remote
        self._lock = ForkSafeLock()
        self._session: Any = None
        self._sdk: Any = None
        self._capabilities = _capabilities(settings, self._connected())
        self._every = {"Bucket": settings.bucket} | (
            {"RequestPayer": "requester"} if settings.requester_pays else {}
        )
        self._encryption = _encrypted(settings.encryption, remote.content_type)
        _clients.add(self)

    @property
    def name(self) -> str:
        return f"s3://{self._settings.bucket}"

    @property
    def capabilities(self) -> StoreCapabilities:
        return self._capabilities

    def get(self, key: str, wanted: ByteRange | None, etag: str | None = None) -> Content:
        parameters: dict[str, Any] = {"Key": key, **self._encryption.use}
        if wanted is not None:
            parameters["Range"] = f"bytes={wanted.start}-{wanted.stop - 1}"
        if etag is not None:
            parameters["IfMatch"] = etag

        def read(sdk: Any) -> Content:
            return content_of(sdk.get_object(**self._every, **parameters), wanted)

        return self._request(read, Failure.REFUSED if etag is None else Failure.CHANGED)

    def head(self, key: str) -> RemoteObject:
        response = self._send("head_object", Key=key, **self._encryption.use)
        return object_of(response, key, "ContentLength")

    def put(self, key: str, body: Sequence[memoryview], *, if_absent: bool) -> None:
        condition = _NOTHING_THERE if if_absent else {}
        response = self._send(
            "put_object", Key=key, Body=body_of(body), **condition, **self._encryption.write
        )
        field(response, "ETag")

    def delete(self, key: str) -> None:
        self._send("delete_object", Key=key)

    def copy(self, source: str, target: str, *, if_absent: bool) -> None:
        if if_absent:
            raise RequestError(Failure.UNSUPPORTED, "S3 copies without conditions")
        if source == target:
            self.head(source)  # S3 refuses to copy an object onto itself
            return
        origin = {"Bucket": self._settings.bucket, "Key": source}
        self._send(
            "copy_object",
            Key=target,
            CopySource=origin,
            **self._encryption.write,
            **self._encryption.source,
        )

    def list_page(
        self, prefix: str, start_after: str | None, token: str | None, *, deep: bool
    ) -> ListingPage:
        parameters: dict[str, Any] = {"Prefix": prefix}
        if not deep:
            parameters["Delimiter"] = "/"
        if token is not None:
            parameters["ContinuationToken"] = token
        elif start_after is not None:
            # Responses repeat the key in XML, which lacks some characters; a shorter key lists
            # more.
            parameters["StartAfter"] = _NOT_IN_XML.split(start_after, maxsplit=1)[0]
        return page_of(self._send("list_objects_v2", **parameters))

    def start_upload(self, key: str, *, if_absent: bool) -> str:
        response = self._send("create_multipart_upload", Key=key, **self._encryption.write)
        return str(field(response, "UploadId"))

    def upload_part(
        self, key: str, upload: str, number: int, body: Sequence[memoryview]
    ) -> UploadedPart:
        response = self._send(
            "upload_part",
            Key=key,
            UploadId=upload,
            PartNumber=number,
            Body=body_of(body),
            **self._encryption.use,
        )
        return UploadedPart(number, str(field(response, "ETag")))

    @property
    def guarantor(self) -> str:
        """Server, bucket, and what changes the requests of a write on their way to the server."""
        settings = self._settings
        encryption = settings.encryption.kind if settings.encryption else ""
        parts = (
            *("s3", str(self._connected().meta.endpoint_url), settings.bucket),
            *(_addressing(settings), str(settings.unsigned_payload), str(encryption)),
            origin_of(self._remote.proxy_url) if self._remote.proxy_url else "",
        )
        return "\n".join(parts)

    @property
    def copies_parts(self) -> bool:
        return True

    @property
    def equal_parts(self) -> bool:
        """False for Amazon. Cloudflare R2 needs parts of one length; others are not known."""
        return not is_amazon(urlsplit(self._connected().meta.endpoint_url).hostname or "")

    def copy_part(
        self, key: str, upload: str, number: int, source: str, wanted: ByteRange, etag: str | None
    ) -> UploadedPart:
        response = self._send(
            "upload_part_copy",
            Key=key,
            UploadId=upload,
            PartNumber=number,
            CopySource={"Bucket": self._settings.bucket, "Key": source},
            CopySourceRange=f"bytes={wanted.start}-{wanted.stop - 1}",
            **({} if etag is None else {"CopySourceIfMatch": etag}),
            **self._encryption.use,
            **self._encryption.source,
        )
        tag = field(field(response, "CopyPartResult"), "ETag")
        return UploadedPart(number, str(tag))

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
        if self._settings.credentials.session is not None:
            return False  # a registered session renews its credentials itself
        # A new client queries all sources of credentials again and drops cached ones. Running
        # requests keep the old client.
        self._sdk = make_client(self._settings, self._remote)
        return True

    def list_uploads(self, prefix: str, start: Mapping[str, str]) -> Mapping[str, Any]:
        """A page of the unfinished uploads in parts; ``start`` has the markers of the page."""
        page: Mapping[str, Any] = self._send("list_multipart_uploads", Prefix=prefix, **start)
        return page

    def close(self) -> None:
        with self._lock:
            sdk, self._sdk = self._sdk, None
        if sdk is not None:
            sdk.close()

    def forget_connections(self) -> None:
        """Drop all open connections, because they belong to another process."""
        self._sdk = None

    def _connected(self) -> Any:
        """The SDK client; a new one if the registered session has changed."""
        name = self._settings.credentials.session
        with self._lock:
            session = None if name is None else SESSIONS.get(name)
            if self._sdk is None or session is not self._session:
                sdk = make_client(self._settings, self._remote)
                if self._session and _capabilities(self._settings, sdk) != self._capabilities:
                    sdk.close()
                    raise InvalidInputError(
                        f"the boto3.Session that is now registered as {name!r} is for another "
                        "kind of server than the one before: give it another name"
                    )
                self._session, self._sdk = session, sdk
            return self._sdk

    def _send(self, operation: str, **parameters: Any) -> Any:
        unmet = Failure.EXISTS if "IfNoneMatch" in parameters else Failure.REFUSED
        unmet = Failure.CHANGED if "CopySourceIfMatch" in parameters else unmet
        return self._request(
            lambda sdk: getattr(sdk, operation)(**self._every, **parameters), unmet
        )

    def _request(self, request: Callable[[Any], T], unmet: Failure) -> T:
        """The result of ``request``. Raises `RequestError` without references to SDK errors."""
        sdk = self._connected()
        try:
            with LOG_REDACTION.quiet():
                return request(sdk)
        except RequestError as error:
            failed = error
        except Exception as error:
            secrets, where = self._secrets(), self._where(sdk)
            failed = request_error(error, unmet=unmet, secrets=secrets, where=where)
        raise failed

    def _where(self, sdk: Any) -> str:
        """Bucket and endpoint for errors, with advice if the address contains the bucket twice."""
        bucket, endpoint = self._settings.bucket, str(sdk.meta.endpoint_url)
        parts = urlsplit(endpoint)
        where = f"bucket {bucket!r} at {origin_of(endpoint)}{parts.path}"
        is_twice = bucket in parts.path.split("/") or parts.netloc.startswith(f"{bucket}.")
        if is_twice and self._settings.endpoint:
            where += ", where the address already contains the bucket: leave it out"
        return where

    def _secrets(self) -> list[str]:
        keys, encryption = self._settings.credentials.keys, self._settings.encryption
        known = [
            *self._settings.secrets,
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


def _capabilities(settings: S3Settings, sdk: Any) -> StoreCapabilities:
    if not settings.conditional_put:
        return WITHOUT_CONDITIONS
    host = urlsplit(sdk.meta.endpoint_url).hostname or ""
    return OF_AMAZON if is_amazon(host) else OF_OTHERS


def make_client(settings: S3Settings, remote: RemoteSettings) -> Any:
    """A boto3 client that sends every request once.

    Raises `InvalidInputError` if the endpoint or the credential settings are unusable, or if
    requests would be unencrypted and no option allows that.
    """
    with LOG_REDACTION.quiet():
        failure = ""
        try:
            client = _client(settings, remote)
        except InvalidInputError:
            raise
        except (BotoCoreError, OSError, ValueError) as error:
            failure = f"{settings.bucket!r} cannot be reached through S3: {_explained(error)}"
    if failure:
        raise InvalidInputError(failure)
    for address in (client.meta.endpoint_url, settings.credentials.token_exchange):
        if address and urlsplit(address).scheme != "https" and not remote.allow_http:
            raise InvalidInputError(
                "an endpoint for S3 is an http:// address: use https://, or allow keys and data to "
                "be sent without encryption by storage option 'allow_http'"
            )
    events = client.meta.events
    events.register("before-send.s3", _send_body_at_once)
    # Send each request once, even if the SDK would follow a bucket to another region.
    keeps = _keep_server if settings.endpoint else _keep_server_of_lookup
    events.register_first("needs-retry.s3", keeps)
    check_ca_bundle(client)
    if remote.headers:
        headers = {name: value.reveal() for name, value in remote.headers}
        # Before signing, because services demand signatures of some headers.
        events.register("before-sign.s3", lambda request, **_: _add_headers(request, headers))
    bound_responses(client, remote.timeout, remote.read_timeout)
    return client


def _send_body_at_once(request: Any, **_: object) -> None:
    """Disable waiting for "100 Continue" before a body, which costs a round trip."""
    request.headers.pop("Expect", None)


def _add_headers(request: Any, headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if name not in request.headers:
            request.headers[name] = value


def _keep_server(request_dict: Mapping[str, Any], **_: object) -> None:
    """Keep the SDK from sending a request again to the region that a response names."""
    request_dict.get("context", {}).get("s3_redirect", {})["redirected"] = True


def _keep_server_of_lookup(request_dict: Mapping[str, Any], operation: Any, **_: object) -> None:
    """Same, for the SDK's request that looks up the region: otherwise it would recurse forever."""
    if operation.name == "HeadBucket":
        _keep_server(request_dict)


def _client(settings: S3Settings, remote: RemoteSettings) -> Any:
    session = session_of(settings.credentials, settings.region)
    keys = settings.credentials.keys
    # boto3 lets only one thread at a time create clients of a session.
    with SESSIONS.lock if settings.credentials.session else nullcontext():
        return session.client(
            "s3",
            region_name=_region(settings, session),
            endpoint_url=_endpoint(settings),
            aws_access_key_id=keys.access if keys else None,
            aws_secret_access_key=keys.secret.reveal() if keys else None,
            aws_session_token=keys.token.reveal() if keys and keys.token else None,
            verify=False if remote.allow_invalid_certificates else trusted_file(session),
            config=_config(settings, remote),
        )


def _config(settings: S3Settings, remote: RemoteSettings) -> Config:
    # The SDK would build its own User-Agent anew for each request.
    chosen: dict[str, Any] = {"user_agent": remote.user_agent or USER_AGENT}
    host = urlsplit(settings.endpoint or f"//s3.{settings.region}.amazonaws.com").hostname or ""
    proxies = proxies_of(remote, host)
    if proxies is not None:
        chosen["proxies"] = proxies
    if remote.proxy_ca_certificate is not None:
        file = certificates_file(remote.proxy_ca_certificate)
        chosen["proxies_config"] = {"proxy_ca_bundle": file}
    if settings.credentials.skip:
        chosen["signature_version"] = UNSIGNED
    s3: dict[str, Any] = {"addressing_style": _addressing(settings)}
    if settings.unsigned_payload:
        s3["payload_signing_enabled"] = False
    return Config(
        s3=s3,
        retries={"total_max_attempts": 1, "mode": "standard"},
        connect_timeout=remote.connect_timeout,
        read_timeout=remote.timeout,
        # Threads of callers also send requests, in addition to those of the pool.
        max_pool_connections=remote.max_idle or 2 * remote.parallel,
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        tcp_keepalive=True,
        **chosen,
    )


def _region(settings: S3Settings, session: boto3.Session) -> str | None:
    if settings.region or not settings.endpoint:
        return settings.region  # without a region, Amazon itself reports the region of a bucket
    return session.region_name or DEFAULT_REGION


def _addressing(settings: S3Settings) -> str:
    if settings.virtual_hosted is None:
        return "path" if settings.endpoint else "auto"
    return "virtual" if settings.virtual_hosted else "path"


def _endpoint(settings: S3Settings) -> str | None:
    """The endpoint without the bucket, which the SDK prepends."""
    if settings.endpoint and settings.virtual_hosted:
        scheme, _, host = settings.endpoint.partition("://")
        return f"{scheme}://{host.removeprefix(f'{settings.bucket}.')}"
    return settings.endpoint


@dataclass(frozen=True, slots=True, repr=False)
class _Encrypted:
    """The request parameters for encryption and content type; one may be a customer's key."""

    write: Mapping[str, Any]
    """For requests that create an object."""
    use: Mapping[str, Any]
    """For requests that read an object or send its parts."""
    source: Mapping[str, Any]
    """For requests that read an object to copy it."""


def _encrypted(encryption: Encryption | None, content_type: str | None) -> _Encrypted:
    headers = {} if content_type is None else {"ContentType": content_type}
    if encryption is None:
        return _Encrypted(headers, {}, {})
    if encryption.customer_key is not None:
        key = base64.b64decode(encryption.customer_key.reveal())
        use = {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": key}
        return _Encrypted(
            use | headers, use, {f"CopySource{name}": value for name, value in use.items()}
        )
    write: dict[str, Any] = {"ServerSideEncryption": encryption.kind, **headers}
    if encryption.kms_key is not None:
        write["SSEKMSKeyId"] = encryption.kms_key
    if encryption.bucket_key is not None:
        write["BucketKeyEnabled"] = encryption.bucket_key
    return _Encrypted(write, {}, {})


def _explained(error: Exception) -> str:
    """The SDK's own words; those of a parser say nothing about where its text comes from."""
    if isinstance(error, JSONDecodeError):
        return f"credentials, as of a credential_process, are no JSON: {error.msg}"
    return shown(str(error))
