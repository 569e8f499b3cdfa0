"""The command ``lance-core completion``: scripts that complete commands and options in a shell."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from lance_core.commands import Command
from lance_core.plugins import get_manager

PROGRAM = "lance-core"


@dataclass(frozen=True)
class _Option:
    """``names``: such as ``--json``. ``values``: those it may have; None if it has no value."""

    names: tuple[str, ...]
    help: str
    values: tuple[str, ...] | None


@dataclass(frozen=True)
class _Described:
    name: str
    summary: str
    options: tuple[_Option, ...]
    choices: tuple[str, ...]
    """Values of its first argument, which is a path if there are none."""


class Completion(Command):
    """Prints a script; a shell reads it when it starts.

    It knows the commands of all plugins that are installed, and starts no process when it is used.
    """

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the shell."""
        parser.add_argument("shell", choices=sorted(_SCRIPTS), help="which it is for")

    def lines(self, options: argparse.Namespace) -> Iterator[str]:
        """The script."""
        yield from _SCRIPTS[options.shell](list(_commands()))


def _commands() -> Iterator[_Described]:
    manager = get_manager()
    specs = {spec.name: spec for plugin in manager.plugins for spec in plugin.commands}
    for name in sorted(specs):
        parser = argparse.ArgumentParser(prog=name)
        manager.command(name).configure(parser)
        actions = parser._actions  # noqa: SLF001  # argparse has no other list of its arguments
        options = [_option(action) for action in actions if action.option_strings]
        first = next((a for a in actions if not a.option_strings and a.choices is not None), None)
        choices = () if first is None else tuple(map(str, first.choices or ()))
        yield _Described(name, specs[name].summary, tuple(options), choices)


def _option(action: argparse.Action) -> _Option:
    values = None if action.nargs == 0 else tuple(map(str, action.choices or ()))
    return _Option(tuple(action.option_strings), action.help or "", values)


def _bash(commands: list[_Described]) -> Iterator[str]:
    yield f"# bash: source <({PROGRAM} completion bash)"
    yield "_lance_core() {"
    yield '    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=""'
    yield "    COMPREPLY=()"
    yield "    if ((COMP_CWORD == 1)); then"
    names = " ".join([*(command.name for command in commands), "--help", "--version"])
    yield f'        COMPREPLY=($(compgen -W {shlex.quote(names)} -- "$word"))'
    yield "        return"
    yield "    fi"
    yield "    case ${COMP_WORDS[1]}:$before in"
    for command in commands:
        for option in command.options:
            for name in option.names if option.values else ():
                values = shlex.quote(" ".join(option.values or ()))
                yield f"    {command.name}:{name}) words={values} ;;"
    yield "    esac"
    yield "    if [[ -z $words && $word == -* ]]; then"
    yield "        case ${COMP_WORDS[1]} in"
    for command in commands:
        names = shlex.quote(" ".join(n for option in command.options for n in option.names))
        yield f"        {command.name}) words={names} ;;"
    yield "        esac"
    yield "    elif [[ -z $words ]]; then"
    yield "        case ${COMP_WORDS[1]} in"
    for command in commands:
        if command.choices:
            yield f"        {command.name}) words={shlex.quote(' '.join(command.choices))} ;;"
    yield "        esac"
    yield "    fi"
    yield '    if [[ -n $words ]]; then COMPREPLY=($(compgen -W "$words" -- "$word")); fi'
    yield "}"
    # Paths, where nothing else is known.
    yield f"complete -o default -F _lance_core {PROGRAM}"


def _zsh(commands: list[_Described]) -> Iterator[str]:
    yield f"#compdef {PROGRAM}"
    yield f"# zsh: {PROGRAM} completion zsh > a folder of $fpath, as _{PROGRAM}"
    yield "_lance_core() {"
    yield "    local -a commands=("
    for command in commands:
        yield f"        {shlex.quote(f'{command.name}:{command.summary}')}"
    yield "    )"
    yield "    if ((CURRENT == 2)); then _describe command commands; return; fi"
    yield "    local name=$words[2]"
    yield "    shift words; ((CURRENT--))"
    yield "    case $name in"
    for command in commands:
        specs = [shlex.quote(spec) for option in command.options for spec in _zsh_specs(option)]
        first = f"1:value:({' '.join(command.choices)})" if command.choices else "1:table:_files"
        specs += [shlex.quote(first), "'*:file:_files'"]
        yield f"    {command.name}) _arguments {' '.join(specs)} ;;"
    yield "    esac"
    yield "}"
    yield f"if [[ $funcstack[1] == _{PROGRAM} ]]; then"
    yield '    _lance_core "$@"'
    yield f"else compdef _lance_core {PROGRAM}; fi"


def _zsh_specs(option: _Option) -> Iterator[str]:
    text = option.help.translate({ord("["): "(", ord("]"): ")", ord(":"): " -"})
    for name in option.names:
        if option.values is None:
            yield f"{name}[{text}]"
        else:
            values = f"({' '.join(option.values)})" if option.values else "_files"
            yield f"*{name}[{text}]:value:{values}"


def _fish(commands: list[_Described]) -> Iterator[str]:
    yield f"# fish: {PROGRAM} completion fish | source"
    start = f"complete -c {PROGRAM}"
    for command in commands:
        summary = _fish_text(command.summary)
        yield f"{start} -f -n __fish_use_subcommand -a {command.name} -d {summary}"
    for command in commands:
        inside = f"-n '__fish_seen_subcommand_from {command.name}'"
        if command.choices:
            yield f"{start} -f {inside} -a {_fish_text(' '.join(command.choices))}"
        for option in command.options:
            names = " ".join(_fish_name(name) for name in option.names)
            value = "" if option.values is None else " -r"
            if option.values:
                value += f" -f -a {_fish_text(' '.join(option.values))}"
            yield f"{start} {inside} {names}{value} -d {_fish_text(option.help)}"


def _fish_name(name: str) -> str:
    return f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"


def _fish_text(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{quoted}'"


_SCRIPTS: Mapping[str, Callable[[list[_Described]], Iterator[str]]] = {
    "bash": _bash,
    "fish": _fish,
    "zsh": _zsh,
}
