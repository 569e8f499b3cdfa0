"""Call the factories of plugins; errors name the plugin and the URL to open."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeVar

from lance_core.errors import LanceError, PluginLoadError, StoreError
from lance_core.imports.on_demand import lazy_module
from lance_core.store.base import ObjectStore
from lance_core.store.secret import Secret, without_frames, wrap_secrets
from lance_core.store.secret_detection import redacted
from lance_core.store.uri import StoreUrl

if TYPE_CHECKING:
    from lance_core.store.wrappers import result_checks as checks
else:
    checks = lazy_module("lance_core.store.wrappers.result_checks")

T = TypeVar("T")


def call_factory(
    what: str,
    url: StoreUrl,
    options: Mapping[str, str | Secret],
    factory: Callable[[], T],
) -> T:
    """Call ``factory``; ``what`` is the name of its descriptor and plugin for error messages.

    Errors of this project keep their class; an `OSError` becomes a `StoreError`, and any other
    error a `PluginLoadError`. The raised error has no traceback of the factory, whose frames hold
    secrets, and its message has no values of secret options or of the URL.
    """
    failure: LanceError
    try:
        return factory()
    except LanceError as error:
        failure = without_frames(error)
        failure.message = f"{what}, opened at {url}: {failure.message}"
    except Exception as error:
        error_type = StoreError if isinstance(error, OSError) else PluginLoadError
        shown = shown_error(error, [*_secrets(url), *_secrets_of(options)])
        failure = error_type(f"{what}, opened at {url}, failed: {shown}")
    raise failure


def checked(
    store: ObjectStore, what: str, url: StoreUrl, options: Mapping[str, str | Secret]
) -> ObjectStore:
    """``store``, with checked results if its class is one of a plugin; see `checked_store`."""
    if vars(type(store)).get("keeps_contract") is True:
        return store  # without importing the module of the checks
    return checks.checked_store(store, what, lambda text: masked(text, url, options))


def masked(text: str, url: StoreUrl, options: Mapping[str, str | Secret]) -> str:
    """``text`` without the values of secret options and of the URL."""
    return redacted(text, [*_secrets(url), *_secrets_of(options)])


def shown_error(error: Exception, secrets: Iterable[str]) -> str:
    """Class, message and origin of an error, without ``secrets``."""
    text = redacted(f": {error}", secrets) if str(error) else ""
    origin = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}{text} ({PurePath(origin.filename).name}, line {origin.lineno})"


def _secrets(url: StoreUrl) -> list[str]:
    """The parts of a URL that its text form does not show: query values, user and password."""
    user = url.netloc.rpartition("@")[0]
    return [*url.query.values(), user, *user.split(":", 1)]


def _secrets_of(options: Mapping[str, str | Secret]) -> list[str]:
    wrapped = wrap_secrets(options).values()
    return [v.reveal() for v in wrapped if isinstance(v, Secret) and not v.is_missing]
