"""The descriptor of a store, which a plugin returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, TypeAlias

from lance_core.error_texts.plugin_calls import wrong_result
from lance_core.error_texts.suggestions import ALMOST_EQUAL, nearest, shortened
from lance_core.errors import InvalidInputError, LanceError, PluginLoadError
from lance_core.imports.on_demand import import_module
from lance_core.lazy_dataclass import dataclass
from lance_core.store.base import ObjectStore, StoreCapabilities
from lance_core.store.secret import Secret, without_frames, wrap_secrets
from lance_core.store.secret_detection import looks_secret
from lance_core.store.uri import StoreUrl

StoreFactory: TypeAlias = Callable[[StoreUrl, Mapping[str, "str | Secret"]], ObjectStore]
"""Creates a store rooted at a URL; options have canonical names, secret values are wrapped."""


_NOTHING_KNOWN = StoreCapabilities()


@dataclass(frozen=True, slots=True)
class ObjectStoreSpec:
    """Describes a store.

    ``schemes``: URL schemes that it serves, in lower case.
    ``factory``: a `StoreFactory`, or its import path ``"module:attribute"``, imported on first use.
    ``capabilities``: guarantees of every instance, known before one is opened.
    ``option_aliases``: alternative names of options, in lower case, mapped to canonical names. The
    case of names does not matter; unknown names are passed on unchanged.
    ``secret_options``: canonical names of options that must never be shown.
    ``options``: canonical names of all options; others are refused. A name that ends in ``.*``
    stands for all names with this beginning. None: names are not checked.
    ``extra``: the extra of the core distribution that installs the plugin, or None.
    ``has_containers``: the host of a URL is a container, such as a bucket. The options name the
    service, to which the credentials are sent for every container.
    ``ignores_options_of_others``: options that another installed store declares are ignored. For
    stores without a service: programs open tables in them with the options of a service.
    """

    name: str
    schemes: tuple[str, ...]
    factory: StoreFactory | str
    capabilities: StoreCapabilities = field(default=_NOTHING_KNOWN, hash=False)
    option_aliases: Mapping[str, str] = field(default_factory=dict, hash=False)
    secret_options: frozenset[str] = frozenset()
    extra: str | None = None
    options: frozenset[str] | None = None
    has_containers: bool = False
    ignores_options_of_others: bool = False

    def open(self, url: StoreUrl, options: Mapping[str, str | Secret]) -> ObjectStore:
        """Open a store rooted at ``url``; ``options`` are as the user gave them.

        Errors of the factory are raised without its frames, whose variables contain secrets.
        """
        factory, canonical = self.resolve(), self.canonical_options(options)
        failure: LanceError
        try:
            store = factory(url, canonical)
        except LanceError as error:
            failure = without_frames(error)
        else:
            return self._checked(store)
        raise failure

    def _checked(self, store: object) -> ObjectStore:
        if not isinstance(store, ObjectStore):
            what = f"store {self.name!r}"
            raise PluginLoadError(wrong_result(what, "the factory", store, "an ObjectStore"))
        return store

    def canonical_options(self, options: Mapping[str, str | Secret]) -> dict[str, str | Secret]:
        """``options`` with aliases resolved, regardless of case, and secrets wrapped.

        Raises `InvalidInputError` if one option has two values under different names.
        """
        known = self._names()
        canonical: dict[str, str | Secret] = {}
        for given_name, value in options.items():
            name = known.get(given_name.lower(), given_name)
            if canonical.setdefault(name, value) != value:
                raise InvalidInputError(
                    f"storage option {name!r} is given two values, one of them as {given_name!r}"
                )
        return wrap_secrets(canonical, self.secret_options)

    def undeclared_options(self, options: Mapping[str, str | Secret]) -> list[str]:
        """The names in ``options`` that the descriptor does not declare."""
        known = self._names()
        beginnings = tuple(name[:-1] for name in known if name.endswith(".*"))
        return [
            name
            for name in options
            if name.lower() not in known and not name.lower().startswith(beginnings)
        ]

    def refusal(
        self, unknown: str, others: Iterable[str] = (), owners: Iterable[str] = ()
    ) -> InvalidInputError:
        """The error for an option that the store does not define; it suggests the nearest name.

        ``others``: option names of other components. ``owners``: names of the stores that define
        the option. A name that looks like a secret is not shown.
        """
        if looks_secret(unknown):
            return InvalidInputError(
                f"store {self.name!r} has no option of a name that looks like a secret, which is "
                "not shown: names come before the values"
            )
        known, stores = self._names(), " and ".join(map(repr, owners))
        near = nearest(unknown, known, ALMOST_EQUAL) or nearest(unknown, others, ALMOST_EQUAL)
        if near is None and not stores:
            near = nearest(unknown, known)
        owned = f", which is an option of {stores}" if stores else ""
        names = ", ".join(sorted({*known.values()}))
        suggested = f": did you mean {near!r}?" if near else f"; known: {names or 'none'}"
        return InvalidInputError(
            f"store {self.name!r} has no option {shortened(unknown)}{owned}{suggested}"
        )

    def _names(self) -> dict[str, str]:
        """All option names in lower case, mapped to canonical names."""
        aliases = {name.lower(): canonical for name, canonical in self.option_aliases.items()}
        canonical = {*aliases.values(), *(self.options or ())}
        return {name.lower(): name for name in canonical} | aliases

    def resolve(self) -> StoreFactory:
        """The factory, imported if it is given as text; raises `PluginLoadError`."""
        factory: StoreFactory = resolve_factory(self.factory, f"store {self.name!r}")
        return factory


def resolve_factory(factory: object, what: str) -> Callable[..., Any]:
    """Return ``factory``, or import it from ``"module:attribute"``; ``what`` names its owner.

    Raises `PluginLoadError` if it cannot be imported or is not callable.
    """
    function = factory
    if isinstance(factory, str):
        module_name, _, attribute = factory.partition(":")
        try:
            function = getattr(import_module(module_name), attribute)
        except (ImportError, AttributeError, ValueError) as error:
            raise PluginLoadError(f"{what} cannot be loaded from {factory!r}: {error}") from error
    if not callable(function):
        raise PluginLoadError(f"{factory!r} of {what} is not callable")
    return function
