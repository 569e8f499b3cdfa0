"""The error for a key that no plugin provides."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence

from lance_core.error_texts.install import install
from lance_core.error_texts.suggestions import did_you_mean, nearest, shortened
from lance_core.errors import LanceError, PluginNotFoundError, UnsupportedFeatureError
from lance_core.index.spec import plain_index_type
from lance_core.lazy_dataclass import dataclass
from lance_core.plugins.known_plugins import (
    EXTRA_OF_FUNCTION,
    EXTRA_OF_HANDLER,
    EXTRA_OF_INDEX_TYPE,
)
from lance_core.plugins.loading import (
    DISABLE_VARIABLE,
    ONLY_VARIABLE,
    PluginLoadFailure,
    PluginSource,
)
from lance_core.plugins.offers import AllOffers


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The plugins that are not used, and the names of the distributions that are loaded."""

    failures: Sequence[PluginLoadFailure]
    disabled: Sequence[PluginSource]
    loaded: frozenset[str]


def left_out(every: AllOffers) -> LeftOut:
    """What is not used of the plugins of this environment."""
    loaded = frozenset(plugin.source.distribution.split()[0] for plugin in every.contributions)
    return LeftOut(every.failures, every.disabled, loaded)


def not_found(
    every: AllOffers,
    what: str,
    key: str,
    extras: Mapping[str, str | None],
    installable: Mapping[str, str],
) -> PluginNotFoundError:
    """The error for ``key``, which no plugin provides, with the nearest name and what to install.

    ``what``: the kind of provider, for the message. ``extras``: the existing keys and the extra
    that installs each, or None. ``installable``: the keys that extras provide, and their extras.
    """
    unused = left_out(every)
    text = [f"no plugin provides {what} {shortened(key)}"]
    known = set(extras)
    extra = installable.get(key)
    if extra is None:
        near = nearest(key, {*known, *installable})
        text += [] if near is None else [f"The nearest name is {near!r}"]
        extra = None if near is None or near in known else installable[near]
    present = unused.loaded.union(p.distribution.split()[0] for p in unused.disabled)
    if extra is not None and f"lance-core-{extra}" in unused.loaded:
        served = sorted(name for name in known if extras[name] == extra)
        text.append(f"lance-core[{extra}] is installed and serves {', '.join(served)}")
    elif extra is not None and f"lance-core-{extra}" not in present:
        text.append(install(extra))
    text.append(f"known: {', '.join(sorted(known)) or 'none'}")
    text += [*_described(unused), f"in {this_process()}"]
    return PluginNotFoundError(". ".join(text))


def no_index_type(every: AllOffers, name: str) -> PluginNotFoundError:
    """The error for an index type that no plugin provides."""
    key = plain_index_type(name)
    known = {
        type_name: EXTRA_OF_INDEX_TYPE.get(plain_index_type(type_name))
        for offers in every.index_types.values()
        for type_name in offers[0][1].kinds or (offers[0][1].name,)
    }
    missing = EXTRA_OF_INDEX_TYPE.keys() - every.index_types.keys()
    installable = {name if k == key else k: EXTRA_OF_INDEX_TYPE[k] for k in missing}
    return not_found(every, "an index type", name, known, installable)


def no_handler(every: AllOffers, what: str, key: str, known: Iterable[str]) -> PluginNotFoundError:
    """The error for a commit handler, or its URL suffix, that no plugin provides."""
    extras = {name: EXTRA_OF_HANDLER.get(name) for name in known}
    return not_found(every, what, key, extras, EXTRA_OF_HANDLER)


def no_function(every: AllOffers, name: str) -> LanceError:
    """The error for an SQL function that no plugin provides."""
    unused = left_out(every)
    extra = EXTRA_OF_FUNCTION.get(name.lower())
    if extra is not None:
        text = [f"no plugin provides the SQL function {shortened(name)}", remedy(extra, unused)]
        return PluginNotFoundError(". ".join([*text, f"in {this_process()}"]))
    near = did_you_mean(name, {*every.sql_functions, *EXTRA_OF_FUNCTION})
    unknown = f"the function {name} is not supported in an expression{near}"
    return UnsupportedFeatureError("; ".join([unknown, *_described(unused)]))


def _described(unused: LeftOut) -> list[str]:
    """The plugins that may have provided a key, if there are any."""
    text = []
    if unused.disabled:
        names = "; ".join(map(str, unused.disabled))
        text.append(f"disabled by {ONLY_VARIABLE} or {DISABLE_VARIABLE}: {names}")
    if unused.failures:
        text.append("failed to load: " + "; ".join(map(str, unused.failures)))
    return text


def remedy(extra: str, unused: LeftOut) -> str:
    """What makes the plugin of ``extra`` available, or why it is not used although installed."""
    name = f"lance-core-{extra}"
    if any(plugin.distribution.split()[0] == name for plugin in unused.disabled):
        return f"{name} is disabled by {ONLY_VARIABLE} or {DISABLE_VARIABLE}"
    for failure in unused.failures:
        if failure.distribution.split()[0] == name:
            return f"failed to load: {failure}"
    return install(extra)


def this_process() -> str:
    """Process id, host and interpreter: in a cluster, the installed packages may differ."""
    return f"process {os.getpid()} on {platform.node() or 'this host'}, {sys.executable}"
