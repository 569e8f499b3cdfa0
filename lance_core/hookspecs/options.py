"""Options of plugins: their values, the secrets among them, and texts of errors about them.

Factories get options as texts or as a `Secret`. No error, log line or representation may contain
the text of a secret.
"""

from lance_core.error_texts.suggestions import (
    ALMOST_EQUAL,
    did_you_mean,
    hint,
    nearest,
    shortened,
    unknown_argument,
)
from lance_core.errors import warn_caller
from lance_core.store.secret import (
    Secret,
    carrying_secrets,
    hide_secrets,
    plain,
    without_frames,
    wrap_secrets,
)
from lance_core.store.secret_detection import (
    looks_random,
    looks_secret,
    redacted,
    secret_kind,
    secrets_of_environment,
    shown_path,
    sounds_secret,
    texts_in,
    without_queries,
)
from lance_core.store.uri import shown_uri

__all__ = [
    "ALMOST_EQUAL",
    "Secret",
    "carrying_secrets",
    "did_you_mean",
    "hide_secrets",
    "hint",
    "looks_random",
    "looks_secret",
    "nearest",
    "plain",
    "redacted",
    "secret_kind",
    "secrets_of_environment",
    "shortened",
    "shown_path",
    "shown_uri",
    "sounds_secret",
    "texts_in",
    "unknown_argument",
    "warn_caller",
    "without_frames",
    "without_queries",
    "wrap_secrets",
]
