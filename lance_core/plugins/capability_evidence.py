"""What a store guarantees, by the evidence there is: the user's word, a probe, the store's word.

A guarantee that the store leaves open is tried out on the store itself, once per process for each
place and set of options, and only when a commit depends on it: a probe writes.
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
"""Places whose probes are remembered."""

PROBED = frozenset({"put_if_absent", "rename_if_absent", "copy_if_absent"})
"""What a probe can find out."""

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
    """``capabilities``, where the user has not said otherwise by an option of the same name.

    Raises `InvalidInputError` for what is neither ``yes``, ``no`` nor ``probe``.
    """
    said: dict[str, Guarantee] = {}
    for name in CAPABILITY_OPTIONS.intersection(options):
        text = plain(options[name]).strip().lower()
        if text not in _SPELLINGS:
            raise InvalidInputError(f"option {name!r} can be 'yes', 'no' or 'probe'")
        said[name] = _SPELLINGS[text]
    return replace(capabilities, **said) if said else capabilities


def missing(spec: CommitHandlerSpec, capabilities: StoreCapabilities) -> list[str]:
    """What ``spec`` requires and is not guaranteed, sorted."""
    return sorted(spec.requires - capabilities.guaranteed())


probes: LruCache[Hashable, StoreCapabilities] = LruCache(MAX_PROBED, parents_only=True)
"""What probes have shown, by place."""


def probe_store(
    store: ObjectStore, url: StoreUrl, options: Options, environment: Environment
) -> StoreCapabilities:
    """What the store guarantees after a probe; the user's word still comes first.

    Raises what a write to the store raises.
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
        "Remedies: use a store that guarantees one of these; vouch for it by a storage option, "
        "such as put_if_absent='yes', if you know better than the store; let something else "
        f"decide: a SQL database ({url.scheme}+sql://…), a DynamoDB table "
        f"({url.scheme}+ddb://…), a lease in a store that guarantees put_if_absent "
        f"({url.scheme}+lease://…, lease_uri), a lock of yours (commit_lock), or any handler that "
        "the option commit_handler names; or, if there is never more than one writer at a time, "
        "commit_handler='unsafe'"
    )


def _answer(known: StoreCapabilities, name: str) -> str:
    answer = getattr(known, name, None)
    if not isinstance(answer, Guarantee) or name not in {f.name for f in fields(known)}:
        return "not a capability of stores"
    return answer.value
