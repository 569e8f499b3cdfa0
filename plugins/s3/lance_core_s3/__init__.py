"""Tables on Amazon S3 and servers of its API, by boto3.

``plugin`` says what there is; ``options`` what can be chosen; ``client`` opens a bucket.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lance_core_s3.credentials import register_session, unregister_session

__all__ = ["register_session", "unregister_session"]


def __getattr__(name: str) -> object:
    # Looking up plugins imports this package and must not wait for the SDK.
    if name in __all__:
        from lance_core_s3 import credentials

        return getattr(credentials, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
