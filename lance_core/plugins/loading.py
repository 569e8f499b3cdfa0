"""Load plugins one by one, so that an error of one plugin does not affect another."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from lance_core.commits.base import CommitHandlerSpec, ManifestStoreSpec
from lance_core.encodings.kernels import ALL_LOOPS, KernelSpec
from lance_core.encodings.plugin_values.value_encoding import ValueEncodingSpec
from lance_core.encodings.registry import EncodingFamily, EncodingSpec
from lance_core.errors import InvalidInputError, PluginLoadError
from lance_core.index.spec import IndexTypeSpec
from lance_core.lazy_dataclass import dataclass
from lance_core.plugins.known_plugins import KNOWN_PLUGINS
from lance_core.store.spec import ObjectStoreSpec
from lance_core.suggestions import hint, shortened
from lance_core.table.indices.index_metadata import details_key

if TYPE_CHECKING:  # the import is slow, so it runs only when plugins are used
    from importlib.metadata import EntryPoint

GROUP = "lance_core"
"""The entry-point group."""

ONLY_VARIABLE = "LANCE_CORE_PLUGINS"
"""Environment variable: comma-separated names of the only entry points to load."""

DISABLE_VARIABLE = "LANCE_CORE_DISABLE_PLUGINS"
"""Environment variable: comma-separated names of entry points not to load, or ``all``."""

_OF_THIS_PROJECT = frozenset(
    name for plugin in KNOWN_PLUGINS for name in (plugin.extra, f"lance-core-{plugin.extra}")
)
"""Plugins that the environment variables may name even if they are not installed."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PluginSource:
    """An available plugin: its name, its origin, and the function that imports it."""

    name: str
    distribution: str
    """Name and version of the distribution, or a text for another origin."""
    load: Callable[[], object]

    def __str__(self) -> str:
        return f"{self.name!r} of {self.distribution}"


@dataclass(frozen=True, slots=True)
class PluginLoadFailure:
    """A plugin that is not used, and the error that is the reason."""

    name: str
    distribution: str
    error: BaseException

    def __str__(self) -> str:
        cause = str(self.error) or "no message"
        return f"{self.name!r} of {self.distribution} ({type(self.error).__name__}: {cause})"


@dataclass(frozen=True, slots=True)
class Contribution:
    """The validated descriptors of one plugin."""

    source: PluginSource
    object_stores: tuple[ObjectStoreSpec, ...]
    commit_handlers: tuple[CommitHandlerSpec, ...]
    manifest_stores: tuple[ManifestStoreSpec, ...]
    encodings: tuple[EncodingSpec, ...]
    kernels: tuple[KernelSpec, ...]
    index_types: tuple[IndexTypeSpec, ...]


@dataclass(frozen=True, slots=True)
class InstalledPlugins:
    """The entry points of this environment, sorted by distribution and name.

    ``sources``: plugins to load. ``disabled``: plugins that an environment variable excludes.
    ``failures``: distributions whose entry points cannot be read.
    """

    sources: tuple[PluginSource, ...] = ()
    disabled: tuple[PluginSource, ...] = ()
    failures: tuple[PluginLoadFailure, ...] = ()


def installed_plugins(environ: Mapping[str, str]) -> InstalledPlugins:
    """The installed plugins, enabled and disabled by the environment variables; imports nothing.

    Raises `InvalidInputError` if a variable names a plugin that is neither installed nor of this
    project: with a misspelt name, the wrong plugins would be enabled or disabled.
    """
    failures: list[PluginLoadFailure] = []
    only = _names(environ.get(ONLY_VARIABLE))
    disabled = _names(environ.get(DISABLE_VARIABLE)) or frozenset()
    sources: list[PluginSource] = []
    excluded: list[PluginSource] = []
    known = set(_OF_THIS_PROJECT)
    for entry_point in _entry_points(failures):
        names, described = {entry_point.name.lower()}, "an unnamed distribution"
        distribution = entry_point.dist
        if distribution is not None:
            names.add(_normal(distribution.name))
            described = f"{distribution.name} {distribution.version}"
        known |= names
        source = PluginSource(entry_point.name, described, entry_point.load)
        is_disabled = "all" in disabled or names & disabled
        is_wanted = only is None or names & only
        (sources if is_wanted and not is_disabled else excluded).append(source)
    _check_variable(environ, ONLY_VARIABLE, known | {"builtin"}, failures)
    _check_variable(environ, DISABLE_VARIABLE, known | {"all"}, failures)
    for group in (sources, excluded):
        group.sort(key=lambda source: (source.distribution, source.name))
    return InstalledPlugins(tuple(sources), tuple(excluded), tuple(failures))


def _check_variable(
    environ: Mapping[str, str],
    variable: str,
    known: set[str],
    failures: Sequence[PluginLoadFailure],
) -> None:
    for part in environ.get(variable, "").split(","):
        name = part.strip().lower()
        if name and name not in known and _normal(name) not in known:
            unread = "".join(f"; failed to load: {failure}" for failure in failures)
            raise InvalidInputError(
                f"{variable} names {shortened(part.strip())}, which is not an installed plugin"
                f"{hint(name, known)}{unread}"
            )


def _names(text: str | None) -> frozenset[str] | None:
    """Normalised names of a comma-separated list; None if there is no list."""
    if text is None:
        return None
    parts = [part.strip().lower() for part in text.split(",")]
    return frozenset(name for part in parts if part for name in (part, _normal(part)))


def _normal(name: str) -> str:
    """A distribution's name in the normalised form of the Python packaging specifications."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _entry_points(failures: list[PluginLoadFailure]) -> Iterable[EntryPoint]:
    import importlib.metadata

    try:
        return importlib.metadata.entry_points(group=GROUP)
    except Exception:
        # One malformed file of any distribution fails the whole call, so read them one by one.
        return list(_readable_entry_points(failures))


def _readable_entry_points(
    failures: list[PluginLoadFailure],
) -> Iterator[EntryPoint]:
    import importlib.metadata

    seen: set[str] = set()
    for distribution in importlib.metadata.distributions():
        try:
            name = distribution.name
            if _normal(name) in seen:  # the first on the path hides later ones
                continue
            seen.add(_normal(name))
            yield from distribution.entry_points.select(group=GROUP)
        except Exception as error:
            described = getattr(distribution, "_path", None) or "a distribution without a name"
            failures.append(PluginLoadFailure("its entry points", str(described), error))


def load(source: PluginSource) -> Contribution | PluginLoadFailure:
    """Import a plugin and collect its descriptors; an error is returned, not raised."""
    try:
        return _collect(source, source.load())
    except (Exception, SystemExit) as error:
        return PluginLoadFailure(source.name, source.distribution, error)


def _collect(source: PluginSource, plugin: object) -> Contribution:
    # A separate manager: a misspelt, wrapped or broken hook of this plugin cannot affect others.
    import pluggy

    from lance_core import hookspecs

    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(hookspecs)
    manager.register(plugin, source.name)
    manager.check_pending()
    if not manager.get_hookcallers(plugin):
        raise PluginLoadError(f"it has no function marked as a hook ({_described(plugin)})")
    hook: Any = manager.hook
    return Contribution(
        source,
        tuple(_checked(hook.lance_object_stores(), ObjectStoreSpec, _check_object_store)),
        tuple(_checked(hook.lance_commit_handlers(), CommitHandlerSpec, _check_handler)),
        tuple(_checked(hook.lance_manifest_stores(), ManifestStoreSpec, _check_manifest_store)),
        tuple(_checked(hook.lance_encodings(), EncodingSpec, _check_encoding)),
        tuple(_checked(hook.lance_kernels(), KernelSpec, _check_kernels)),
        tuple(_checked(hook.lance_index_types(), IndexTypeSpec, _check_index_type)),
    )


def _described(plugin: object) -> str:
    if isinstance(plugin, ModuleType):
        return f"module {plugin.__name__}"
    return type(plugin).__qualname__


def _checked(results: list[Iterable[T]], kind: type[T], check: Callable[[T], None]) -> Iterator[T]:
    """The descriptors of one hook. Raises `PluginLoadError` if one is malformed."""
    for result in results:
        for spec in result:
            if not isinstance(spec, kind):
                raise PluginLoadError(f"expected {kind.__name__}, got {type(spec).__qualname__}")
            check(spec)
            yield spec


def _check_object_store(spec: ObjectStoreSpec) -> None:
    _check_name(spec.name, "name of a store")
    schemes: object = spec.schemes
    if isinstance(schemes, str):  # iteration would give its characters as schemes
        raise PluginLoadError(f"schemes of store {spec.name!r} are text, not a tuple of texts")
    if not spec.schemes:
        raise PluginLoadError(f"store {spec.name!r} has no URL scheme")
    for scheme in spec.schemes:
        _check_name(scheme, "scheme")
    _check_factory(spec.factory, spec.name)
    if spec.options is None:
        return
    _check_options(spec.options, spec.name)
    meant = {*spec.secret_options, *spec.option_aliases.values()}
    for name in sorted(meant - spec.options):
        raise PluginLoadError(
            f"store {spec.name!r} has no option {name!r}, which a secret or an alias names"
            f"{hint(name, spec.options)}"
        )


def _check_handler(spec: CommitHandlerSpec) -> None:
    _check_name(spec.name, "name of a commit handler")
    if spec.url_suffix is not None:
        _check_name(spec.url_suffix, "URL suffix")
    _check_factory(spec.factory, spec.name)
    _check_options(spec.options, spec.name)
    _check_options(spec.shared_options, spec.name)
    if spec.place_option is not None and spec.place_option not in spec.options:
        raise PluginLoadError(
            f"options of {spec.name!r} lack its place_option {spec.place_option!r}"
        )


def _check_manifest_store(spec: ManifestStoreSpec) -> None:
    _check_name(spec.name, "name of a manifest store")
    _check_name(spec.url_suffix, "URL suffix")
    _check_factory(spec.factory, spec.name)
    _check_options(spec.options, spec.name)
    _check_options(spec.shared_options, spec.name)


def _check_encoding(spec: EncodingSpec) -> None:
    key: object = spec.key
    if not isinstance(key, str) or not key:
        raise PluginLoadError(f"key of an encoding is {key!r}")
    if spec.family is EncodingFamily.VALUES and not isinstance(spec, ValueEncodingSpec):
        raise PluginLoadError(f"encoding {key!r} of values is not a ValueEncodingSpec")
    decoder: object = spec.decoder
    if not callable(decoder):
        raise PluginLoadError(f"decoder of {key!r} is not callable")
    if not all(one is None or callable(one) for one in (spec.take, spec.scalar_at)):
        raise PluginLoadError(f"take or scalar_at of {key!r} is not callable")


def _check_kernels(spec: KernelSpec) -> None:
    _check_name(spec.name, "name of kernels")
    for name, loop in spec.loops.items():
        if name not in ALL_LOOPS:
            raise PluginLoadError(f"kernel {name!r} does not exist{hint(name, ALL_LOOPS)}")
        if not callable(loop):
            raise PluginLoadError(f"kernel {name!r} of {spec.name!r} is not callable")


def _check_index_type(spec: IndexTypeSpec) -> None:
    _check_name(spec.name, "name of an index type")
    if not isinstance(spec.details_url, str) or details_key(spec.details_url) is None:
        raise PluginLoadError(f"{spec.details_url!r} cannot be the type URL of an index type")
    _check_factory(spec.factory, spec.name)


def _check_name(name: object, what: str) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9._-]*", name):
        raise PluginLoadError(f"{what} is {name!r}: lower-case letters, digits, '.', '_' and '-'")


def _check_options(options: object, owner: str) -> None:
    if not isinstance(options, frozenset) or not all(isinstance(name, str) for name in options):
        raise PluginLoadError(f"options of {owner!r} are not a frozenset of names")


def _check_factory(factory: object, owner: str) -> None:
    if not callable(factory) and not (isinstance(factory, str) and ":" in factory):
        raise PluginLoadError(f"factory of {owner!r} is neither callable nor 'module:attribute'")
