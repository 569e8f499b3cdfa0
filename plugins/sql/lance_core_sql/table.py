"""The table of rows, on any database.

The key is a digest of what names a table: databases compare text in ways of their own (some ignore
case, some spaces at the end) and limit the length of keys. ``base_uri`` is there for people.
"""

from __future__ import annotations

import hashlib

from sqlalchemy import BigInteger, Column, MetaData, String, Table, Text

from lance_core.errors import InvalidInputError


def manifest_table(name: str) -> Table:
    """The table called ``name``, or ``schema.name``."""
    schema, _, bare = name.rpartition(".")
    return Table(
        bare,
        MetaData(),
        Column("table_key", String(64), primary_key=True),
        Column("version", BigInteger, primary_key=True, autoincrement=False),
        Column("base_uri", Text, nullable=False),
        Column("path", Text, nullable=False),
        Column("size", BigInteger),
        Column("e_tag", Text),
        schema=schema or None,
        # Others of MySQL's engines have no transactions, and other character sets not all letters.
        mysql_engine="InnoDB",
        mysql_charset="utf8mb4",
    )


def table_key(name: str) -> str:
    """The key of the table of that name; `InvalidInputError` if it cannot be stored as text."""
    try:
        return hashlib.sha256(name.encode()).hexdigest()
    except UnicodeEncodeError:
        raise InvalidInputError("a table in a SQL database has a path that is text") from None
