"""What an error says about a package that is missing."""

from __future__ import annotations


def install(extra: str) -> str:
    """The command that installs the plugin of an ``extra``, for any shell."""
    return f'pip install "lance-core[{extra}]"'
