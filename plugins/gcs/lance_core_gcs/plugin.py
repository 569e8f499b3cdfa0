"""The entry module: it says what there is and imports no SDK."""

from __future__ import annotations

from lance_core.hookspecs import ObjectStoreSpec, hookimpl
from lance_core.store.base import Guarantee, StoreCapabilities
from lance_core_gcs.names import ALIASES, OPTIONS, SECRET_OPTIONS

OF_THE_SERVICE = StoreCapabilities(
    put_if_absent=Guarantee.YES,
    multipart_if_absent=Guarantee.YES,
    copy_if_absent=Guarantee.YES,
    ordered_list=Guarantee.YES,
    strong_reads=Guarantee.YES,
)
"""What Google Cloud Storage guarantees: conditions on generations, and consistent listings."""


@hookimpl
def lance_object_stores() -> list[ObjectStoreSpec]:
    """``gs://bucket/path``."""
    return [
        ObjectStoreSpec(
            name="gcs",
            schemes=("gs",),
            factory="lance_core_gcs.store:open_store",
            capabilities=OF_THE_SERVICE,
            option_aliases=ALIASES,
            secret_options=SECRET_OPTIONS,
            options=OPTIONS,
            extra="gcs",
            has_containers=True,
        )
    ]
