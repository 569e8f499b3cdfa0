"""Check files of trusted certificates before the first connection needs them."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

from lance_core.errors import InvalidInputError
from lance_core.hookspecs.options import shown_path


def reason_unreadable(path: str) -> str | None:
    """Why the file ``path`` cannot be read; None if it can."""
    try:
        with Path(path).open("rb"):
            return None
    except OSError as error:
        return error.strerror or type(error).__name__
    except ValueError:  # a null byte in the path
        return "not a path"


def check_ca_file(path: str, source: str) -> None:
    """Raise `InvalidInputError` unless ``path`` is a file, or a folder, of certificates.

    ``source`` is the environment variable or option that names it.
    """
    if os.path.isdir(path):  # noqa: PTH112 (Path raises for texts that are no paths)
        return
    reason = reason_unreadable(path)
    if reason is None:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=path)
        except (ssl.SSLError, ValueError):
            reason = "it contains no certificate in PEM form"
    if reason is not None:
        raise InvalidInputError(
            f"{source} names a file of trusted certificates that cannot be used: "
            f"{shown_path(path)}: {reason}"
        )


def check_ca_variables() -> None:
    """`check_ca_file` for the variables of Python's own TLS, which ignores wrong ones silently."""
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
        path = os.environ.get(name)
        if path:
            check_ca_file(path, name)
