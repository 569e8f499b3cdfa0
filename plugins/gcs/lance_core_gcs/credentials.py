"""Authorization headers from google-auth credentials, whose tokens are renewed when they expire."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import google.auth
from google.auth import aws, exceptions, identity_pool, impersonated_credentials, pluggable
from google.auth.credentials import AnonymousCredentials, Credentials
from google.oauth2 import credentials as user_credentials
from google.oauth2 import service_account

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.concurrency import ForkSafeLock
from lance_core_gcs.options import (
    CLIENTS,
    Ambient,
    Anonymous,
    CredentialsFile,
    Identity,
    RegisteredClient,
    ServiceAccount,
    Token,
    json_object,
    read_text,
)
from lance_core_remote.client import Failure, RequestError
from lance_core_remote.connection_failures import CONTACT_TIMEOUT, shown

SCOPES = ("https://www.googleapis.com/auth/devstorage.read_write",)
"""Permission to read and write objects."""

_NO_DEFAULT = "Your default credentials were not found"
"""How the SDK's advice begins; its other texts may repeat what a file contains."""

Fetch = Callable[..., Any]
"""A request to a token service, with the signature of google-auth's request objects."""


class Authorization:
    """The authorization headers of ``identity``. Thread-safe; one thread renews for all threads.

    Fetches the first token with the first request. Raises `InvalidInputError` for unusable
    credential files and keys.
    """

    def __init__(self, identity: Identity, fetch: Fetch) -> None:
        self._fetch = fetch
        self._lock = ForkSafeLock()
        self._credentials = _credentials(identity)
        is_fixed = isinstance(identity, Token) or isinstance(
            self._credentials, AnonymousCredentials
        )
        self._can_renew = not is_fixed

    def headers(self) -> dict[str, str]:
        """Headers for a request. Raises `RequestError` if no token is available."""
        credentials = self._credentials
        if self._can_renew and (credentials is None or not credentials.valid):
            with self._lock:
                credentials = self._valid()
        headers: dict[str, str] = {}
        if credentials is not None and credentials.token:
            credentials.apply(headers)
        return headers

    def renew(self) -> bool:
        """Fetch a new token, because the service rejects the current one; False if that fails."""
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
    """The result of ``work``; a google-auth error becomes a `RequestError` without its details.

    google-auth errors contain responses of token services, which may repeat secrets.
    """
    try:
        return work()
    except exceptions.DefaultCredentialsError as error:
        own = shown(str(error))
        failed = RequestError(
            Failure.REFUSED,
            "no credentials were found: give google_service_account, google_service_account_key, "
            "google_application_credentials or google_storage_token, log in with gcloud, or, for "
            "what is public, set google_skip_signature='true'"
            + (f" ({own})" if own.startswith(_NO_DEFAULT) else ""),
        )
    except exceptions.TransportError:
        reason = "the token service cannot be reached"
        failed = RequestError(Failure.UNSENT, reason, contact_timeout=CONTACT_TIMEOUT)
    except exceptions.GoogleAuthError as error:
        failure = Failure.UNSENT if error.retryable else Failure.REFUSED
        reason = f"no token is issued: {_summary(error)}"
        failed = RequestError(failure, reason, contact_timeout=CONTACT_TIMEOUT)
    except Exception as error:  # cryptography raises many types for malformed keys
        failed = RequestError(Failure.REFUSED, f"no token is issued ({type(error).__name__})")
    raise failed


def _summary(error: Exception) -> str:
    """The OAuth error code, such as ``invalid_grant``."""
    first = error.args[0] if error.args else ""
    code = first.partition(":")[0] if isinstance(first, str) else ""
    known = code.replace("_", "").isalpha() and code.islower() and len(code) <= 40
    return code if known else type(error).__name__


MAX_DETECTION = 2.0
"""Maximum seconds for the question whether this is a machine of Google's, which has credentials.
The SDK would send three requests of three seconds, with pauses, where nothing answers."""


def _ambient(fetch: Fetch) -> Credentials:
    def detect(url: str, *, timeout: float = MAX_DETECTION, **arguments: Any) -> Any:
        if url.startswith("https://"):
            return fetch(url, timeout=timeout, **arguments)
        try:
            return fetch(url, timeout=min(timeout, MAX_DETECTION), **arguments)
        except exceptions.TransportError:
            pass
        raise exceptions.DefaultCredentialsError("the metadata service does not respond")

    credentials, _ = google.auth.default(scopes=SCOPES, request=detect)
    return _without_exchange(credentials)


def _credentials(identity: Identity) -> Credentials | None:
    """Credentials of ``identity``; None for ambient ones, which the first request looks up."""
    match identity:
        case Anonymous():
            return AnonymousCredentials()
        case Token(text):
            return user_credentials.Credentials(text.reveal())
        case ServiceAccount(key, source):
            return _loaded({"type": "service_account"} | json_object(key.reveal(), source), source)
        case CredentialsFile(path, source):
            content, source = read_text(path, source), f"file {path!r}"
            return _loaded(json_object(content, source), source)
        case RegisteredClient(name):
            # No public access exists; Google's own libraries share credentials this way.
            return _without_exchange(CLIENTS.get(name)._credentials)  # noqa: SLF001
        case Ambient():
            return None


def _loaded(fields: Mapping[str, Any], source: str) -> Credentials:
    """Credentials from the fields of an application default credentials file, by their type."""
    credential_type = fields.get("type")
    load = (
        _external if credential_type == "external_account" else _LOADERS.get(str(credential_type))
    )
    if load is None:
        known = ", ".join([*_LOADERS, "external_account"])
        raise InvalidInputError(f"{source}: the type of the credentials is none of {known}")
    # The texts of these errors may quote the key.
    try:
        return _without_exchange(load(fields))
    except Exception as error:
        reason = type(error).__name__
    raise InvalidInputError(f"{source}: the credentials cannot be used ({reason})")


def _service_account(fields: Mapping[str, Any]) -> Credentials:
    # Keys for pylance may lack token_uri. Signing tokens locally does not need it.
    filled = {"token_uri": "https://oauth2.googleapis.com/token"} | dict(fields)
    return service_account.Credentials.from_service_account_info(filled, scopes=SCOPES)


def _user(fields: Mapping[str, Any]) -> Credentials:
    return user_credentials.Credentials.from_authorized_user_info(fields)


def _impersonated(fields: Mapping[str, Any]) -> Credentials:
    return impersonated_credentials.Credentials.from_impersonated_service_account_info(
        fields, scopes=SCOPES
    )


def _external(fields: Mapping[str, Any]) -> Credentials:
    """Workload identity federation: through AWS, a program, a file or a URL."""
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
    """Credentials that sign tokens locally instead of fetching them, if they support it."""
    if isinstance(credentials, service_account.Credentials):
        return credentials.with_always_use_jwt_access(True)
    return credentials
