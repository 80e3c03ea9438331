"""The options of the built-in stages."""

from inorder.cli.option_spec import OptionSpec, Section, index_by_name
from inorder.cli.option_types import (
    AddressType,
    ChoiceType,
    FlagType,
    IntegerType,
    NumberType,
    OptionType,
    SecondsType,
    TextType,
)


def _limit(name: str, type_: OptionType, text: str, metavar: str) -> OptionSpec:
    """A limit of the providers `tei` and `openai`."""
    field = f"server_{name}"
    return OptionSpec(Section.SERVER, field, field, type_, text, metavar)


OWN = {
    "doctags": index_by_name(
        OptionSpec(
            Section.DOCTAGS,
            "split_pages",
            "split_pages",
            IntegerType(0, 10**6),
            "Split PDFs with more pages than this into parts that workers read in parallel; 0 never splits.",
            "N",
        ),
        OptionSpec(
            Section.DOCTAGS,
            "reader",
            "reader",
            ChoiceType("native", "docling"),
            "Reader library: native, or docling for all formats that it reads without models.",
        ),
        OptionSpec(
            Section.DOCTAGS,
            "html",
            "html",
            ChoiceType("article", "full"),
            "What to read of an HTML page: its article, or all text with navigation, footers and comments.",
        ),
        OptionSpec(
            Section.DOCTAGS,
            "ocr",
            "ocr",
            FlagType(),
            "Recognize the text of scanned PDF pages and of images.",
            flags=("--ocr/--no-ocr",),
        ),
        OptionSpec(
            Section.DOCTAGS,
            "password_file",
            "password_file",
            TextType(),
            "File with passwords for encrypted PDFs and office files, one per line; none: no passwords.",
            "FILE",
        ),
        OptionSpec(
            Section.REMOTE,
            "fetch_concurrency",
            "fetch_concurrency",
            IntegerType(1, 1000),
            "Concurrent requests per worker process to remote sources.",
            "N",
        ),
        OptionSpec(
            Section.REMOTE,
            "fetch_rate",
            "fetch_rate",
            NumberType("none"),
            "Requests per second on average to remote sources, of all workers, including retries.",
            "N",
        ),
    ),
    "chunk": index_by_name(
        OptionSpec(Section.CHUNK, "tokens_max", "tokens_max", IntegerType(1, 10**6), "Most tokens per chunk.", "N"),
        OptionSpec(
            Section.CHUNK,
            "tokens_min",
            "tokens_min",
            IntegerType(0, 10**6, "auto"),
            "Merge a chunk with fewer tokens into a neighbour if both fit.",
            "N",
            meanings={"auto": "half of --tokens-max"},
        ),
        OptionSpec(
            Section.CHUNK,
            "tokenizer",
            "tokenizer",
            TextType(),
            "How to count tokens: words, or hf:PATH for a tokenizer.json.",
            "words|hf:PATH",
        ),
    ),
    "embed": index_by_name(
        OptionSpec(
            Section.EMBED,
            "dense",
            "dense",
            TextType(),
            "Dense embedding provider: static, hash, hash:DIMENSIONS, wordllama, minilm, onnx:DIR, "
            "sentence-transformers:NAME, tei:URL, "
            "openai:URL#MODEL, or none.",
            "PROVIDER",
        ),
        OptionSpec(
            Section.EMBED,
            "sparse",
            "sparse",
            TextType(),
            "Sparse embedding provider: splade:NAME, or none.",
            "PROVIDER",
        ),
        _limit("in_flight", IntegerType(1, 10**4), "Concurrent requests.", "N"),
        _limit("rate_per_s", NumberType("none"), "Requests per second on average, including retries.", "N"),
        _limit("burst", IntegerType(1, 10**6), "Requests that may start at once after a pause, with a rate.", "N"),
        _limit(
            "tokens_per_minute",
            IntegerType(1, 10**12, "none"),
            "Tokens sent per minute on average, estimated as one per four bytes, including retries.",
            "N",
        ),
        _limit("texts_max", IntegerType(1, 10**6), "Texts per request.", "N"),
        _limit("attempts_max", IntegerType(1, 1000), "Attempts per request before its document fails.", "N"),
        _limit("deadline_s", SecondsType(), "Time for a request with all its attempts.", "SECONDS"),
    ),
    "export": index_by_name(
        OptionSpec(
            Section.TARGET,
            "to",
            "to",
            AddressType(),
            "Export the index to this database after each run, as in postgresql://user@host/database, duckdb:///file, "
            "lance:///folder or qdrant://host/collection, or the tables of DATA to s3://bucket/prefix. Passwords are "
            "not stored; they can be in PGPASSWORD or ~/.pgpass instead.",
            "URL",
            meanings={"": "none"},
        ),
        OptionSpec(
            Section.TARGET,
            "collection",
            "collection",
            TextType(),
            "Schema, collection or table of the database to write to.",
            "NAME",
        ),
        OptionSpec(
            Section.TARGET,
            "hnsw",
            "hnsw",
            FlagType(),
            "Build an HNSW index over the vectors in the database.",
            flags=("--hnsw/--no-hnsw",),
        ),
        OptionSpec(
            Section.TARGET,
            "recreate",
            "recreate",
            FlagType(),
            "Remove what an earlier export has written to the collection, and write everything again.",
            flags=("--recreate/--no-recreate",),
        ),
    ),
}
"""Options of one built-in stage only, by stage and name."""
