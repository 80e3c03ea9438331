"""Make the table of word vectors of the provider `static` from the model all-MiniLM-L6-v2.

    python -m tools.static_vectors [--folder DIR]

It needs the extra `minilm`. Every word piece of the vocabulary goes through the model alone, and its vector is the mean
of the output. The vectors are reduced by a principal component analysis. Words that occur everywhere say little, so a
vector is the shorter, the more frequent its piece is; frequencies follow from the order of the vocabulary (Zipf's law).
Then the vectors are rotated and cut into parts, and the shapes of each part are the means of its clusters (product
quantization).

The last bits of a model depend on the processor, so the table is made once and kept under version control.
"""

import argparse
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from inorder.documents.embed.providers.minilm import model_folder, open_minilm_encoder
from inorder.documents.embed.providers.static.table import FOLDER, VectorTable, write_table

DIMENSIONS = 256
PARTS = 32
SHAPES = 256
ROUNDS = 12
"""Of k-means."""
SAMPLE = 20_000
SEED = 16
FREQUENT = 1e-4
"""A piece of this frequency has half of its weight."""
FIRST, LAST = 101, 102
"""The tokens that begin and end a text."""
WORDS_START = 1996
"""Where the words of the vocabulary begin, the most frequent ones first."""
BATCH = 512
_PIECE = re.compile(r"(?:##)?(?:[a-z]+|[0-9]+)")

Rows = npt.NDArray[np.float32]


def compute_vectors(encoder: Any, numbers: npt.NDArray[np.int64]) -> Rows:
    """The output of the model for each piece alone."""
    found = []
    for start in range(0, len(numbers), BATCH):
        batch = [[FIRST, int(number), LAST] for number in numbers[start : start + BATCH]]
        found.append(encoder.begin(batch)())
    return np.concatenate(found)


def reduce(vectors: Rows, source: np.random.Generator) -> Rows:
    """The principal components."""
    centred = vectors - vectors.mean(axis=0)
    sample = centred[source.choice(len(centred), min(SAMPLE, len(centred)), replace=False)]
    _, _, axes = np.linalg.svd(sample, full_matrices=False)
    return centred @ axes[:DIMENSIONS].T


def weigh(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """What a piece weighs by its frequency."""
    ranks = np.maximum(numbers - WORDS_START + 1, 1)
    share = 1 / (ranks + 2.7)
    share /= share.sum()
    return FREQUENT / (FREQUENT + share)


def find_shapes(parts: Rows, source: np.random.Generator) -> Rows:
    """The means of the clusters of one part of all vectors."""
    sample = parts[source.choice(len(parts), min(SAMPLE, len(parts)), replace=False)]
    shapes = sample[source.choice(len(sample), SHAPES, replace=False)].copy()
    for _ in range(ROUNDS):
        nearest = find_nearest(sample, shapes)
        counts = np.bincount(nearest, minlength=SHAPES)
        for column in range(sample.shape[1]):
            sums = np.bincount(nearest, sample[:, column], SHAPES)
            shapes[:, column] = np.where(counts > 0, sums / np.maximum(counts, 1), shapes[:, column])
    return shapes


def find_nearest(parts: Rows, shapes: Rows) -> npt.NDArray[np.int64]:
    return np.argmin((shapes * shapes).sum(axis=1)[None] - 2 * parts @ shapes.T, axis=1)


def make_table() -> VectorTable:
    """Compute the table."""
    source = np.random.default_rng(SEED)
    vocabulary = (model_folder() / "vocab.txt").read_text(encoding="utf-8").split("\n")
    numbers = np.array([number for number, piece in enumerate(vocabulary) if _PIECE.fullmatch(piece)], np.int64)
    vectors = reduce(compute_vectors(open_minilm_encoder(), numbers), source)
    lengths = np.linalg.norm(vectors, axis=1)
    rotation, _ = np.linalg.qr(source.normal(size=(DIMENSIONS, DIMENSIONS)))
    rotated = (vectors / lengths[:, None] @ rotation).astype(np.float32)
    columns = np.split(rotated, PARTS, axis=1)
    exact = np.stack([find_shapes(column, source) for column in columns])
    unit = np.abs(exact).max() / 127
    shapes = np.round(exact / unit).astype(np.int8)
    codes = [find_nearest(column, each * unit) for column, each in zip(columns, shapes, strict=True)]
    weights = lengths * weigh(numbers)
    weights = np.round(weights * (65_535 / weights.max()))
    pieces = [vocabulary[number] for number in numbers]
    return VectorTable(pieces, np.stack(codes, axis=1).astype(np.uint8), shapes, weights.astype(np.uint16))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to write the table; default: the package")
    write_table(parser.parse_args().folder, make_table())


if __name__ == "__main__":
    main()
