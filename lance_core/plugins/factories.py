"""Calling the factories of plugins: their errors say whose they are and what was to be opened."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from pathlib import PurePath
from typing import TypeVar

from lance_core.commits.base import CommitHandlerSpec, ManifestStoreSpec
from lance_core.errors import LanceError, PluginLoadError, StoreError
from lance_core.store.secret import Secret, wrap_secrets
from lance_core.store.spec import ObjectStoreSpec, resolve_factory
from lance_core.store.uri import StoreUrl

T = TypeVar("T")

_MIN_BLOTTED = 4
"""Characters of a secret that is blotted out of a text. Beside a shorter one no text is shown."""


def call_factory(
    what: str,
    url: StoreUrl,
    options: Mapping[str, str | Secret],
    factory: Callable[[], T],
) -> T:
    """What ``factory`` returns; ``what`` names its descriptor and plugin in errors.

    Errors of this project keep their class. Others become `StoreError`, if they are those of the
    operating system or of a network, or `PluginLoadError`. No error has frames of the factory,
    which hold secrets, or shows the value of a secret option or of the URL.
    """
    failure: LanceError
    try:
        return factory()
    except LanceError as error:
        failure = error.with_traceback(None)
        failure.message = f"{what}, opened at {url}: {failure.message}"
    except Exception as error:
        kind = StoreError if isinstance(error, OSError) else PluginLoadError
        shown = _shown(error, [*_secrets(url), *_secrets_of(options)])
        failure = kind(f"{what}, opened at {url}, failed: {shown}")
    raise failure


def problem_of(spec: ObjectStoreSpec | CommitHandlerSpec | ManifestStoreSpec) -> str | None:
    """Why the factory of ``spec`` cannot be called, None if it can: it is imported, not called."""
    arguments = 4 if isinstance(spec, CommitHandlerSpec) else 2
    try:
        factory = resolve_factory(spec.factory, repr(spec.name))
    except PluginLoadError as error:
        return str(error)
    except Exception as error:
        return f"{spec.factory!r} cannot be imported: {_shown(error, ())}"
    try:
        signature(factory).bind(*[None] * arguments)
    except TypeError as error:
        return f"it is called with {arguments} arguments: {error}"
    except ValueError:
        return None  # compiled code tells nothing
    return None


def _shown(error: Exception, secrets: Iterable[str]) -> str:
    """Class, text and origin of an error, without ``secrets``."""
    text = f": {error}" if str(error) else ""
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        if len(secret) < _MIN_BLOTTED and secret in text:
            text = ""
        text = text.replace(secret, "***")
    origin = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}{text} ({PurePath(origin.filename).name}, line {origin.lineno})"


def _secrets(url: StoreUrl) -> list[str]:
    """What a URL's text hides."""
    user = url.netloc.rpartition("@")[0]
    return [*url.query.values(), user, *user.split(":", 1)]


def _secrets_of(options: Mapping[str, str | Secret]) -> list[str]:
    wrapped = wrap_secrets(options).values()
    return [v.reveal() for v in wrapped if isinstance(v, Secret) and not v.is_missing]
