"""The terms of the chunks of a file, as a worker sends them to the database."""

import msgspec

NUMBER_TYPE, LENGTH_TYPE = "<u4", "<u2"
"""The NumPy types of the columns that are not single bytes."""
COUNT_MAX = 255
LENGTH_MAX = 65_535


class FileTerms(msgspec.Struct, array_like=True, gc=False):
    """How often each term occurs in each chunk: in its text, and in its headings, which are its name, the section
    titles and the path. The terms of all chunks are in columns, chunk after chunk."""

    vocabulary: str
    """The terms of the file, separated by spaces."""
    sizes: bytes
    """For each chunk, the number of its terms."""
    terms: bytes
    """For each term of a chunk, its number in the vocabulary."""
    body: bytes
    """For each term of a chunk, its count in the text, at most 255."""
    head: bytes
    """For each term of a chunk, its count in the headings, at most 255."""
    body_lengths: bytes
    """For each chunk, the length of its text in terms, at most 65,535."""
    head_lengths: bytes
    """For each chunk, the length of its headings in terms, at most 65,535."""
