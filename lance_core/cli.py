"""The command ``lance-core``: inspect plugins and tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lance_core._version import __version__
from lance_core.commits.base import CommitHandlerSpec
from lance_core.dataset import LanceDataset
from lance_core.dataset.api import dataset
from lance_core.dataset.values.index_description import IndexDescription
from lance_core.encodings.plugin_values.value_encoding import ValueEncodingSpec
from lance_core.encodings.registry import EncodingSpec
from lance_core.errors import InvalidInputError, LanceError, PluginLoadError, printable
from lance_core.plugins import get_manager, open_store, select_commit_handler
from lance_core.plugins.factories import Spec, problem_of
from lance_core.plugins.loading import DISABLE_VARIABLE, ONLY_VARIABLE, Contribution
from lance_core.plugins.missing_plugin import this_process
from lance_core.plugins.scaffold import KINDS, write_package
from lance_core.schema import Field
from lance_core.store.secret import Secret, wrap_secrets
from lance_core.store.spec import ObjectStoreSpec
from lance_core.store.uri import parse_uri


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit status: 0, or 1 after an error, which is printed."""
    options = _parser().parse_args(arguments)
    try:
        for line in options.lines(options):
            print(line)
        sys.stdout.flush()
    except LanceError as error:
        return _failed(str(error))
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        sys.stdout = None
    except OSError as error:
        sys.stdout = None  # Python would try to write the rest at its end
        return _failed(f"the output could not be written: {error.strerror or error}")
    return 0


def _failed(reason: str) -> int:
    print(f"lance-core: {reason}", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lance-core", description="Look at plugins and tables.")
    parser.add_argument("--version", action="version", version=f"lance-core {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    plugins = commands.add_parser("plugins", help="what is installed, and what failed to load")
    plugins.add_argument(
        "--check",
        nargs="*",
        metavar="URL",
        help="import every factory, and open a store and a commit handler at each URL",
    )
    _add_option(plugins)
    plugins.set_defaults(lines=_plugin_lines)
    new = commands.add_parser("new-plugin", help="write the package of a plugin, with its tests")
    new.add_argument("name", metavar="NAME", help="of the plugin, such as vault")
    new.add_argument("--kind", required=True, choices=sorted(KINDS), help="what it provides")
    new.add_argument("--folder", type=Path, default=Path(), help="where; by default here")
    new.set_defaults(lines=_new_plugin_lines)
    for name, lines, text in (
        ("versions", _version_lines, "the versions of a table, newest last, and what made them"),
        ("schema", _schema_lines, "the fields of a table, with ids and types"),
        ("files", _file_lines, "the fragments of a table and their data files"),
        ("indices", _index_lines, "the indices of a table: columns, coverage, size, statistics"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("table", metavar="TABLE", help="path or URL")
        command.add_argument("--version", type=int, help="this one; else the newest, or all")
        _add_option(command)
        command.set_defaults(lines=lines)
    return parser


def _new_plugin_lines(options: argparse.Namespace) -> Iterator[str]:
    package = write_package(options.name, options.kind, options.folder)
    yield f"wrote {package}; README.md says how to install and test it"


def _add_option(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--option",
        action="append",
        type=_option,
        default=[],
        metavar="NAME=VALUE",
        help="storage option; may be given several times",
    )


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
    storage_options = _storage_options(options)
    for url in map(parse_uri, options.check):
        try:
            store = open_store(url, storage_options)
            handler = select_commit_handler(store, url, storage_options)
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
    for what, specs in (
        ("index type", plugin.index_types),
        ("search", plugin.searches),
    ):
        yield from (f"  {what} {spec.name}" for spec in specs)
    if plugin.sql_functions:
        yield f"  SQL functions: {', '.join(sorted(spec.name for spec in plugin.sql_functions))}"
    if plugin.tools:
        yield f"  tools: {', '.join(sorted(spec.name for spec in plugin.tools))}"
    if plugin.analyzers:
        yield f"  analyzers: {', '.join(sorted(spec.name for spec in plugin.analyzers))}"
    if plugin.file_versions:
        yield f"  file versions: {', '.join(spec.version.value for spec in plugin.file_versions)}"
    if plugin.encodings:
        yield f"  encodings: {', '.join(sorted(set(map(_encoding_text, plugin.encodings))))}"
    for kernels in plugin.kernels:
        yield f"  kernels {kernels.name}: {', '.join(sorted(kernels.loops)) or 'none'}"
        if kernels.note:
            yield f"    {_in_line(kernels.note)}"


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


def _open(options: argparse.Namespace) -> LanceDataset:
    return dataset(options.table, options.version, storage_options=_storage_options(options))


def _storage_options(options: argparse.Namespace) -> dict[str, Any]:
    named = {name: value for pair in options.option for name, value in pair.items()}
    if "" in named:
        raise InvalidInputError("a storage option must have the form NAME=VALUE")
    return named


def _option(text: str) -> dict[str, str | Secret]:
    """The storage option ``text`` (NAME=VALUE), secrets wrapped; a malformed one gets no name."""
    name, separator, value = text.partition("=")
    return wrap_secrets({name: value} if name and separator else {"": ""})


def _version_lines(options: argparse.Namespace) -> Iterator[str]:
    table = _open(options)
    for version in table.versions():
        number = version["version"]
        if options.version not in (None, number):
            continue
        transaction = table.read_transaction(number)
        made_by = "unknown" if transaction is None else type(transaction.operation).__name__
        rows = version["metadata"]["total_rows"]
        yield f"{number}  {version['timestamp']:%Y-%m-%d %H:%M:%S}  {rows} rows  {made_by}"


def _schema_lines(options: argparse.Namespace) -> Iterator[str]:
    for depth, field in _nested(_open(options).snapshot.schema.fields):
        null = "" if field.nullable else " not null"
        name, type_name = _in_line(field.name), _in_line(field.logical_type)
        yield f"{field.id:>4}  {'  ' * depth}{name}: {type_name}{null}"


def _nested(fields: Iterable[Field], depth: int = 0) -> Iterator[tuple[int, Field]]:
    for field in fields:
        yield depth, field
        yield from _nested(field.children, depth + 1)


def _file_lines(options: argparse.Namespace) -> Iterator[str]:
    for fragment in _open(options).snapshot.manifest.fragments:
        deleted = fragment.num_deleted_rows
        gone = f", {deleted} deleted" if deleted else ""
        yield f"fragment {fragment.id}: {fragment.physical_rows} rows{gone}"
        for file in fragment.files:
            fields = ",".join(map(str, file.fields))
            size = f"{file.file_size_bytes} bytes" if file.file_size_bytes else "unknown size"
            path = _in_line(file.path)
            yield f"  data/{path}  version {file.file_version}  {size}  fields {fields}"


def _index_lines(options: argparse.Namespace) -> Iterator[str]:
    table = _open(options)
    for index in table.describe_indices():
        columns = _in_line(", ".join(index.field_names))
        size = (
            "unknown size" if index.total_size_bytes is None else f"{index.total_size_bytes} bytes"
        )
        yield f"{_in_line(index.name)}: {index.index_type} of {columns}, {size}"
        if index.index_type == "Unknown":
            remedy = get_manager().missing_index_type(index.type_url)
            url, end = _in_line(index.type_url), "" if remedy is None else f": {remedy}"
            yield f"  not used: the type {url} or its version is not known{end}"
        rows = table.count_rows()
        yield f"  {index.num_rows_indexed} of {rows} rows indexed, segments: {len(index.segments)}"
        yield from _segment_lines(table, index)


def _segment_lines(table: LanceDataset, index: IndexDescription) -> Iterator[str]:
    try:
        statistics_of_segments = table.stats.index_stats(index.name)["segments"]
    except LanceError as error:
        statistics_of_segments = [{"damaged": str(error)}] * len(index.segments)
    for segment, statistics in zip(index.segments, statistics_of_segments, strict=True):
        shown = ", ".join(f"{name} {value}" for name, value in statistics.items())
        covered = f"{len(segment.fragment_ids)} fragments"
        version = f"built from version {segment.dataset_version_at_last_update}"
        yield f"  {segment.uuid}  {covered}  {version}  {_in_line(shown)}"


def _in_line(text: str) -> str:
    """`printable` without line breaks and tabs."""
    return printable(text).translate({9: "\\t", 10: "\\n"})
