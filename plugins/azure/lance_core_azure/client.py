"""The requests of Azure Blob Storage, by its SDK."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from azure.core import MatchConditions
from azure.core.exceptions import (
    AzureError,
    HttpResponseError,
    ServiceRequestError,
    ServiceResponseError,
)
from azure.storage.blob import BlobClient, BlobSasPermissions, ContainerClient, generate_blob_sas

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
from lance_core_azure.answer import Answer
from lance_core_azure.capabilities import OF_AZURE, OF_OTHERS, is_azure
from lance_core_azure.credentials import SCOPE, Credentials, Kind
from lance_core_azure.errors import hidden, of_answer
from lance_core_azure.listing import Listed, can_begin_at, is_by_bytes, parse, tag
from lance_core_azure.reading import Reading
from lance_core_azure.settings import AzureSettings
from lance_core_azure.transport import Came, OnceTransport

T = TypeVar("T")

IF_ABSENT: dict[str, Any] = {
    "match_condition": MatchConditions.IfMissing,
    "unmet": Failure.EXISTS,
}
"""How a request is made conditional, and what it then means that the condition is not met."""

SIGNED_FOR = timedelta(hours=1)
"""How long a copy may take."""


class AzureClient(RemoteClient):
    """One container. ``renewed`` looks again for credentials: what the environment says now."""

    max_put_size = 5000 << 20
    max_copy_size = 256 << 20
    min_part_size = 1
    max_parts = 50_000

    def __init__(self, settings: AzureSettings, renewed: Callable[[], Credentials]) -> None:
        self._settings = settings
        self._credentials = settings.credentials
        self._renewed = renewed
        self._transport = OnceTransport(settings)
        self._capabilities = OF_AZURE if is_azure(settings.host) else OF_OTHERS
        self._container = self._connected()
        self._reading = Reading(self._container)

    def __repr__(self) -> str:
        return f"AzureClient({self.name!r})"

    @property
    def name(self) -> str:
        return f"az://{self._settings.container}@{self._settings.account}"

    @property
    def capabilities(self) -> StoreCapabilities:
        return self._capabilities

    def get(self, key: str, wanted: ByteRange | None, etag: str | None = None) -> Content:
        return self._asked(self._reading.get, key, wanted, etag)

    def head(self, key: str) -> RemoteObject:
        found = self._asked(self._blob(key).get_blob_properties)
        if found.size is None or found.size < 0 or found.last_modified is None:
            raise RequestError(Failure.UNKNOWN, "an answer is none of Blob Storage")
        return RemoteObject(key, found.size, found.last_modified, tag(found.etag))

    def put(self, key: str, body: Sequence[memoryview], *, if_absent: bool) -> None:
        data = _joined(body)
        self._asked(
            self._blob(key).upload_blob,
            data,
            length=len(data),
            overwrite=True,
            **(IF_ABSENT if if_absent else {}),
        )

    def delete(self, key: str) -> None:
        self._asked(self._blob(key).delete_blob)

    def copy(self, source: str, target: str, *, if_absent: bool) -> None:
        """Synchronous: the target appears when it is complete."""
        url, headers = self._asked(self._source, source)
        self._asked(
            self._blob(target).start_copy_from_url,
            url,
            requires_sync=True,
            **headers,
            **(IF_ABSENT if if_absent else {}),
        )

    def list_page(
        self, prefix: str, start_after: str | None, token: str | None, *, deep: bool
    ) -> ListingPage:
        """One request, unless the service orders names otherwise than by their bytes."""
        ask = self._container.list_blobs if deep else self._container.walk_blobs
        begin: dict[str, str] = {}
        if deep and not token and start_after and can_begin_at(start_after, prefix):
            begin = {"start_from": start_after}
        listed = self._listed(ask, prefix, token, begin)
        if is_by_bytes(listed, prefix):
            return ListingPage(listed.objects, listed.marker)
        objects, seen = listed.objects, set()
        while listed.marker:
            if listed.marker in seen:
                raise RequestError(Failure.REFUSED, "the listing makes no progress")
            seen.add(listed.marker)
            listed = self._listed(ask, prefix, listed.marker, {})
            objects += listed.objects
        return ListingPage(sorted(objects, key=lambda one: one.key.encode()), None)

    def start_upload(self, key: str, *, if_absent: bool) -> str:
        """Names only: blocks wait at the object until a list names them."""
        return uuid.uuid4().hex

    def upload_part(
        self, key: str, upload: str, number: int, body: Sequence[memoryview]
    ) -> UploadedPart:
        # All blocks of an object must have names of the same length.
        block = f"{upload}{number:06}"
        data = _joined(body)
        self._asked(self._blob(key).stage_block, block, data, length=len(data))
        return UploadedPart(number, block)

    def finish_upload(
        self, key: str, upload: str, parts: Sequence[UploadedPart], *, if_absent: bool
    ) -> None:
        condition = IF_ABSENT if if_absent else {}
        blocks: list[Any] = [part.tag for part in parts]
        self._asked(self._blob(key).commit_block_list, blocks, **condition)

    def renew_credentials(self) -> bool:
        credentials = self._renewed()
        is_new = credentials != self._credentials or credentials.kind not in {
            *(Kind.KEY, Kind.SIGNATURE, Kind.TOKEN, Kind.NOBODY),
        }
        if is_new:
            self._credentials = credentials
            self._container = self._connected()
            self._reading = Reading(self._container)
        return is_new

    def close(self) -> None:
        self._transport.close()

    def _connected(self) -> ContainerClient:
        settings = self._settings
        agent = settings.remote.user_agent
        more: dict[str, Any] = {"user_agent": agent, "user_agent_overwrite": True} if agent else {}
        return ContainerClient(
            settings.endpoint,
            settings.container,
            credential=self._credentials.for_sdk(settings.account),
            transport=self._transport,
            retry_total=0,
            max_single_put_size=self.max_put_size,
            **more,
        )

    def _blob(self, key: str) -> BlobClient:
        return self._container.get_blob_client(key)

    def _listed(
        self, ask: Callable[..., Any], prefix: str, token: str | None, begin: dict[str, str]
    ) -> Listed:
        came: list[Came] = []
        pages = ask(name_starts_with=prefix or None, came=came, **begin).by_page(token)
        self._asked(next, pages)
        return parse(came[0].body)

    def _source(self, key: str) -> tuple[str, dict[str, str]]:
        """The URL to copy an object from, and how the service is allowed to read it."""
        url = self._blob(key).url
        credentials, settings = self._credentials, self._settings
        if credentials.kind is Kind.NOBODY:
            return url, {}
        if credentials.kind is Kind.SIGNATURE:
            return f"{url}?{credentials.secret.reveal()}", {}
        if credentials.kind is not Kind.KEY:
            token = self._container.credential.get_token(SCOPE).token
            return url, {"source_authorization": f"Bearer {token}"}
        now = datetime.now(UTC)
        signature = generate_blob_sas(
            settings.account,
            settings.container,
            key,
            account_key=credentials.secret.reveal(),
            permission=BlobSasPermissions(read=True),
            start=now - SIGNED_FOR / 4,
            expiry=now + SIGNED_FOR,
        )
        return f"{url}?{signature}", {}

    def _asked(self, ask: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """What ``ask`` returns; everything that the SDK raises as a `RequestError`."""
        try:
            return ask(*args, **kwargs)
        except RequestError as error:
            failure = self._explained(error)
        except HttpResponseError as error:
            failure = self._explained(_of_sdk(error))
        except (ServiceRequestError, ServiceResponseError) as error:  # of asking for a token
            failure = RequestError(Failure.UNSENT, f"no token of Entra ID: {_words(error)}")
        except AzureError as error:
            failure = RequestError(Failure.REFUSED, _words(error))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # What the SDK makes of headers that are missing or malformed.
            failure = RequestError(
                Failure.UNKNOWN, f"an answer is none of Blob Storage ({type(error).__name__})"
            )
        # Out of reach of the SDK's errors, which hold the request.
        raise failure

    def _explained(self, error: RequestError) -> RequestError:
        if error.failure is not Failure.REFUSED:
            return error
        if "ContainerNotFound" in error.text:
            container = self._settings.container
            return RequestError(
                Failure.REFUSED, f"there is no container {container!r} ({error.text})"
            )
        end = self._credentials.expiry
        if end is not None and end < datetime.now(UTC):
            return RequestError(
                Failure.EXPIRED, f"the shared access signature ended {end} ({error.text})"
            )
        return error


def _of_sdk(error: HttpResponseError) -> RequestError:
    answer = error.response
    if not isinstance(answer, Answer):
        return RequestError(
            Failure.REFUSED,
            "no token of Entra ID can be had, and no account_key, sas_token or bearer_token is "
            f"given: {_words(error)}",
        )
    return of_answer(answer.status_code, answer.headers, answer.content, Failure.REFUSED)


def _words(error: AzureError) -> str:
    return hidden(" ".join(str(error.message).split())[:600])


def _joined(body: Sequence[memoryview]) -> bytes:
    return body[0].tobytes() if len(body) == 1 else b"".join(body)
