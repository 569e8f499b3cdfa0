"""Requests to Azure Blob Storage through its SDK."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, NoReturn, TypeVar

import pyarrow as pa
from azure.core import MatchConditions
from azure.core.exceptions import (
    AzureError,
    HttpResponseError,
    ServiceRequestError,
    ServiceResponseError,
)
from azure.storage.blob import (
    BlobClient,
    BlobSasPermissions,
    ContainerClient,
    ContentSettings,
    generate_blob_sas,
)

from lance_core.errors import LanceError
from lance_core.hookspecs.concurrency import LruCache
from lance_core.hookspecs.stores import ByteRange, StoreCapabilities
from lance_core_azure.capabilities import OF_AZURE, OF_OTHERS, is_azure
from lance_core_azure.credentials import SCOPE, Credentials, Kind
from lance_core_azure.errors import from_response, shown_error
from lance_core_azure.listing import Listed, can_begin_at, is_by_bytes, parse, tag
from lance_core_azure.session import Session
from lance_core_azure.settings import AzureSettings
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

T = TypeVar("T")

IF_ABSENT: dict[str, Any] = {"match_condition": MatchConditions.IfMissing}
"""The condition that no object exists."""

SIGNED_FOR = timedelta(hours=1)
"""Maximum duration of a copy."""

MAX_BLOB_CLIENTS = 256
"""Maximum cached blob clients. The SDK takes 0.2 ms to create one, a quarter of a short read."""

MAX_OBJECT = 1 << 48
"""More bytes than any object has."""

# Azurite ends an empty range at -1.
_RANGE = re.compile(r"bytes ([0-9]{1,15})--?[0-9]{1,15}/([0-9]{1,15})")


class _ListingBody(Exception):  # noqa: N818 (it is no error)
    """Carries the body of a listing out of the SDK before parsing, see `AzureClient._listed`."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.body = body


class _Connected(NamedTuple):
    """The SDK clients for some credentials; ``blobs``: the most recently used ones."""

    credentials: Credentials
    container: ContainerClient
    blobs: LruCache[str, BlobClient]


class AzureClient(RemoteClient):
    """Requests to one container. ``renewed`` reads the settings and environment again."""

    max_put_size = 5000 << 20
    max_copy_size = 256 << 20
    min_part_size = 1
    max_parts = 50_000

    def __init__(self, settings: AzureSettings, renewed: Callable[[], Credentials]) -> None:
        self._settings = settings
        self._renewed = renewed
        self._session = Session(settings)
        self._transport = self._session.transport()
        self._capabilities = OF_AZURE if is_azure(settings.host) else OF_OTHERS
        content_type = settings.remote.content_type
        self._content_settings = (
            ContentSettings(content_type=content_type) if content_type else None
        )
        self._connected = self._connect(settings.credentials)

    def __repr__(self) -> str:
        return f"AzureClient({self.name!r})"

    @property
    def name(self) -> str:
        return f"az://{self._settings.container}@{self._settings.account}"

    @property
    def capabilities(self) -> StoreCapabilities:
        return self._capabilities

    @property
    def guarantor(self) -> str:
        """Server, container, and the proxy that writes pass."""
        settings, proxy = self._settings, self._settings.remote.proxy_url
        via = origin_of(proxy) if proxy else ""
        return "\n".join(("azure", settings.endpoint, settings.container, via))

    def get(self, key: str, wanted: ByteRange | None, etag: str | None = None) -> Content:
        first, length = (wanted.start, wanted.length) if wanted else (0, MAX_OBJECT)
        condition: dict[str, Any] = {}
        if etag:
            condition = {"etag": f'"{etag}"', "match_condition": MatchConditions.IfNotModified}
        responses: list[Any] = []

        def download() -> Content:
            stream = self._blob(key).download_blob(
                first, length, raw_response_hook=responses.append, **condition
            )
            headers = responses[-1].http_response.headers  # the first may reject the tenant
            if "x-ms-error-code" in headers:
                raise ValueError("this is no success")
            # The SDK only checks the object's size, and requests missing bytes again.
            extent = _RANGE.fullmatch(headers.get("Content-Range", ""))
            if extent is None or int(extent[1]) != first:
                raise RequestError(
                    Failure.REFUSED, "the service sends another range than requested"
                )
            size = int(extent[2])
            if int(headers["Content-Length"]) < min(length, size - first):
                raise RequestError(Failure.UNKNOWN, "the response is too short")
            data = next(stream.chunks(), b"")  # ``readall`` would copy the bytes
            return Content(pa.py_buffer(data), size, tag(headers.get("ETag")))

        return self._send(download, unmet=Failure.CHANGED)

    def head(self, key: str) -> RemoteObject:
        properties = self._send(lambda: self._blob(key).get_blob_properties())
        if properties.size is None or properties.size < 0 or properties.last_modified is None:
            raise RequestError(Failure.UNKNOWN, "the response is not from Blob Storage")
        return RemoteObject(key, properties.size, properties.last_modified, tag(properties.etag))

    def put(self, key: str, body: Sequence[memoryview], *, if_absent: bool) -> None:
        data, condition = b"".join(body), IF_ABSENT if if_absent else {}
        self._send(
            lambda: self._blob(key).upload_blob(
                data,
                length=len(data),
                overwrite=True,
                **condition,
                content_settings=self._content_settings,
            ),
            unmet=Failure.EXISTS if if_absent else Failure.REFUSED,
        )

    def delete(self, key: str) -> None:
        self._send(lambda: self._blob(key).delete_blob())

    def copy(self, source: str, target: str, *, if_absent: bool) -> None:
        """Copy an object synchronously: the target appears when it is complete."""
        condition = IF_ABSENT if if_absent else {}

        def copy() -> None:
            url, more = self._source(source)
            self._blob(target).start_copy_from_url(url, requires_sync=True, **more, **condition)

        self._send(copy, unmet=Failure.EXISTS if if_absent else Failure.REFUSED)

    def list_page(
        self, prefix: str, start_after: str | None, token: str | None, *, deep: bool
    ) -> ListingPage:
        """List a page; this takes several requests if the service does not sort names by bytes."""
        begin: dict[str, Any] = {}
        if deep and not token and start_after and can_begin_at(start_after, prefix):
            begin = {"start_from": start_after}
        listed = self._listed(prefix, token, deep, begin)
        if is_by_bytes(listed, prefix):
            return ListingPage(listed.objects, listed.marker)
        objects, seen = listed.objects, set()
        while listed.marker:
            if listed.marker in seen:
                raise RequestError(Failure.REFUSED, "the listing makes no progress")
            seen.add(listed.marker)
            listed = self._listed(prefix, listed.marker, deep, {})
            objects += listed.objects
        return ListingPage(sorted(objects, key=lambda object_: object_.key.encode()), None)

    def start_upload(self, key: str, *, if_absent: bool) -> str:
        """Choose a name; the service keeps uploaded blocks until a block list names them."""
        return uuid.uuid4().hex

    def upload_part(
        self, key: str, upload: str, number: int, body: Sequence[memoryview]
    ) -> UploadedPart:
        # All blocks of an object must have names of equal length.
        block, data = f"{upload}{number:06}", b"".join(body)
        self._send(lambda: self._blob(key).stage_block(block, data, length=len(data)))
        return UploadedPart(number, block)

    def finish_upload(
        self, key: str, upload: str, parts: Sequence[UploadedPart], *, if_absent: bool
    ) -> None:
        blocks: list[Any] = [part.tag for part in parts]
        condition = IF_ABSENT if if_absent else {}
        self._send(
            lambda: self._blob(key).commit_block_list(
                blocks, **condition, content_settings=self._content_settings
            ),
            unmet=Failure.EXISTS if if_absent else Failure.REFUSED,
        )

    def renew_credentials(self) -> bool:
        credentials = self._renewed()
        is_new = credentials != self._connected.credentials or not credentials.kind.is_fixed
        if is_new:
            self._connected = self._connect(credentials)
        return is_new

    def close(self) -> None:
        # Keep the transport open, because it cannot be reopened.
        self._session.close()

    def _connect(self, credentials: Credentials) -> _Connected:
        settings = self._settings
        agent = settings.remote.user_agent
        more: dict[str, Any] = {"user_agent": agent, "user_agent_overwrite": True} if agent else {}
        # The service demands that signatures cover headers of this form.
        more["headers"] = {
            name: value.reveal()
            for name, value in settings.remote.headers
            if name.lower().startswith("x-ms-")
        }
        container = ContainerClient(
            settings.endpoint,
            settings.container,
            credential=credentials.for_sdk(settings.account),
            transport=self._transport,
            # The store retries requests, so the SDK must not.
            retry_total=0,
            # Use one request for each `put` and `get`.
            max_single_put_size=self.max_put_size,
            max_single_get_size=MAX_OBJECT,
            max_chunk_get_size=MAX_OBJECT,
            **more,
        )
        return _Connected(credentials, container, LruCache(MAX_BLOB_CLIENTS))

    def _current(self) -> _Connected:
        connected = self._connected
        if not connected.credentials.is_current:
            self._connected = connected = self._connect(self._renewed())
        return connected

    def _blob(self, key: str) -> BlobClient:
        connected = self._current()
        return connected.blobs.get(key, lambda: connected.container.get_blob_client(key))

    def _listed(self, prefix: str, token: str | None, deep: bool, begin: dict[str, Any]) -> Listed:
        """A page of a listing, parsed by `parse`.

        The SDK's own parser takes 0.25 ms per object. It also does not distinguish folders from
        objects, on which the order of the listing depends.
        """

        def take_body(response: Any) -> None:
            answer = response.http_response
            if answer.status_code == 200:
                raise _ListingBody(answer.read())

        def listing() -> NoReturn:
            container = self._current().container
            ask = container.list_blobs if deep else container.walk_blobs
            # Later versions of the SDK may prefer another format.
            how: dict[str, Any] = {"raw_response_hook": take_body, "response_format": "xml"}
            next(ask(name_starts_with=prefix or None, **how, **begin).by_page(token))
            raise ValueError("this is no success")

        try:
            self._send(listing)
        except _ListingBody as page:
            body = page.body
        return parse(body)

    def _source(self, key: str) -> tuple[str, dict[str, Any]]:
        """The URL from which the service copies an object, and the authorization to read it."""
        url = self._blob(key).url.partition("?")[0]
        credentials, settings = self._connected.credentials, self._settings
        if credentials.kind is Kind.ANONYMOUS:
            return url, {}
        if credentials.kind is Kind.SIGNATURE:
            return f"{url}?{credentials.reveal()}", {}
        if credentials.kind is not Kind.KEY:
            token = self._connected.container.credential.get_token(SCOPE).token
            return url, {"source_authorization": f"Bearer {token}"}
        now = datetime.now(UTC)
        signature = generate_blob_sas(
            settings.account,
            settings.container,
            key,
            account_key=credentials.reveal(),
            permission=BlobSasPermissions(read=True),
            start=now - SIGNED_FOR / 4,
            expiry=now + SIGNED_FOR,
        )
        return f"{url}?{signature}", {}

    def _send(self, request: Callable[[], T], unmet: Failure = Failure.REFUSED) -> T:
        """The result of ``request``. All errors of the SDK become a `RequestError`.

        ``unmet``: the failure for a condition that is not met.
        """
        try:
            return request()
        except RequestError as error:
            failure = error
        except LanceError as error:  # a credentials error; an earlier write may have been applied
            failure = RequestError(Failure.REFUSED, str(error))
        except HttpResponseError as error:
            failure = self._explained(self._from_sdk(error, unmet))
        except (ServiceRequestError, ServiceResponseError) as error:
            # From a token request: requests to the service itself raise a `RequestError`.
            failure = RequestError(
                Failure.UNSENT, f"no token of Entra ID: {_text(error)}", contact_timeout=0.0
            )
        except AzureError as error:
            failure = RequestError(Failure.REFUSED, _text(error))
        except OSError as error:  # the SDK's credentials read files; its connections are ours
            failure = _unreadable(error)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # The SDK raises such errors if headers are missing or malformed.
            failure = RequestError(
                Failure.UNKNOWN, f"the response is not from Blob Storage ({type(error).__name__})"
            )
        # Raise outside of the except block: the SDK's errors reference the request.
        raise failure

    def _from_sdk(self, error: HttpResponseError, unmet: Failure) -> RequestError:
        response: Any = error.response
        if response is None or not response.request.url.startswith(self._settings.endpoint):
            return RequestError(
                Failure.REFUSED,
                "no token of Entra ID can be had, and no account_key, sas_token or bearer_token is "
                f"given: {_text(error)}",
            )
        return from_response(response.status_code, response.headers, response.content, unmet)

    def _explained(self, error: RequestError) -> RequestError:
        if error.failure is not Failure.REFUSED:
            return error
        if "ContainerNotFound" in error.text:
            container = self._settings.container
            endpoint = self._settings.endpoint
            return RequestError(
                Failure.REFUSED, f"there is no container {container!r} at {endpoint} ({error.text})"
            )
        if "status 404" in error.text or "status 30" in error.text:
            return RequestError(
                Failure.REFUSED, f"{error.text}: check the endpoint {self._settings.endpoint}"
            )
        end = self._connected.credentials.expiry
        if end is not None and end < datetime.now(UTC):
            return RequestError(
                Failure.EXPIRED, f"the shared access signature ended {end} ({error.text})"
            )
        return error


def _unreadable(error: OSError) -> RequestError:
    """The failure for an error of the operating system, which mostly concerns a file."""
    if error.filename is None:
        return RequestError(Failure.UNKNOWN, f"the request failed ({type(error).__name__})")
    reason = f"a file of credentials cannot be read: {error.filename!r}: {error.strerror}"
    return RequestError(Failure.REFUSED, reason)


def _text(error: AzureError) -> str:
    text = shown_error(" ".join(str(error.message).split()))
    return text if len(text) <= 600 else f"{text[:600].rpartition('. ')[0]}. …"
