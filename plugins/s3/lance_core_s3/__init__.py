"""Tables on Amazon S3 and compatible servers, with boto3.

``plugin`` registers the plugin, ``options`` defines storage options, ``client`` opens a bucket.
"""

from lance_core_remote.aws_sessions import register_session, unregister_session

__all__ = ["register_session", "unregister_session"]
