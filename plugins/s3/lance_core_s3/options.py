"""The storage options of S3: every name that pylance knows, and what becomes of it."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from lance_core.store.remote import settings as shared

PREFIX = "aws_"
"""Every option is also known without it."""


class Use(enum.Enum):
    """What becomes of an option."""

    HEEDED = "heeded"
    IGNORED = "ignored"
    """It changes nothing here, for the reason that its text says."""
    REFUSED = "refused"
    """Setting it raises `UnsupportedFeatureError`, unless it is set to what holds anyway."""


@dataclass(frozen=True, slots=True)
class Option:
    """A storage option. ``name`` is canonical; ``others`` lead to it.

    ``environment``: variables that stand for it where it is not given, the first that is set.
    Credentials have none here: the SDK looks for them, in many more places.
    """

    name: str
    text: str
    others: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    use: Use = Use.HEEDED
    is_secret: bool = False


def _heeded(name: str, text: str, *others: str) -> Option:
    """An option that is also read from the environment variable of its name."""
    return Option(name, text, others, (name.upper(),))


def _ignored(name: str, text: str) -> Option:
    return Option(name, text, use=Use.IGNORED)


_CREDENTIALS = (
    Option("aws_access_key_id", "Key to sign requests with; with `aws_secret_access_key`."),
    Option("aws_secret_access_key", "The key's secret.", is_secret=True),
    Option("aws_session_token", "Token of temporary keys.", ("aws_token", "token"), is_secret=True),
    Option("aws_profile", "Profile of the AWS configuration files. Not known to pylance."),
    Option(
        "aws_provider_scheme",
        "Where credentials come from: `token` (keys in the options), `ecs` (a container) or `irsa` "
        "(a web identity); else the first of these that is configured, else the AWS chain.",
    ),
    Option("aws_web_identity_token_file", "File with the token of a web identity."),
    Option("aws_role_arn", "Role that the web identity takes."),
    Option("aws_role_session_name", "Name of the web identity's session."),
    Option("aws_endpoint_url_sts", "Address of the service that exchanges the token."),
    Option("aws_container_credentials_relative_uri", "Path at which a container asks for keys."),
    Option("aws_container_credentials_full_uri", "Address at which a container asks for keys."),
    Option("aws_container_authorization_token_file", "File with the token for that address."),
    Option("aws_metadata_endpoint", "Address of the metadata service of a machine in EC2."),
    Option("aws_imdsv1_fallback", "Whether version 1 of the metadata service will do."),
)

_PLACE = (
    Option(
        "aws_endpoint",
        "Address of another server than Amazon's. What it guarantees is tried out before the first "
        "commit.",
        ("aws_endpoint_url", "endpoint_url", "aws_endpoint_url_s3", "endpoint_url_s3"),
        ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    ),
    Option("aws_region", "Region of the bucket.", environment=("AWS_REGION",)),
    Option(
        "aws_default_region",
        "The same, where `aws_region` is not given.",
        environment=("AWS_DEFAULT_REGION",),
    ),
    _heeded(
        "aws_virtual_hosted_style_request",
        "Whether the bucket is part of the host's name. Else Amazon's servers are asked the way "
        "that suits the name, others by path.",
    ),
    Option(
        "aws_bucket",
        "The bucket of the URI; another one is an error.",
        ("aws_bucket_name", "bucket_name"),
    ),
)

_REQUESTS = (
    _heeded("aws_skip_signature", "Send requests without a signature, as to a public bucket."),
    _heeded("aws_unsigned_payload", "Leave bodies out of signatures, where TLS guards them."),
    _heeded("aws_request_payer", "Pay for requests to the bucket of somebody else."),
    _heeded(
        "aws_server_side_encryption",
        "Encryption of what is written: `AES256`, `sse:kms`, `sse:kms:dsse` (or Amazon's names "
        "`aws:kms`, `aws:kms:dsse`) or `sse-c`.",
    ),
    _heeded("aws_sse_kms_key_id", "Key of the key service to encrypt with."),
    _heeded("aws_sse_bucket_key_enabled", "Whether a key of the bucket stands in for it."),
    Option(
        "aws_sse_customer_key_base64",
        "Key of yours for `sse-c`: 32 bytes in base64.",
        environment=("AWS_SSE_CUSTOMER_KEY_BASE64",),
        is_secret=True,
    ),
    _heeded(
        "aws_conditional_put",
        "`etag` (the default): by `If-None-Match`; `disabled`: the server cannot.",
    ),
)

_OTHERS = (
    _ignored("aws_checksum_algorithm", "Signatures cover the SHA-256 of every body."),
    _ignored("aws_copy_if_not_exists", "No commit here copies objects on a condition."),
    _ignored("aws_disable_tagging", "Nothing is tagged."),
    _ignored("aws_disable_bulk_delete", "Objects are deleted one by one."),
    _ignored("use_opendal", "It chooses between two clients of pylance."),
    _ignored("expires_at_millis", "Who gives keys with an end opens the table again with others."),
    _ignored("refresh_offset_millis", "The SDK renews credentials ahead of their end."),
    Option(
        "aws_s3_express",
        "Directory buckets list objects in no order, which finding versions rests on.",
        use=Use.REFUSED,
    ),
)

TABLE = (*_CREDENTIALS, *_PLACE, *_REQUESTS, *_OTHERS)
"""Options of S3 only; `lance_core.store.remote.settings` has those of all remote stores."""

BY_NAME = {option.name: option for option in TABLE}


def _aliases() -> dict[str, str]:
    names = shared.aliases(PREFIX)
    for option in TABLE:
        for name in (option.name, *option.others):
            names |= {name: option.name, name.removeprefix(PREFIX): option.name}
    return names


ALIASES = _aliases()
"""Every name of an option, in lower case, with the canonical one."""

NAMES = frozenset(BY_NAME) | shared.OPTIONS
"""The canonical names of all options."""

SECRETS = frozenset(option.name for option in TABLE if option.is_secret) | shared.SECRET_OPTIONS
