"""The storage options that concern DynamoDB, by all their names.

What decides *which* table is asked is chosen as pylance chooses it: two libraries that ask
different tables about the same versions would lose each other's commits.
"""

from __future__ import annotations

from collections.abc import Mapping

from lance_core.errors import InvalidInputError
from lance_core.store.config import Secret
from lance_core.store.remote import settings as shared
from lance_core.store.secret import wrap_secrets

ENDPOINT = "dynamodb_endpoint"
ACCESS_KEY = "aws_access_key_id"
SECRET_KEY = "aws_secret_access_key"  # noqa: S105  # a name
TOKEN = "aws_session_token"  # noqa: S105  # a name
REGION = "aws_region"
DEFAULT_REGION = "aws_default_region"
PROFILE = "aws_profile"

SOURCE = "aws_provider_scheme"
"""Where credentials come from: ``token`` (the options), ``ecs`` or ``irsa``."""

WEB_IDENTITY = {
    "aws_web_identity_token_file": "web_identity_token_file",
    "aws_role_arn": "role_arn",
    "aws_role_session_name": "role_session_name",
}
"""Options about a role that a web identity takes, by what a profile calls them."""

TOKEN_EXCHANGE = "aws_endpoint_url_sts"  # noqa: S105  # a name

CONTAINER = (
    "aws_container_credentials_relative_uri",
    "aws_container_credentials_full_uri",
    "aws_container_authorization_token_file",
)
"""Options about a container's credentials: variables of its environment, in lower case."""

METADATA = "aws_metadata_endpoint"
METADATA_VERSION_1 = "aws_imdsv1_fallback"

OF_AWS = frozenset(
    {
        *(ACCESS_KEY, SECRET_KEY, TOKEN, REGION, DEFAULT_REGION, PROFILE, SOURCE, TOKEN_EXCHANGE),
        *(*WEB_IDENTITY, *CONTAINER, METADATA, METADATA_VERSION_1),
    }
)
OF_S3 = frozenset({"aws_endpoint", "aws_endpoint_url", "endpoint", "endpoint_url"})
"""Options that say where S3 is. They do not concern DynamoDB, and often come with those that do."""

SECRETS = frozenset({SECRET_KEY, TOKEN}) | shared.SECRET_OPTIONS


def _names() -> dict[str, str]:
    names = {ENDPOINT: ENDPOINT, "aws_token": TOKEN, "token": TOKEN}
    for name in OF_AWS:
        names |= {name: name, name.removeprefix("aws_"): name}
    return names | {name: name for name in shared.OPTIONS} | shared.aliases("aws_")


NAMES: Mapping[str, str] = _names()
"""Every name, in lower case, with the canonical one."""


def concerning(options: Mapping[str, str | Secret]) -> dict[str, str | Secret]:
    """Those of ``options`` that concern DynamoDB, by their canonical names, secrets wrapped.

    Raises `InvalidInputError` if one is given two values.
    """
    given: dict[str, str | Secret] = {}
    for option, value in options.items():
        name = NAMES.get(option.lower())
        if name is not None and given.setdefault(name, value) != value:
            raise InvalidInputError(f"storage option {name!r} is given two values")
    return wrap_secrets(given, SECRETS)
