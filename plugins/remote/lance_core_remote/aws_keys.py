"""The key pair of AWS, as the storage options of its services give it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.options import Secret
from lance_core_remote.option_values import Options, take

ACCESS_KEY = "aws_access_key_id"
SECRET_KEY = "aws_secret_access_key"  # noqa: S105  # a name
TOKEN = "aws_session_token"  # noqa: S105  # a name


_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_TOKEN")
_TOKENS_OF_SDK = ("AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN")


@dataclass(frozen=True, slots=True)
class Keys:
    """A key pair, with a token if it is temporary."""

    access: str
    secret: Secret
    token: Secret | None = None

    @classmethod
    def of(cls, options: Options) -> Keys | None:
        """The keys that ``options`` give, which it removes there; None if there are none.

        Raises `InvalidInputError` if only a part is given.
        """
        access, secret, token = (take(options, name) for name in (ACCESS_KEY, SECRET_KEY, TOKEN))
        if access is None and secret is None and token is None:
            return None
        if not access or not secret:
            raise InvalidInputError(
                f"storage options {ACCESS_KEY!r} and {SECRET_KEY!r} belong together, and "
                f"{TOKEN!r} to both"
            )
        return cls(access, Secret(secret), Secret(token) if token else None)

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> Keys | None:
        """Temporary keys whose token is in ``AWS_TOKEN``, object_store's name; else None.

        The SDK reads all other keys of the environment.
        """
        access, secret, token = (environment.get(name) for name in _VARIABLES)
        if not (access and secret and token) or any(map(environment.get, _TOKENS_OF_SDK)):
            return None
        return cls(access, Secret(secret), Secret(token))
