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
