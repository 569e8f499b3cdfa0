"""Tables on Amazon S3 and servers of its API, by boto3.

``plugin`` says what there is; ``options`` what can be chosen; ``client`` opens a bucket.
"""

from lance_core_s3.registry import register_session, unregister_session

__all__ = ["register_session", "unregister_session"]
