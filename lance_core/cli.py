"""The command ``lance-core``: it runs the commands of all plugins."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from lance_core._version import __version__
from lance_core.errors import LanceError, one_line
from lance_core.plugins import get_manager


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit status: 0, or 1 after an error, which is printed."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        options = _parser(arguments).parse_args(arguments)
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
    print(f"lance-core: {one_line(reason)}", file=sys.stderr)
    return 1


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of ``arguments``. Only the command that they name is imported.

    Raises `PluginNotFoundError` for a command of a plugin that is not installed.
    """
    parser = argparse.ArgumentParser(prog="lance-core", description="Look at plugins and tables.")
    parser.add_argument("--version", action="version", version=f"lance-core {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    manager = get_manager()
    name = next((argument for argument in arguments if not argument.startswith("-")), None)
    chosen = None if name is None else manager.command(name)
    specs = [spec for plugin in manager.plugins for spec in plugin.commands]
    for spec in sorted(specs, key=lambda spec: spec.name):
        command = commands.add_parser(spec.name, help=spec.summary, description=spec.summary)
        if chosen is not None and spec.name == name:
            chosen.configure(command)
            command.set_defaults(lines=chosen.lines)
    return parser
