"""Load plugins one by one, so that an error of one plugin does not affect another."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from lance_core.command_spec import CommandSpec
from lance_core.commits.base import CommitHandlerSpec, ManifestStoreSpec
from lance_core.encodings.kernels import KernelSpec
from lance_core.encodings.registry import EncodingSpec
from lance_core.encodings.version import FileVersionSpec
from lance_core.error_texts.plugin_calls import type_of
from lance_core.error_texts.suggestions import hint, shortened
from lance_core.errors import InvalidInputError, PluginLoadError
from lance_core.function_spec import SqlFunctionSpec
from lance_core.imports.provided_names import ToolSpec
from lance_core.index.spec import AnalyzerSpec, IndexTypeSpec, SearchSpec
from lance_core.lazy_dataclass import dataclass
from lance_core.plugins.descriptors import check_descriptor
from lance_core.plugins.extras import EXTRAS
from lance_core.store.namespaces import NamespaceSpec
from lance_core.store.spec import ObjectStoreSpec

if TYPE_CHECKING:  # the import is slow, so it runs only when plugins are used
    from importlib.metadata import EntryPoint

GROUP = "lance_core"
"""The entry-point group."""

ONLY_VARIABLE = "LANCE_CORE_PLUGINS"
"""Environment variable: comma-separated names of the only entry points to load."""

DISABLE_VARIABLE = "LANCE_CORE_DISABLE_PLUGINS"
"""Environment variable: comma-separated names of entry points not to load, or ``all``."""

_OF_THIS_PROJECT = frozenset(name for extra in EXTRAS for name in (extra, f"lance-core-{extra}"))
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
    file_versions: tuple[FileVersionSpec, ...]
    kernels: tuple[KernelSpec, ...]
    index_types: tuple[IndexTypeSpec, ...]
    sql_functions: tuple[SqlFunctionSpec, ...]
    searches: tuple[SearchSpec, ...]
    analyzers: tuple[AnalyzerSpec, ...]
    tools: tuple[ToolSpec, ...]
    commands: tuple[CommandSpec, ...]
    namespaces: tuple[NamespaceSpec, ...]


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

    from lance_core.hookspecs import hooks as hookspecs

    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(hookspecs)
    hooks = {name for name in vars(manager.hook) if not name.startswith("_")}
    manager.register(plugin, source.name)
    _check_names(plugin, hooks, vars(manager.hook))
    manager.check_pending()
    callers = manager.get_hookcallers(plugin)
    if not callers:
        raise PluginLoadError(f"it has no function marked as a hook ({_described(plugin)})")
    _check_marks(plugin, hooks - {caller.name for caller in callers})
    hook: Any = manager.hook
    return Contribution(
        source,
        tuple(_checked(hook.lance_object_stores, ObjectStoreSpec)),
        tuple(_checked(hook.lance_commit_handlers, CommitHandlerSpec)),
        tuple(_checked(hook.lance_manifest_stores, ManifestStoreSpec)),
        tuple(_checked(hook.lance_encodings, EncodingSpec)),
        tuple(_checked(hook.lance_file_versions, FileVersionSpec)),
        tuple(_checked(hook.lance_kernels, KernelSpec)),
        tuple(_checked(hook.lance_index_types, IndexTypeSpec)),
        tuple(_checked(hook.lance_sql_functions, SqlFunctionSpec)),
        tuple(_checked(hook.lance_searches, SearchSpec)),
        tuple(_checked(hook.lance_analyzers, AnalyzerSpec)),
        tuple(_checked(hook.lance_tools, ToolSpec)),
        tuple(_checked(hook.lance_commands, CommandSpec)),
        tuple(_checked(hook.lance_namespaces, NamespaceSpec)),
    )


def _check_names(plugin: object, hooks: set[str], registered: Iterable[str]) -> None:
    """Raise `PluginLoadError` for a hook that does not exist, with the nearest name."""
    unknown = [name for name in registered if name not in hooks and not name.startswith("_")]
    if unknown:
        raise PluginLoadError(
            f"there is no hook {shortened(unknown[0])} ({_described(plugin)})"
            f"{hint(unknown[0], hooks)}"
        )


def _check_marks(plugin: object, hooks: Iterable[str]) -> None:
    """Raise `PluginLoadError` for a function with the name of a hook that is not marked as one."""
    for name in sorted(hooks):
        function = getattr(plugin, name, None)
        module = getattr(function, "__module__", None)
        if callable(function) and module != "lance_core.hookspecs.hooks":
            raise PluginLoadError(
                f"{name} of {_described(plugin)} is not marked as a hook: decorate it with "
                "lance_core.hookspecs.hookimpl"
            )


def _described(plugin: object) -> str:
    if isinstance(plugin, ModuleType):
        return f"module {plugin.__name__}"
    return type(plugin).__qualname__


def _results(caller: Any) -> Iterator[object]:
    """What the functions of a hook return; pluggy itself would drop None."""
    functions = caller.get_hookimpls()
    if any(function.hookwrapper or function.wrapper for function in functions):
        yield from caller()
    else:
        for function in functions:
            yield function.function()


def _checked(caller: Any, spec_class: type[T]) -> Iterator[T]:
    """The descriptors of one hook. Raises `PluginLoadError` if one is malformed."""
    expected = f"a list of {spec_class.__name__}"
    for result in _results(caller):
        if not isinstance(result, Iterable) or isinstance(result, str | bytes | Mapping):
            raise PluginLoadError(f"{caller.name} returned {type_of(result)}, not {expected}")
        for spec in result:
            if not isinstance(spec, spec_class):
                raise PluginLoadError(
                    f"{caller.name} returned a list with {type_of(spec)}, not {expected}"
                )
            try:
                check_descriptor(spec)
            except PluginLoadError as error:
                raise PluginLoadError(f"{caller.name}: {error}") from error
            yield spec
