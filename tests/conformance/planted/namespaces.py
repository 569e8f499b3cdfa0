"""Defects of namespaces: each is the example catalog or a folder, with one thing wrong."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import lance_namespace as names
from lance_namespace import errors

import lance_core as lance
from lance_core.namespace import DirectoryNamespace
from tests.conformance.planted.runner import Defect, defects_of
from tests.example_catalog.catalog import SqlCatalog

SECRET = "wJalrXUtnFEMI/K7MDENG"


class Good(SqlCatalog):
    """Without a defect; others override methods."""

    def __init__(self, folder: Path, secret: str) -> None:
        super().__init__(f"sqlite:///{folder}/catalog.db", str(folder / "tables"))
        self._hidden = lambda: secret  # a function, so that nothing pickles it


class Managed(DirectoryNamespace):
    """A folder that manages versions, without a defect."""

    def __init__(self, folder: Path, secret: str) -> None:
        options: Any = {"storage.secret_access_key": secret}
        options |= {"table_version_tracking_enabled": "true"}
        super().__init__(root=str(folder), manifest_enabled="false", **options)


class NotANamespace:
    def __init__(self, folder: Path, secret: str) -> None: ...

    def namespace_id(self) -> str:
        return "it"


class IdOfEachClient(Good):
    def namespace_id(self) -> str:
        return uuid.uuid4().hex


class DeclaresAgain(Good):
    def declare_table(self, request: Any) -> Any:
        try:
            return super().declare_table(request)
        except errors.TableAlreadyExistsError:
            return self.describe_table(request)


class MovesWhatExists(Good):
    def declare_table(self, request: Any) -> Any:
        try:
            return super().declare_table(request)
        except errors.TableAlreadyExistsError:
            self.deregister_table(request)
            super().declare_table(request)
            raise


class MissingIsAKeyError(Good):
    def _required_table(self, id_: tuple[str, ...]) -> Any:
        return {}[id_]


class MissingIsNothing(Good):
    def drop_table(self, request: Any) -> Any:
        try:
            return super().drop_table(request)
        except errors.TableNotFoundError:
            return names.DropTableResponse(id=request.id)


class TakesPaths(Good):
    def declare_table(self, request: Any) -> Any:
        try:
            return super().declare_table(request)
        except errors.InvalidInputError:
            return names.DeclareTableResponse(location=f"{self._root}/{request.id[-1]}")


class EmptyIsAName(Good):
    def declare_table(self, request: Any) -> Any:
        return super().declare_table(request) if request.id else names.DeclareTableResponse()


class ErrorsOfManyLines(Good):
    def declare_table(self, request: Any) -> Any:
        try:
            return super().declare_table(request)
        except errors.InvalidInputError as error:
            raise errors.InvalidInputError(f"{error}\n{request.id}") from error


class ForgetsTheLimit(Good):
    def list_tables(self, request: Any) -> Any:
        return super().list_tables(request.model_copy(update={"limit": None}))


class SkipsANameBetweenPages(Good):
    def list_tables(self, request: Any) -> Any:
        page = super().list_tables(request)
        if request.page_token and page.tables:
            page.tables = page.tables[1:]
        return page


class Unsorted(Good):
    def list_tables(self, request: Any) -> Any:
        page = super().list_tables(request)
        page.tables = page.tables[::-1]
        return page


class EndsTooEarly(Good):
    def list_tables(self, request: Any) -> Any:
        page = super().list_tables(request)
        page.page_token = None
        return page


class KeepsFilesOfDropped(Good):
    def drop_table(self, request: Any) -> Any:
        return self.deregister_table(request)


class KeepsDroppedNames(Good):
    def drop_table(self, request: Any) -> Any:
        location = self.describe_table(request).location
        lance.LanceDataset.drop(location, ignore_not_found=True)
        return names.DropTableResponse()


class DeregisterDrops(Good):
    def deregister_table(self, request: Any) -> Any:
        response = super().deregister_table(request)
        lance.LanceDataset.drop(response.location, ignore_not_found=True)
        return response


class OneFolderForAName(Good):
    """Tables of one name in different namespaces share their rows."""

    def describe_table(self, request: Any) -> Any:
        response = super().describe_table(request)
        response.location = f"{self._root}/{dict(request)['id'][-1]}"
        return response

    def declare_table(self, request: Any) -> Any:
        super().declare_table(request)
        return self.describe_table(request)


class TablesInsideOfTables(Good):
    def describe_table(self, request: Any) -> Any:
        response = super().describe_table(request)
        response.location = "/".join([self._root, "t", *dict(request)["id"][:-1][::-1]])
        return response

    def declare_table(self, request: Any) -> Any:
        super().declare_table(request)
        return self.describe_table(request)


class ForgetsProperties(Good):
    def describe_namespace(self, request: Any) -> Any:
        super().describe_namespace(request)
        return names.DescribeNamespaceResponse(properties={})


class ListsAllTables(Good):
    def _names(self, request: Any, condition: Any) -> list[str]:
        return super()._names(names.ListTablesRequest(id=[]), condition)


class NeedsNoParent(Good):
    def _required_namespace(self, id_: tuple[str, ...]) -> Any:
        return self._row(id_)


class DropsFullNamespaces(Good):
    def drop_namespace(self, request: Any) -> Any:
        try:
            return super().drop_namespace(request)
        except errors.NamespaceNotEmptyError:
            return names.DropNamespaceResponse()


class RemembersAlone(Good):
    """It caches its list of tables."""

    def list_tables(self, request: Any) -> Any:
        if not hasattr(self, "cached"):
            self.cached = super().list_tables(request)
        return self.cached


class LooksBeforeItAdds(Good):
    """Between the look and the addition others add the same name."""

    def _add(self, id_: tuple[str, ...], location: str | None, properties: Any) -> bool:
        if self._row(id_) is not None:
            return False
        time.sleep(0.02)
        super()._add(id_, location, properties)
        return True


class OnlyModels(Good):
    def declare_table(self, request: Any) -> Any:
        return super().declare_table(names.DeclareTableRequest(id=request.id))


class ShowsSecrets(Good):
    def __repr__(self) -> str:
        return f"{super().__repr__()} {self._hidden()}"


class TellsSecretsInErrors(Good):
    def _required_table(self, id_: tuple[str, ...]) -> Any:
        try:
            return super()._required_table(id_)
        except errors.TableNotFoundError as error:
            raise errors.TableNotFoundError(f"{error} with {self._hidden()}") from error


class LogsSecrets(Good):
    def describe_table(self, request: Any) -> Any:
        logging.getLogger("catalog").debug("with %s", self._hidden())
        return super().describe_table(request)


class PicklesSecrets(Good):
    def __reduce__(self) -> Any:
        return str, (self._hidden(),)


class MakesAVersionTwice(Managed):
    def create_table_version(self, request: Any) -> Any:
        try:
            return super().create_table_version(request)
        except errors.ConcurrentModificationError:
            return names.CreateTableVersionResponse()


class ForgetsTheNewestVersion(Managed):
    def list_table_versions(self, request: Any) -> Any:
        response = super().list_table_versions(request)
        if not dict(request).get("limit"):
            response.versions = response.versions[:-1]
        return response


class InventsVersions(Managed):
    def describe_table_version(self, request: Any) -> Any:
        try:
            return super().describe_table_version(request)
        except errors.TableVersionNotFoundError:
            version = names.TableVersion(version=99, manifest_path="_versions/99.manifest")
            return names.DescribeTableVersionResponse(version=version)


def fixtures(make: Callable[..., Any], folder: Path) -> Mapping[str, object]:
    """``connect``, ``namespace`` and what pytest gives, for an empty namespace."""
    place = folder / uuid.uuid4().hex
    place.mkdir()
    connect = partial(make, place, SECRET)
    return {"connect": connect, "namespace": connect(), "caplog": _Records()}


class _Records:
    """What `pytest.LogCaptureFixture` has, outside of pytest."""

    def __init__(self) -> None:
        self.records: list[logging.LogRecord] = []

    def at_level(self, level: int) -> Any:
        return _Capturing(self.records, level)


class _Capturing:
    def __init__(self, records: list[logging.LogRecord], level: int) -> None:
        self.handler = logging.Handler(level)
        self.handler.emit = records.append  # type: ignore[method-assign]

    def __enter__(self) -> None:
        self.level = logging.getLogger().level
        logging.getLogger().addHandler(self.handler)
        logging.getLogger().setLevel(self.handler.level)

    def __exit__(self, *error: object) -> None:
        logging.getLogger().removeHandler(self.handler)
        logging.getLogger().setLevel(self.level)


ALL: list[Defect] = [
    *defects_of("test_it_is_a_namespace_whose_id_is_stable", NotANamespace, IdOfEachClient),
    *defects_of("test_requests_may_be_dictionaries", OnlyModels),
    *defects_of("test_a_name_exists_once", DeclaresAgain, MovesWhatExists),
    *defects_of("test_missing_tables_are_errors", MissingIsAKeyError, MissingIsNothing),
    *defects_of(
        "test_names_that_are_no_names_are_refused", TakesPaths, EmptyIsAName, ErrorsOfManyLines
    ),
    *defects_of(
        "test_listings_are_complete_sorted_and_in_pages",
        *(ForgetsTheLimit, SkipsANameBetweenPages, Unsorted, EndsTooEarly),
    ),
    *defects_of("test_dropped_tables_are_gone_with_their_rows", KeepsFilesOfDropped),
    *defects_of("test_dropped_tables_are_gone_with_their_rows", KeepsDroppedNames),
    *defects_of("test_deregistered_tables_keep_their_rows", DeregisterDrops),
    *defects_of(
        "test_namespaces_nest_and_keep_their_tables_apart",
        *(OneFolderForAName, TablesInsideOfTables, ForgetsProperties, ListsAllTables),
    ),
    *defects_of(
        "test_namespaces_are_missing_exist_or_are_full", NeedsNoParent, DropsFullNamespaces
    ),
    *defects_of("test_clients_see_what_others_did", RemembersAlone),
    *defects_of("test_of_many_that_declare_a_name_one_succeeds", LooksBeforeItAdds),
    *defects_of(
        "test_nothing_shows_a_secret",
        *(ShowsSecrets, TellsSecretsInErrors, LogsSecrets, PicklesSecrets),
    ),
    *defects_of(
        "test_versions_that_it_manages_are_made_once",
        *(MakesAVersionTwice, ForgetsTheNewestVersion, InventsVersions),
    ),
]
