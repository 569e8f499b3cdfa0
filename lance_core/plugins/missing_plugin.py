"""The error for a key that no plugin provides."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Collection, Mapping, Sequence

from lance_core.error_texts.suggestions import did_you_mean, nearest, shortened
from lance_core.errors import LanceError, PluginNotFoundError, UnsupportedFeatureError
from lance_core.lazy_dataclass import dataclass
from lance_core.plugins.known_plugins import EXTRA_OF_FUNCTION
from lance_core.plugins.loading import (
    DISABLE_VARIABLE,
    ONLY_VARIABLE,
    PluginLoadFailure,
    PluginSource,
)


@dataclass(frozen=True, slots=True)
class PluginLookup:
    """A failed look-up of ``key``; ``what`` is the kind of provider, for the error message.

    ``known``: the existing keys and the extra that installs each, or None. ``installable``: the
    keys that extras provide and the extra of each.
    """

    what: str
    key: str
    known: Mapping[str, str | None]
    installable: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The plugins that are not used, and the names of the distributions that are loaded."""

    failures: Sequence[PluginLoadFailure]
    disabled: Sequence[PluginSource]
    loaded: frozenset[str]


def not_found(look: PluginLookup, left_out: LeftOut) -> PluginNotFoundError:
    """The error for a failed look-up, with the nearest name and the extra to install."""
    text = [f"no plugin provides {look.what} {shortened(look.key)}"]
    known = set(look.known)
    extra = look.installable.get(look.key)
    if extra is None:
        near = nearest(look.key, {*known, *look.installable})
        text += [] if near is None else [f"The nearest name is {near!r}"]
        extra = None if near is None or near in known else look.installable[near]
    present = left_out.loaded.union(p.distribution.split()[0] for p in left_out.disabled)
    if extra is not None and f"lance-core-{extra}" in left_out.loaded:
        served = sorted(key for key in known if look.known[key] == extra)
        text.append(f"lance-core[{extra}] is installed and serves {', '.join(served)}")
    elif extra is not None and f"lance-core-{extra}" not in present:
        text.append(f'pip install "lance-core[{extra}]"')
    text.append(f"known: {', '.join(sorted(known)) or 'none'}")
    text += [*_described(left_out), f"in {this_process()}"]
    return PluginNotFoundError(". ".join(text))


def no_function(name: str, known: Collection[str], left_out: LeftOut) -> LanceError:
    """The error for an SQL function that no plugin provides; ``known``: names in lower case."""
    extra = EXTRA_OF_FUNCTION.get(name.lower())
    if extra is not None:
        text = [f"no plugin provides the SQL function {shortened(name)}", remedy(extra, left_out)]
        return PluginNotFoundError(". ".join([*text, f"in {this_process()}"]))
    near = did_you_mean(name, {*known, *EXTRA_OF_FUNCTION})
    unknown = f"the function {name} is not supported in an expression{near}"
    return UnsupportedFeatureError("; ".join([unknown, *_described(left_out)]))


def _described(left_out: LeftOut) -> list[str]:
    """The plugins that may have provided a key, if there are any."""
    text = []
    if left_out.disabled:
        names = "; ".join(map(str, left_out.disabled))
        text.append(f"disabled by {ONLY_VARIABLE} or {DISABLE_VARIABLE}: {names}")
    if left_out.failures:
        text.append("failed to load: " + "; ".join(map(str, left_out.failures)))
    return text


def remedy(extra: str, left_out: LeftOut) -> str:
    """What makes the plugin of ``extra`` available, or why it is not used although installed."""
    name = f"lance-core-{extra}"
    if any(plugin.distribution.split()[0] == name for plugin in left_out.disabled):
        return f"{name} is disabled by {ONLY_VARIABLE} or {DISABLE_VARIABLE}"
    for failure in left_out.failures:
        if failure.distribution.split()[0] == name:
            return f"failed to load: {failure}"
    return f'pip install "lance-core[{extra}]"'


def this_process() -> str:
    """Process id, host and interpreter: in a cluster, the installed packages may differ."""
    return f"process {os.getpid()} on {platform.node() or 'this host'}, {sys.executable}"
