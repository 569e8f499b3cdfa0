"""The key pair of AWS, as the storage options of its services give it."""

from __future__ import annotations

from lance_core.errors import InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.store.remote.option_values import Options, take
from lance_core.store.secret import Secret

ACCESS_KEY = "aws_access_key_id"
SECRET_KEY = "aws_secret_access_key"  # noqa: S105  # a name
TOKEN = "aws_session_token"  # noqa: S105  # a name


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
