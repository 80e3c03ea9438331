"""`sentence-transformers:NAME`: a model of this library, from a folder or from the model hub."""

from typing import Any

from inorder.errors import OperatorError
from inorder.files.optional_deps import require_module

from .local_model import ModelProvider
from .packed_encoder import PackedEncoder, is_packable
from .torch_encoder import PaddedEncoder

EXTRA = "sentence-transformers"


def open_sentence_transformers(name: str) -> ModelProvider:
    """Load the model, in half precision on a GPU if there is one."""
    by = f"sentence-transformers:{name}"
    model = load_model(require_module("sentence_transformers", by=by, extra=EXTRA).SentenceTransformer, name, by)
    torch = require_module("torch", by=by, extra=EXTRA)
    if not hasattr(model.tokenizer, "backend_tokenizer"):
        raise OperatorError(f"{by}: the model has no fast tokenizer (tokenizer.json), which is required")
    if model.device.type == "cuda":
        model.half()
    encoder = PackedEncoder(torch, model) if is_packable(torch, model) else PaddedEncoder(torch, model)
    return ModelProvider(by, encoder)


def load_model(kind: Any, name: str, by: str) -> Any:
    """Load a model in evaluation mode. `kind` is the class that loads it."""
    try:
        _disable_progress_bars(by)
        return kind(name).eval()
    except Exception as error:
        raise OperatorError(f"cannot load {by}: {' '.join(str(error).split())[:300]}") from None


def _disable_progress_bars(by: str) -> None:
    """Keep the library from drawing its own progress bar between our lines. A bar also creates a semaphore, which is
    reported as leaked when the process of the providers is killed."""
    require_module("transformers.utils.logging", by=by, extra=EXTRA).disable_progress_bar()
