"""The options of the built-in stages."""

from inorder.cli.option_spec import OptionSpec, Section, index_by_name
from inorder.cli.option_types import ChoiceType, FlagType, IntegerType, TextType

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
            "ocr",
            "ocr",
            FlagType(),
            "Recognize the text of scanned PDF pages.",
            flags=("--ocr/--no-ocr",),
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
        OptionSpec(Section.CHUNK, "format", "format", ChoiceType("parquet", "jsonl"), "File format of chunks."),
    ),
    "embed": index_by_name(
        OptionSpec(
            Section.EMBED,
            "dense",
            "dense",
            TextType(),
            "Dense embedding provider: hash, hash:DIMENSIONS, minilm, onnx:DIR, sentence-transformers:NAME, tei:URL, "
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
        OptionSpec(
            Section.EMBED,
            "lexical",
            "lexical",
            FlagType(),
            "Count terms for BM25.",
            flags=("--lexical/--no-lexical",),
        ),
    ),
}
"""Options of one built-in stage only, by stage and name."""
