"""The bytes of an image, by its URI."""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path

from pyarrow import fs

from lance_core.hookspecs.options import shown_uri

MAX_IMAGE_BYTES = 2**31 - 1
"""The maximum bytes of an image: more do not fit into one value of an Arrow array."""

TIMEOUT = 60.0
"""Seconds after which a server that sends nothing is given up."""


def read_image(uri: str) -> bytes:
    """The bytes at ``uri``: a local path, an ``http:`` URL, or a URI of `pyarrow.fs.FileSystem`.

    Raises ``OSError`` that names the URI, without secrets, if it cannot be read.
    """
    scheme = uri.partition("://")[0].lower() if "://" in uri else ""
    try:
        if scheme in ("http", "https"):
            with urllib.request.urlopen(uri, timeout=TIMEOUT) as answer:  # noqa: S310 (see above)
                data: bytes = answer.read(MAX_IMAGE_BYTES + 1)
        elif not scheme and not uri.startswith("file:"):
            data = Path(uri).read_bytes()
        else:
            system, path = fs.FileSystem.from_uri(uri)
            with system.open_input_stream(path) as stream:
                data = stream.read(MAX_IMAGE_BYTES + 1)
    except (OSError, ValueError, urllib.error.URLError) as error:
        failure = OSError(f"the image {shown_uri(uri)!r} cannot be read: {_reason(error)}")
    else:
        if len(data) <= MAX_IMAGE_BYTES:
            return data
        failure = OSError(f"the image {shown_uri(uri)!r} has more than {MAX_IMAGE_BYTES} bytes")
    raise failure


def _reason(error: Exception) -> str:
    """What went wrong, without the URI, which may have a secret."""
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answers {error.code}"
    if isinstance(error, urllib.error.URLError):
        return type(error.reason).__name__ if isinstance(error.reason, Exception) else "no answer"
    return getattr(error, "strerror", None) or type(error).__name__
