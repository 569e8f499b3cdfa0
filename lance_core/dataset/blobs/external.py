"""External blobs: the reference that a table stores for a blob given as a URI.

A URI inside one of the table's base paths is stored as a path relative to that base path. Base
paths that are tables (``is_dataset_root``) do not count. Any other URI is stored as a whole, and
only if the writer allows it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lance_core.dataset.snapshot.base_paths import parse_base
from lance_core.errors import CorruptFileError, InvalidInputError
from lance_core.lazy_dataclass import dataclass
from lance_core.store.uri import StoreUrl, is_local_text, parse_uri, shown_uri
from lance_core.table.manifest_parts import BasePath

if TYPE_CHECKING:
    from lance_core.dataset.snapshot.snapshot import Snapshot

_NORMAL = r"^[a-z][a-z0-9.-]*://[A-Za-z0-9.-]*(/[A-Za-z0-9_~=-][A-Za-z0-9._~=-]*)+$"
"""URIs that need no parsing: no percent-encoding, and no path segment begins with a dot."""


@dataclass(frozen=True, slots=True)
class ExternalBlobs:
    """The locations where a writer may reference external blobs.

    ``bases``: (base path id, URL), an outer location before the locations inside it.
    ``allow_outside``: URIs outside of all base paths are allowed too.
    """

    bases: tuple[tuple[int, StoreUrl], ...] = ()
    allow_outside: bool = False

    @classmethod
    def of(cls, base_paths: Iterable[BasePath], allow_outside: bool) -> ExternalBlobs:
        """Ignore base paths that are tables: a cleanup of such a table may remove its files."""
        bases = [
            (base.id, parse_base(base.path)) for base in base_paths if not base.is_dataset_root
        ]
        return cls(tuple(sorted(bases, key=lambda base: len(base[1].path))), allow_outside)

    def refer(self, uris: pa.Array, path: str) -> tuple[npt.NDArray[np.uint32], pa.Array]:
        """Implement `lance_core.encodings.context.BlobPlaces.refer`."""
        ids = np.zeros(len(uris), np.uint32)
        normal = pc.match_substring_regex(uris, _NORMAL).fill_null(False)
        texts = uris
        for base_id, base in self.bases:
            start = f"{url_text(base).rstrip('/')}/"
            inside = pc.and_(normal, pc.starts_with(uris, start).fill_null(False))
            texts = pc.if_else(inside, pc.utf8_slice_codeunits(uris, len(start)), texts)
            ids[np.asarray(inside)] = base_id
        left = np.asarray(uris.is_valid()) & (ids == 0)
        if not (self.allow_outside and not (left & ~np.asarray(normal)).any()) and left.any():
            return self._one_by_one(uris, path)
        return ids, texts

    def _one_by_one(self, uris: pa.Array, path: str) -> tuple[npt.NDArray[np.uint32], pa.Array]:
        """Return what `refer` returns, after parsing each distinct URI once."""
        encoded = uris.dictionary_encode()
        try:
            references = [self.reference_to(uri) for uri in encoded.dictionary.to_pylist()]
        except InvalidInputError as error:
            raise InvalidInputError(f"field {path!r}: {error}") from error
        numbers = encoded.indices.fill_null(0).to_numpy() if uris.null_count else encoded.indices
        ids = np.array([number for number, _ in references], np.uint32)[np.asarray(numbers)]
        texts = pa.array([text for _, text in references], pa.string()).take(encoded.indices)
        return ids, texts

    def reference_to(self, uri: str) -> tuple[int, str]:
        """The base path id (0 for none) of a URI, and the text to store for it.

        Raises `InvalidInputError` for a URI that cannot be used, and for a URI outside of all base
        paths unless ``allow_outside`` is set.
        """
        try:
            parsed = parse_uri(uri)
            if parsed.query or parsed.commit_scheme:
                raise InvalidInputError("it has a query or names a commit scheme")
            text = url_text(parsed) if uri else ""
            url = parse_base(text)
        except (CorruptFileError, InvalidInputError) as error:
            raise InvalidInputError(
                f"the blob's URI {shown_uri(uri)!r} cannot be used: {error}"
            ) from error
        if not url.path.rpartition("/")[2]:
            raise InvalidInputError(f"the blob's URI {shown_uri(uri)!r} does not name an object")
        for base_id, base in reversed(self.bases):
            folder = base.path.rstrip("/")
            same = (url.scheme, url.netloc) == (base.scheme, base.netloc)
            if same and url.path.startswith(f"{folder}/" if folder else "/"):
                return base_id, url.path[len(folder) :].strip("/")
        if is_local_text(uri):
            reason = "and is not absolute"
        elif not self.allow_outside:
            reason = (
                "(base paths that are tables do not count); set "
                "allow_external_blob_outside_bases=True to store it anyway"
            )
        else:
            return 0, text
        raise InvalidInputError(
            f"the blob's URI {shown_uri(uri)!r} is in none of the table's base paths {reason}"
        )


def url_text(url: StoreUrl) -> str:
    """The form in which a table stores a URI: absolute and percent-encoded."""
    if url.scheme == "file":
        return f"file://{quote(url.path)}"
    return f"{url.scheme}://{url.netloc}/{quote(url.path)}"


def absolute_uris(snapshot: Snapshot, base_ids: npt.NDArray[np.uint32], uris: pa.Array) -> pa.Array:
    """The absolute URIs of external blobs, whose stored ``uris`` may be relative to base paths."""
    for base_id in np.unique(base_ids[base_ids > 0]).tolist():
        base = snapshot.base(base_id)
        assert base is not None
        folder = url_text(parse_base(base.path)).rstrip("/")
        encoded = uris.dictionary_encode()
        whole = [
            None if uri is None else f"{folder}/{quote(uri)}"
            for uri in encoded.dictionary.to_pylist()
        ]
        texts = pa.array(whole, pa.string()).take(encoded.indices)
        uris = pc.if_else(pa.array(base_ids == base_id), texts, uris)
    return uris
