"""Credentials that end in the middle of work, and the sources of others.

A service refuses a credential from some request on, whoever sends it: requests of other threads
that are under way are refused, too, and must not make the source be asked once more.
"""

from __future__ import annotations

import itertools
import os
import re
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from unittest.mock import patch

from lance_core_testing.network.fault_proxy import FaultProxy, Request
from lance_core_testing.network.faults import Rule
from tests.servers.azurite import ACCOUNT, KEY
from tests.servers.gcs import running_gcs
from tests.servers.keys import running_keys
from tests.soak.mixes import AZURE, DYNAMODB, GCS, S3, Interface
from tests.soak.network import TIMES, Figures, Writers, check, scaled
from tests.soak.places import Place

ENDS = 3
REQUESTS_BETWEEN_ENDS = 40
"""Four writers of three commits each make 166 requests and more, so that all ends meet some."""

OF_KEYS = frozenset({"aws_access_key_id", "aws_secret_access_key", "account_key"})
"""Options that would make a source unnecessary."""

EXTERNAL_ACCOUNT = """{{
"type": "external_account",
"audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/a",
"subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
"token_url": "{url}/token",
"credential_source": {{"file": "{subject}"}}}}"""


@dataclass(frozen=True, slots=True)
class Source:
    """A place whose credentials come from somewhere.

    ``interfaces``: each has credentials of its own. ``named``: what tells the credential of a
    request from others, None for a request without one. ``rule``: refuses one, from so many
    requests on. ``rotate`` makes another credential ready.
    """

    place: Place
    interfaces: Sequence[Interface]
    named: Callable[[Request], str | None]
    rule: Callable[[Interface, str, int], Rule]
    rotate: Callable[[], None] = lambda: None

    def names(self, interface: Interface, requests: Iterable[Request]) -> list[str]:
        """The credentials that requests to an interface came with, without repetitions."""
        named = (self.named(one) for one in requests if fnmatchcase(one.path, interface.path))
        return list(dict.fromkeys(filter(None, named)))


def _without_keys(place: Place, more: Callable[[str], dict[str, str]]) -> Place:
    def options(address: str) -> dict[str, str]:
        kept = {k: v for k, v in place.options(address).items() if k not in OF_KEYS}
        return kept | more(address)

    return Place(place.name, place.endpoint, place.uri, options, has_peers=False)


@contextmanager
def of_aws(place: Place, *interfaces: Interface) -> Iterator[Source]:
    """Keys of a container, for S3 and for DynamoDB."""
    with running_keys() as (address, _):
        source = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": address, "AWS_EC2_METADATA_DISABLED": "1"}
        with patch.dict(os.environ, source):
            yield Source(
                _without_keys(place, lambda _: {}),
                interfaces,
                lambda request: _found(r"Credential=(\w+)/", request.authorization),
                lambda interface, name, since: Rule(
                    interface.expired,
                    path=interface.path,
                    authorization=f"*Credential={name}/*",
                    since=since,
                ),
            )


@contextmanager
def of_gcs() -> Iterator[Source]:
    """Tokens that a service gives for others; it is the same server."""
    with (
        tempfile.TemporaryDirectory() as name,
        running_gcs("--issue", "1000000", "--bucket", "soak") as server,
    ):
        subject = Path(name, "subject")
        subject.write_text("of-this-machine")

        def options(address: str) -> dict[str, str]:
            file = Path(name, f"{address.rpartition(':')[2]}.json")
            file.write_text(EXTERNAL_ACCOUNT.format(url=address, subject=subject))
            return {
                "google_application_credentials": str(file),
                "google_base_url": address,
                "allow_http": "true",
            }

        uri = f"gs://soak/{uuid.uuid4()}.lance"
        yield Source(
            Place("gs", server.endpoint, lambda _: uri, options, has_peers=False),
            [GCS],
            lambda request: _found(r"Bearer (\S+)", request.authorization),
            lambda interface, name, since: Rule(
                interface.expired, authorization=f"Bearer {name}", since=since
            ),
        )


@contextmanager
def of_azure(place: Place) -> Iterator[Source]:
    """Shared access signatures in the environment, where somebody puts new ones."""
    from azure.storage.blob import ContainerSasPermissions, generate_container_sas

    container = place.uri("").split("/")[2]
    made: list[str] = []

    def rotate() -> None:
        made.append(
            generate_container_sas(
                ACCOUNT,
                container,
                account_key=KEY,
                permission=ContainerSasPermissions.from_string("racwdl"),
                expiry=datetime.now(UTC) + timedelta(hours=1 + len(made)),
            )
        )
        os.environ["AZURE_STORAGE_SAS_TOKEN"] = made[-1]

    with patch.dict(os.environ):
        rotate()
        yield Source(
            _without_keys(place, lambda _: {}),
            [AZURE],
            lambda request: _found(r"sig=([^&]+)", request.query),
            lambda interface, name, since: Rule(
                interface.expired, query=f"*sig={name}*", since=since
            ),
            rotate,
        )


def _found(pattern: str, text: str) -> str | None:
    found = re.search(pattern, text)
    return found[1] if found else None


def source_of(place: Place) -> AbstractContextManager[Source]:
    """Where credentials come from at such a place; buckets of GCS are on a server of their own."""
    match place.name:
        case "gs":
            return of_gcs()
        case "az":
            return of_azure(place)
        case "s3":
            return of_aws(place, S3)
    return of_aws(place, S3, DYNAMODB)


def end_at_each_request(source: Source, step: int = 1) -> Figures:
    """One commit for each of its requests, at which the credentials end.

    A slow commit looks at the table once more than others: the requests of none are a measure.
    """
    place = source.place
    with FaultProxy(place.endpoint) as proxy, scaled() as took:
        at = Writers(place.uri(proxy.url), place.options(proxy.url) | TIMES)
        at.run(1, 2)
        proxy.set_rules([])
        at.append()
        found = Figures()
        usual = list(proxy.requests)
        for interface in source.interfaces:
            (name,) = source.names(interface, usual)
            for number in itertools.count(1, step):
                source.rotate()
                proxy.set_rules([source.rule(interface, name, number)])
                if at.append() != "acknowledged":
                    at.wrong.append(f"the end of credentials at request {number} is not survived")
                if sum(fnmatchcase(one.path, interface.path) for one in proxy.requests) < number:
                    break
                names = source.names(interface, proxy.requests)
                if not proxy.struck or len(set(names) - {name}) != 1:
                    at.wrong.append(f"{names} after an end at request {number}")
                found.requests += 1
                found.struck += proxy.struck
                name = names[-1]
        found.longest, found.wrong = max(took), at.wrong
    check(place, at.told, found)
    return found


def end_again_and_again(source: Source, writers: int = 4, commits: int = 20) -> Figures:
    """Writers whose credentials end `ENDS` times."""
    place = source.place
    with FaultProxy(place.endpoint) as proxy, scaled() as took:
        at = Writers(place.uri(proxy.url), place.options(proxy.url) | TIMES)
        thread = threading.Thread(target=at.run, args=(writers, commits))
        thread.start()
        for end in range(1, ENDS + 1):
            while proxy.count() < end * REQUESTS_BETWEEN_ENDS and thread.is_alive():
                time.sleep(0.005)
            source.rotate()
            requests = list(proxy.requests)
            proxy.add_rules(
                source.rule(interface, name, 1)
                for interface in source.interfaces
                for name in source.names(interface, requests)
            )
        thread.join()
        found = Figures(struck=proxy.struck, requests=proxy.count(), longest=max(took))
        found.wrong = at.wrong
        for interface in source.interfaces:
            names = source.names(interface, proxy.requests)
            if len(names) != ENDS + 1:
                found.wrong.append(f"{len(names)} credentials were used where {ENDS} ended")
    check(place, at.told, found)
    return found
