"""Headers that authorize requests, from tokens that are renewed when they have expired."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import google.auth
from google.auth import aws, exceptions, identity_pool, impersonated_credentials, pluggable
from google.auth.credentials import AnonymousCredentials, Credentials
from google.oauth2 import credentials as user_credentials
from google.oauth2 import service_account

from lance_core.concurrency.fork_safe import ForkSafeLock
from lance_core.errors import InvalidInputError
from lance_core.store.remote.client import Failure, RequestError
from lance_core_gcs.identity import (
    Ambient,
    Anonymous,
    CredentialsFile,
    Identity,
    ServiceAccount,
    Token,
    json_object,
    read_text,
)

SCOPES = ("https://www.googleapis.com/auth/devstorage.read_write",)
"""Reading and writing objects, and nothing else."""

Fetch = Callable[..., Any]
"""A request to a token service, as google-auth makes it."""


class Authorization:
    """The headers by which ``identity`` is known. Thread-safe; one thread renews for all.

    Nothing is asked before the first request needs it. Raises `InvalidInputError` for files and
    keys that cannot be used.
    """

    def __init__(self, identity: Identity, fetch: Fetch) -> None:
        self._fetch = fetch
        self._lock = ForkSafeLock()
        self._can_renew = not isinstance(identity, Anonymous | Token)
        self._credentials = _credentials(identity)

    def headers(self) -> dict[str, str]:
        """Headers for a request; `RequestError` if there is no token to be had."""
        credentials = self._credentials
        if self._can_renew and (credentials is None or not credentials.valid):
            with self._lock:
                credentials = self._valid()
        headers: dict[str, str] = {}
        if credentials is not None and credentials.token:
            credentials.apply(headers)
        return headers

    def renew(self) -> bool:
        """Get another token, because the service refuses this one. Whether there is one."""
        if not self._can_renew:
            return False
        with self._lock:
            credentials = self._credentials
            if credentials is not None:
                _guarded(lambda: credentials.refresh(self._fetch))
        return True

    def _valid(self) -> Credentials:
        """Credentials with a token that has not expired."""
        credentials = self._credentials
        if credentials is None:
            credentials = _guarded(lambda: _ambient(self._fetch))
        if not credentials.valid:
            _guarded(lambda: credentials.refresh(self._fetch))
        self._credentials = credentials
        return credentials


def _guarded(work: Callable[[], Any]) -> Any:
    """What ``work`` returns; a failure of google-auth as a `RequestError` without its details.

    Its errors carry answers of token services, which can hold what was sent to them.
    """
    try:
        return work()
    except exceptions.DefaultCredentialsError:
        failed = RequestError(
            Failure.REFUSED,
            "no credentials were found: give google_service_account, google_service_account_key, "
            "google_application_credentials or google_storage_token, log in with gcloud, or, for "
            "what is public, set google_skip_signature='true'",
        )
    except exceptions.TransportError:
        failed = RequestError(Failure.UNSENT, "the token service cannot be reached")
    except exceptions.GoogleAuthError as error:
        kind = Failure.UNSENT if error.retryable else Failure.REFUSED
        failed = RequestError(kind, f"no token is issued: {_summary(error)}")
    except Exception as error:  # whatever a library of cryptography makes of a bad key
        failed = RequestError(Failure.REFUSED, f"no token is issued ({type(error).__name__})")
    raise failed


def _summary(error: Exception) -> str:
    """The code by which OAuth names a failure, such as ``invalid_grant``."""
    first = error.args[0] if error.args else ""
    code = first.partition(":")[0] if isinstance(first, str) else ""
    known = code.replace("_", "").isalpha() and code.islower() and len(code) <= 40
    return code if known else type(error).__name__


def _ambient(fetch: Fetch) -> Credentials:
    credentials, _ = google.auth.default(scopes=SCOPES, request=fetch)
    return _without_exchange(credentials)


def _credentials(identity: Identity) -> Credentials | None:
    """What google-auth calls ``identity``; None for what is looked for when it is needed."""
    match identity:
        case Anonymous():
            return AnonymousCredentials()
        case Token(text):
            return user_credentials.Credentials(text.reveal())
        case ServiceAccount(key, source):
            return _loaded({"type": "service_account"} | json_object(key.reveal(), source), source)
        case CredentialsFile(path):
            source = f"file {path!r}"
            return _loaded(json_object(read_text(path), source), source)
        case Ambient():
            return None


def _loaded(fields: Mapping[str, Any], source: str) -> Credentials:
    """The credentials of a file of application default credentials, by its type."""
    kind = fields.get("type")
    load = _external if kind == "external_account" else _LOADERS.get(str(kind))
    if load is None:
        raise InvalidInputError(f"{source}: credentials of type {kind!r} are not known")
    # Texts of these errors can quote the key.
    try:
        return _without_exchange(load(fields))
    except Exception as error:
        reason = type(error).__name__
    raise InvalidInputError(f"{source}: the credentials cannot be used ({reason})")


def _service_account(fields: Mapping[str, Any]) -> Credentials:
    # Keys made for pylance hold no more than it needs. Tokens are signed here: none is fetched.
    filled = {"token_uri": "https://oauth2.googleapis.com/token"} | dict(fields)
    return service_account.Credentials.from_service_account_info(filled, scopes=SCOPES)


def _user(fields: Mapping[str, Any]) -> Credentials:
    return user_credentials.Credentials.from_authorized_user_info(fields)


def _impersonated(fields: Mapping[str, Any]) -> Credentials:
    return impersonated_credentials.Credentials.from_impersonated_service_account_info(
        fields, scopes=SCOPES
    )


def _external(fields: Mapping[str, Any]) -> Credentials:
    """Workload identity federation: of AWS, by a program, or by a file or an address."""
    if fields.get("subject_token_type") == "urn:ietf:params:aws:token-type:aws4_request":
        return aws.Credentials.from_info(fields, scopes=SCOPES)
    if "executable" in fields.get("credential_source", {}):
        return pluggable.Credentials.from_info(fields, scopes=SCOPES)
    return identity_pool.Credentials.from_info(fields, scopes=SCOPES)


_LOADERS: Mapping[str, Callable[[Mapping[str, Any]], Credentials]] = {
    "service_account": _service_account,
    "authorized_user": _user,
    "impersonated_service_account": _impersonated,
}


def _without_exchange(credentials: Credentials) -> Credentials:
    """Service accounts sign tokens by themselves instead of having them issued."""
    if isinstance(credentials, service_account.Credentials):
        return credentials.with_always_use_jwt_access(True)
    return credentials
