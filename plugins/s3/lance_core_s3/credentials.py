"""boto3 sessions, which hold the credentials that sign requests."""

from __future__ import annotations

import os
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import boto3
from botocore import credentials, loaders
from botocore.config import Config
from botocore.session import Session

from lance_core_remote.aws_sessions import SESSIONS, shared_loader
from lance_core_s3.options import CredentialSettings

DEFAULT_REGION = "us-east-1"
"""The region for signatures of requests to other servers than Amazon's."""


_ONCE = Config(connect_timeout=5, retries={"total_max_attempts": 1, "mode": "standard"})


def session_of(chosen: CredentialSettings, region: str | None) -> boto3.Session:
    """The registered session, or a new one; ``region`` is that of the web identity service.

    Keys in the options are not part of the session.
    """
    if chosen.session is not None:
        return SESSIONS.get(chosen.session)
    session = Session(profile=chosen.profile)
    session.user_agent_name = "lance-core-s3"  # otherwise boto3 adds its own name
    loader = shared_loader(loaders, session.get_config_variable("data_path"))
    session.register_component("data_loader", loader)
    parsers = session.get_component("response_parser_factory")
    parsers.set_parser_defaults(timestamp_parser=_timestamp)
    if chosen.metadata is not None:
        session.set_config_variable("ec2_metadata_service_endpoint", chosen.metadata)
    if chosen.metadata_version_1 is not None:
        session.set_config_variable("ec2_metadata_v1_disabled", not chosen.metadata_version_1)
    provider = _provider(chosen, session, region)
    if provider is not None:
        resolver = credentials.CredentialResolver([provider])
        session.register_component("credential_provider", resolver)
    return boto3.Session(botocore_session=session)


def _provider(
    chosen: CredentialSettings, session: Session, region: str | None
) -> credentials.CredentialProvider | None:
    """The only source of credentials that the options name; None for the whole AWS chain.

    boto3 itself selects a source only by environment and files, which are shared by the process.
    """
    if chosen.scheme == "irsa" or (chosen.scheme is None and chosen.token_file):
        return _web_identity(chosen, session, region)
    if chosen.scheme == "ecs" or (chosen.scheme is None and chosen.container):
        return credentials.ContainerProvider({**os.environ, **chosen.container})
    return None


def _web_identity(
    chosen: CredentialSettings, session: Session, region: str | None
) -> credentials.CredentialProvider:
    values = {
        "web_identity_token_file": chosen.token_file
        or os.environ.get("AWS_WEB_IDENTITY_TOKEN_FILE"),
        "role_arn": chosen.role or os.environ.get("AWS_ROLE_ARN"),
        "role_session_name": chosen.role_session or os.environ.get("AWS_ROLE_SESSION_NAME"),
    }
    profile = {name: value for name, value in values.items() if value}

    def client_of(service: str, config: Config | None = None, **arguments: Any) -> Any:
        # The store retries; the SDK's own attempts would delay the error of a wrong address.
        arguments["config"] = _ONCE if config is None else config.merge(_ONCE)
        arguments |= {"region_name": region or DEFAULT_REGION}
        return session.create_client(service, endpoint_url=chosen.token_exchange, **arguments)

    return credentials.AssumeRoleWithWebIdentityProvider(
        load_config=lambda: {"profiles": {"": profile}},
        client_creator=client_of,
        profile_name="",
        disable_env_vars=True,
    )


def _timestamp(text: str) -> datetime:
    """Parse a date of a header or listing, many times faster than the SDK does."""
    if text[:4].isdigit():
        return datetime.fromisoformat(text)
    return parsedate_to_datetime(text)
