"""The extras of lance-core that install plugins of this project.

What each provides is in `lance_core.plugins.known_plugins`, which is imported when a plugin is
missing.
"""

EXTRAS = (
    *("arrays", "azure", "cli", "compaction", "dynamodb", "fsspec", "functions", "gcs", "indices"),
    *("kernels", "legacy", "lease", "namespace", "otel", "s3", "spark", "sql", "text", "torch"),
    "vector",
)
