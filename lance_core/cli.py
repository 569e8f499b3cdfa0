"""The command ``lance-core``: looking at plugins and tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from lance_core._version import __version__
from lance_core.commits.base import CommitHandlerSpec
from lance_core.errors import LanceError
from lance_core.plugins import get_manager
from lance_core.plugins.loading import Contribution
from lance_core.plugins.remedies import this_process
from lance_core.store.spec import ObjectStoreSpec


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status is 0, or 1 after an error, which is printed."""
    options = _parser().parse_args(arguments)
    try:
        for line in options.lines(options):
            print(line)
    except LanceError as error:
        print(f"lance-core: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        sys.stdout = None
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lance-core", description="Look at plugins and tables.")
    parser.add_argument("--version", action="version", version=f"lance-core {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    plugins = commands.add_parser("plugins", help="what is installed, and what failed to load")
    plugins.set_defaults(lines=_plugin_lines)
    return parser


def _plugin_lines(_: argparse.Namespace) -> Iterator[str]:
    manager = get_manager()
    for plugin in manager.plugins:
        yield f"{plugin.source.name} ({plugin.source.distribution})"
        yield from _offer_lines(plugin)
    for failure in manager.failures:
        yield f"failed to load: {failure}"
    yield f"in {this_process()}"


def _offer_lines(plugin: Contribution) -> Iterator[str]:
    for store in plugin.object_stores:
        yield f"  store {store.name}: {_store_text(store)}"
    for handler in plugin.commit_handlers:
        yield f"  commit handler {handler.name}: {_handler_text(handler)}"
    for manifest_store in plugin.manifest_stores:
        yield f"  manifest store {manifest_store.name}: +{manifest_store.url_suffix}://"
    if plugin.encodings:
        yield f"  encodings: {', '.join(sorted(spec.key for spec in plugin.encodings))}"


def _store_text(spec: ObjectStoreSpec) -> str:
    urls = ", ".join(f"{scheme}://" for scheme in spec.schemes)
    guarantees = ", ".join(sorted(spec.capabilities.guaranteed()))
    return f"{urls} guarantees {guarantees}"


def _handler_text(spec: CommitHandlerSpec) -> str:
    asked = f"+{spec.url_suffix}://, " if spec.url_suffix else ""
    if not spec.multi_writer:
        return f"{asked}for one writer at a time, only if asked for by name"
    return f"{asked}requires {', '.join(sorted(spec.requires)) or 'nothing'}, rank {spec.rank}"
