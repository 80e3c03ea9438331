"""The options of the steps of `inorder run`."""

from functools import partial

from inorder.cli.option_spec import OptionSpec, Section, index_by_name, make_part_option
from inorder.cli.option_types import AddressType, ChoiceType, FlagType, IntegerType, NumberType, SecondsType, TextType

_doctags, _remote, _chunk, _embed, _target = (
    partial(OptionSpec, section)
    for section in (Section.DOCTAGS, Section.REMOTE, Section.CHUNK, Section.EMBED, Section.TARGET)
)
_limit = partial(make_part_option, Section.SERVER, "server")
"""Declares a limit of the providers `tei` and `openai`."""

OWN = {
    "doctags": index_by_name(
        _doctags(
            "split_pages",
            IntegerType(0, 10**6),
            "Split PDFs with more pages than this into parts that workers read in parallel; 0 never splits.",
            path="convert.split_pages",
        ),
        _doctags(
            "reader",
            ChoiceType("native", "docling"),
            "Reader library: native, or docling for all formats that it reads without models.",
            path="convert.reader",
        ),
        _doctags(
            "html",
            ChoiceType("article", "full"),
            "What to read of an HTML page: its article, or all text with navigation, footers and comments.",
            path="convert.html",
        ),
        _doctags("ocr", FlagType(), "Recognize the text of scanned PDF pages and of images.", path="convert.ocr"),
        _doctags(
            "password_file",
            TextType(),
            "File with passwords for encrypted PDFs and office files, one per line; none: no passwords.",
            "FILE",
        ),
        _remote("fetch_concurrency", IntegerType(1, 1000), "Concurrent requests per worker process to remote sources."),
        _remote(
            "fetch_rate",
            NumberType("none"),
            "Requests per second on average to remote sources, of all workers, including retries.",
        ),
    ),
    "chunk": index_by_name(
        _chunk("tokens_max", IntegerType(1, 10**6), "Most tokens per chunk.", path="chunk.tokens_max"),
        _chunk(
            "tokens_min",
            IntegerType(0, 10**6, "auto"),
            "Merge a chunk with fewer tokens into a neighbour if both fit.",
            path="chunk.tokens_min",
            meanings={"auto": "half of --tokens-max"},
        ),
        _chunk(
            "tokenizer",
            TextType(),
            "How to count tokens: words, or hf:PATH for a tokenizer.json.",
            "words|hf:PATH",
            path="chunk.tokenizer",
        ),
    ),
    "embed": index_by_name(
        _embed(
            "dense",
            TextType(),
            "Dense embedding provider: static, hash, hash:DIMENSIONS, wordllama, minilm, onnx:DIR, "
            "sentence-transformers:NAME, tei:URL, "
            "openai:URL#MODEL, or none.",
            "PROVIDER",
        ),
        _embed("sparse", TextType(), "Sparse embedding provider: splade:NAME, or none.", "PROVIDER"),
        _limit("in_flight", IntegerType(1, 10**4), "Concurrent requests."),
        _limit("rate_per_s", NumberType("none"), "Requests per second on average, including retries."),
        _limit("burst", IntegerType(1, 10**6), "Requests that may start at once after a pause, with a rate."),
        _limit(
            "tokens_per_minute",
            IntegerType(1, 10**12, "none"),
            "Tokens sent per minute on average, estimated as one per four bytes, including retries.",
        ),
        _limit("texts_max", IntegerType(1, 10**6), "Texts per request."),
        _limit("attempts_max", IntegerType(1, 1000), "Attempts per request before its document fails."),
        _limit("deadline_s", SecondsType(), "Time for a request with all its attempts."),
    ),
    "index": {},
    "export": index_by_name(
        _target(
            "to",
            AddressType(),
            "Export the index to this database after each run, as in postgresql://user@host/database, duckdb:///file, "
            "lance:///folder or qdrant://host/collection, or the tables of DATA to s3://bucket/prefix. Passwords are "
            "not stored; they can be in PGPASSWORD or ~/.pgpass instead.",
            "URL",
            meanings={"": "none"},
        ),
        _target("collection", TextType(), "Schema, collection or table of the database to write to.", "NAME"),
        _target("hnsw", FlagType(), "Build an HNSW index over the vectors in the database."),
        _target(
            "recreate",
            FlagType(),
            "Remove what an earlier export has written to the collection, and write everything again.",
        ),
    ),
}
"""Options of one step only, by step and name."""
