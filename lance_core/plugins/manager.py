"""The plugin manager: loads plugins and looks up their descriptors by key."""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from lance_core._version import __version__
from lance_core.command_spec import Command
from lance_core.commits.base import CommitHandlerSpec
from lance_core.encodings.registry import EncodingRegistry
from lance_core.encodings.version import FileVersion, FileVersionSpec
from lance_core.errors import InvalidInputError
from lance_core.function_spec import SqlFunctionSpec
from lance_core.imports.on_demand import lazy_module, without_collections
from lance_core.imports.provided_names import ToolSpec
from lance_core.index.spec import IndexTypeSpec, SearchSpec, plain_index_type
from lance_core.lazy_dataclass import dataclass
from lance_core.plugins.checked_results import is_of_this_project
from lance_core.plugins.loading import (
    Contribution,
    InstalledPlugins,
    PluginLoadFailure,
    PluginSource,
    installed_plugins,
    load,
)
from lance_core.plugins.offers import AllOffers, Descriptor, Offers, all_offers, only
from lance_core.store.spec import ObjectStoreSpec, resolve_factory
from lance_core.table.indices.index_metadata import details_key

if TYPE_CHECKING:
    from lance_core.index.analysis import Analyzer
    from lance_core.plugins import known_plugins, missing_plugin
    from lance_core.store.namespaces import NamespaceFactory
else:
    known_plugins = lazy_module("lance_core.plugins.known_plugins")
    missing_plugin = lazy_module("lance_core.plugins.missing_plugin")

BUILTIN = "lance_core.plugins.builtin"
"""The module of the built-in plugin; it is imported by name, like other plugins."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Installed:
    """The results of loading the entry points of this environment."""

    loaded: list[Contribution]
    failed: list[PluginLoadFailure]
    disabled: tuple[PluginSource, ...]


class PluginManager:
    """Finds stores, handlers, encodings, file versions, index types and SQL functions by key.

    Plugins are the built-in plugin, entry points (unless ``entry_points`` is False or the
    environment variables `LANCE_CORE_PLUGINS` and `LANCE_CORE_DISABLE_PLUGINS` exclude them), and
    plugins that `register` adds. They are loaded at the first look-up. Thread-safe.

    All look-ups raise `InvalidInputError` if one of the variables names an unknown plugin.
    """

    def __init__(
        self, *, entry_points: bool = True, environ: Mapping[str, str] | None = None
    ) -> None:
        self._use_entry_points = entry_points
        self._environ = os.environ if environ is None else environ
        self._lock = threading.RLock()
        self._registered: dict[str, object] = {}
        self._installed: _Installed | None = None
        self._collected: AllOffers | None = None

    def register(self, plugin: object, name: str | None = None) -> str:
        """Add a plugin object; returns its name for `unregister`.

        The plugin is loaded at the next look-up; errors are reported as for other plugins. Raises
        `InvalidInputError` if the name is in use.
        """
        name = name or getattr(plugin, "__name__", None) or type(plugin).__name__
        with self._lock:
            if name in self._registered:
                raise InvalidInputError(f"a plugin is already registered as {name!r}")
            self._registered[name] = plugin
            self._collected = None
        return name

    def unregister(self, name: str) -> None:
        """Remove a plugin that `register` added. Raises `InvalidInputError` for other names."""
        with self._lock:
            if name not in self._registered:
                raise InvalidInputError(f"no plugin is registered as {name!r}")
            del self._registered[name]
            self._collected = None

    @property
    def plugins(self) -> tuple[Contribution, ...]:
        """The descriptors of each plugin, the built-in plugin first."""
        return self._all().contributions

    @property
    def failures(self) -> tuple[PluginLoadFailure, ...]:
        """The plugins that could not be loaded, with their errors."""
        return self._all().failures

    @property
    def disabled(self) -> tuple[PluginSource, ...]:
        """The installed plugins that an environment variable excludes."""
        return self._all().disabled

    @property
    def encodings(self) -> EncodingRegistry:
        """The encodings and file versions of all plugins, and the inner loops that they use."""
        return self._all().encodings

    @property
    def commit_handlers(self) -> tuple[CommitHandlerSpec, ...]:
        """The commit handlers with a single provider, by descending rank, then by name."""
        return self._all().ranked_handlers

    @property
    def automatic_handlers(self) -> tuple[CommitHandlerSpec, ...]:
        """Those of `commit_handlers` that can be chosen without a request."""
        return self._all().automatic_handlers

    @property
    def handler_options(self) -> Mapping[str, str]:
        """Names of the options of all commit handlers, by `plain_name`."""
        return self._all().handler_options

    def object_store(self, scheme: str) -> ObjectStoreSpec:
        """The store for a URL scheme. Raises `PluginNotFoundError` or `PluginConflictError`."""
        every = self._all()
        if scheme not in every.schemes:
            known = {name: offer[0][1].extra for name, offer in every.schemes.items()}
            raise missing_plugin.not_found(
                every, "a store for scheme", scheme, known, known_plugins.EXTRA_OF_SCHEME
            )
        return only("a store for scheme", scheme, every.schemes[scheme])

    def commit_handler(self, name: str) -> CommitHandlerSpec:
        """The commit handler ``name``. Raises `PluginNotFoundError` or `PluginConflictError`."""
        every = self._all()
        if name not in every.handlers:
            raise missing_plugin.no_handler(every, "a commit handler", name, every.handlers)
        return only("commit handler", name, every.handlers[name])

    def url_suffix(self, suffix: str) -> CommitHandlerSpec:
        """The commit handler for ``scheme+suffix://`` URLs. Raises like `commit_handler`."""
        every = self._all()
        if suffix not in every.handler_suffixes:
            what = "a commit handler for URL suffix"
            raise missing_plugin.no_handler(every, what, suffix, every.handler_suffixes)
        return only("URL suffix", suffix, every.handler_suffixes[suffix])

    def index_type(self, name: str) -> IndexTypeSpec:
        """The index type ``name``; the case and underscores do not matter.

        Raises `PluginNotFoundError` or `PluginConflictError`.
        """
        every, key = self._all(), plain_index_type(name)
        if key not in every.index_types:
            raise missing_plugin.no_index_type(every, name)
        return only("an index type", name, every.index_types[key])

    def index_type_of(self, type_url: str) -> IndexTypeSpec | None:
        """The index type whose details have the type ``type_url``, None if there is none.

        Raises `PluginConflictError`.
        """
        offers = self._all().index_details.get(details_key(type_url) or "")
        return None if offers is None else only("indices of type", type_url, offers)

    def file_version(self, version: FileVersion) -> FileVersionSpec:
        """The descriptor of a file version.

        Raises `PluginNotFoundError` or `PluginConflictError`.
        """
        key, offers = version.value, self._all().file_versions
        what = "file version"
        return self._only(what, key, offers, lambda: known_plugins.EXTRA_OF_FILE_VERSION)

    def sql_function(self, name: str) -> SqlFunctionSpec:
        """The SQL function with this name or alias; the case does not matter.

        Raises `UnsupportedFeatureError` for a name that no plugin is known to provide, and
        `PluginNotFoundError` for one that a plugin of this project provides which is not used.
        Raises `PluginConflictError`.
        """
        every, key = self._all(), name.lower()
        if key not in every.sql_functions:
            raise missing_plugin.no_function(every, name)
        return only("the SQL function", key, every.sql_functions[key])

    def search(self, argument: str) -> SearchSpec:
        """The search that the ``argument`` of a scan asks for.

        Raises `PluginNotFoundError` or `PluginConflictError`.
        """
        offers = self._all().searches
        return self._only("the search", argument, offers, lambda: known_plugins.EXTRA_OF_SEARCH)

    def has_search(self, argument: str) -> bool:
        """True if a plugin provides the search that this ``argument`` of a scan asks for."""
        return argument in self._all().searches

    def analyzer(self, name: str) -> Analyzer:
        """The analyzer of texts ``name``.

        Raises `PluginNotFoundError` or `PluginConflictError`.
        """
        what, offers = "the analyzer", self._all().analyzers
        spec = self._only(what, name, offers, lambda: known_plugins.EXTRA_OF_ANALYZER)
        made: Analyzer = resolve_factory(spec.factory, f"{what} {name!r}")()
        return made

    def tool(self, name: str) -> object:
        """The class or function that users import by ``name`` from a module of the core.

        Raises `PluginNotFoundError`, `PluginConflictError` or `PluginLoadError`.
        """
        what, offers = "the tool", self._all().tools
        spec = self._only(what, name, offers, lambda: known_plugins.EXTRA_OF_TOOL)
        return resolve_factory(spec.path, f"{what} {name!r}")

    def tool_specs(self, name: str) -> list[ToolSpec]:
        """The descriptors of all tools of this ``name``, which several plugins may provide."""
        return [spec for _, spec in self._all().tools.get(name, ())]

    def command(self, name: str) -> Command:
        """The command ``name`` of ``lance-core``.

        Raises `PluginNotFoundError` or `PluginConflictError`.
        """
        what, offers = "the command", self._all().commands
        spec = self._only(what, name, offers, lambda: known_plugins.EXTRA_OF_COMMAND)
        made: Command = resolve_factory(spec.factory, f"{what} {name!r}")()
        return made

    def namespace(self, name: str) -> NamespaceFactory:
        """The class of the namespace ``name``.

        Raises `PluginNotFoundError`, `PluginConflictError` or `PluginLoadError`.
        """
        what, offers = "the namespace", self._all().namespaces
        spec = self._only(what, name, offers, lambda: known_plugins.EXTRA_OF_NAMESPACE)
        return resolve_factory(spec.factory, f"{what} {name!r}")

    def missing_index_type(self, type_url: str) -> str | None:
        """What a use of indices takes whose details have the type ``type_url``, as a text.

        None if a plugin provides the type, and for types that are not of this project.
        """
        every, key = self._all(), details_key(type_url)
        extra = None if key in every.index_details else known_plugins.extra_of_details(key)
        return (
            None if extra is None else missing_plugin.remedy(extra, missing_plugin.left_out(every))
        )

    def provider_of(self, spec: Descriptor) -> str:
        """The name of the plugin that provides ``spec``, for error messages."""
        source = self._all().source_of(spec)
        return "no plugin" if source is None else f"plugin {source}"

    def is_of_this_project(self, spec: IndexTypeSpec | SqlFunctionSpec) -> bool:
        """True if a distribution of this project provides ``spec``."""
        source = self._all().source_of(spec)
        return source is not None and is_of_this_project(source)

    def renew_lock(self) -> None:
        """Replace the lock by an unlocked one, after a fork."""
        self._lock = threading.RLock()

    def _only(
        self,
        what: str,
        name: str,
        offers: Offers[T],
        installable: Callable[[], Mapping[str, str]],
    ) -> T:
        """The only offer of ``name``. ``installable``: the extras of names that may be missing."""
        if name not in offers:
            raise missing_plugin.not_found(
                self._all(), what, name, dict.fromkeys(offers), installable()
            )
        return only(what, name, offers[name])

    def _all(self) -> AllOffers:
        collected = self._collected
        if collected is None:
            with self._lock:
                if self._collected is None:
                    self._collected = self._collect()
                collected = self._collected
        return collected

    def _collect(self) -> AllOffers:
        if self._installed is None:
            installed = _installed(self._use_entry_points, self._environ)
            loaded, failed = _load_all(installed.sources, installed.failures)
            self._installed = _Installed(loaded, failed, installed.disabled)
        contributions, failures = self._installed.loaded, self._installed.failed
        added = [
            PluginSource(name, "a call of register", _returning(plugin))
            for name, plugin in self._registered.items()
        ]
        more, failed = _load_all(added, [])
        return all_offers(
            (*contributions, *more),
            (*failures, *failed),
            self._installed.disabled,
            self.file_version,
        )


def _installed(entry_points: bool, environ: Mapping[str, str]) -> InstalledPlugins:
    builtin = PluginSource(
        "builtin", f"lance-core {__version__}", lambda: importlib.import_module(BUILTIN)
    )
    installed = installed_plugins(environ) if entry_points else InstalledPlugins()
    return replace(installed, sources=(builtin, *installed.sources))


def _load_all(
    sources: Iterable[PluginSource], failures: Iterable[PluginLoadFailure]
) -> tuple[list[Contribution], list[PluginLoadFailure]]:
    with without_collections():
        results = [load(source) for source in sources]
    loaded = [result for result in results if isinstance(result, Contribution)]
    failed = [result for result in results if isinstance(result, PluginLoadFailure)]
    return loaded, [*failures, *failed]


def _returning(plugin: object) -> Callable[[], object]:
    return lambda: plugin


_manager: PluginManager | None = None
_manager_lock = threading.Lock()


def get_manager() -> PluginManager:
    """The manager of this process."""
    global _manager  # noqa: PLW0603  # one per process is what this function is for
    if _manager is None:
        with _manager_lock:
            if _manager is None:
                _manager = PluginManager()
    return _manager


def _renew_locks() -> None:
    """Renew the locks in a forked child: a thread of the parent may have held them at the fork."""
    global _manager_lock  # noqa: PLW0603
    _manager_lock = threading.Lock()
    if _manager is not None:
        _manager.renew_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)
