"""Parse the ``Any`` messages that describe the encodings of pages and columns."""

from __future__ import annotations

from google.protobuf.message import DecodeError, Message

from lance_core._pb.encodings_v2_0_pb2 import ArrayEncoding, ColumnEncoding
from lance_core._pb.encodings_v2_1_pb2 import PageLayout
from lance_core.encodings.page import ForeignEncoding
from lance_core.encodings.version import COLUMN_ENCODING_URL, FileVersion
from lance_core.errors import CorruptFileError
from lance_core.file_version import ARRAY_ENCODING_URL, PAGE_LAYOUT_URL

_PAGE_MESSAGES: dict[str, type[Message]] = {
    ARRAY_ENCODING_URL: ArrayEncoding,
    PAGE_LAYOUT_URL: PageLayout,
}


def parse_page(version: FileVersion, type_url: str, value: bytes) -> Message | ForeignEncoding:
    """The encoding of a page of a ``version`` file, from the two fields of its ``Any``.

    A `ForeignEncoding` if ``type_url`` is not that of the version. Raises `CorruptFileError` for an
    invalid message.
    """
    message = _PAGE_MESSAGES.get(type_url)
    if message is None or type_url != version.page_encoding_url:
        return ForeignEncoding(type_url, value)
    return _parse(message, type_url, value)


def parse_column(type_url: str, value: bytes) -> Message | ForeignEncoding:
    """The ``ColumnEncoding`` of a column, from the two fields of its ``Any``.

    A `ForeignEncoding` if ``type_url`` is another one. Raises `CorruptFileError` for an invalid
    message.
    """
    if type_url != COLUMN_ENCODING_URL:
        return ForeignEncoding(type_url, value)
    return _parse(ColumnEncoding, type_url, value)


def _parse(message: type[Message], type_url: str, value: bytes) -> Message:
    try:
        return message.FromString(value)
    except DecodeError as error:
        raise CorruptFileError(
            f"the bytes are not a valid {type_url.rpartition('.')[2]} message"
        ) from error
