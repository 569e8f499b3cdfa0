"""Sets of real vectors, made of what Python and matplotlib ship, or given as files.

* ``letters``: 128 numbers, l2. The letters of matplotlib's fonts in three sizes, each drawn in 32 x
  32 pixels. The numbers are histograms of the directions of gradients, 8 for each of 4 x 4 cells,
  like those of SIFT: most are 0, and letters of similar fonts are near each other.
* ``texts``: 768 numbers, cosine. Pieces of six lines of Python's standard library; the frequencies
  of their 2,048 most frequent words (tf-idf), reduced by a singular value decomposition (latent
  semantic analysis) and turned at random, so that numbers have similar variances as those of
  neural embeddings have.

They differ with the versions of Python and matplotlib.
"""

from __future__ import annotations

import os
import re
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Floats = npt.NDArray[np.float32]

FOLDER_VARIABLE = "LANCE_CORE_BENCH_VECTORS"
"""A folder with the files ``NAME_x.npy`` (the vectors of a table, one a row) and ``NAME_q.npy``
(queries, none of them in the table) for each set that is measured instead."""

QUERIES = 1000
"""At most: recalls are then right to about three thousandths."""

CANVAS = 32
"""Pixels of the height and width of a drawn letter."""

SIZES = (16, 20, 24)
CELLS, DIRECTIONS = 4, 8

LINES = 6
"""Lines of a piece of text."""

WORDS = 2048
MAX_TEXTS = 100_000
TEXT_NUMBERS = 768
BLOCK_ROWS = 4096


@dataclass(frozen=True, slots=True, eq=False)
class VectorSet:
    """Vectors of a table, one a row, and queries that are not among them.

    ``parts``: the number of sub-vectors of a product quantizer with 8 bits.
    """

    name: str
    metric: str
    vectors: Floats
    queries: Floats
    parts: int


def vector_sets(*, quick: bool) -> Iterator[VectorSet]:
    """Each set; with ``quick``, a tenth of the vectors."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder:
        for path in sorted(Path(folder).glob("*_x.npy")):
            name = path.name.removesuffix("_x.npy")
            vectors = np.load(path).astype(np.float32, copy=False)
            queries = np.load(path.with_name(f"{name}_q.npy")).astype(np.float32, copy=False)
            yield _set(name, vectors, queries[:QUERIES], quick)
        return
    for name, vectors in (("letters", letters()), ("texts", texts())):
        yield _set(name, vectors[QUERIES:], vectors[:QUERIES], quick)


def _set(name: str, vectors: Floats, queries: Floats, quick: bool) -> VectorSet:
    """Vectors of length one are compared by cosine, other ones by l2."""
    lengths = np.linalg.norm(queries, axis=1)
    metric = "cosine" if np.allclose(lengths, 1, atol=1e-3) else "l2"
    rows = len(vectors) // 10 if quick else len(vectors)
    parts = vectors.shape[1] // (8 if metric == "l2" else 16)
    return VectorSet(name, metric, np.ascontiguousarray(vectors[:rows]), queries, parts)


def letters() -> Floats:
    """Histograms of the gradients of the letters of all fonts, each once, in random order."""
    distinct = np.unique(_histograms(np.concatenate(list(_drawn_letters()))), axis=0)
    np.random.default_rng(0).shuffle(distinct)
    return distinct


def _drawn_letters() -> Iterator[npt.NDArray[np.uint8]]:
    """The letters of one font in one size, as images that are centred in a square."""
    import matplotlib
    from matplotlib.ft2font import FT2Font

    for path in sorted(Path(matplotlib.get_data_path(), "fonts", "ttf").glob("*.ttf")):
        if path.name.startswith("LastResort"):  # has the same picture for a whole block
            continue
        for size in SIZES:
            font = FT2Font(str(path))
            font.set_size(size, 72)
            characters = sorted(font.get_charmap())
            images = np.zeros((len(characters), CANVAS, CANVAS), np.uint8)
            for image, character in zip(images, characters, strict=True):
                font.set_text(chr(character))
                font.draw_glyphs_to_bitmap(antialiased=True)
                drawn = np.asarray(font.get_image())[:CANVAS, :CANVAS]
                top, left = (CANVAS - drawn.shape[0]) // 2, (CANVAS - drawn.shape[1]) // 2
                image[top : top + drawn.shape[0], left : left + drawn.shape[1]] = drawn
            yield images[images.any(axis=(1, 2))]


def _histograms(images: npt.NDArray[np.uint8]) -> Floats:
    """For each image the histograms of its cells, with numbers from 0 to 255 as SIFT has them."""
    histograms = np.empty((len(images), CELLS * CELLS * DIRECTIONS), np.float32)
    for start in range(0, len(images), BLOCK_ROWS):
        some = images[start : start + BLOCK_ROWS].astype(np.float32)
        down, right = np.gradient(some, axis=(1, 2))
        turn = np.arctan2(down, right) / (2 * np.pi) * DIRECTIONS
        direction = np.round(turn).astype(np.int64) % DIRECTIONS
        rows, columns = np.indices((CANVAS, CANVAS)) * CELLS // CANVAS
        cell = (rows * CELLS + columns) * DIRECTIONS + direction
        numbers = np.arange(len(some))[:, None, None] * histograms.shape[1] + cell
        sums = np.bincount(
            numbers.ravel(), np.hypot(down, right).ravel(), histograms[: len(some)].size
        )
        sums = sums.reshape(len(some), -1)
        for _ in range(2):  # limits the share of a single direction, as SIFT does
            sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
            np.minimum(sums, 0.2, out=sums)
        histograms[start : start + BLOCK_ROWS] = np.minimum(np.round(512 * sums), 255)
    return histograms


def texts() -> Floats:
    """Vectors of length one of all pieces of text, in random order."""
    random = np.random.default_rng(0)
    pieces = list(dict.fromkeys(_pieces()))
    order = random.permutation(len(pieces))
    weights = _weights([pieces[number] for number in order.tolist()])
    products = sum(block.T @ block for block in weights())
    _, directions = np.linalg.eigh(products)
    directions = directions[:, : -TEXT_NUMBERS - 1 : -1]
    turned = np.linalg.qr(random.standard_normal((TEXT_NUMBERS, TEXT_NUMBERS)))[0]
    blocks = [block @ (directions @ turned).astype(np.float32) for block in weights()]
    vectors = np.concatenate(blocks)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / lengths)[lengths[:, 0] > 1e-3][: MAX_TEXTS + QUERIES]


def _pieces() -> Iterator[str]:
    """Pieces of the source files of the standard library with at least five different words."""
    library = Path(sysconfig.get_path("stdlib"))
    for path in sorted(library.rglob("*.py")):
        if "site-packages" in path.parts:
            continue
        lines = path.read_text("utf-8", "replace").splitlines()
        for start in range(0, len(lines), LINES):
            piece = "\n".join(lines[start : start + LINES]).lower()
            if len(set(re.findall("[a-z]{3,}", piece))) >= 5:
                yield piece


def _weights(pieces: list[str]) -> Callable[[], Iterator[Floats]]:
    """Blocks of the weights of the words of each piece, which have the length one."""
    split = pc.split_pattern_regex(pa.array(pieces), "[^a-z]+")
    words = split.values.dictionary_encode()
    piece = np.repeat(np.arange(len(pieces)), np.diff(split.offsets.to_numpy()))
    keys = piece * len(words.dictionary) + words.indices.to_numpy()
    keys, counts = np.unique(keys, return_counts=True)
    piece, word = np.divmod(keys, len(words.dictionary))
    frequency = np.bincount(word, minlength=len(words.dictionary))
    is_word = pc.utf8_length(words.dictionary).to_numpy() > 1
    is_word &= frequency < 0.3 * len(pieces)
    chosen = np.argsort(np.where(is_word, -frequency, 0), kind="stable")[:WORDS]
    column = np.full(len(words.dictionary), -1)
    column[chosen] = np.arange(WORDS)
    known = column[word] >= 0
    piece, word, counts = piece[known], word[known], counts[known]
    values = (1 + np.log(counts)) * np.log(len(pieces) / frequency[word])

    def blocks() -> Iterator[Floats]:
        for start in range(0, len(pieces), BLOCK_ROWS):
            first, last = np.searchsorted(piece, (start, start + BLOCK_ROWS))
            block = np.zeros((min(BLOCK_ROWS, len(pieces) - start), WORDS), np.float32)
            block[piece[first:last] - start, column[word[first:last]]] = values[first:last]
            yield block / np.maximum(np.linalg.norm(block, axis=1, keepdims=True), 1e-9)

    return blocks
