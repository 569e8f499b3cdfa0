"""Sessions of the SDK: whose credentials sign requests, where no keys are given."""

from __future__ import annotations

import functools
import os
from typing import Any

from botocore import credentials, loaders
from botocore.session import Session

from lance_core.store.remote.options import take_boolean
from lance_core_dynamodb import options as names
from lance_core_dynamodb.settings import Access

_NO_REGION = "us-east-1"
"""Where a token is exchanged if no region is given."""


def session_of(access: Access) -> Session:
    """A session that finds the credentials that were asked for, or those of the environment."""
    given = dict(access.identity)
    session = Session(profile=given.get(names.PROFILE))
    session.register_component("data_loader", _loader(session.get_config_variable("data_path")))
    if names.METADATA in given:
        session.set_config_variable("ec2_metadata_service_endpoint", given[names.METADATA])
    if names.METADATA_VERSION_1 in given:
        old_is_allowed = take_boolean({**given}, names.METADATA_VERSION_1)
        session.set_config_variable("ec2_metadata_v1_disabled", not old_is_allowed)
    provider = _provider(access, session)
    if provider is not None:
        resolver = credentials.CredentialResolver([provider])
        session.register_component("credential_provider", resolver)
    return session


@functools.cache
def _loader(data_path: str | None) -> loaders.Loader:
    """Descriptions of services, read once: that takes longer than all else here."""
    return loaders.create_loader(data_path)


def _provider(access: Access, session: Session) -> credentials.CredentialProvider | None:
    """The one source of credentials that was asked for, None for the whole chain."""
    given, source = access.identity, access.identity.get(names.SOURCE)
    if source == "irsa" or (source is None and "aws_web_identity_token_file" in given):
        return _web_identity(access, session)
    if source == "ecs" or (source is None and not given.keys().isdisjoint(names.CONTAINER)):
        container = {name.upper(): given[name] for name in names.CONTAINER if name in given}
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
