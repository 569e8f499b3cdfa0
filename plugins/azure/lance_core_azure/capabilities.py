"""The guarantees of Azure Blob Storage and of other servers with its API."""

from __future__ import annotations

from dataclasses import replace

from lance_core.hookspecs import Guarantee, StoreCapabilities

OF_AZURE = StoreCapabilities(
    put_if_absent=Guarantee.YES,
    multipart_if_absent=Guarantee.YES,
    copy_if_absent=Guarantee.YES,
    ordered_list=Guarantee.YES,
    strong_reads=Guarantee.YES,
)

OF_OTHERS = replace(
    OF_AZURE,
    # Other servers may ignore the condition; a probe decides.
    put_if_absent=Guarantee.UNKNOWN,
    multipart_if_absent=Guarantee.UNKNOWN,
    copy_if_absent=Guarantee.UNKNOWN,
)

_AZURE = (".blob.core.windows.net", ".blob.core.usgovcloudapi.net", ".blob.core.chinacloudapi.cn")


def is_azure(host: str) -> bool:
    """True if ``host`` belongs to Microsoft's storage service."""
    return host.lower().endswith(_AZURE)
