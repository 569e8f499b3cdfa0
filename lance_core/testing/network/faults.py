"""Ways in which requests over a network fail, and rules that say which of them do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is reset; with ``after``, the service has done what was asked for."""

    after: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """This answer; with ``after``, the service has done what was asked for and said otherwise."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    after: bool = False


@dataclass(frozen=True, slots=True)
class Delay:
    """The request arrives so many seconds later."""

    seconds: float


@dataclass(frozen=True, slots=True)
class LateAnswer:
    """The service does what was asked for at once; its answer takes so many seconds more."""

    seconds: float


@dataclass(frozen=True, slots=True)
class SlowBody:
    """The body of the answer comes in pieces, for so many seconds in all."""

    seconds: float
    pieces: int = 10


@dataclass(frozen=True, slots=True)
class Truncated:
    """The connection ends after this share of the answer's body."""

    share: float = 0.5


@dataclass(frozen=True, slots=True)
class Twice:
    """The request arrives twice; the second answer is returned."""


@dataclass(frozen=True, slots=True)
class Without:
    """The request arrives without these headers, as at a server that ignores them."""

    headers: frozenset[str]
    """In lower case."""


Fault: TypeAlias = Reset | Answer | Delay | LateAnswer | SlowBody | Truncated | Twice | Without


def xml_error(status: int, code: str, **options: bool) -> Answer:
    """How S3, GCS (XML) and Azure say ``code``, such as 503 SlowDown or 400 ExpiredToken."""
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>injected</Message></Error>"
    headers = {"Content-Type": "application/xml", "x-ms-error-code": code}
    return Answer(status, body.encode(), headers, **options)


def json_error(status: int, reason: str, **options: bool) -> Answer:
    """How GCS (JSON) and DynamoDB say ``reason``."""
    details = {"code": status, "message": "injected", "errors": [{"reason": reason}]}
    body = json.dumps({"error": details, "__type": reason, "message": "injected"})
    return Answer(status, body.encode(), {"Content-Type": "application/json"}, **options)


@dataclass(frozen=True, slots=True)
class Rule:
    """When a fault strikes: see the module for patterns.

    ``authorization``: a pattern for the header of this name, "" where there is none. ``nth``: only
    the nth request that matches, from 1; ``since``: that one and all later ones. ``times``: at most
    so often. ``probability``: by chance, drawn from the seed of the proxy.
    """

    fault: Fault
    method: str = "*"
    path: str = "*"
    query: str = "*"
    authorization: str = "*"
    nth: int | None = None
    since: int = 1
    times: int | None = None
    probability: float = 1.0
