"""Determine the guarantees of a store from user options, a probe, or the store's declaration.

User options take precedence. A guarantee that the store declares as unknown is tested by a probe of
the store, once per process for each server, container and way of writing. Since a probe writes, it
runs only if a commit depends on the result. A result that allows no commit is not kept.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import fields, replace

from lance_core.commits.base import CommitHandlerSpec
from lance_core.commits.environment import Environment
from lance_core.concurrency.lru_cache import LruCache
from lance_core.errors import InvalidInputError, NoSafeCommitHandlerError
from lance_core.lazy_dataclass import dataclass
from lance_core.plugins.store_cache import CAPABILITY_OPTIONS, Options
from lance_core.store.base import Guarantee, ObjectStore, StoreCapabilities
from lance_core.store.probe import probe
from lance_core.store.secret import plain
from lance_core.store.uri import StoreUrl
from lance_core.store.wrappers.prefix import PrefixStore
from lance_core.store.wrappers.result_checks import CheckedStore

MAX_PROBED = 256
"""Maximum number of cached probe results."""

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
        # No variable holds the value, which frames of an error would show.
        answer = _SPELLINGS.get(plain(options[name]).strip().lower())
        if answer is None:
            raise InvalidInputError(f"option {name!r} can be 'yes', 'no' or 'probe'")
        said[name] = answer
    return replace(capabilities, **said) if said else capabilities


def missing(spec: CommitHandlerSpec, capabilities: StoreCapabilities) -> list[str]:
    """Names of the capabilities that ``spec`` requires and the store does not guarantee, sorted."""
    return sorted(spec.requires - capabilities.guaranteed())


@dataclass(frozen=True, slots=True)
class ProbeVerdict:
    """What a store guarantees. ``is_probed``: by a probe of this process, not by a record of one.

    A verdict belongs to what gives the guarantees (`ObjectStore.guarantor`), so a branch has the
    verdict of its table, and so have other tables in the same bucket.
    """

    capabilities: StoreCapabilities
    is_probed: bool = True


probes: LruCache[Hashable, ProbeVerdict] = LruCache(MAX_PROBED, made_once=True)
"""Verdicts that this process relies on."""

_refuted: LruCache[Hashable, bool] = LruCache(MAX_PROBED)
"""What a probe of this process has found unsafe, and no later one safe: no record is believed."""


def probe_store(
    store: ObjectStore, url: StoreUrl, options: Options, environment: Environment
) -> StoreCapabilities:
    """Probe the store, once per process for each `ProbeVerdict`; this writes to it.

    Returns its capabilities with the user's ``yes`` and ``no`` options applied. Raises the errors
    of a write to the store.
    """
    key = verdict_key(store, url, options)
    verdict = probes.get(key, lambda: ProbeVerdict(probe(store, environment.new_uuid)))
    said = {name: value for name, value in options.items() if plain(value).lower() != "probe"}
    return apply_user_overrides(verdict.capabilities, said)


def verdict_key(store: ObjectStore, url: StoreUrl, options: Options) -> Hashable:
    """What the verdict about ``store`` belongs to."""
    if store.guarantor is not None:
        return store.guarantor
    path = "" if url.netloc else url.path
    while isinstance(store, PrefixStore):  # a branch, in the folder of its table
        path, store = path.removesuffix(f"/{store.prefix}"), store.inner
    if isinstance(store, CheckedStore):
        store = store.inner
    return type(store), url.scheme, url.netloc, path, frozenset(options.items())


def refute(key: Hashable) -> None:
    """Forget the verdict for ``key``, which allows no commit: the next commit probes again.

    Handlers that were chosen by an earlier verdict for ``key`` do not rely on it any more.
    """
    probes.remove(key)
    _refuted.get(key, lambda: True)


def confirm(key: Hashable) -> None:
    """Note that the verdict for ``key`` allows commits."""
    _refuted.remove(key)


def believe(store: ObjectStore, proven: frozenset[str]) -> None:
    """Rely on a record that a probe has shown the guarantees ``proven``."""
    guarantor = store.guarantor
    if guarantor is not None and guarantor not in _refuted:
        known = replace(store.capabilities, **dict.fromkeys(proven, Guarantee.YES))
        probes.get(guarantor, lambda: ProbeVerdict(known, is_probed=False))


def is_from_record(key: Hashable) -> bool:
    """True if the verdict for ``key`` comes from a record, which may prove too little."""
    verdict = probes.peek(key)
    return verdict is not None and not verdict.is_probed


def verdict_of(store: ObjectStore) -> ProbeVerdict | None:
    """The verdict about a store with a `ObjectStore.guarantor`; None without one."""
    return probes.peek(store.guarantor)


def is_probe_requested(options: Options) -> bool:
    """True if the user requests a probe even if the result is known."""
    return any(plain(options[n]).strip().lower() == "probe" for n in PROBED & options.keys())


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
