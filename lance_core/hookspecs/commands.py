"""The descriptor of a command. What its author needs besides is in `lance_core.commands`."""

from lance_core.command_spec import CommandSpec

__all__ = ["CommandSpec"]
