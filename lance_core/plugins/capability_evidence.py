"""Determine the guarantees of a store from user options, a probe, or the store's declaration.

User options take precedence. A guarantee that the store declares as unknown is tested by a probe of
the store, once per process for each location and set of options. Since a probe writes, it runs only
if a commit depends on the result.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import fields, replace

from lance_core.commits.base import CommitHandlerSpec
from lance_core.commits.environment import Environment
from lance_core.concurrency.lru_cache import LruCache
from lance_core.errors import InvalidInputError, NoSafeCommitHandlerError
from lance_core.plugins.store_cache import CAPABILITY_OPTIONS, Options
from lance_core.store.base import Guarantee, ObjectStore, StoreCapabilities
from lance_core.store.probe import probe
from lance_core.store.secret import plain
from lance_core.store.uri import StoreUrl

MAX_PROBED = 256
"""Maximum number of cached probe results, one per location and set of options."""

PROBED = frozenset({"put_if_absent", "rename_if_absent", "copy_if_absent"})
"""Capabilities that a probe can test."""

_SPELLINGS = {
    "yes": Guarantee.YES,
    "true": Guarantee.YES,
    "on": Guarantee.YES,
    "no": Guarantee.NO,
    "false": Guarantee.NO,
    "off": Guarantee.NO,
    "probe": Guarantee.UNKNOWN,
}


def apply_user_overrides(capabilities: StoreCapabilities, options: Options) -> StoreCapabilities:
    """``capabilities`` overridden by user options of the same names.

    Raises `InvalidInputError` for an option value other than ``yes``, ``no`` or ``probe``.
    """
    said: dict[str, Guarantee] = {}
    for name in CAPABILITY_OPTIONS.intersection(options):
        text = plain(options[name]).strip().lower()
        if text not in _SPELLINGS:
            raise InvalidInputError(f"option {name!r} can be 'yes', 'no' or 'probe'")
        said[name] = _SPELLINGS[text]
    return replace(capabilities, **said) if said else capabilities


def missing(spec: CommitHandlerSpec, capabilities: StoreCapabilities) -> list[str]:
    """Names of the capabilities that ``spec`` requires and the store does not guarantee, sorted."""
    return sorted(spec.requires - capabilities.guaranteed())


probes: LruCache[Hashable, StoreCapabilities] = LruCache(MAX_PROBED, parents_only=True)
"""Results of probes, by location and options."""


def probe_store(
    store: ObjectStore, url: StoreUrl, options: Options, environment: Environment
) -> StoreCapabilities:
    """Probe the store, once per process for each location and set of options; this writes to it.

    Returns its capabilities with the user's ``yes`` and ``no`` options applied. Raises the errors
    of a write to the store.
    """
    place = (url.scheme, url.netloc, "" if url.netloc else url.path)
    key = (type(store), place, frozenset(options.items()))
    seen = probes.get(key, lambda: probe(store, environment.new_uuid))
    said = {name: value for name, value in options.items() if plain(value).lower() != "probe"}
    return apply_user_overrides(seen, said)


def is_worth_probing(specs: Iterable[CommitHandlerSpec], known: StoreCapabilities) -> bool:
    """True if a probe could show that one of ``specs`` can be used."""
    for spec in specs:
        lacks = missing(spec, known)
        open_questions = [name for name in lacks if getattr(known, name, None) is Guarantee.UNKNOWN]
        if lacks == open_questions and PROBED.issuperset(lacks):
            return True
    return False


def no_safe_handler_error(
    url: StoreUrl, specs: Iterable[CommitHandlerSpec], known: StoreCapabilities
) -> NoSafeCommitHandlerError:
    """The error for a commit to a store that guarantees too little for any of ``specs``."""
    lines = []
    for spec in specs:
        lacks = [f"{name} ({_answer(known, name)})" for name in missing(spec, known)]
        lines.append(f"{spec.name!r} needs {' and '.join(lacks)}")
    return NoSafeCommitHandlerError(
        f"no commit handler is safe on {url}: {'; '.join(lines) or 'none is installed'}. "
        "Remedies: use a store that guarantees one of these; confirm a guarantee with a storage "
        "option such as put_if_absent='yes', if you know that the store has it; coordinate commits "
        f"with a SQL database ({url.scheme}+sql://…), a DynamoDB table "
        f"({url.scheme}+ddb://…), a lease in a store that guarantees put_if_absent "
        f"({url.scheme}+lease://…, lease_uri), a lock of your own (commit_lock), or the handler "
        "in the option commit_handler; or, if there is never more than one writer at a time, "
        "use commit_handler='unsafe'"
    )


def _answer(known: StoreCapabilities, name: str) -> str:
    answer = getattr(known, name, None)
    if not isinstance(answer, Guarantee) or name not in {f.name for f in fields(known)}:
        return "not a capability of stores"
    return answer.value
