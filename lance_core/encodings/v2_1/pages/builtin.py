"""The page layouts of the format, by the name of their alternative in ``PageLayout``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lance_core.encodings.v2_1.pages.blob.reader import decode_blob
from lance_core.encodings.v2_1.pages.constant.reader import decode_constant
from lance_core.encodings.v2_1.pages.full_zip.reader import decode_full_zip
from lance_core.encodings.v2_1.pages.mini_block.reader import decode_mini_block
from lance_core.errors import CorruptFileError, UnsupportedFeatureError

if TYPE_CHECKING:
    from lance_core._pb.encodings_v2_1_pb2 import PageLayout
    from lance_core.encodings.v2_1.pages.base import LayoutDecoder, LayoutPlan, PageScope
    from lance_core.encodings.version import FileVersion

LAYOUTS: dict[str, LayoutDecoder] = {
    "mini_block_layout": decode_mini_block,
    "constant_layout": decode_constant,
    "full_zip_layout": decode_full_zip,
}


def plan_page(layout: PageLayout, scope: PageScope, version: FileVersion) -> LayoutPlan:
    """The plan for a page. Raises `CorruptFileError` and `UnsupportedFeatureError`."""
    name = layout.WhichOneof("layout")
    if name is None:
        raise CorruptFileError("a page has no layout", field="PageLayout")
    message: Any = getattr(layout, name)
    if name == "blob_layout":
        if message.inner_layout.WhichOneof("layout") not in LAYOUTS:
            raise CorruptFileError("blobs have no inner layout", field="BlobLayout")
        return decode_blob(
            message, scope, lambda inner: plan_page(message.inner_layout, inner, version)
        )
    if name not in LAYOUTS:
        raise UnsupportedFeatureError(f"pages with {name} are not supported")
    return LAYOUTS[name](message, scope)
