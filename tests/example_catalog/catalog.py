"""A catalog in any database that SQLAlchemy knows: a row for each namespace and each table."""

from __future__ import annotations

import uuid
from typing import Any

import lance_namespace as names
import sqlalchemy as sql
from lance_namespace import errors
from sqlalchemy.exc import IntegrityError

import lance_core as lance
from lance_core_namespace import TableOperations, operation
from lance_core_namespace.requests import id_of, page_of

ROWS = sql.Table(
    "lance_catalog",
    sql.MetaData(),
    sql.Column("parent", sql.String(500), primary_key=True),
    sql.Column("name", sql.String(255), primary_key=True),
    sql.Column("location", sql.String(1000)),  # of a table; NULL of a namespace
    sql.Column("properties", sql.JSON),
)


class SqlCatalog(TableOperations):
    """The tables that the database at ``url`` lists; new ones are in the folder ``root``."""

    def __init__(self, url: str, root: str) -> None:
        self._engine, self._root = sql.create_engine(url), root.rstrip("/")
        ROWS.metadata.create_all(self._engine)

    def namespace_id(self) -> str:
        return f"SqlCatalog {{ url: {self._engine.url.render_as_string()!r} }}"

    def __repr__(self) -> str:
        return f"SqlCatalog({self._root!r})"

    @operation
    def create_namespace(self, request: Any) -> Any:
        id_ = id_of(request, "namespace")
        self._required_namespace(id_[:-1])
        if not self._add(id_, None, request.properties):
            raise errors.NamespaceAlreadyExistsError(f"namespace {'.'.join(id_)} exists")
        return names.CreateNamespaceResponse(properties=request.properties)

    @operation
    def describe_namespace(self, request: Any) -> Any:
        row = self._required_namespace(tuple(request.id or ()))
        return names.DescribeNamespaceResponse(properties=(row and row.properties) or {})

    @operation
    def namespace_exists(self, request: Any) -> Any:
        self._required_namespace(tuple(request.id or ()))
        return names.NamespaceExistsResponse()

    @operation
    def list_namespaces(self, request: Any) -> Any:
        page, token = page_of(self._names(request, ROWS.c.location.is_(None)), request)
        return names.ListNamespacesResponse(namespaces=page, page_token=token)

    @operation
    def drop_namespace(self, request: Any) -> Any:
        id_ = id_of(request, "namespace")
        self._required_namespace(id_)
        with self._engine.begin() as connection:
            inside = ROWS.c.parent == "$".join(id_)
            if connection.execute(sql.select(ROWS).where(inside)).first():
                raise errors.NamespaceNotEmptyError(f"namespace {'.'.join(id_)} has tables")
            connection.execute(sql.delete(ROWS).where(_is(id_)))
        return names.DropNamespaceResponse()

    @operation
    def list_tables(self, request: Any) -> Any:
        page, token = page_of(self._names(request, ROWS.c.location.is_not(None)), request)
        return names.ListTablesResponse(tables=page, page_token=token)

    @operation
    def declare_table(self, request: Any) -> Any:
        id_ = id_of(request)
        self._required_namespace(id_[:-1])
        location = f"{self._root}/{uuid.uuid4().hex}"
        if not self._add(id_, location, request.properties):
            raise errors.TableAlreadyExistsError(f"table {'.'.join(id_)} exists")
        return names.DeclareTableResponse(location=location)

    @operation
    def describe_table(self, request: Any) -> Any:
        row = self._required_table(id_of(request))
        return names.DescribeTableResponse(location=row.location, properties=row.properties)

    @operation
    def table_exists(self, request: Any) -> Any:
        self._required_table(id_of(request))
        return names.TableExistsResponse()

    @operation
    def deregister_table(self, request: Any) -> Any:
        row = self._required_table(id_of(request))
        with self._engine.begin() as connection:
            connection.execute(sql.delete(ROWS).where(_is(id_of(request))))
        return names.DeregisterTableResponse(id=request.id, location=row.location)

    @operation
    def drop_table(self, request: Any) -> Any:
        location = self.deregister_table(request).location
        lance.LanceDataset.drop(location, ignore_not_found=True)
        return names.DropTableResponse(id=request.id, location=location)

    def _add(self, id_: tuple[str, ...], location: str | None, properties: Any) -> bool:
        values = {"parent": "$".join(id_[:-1]), "name": id_[-1], "location": location}
        try:
            with self._engine.begin() as connection:
                connection.execute(sql.insert(ROWS).values(**values, properties=properties))
        except IntegrityError:  # the key decides between two that add one name
            return False
        return True

    def _names(self, request: Any, condition: Any) -> list[str]:
        self._required_namespace(tuple(request.id or ()))
        inside = ROWS.c.parent == "$".join(request.id or ())
        with self._engine.connect() as connection:
            found = connection.execute(sql.select(ROWS.c.name).where(inside, condition))
            return [row.name for row in found]

    def _row(self, id_: tuple[str, ...]) -> Any:
        with self._engine.connect() as connection:
            return connection.execute(sql.select(ROWS).where(_is(id_))).first()

    def _required_namespace(self, id_: tuple[str, ...]) -> Any:
        row = self._row(id_) if id_ else None
        if id_ and (row is None or row.location is not None):
            raise errors.NamespaceNotFoundError(f"there is no namespace {'.'.join(id_)}")
        return row

    def _required_table(self, id_: tuple[str, ...]) -> Any:
        row = self._row(id_)
        if row is None or row.location is None:
            raise errors.TableNotFoundError(f"there is no table {'.'.join(id_)}")
        return row


def _is(id_: tuple[str, ...]) -> Any:
    return sql.and_(ROWS.c.parent == "$".join(id_[:-1]), ROWS.c.name == id_[-1])
