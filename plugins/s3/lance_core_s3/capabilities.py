"""The guarantees of Amazon S3 and of other servers with its API."""

from __future__ import annotations

import re
from dataclasses import replace

from lance_core.hookspecs import Guarantee, StoreCapabilities

OF_AMAZON = StoreCapabilities(
    put_if_absent=Guarantee.YES,
    multipart_if_absent=Guarantee.YES,
    # CopyObject has no condition on its target; servers ignore the header.
    copy_if_absent=Guarantee.NO,
    ordered_list=Guarantee.YES,
    strong_reads=Guarantee.YES,
)

OF_OTHERS = replace(
    OF_AMAZON,
    # Some servers support If-None-Match, some reject it and some ignore it: a probe decides.
    put_if_absent=Guarantee.UNKNOWN,
    multipart_if_absent=Guarantee.UNKNOWN,
)

WITHOUT_CONDITIONS = replace(
    OF_AMAZON, put_if_absent=Guarantee.NO, multipart_if_absent=Guarantee.NO
)

_REGION = r"[a-z]{2,4}(?:-[a-z]+)+-\d"
_AMAZON = re.compile(
    rf"(?:.+\.)?(?:s3|s3-fips|s3-accelerate|s3-accesspoint(?:-fips)?|s3-external-1|s3-{_REGION})"
    rf"(?:\.dualstack)?(?:\.{_REGION})?(?:\.vpce)?"
    r"\.(?:amazonaws\.com|amazonaws\.com\.cn|amazonaws\.eu|api\.aws)"
)


def is_amazon(host: str) -> bool:
    """True if ``host`` is S3, false for other hosts, including customers' machines at Amazon."""
    return _AMAZON.fullmatch(host.lower()) is not None
