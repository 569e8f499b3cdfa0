"""The arguments that all commands about a table share."""

from __future__ import annotations

import argparse
from typing import Any

from lance_core.dataset import LanceDataset
from lance_core.dataset.api import dataset
from lance_core.errors import InvalidInputError
from lance_core.store.secret import Secret, wrap_secrets


def add_table(parser: argparse.ArgumentParser) -> None:
    """Add the argument ``TABLE``, and the options ``--version`` and ``--option``."""
    parser.add_argument("table", metavar="TABLE", help="path or URL")
    parser.add_argument("--version", type=int, help="this one; else the newest, or all")
    add_storage_option(parser)


def add_storage_option(
    parser: argparse.ArgumentParser, name: str = "option", what: str = "storage option"
) -> None:
    """Add the option ``--NAME NAME=VALUE``, which may be given several times."""
    parser.add_argument(
        f"--{name}",
        dest=name,
        action="append",
        type=_option,
        default=[],
        metavar="NAME=VALUE",
        help=f"{what}; may be given several times",
    )


def open_table(options: argparse.Namespace) -> LanceDataset:
    """The table that the arguments of `add_table` name. Raises as `lance_core.dataset`."""
    return dataset(options.table, options.version, storage_options=storage_options(options))


def storage_options(options: argparse.Namespace, name: str = "option") -> dict[str, Any]:
    """What users gave by `add_storage_option`, secrets wrapped. Raises `InvalidInputError`."""
    named = {key: value for pair in getattr(options, name) for key, value in pair.items()}
    if "" in named:
        raise InvalidInputError("a storage option must have the form NAME=VALUE")
    return named


def _option(text: str) -> dict[str, str | Secret]:
    """The storage option ``text`` (NAME=VALUE), secrets wrapped; a malformed one gets no name."""
    name, separator, value = text.partition("=")
    return wrap_secrets({name: value} if name and separator else {"": ""})
