"""Making the SDK's client: credentials, address, and what it must not do by itself."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import botocore
from botocore import UNSIGNED, credentials, loaders
from botocore.config import Config
from botocore.exceptions import BotoCoreError
from botocore.handlers import add_expect_header
from botocore.session import Session

from lance_core.errors import InvalidInputError
from lance_core.store.remote.log_redaction import LogRedaction
from lance_core.store.remote.settings import RemoteSettings
from lance_core_s3.answers import Answers
from lance_core_s3.settings import CredentialSettings, S3Settings

DEFAULT_REGION = "us-east-1"
"""What requests to others than Amazon are signed for."""

LOG_REDACTION = LogRedaction("boto3", "botocore", "s3transfer", "urllib3")

USER_AGENT = f"lance-core-s3 Botocore/{botocore.__version__}"


def make_client(settings: S3Settings, remote: RemoteSettings) -> Any:
    """A client of S3 that sends every request once.

    Raises `InvalidInputError` if the address or the credentials' settings cannot be used, or if
    requests would not be encrypted on their way and nobody allowed that.
    """
    with LOG_REDACTION.quiet():
        failure = ""
        try:
            client = _client(settings, remote)
        except (BotoCoreError, ValueError) as error:
            failure = f"{settings.bucket!r} cannot be reached through S3: {_first_line(error)}"
    if failure:
        raise InvalidInputError(failure)
    for address in (client.meta.endpoint_url, settings.credentials.token_exchange):
        if address and urlsplit(address).scheme != "https" and not remote.allow_http:
            raise InvalidInputError(
                "an endpoint for S3 is an http:// address: use https://, or allow keys and data to "
                "be sent without encryption by storage option 'allow_http'"
            )
    # Waiting for a "100 Continue" costs a round trip per body.
    client.meta.events.unregister("before-call.s3", add_expect_header)
    stays = _stay if settings.endpoint else _stay_while_looking
    client.meta.events.register_first("needs-retry.s3", stays)
    endpoint = client._endpoint  # noqa: SLF001 (there is no other way to what sends)
    endpoint.http_session = Answers(endpoint.http_session, remote.timeout)
    return client


def _stay(request_dict: Mapping[str, Any], **_: object) -> None:
    """Let the SDK take no answer for a hint that the bucket is elsewhere."""
    request_dict.get("context", {}).get("s3_redirect", {})["redirected"] = True


def _stay_while_looking(request_dict: Mapping[str, Any], operation: Any, **_: object) -> None:
    """The same for the request that asks where it is: the SDK would ask again and again."""
    if operation.name == "HeadBucket":
        _stay(request_dict)


def _client(settings: S3Settings, remote: RemoteSettings) -> Any:
    session = _session(settings)
    keys = settings.credentials.keys
    return session.create_client(
        "s3",
        region_name=_region(settings),
        endpoint_url=_endpoint(settings),
        aws_access_key_id=keys.access if keys else None,
        aws_secret_access_key=keys.secret.reveal() if keys else None,
        aws_session_token=keys.token.reveal() if keys and keys.token else None,
        verify=False if remote.allow_invalid_certificates else None,
        config=_config(settings, remote),
    )


def _config(settings: S3Settings, remote: RemoteSettings) -> Config:
    # The SDK's own is put together anew for each request.
    chosen: dict[str, Any] = {"user_agent": remote.user_agent or USER_AGENT}
    if remote.proxy_url is not None:
        chosen["proxies"] = {"http": remote.proxy_url, "https": remote.proxy_url}
    if settings.credentials.skip:
        chosen["signature_version"] = UNSIGNED
    s3: dict[str, Any] = {"addressing_style": _addressing(settings)}
    if settings.unsigned_payload:
        s3["payload_signing_enabled"] = False
    return Config(
        s3=s3,
        retries={"total_max_attempts": 1, "mode": "standard"},
        connect_timeout=remote.connect_timeout,
        read_timeout=remote.timeout,
        # Those who call wait for some requests themselves.
        max_pool_connections=2 * remote.parallel,
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        tcp_keepalive=True,
        **chosen,
    )


def _region(settings: S3Settings) -> str | None:
    # Amazon itself says which region a bucket is in.
    return settings.region or (DEFAULT_REGION if settings.endpoint else None)


def _addressing(settings: S3Settings) -> str:
    if settings.virtual_hosted is None:
        return "path" if settings.endpoint else "auto"
    return "virtual" if settings.virtual_hosted else "path"


def _endpoint(settings: S3Settings) -> str | None:
    """The address without the bucket, which the SDK puts before it."""
    if settings.endpoint and settings.virtual_hosted:
        scheme, _, host = settings.endpoint.partition("://")
        return f"{scheme}://{host.removeprefix(f'{settings.bucket}.')}"
    return settings.endpoint


def _session(settings: S3Settings) -> Session:
    chosen = settings.credentials
    session = Session(profile=chosen.profile)
    session.register_component("data_loader", _loader(session.get_config_variable("data_path")))
    parsers = session.get_component("response_parser_factory")
    parsers.set_parser_defaults(timestamp_parser=_timestamp)
    if chosen.metadata is not None:
        session.set_config_variable("ec2_metadata_service_endpoint", chosen.metadata)
    if chosen.metadata_version_1 is not None:
        session.set_config_variable("ec2_metadata_v1_disabled", not chosen.metadata_version_1)
    provider = _provider(chosen, session, settings.region)
    if provider is not None:
        resolver = credentials.CredentialResolver([provider])
        session.register_component("credential_provider", resolver)
    return session


@functools.cache
def _loader(data_path: str | None) -> loaders.Loader:
    """Descriptions of services, read once: that takes longer than all else here."""
    return loaders.create_loader(data_path)


def _provider(
    chosen: CredentialSettings, session: Session, region: str | None
) -> credentials.CredentialProvider | None:
    """The one source of credentials that was asked for, None for the whole chain."""
    if chosen.scheme == "irsa" or (chosen.scheme is None and chosen.token_file):
        return _web_identity(chosen, session, region)
    if chosen.scheme == "ecs" or (chosen.scheme is None and chosen.container):
        return credentials.ContainerProvider({**os.environ, **chosen.container})
    return None


def _web_identity(
    chosen: CredentialSettings, session: Session, region: str | None
) -> credentials.CredentialProvider:
    given = {
        "web_identity_token_file": chosen.token_file
        or os.environ.get("AWS_WEB_IDENTITY_TOKEN_FILE"),
        "role_arn": chosen.role or os.environ.get("AWS_ROLE_ARN"),
        "role_session_name": chosen.role_session or os.environ.get("AWS_ROLE_SESSION_NAME"),
    }
    profile = {name: value for name, value in given.items() if value}

    def client_of(service: str, **arguments: Any) -> Any:
        arguments |= {"region_name": region or DEFAULT_REGION}
        return session.create_client(service, endpoint_url=chosen.token_exchange, **arguments)

    return credentials.AssumeRoleWithWebIdentityProvider(
        load_config=lambda: {"profiles": {"": profile}},
        client_creator=client_of,
        profile_name="",
        disable_env_vars=True,
    )


def _timestamp(text: str) -> datetime:
    """A date of a header or a listing, many times faster than the SDK's own way."""
    if text[:4].isdigit():
        return datetime.fromisoformat(text)
    return parsedate_to_datetime(text)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]
