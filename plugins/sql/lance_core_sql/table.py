"""The table of rows, for any database.

The key is a digest of the table's name, because databases compare text differently (some ignore
case, some trailing spaces) and limit the length of keys. ``base_uri`` is for people who read the
table.
"""

from __future__ import annotations

import hashlib

from sqlalchemy import BigInteger, Column, MetaData, String, Table, Text

from lance_core.errors import InvalidInputError


def manifest_table(name: str) -> Table:
    """The SQL table ``name`` or ``schema.name``."""
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
        # MySQL's other engines lack transactions, and its other character sets lack letters.
        mysql_engine="InnoDB",
        mysql_charset="utf8mb4",
    )


def table_key(name: str) -> str:
    """The key of the table ``name``; `InvalidInputError` if the name cannot be encoded."""
    try:
        return hashlib.sha256(name.encode()).hexdigest()
    except UnicodeEncodeError:
        raise InvalidInputError("the path of the table cannot be encoded as UTF-8") from None
