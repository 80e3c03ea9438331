"""The options of the steps of `inorder run`."""

from functools import partial

from inorder.cli.option_spec import OptionSpec, Section, index_by_name, make_part_option, unless
from inorder.cli.option_types import (
    AddressType,
    ChoiceType,
    FlagType,
    IntegerType,
    NumberType,
    ProviderType,
    SecondsType,
    TextType,
)

_content, _output = (partial(OptionSpec, section) for section in (Section.CONTENT, Section.OUTPUT))
_limit = partial(make_part_option, Section.CONTENT, "server")
"""Declares a limit of the providers `tei` and `openai`."""
_model = partial(make_part_option, Section.CONTENT, "model")
"""Declares a limit of the model that reads pages."""


def _is_foreign(spec: object) -> bool:
    from inorder.documents.embed.providers.registry import needs_trust

    return spec != "none" and needs_trust(str(spec))


_ASKED = (
    _content(
        "answers",
        TextType(),
        "File with the answers of models, which several DATA may share.",
        "FILE",
        needs_trust=unless("none"),
    ),
    _model("in_flight", IntegerType(1, 10**4, unit="requests"), "Concurrent requests to the model."),
    _model("rate_per_s", NumberType("none", unit="requests/s"), "Requests per second on average, including retries."),
    _model(
        "tokens_per_minute",
        IntegerType(1, 10**12, "none", unit="tokens/min"),
        "Tokens per minute, with the longest answer that each request allows.",
    ),
    _model(
        "attempts_max",
        IntegerType(1, 1000, unit="attempts"),
        "Attempts per request before what it asks about fails.",
    ),
    _model("deadline_s", SecondsType(), "Time for a request with all its attempts."),
    _model(
        "tokens_charged",
        ChoiceType("declared", "used"),
        "What the server counts per minute: what a request declares, with its longest answer, or what it has used.",
    ),
    _content(
        "model_tokens_max",
        IntegerType(1, 10**12, "none", unit="tokens"),
        "Most tokens that a run uses. At the limit it stops, and can be resumed.",
        path="spending.tokens_max",
    ),
    _content(
        "cost_max",
        NumberType("none", unit="money"),
        "Most money that a run spends, at the prices that are set. At the limit it stops, and can be resumed.",
        path="spending.cost_max",
    ),
    _content(
        "model_price_in",
        NumberType("none", unit="money"),
        "What a million tokens of requests cost.",
        path="spending.price_in",
    ),
    _content(
        "model_price_out",
        NumberType("none", unit="money"),
        "What a million tokens of answers cost.",
        path="spending.price_out",
    ),
    _content(
        "model_key_file",
        TextType(),
        "File with the key of the server in its first line.",
        "FILE",
        needs_trust=unless("none"),
    ),
    _content(
        "send",
        FlagType(),
        "Agree that pages and texts are sent to a server that is not on this machine.",
        needs_trust=unless(False),
    ),
)
"""What holds for every model that is asked about parts of documents."""

OWN = {
    "doctags": index_by_name(
        _content(
            "split_pages",
            IntegerType(0, 10**6, unit="pages"),
            "Split PDFs with more pages than this into parts that workers read in parallel; 0 never splits.",
            path="convert.split_pages",
        ),
        _content(
            "reader",
            ProviderType(),
            "Reader: native, docling, a plug-in, or vision:URL#MODEL.",
            "READER",
            path="convert.reader",
            needs_trust=unless("native", "docling"),
        ),
        _content(
            "pages",
            ChoiceType("auto", "all"),
            "Pages for vision: doubtful, or all.",
            path="convert.pages",
        ),
        _content("pages_max", IntegerType(0, 10**9, "none", unit="pages"), "Most pages to ask vision for."),
        _content("page_prompt", TextType(), "What vision is asked about a page.", path="convert.page_prompt"),
        _content(
            "page_pixels",
            IntegerType(100, 4000, unit="pixels"),
            "Longer side of the image of a page that vision gets.",
            path="convert.page_pixels",
        ),
        _content(
            "page_tokens_max",
            IntegerType(1, 10**6, unit="tokens"),
            "Longest answer of vision about a page.",
            path="convert.page_tokens_max",
        ),
        *_ASKED,
        _content(
            "steps",
            TextType(),
            "Plug-ins that change documents before they are chunked: names or MODULE:NAME, with commas between them.",
            "STEP,...",
            path="convert.steps",
            needs_trust=unless("none"),
        ),
        _content(
            "html",
            ChoiceType("article", "full"),
            "What to read of an HTML page: its article, or all text with navigation, footers and comments.",
            path="convert.html",
        ),
        _content("ocr", FlagType(), "Read the text of scans and images.", path="convert.ocr"),
        _content("password_file", TextType(), "Passwords to try, one per line.", "FILE", needs_trust=unless("none")),
        _content(
            "fetch_concurrency",
            IntegerType(1, 1000, unit="requests"),
            "Concurrent requests per worker process to remote sources.",
        ),
        _content(
            "fetch_rate",
            NumberType("none", unit="requests/s"),
            "Requests per second on average to remote sources, of all workers, including retries.",
        ),
        _content(
            "fetch_bytes_per_s_min",
            IntegerType(0, 10**9, unit="bytes/s"),
            "Least rate at which a remote source must answer, over 30 s; 0 waits for any.",
        ),
        _content(
            "fetch_private",
            FlagType(),
            "Let a public address of a source lead to a loopback or private address.",
            needs_trust=unless(False),
        ),
    ),
    "chunk": index_by_name(
        _content("tokens_max", IntegerType(1, 10**6, unit="tokens"), "Most tokens per chunk.", path="chunk.tokens_max"),
        _content(
            "tokens_min",
            IntegerType(0, 10**6, "auto", unit="tokens"),
            "Merge a chunk with fewer tokens into a neighbour if both fit.",
            path="chunk.tokens_min",
            meanings={"auto": "half of tokens_max"},
        ),
        _content(
            "tokenizer",
            TextType(),
            "How to count tokens: words, or hf:PATH for a tokenizer.json.",
            "words|hf:PATH",
            path="chunk.tokenizer",
        ),
    ),
    "embed": index_by_name(
        _content(
            "dense",
            ProviderType(),
            "Dense vectors: static, hash, hash:N, wordllama, minilm, onnx:DIR, sentence-transformers:NAME, tei:URL, "
            "openai:URL#MODEL, a plug-in or none.",
            "PROVIDER",
            needs_trust=_is_foreign,
        ),
        _content(
            "sparse",
            ProviderType(),
            "Sparse vectors: splade:NAME or none.",
            "PROVIDER",
            needs_trust=_is_foreign,
        ),
        _limit("in_flight", IntegerType(1, 10**4, unit="requests"), "Concurrent requests."),
        _limit(
            "rate_per_s", NumberType("none", unit="requests/s"), "Requests per second on average, including retries."
        ),
        _limit(
            "burst",
            IntegerType(1, 10**6, unit="requests"),
            "Requests that may start at once after a pause, with a rate.",
        ),
        _limit(
            "tokens_per_minute",
            IntegerType(1, 10**12, "none", unit="tokens/min"),
            "Tokens sent per minute on average, estimated as one per four bytes, including retries.",
        ),
        _limit("texts_max", IntegerType(1, 10**6, unit="texts"), "Texts per request."),
        _limit(
            "attempts_max", IntegerType(1, 1000, unit="attempts"), "Attempts per request before its document fails."
        ),
        _limit("deadline_s", SecondsType(), "Time for a request with all its attempts."),
    ),
    "index": {},
    "extract": index_by_name(*_ASKED),
    "export": index_by_name(
        _output(
            "to",
            AddressType(),
            "Export to postgresql://HOST/DB, duckdb:///FILE, lance:///DIR, qdrant://HOST, s3://BUCKET.",
            "URL",
            meanings={"": "none"},
            needs_trust=unless(""),
        ),
        _output("collection", TextType(), "Schema or table to export to.", "NAME"),
        _output("hnsw", FlagType(), "Build an HNSW index over the vectors in the database."),
        _output(
            "recreate",
            FlagType(),
            "Remove what an earlier export has written to the collection, and write everything again.",
        ),
    ),
}
"""Options of one step only, by step and name."""
