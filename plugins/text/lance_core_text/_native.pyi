from typing import Any, TypeAlias

import numpy as np

Buffer: TypeAlias = np.ndarray[Any, Any]

INTERFACE: int

def count_shared(letters: Buffer, offsets: Buffer, shared: Buffer, /) -> int: ...
def find_term(data: Buffer, offsets: Buffer, term: bytes, /) -> int: ...
def near_terms(
    letters: Buffer,
    offsets: Buffer,
    shared: Buffer,
    word: Buffer,
    edits: int,
    prefix: int,
    found: Buffer,
    distances: Buffer,
    /,
) -> int: ...
def prepare_blocks(
    data: Buffer,
    offsets: Buffer,
    length: int,
    size: int,
    has_score: bool,
    has_plain_rest: bool,
    norms: Buffer,
    firsts: Buffer,
    best: Buffer,
    /,
) -> int: ...
def rank(
    terms: list[tuple[Any, ...]],
    size: int,
    has_score: bool,
    has_plain_rest: bool,
    norms: Buffer,
    rows: Buffer,
    shape: Buffer,
    boosts: Buffer,
    scores: Buffer,
    documents: Buffer,
    /,
) -> int: ...
