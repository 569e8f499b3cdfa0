from typing import Any, TypeAlias

import numpy as np

Buffer: TypeAlias = np.ndarray[Any, Any]

INTERFACE: int

def count_shared(letters: Buffer, offsets: Buffer, shared: Buffer, /) -> int: ...
def encode_blocks(
    documents: Buffer,
    frequencies: Buffer,
    counts: Buffer,
    of_lists: Buffer,
    size: int,
    has_score: bool,
    has_plain_rest: bool,
    scores: Buffer,
    out: Buffer,
    offsets: Buffer,
    /,
) -> int: ...
def encode_impacts(
    documents: Buffer,
    frequencies: Buffer,
    counts: Buffer,
    of_lists: Buffer,
    rounded: Buffer,
    out: Buffer,
    offsets: Buffer,
    entries: Buffer,
    /,
) -> int: ...
def encode_streams(
    documents: Buffer,
    frequencies: Buffer,
    counts: Buffer,
    of_lists: Buffer,
    positions: Buffer,
    out: Buffer,
    offsets: Buffer,
    /,
) -> int: ...
def find_term(data: Buffer, offsets: Buffer, term: bytes, /) -> int: ...
def invert(
    numbers: Buffer,
    documents: Buffer,
    positions: Buffer,
    ranks: Buffer,
    counts: Buffer,
    own_documents: Buffer,
    frequencies: Buffer,
    own_positions: Buffer,
    /,
) -> int: ...
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
    lengths: Buffer,
    firsts: Buffer,
    best: Buffer,
    /,
) -> int: ...
def rank(
    terms: list[tuple[Any, ...]],
    size: int,
    has_score: bool,
    has_plain_rest: bool,
    is_sorted: bool,
    norms: Buffer,
    rows: Buffer,
    shape: Buffer,
    boosts: Buffer,
    scores: Buffer,
    documents: Buffer,
    /,
) -> int: ...
def replace_codes(
    numbers: Buffer,
    codes: Buffer,
    texts: Buffer,
    positions: Buffer,
    starts: Buffer,
    stops: Buffer,
    /,
) -> int: ...
def split_words(
    data: Buffer,
    offsets: Buffer,
    kinds: Buffer,
    points: Buffer,
    codes: Buffer,
    texts: Buffer,
    positions: Buffer,
    starts: Buffer,
    stops: Buffer,
    distinct_starts: Buffer,
    distinct_stops: Buffer,
    /,
) -> int: ...
def write_transducer(data: Buffer, offsets: Buffer, common: Buffer, /) -> bytes: ...
