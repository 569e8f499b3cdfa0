"""Check what the external manifest store of a plugin returns, before a row is followed.

A method that returns anything but what `ExternalManifestStore` says, or raises an error of Python,
ends in a `StoreError` that names the plugin, the method and the type. For writes it is an
`OutcomeUnknownError`: a back-end that returns False instead of raising `ObjectExistsError` would
otherwise publish over the manifest of another writer.
"""

from __future__ import annotations

from lance_core.commits.handlers.external_manifest_store import ExternalManifestStore, ManifestEntry
from lance_core.error_texts.plugin_calls import wrong_field
from lance_core.store.wrappers.result_checks import Mask, PluginCalls
from lance_core.table.paths import DETACHED


def checked_rows(rows: ExternalManifestStore, plugin: str, mask: Mask) -> ExternalManifestStore:
    """``rows`` with checked results; ``plugin`` names the back-end and its plugin in errors."""
    return CheckedManifestStore(rows, PluginCalls(plugin, mask))


class CheckedManifestStore(ExternalManifestStore):
    """Forwards to ``inner``, the back-end of a plugin, and checks how each call ends."""

    def __init__(self, inner: ExternalManifestStore, calls: PluginCalls) -> None:
        self.inner = inner
        self._calls = calls

    def __repr__(self) -> str:
        return repr(self.inner)

    def get(self, base_uri: str, version: int) -> ManifestEntry | None:
        what = f"get({base_uri!r}, {version})"
        entry = self._entry(what, self._calls.read(what, self.inner.get, base_uri, version))
        if entry is not None and entry.version != version:
            raise self._calls.false(what, f"the row of version {entry.version}")
        return entry

    def get_latest(self, base_uri: str) -> ManifestEntry | None:
        what = f"get_latest({base_uri!r})"
        entry = self._entry(what, self._calls.read(what, self.inner.get_latest, base_uri))
        if entry is not None and entry.version & DETACHED:
            raise self._calls.false(what, f"the row of the detached version {entry.version}")
        return entry

    def put_if_absent(self, base_uri: str, entry: ManifestEntry) -> None:
        what = f"put_if_absent({base_uri!r}, version {entry.version})"
        self._calls.write(what, self.inner.put_if_absent, base_uri, entry)

    def put_if_present(self, base_uri: str, entry: ManifestEntry) -> None:
        what = f"put_if_present({base_uri!r}, version {entry.version})"
        self._calls.write(what, self.inner.put_if_present, base_uri, entry)

    def delete(self, base_uri: str) -> None:
        self._calls.write(f"delete({base_uri!r})", self.inner.delete, base_uri)

    def _entry(self, what: str, answer: object) -> ManifestEntry | None:
        if answer is None:
            return None
        if not isinstance(answer, ManifestEntry):
            raise self._calls.wrong(what, answer, "a ManifestEntry or None")
        wrong = wrong_field(
            ("version", answer.version, int),
            ("path", answer.path, str),
            ("size", 0 if answer.size is None else answer.size, int),
            ("etag", "" if answer.etag is None else answer.etag, str),
        )
        if wrong is None and not 0 < answer.version < 1 << 64:
            wrong = f"version is {answer.version}"
        elif wrong is None and answer.size is not None and answer.size < 0:
            wrong = f"size is {answer.size}"
        if wrong is not None:
            raise self._calls.false(what, f"a ManifestEntry whose {wrong}")
        return answer
