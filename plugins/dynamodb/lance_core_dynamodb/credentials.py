"""boto3 sessions, which hold the credentials that sign requests, and the region.

The region is that of the options, else of the environment (``AWS_REGION``, ``AWS_DEFAULT_REGION``),
the profile or the machine, else `LAST_REGION`. pylance uses the same order.
"""

from __future__ import annotations

import os
from typing import Any

import boto3
from botocore import credentials, loaders
from botocore.session import Session
from botocore.utils import IMDSRegionProvider

from lance_core_dynamodb import options as names
from lance_core_dynamodb.options import Access
from lance_core_remote.aws_sessions import SESSIONS, shared_loader
from lance_core_remote.option_values import take_boolean

LAST_REGION = "us-west-2"
"""The region of the table if no source names one."""

_NO_REGION = "us-east-1"
"""The region of the token exchange if none is given."""


def session_of(access: Access) -> tuple[boto3.Session, str]:
    """The session with the requested credentials, and the region of the table."""
    identity = dict(access.identity)
    if names.SESSION in identity:
        registered = SESSIONS.get(identity[names.SESSION])
        own = registered.region_name
        return registered, access.region or own or access.default_region or LAST_REGION
    session = Session(profile=identity.get(names.PROFILE))
    session.user_agent_name = "lance-core-dynamodb"  # otherwise boto3 adds its own name
    loader = shared_loader(loaders, session.get_config_variable("data_path"))
    session.register_component("data_loader", loader)
    if names.METADATA in identity:
        session.set_config_variable("ec2_metadata_service_endpoint", identity[names.METADATA])
    if names.METADATA_VERSION_1 in identity:
        old_is_allowed = take_boolean({**identity}, names.METADATA_VERSION_1)
        session.set_config_variable("ec2_metadata_v1_disabled", not old_is_allowed)
    provider = _provider(access, session)
    if provider is not None:
        resolver = credentials.CredentialResolver([provider])
        session.register_component("credential_provider", resolver)
    return boto3.Session(botocore_session=session), _region(session, access)


def _region(session: Session, access: Access) -> str:
    return (
        access.region
        or names.region_of_environment()
        or session.get_config_variable("region")
        or access.default_region
        or IMDSRegionProvider(session).provide()
        or LAST_REGION
    )


def _provider(access: Access, session: Session) -> credentials.CredentialProvider | None:
    """The only source of credentials that the options name; None for the whole AWS chain.

    boto3 itself selects a source only by environment and files, which are shared by the process.
    """
    identity, source = access.identity, access.identity.get(names.SOURCE)
    if source == "irsa" or (source is None and "aws_web_identity_token_file" in identity):
        return _web_identity(access, session)
    if source == "ecs" or (source is None and not identity.keys().isdisjoint(names.CONTAINER)):
        container = {name.upper(): identity[name] for name in names.CONTAINER if name in identity}
        return credentials.ContainerProvider({**os.environ, **container})
    return None


def _web_identity(access: Access, session: Session) -> credentials.CredentialProvider:
    profile = {
        short: access.identity.get(name) or os.environ.get(name.upper())
        for name, short in names.WEB_IDENTITY.items()
    }

    def client_of(service: str, **arguments: Any) -> Any:
        arguments |= {"region_name": access.region or _NO_REGION}
        address = access.identity.get(names.TOKEN_EXCHANGE)
        return session.create_client(service, endpoint_url=address, **arguments)

    known = {name: value for name, value in profile.items() if value}
    return credentials.AssumeRoleWithWebIdentityProvider(
        load_config=lambda: {"profiles": {"": known}},
        client_creator=client_of,
        profile_name="",
        disable_env_vars=True,
    )
