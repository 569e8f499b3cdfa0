"""The entry module of a storage plugin: what there is, and nothing that would have to be loaded."""

from __future__ import annotations

from lance_core.hookspecs import ObjectStoreSpec, hookimpl
from lance_core_remote.settings import ALIASES, OPTIONS, SECRET_OPTIONS


@hookimpl
def lance_object_stores() -> list[ObjectStoreSpec]:
    """``webdav://host:port/folder``."""
    return [
        ObjectStoreSpec(
            name="webdav",
            schemes=("webdav",),
            factory="lance_core_example_webdav.client:open_webdav",
            options=OPTIONS | {"webdav_user", "webdav_password"},
            option_aliases=ALIASES,
            secret_options=SECRET_OPTIONS | {"webdav_password"},
        )
    ]
