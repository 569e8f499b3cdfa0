"""The XML interface: what pylance asks for, and nothing else."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from urllib.parse import unquote
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from tests.servers.gcs_json import Answer, Asked, media
from tests.servers.gcs_objects import (
    Buckets,
    Multipart,
    RefusedError,
    Stored,
    malformed,
    not_offered,
)

CONDITION = "x-goog-if-generation-match"


def of_xml(name: str, content: str, status: int = 200) -> Answer:
    text = f'<?xml version="1.0" encoding="UTF-8"?><{name}>{content}</{name}>'
    return Answer(status, {"content-type": "application/xml; charset=UTF-8"}, text.encode())


def xml_refusal(refused: RefusedError) -> Answer:
    content = f"<Code>{refused.code}</Code><Message>{escape(refused.message)}</Message>"
    return of_xml("Error", content, refused.status)


class XmlInterface:
    """Objects at ``/bucket/name``."""

    def __init__(self, buckets: Buckets) -> None:
        self._buckets = buckets
        self._routes: dict[tuple[str, frozenset[str]], Callable[[Asked, str, str], Answer]] = {
            ("GET", frozenset()): self._get,
            ("HEAD", frozenset()): self._head,
            ("PUT", frozenset()): self._put,
            ("DELETE", frozenset()): self._delete,
            ("POST", frozenset({"uploads"})): self._start,
            ("PUT", frozenset({"partNumber", "uploadId"})): self._part,
            ("POST", frozenset({"uploadId"})): self._finish,
            ("DELETE", frozenset({"uploadId"})): self._abort,
        }

    def answer(self, asked: Asked) -> Answer:
        bucket, _, name = asked.path[1:].partition("/")
        for header in asked.headers:
            if header.startswith(("if-", "x-goog-if-")) and header != CONDITION:
                raise not_offered(f"header {header}")
        if not name and asked.method == "GET":
            return self._list(asked, unquote(bucket))
        serve = self._routes.get((asked.method, frozenset(asked.query)))
        if serve is None or not name:
            raise not_offered(f"{asked.method} with {sorted(asked.query)}")
        return serve(asked, unquote(bucket), unquote(name))

    def _list(self, asked: Asked, bucket: str) -> Answer:
        asked.only("list-type", "prefix", "delimiter", "start-after", "continuation-token")
        if asked.query.get("list-type") != "2":
            raise not_offered("a listing that is not of type 2")
        after = asked.query.get("start-after", "")
        start = max(f"{after}\0" if after else "", asked.query.get("continuation-token", ""))
        delimiter = asked.query.get("delimiter", "")
        prefix = asked.query.get("prefix", "")
        listed = self._buckets.list(bucket, prefix, start, delimiter, 1000)
        content = [f"<Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix>"]
        content += map(_listed, listed.objects)
        for folder in listed.prefixes:
            content.append(f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>")
        content.append(f"<IsTruncated>{str(listed.next_start is not None).lower()}</IsTruncated>")
        if listed.next_start is not None:
            token = escape(listed.next_start)
            content.append(f"<NextContinuationToken>{token}</NextContinuationToken>")
        return of_xml("ListBucketResult", "".join(content))

    def _get(self, asked: Asked, bucket: str, name: str) -> Answer:
        return media(self._buckets.get(bucket, name), asked.headers.get("range"))

    def _head(self, asked: Asked, bucket: str, name: str) -> Answer:
        return media(self._buckets.get(bucket, name), None)

    def _put(self, asked: Asked, bucket: str, name: str) -> Answer:
        condition = _condition(asked)
        copied = asked.headers.get("x-goog-copy-source")
        if copied is None:
            return _made(self._buckets.put(bucket, name, asked.body, condition))
        from_bucket, _, from_name = copied.partition("/")
        source = self._buckets.get(unquote(from_bucket), unquote(from_name))
        made = self._buckets.put(bucket, name, source.data, condition)
        return of_xml("CopyObjectResult", f"<ETag>{escape(made.etag)}</ETag>")

    def _delete(self, asked: Asked, bucket: str, name: str) -> Answer:
        self._buckets.delete(bucket, name, _condition(asked))
        return Answer(204)

    def _start(self, asked: Asked, bucket: str, name: str) -> Answer:
        _unconditional(asked)
        self._buckets.check(bucket)
        upload = uuid.uuid4().hex
        self._buckets.multiparts[upload] = Multipart(bucket, name)
        content = f"<Bucket>{bucket}</Bucket><Key>{escape(name)}</Key>"
        return of_xml("InitiateMultipartUploadResult", f"{content}<UploadId>{upload}</UploadId>")

    def _part(self, asked: Asked, bucket: str, name: str) -> Answer:
        _unconditional(asked)
        number = asked.number("partNumber")
        if not number or number > 10_000:
            raise malformed("Invalid part number.")
        self._multipart(asked, bucket, name).parts[number] = asked.body
        return Answer(200, {"etag": f'"part-{number}"'})

    def _finish(self, asked: Asked, bucket: str, name: str) -> Answer:
        # A condition on the end of a multipart upload is what the service does not offer.
        _unconditional(asked)
        upload = self._multipart(asked, bucket, name)
        document = re.sub(r' xmlns="[^"]*"', "", asked.body.decode())
        listed = ElementTree.fromstring(document).findall("Part")
        numbers = [int(part.findtext("PartNumber", "0")) for part in listed]
        if numbers != sorted(set(numbers)) or not set(numbers) <= set(upload.parts):
            raise malformed("Invalid list of parts.")
        parts = [upload.parts[number] for number in numbers]
        if any(len(part) < 5 << 20 for part in parts[:-1]):
            raise malformed("A part is smaller than 5 MiB.")
        made = self._buckets.put(bucket, name, b"".join(parts), None)
        del self._buckets.multiparts[asked.query["uploadId"]]
        content = f"<Key>{escape(name)}</Key><ETag>{escape(made.etag)}</ETag>"
        found = of_xml("CompleteMultipartUploadResult", content)
        return Answer(200, {**found.headers, **_made(made).headers}, found.body)

    def _abort(self, asked: Asked, bucket: str, name: str) -> Answer:
        self._multipart(asked, bucket, name)
        del self._buckets.multiparts[asked.query["uploadId"]]
        return Answer(204)

    def _multipart(self, asked: Asked, bucket: str, name: str) -> Multipart:
        upload = self._buckets.multiparts.get(asked.query["uploadId"])
        if upload is None or (upload.bucket, upload.name) != (bucket, name):
            raise RefusedError(404, "NoSuchUpload", "notFound", "The upload does not exist.")
        return upload


def _condition(asked: Asked) -> int | None:
    text = asked.headers.get(CONDITION)
    if text is None:
        return None
    if not text.isdigit():
        raise malformed(f"Invalid value of {CONDITION}.")
    return int(text)


def _unconditional(asked: Asked) -> None:
    if CONDITION in asked.headers:
        raise not_offered("a condition on a multipart upload")


def _made(stored: Stored) -> Answer:
    return Answer(200, {"etag": stored.etag, "x-goog-generation": str(stored.generation)})


def _listed(stored: Stored) -> str:
    updated = stored.updated.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    return (
        f"<Contents><Key>{escape(stored.name)}</Key><Generation>{stored.generation}</Generation>"
        f"<LastModified>{updated}</LastModified><ETag>{escape(stored.etag)}</ETag>"
        f"<Size>{len(stored.data)}</Size></Contents>"
    )
