"""Find and drop unfinished uploads, which killed processes leave behind and S3 charges for.

Neither object listings nor the cleanup of a table cover them. A lifecycle rule of the bucket
removes all of them; these functions handle one table, and servers without such rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from lance_core.hookspecs.options import Secret, hide_secrets
from lance_core.hookspecs.stores import parse_uri
from lance_core_remote.retries import Sender
from lance_core_s3.client import S3Client, open_store
from lance_core_s3.plugin import lance_object_stores

ALIVE = timedelta(days=1)
"""The minimum age of an upload that counts as abandoned."""


@dataclass(frozen=True, slots=True)
class UnfinishedUpload:
    """An upload to ``key`` of the bucket, with its identifier at the service."""

    key: str
    upload: str
    started: datetime


def unfinished_uploads(
    uri: str, options: Mapping[str, str | Secret] | None = None
) -> list[UnfinishedUpload]:
    """The uploads below ``uri`` that are neither finished nor dropped.

    ``options``: storage options. The result includes uploads of running writers. Raises
    `StoreError`.
    """
    options = hide_secrets(options)
    client, sender, folder = _opened(uri, options)
    try:
        return _listed(client, sender, folder)
    finally:
        client.close()


def drop_unfinished_uploads(
    uri: str,
    options: Mapping[str, str | Secret] | None = None,
    older_than: timedelta = ALIVE,
) -> list[UnfinishedUpload]:
    """Drop the `unfinished_uploads` of at least the given age; return the dropped ones.

    A writer that is still working on one of them fails. Raises `StoreError`.
    """
    options = hide_secrets(options)
    client, sender, folder = _opened(uri, options)
    before = datetime.now(UTC) - older_than
    try:
        old = [upload for upload in _listed(client, sender, folder) if upload.started <= before]
        for upload in old:
            abort = partial(client.abort_upload, upload.key, upload.upload)
            sender.prepare("dropping the upload of", upload.key, abort)
    finally:
        client.close()
    return old


def _opened(uri: str, options: Mapping[str, str | Secret] | None) -> tuple[S3Client, Sender, str]:
    """A client of the bucket, a sender for its requests, and the key prefix of the folder."""
    (spec,) = lance_object_stores()
    url = parse_uri(uri)
    store = open_store(url, spec.canonical_options(options or {}))
    assert isinstance(store.client, S3Client)
    sender = Sender(store.client, store.settings)
    return store.client, sender, f"{url.path}/" if url.path else ""


def _listed(client: S3Client, sender: Sender, folder: str) -> list[UnfinishedUpload]:
    uploads: list[UnfinishedUpload] = []
    start: dict[str, str] = {}
    while True:
        ask = partial(client.list_uploads, folder, start)
        page = sender.read("listing uploads of", folder, ask)
        uploads += [
            UnfinishedUpload(upload["Key"], upload["UploadId"], upload["Initiated"])
            for upload in page.get("Uploads", ())
        ]
        marks = {
            "KeyMarker": page.get("NextKeyMarker"),
            "UploadIdMarker": page.get("NextUploadIdMarker"),
        }
        following = {name: value for name, value in marks.items() if value}
        if not page.get("IsTruncated") or following == start:
            return uploads
        start = following
