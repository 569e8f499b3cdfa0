"""The objects of a bucket, with generations and what may be asked of them before a write."""

from __future__ import annotations

import base64
import hashlib
import itertools
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple


class RefusedError(Exception):
    """An answer that is no success. ``code`` as XML calls it, ``reason`` as JSON does."""

    def __init__(self, status: int, code: str, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.reason = reason
        self.message = message


def not_offered(what: str) -> RefusedError:
    """What this server does not know is no part of the subset: never passed over in silence."""
    return RefusedError(501, "NotImplemented", "notImplemented", f"not offered here: {what}")


def no_bucket() -> RefusedError:
    return RefusedError(404, "NoSuchBucket", "notFound", "The specified bucket does not exist.")


def condition_failed() -> RefusedError:
    return RefusedError(
        412,
        "PreconditionFailed",
        "conditionNotMet",
        "At least one of the pre-conditions you specified did not hold.",
    )


def malformed(message: str) -> RefusedError:
    return RefusedError(400, "InvalidArgument", "invalid", message)


@dataclass(frozen=True, slots=True)
class Stored:
    """An object. ``generation`` is new with every write."""

    name: str
    data: bytes
    generation: int
    updated: datetime
    md5: bytes

    @property
    def etag(self) -> str:
        """As XML gives it."""
        return f'"{self.md5.hex()}"'


class Listed(NamedTuple):
    """A page: objects, common prefixes, and where the next page begins, or None."""

    objects: list[Stored]
    prefixes: list[str]
    next_start: str | None


@dataclass(slots=True)
class Session:
    """A resumable upload. ``total`` bytes if its start said so; ``done`` is what became of it."""

    bucket: str
    name: str
    condition: int | None
    total: int | None = None
    data: bytearray = field(default_factory=bytearray)
    done: Stored | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(slots=True)
class Multipart:
    """A multipart upload of the XML interface: parts by number."""

    bucket: str
    name: str
    parts: dict[int, bytes] = field(default_factory=dict)


class Buckets:
    """Every bucket, in memory. ``heeds_conditions``: whether conditional writes are conditional."""

    def __init__(self, *, heeds_conditions: bool = True) -> None:
        self._heeds_conditions = heeds_conditions
        self._lock = threading.Lock()
        self._objects: dict[str, dict[str, Stored]] = {}
        self._generations = itertools.count(time.time_ns() // 1000)
        self.sessions: dict[str, Session] = {}
        self.multiparts: dict[str, Multipart] = {}

    def create(self, bucket: str) -> None:
        with self._lock:
            if bucket in self._objects:
                raise RefusedError(409, "BucketAlreadyExists", "conflict", "The bucket exists.")
            self._objects[bucket] = {}

    def drop(self, bucket: str) -> None:
        with self._lock:
            if self._objects.pop(bucket, None) is None:
                raise no_bucket()

    def check(self, bucket: str) -> None:
        with self._lock:
            self._of(bucket)

    def get(self, bucket: str, name: str, generation: int | None = None) -> Stored:
        """An object, or 404; 412 unless it is of ``generation``."""
        with self._lock:
            found = self._of(bucket).get(name)
        if found is None:
            raise RefusedError(404, "NoSuchKey", "notFound", f"No such object: {bucket}/{name}")
        if generation is not None and found.generation != generation:
            raise condition_failed()
        return found

    def put(self, bucket: str, name: str, data: bytes, condition: int | None) -> Stored:
        """Write an object if ``condition``, a generation or 0 for none, holds."""
        if not name or len(name.encode()) > 1024 or "\r" in name or "\n" in name:
            raise malformed("Invalid object name.")
        md5 = hashlib.md5(data, usedforsecurity=False).digest()
        with self._lock:
            objects = self._of(bucket)
            self._check_condition(objects.get(name), condition)
            made = Stored(name, data, next(self._generations), datetime.now(UTC), md5)
            objects[name] = made
        return made

    def check_condition(self, bucket: str, name: str, condition: int | None) -> None:
        """412 unless a write on ``condition`` would be made now."""
        with self._lock:
            self._check_condition(self._of(bucket).get(name), condition)

    def delete(self, bucket: str, name: str, condition: int | None) -> None:
        found = self.get(bucket, name)
        with self._lock:
            self._check_condition(found, condition)
            self._of(bucket).pop(name, None)

    def list(self, bucket: str, prefix: str, start: str, delimiter: str, most: int) -> Listed:
        """Objects from ``start`` on, inclusive, in the order of their UTF-8 bytes."""
        with self._lock:
            names = sorted(self._of(bucket), key=str.encode)
            objects = dict(self._objects[bucket])
        page: list[Stored] = []
        prefixes: list[str] = []
        for name, folder in _matching(names, prefix, start, delimiter):
            if folder is not None and folder in prefixes[-1:]:
                continue
            if len(page) + len(prefixes) == most:
                return Listed(page, prefixes, name)
            if folder is not None:
                prefixes.append(folder)
            else:
                page.append(objects[name])
        return Listed(page, prefixes, None)

    def begin(self, session: Session) -> str:
        self.check_condition(session.bucket, session.name, session.condition)
        upload = uuid.uuid4().hex
        self.sessions[upload] = session
        return upload

    def _of(self, bucket: str) -> dict[str, Stored]:
        try:
            return self._objects[bucket]
        except KeyError:
            raise no_bucket() from None

    def _check_condition(self, found: Stored | None, condition: int | None) -> None:
        if condition is None or not self._heeds_conditions:
            return
        if (found.generation if found else 0) != condition:
            raise condition_failed()


def _matching(
    names: list[str], prefix: str, start: str, delimiter: str
) -> Iterator[tuple[str, str | None]]:
    """Names below ``prefix``, each with the folder that stands for it, if one does."""
    for name in names:
        if not name.startswith(prefix) or name.encode() < start.encode():
            continue
        before, found, _ = name[len(prefix) :].partition(delimiter) if delimiter else (name, "", "")
        yield name, f"{prefix}{before}{found}" if found else None


def base64_md5(stored: Stored) -> str:
    return base64.b64encode(stored.md5).decode()
