"""Asking for bytes of objects: the request alone, without what the SDK makes of its answer.

For every object the SDK makes a client, and of every answer it takes some fifty headers apart: more
work than the exchange itself. What authorizes, names and logs requests stays the SDK's.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import azure.storage.blob
import pyarrow as pa
from azure.core.exceptions import HttpResponseError
from azure.core.rest import HttpRequest
from azure.storage.blob import ContainerClient

from lance_core.errors import PluginError
from lance_core.store.base import ByteRange
from lance_core.store.remote.client import Content, Failure, RequestError
from lance_core_azure.listing import tag
from lance_core_azure.transport import Came

WHOLE = 1 << 48
"""More bytes than an object has."""
SURPLUS = 1 << 16
"""Bytes by which an answer may exceed what was asked for before it is given up."""

# Azurite ends the range of nothing at -1.
_RANGE = re.compile(r"bytes ([0-9]{1,15})--?[0-9]{1,15}/[0-9]{1,15}")


class Reading:
    """Get Blob, by the pipeline of ``container``; `PluginError` if it is not where it is sought."""

    def __init__(self, container: ContainerClient) -> None:
        # The SDK signs requests nowhere else, and offers no way to send one of one's own.
        pipeline: Any = getattr(container, "_pipeline", None)
        if not hasattr(pipeline, "run"):
            raise PluginError(
                f"azure-storage-blob {azure.storage.blob.__version__} has no pipeline that "
                "requests can be sent by: install an older one, or a newer lance-core-azure"
            )
        self._pipeline = pipeline
        self._url = container.url
        self._headers = {"x-ms-version": container.api_version, "Accept": "application/xml"}

    def get(self, key: str, wanted: ByteRange | None, etag: str | None) -> Content:
        """See `RemoteClient.get`; raises what the SDK does, and `ValueError` for nonsense."""
        first, length = (wanted.start, wanted.length) if wanted else (0, WHOLE)
        headers = {**self._headers, "x-ms-range": f"bytes={first}-{first + length - 1}"}
        if etag:
            headers["If-Match"] = f'"{etag}"'
        came: list[Came] = []
        answer = self._pipeline.run(
            HttpRequest("GET", f"{self._url}/{quote(key, safe='~/')}", headers=headers),
            stream=True,
            unmet=Failure.CHANGED,
            came=came,
            # The store refuses more than it asked for, and must be able to see it.
            most=length + SURPLUS,
        ).http_response
        if not came:
            raise HttpResponseError(response=answer)
        ((told, body),) = came
        if answer.status_code not in {200, 206} or "x-ms-error-code" in told:
            raise ValueError("this is no success of Get Blob")
        extent = told.get("Content-Range", "")
        size = int(extent.partition("/")[2])
        said = _RANGE.fullmatch(extent)
        if said is None or int(said[1]) != first:
            raise RequestError(Failure.REFUSED, "the service answers with another range")
        return Content(pa.py_buffer(body), size, tag(told.get("ETag")))
