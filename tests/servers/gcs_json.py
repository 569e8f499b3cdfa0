"""The JSON interface: what `lance_core_gcs` asks for, and nothing else."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

import google_crc32c

from tests.servers.gcs_objects import (
    Buckets,
    RefusedError,
    Session,
    Stored,
    base64_md5,
    malformed,
    not_offered,
)

CHUNK = 256 * 1024
"""What the length of each part of a resumable upload but the last is a multiple of, in bytes."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request. ``path`` is still percent-encoded, header names are in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    def only(self, *names: str) -> None:
        """Refuse parameters that are not among ``names``."""
        for name in self.query:
            if name not in {*names, "prettyPrint"}:
                raise not_offered(f"parameter {name}")

    def number(self, name: str) -> int | None:
        text = self.query.get(name)
        if text is None:
            return None
        if not text.isdigit():
            raise malformed(f"Invalid value for {name}.")
        return int(text)


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent back."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


def of_json(value: object, status: int = 200) -> Answer:
    return Answer(
        status, {"content-type": "application/json; charset=UTF-8"}, json.dumps(value).encode()
    )


def json_refusal(refused: RefusedError) -> Answer:
    detail = {"message": refused.message, "domain": "global", "reason": refused.reason}
    error = {"code": refused.status, "message": refused.message, "errors": [detail]}
    return of_json({"error": error}, refused.status)


class JsonInterface:
    """``rewrite_bytes``: how much one call of a rewrite copies."""

    def __init__(self, buckets: Buckets, rewrite_bytes: int) -> None:
        self._buckets = buckets
        self._rewrite_bytes = rewrite_bytes
        self._rewrites: dict[str, int] = {}
        self._routes = [
            ("POST", r"/storage/v1/b", self._create_bucket),
            ("DELETE", r"/storage/v1/b/([^/]+)", self._drop_bucket),
            ("GET", r"/storage/v1/b/([^/]+)/o", self._list),
            ("GET", r"/storage/v1/b/([^/]+)/o/([^/]+)", self._get),
            ("GET", r"/download/storage/v1/b/([^/]+)/o/([^/]+)", self._download),
            ("DELETE", r"/storage/v1/b/([^/]+)/o/([^/]+)", self._delete),
            ("POST", r"/storage/v1/b/([^/]+)/o/([^/]+)/rewriteTo/b/([^/]+)/o/([^/]+)", self._copy),
            ("POST", r"/upload/storage/v1/b/([^/]+)/o", self._upload),
            ("PUT", r"/upload/storage/v1/b/([^/]+)/o", self._continue),
            ("DELETE", r"/upload/storage/v1/b/([^/]+)/o", self._cancel),
        ]

    def answer(self, asked: Asked) -> Answer:
        for method, pattern, serve in self._routes:
            found = re.fullmatch(pattern, asked.path)
            if found and method == asked.method:
                return serve(asked, *map(unquote, found.groups()))
        raise not_offered(f"{asked.method} {asked.path}")

    def _create_bucket(self, asked: Asked) -> Answer:
        asked.only("project")
        name = json.loads(asked.body)["name"]
        self._buckets.create(name)
        return of_json({"kind": "storage#bucket", "name": name})

    def _drop_bucket(self, asked: Asked, bucket: str) -> Answer:
        asked.only()
        self._buckets.drop(bucket)
        return Answer(204)

    def _list(self, asked: Asked, bucket: str) -> Answer:
        asked.only(
            *("prefix", "startOffset", "delimiter", "maxResults", "pageToken", "fields"),
            "projection",
        )
        most = min(asked.number("maxResults") or 1000, 1000)
        start = max(asked.query.get("startOffset", ""), asked.query.get("pageToken", ""))
        delimiter = asked.query.get("delimiter", "")
        listed = self._buckets.list(bucket, asked.query.get("prefix", ""), start, delimiter, most)
        items = [_resource(bucket, one) for one in listed.objects]
        page: dict[str, object] = {"kind": "storage#objects", "items": items}
        if listed.prefixes:
            page["prefixes"] = listed.prefixes
        if listed.next_start is not None:
            page["nextPageToken"] = listed.next_start
        return of_json(_chosen(page, asked.query.get("fields")))

    def _get(self, asked: Asked, bucket: str, name: str) -> Answer:
        asked.only("fields", "projection")
        stored = self._buckets.get(bucket, name)
        return of_json(_chosen(_resource(bucket, stored), asked.query.get("fields")))

    def _download(self, asked: Asked, bucket: str, name: str) -> Answer:
        asked.only("alt", "ifGenerationMatch")
        if asked.query.get("alt") != "media":
            raise malformed("Invalid value for alt.")
        stored = self._buckets.get(bucket, name, asked.number("ifGenerationMatch"))
        return media(stored, asked.headers.get("range"))

    def _delete(self, asked: Asked, bucket: str, name: str) -> Answer:
        asked.only("ifGenerationMatch")
        self._buckets.delete(bucket, name, asked.number("ifGenerationMatch"))
        return Answer(204)

    def _copy(self, asked: Asked, *places: str) -> Answer:
        asked.only("ifGenerationMatch", "rewriteToken", "fields")
        bucket, name, to_bucket, to_name = places
        source = self._buckets.get(bucket, name)
        condition = asked.number("ifGenerationMatch")
        self._buckets.check_condition(to_bucket, to_name, condition)
        token = asked.query.get("rewriteToken", f"{source.generation}-{to_bucket}-{to_name}")
        if "rewriteToken" in asked.query and token not in self._rewrites:
            raise malformed("Invalid rewriteToken.")
        copied = self._rewrites.get(token, 0) + self._rewrite_bytes
        if copied < len(source.data):
            self._rewrites[token] = copied
            done: dict[str, object] = {
                "done": False,
                "rewriteToken": token,
                "totalBytesRewritten": str(copied),
                "objectSize": str(len(source.data)),
            }
        else:
            self._rewrites.pop(token, None)
            made = self._buckets.put(to_bucket, to_name, source.data, condition)
            done = {
                "done": True,
                "resource": _resource(to_bucket, made),
                "totalBytesRewritten": str(len(source.data)),
                "objectSize": str(len(source.data)),
            }
        return of_json(_chosen(done, asked.query.get("fields")))

    def _upload(self, asked: Asked, bucket: str) -> Answer:
        asked.only("uploadType", "ifGenerationMatch")
        kind = asked.query.get("uploadType")
        if kind == "multipart":
            properties, data = _multipart(asked)
            return of_json(_resource(bucket, self._make(asked, bucket, properties, data)))
        if kind != "resumable":
            raise not_offered(f"uploadType {kind}")
        name = _name(asked.body)
        self._buckets.check(bucket)
        upload = self._buckets.begin(Session(bucket, name, asked.number("ifGenerationMatch")))
        place = f"/upload/storage/v1/b/{quote(bucket)}/o?uploadType=resumable&upload_id={upload}"
        return Answer(200, {"location": f"http://{asked.headers['host']}{place}"})

    def _make(self, asked: Asked, bucket: str, properties: bytes, data: bytes) -> Stored:
        name, said = _name(properties), json.loads(properties).get("crc32c")
        found = base64.b64encode(google_crc32c.value(data).to_bytes(4, "big")).decode()
        if said not in {None, found}:
            raise malformed(f"Provided CRC32C {said} doesn't match calculated CRC32C {found}.")
        self._buckets.check(bucket)
        return self._buckets.put(bucket, name, data, asked.number("ifGenerationMatch"))

    def _session(self, asked: Asked, bucket: str) -> Session:
        asked.only("uploadType", "upload_id")
        session = self._buckets.sessions.get(asked.query.get("upload_id", ""))
        if asked.query.get("uploadType") != "resumable" or session is None:
            raise RefusedError(404, "NoSuchUpload", "notFound", "No such upload session.")
        if session.bucket != bucket:
            raise malformed("Upload of another bucket.")
        return session

    def _cancel(self, asked: Asked, bucket: str) -> Answer:
        session = self._session(asked, bucket)
        if session.done is None:
            del self._buckets.sessions[asked.query["upload_id"]]
        return Answer(499)

    def _continue(self, asked: Asked, bucket: str) -> Answer:
        session = self._session(asked, bucket)
        with session.lock:
            if session.done is None:
                self._take(session, asked)
            if session.done is None:
                kept = len(session.data)
                return Answer(308, {"range": f"bytes=0-{kept - 1}"} if kept else {})
            return of_json(_resource(bucket, session.done))

    def _take(self, session: Session, asked: Asked) -> None:
        """Append a part; strict as to where it begins and how long it may be."""
        said = asked.headers.get("content-range", "")
        found = re.fullmatch(r"bytes (?:(\d+)-(\d+)|(\*))/(\d+|\*)", said)
        if not found:
            raise malformed(f"Invalid Content-Range: {said}")
        first, last, nothing, of = found.groups()
        total = None if of == "*" else int(of)
        if not nothing:
            if int(last) + 1 - int(first) != len(asked.body):
                raise malformed("Content-Range does not fit the body.")
            if int(first) != len(session.data):
                raise RefusedError(503, "InvalidRange", "backendError", "Wrong offset of a part.")
            if total is None and len(asked.body) % CHUNK:
                raise malformed("The length of a part is no multiple of 256 KiB.")
            session.data += asked.body
        elif asked.body:
            raise malformed("A question has no body.")
        if total is not None and total < len(session.data):
            raise malformed("More bytes than announced.")
        if total == len(session.data):
            data = bytes(session.data)
            session.done = self._buckets.put(session.bucket, session.name, data, session.condition)
            session.data = bytearray()


def _name(properties: bytes) -> str:
    """The name in the properties of an object that is to be written; others are not offered."""
    fields = json.loads(properties)
    if not fields.keys() <= {"name", "contentType", "crc32c"}:
        raise not_offered(f"properties {sorted(fields)}")
    if not fields.get("name"):
        raise malformed("Required: name")
    return str(fields["name"])


def _multipart(asked: Asked) -> tuple[bytes, bytes]:
    """The properties and the bytes of an object in a body of ``multipart/related``."""
    kind = asked.headers.get("content-type", "")
    found = re.fullmatch(r'multipart/related; boundary="?([^"]+)"?', kind)
    if not found:
        raise malformed(f"Invalid content type {kind}")
    line = b"--" + found[1].encode()
    start, end = line + b"\r\n", b"\r\n" + line + b"--"
    between = b"\r\n" + start
    if not asked.body.startswith(start) or not asked.body.endswith(end):
        raise malformed("Malformed multipart body.")
    first, found_between, second = asked.body[len(start) : -len(end)].partition(between)
    properties, data = first.partition(b"\r\n\r\n")[2], second.partition(b"\r\n\r\n")[2]
    if not found_between or not properties:
        raise malformed("Malformed multipart body.")
    return properties, data


def media(stored: Stored, wanted: str | None) -> Answer:
    """The bytes of an object, or the range of them that a ``Range`` header names."""
    size = len(stored.data)
    headers = {
        "content-type": "application/octet-stream",
        "etag": stored.etag,
        "last-modified": stored.updated.strftime("%a, %d %b %Y %H:%M:%S GMT"),
        "x-goog-generation": str(stored.generation),
        "x-goog-metageneration": "1",
        "x-goog-hash": f"md5={base64_md5(stored)}",
        "x-goog-stored-content-length": str(size),
        "accept-ranges": "bytes",
    }
    if wanted is None:
        return Answer(200, headers, stored.data)
    found = re.fullmatch(r"bytes=(\d*)-(\d*)", wanted)
    if not found or found.groups() == ("", ""):
        raise not_offered(f"range {wanted}")
    first, last = found.groups()
    if not first:
        start, stop = max(size - int(last), 0), size
    else:
        start, stop = int(first), min(int(last) + 1, size) if last else size
    if start >= size:
        raise RefusedError(
            416, "InvalidRange", "requestedRangeNotSatisfiable", "Request range not satisfiable"
        )
    headers["content-range"] = f"bytes {start}-{stop - 1}/{size}"
    return Answer(206, headers, stored.data[start:stop])


def _resource(bucket: str, stored: Stored) -> dict[str, object]:
    updated = stored.updated.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    return {
        "kind": "storage#object",
        "bucket": bucket,
        "name": stored.name,
        "generation": str(stored.generation),
        "metageneration": "1",
        "size": str(len(stored.data)),
        "md5Hash": base64_md5(stored),
        "timeCreated": updated,
        "updated": updated,
    }


def _chosen(value: Mapping[str, object], fields: str | None) -> Mapping[str, object]:
    """``value`` with the fields asked for, such as ``items(name,size),nextPageToken``."""
    if fields is None:
        return value
    if not re.fullmatch(r"\w+(\(\w+(,\w+)*\))?(,\w+(\(\w+(,\w+)*\))?)*", fields):
        raise malformed(f"Invalid field selection {fields}")
    chosen: dict[str, object] = {}
    for name, inner in re.findall(r"(\w+)(?:\(([^)]*)\))?(?:,|$)", fields):
        found = value.get(name)
        if isinstance(found, list) and inner:
            chosen[name] = [{key: one[key] for key in inner.split(",")} for one in found]
        elif found is not None:
            chosen[name] = found
    return chosen
