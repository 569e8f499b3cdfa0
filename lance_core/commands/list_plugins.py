"""The command ``lance-core plugins``: what is installed, and what failed to load."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from lance_core.commands import Command, add_storage_option, one_line, storage_options
from lance_core.commits.base import CommitHandlerSpec
from lance_core.encodings.plugin_values.value_encoding import ValueEncodingSpec
from lance_core.encodings.registry import EncodingSpec
from lance_core.errors import LanceError, PluginLoadError
from lance_core.plugins import get_manager, open_store, select_commit_handler
from lance_core.plugins.factory_checks import Spec, problem_of
from lance_core.plugins.loading import DISABLE_VARIABLE, ONLY_VARIABLE, Contribution
from lance_core.plugins.missing_plugin import this_process
from lance_core.store.spec import ObjectStoreSpec
from lance_core.store.uri import parse_uri


class ListPlugins(Command):
    """Lists the plugins of this environment; ``--check`` tries them."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add ``--check`` and ``--option``."""
        parser.add_argument(
            "--check",
            nargs="*",
            metavar="URL",
            help="import every factory, and open a store and a commit handler at each URL",
        )
        add_storage_option(parser)

    def lines(self, options: argparse.Namespace) -> Iterator[str]:
        """One line for each plugin, and for each thing that it provides.

        Raises `PluginLoadError` at the end if a check failed.
        """
        yield from _plugin_lines(options)


def _plugin_lines(options: argparse.Namespace) -> Iterator[str]:
    manager = get_manager()
    for plugin in manager.plugins:
        yield f"{plugin.source.name} ({plugin.source.distribution})"
        yield from _offer_lines(plugin)
    for failure in manager.failures:
        yield f"failed to load: {failure}"
    for source in manager.disabled:
        yield f"disabled by {ONLY_VARIABLE} or {DISABLE_VARIABLE}: {source}"
    yield f"in {this_process()}"
    if options.check is not None:
        yield from _check_lines(options)


def _check_lines(options: argparse.Namespace) -> Iterator[str]:
    """One line for each factory and URL; raises `PluginLoadError` at the end if one failed."""
    problems = len(get_manager().failures)
    for plugin in get_manager().plugins:
        specs: list[Spec] = [
            *plugin.object_stores,
            *plugin.commit_handlers,
            *plugin.manifest_stores,
            *plugin.index_types,
            *plugin.searches,
            *plugin.analyzers,
            *plugin.tools,
            *plugin.commands,
        ]
        for spec in specs:
            problem = problem_of(spec)
            problems += problem is not None
            yield f"factory of {spec.name} ({plugin.source.name}): {problem or 'can be called'}"
        answers = {spec.name: problem_of(spec) for spec in plugin.sql_functions}
        failing = {name: problem for name, problem in answers.items() if problem is not None}
        problems += len(failing)
        for name, problem in failing.items():
            yield f"SQL function {name} ({plugin.source.name}): {problem}"
        if answers and not failing:
            yield f"SQL functions ({plugin.source.name}): can be planned"
    named_options = storage_options(options)
    for url in map(parse_uri, options.check):
        try:
            store = open_store(url, named_options)
            handler = select_commit_handler(store, url, named_options)
        except LanceError as error:
            problems += 1
            yield f"{url}: {error}"
        else:
            yield f"{url}: opens a {type(store).__name__} and a {type(handler).__name__}"
    if problems:
        raise PluginLoadError(f"problems found: {problems}")


def _offer_lines(plugin: Contribution) -> Iterator[str]:
    for store in plugin.object_stores:
        yield f"  store {store.name}: {_store_text(store)}"
    for handler in plugin.commit_handlers:
        yield f"  commit handler {handler.name}: {_handler_text(handler)}"
    for manifest_store in plugin.manifest_stores:
        yield f"  manifest store {manifest_store.name}: +{manifest_store.url_suffix}://"
    for what, specs in (("index type", plugin.index_types), ("search", plugin.searches)):
        yield from (f"  {what} {spec.name}" for spec in specs)
    for what, named in (
        ("SQL functions", plugin.sql_functions),
        ("tools", plugin.tools),
        ("commands", plugin.commands),
        ("analyzers", plugin.analyzers),
    ):
        if named:
            yield f"  {what}: {', '.join(sorted(spec.name for spec in named))}"
    if plugin.file_versions:
        yield f"  file versions: {', '.join(spec.version.value for spec in plugin.file_versions)}"
    if plugin.encodings:
        yield f"  encodings: {', '.join(sorted(set(map(_encoding_text, plugin.encodings))))}"
    for kernels in plugin.kernels:
        yield f"  kernels {kernels.name}: {', '.join(sorted(kernels.loops)) or 'none'}"
        if kernels.note:
            yield f"    {one_line(kernels.note)}"


def _encoding_text(spec: EncodingSpec) -> str:
    return f"{spec.name} ({spec.key})" if isinstance(spec, ValueEncodingSpec) else spec.key


def _store_text(spec: ObjectStoreSpec) -> str:
    urls = ", ".join(f"{scheme}://" for scheme in spec.schemes)
    guarantees = ", ".join(sorted(spec.capabilities.guaranteed()))
    return f"{urls} guarantees {guarantees}"


def _handler_text(spec: CommitHandlerSpec) -> str:
    scheme = f"+{spec.url_suffix}://, " if spec.url_suffix else ""
    if not spec.multi_writer:
        return f"{scheme}for one writer at a time, only if asked for by name"
    return f"{scheme}requires {', '.join(sorted(spec.requires)) or 'nothing'}, rank {spec.rank}"
