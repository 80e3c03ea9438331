"""What must hold for the chunks of every file."""

from inorder.code.model import ParsedFile
from inorder.code.source import Source


def check_partition(data: bytes, parsed: ParsedFile) -> None:
    """Every line is in exactly one chunk, in order, and together they say what the file says."""
    source = Source(data)
    assert parsed.line_count == len(source.data.splitlines())
    next_line = 1
    for chunk in parsed.chunks:
        assert chunk.start_line == next_line
        assert chunk.end_line >= chunk.start_line
        assert len(chunk.text.encode().splitlines()) == chunk.end_line - chunk.start_line + 1
        next_line = chunk.end_line + 1
    assert next_line == parsed.line_count + 1
    whole = source.data[source.text_start :].decode("utf-8", "replace")
    assert not parsed.chunks or "".join(chunk.text for chunk in parsed.chunks) == whole
