"""Faults of requests over a network, and rules that select requests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is reset; with ``after``, after the service has applied the request."""

    after: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """Respond with this; with ``after``, after the service has applied the request."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    after: bool = False


@dataclass(frozen=True, slots=True)
class Delay:
    """The request is forwarded after a delay in seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class LateAnswer:
    """The service applies the request at once; its response is delayed by some seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class SlowBody:
    """The body of the response is sent in pieces over the given number of seconds."""

    seconds: float
    pieces: int = 10


@dataclass(frozen=True, slots=True)
class Truncated:
    """The connection is closed after this fraction of the response's body."""

    share: float = 0.5


@dataclass(frozen=True, slots=True)
class Twice:
    """The request is forwarded twice; the second response is returned."""


@dataclass(frozen=True, slots=True)
class Without:
    """The request is forwarded without these headers, as if the server ignored them."""

    headers: frozenset[str]
    """In lower case."""


Fault: TypeAlias = Reset | Answer | Delay | LateAnswer | SlowBody | Truncated | Twice | Without


def xml_error(status: int, code: str, **options: bool) -> Answer:
    """The response of S3, GCS (XML) and Azure for ``code``, such as 503 SlowDown."""
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>injected</Message></Error>"
    headers = {"Content-Type": "application/xml", "x-ms-error-code": code}
    return Answer(status, body.encode(), headers, **options)


def json_error(status: int, reason: str, **options: bool) -> Answer:
    """The response of GCS (JSON) and DynamoDB for ``reason``."""
    details = {"code": status, "message": "injected", "errors": [{"reason": reason}]}
    body = json.dumps({"error": details, "__type": reason, "message": "injected"})
    return Answer(status, body.encode(), {"Content-Type": "application/json"}, **options)


@dataclass(frozen=True, slots=True)
class Rule:
    """Selects the requests to which a fault applies; patterns are described in `fault_proxy`.

    ``authorization``: a pattern for the header of this name, "" if it is missing. ``nth``: only the
    nth matching request, counted from 1; ``since``: this one and all later ones. ``times``: maximum
    number of times. ``probability``: chance of a fault, drawn with the seed of the proxy.
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
