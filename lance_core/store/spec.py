"""How a store is made known: the descriptor that a plugin returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, TypeAlias

from lance_core.errors import InvalidInputError, LanceError, PluginLoadError
from lance_core.lazy_dataclass import dataclass
from lance_core.on_demand import import_module
from lance_core.store.base import ObjectStore, StoreCapabilities
from lance_core.store.secret import Secret, wrap_secrets
from lance_core.store.uri import StoreUrl
from lance_core.suggestions import did_you_mean, hint, shortened

StoreFactory: TypeAlias = Callable[[StoreUrl, Mapping[str, "str | Secret"]], ObjectStore]
"""Makes a store rooted at a URL; options have canonical names, secret ones are wrapped."""


_NOTHING_KNOWN = StoreCapabilities()


@dataclass(frozen=True, slots=True)
class ObjectStoreSpec:
    """Describes a store.

    ``schemes``: URL schemes that it serves, in lower case.
    ``factory``: a `StoreFactory`, or ``"module:attribute"`` of one, imported when first used.
    ``capabilities``: what every instance guarantees, before any is opened.
    ``option_aliases``: other names of options, in lower case, with the canonical name of each.
    Names are found whatever their case; others are passed on as they are.
    ``secret_options``: canonical names of options that must never be shown.
    ``options``: canonical names of all options; others are refused. None: they are not checked.
    ``extra``: the extra of the core distribution that installs the plugin, or None.
    ``has_containers``: a URL's host is no host but a container, such as a bucket, of the service
    that the options name; they are sent there whatever the container.
    ``ignores_options_of_others``: options that another installed store declares are passed over.
    It is for stores that need no service: programs open tables here with the options of a service.
    """

    name: str
    schemes: tuple[str, ...]
    factory: StoreFactory | str
    capabilities: StoreCapabilities = _NOTHING_KNOWN
    option_aliases: Mapping[str, str] = field(default_factory=dict, hash=False)
    secret_options: frozenset[str] = frozenset()
    extra: str | None = None
    options: frozenset[str] | None = None
    has_containers: bool = False
    ignores_options_of_others: bool = False

    def open(self, url: StoreUrl, options: Mapping[str, str | Secret]) -> ObjectStore:
        """A store rooted at ``url``; ``options`` as the user gave them.

        Errors of the factory come without its frames, which have secrets among their variables.
        """
        factory, canonical = self.resolve(), self.canonical_options(options)
        failure: LanceError
        try:
            store = factory(url, canonical)
        except LanceError as error:
            failure = error.with_traceback(None)
        else:
            return self._checked(store)
        raise failure

    def _checked(self, store: object) -> ObjectStore:
        if not isinstance(store, ObjectStore):
            raise PluginLoadError(
                f"factory of store {self.name!r} returned {type(store).__name__}, no ObjectStore"
            )
        return store

    def canonical_options(self, options: Mapping[str, str | Secret]) -> dict[str, str | Secret]:
        """``options`` with aliases resolved, whatever their case, and secrets wrapped.

        Raises `InvalidInputError` if one option is given two values under different names.
        """
        known = self._names()
        canonical: dict[str, str | Secret] = {}
        for given, value in options.items():
            name = known.get(given.lower(), given)
            if canonical.setdefault(name, value) != value:
                raise InvalidInputError(
                    f"storage option {name!r} is given two values, one of them as {given!r}"
                )
        return wrap_secrets(canonical, self.secret_options)

    def undeclared_options(self, options: Mapping[str, str | Secret]) -> list[str]:
        """Those names in ``options`` that the descriptor does not mention."""
        known = self._names()
        return [name for name in options if name.lower() not in known]

    def refusal(self, unknown: str, others: Iterable[str] = ()) -> InvalidInputError:
        """The error for an option that the store does not understand; it names the nearest one.

        ``others``: names that components beside the store understand.
        """
        known = self._names()
        suggested = did_you_mean(unknown, {*known, *others}) or hint(unknown, known)
        return InvalidInputError(
            f"store {self.name!r} has no option {shortened(unknown)}{suggested}"
        )

    def _names(self) -> dict[str, str]:
        """Every name of an option, in lower case, with the canonical one."""
        aliases = {name.lower(): canonical for name, canonical in self.option_aliases.items()}
        canonical = {*aliases.values(), *(self.options or ())}
        return {name.lower(): name for name in canonical} | aliases

    def resolve(self) -> StoreFactory:
        """The factory, imported if it is given as text; `PluginLoadError` if that fails."""
        factory: StoreFactory = resolve_factory(self.factory, f"store {self.name!r}")
        return factory


def resolve_factory(factory: object, what: str) -> Callable[..., Any]:
    """``factory`` itself, or what its text ``"module:attribute"`` names; ``what`` names its owner.

    Raises `PluginLoadError` if it cannot be imported or called.
    """
    found = factory
    if isinstance(factory, str):
        module_name, _, attribute = factory.partition(":")
        try:
            found = getattr(import_module(module_name), attribute)
        except (ImportError, AttributeError, ValueError) as error:
            raise PluginLoadError(f"{what} cannot be loaded from {factory!r}: {error}") from error
    if not callable(found):
        raise PluginLoadError(f"{factory!r} of {what} is not callable")
    return found
