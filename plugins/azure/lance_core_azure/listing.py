"""Parse listings, which are XML."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree

from lance_core_remote.client import Failure, RemoteObject, RequestError
from lance_core_remote.connection_failures import CONTACT_TIMEOUT


class Listed(NamedTuple):
    """A page of a listing. ``has_folders``: True if the account orders names by folders."""

    objects: list[RemoteObject]
    marker: str | None
    has_folders: bool


def parse(body: bytes | bytearray) -> Listed:
    """The objects of a "List Blobs" response, without folders."""
    try:
        # The service is trusted with the data; the parser does not resolve external entities.
        root = ElementTree.fromstring(body)  # noqa: S314
        blobs = root.find("Blobs")
        if root.tag != "EnumerationResults" or blobs is None:
            raise ValueError(root.tag)
        objects = [_object(blob) for blob in blobs.iter("Blob")]
    except (ArithmeticError, ElementTree.ParseError, LookupError, TypeError, ValueError):
        raise RequestError(
            Failure.UNKNOWN,
            "the response is not a listing of blobs: the endpoint may not be that of Blob Storage",
            contact_timeout=CONTACT_TIMEOUT,
        ) from None
    return Listed(
        [listed for listed, is_folder in objects if not is_folder],
        root.findtext("NextMarker") or None,
        any(is_folder is not None for _, is_folder in objects),
    )


def is_by_bytes(listed: Listed, prefix: str) -> bool:
    """True if the objects of this and the following pages are in the byte order of their keys.

    The service compares UTF-16 units, which differs for characters from U+D800 on. Accounts with
    folders list the content of ``a`` before ``a-b``. Pages before such keys are not affected.
    """
    keys = [listed_object.key for listed_object in listed.objects]
    if not all(key.isascii() or max(key) < "\ud800" for key in keys):
        return False
    return not listed.has_folders or not any("/" in key[len(prefix) :] for key in keys)


def can_begin_at(key: str, prefix: str) -> bool:
    """True if all keys after ``key`` in byte order also follow it in the service's order.

    In an account with folders, ``a/x`` precedes ``a-b``, so a listing from ``a-b`` would skip it.
    """
    below = key[len(prefix) :]
    return key.startswith(prefix) and below.isascii() and min(below, default="") >= "/"


def _object(blob: ElementTree.Element) -> tuple[RemoteObject, bool | None]:
    """An object, and True if it represents a folder; None for accounts without folders."""
    name = blob.find("Name")
    properties = blob.find("Properties")
    if name is None or properties is None:
        raise ValueError
    key = name.text or ""
    if name.get("Encoded") == "true":
        key = unquote(key)
    resource_type = properties.findtext("ResourceType")
    size = int(properties.findtext("Content-Length") or 0)
    date = parsedate_to_datetime(properties.findtext("Last-Modified") or "")
    if size < 0 or date.tzinfo is None:
        raise ValueError
    listed = RemoteObject(key, size, date, tag(properties.findtext("Etag")))
    return listed, None if resource_type is None else resource_type == "directory"


def tag(text: str | None) -> str | None:
    """A version tag without the quotes, which headers have but listings do not."""
    return text.strip('"') if text else None
