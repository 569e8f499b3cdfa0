"""`DirectoryNamespace`: the tables in a folder, as pylance's namespace of this name keeps them."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import lance_namespace as names
from lance_namespace import errors

import lance_core as lance
from lance_core.errors import (
    DatasetNotFoundError,
    InvalidInputError,
    ObjectExistsError,
    UnsupportedFeatureError,
)
from lance_core.hookspecs.options import Secret, hide_secrets, plain
from lance_core.hookspecs.stores import Guarantee, ObjectStore, PutMode, parse_uri
from lance_core.plugins import open_store
from lance_core_namespace.context import DynamicContextProvider, provider_of
from lance_core_namespace.folders import (
    DEREGISTERED,
    RESERVED,
    SUFFIX,
    has_versions,
    is_table,
    table_folders,
)
from lance_core_namespace.manifest import NAMESPACE, TABLE, Entry, Manifest
from lance_core_namespace.requests import below_root, id_of, operation, page_of, shown
from lance_core_namespace.routes import DELIMITER
from lance_core_namespace.tables import rows_of
from lance_core_namespace.vendors import PREFIX, CredentialVendor, vendor_of
from lance_core_namespace.versions import TableVersions

_STORAGE = "storage."
_REFRESH = "vend_input_storage_options_refresh_interval_millis"
_KNOWN = frozenset(
    {
        *("root", "manifest_enabled", "dir_listing_enabled", "vend_input_storage_options"),
        *("table_version_tracking_enabled", "ops_metrics_enabled", _REFRESH),
        *("inline_optimization_enabled", "commit_retries", "table_version_storage_enabled"),
        "dir_listing_to_manifest_migration_enabled",
    }
)


class DirectoryNamespace(TableVersions):
    """The namespace of the tables in the folder ``root``, a path or URI.

    ``properties``: ``storage.NAME`` is the storage option NAME. ``manifest_enabled`` (true): tables
    and nested namespaces are listed in the table ``__manifest`` of the folder.
    ``dir_listing_enabled`` (true): folders whose name ends with ".lance" are tables, too.
    ``table_version_tracking_enabled`` (false): clients make versions by `create_table_version`.
    ``credential_vendor.enabled`` (false): descriptions of tables on S3 contain temporary keys, see
    `lance_core_namespace.vendors`; ``credential_vendor`` is a vendor of another kind.
    ``vend_input_storage_options`` (false): without a vendor they contain the own storage options,
    with an end after ``vend_input_storage_options_refresh_interval_millis`` if it is given.
    ``ops_metrics_enabled`` (false): calls are counted. ``session`` and properties of pylance that
    concern its ways of keeping ``__manifest`` have no effect.

    No representation, log line or error shows storage options, and pickling drops the secrets among
    them. Raises `InvalidInputError` without root, and `UnsupportedFeatureError` for other
    properties.
    """

    def __init__(
        self,
        session: object = None,
        context_provider: DynamicContextProvider | None = None,
        credential_vendor: CredentialVendor | None = None,
        **properties: Any,
    ) -> None:
        texts = {name: str(value) for name, value in properties.items() if value is not None}
        properties = hide_secrets(properties)  # for the frames of errors
        texts, self._context = provider_of(texts, context_provider)
        self._options: dict[str, str | Secret] = hide_secrets(
            {
                name.removeprefix(_STORAGE): value
                for name, value in texts.items()
                if name.startswith(_STORAGE)
            }
        )
        texts = {name: value for name, value in texts.items() if not name.startswith(_STORAGE)}
        unknown = sorted(name for name in texts if name not in _KNOWN | {PREFIX})
        unknown = [name for name in unknown if not name.startswith(PREFIX)]
        if unknown:
            raise UnsupportedFeatureError(
                f"property {unknown[0]!r} of a namespace is not supported"
            )
        if not texts.get("root"):
            raise InvalidInputError("a DirectoryNamespace needs the property root")
        self._root = texts["root"].rstrip("/") or "/"
        self._url = parse_uri(self._root)
        self._lists = _flag(texts, "dir_listing_enabled", default=True)
        self._vends = _flag(texts, "vend_input_storage_options", default=False)
        self._is_managed = _flag(texts, "table_version_tracking_enabled", default=False)
        self._lifetime = _millis(texts.get(_REFRESH))
        self._vendor = credential_vendor or vendor_of(texts, self._options)
        self._manifest = None
        if _flag(texts, "manifest_enabled", default=True):
            self._manifest = Manifest(f"{self._root}/__manifest", self._options)
        is_counted = _flag(texts, "ops_metrics_enabled", default=False)
        self.metrics: Counter[str] | None = Counter() if is_counted else None

    def namespace_id(self) -> str:
        """A text that names the folder."""
        return f'DirectoryNamespace {{ root: "{self._url}" }}'

    def __repr__(self) -> str:
        return f"DirectoryNamespace({self.namespace_id()})"

    def retrieve_ops_metrics(self) -> dict[str, int]:
        """The number of calls by operation; empty unless ``ops_metrics_enabled``."""
        return dict(self.metrics or {})

    def reset_ops_metrics(self) -> None:
        """Count from zero again."""
        if self.metrics is not None:
            self.metrics.clear()

    @operation
    def create_namespace(self, request: Any) -> Any:
        """Add a namespace, whose parent must exist."""
        if not request.id:
            raise errors.NamespaceAlreadyExistsError("the root namespace exists")
        id_, manifest = id_of(request, "namespace"), self._with_manifest("nested namespaces")
        mode = _mode(request, {"create", "exist_ok", "overwrite"})
        self._check_namespace(id_[:-1], "parent namespace ")
        entry = Entry(id_, NAMESPACE, properties=request.properties)
        if manifest.add(entry):
            return names.CreateNamespaceResponse(properties=request.properties)
        stored = manifest.entry(id_)
        if mode == "create" or stored is None or stored.object_type != NAMESPACE:
            raise errors.NamespaceAlreadyExistsError(f"namespace {shown(id_)} exists")
        if mode == "overwrite":
            raise errors.UnsupportedOperationError("namespaces are not overwritten")
        return names.CreateNamespaceResponse(properties=stored.properties)

    @operation
    def describe_namespace(self, request: Any) -> Any:
        """The properties of a namespace."""
        entry = self._check_namespace(self._namespace(request))
        properties = (entry.properties if entry else None) or {}
        return names.DescribeNamespaceResponse(properties=dict(properties))

    @operation
    def namespace_exists(self, request: Any) -> Any:
        """Raises ``NamespaceNotFoundError`` if it does not exist."""
        self._check_namespace(self._namespace(request))
        return names.NamespaceExistsResponse()

    @operation
    def list_namespaces(self, request: Any) -> Any:
        """The names of the namespaces directly in one."""
        id_ = self._namespace(request)
        entries = self._children(id_)
        named = [entry.id[-1] for entry in entries if entry.object_type == NAMESPACE]
        if not entries:
            self._check_namespace(id_)
        page, token = page_of(named, request)
        return names.ListNamespacesResponse(namespaces=page, page_token=token)

    @operation
    def drop_namespace(self, request: Any) -> Any:
        """Remove an empty namespace."""
        if not request.id:
            raise errors.InvalidInputError("the root namespace cannot be dropped")
        id_, manifest = id_of(request, "namespace"), self._with_manifest("nested namespaces")
        if (request.behavior or "").lower() == "cascade":
            raise errors.UnsupportedOperationError("namespaces are dropped without their tables")
        if manifest.entry(id_) is None and _mode(request, {"fail", "skip", "create"}) == "skip":
            return names.DropNamespaceResponse()
        self._check_namespace(id_)
        count = len(manifest.children(id_))
        if count:
            raise errors.NamespaceNotEmptyError(
                f"Namespace not empty: {shown(id_)} (contains {count} child objects)"
            )
        manifest.remove(id_)
        return names.DropNamespaceResponse()

    @operation
    def list_tables(self, request: Any) -> Any:
        """The names of the tables directly in a namespace."""
        page, token = page_of(self._tables(self._namespace(request), request), request)
        return names.ListTablesResponse(tables=page, page_token=token)

    @operation
    def list_all_tables(self, request: Any) -> Any:
        """The names of all tables, with the parts of each joined by ``$``."""
        listed = {*self._tables((), request)}
        if self._manifest is not None:
            listed |= {
                DELIMITER.join(entry.id)
                for entry in self._manifest.children((), recursive=True)
                if entry.object_type == TABLE and self._is_listed(entry, request)
            }
        page, token = page_of(sorted(listed), request)
        return names.ListTablesResponse(tables=page, page_token=token)

    @operation
    def declare_table(self, request: Any) -> Any:
        """Reserve the name of a table that is written later, and return its location."""
        id_ = id_of(request)
        if self._location(id_) is not None:
            raise _exists(id_)
        location = self._added(id_, request.location, request.properties)
        self._reserve(location, id_)
        return names.DeclareTableResponse(
            location=self._uri(location),
            storage_options=self._vended(location, request),
            properties=request.properties,
            managed_versioning=self._is_managed or None,
        )

    @operation
    def describe_table(self, request: Any) -> Any:
        """The location of a table; with ``load_detailed_metadata`` also its version and schema."""
        id_ = id_of(request)
        location, entry = self._required(id_)
        details: dict[str, Any] = {}
        if request.load_detailed_metadata or request.check_declared:
            details["is_only_declared"] = not has_versions(self._files(), location)
        if request.load_detailed_metadata and not details["is_only_declared"]:
            details = self.details_of(self.dataset_of(request, request.version))
        uri = self._uri(location)
        return names.DescribeTableResponse.from_dict(
            {
                "table": id_[-1],
                "namespace": list(id_[:-1]),
                "location": uri,
                "table_uri": uri,
                "storage_options": self._vended(location, request),
                "properties": dict(entry.properties) if entry and entry.properties else None,
                "managed_versioning": self._is_managed or None,
                **details,
            }
        )

    @operation
    def table_exists(self, request: Any) -> Any:
        """Raises ``TableNotFoundError`` if it does not exist."""
        self._required(id_of(request))
        if request.version is not None:
            self.dataset_of(request, request.version)
        return names.TableExistsResponse()

    @operation
    def register_table(self, request: Any) -> Any:
        """Add a table whose files exist; its ``location`` is a path below the root."""
        id_, manifest = id_of(request), self._with_manifest("registered tables")
        location = below_root(request.location)
        mode = _mode(request, {"create", "overwrite"})
        if location == f"{id_[0]}{SUFFIX}" and len(id_) == 1:
            self._files().delete(f"{location}/{DEREGISTERED}")
        if mode == "overwrite":
            manifest.remove(id_)
        if not manifest.add(Entry(id_, TABLE, location, request.properties)):
            raise _exists(id_)
        return names.RegisterTableResponse(location=location, properties=request.properties)

    @operation
    def deregister_table(self, request: Any) -> Any:
        """Remove a table from the namespace; its files stay."""
        id_ = id_of(request)
        location, entry = self._required(id_)
        if entry is not None and self._manifest is not None:
            self._manifest.remove(id_)
        if self._lists and len(id_) == 1 and location == f"{id_[0]}{SUFFIX}":
            self._files().put(f"{location}/{DEREGISTERED}", b"")
        properties = dict(entry.properties) if entry and entry.properties else None
        return names.DeregisterTableResponse(
            id=list(id_), location=self._uri(location), properties=properties
        )

    @operation
    def drop_table(self, request: Any) -> Any:
        """Remove a table from the namespace, and its files."""
        id_ = id_of(request)
        location, _ = self._required(id_)
        if self._manifest is not None:
            self._manifest.remove(id_)
        store = self._files()
        if has_versions(store, location):
            lance.LanceDataset.drop(
                self._uri(location), storage_options=self._plain(), ignore_not_found=True
            )
        store.delete(f"{location}/{RESERVED}")
        store.remove_empty_folders(location)
        return names.DropTableResponse(id=list(id_), location=self._uri(location))

    @operation
    def create_table(self, request: Any, request_data: bytes) -> Any:
        """Write a table; ``request_data``: its rows as a stream of Arrow's IPC format."""
        id_, mode = id_of(request), _mode(request, {"create", "exist_ok", "overwrite"})
        rows, existing = rows_of(request_data), self._location(id_)
        if existing is None:
            location = self._added(id_, None, request.properties)
        elif mode == "create":
            raise _exists(id_)
        else:
            location = existing[0]
        version = None
        if existing is None or mode == "overwrite":
            uri, options = self._uri(location), self._plain()
            version = lance.write_dataset(
                rows, uri, mode="overwrite", storage_options=options
            ).version
        return names.CreateTableResponse(
            location=self._uri(location),
            version=version,
            storage_options=self._vended(location, request),
            properties=request.properties,
        )

    def folder_of(self, id_: tuple[str, ...]) -> tuple[str, Mapping[str, str | Secret]]:
        """The URI of the folder of a table, and the options of its store."""
        return self._uri(self._required(id_)[0]), self._options

    def open_table(self, id_: tuple[str, ...]) -> lance.LanceDataset:
        """The table at its newest version; raises ``TableNotFoundError``."""
        location, _ = self._required(id_)
        try:
            return lance.dataset(self._uri(location), storage_options=self._plain())
        except DatasetNotFoundError as error:
            raise errors.TableNotFoundError(
                f"table {shown(id_)} is declared, and was not written yet"
            ) from error

    def _plain(self) -> Any:
        """The storage options, for functions of users; their values stay hidden."""
        return self._options or None

    def _files(self) -> ObjectStore:
        return open_store(self._root, self._options)

    def _uri(self, location: str | None) -> str:
        return f"{self._root.rstrip('/')}/{location}"

    def _vended(self, location: str, request: Any) -> dict[str, str] | None:
        """The storage options for others, in plain text; None if there are none."""
        if getattr(request, "vend_credentials", None) is False:
            return None
        if self._vendor is not None and "://" in self._root:
            vended = self._vendor.vend(self._uri(location))
        elif self._vends:
            vended = dict(self._options)
            if self._lifetime is not None:
                end = int(time.time() * 1000) + self._lifetime
                vended = {**vended, "expires_at_millis": str(end)}
        else:
            return None
        return {name: plain(value) for name, value in vended.items()}

    def _with_manifest(self, what: str) -> Manifest:
        if self._manifest is None:
            raise errors.UnsupportedOperationError(f"{what} need manifest_enabled")
        return self._manifest

    def _namespace(self, request: Any) -> tuple[str, ...]:
        return id_of(request, "namespace") if request.id else ()

    def _check_namespace(self, id_: tuple[str, ...], what: str = "") -> Entry | None:
        """The entry of a namespace, None for the root; raises ``NamespaceNotFoundError``."""
        if not id_:
            return None
        entry = None if self._manifest is None else self._manifest.entry(id_)
        if entry is None or entry.object_type != NAMESPACE:
            raise errors.NamespaceNotFoundError(f"Namespace not found: {what}{shown(id_)}")
        return entry

    def _children(self, id_: tuple[str, ...]) -> Sequence[Entry]:
        return [] if self._manifest is None else self._manifest.children(id_)

    def _tables(self, id_: tuple[str, ...], request: Any) -> list[str]:
        """The names of the tables directly in a namespace; raises if it does not exist."""
        entries = self._children(id_)
        named = {
            entry.id[-1]
            for entry in entries
            if entry.object_type == TABLE and self._is_listed(entry, request)
        }
        if not entries:
            self._check_namespace(id_)
        if self._lists and not id_:
            store, with_declared = self._files(), request.include_declared is not False
            named |= set(table_folders(store, with_declared=with_declared))
        return sorted(named)

    def _is_listed(self, entry: Entry, request: Any) -> bool:
        if request.include_declared is not False or entry.location is None:
            return True
        return has_versions(self._files(), below_root(entry.location))

    def _location(self, id_: tuple[str, ...]) -> tuple[str, Entry | None] | None:
        """The location of a table below the root, and its entry; None if there is no such table."""
        entry = None if self._manifest is None else self._manifest.entry(id_)
        if entry is not None and entry.object_type == TABLE and entry.location is not None:
            return below_root(entry.location), entry
        folder = f"{id_[0]}{SUFFIX}"
        if self._lists and len(id_) == 1 and is_table(self._files(), folder):
            return folder, None
        return None

    def _required(self, id_: tuple[str, ...]) -> tuple[str, Entry | None]:
        existing = self._location(id_)
        if existing is None:
            raise errors.TableNotFoundError(f"Table not found: table id {shown(id_)}")
        return existing

    def _added(
        self,
        id_: tuple[str, ...],
        requested: str | None,
        properties: Mapping[str, str] | None,
    ) -> str:
        """The location of a new table, which the manifest has then; raises if it exists."""
        if self._manifest is None and len(id_) > 1:
            raise errors.UnsupportedOperationError("nested namespaces need manifest_enabled")
        if self._manifest is None and properties:
            raise errors.UnsupportedOperationError("properties of tables need manifest_enabled")
        location = self._new_location(id_, requested)
        entry = Entry(id_, TABLE, location, properties)
        if self._manifest is not None and not self._manifest.add(entry):
            raise _exists(id_)
        return location

    def _new_location(self, id_: tuple[str, ...], requested: str | None) -> str:
        """Where a new table is: a folder of its name, if it is found by its folder."""
        if requested is not None:
            return below_root(requested.removeprefix(f"{self._root}/"))
        if len(id_) == 1 and (self._lists or self._manifest is None):
            return f"{id_[0]}{SUFFIX}"
        # A name of many parts would be longer than names of folders may be.
        readable = DELIMITER.join(id_).encode()[:_MAX_READABLE].decode(errors="ignore")
        return f"{uuid.uuid4().hex[:8]}_{readable}"

    def _reserve(self, location: str, id_: tuple[str, ...]) -> None:
        """Write the marker of a declared table; of two callers without a manifest one succeeds."""
        store = self._files()
        is_careful = store.capabilities.put_if_absent is Guarantee.YES and self._manifest is None
        mode = PutMode.create if is_careful else PutMode.overwrite
        try:
            store.put(f"{location}/{RESERVED}", b"", mode)
        except ObjectExistsError as error:
            raise _exists(id_) from error


_MAX_READABLE = 200


def _mode(request: Any, known: set[str]) -> str:
    mode = (request.mode or "create").lower().replace("existok", "exist_ok")
    if mode not in known:
        raise errors.InvalidInputError(f"mode is one of {', '.join(sorted(known))}, got {mode!r}")
    return mode


def _exists(id_: Sequence[str]) -> Exception:
    error: Exception = errors.TableAlreadyExistsError(f"Table already exists: {shown(id_)}")
    return error


def _flag(properties: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = properties.get(name, str(default)).lower()
    if text not in {"true", "false"}:
        raise InvalidInputError(f"property {name} is true or false, got {text[:20]!r}")
    return text == "true"


def _millis(text: str | None) -> int | None:
    if text is not None and not text.isdigit():
        raise InvalidInputError(f"property {_REFRESH} is a number, got {text[:20]!r}")
    return None if text is None else int(text)
