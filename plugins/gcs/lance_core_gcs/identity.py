"""Who asks: what options can say of credentials, before any of them are used."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from lance_core.errors import InvalidInputError
from lance_core.store.config import Secret

NEEDED = ("client_email", "private_key")
"""What a key of a service account holds at least."""


@dataclass(frozen=True, slots=True)
class Anonymous:
    """Nobody: requests carry no credentials."""


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token that somebody else obtained and that cannot be renewed here."""

    text: Secret


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """A key of a service account, as JSON text.

    ``endpoint`` and ``is_anonymous`` are what object_store reads from such a key for emulators.
    ``source`` is what errors call it.
    """

    key: Secret
    source: str
    endpoint: str | None = None
    is_anonymous: bool = False

    @classmethod
    def read(cls, path: str) -> ServiceAccount:
        """From a file; `InvalidInputError` if it cannot be read or is none."""
        return cls.parse(read_text(path), f"file {path!r}")

    @classmethod
    def parse(cls, text: str, source: str) -> ServiceAccount:
        """From JSON text; `InvalidInputError` if it is none."""
        fields = json_object(text, source)
        is_anonymous = fields.get("disable_oauth", False)
        endpoint = fields.get("gcs_base_url")
        if not isinstance(is_anonymous, bool) or not isinstance(endpoint, str | None):
            raise InvalidInputError(f"{source} is malformed")
        missing = [name for name in NEEDED if not isinstance(fields.get(name), str)]
        if missing and not is_anonymous:
            raise InvalidInputError(
                f"{source} is no key of a service account: it has no {' and no '.join(missing)}"
            )
        return cls(Secret(text), source, endpoint or None, is_anonymous)


@dataclass(frozen=True, slots=True)
class CredentialsFile:
    """A file of application default credentials, of any type."""

    path: str


@dataclass(frozen=True, slots=True)
class Ambient:
    """Whoever the machine or gcloud says: application default credentials."""


Identity: TypeAlias = Anonymous | Token | ServiceAccount | CredentialsFile | Ambient


def read_text(path: str) -> str:
    """The content of a file of credentials; `InvalidInputError` if it cannot be read."""
    try:
        return Path(path).read_text("utf-8")
    except OSError as error:
        raise InvalidInputError(f"{path!r} cannot be read: {error.strerror}") from None
    except ValueError:
        raise InvalidInputError(f"{path!r} is no text") from None


def json_object(text: str, source: str) -> dict[str, object]:
    """The object that ``text`` holds; `InvalidInputError`, without the text, if it holds none."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise InvalidInputError(f"{source} is no JSON object")
    return fields
