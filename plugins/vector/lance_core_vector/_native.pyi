from typing import Any, TypeAlias

import numpy as np

Buffer: TypeAlias = np.ndarray[Any, Any]

INTERFACE: int

def nearest_codewords(
    vectors: Buffer,
    parts: int,
    size: int,
    turned: Buffer,
    halves: Buffer,
    first: int,
    stop: int,
    codes: Buffer,
    sums: Buffer,
    counts: Buffer,
    /,
) -> int: ...
def rotate_vectors(vectors: Buffer, width: int, signs: Buffer, /) -> int: ...
def rabit_codes(
    rotated: Buffer,
    width: int,
    bits: int,
    centroids: Buffer,
    owners: Buffer,
    codes: Buffer,
    sums: Buffer,
    /,
) -> int: ...
def scan_floats(
    codes: list[Buffer],
    rows: list[Buffer],
    masks: list[Buffer] | None,
    query: Buffer,
    kind: int,
    scores: Buffer,
    best_rows: Buffer,
    positions: Buffer,
    /,
) -> int: ...
def scan_product(
    codes: list[Buffer],
    rows: list[Buffer],
    masks: list[Buffer] | None,
    width: int,
    bits: int,
    tables: Buffer,
    base: float,
    scores: Buffer,
    best_rows: Buffer,
    positions: Buffer,
    /,
) -> int: ...
def scan_scalar(
    codes: list[Buffer],
    rows: list[Buffer],
    masks: list[Buffer] | None,
    query: Buffer,
    scale: float,
    scores: Buffer,
    best_rows: Buffer,
    positions: Buffer,
    /,
) -> int: ...
def offer_batch(
    vectors: Buffer,
    width: int,
    queries: Buffer,
    added: Buffer,
    factors: Buffer,
    rows: Buffer,
    mask: Buffer,
    places: Buffer,
    position: int,
    limits: Buffer,
    scores: Buffer,
    best_rows: Buffer,
    positions: Buffer,
    sizes: Buffer,
    /,
) -> int: ...
def nearest_centroids(
    vectors: Buffer, width: int, centroids: Buffer, halves: Buffer, owners: Buffer, /
) -> int: ...
def squares(vectors: Buffer, width: int, found: Buffer, /) -> int: ...
def unit_vectors(vectors: Buffer, width: int, found: Buffer, /) -> int: ...
def sum_by_owner(vectors: Buffer, owners: Buffer, width: int, sums: Buffer, /) -> int: ...
def scalar_codes(numbers: Buffer, low: float, step: float, codes: Buffer, /) -> int: ...
def hnsw_change(
    space: int,
    width: int,
    codes: Buffer,
    m: int,
    ef: int,
    levels: Buffer,
    firsts: Buffer,
    links: Buffer,
    counts: Buffer,
    upper: Buffer,
    upper_counts: Buffer,
    order: Buffer,
    removed: Buffer,
    entry: int,
    distances: Buffer,
    upper_distances: Buffer,
    /,
) -> int: ...
def hnsw_search(
    space: int,
    width: int,
    count: int,
    codes: Buffer,
    query: Buffer,
    nodes: Buffer,
    starts: Buffer,
    neighbours: Buffer,
    levels: Buffer,
    entry: int,
    found: Buffer,
    /,
) -> int: ...
def scan_rabit(
    codes: list[Buffer],
    rows: list[Buffer],
    masks: list[Buffer] | None,
    added: list[Buffer],
    scales: list[Buffer],
    query: Buffer,
    half: float,
    factors: Buffer,
    bases: Buffer,
    signs: list[Buffer] | None,
    sign_added: list[Buffer],
    sign_scales: list[Buffer],
    errors: list[Buffer],
    tables: Buffer,
    sign_half: float,
    reaches: Buffer,
    scores: Buffer,
    best_rows: Buffer,
    positions: Buffer,
    /,
) -> int: ...
def scan_signs(
    codes: list[Buffer],
    rows: list[Buffer],
    masks: list[Buffer] | None,
    added: list[Buffer],
    scales: list[Buffer],
    width: int,
    tables: Buffer,
    half: float,
    factors: Buffer,
    bases: Buffer,
    scores: Buffer,
    best_rows: Buffer,
    positions: Buffer,
    /,
) -> int: ...
