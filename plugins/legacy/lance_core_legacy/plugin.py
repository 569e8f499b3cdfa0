"""The entry point: the descriptor of file version 0.1. What it names is imported at first use."""

from __future__ import annotations

from lance_core.hookspecs import FileVersion, FileVersionSpec, hookimpl


@hookimpl
def lance_file_versions() -> list[FileVersionSpec]:
    """File version 0.1."""
    return [
        FileVersionSpec(
            version=FileVersion("0.1"),
            read_content="lance_core_legacy.metadata:read_legacy_metadata",
            writer="lance_core_legacy.writer:open_legacy_writer",
        )
    ]
