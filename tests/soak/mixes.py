"""Mixes of faults, and how each service says that it is busy."""

from __future__ import annotations

from dataclasses import dataclass

from lance_core_testing.network.faults import (
    Answer,
    Delay,
    Fault,
    Reset,
    Rule,
    SlowBody,
    Truncated,
    json_error,
    xml_error,
)

LATENCY = 0.03
"""Seconds, for three: pauses between attempts are scaled alike."""

FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.15
"""Of `lance_core_remote.retries`, in seconds, scaled by a hundred."""


@dataclass(frozen=True, slots=True)
class Interface:
    """Paths that are requests to one API, and its words for not now."""

    path: str
    busy: Answer
    limited: Answer
    conflict: Answer
    expired: Answer


S3 = Interface(
    "/?*",
    xml_error(503, "SlowDown"),
    xml_error(429, "TooManyRequests"),
    xml_error(409, "ConditionalRequestConflict"),
    xml_error(400, "ExpiredToken"),
)
DYNAMODB = Interface(
    "/",
    json_error(503, "ServiceUnavailable"),
    json_error(400, "ProvisionedThroughputExceededException"),
    json_error(400, "TransactionConflictException"),
    json_error(400, "ExpiredTokenException"),
)
GCS = Interface(
    "/?*",
    json_error(503, "backendError"),
    json_error(429, "rateLimitExceeded"),
    json_error(409, "conflict"),
    json_error(401, "authError"),
)
AZURE = Interface(
    "/?*",
    xml_error(503, "ServerBusy"),
    xml_error(429, "TooManyRequests"),
    xml_error(409, "PendingCopyOperation"),
    xml_error(401, "InvalidAuthenticationInfo"),
)
WEBDAV = Interface("/*", Answer(503), Answer(429), Answer(423), Answer(401))

INTERFACES = {
    "s3": (S3,),
    "s3+ddb": (S3, DYNAMODB),
    "gs": (GCS,),
    "az": (AZURE,),
    "webdav": (WEBDAV,),
}
"""What is spoken at each kind of place."""


def _bad_network(interface: Interface, times: float) -> list[Rule]:
    """What SlateDB's tests do to it: 15 % resets, 10 % 503, 5 % 429, 35 % latency of 3 s.

    Each independent of the others; half of the resets hide that a request was applied.
    """
    resets = 0.15 * times
    chances: list[tuple[Fault, float]] = [
        (Reset(), resets / 2),
        (Reset(after=True), resets / 2 / (1 - resets / 2)),
        (interface.busy, 0.10 * times),
        (interface.limited, 0.05 * times),
        (Delay(LATENCY), 0.35 * times),
    ]
    return [Rule(fault, path=interface.path, probability=chance) for fault, chance in chances]


def _conflicts(interface: Interface) -> list[Rule]:
    return [
        Rule(interface.conflict, method, interface.path, probability=0.25)
        for method in ("PUT", "POST")
    ]


def _bodies(interface: Interface, fault: Fault) -> list[Rule]:
    return [Rule(fault, "[GP]*", interface.path, probability=0.3)]


def rules(mix: str, kind: str) -> list[Rule]:
    """The rules of a mix at a kind of place."""
    found = []
    for interface in INTERFACES[kind]:
        match mix:
            case "bad network":
                found += _bad_network(interface, 1.0)
            case "twice as bad":
                found += _bad_network(interface, 2.0)
            case "conflicts":
                found += _conflicts(interface)
            case "slow bodies":
                found += _bodies(interface, SlowBody(LATENCY, pieces=4))
            case "truncated bodies":
                found += _bodies(interface, Truncated())
    return found


MIXES = ("bad network", "twice as bad", "conflicts", "slow bodies", "truncated bodies")
