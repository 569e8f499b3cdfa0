"""`DirectoryNamespace`: the tables in a folder, as pylance's namespace of this name keeps them."""

from __future__ import annotations

import io
import tempfile
import uuid
from collections.abc import Sequence
from typing import Any

import lance_namespace as names
import pyarrow as pa
from lance_namespace import errors

import lance_core as lance
from lance_core.errors import DatasetNotFoundError, InvalidInputError, UnsupportedFeatureError
from lance_core.file import LanceFileSession
from lance_core_namespace.manifest import NAMESPACE, SEPARATOR, TABLE, Entry, Manifest

_SUFFIX = ".lance"
_RESERVED = ".lance-reserved"
_STORAGE = "storage."
_KNOWN = {"root", "manifest_enabled", "dir_listing_enabled", "vend_input_storage_options"}


class DirectoryNamespace(names.LanceNamespace):
    """The namespace of the tables in the folder ``root``, a path or URI.

    ``properties``: ``storage.NAME`` is the storage option NAME. ``manifest_enabled`` (true): tables
    and nested namespaces are listed in the table ``__manifest`` of the folder.
    ``dir_listing_enabled`` (true): folders whose name ends with ".lance" are tables, too.
    ``vend_input_storage_options`` (false): descriptions of tables contain the storage options.
    ``session`` has no effect. Raises `InvalidInputError` without root, and
    `UnsupportedFeatureError` for other properties, such as those of credential vendors.
    """

    def __init__(self, session: object = None, **properties: Any) -> None:
        texts = {name: str(value) for name, value in properties.items()}
        self._options = {
            name.removeprefix(_STORAGE): value
            for name, value in texts.items()
            if name.startswith(_STORAGE)
        }
        unknown = sorted(
            name for name in texts if name not in _KNOWN and not name.startswith(_STORAGE)
        )
        if unknown:
            raise UnsupportedFeatureError(
                f"property {unknown[0]!r} of a namespace is not supported"
            )
        if "root" not in texts:
            raise InvalidInputError("a DirectoryNamespace needs the property root")
        self._root = texts["root"].rstrip("/")
        self._lists = _flag(texts, "dir_listing_enabled", default=True)
        self._vends = _flag(texts, "vend_input_storage_options", default=False)
        self._manifest = None
        if _flag(texts, "manifest_enabled", default=True):
            self._manifest = Manifest(f"{self._root}/__manifest", self._options)

    def namespace_id(self) -> str:
        """A text that names the folder."""
        return f'DirectoryNamespace {{ root: "{self._root}" }}'

    def __repr__(self) -> str:
        return f"DirectoryNamespace({self.namespace_id()})"

    def create_namespace(self, request: Any) -> Any:
        """Add a namespace, whose parent must exist."""
        id_, manifest = _named(request), self._with_manifest("nested namespaces")
        self._check_namespace(id_[:-1], "parent namespace ")
        added = manifest.add(Entry(id_, NAMESPACE, properties=request.properties))
        if not added and _mode(request) != "exist_ok":
            raise errors.NamespaceAlreadyExistsError(f"Namespace already exists: {_shown(id_)}")
        return names.CreateNamespaceResponse(properties=request.properties or {})

    def describe_namespace(self, request: Any) -> Any:
        """The properties of a namespace."""
        entry = self._check_namespace(tuple(request.id or ()))
        properties = (entry.properties if entry else None) or {}
        return names.DescribeNamespaceResponse(properties=dict(properties))

    def namespace_exists(self, request: Any) -> Any:
        """Raises `NamespaceNotFoundError` if it does not exist."""
        self._check_namespace(tuple(request.id or ()))
        return names.NamespaceExistsResponse()

    def list_namespaces(self, request: Any) -> Any:
        """The names of the namespaces directly in one."""
        entries = [] if self._manifest is None else self._manifest.children(request.id or ())
        named = [entry.id[-1] for entry in entries if entry.object_type == NAMESPACE]
        page, token = _page(named, request)
        return names.ListNamespacesResponse(namespaces=page, page_token=token)

    def drop_namespace(self, request: Any) -> Any:
        """Remove an empty namespace."""
        id_, manifest = _named(request), self._with_manifest("nested namespaces")
        if (request.behavior or "").lower() == "cascade":
            raise UnsupportedFeatureError("namespaces are dropped without their tables only")
        if manifest.entry(id_) is None and _mode(request) == "skip":
            return names.DropNamespaceResponse()
        self._check_namespace(id_)
        count = len(manifest.children(id_))
        if count:
            raise errors.NamespaceNotEmptyError(
                f"Namespace not empty: {_shown(id_)!r} (contains {count} child objects)"
            )
        manifest.remove(id_)
        return names.DropNamespaceResponse()

    def list_tables(self, request: Any) -> Any:
        """The names of the tables directly in a namespace."""
        id_ = tuple(request.id or ())
        entries = [] if self._manifest is None else self._manifest.children(id_)
        named = {entry.id[-1] for entry in entries if entry.object_type == TABLE}
        if self._lists and not id_:
            folders = self._files().list_with_delimiter().common_prefixes
            named |= {name.removesuffix(_SUFFIX) for name in folders if name.endswith(_SUFFIX)}
        page, token = _page(sorted(named), request)
        return names.ListTablesResponse(tables=page, page_token=token)

    def declare_table(self, request: Any) -> Any:
        """Reserve the name of a table that is written later, and return its location."""
        id_ = _named(request)
        if self._location(id_) is not None:
            raise _exists(id_)
        location = self._added(id_, request.location)
        with tempfile.NamedTemporaryFile() as empty:
            self._files().upload_file(empty.name, f"{location}/{_RESERVED}")
        return names.DeclareTableResponse(
            location=self._uri(location), storage_options=self._vended()
        )

    def describe_table(self, request: Any) -> Any:
        """The location of a table; with ``load_detailed_metadata`` also its version."""
        id_, version = _named(request), None
        location = self._required(id_)
        is_declared = None
        if request.load_detailed_metadata:
            try:
                version = self._open(location).version
                is_declared = False
            except DatasetNotFoundError:
                is_declared = True
        uri = self._uri(location)
        return names.DescribeTableResponse(
            table=id_[-1],
            namespace=list(id_[:-1]),
            version=version,
            location=uri,
            table_uri=uri,
            storage_options=self._vended(),
            is_only_declared=is_declared,
        )

    def table_exists(self, request: Any) -> Any:
        """Raises `TableNotFoundError` if it does not exist."""
        self._required(_named(request))
        return names.TableExistsResponse()

    def register_table(self, request: Any) -> Any:
        """Add a table whose files exist; its ``location`` is a path below the root."""
        id_, location = _named(request), _below_root(request.location)
        if not self._with_manifest("registered tables").add(Entry(id_, TABLE, location)):
            raise _exists(id_)
        return names.RegisterTableResponse(location=location)

    def deregister_table(self, request: Any) -> Any:
        """Remove a table from the namespace; its files stay."""
        id_, manifest = _named(request), self._with_manifest("registered tables")
        entry = manifest.entry(id_)
        if entry is None or entry.object_type != TABLE:
            raise _missing(id_)
        manifest.remove(id_)
        return names.DeregisterTableResponse(id=list(id_), location=self._uri(entry.location))

    def drop_table(self, request: Any) -> Any:
        """Remove a table from the namespace, and its files."""
        id_ = _named(request)
        location = self._required(id_)
        try:
            lance.LanceDataset.drop(
                self._uri(location), storage_options=self._options, ignore_not_found=True
            )
        except InvalidInputError:  # only declared: the folder is not a table yet
            self._files().delete_file(f"{location}/{_RESERVED}")
        if self._manifest is not None:
            self._manifest.remove(id_)
        return names.DropTableResponse(id=list(id_), location=self._uri(location))

    def create_table(self, request: Any, request_data: bytes) -> Any:
        """Write a table; ``request_data``: its rows as a stream of Arrow's IPC format."""
        id_, mode = _named(request), _mode(request)
        location = self._location(id_)
        if location is None:
            location = self._added(id_, None)
        elif mode == "exist_ok":
            return names.CreateTableResponse(location=self._uri(location))
        elif mode != "overwrite":
            raise _exists(id_)
        made = lance.write_dataset(
            pa.ipc.open_stream(io.BytesIO(request_data)),
            self._uri(location),
            mode="overwrite",
            storage_options=self._options,
        )
        return names.CreateTableResponse(location=self._uri(location), version=made.version)

    def count_table_rows(self, request: Any) -> Any:
        """The rows of a table that satisfy ``predicate``."""
        dataset = self._open(self._required(_named(request)))
        if request.version is not None:
            dataset = dataset.checkout_version(request.version)
        return names.CountTableRowsResponse(count=dataset.count_rows(request.predicate))

    def _files(self) -> LanceFileSession:
        return LanceFileSession(self._root, self._options)

    def _open(self, location: str) -> lance.LanceDataset:
        return lance.dataset(self._uri(location), storage_options=self._options)

    def _uri(self, location: str | None) -> str:
        return f"{self._root}/{location}"

    def _vended(self) -> dict[str, str] | None:
        return dict(self._options) if self._vends else None

    def _with_manifest(self, what: str) -> Manifest:
        if self._manifest is None:
            raise errors.UnsupportedOperationError(f"{what} need manifest_enabled")
        return self._manifest

    def _check_namespace(self, id_: tuple[str, ...], what: str = "") -> Entry | None:
        """The entry of a namespace, None for the root; raises `NamespaceNotFoundError`."""
        if not id_:
            return None
        entry = None if self._manifest is None else self._manifest.entry(id_)
        if entry is None or entry.object_type != NAMESPACE:
            raise errors.NamespaceNotFoundError(f"Namespace not found: {what}{_shown(id_)!r}")
        return entry

    def _location(self, id_: tuple[str, ...]) -> str | None:
        """The location of a table below the root, None if there is no such table."""
        entry = None if self._manifest is None else self._manifest.entry(id_)
        if entry is not None and entry.object_type == TABLE:
            return None if entry.location is None else _below_root(entry.location)
        folder = f"{id_[0]}{_SUFFIX}"
        is_table = self._lists and len(id_) == 1 and any(self._files().list(folder))
        return folder if is_table else None

    def _required(self, id_: tuple[str, ...]) -> str:
        location = self._location(id_)
        if location is None:
            raise _missing(id_)
        return location

    def _added(self, id_: tuple[str, ...], requested: str | None) -> str:
        """The location of a new table, which the manifest has then; raises if it exists."""
        location = self._new_location(id_, requested)
        if self._manifest is not None and not self._manifest.add(Entry(id_, TABLE, location)):
            raise _exists(id_)
        return location

    def _new_location(self, id_: tuple[str, ...], requested: str | None) -> str:
        """Where a new table is: a folder of its name, if it is found by its folder."""
        if requested is not None:
            return _below_root(requested.removeprefix(f"{self._root}/"))
        if len(id_) == 1 and self._lists:
            return f"{id_[0]}{_SUFFIX}"
        if self._manifest is None:
            raise errors.UnsupportedOperationError("nested namespaces need manifest_enabled")
        return f"{uuid.uuid4().hex[:8]}_{SEPARATOR.join(id_)}"


def _named(request: Any) -> tuple[str, ...]:
    """The name in a request; raises `InvalidInputError` of lance-namespace for an invalid one."""
    id_ = tuple(request.id or ())
    if not id_ or any(not part or "/" in part or SEPARATOR in part for part in id_):
        raise errors.InvalidInputError(f"invalid name {list(id_)}")
    return id_


def _below_root(location: str) -> str:
    """``location``; raises `InvalidInputError` of lance-namespace if it is not below the root."""
    is_absolute = "://" in location or location.startswith("/")
    if not location or is_absolute or ".." in location.split("/"):
        raise errors.InvalidInputError(f"a location is a path below the root, got {location!r}")
    return location


def _mode(request: Any) -> str:
    return (request.mode or "").lower().replace("existok", "exist_ok")


def _shown(id_: Sequence[str]) -> str:
    return SEPARATOR.join(id_)


def _exists(id_: Sequence[str]) -> Exception:
    error: Exception = errors.TableAlreadyExistsError(f"Table already exists: {_shown(id_)}")
    return error


def _missing(id_: Sequence[str]) -> Exception:
    error: Exception = errors.TableNotFoundError(f"Table not found: table id {_shown(id_)!r}")
    return error


def _page(all_names: list[str], request: Any) -> tuple[list[str], str | None]:
    """The names of a page in ascending order, and the token of the next one."""
    rest = sorted(name for name in all_names if not request.page_token or name > request.page_token)
    if request.limit is None or len(rest) <= request.limit:
        return rest, None
    page = rest[: request.limit]
    return page, page[-1] if page else None


def _flag(properties: dict[str, str], name: str, *, default: bool) -> bool:
    text = properties.get(name, str(default)).lower()
    if text not in ("true", "false"):
        raise InvalidInputError(f"property {name} is true or false, got {text!r}")
    return text == "true"
