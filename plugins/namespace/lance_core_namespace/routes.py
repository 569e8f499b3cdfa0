"""The operations of namespaces, and where each one is in the REST interface of lance-namespace."""

from __future__ import annotations

from dataclasses import dataclass

DELIMITER = "$"
"""What joins the parts of a name in a URL, unless a client says otherwise."""

ARROW_STREAM = "application/vnd.apache.arrow.stream"
ARROW_FILE = "application/vnd.apache.arrow.file"
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Route:
    """An operation: the path of its URL, its request, and what is sent and answered.

    ``request`` and ``response``: names of models of lance-namespace. ``query``: the fields of the
    request that are parameters of the URL. ``sends``: ``"json"`` (all fields), ``"rows"`` (a stream
    of Arrow's IPC format), ``"nothing"``, or the only field that is sent. ``answers``: ``"model"``,
    ``"rows"``, ``"text"``, ``"count"``, ``"nothing"``, or the only field of the response.
    ``is_read``: nothing changes, so that a request may be sent again.
    """

    operation: str
    path: str
    request: str
    response: str
    query: tuple[str, ...] = ()
    sends: str = "json"
    answers: str = "model"
    is_read: bool = False

    @property
    def method(self) -> str:
        """The method of HTTP."""
        return "GET" if self.operation in _BY_GET else "POST"


_BY_GET = frozenset({"list_all_tables", "list_namespaces", "list_tables"})
_PAGE = ("page_token", "limit")
_MERGE = (
    *("branch", "on", "when_matched_update_all", "when_matched_update_all_filt"),
    *("when_not_matched_insert_all", "when_not_matched_by_source_delete"),
    *("when_not_matched_by_source_delete_filt", "timeout", "use_index"),
)
_DETAILS = ("with_table_uri", "load_detailed_metadata", "check_declared")


def _route(
    operation: str, path: str, request: str = "", response: str = "", **how: object
) -> Route:
    name = "".join(part.capitalize() for part in operation.split("_"))
    how.setdefault("is_read", operation.startswith(("describe", "list", "get", "count", "query")))
    return Route(
        operation,
        f"/v1/{path}",
        f"{request or name}Request",
        f"{response or request or name}Response",
        **how,  # type: ignore[arg-type]  # fields of a Route
    )


_ALL = (
    _route("create_namespace", "namespace/{id}/create"),
    _route("describe_namespace", "namespace/{id}/describe"),
    _route("drop_namespace", "namespace/{id}/drop"),
    _route("namespace_exists", "namespace/{id}/exists", answers="nothing", is_read=True),
    _route("list_namespaces", "namespace/{id}/list", query=_PAGE, sends="nothing"),
    _route(
        *("list_tables", "namespace/{id}/table/list"),
        query=(*_PAGE, "include_declared"),
        sends="nothing",
    ),
    _route(
        *("list_all_tables", "table", "ListTables"),
        query=(*_PAGE, "include_declared"),
        sends="nothing",
    ),
    _route("declare_table", "table/{id}/declare"),
    _route("describe_table", "table/{id}/describe", query=_DETAILS),
    _route("register_table", "table/{id}/register"),
    _route("deregister_table", "table/{id}/deregister"),
    _route("drop_table", "table/{id}/drop"),
    _route("table_exists", "table/{id}/exists", answers="nothing", is_read=True),
    _route("rename_table", "table/{id}/rename"),
    _route("restore_table", "table/{id}/restore"),
    _route("count_table_rows", "table/{id}/count_rows", answers="count"),
    _route(
        *("create_table", "table/{id}/create"),
        query=("mode", "properties", "storage_options"),
        sends="rows",
    ),
    _route("insert_into_table", "table/{id}/insert", query=("branch", "mode"), sends="rows"),
    _route("merge_insert_into_table", "table/{id}/merge_insert", query=_MERGE, sends="rows"),
    _route("update_table", "table/{id}/update"),
    _route("delete_from_table", "table/{id}/delete"),
    _route("query_table", "table/{id}/query", answers="rows"),
    _route("explain_table_query_plan", "table/{id}/explain_plan", answers="text", is_read=True),
    _route("analyze_table_query_plan", "table/{id}/analyze_plan", answers="text", is_read=True),
    _route("create_table_index", "table/{id}/create_index"),
    _route(
        *("create_table_scalar_index", "table/{id}/create_scalar_index", "CreateTableIndex"),
    ),
    _route("list_table_indices", "table/{id}/index/list"),
    _route("describe_table_index_stats", "table/{id}/index/{index_name}/stats"),
    _route(
        *("drop_table_index", "table/{id}/index/{index_name}/drop"),
        query=("branch",),
        sends="nothing",
    ),
    _route("list_table_tags", "table/{id}/tags/list", query=_PAGE, sends="nothing"),
    _route("get_table_tag_version", "table/{id}/tags/version"),
    _route("create_table_tag", "table/{id}/tags/create"),
    _route("delete_table_tag", "table/{id}/tags/delete"),
    _route("update_table_tag", "table/{id}/tags/update"),
    _route("list_table_branches", "table/{id}/branches/list", query=_PAGE, sends="nothing"),
    _route("create_table_branch", "table/{id}/branches/create"),
    _route("delete_table_branch", "table/{id}/branches/delete"),
    _route(
        *("list_table_versions", "table/{id}/version/list"),
        query=("branch", *_PAGE, "descending"),
        sends="nothing",
    ),
    _route("create_table_version", "table/{id}/version/create"),
    _route("describe_table_version", "table/{id}/version/describe"),
    _route("batch_delete_table_versions", "table/{id}/version/delete"),
    _route("batch_create_table_versions", "table/version/batch-create"),
    _route("batch_commit_tables", "table/batch-commit"),
    _route(
        *("update_table_schema_metadata", "table/{id}/schema_metadata/update"),
        query=("branch",),
        sends="metadata",
        answers="metadata",
    ),
    _route("update_field_metadata", "table/{id}/update_field_metadata"),
    _route("get_table_stats", "table/{id}/stats"),
    _route("alter_table_add_columns", "table/{id}/add_columns"),
    _route("alter_table_alter_columns", "table/{id}/alter_columns"),
    _route("alter_table_drop_columns", "table/{id}/drop_columns"),
    _route("alter_table_backfill_columns", "table/{id}/backfill_column"),
    _route("describe_transaction", "transaction/{id}/describe"),
    _route("alter_transaction", "transaction/{id}/alter"),
)

ROUTES = {route.operation: route for route in _ALL}
"""All operations, by the name of the method of ``LanceNamespace``."""
