"""Options of the plugin: the database, the table in it and the password.

Each of ``sqlUrl``, ``sqlTable`` and ``sqlPassword`` is a storage option or a query parameter of the
table's URL; case and underscores do not matter.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from lance_core.errors import InvalidInputError
from lance_core.hookspecs import StoreUrl
from lance_core.hookspecs.options import Secret, hint, plain, shortened, sounds_secret

DEFAULT_TABLE = "lance_manifests"
SUFFIX = ".manifests.sqlite"
"""Suffix of a local table's default database; the prefix is the name of the table's folder."""

DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql", "mariadb": "mysql+pymysql"}
"""The default drivers of URLs without one."""

_BACKENDS = frozenset({"sqlite", "postgresql", "mysql", "mariadb"})
_TABLE_NAME = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,62}")
_NAMES = ("sqlurl", "sqltable", "sqlpassword")


@dataclass(frozen=True, slots=True)
class SqlSettings:
    """The location of the rows. Pickling keeps everything except secrets.

    ``url``: URL of the database; a `Secret` if it contains one. ``table``: name of the table of
    rows, optionally preceded by that of its schema. ``password``: is inserted into ``url``.
    ``bucket``: distinguishes tables with the same path. ``durable``: SQLite syncs each commit to
    disk.
    """

    url: str | Secret
    table: str = DEFAULT_TABLE
    password: Secret | None = None
    bucket: str = ""
    durable: bool = True

    def database_url(self) -> URL:
        """The URL to connect to; raises `InvalidInputError` for an invalid URL.

        Errors do not show the URL: any part of a malformed URL may be the password.
        """
        url = _parsed(plain(self.url))
        if self.password is not None:
            url = url.set(password=self.password.reveal())
        if url.get_backend_name() == "sqlite":
            _check_file(url)
        return url


def settings_of(table: StoreUrl, options: Mapping[str, str | Secret]) -> SqlSettings:
    """The settings in the options and the query of the table's URL, validated."""
    merged = _given(table, options)
    url = merged.get("sqlurl")
    if url is None:
        url = _default_url(table)
    name = plain(merged.get("sqltable", DEFAULT_TABLE))
    if not _TABLE_NAME.fullmatch(name):
        raise InvalidInputError("sqlTable must be the name of a table: letters, digits and '_'")
    password = merged.get("sqlpassword")
    if isinstance(url, str) and _holds_secret(_parsed(url)):
        raise InvalidInputError(
            "sqlUrl holds a password: give it as the option sqlPassword, leave it to the "
            "environment of the database's driver, or pass the URL as a lance_core Secret"
        )
    settings = SqlSettings(
        url,
        name,
        Secret(password) if isinstance(password, str) else password,
        table.netloc.rpartition("@")[2],
        plain(options.get("durability", "durable")) != "fast",
    )
    if not (isinstance(url, Secret) and url.is_missing):
        _parsed(plain(url))
    return settings


def _given(table: StoreUrl, options: Mapping[str, str | Secret]) -> dict[str, str | Secret]:
    for name in table.query:
        if name.lower().replace("_", "") not in _NAMES:
            raise InvalidInputError(
                f"{table}: commits through a SQL database have no parameter {shortened(name)}"
                f"{hint(name, ('sqlUrl', 'sqlTable', 'sqlPassword'))}"
            )
    values: dict[str, str | Secret] = {}
    for source in (table.query, options):
        for name, value in source.items():
            plain_name = name.lower().replace("_", "")
            if plain_name in _NAMES and values.setdefault(plain_name, value) != value:
                raise InvalidInputError(
                    f"{name!r} is given twice, under different spellings, with different values"
                )
    return values


def _default_url(table: StoreUrl) -> str:
    if table.scheme != "file":
        raise InvalidInputError(
            f"no database is given for {table}: give its URL as the option sqlUrl, "
            "such as postgresql://user@host/database"
        )
    path = table.path.rstrip("/") + SUFFIX
    return URL.create("sqlite", database=path).render_as_string()


def _parsed(text: str) -> URL:
    try:
        url = make_url(text)
        backend = url.get_backend_name()
    except (ArgumentError, ValueError):
        raise InvalidInputError("sqlUrl is not the URL of a database") from None
    if backend not in _BACKENDS:
        raise InvalidInputError(
            "sqlUrl names a database of another kind than sqlite, postgresql, mysql and mariadb"
        )
    return url.set(drivername=DRIVERS.get(url.drivername, url.drivername))


def _holds_secret(url: URL) -> bool:
    return url.password is not None or any(map(sounds_secret, url.query))


def _check_file(url: URL) -> None:
    path = url.database or ""
    if not os.path.isabs(path) or "uri" in url.query:  # noqa: PTH117 (text stays text)
        raise InvalidInputError(
            "a SQLite database of several writers is a file with an absolute path: "
            "sqlite:////path/of/the/file"
        )
