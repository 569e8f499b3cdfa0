"""The guarantees of Google Cloud Storage and of other servers with its API."""

from __future__ import annotations

from dataclasses import replace

from lance_core.hookspecs import Guarantee, StoreCapabilities

OF_GOOGLE = StoreCapabilities(
    put_if_absent=Guarantee.YES,
    multipart_if_absent=Guarantee.YES,
    copy_if_absent=Guarantee.YES,
    ordered_list=Guarantee.YES,
    strong_reads=Guarantee.YES,
)
"""Preconditions on generations, and strongly consistent reads and listings."""

OF_OTHERS = replace(
    OF_GOOGLE,
    # Some emulators accept preconditions but ignore them; a probe decides.
    put_if_absent=Guarantee.UNKNOWN,
    multipart_if_absent=Guarantee.UNKNOWN,
    copy_if_absent=Guarantee.UNKNOWN,
)
