"""Tables on Amazon S3 and servers of its API.

``plugin`` says what there is; ``options`` what can be chosen; ``store`` opens a bucket.
"""
