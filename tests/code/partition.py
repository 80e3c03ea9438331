"""What must hold for the chunks of every file."""

from inorder.code.model import ParsedFile
from inorder.code.source import Source


def check_partition(data: bytes, parsed: ParsedFile) -> None:
    """Every line is in exactly one chunk, in order, and together they say what the file says."""
    source = Source(data)
    assert parsed.line_count == len(source.data.splitlines())
    next_line, next_byte = 1, source.text_start
    for chunk in parsed.chunks:
        assert chunk.start_line == next_line
        assert chunk.end_line >= chunk.start_line
        assert chunk.start_byte == next_byte
        assert chunk.text == source.data[chunk.start_byte : chunk.end_byte].decode("utf-8", "replace")
        next_line, next_byte = chunk.end_line + 1, chunk.end_byte
    assert next_line == parsed.line_count + 1
    assert not parsed.chunks or next_byte == len(source.data)
