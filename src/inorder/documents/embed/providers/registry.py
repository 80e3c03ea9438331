"""Open an embedding provider by its specification.

    static                          word vectors that are part of the package
    hash, hash:DIMENSIONS           no model
    wordllama                       word vectors from an installed package
    minilm                          all-MiniLM-L6-v2, from an installed package
    onnx:DIR                        model.onnx and tokenizer.json in a folder
    sentence-transformers:NAME      a folder, or a name on the model hub
    tei:URL, openai:URL#MODEL       a server
    splade:NAME                     sparse: a folder, or a name on the model hub

`identity` and `policy` are cheap: they load no model and call no server. Packages of extras are imported when a
provider is opened.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Literal

from inorder.errors import OperatorError
from inorder.host.credentials import hide_credentials, redact

from . import versions
from .fingerprint import hash_folder, list_package_versions, model_identity
from .server.limits import ServerLimits

if TYPE_CHECKING:
    from .base import DenseProvider, SparseProvider

Policy = Literal["cpu", "gpu", "io"]

_DENSE = (
    "static, hash, hash:DIMENSIONS, wordllama, minilm, onnx:DIR, sentence-transformers:NAME, tei:URL "
    "or openai:URL#MODEL"
)
_SPARSE = "splade:NAME"
_POLICIES: dict[str, Policy] = {
    "static": "cpu",
    "hash": "cpu",
    "wordllama": "cpu",
    # One model in one process; the threads share its batches.
    "minilm": "gpu",
    "onnx": "gpu",
    "sentence-transformers": "gpu",
    "splade": "gpu",
    "tei": "io",
    "openai": "io",
}
_OPENERS = {
    "static": ("static.provider", "PieceProvider"),
    "wordllama": ("static.wordllama", "open_wordllama"),
    "minilm": ("minilm", "open_minilm"),
    "onnx": ("onnx_folder", "open_onnx"),
    "sentence-transformers": ("sentence_models", "open_sentence_transformers"),
}
"""Module and function of dense providers. What follows the colon is its argument."""
_WITHOUT_DETAIL = {"hash", "minilm", "static", "wordllama"}
_NEVER_DETAILED = {"minilm", "static", "wordllama"}


def open_dense(spec: str, limits: ServerLimits | None = None) -> "DenseProvider":
    """Open the dense provider that `spec` names. `limits` applies to providers behind a server."""
    kind, detail = _parse_spec(spec)
    if kind == "hash":
        from .hashing import HashProvider

        return HashProvider(_parse_dimensions(detail))
    if kind in _OPENERS:
        module, function = _OPENERS[kind]
        provider: DenseProvider = getattr(import_module(f".{module}", __package__), function)(*filter(None, [detail]))
        return provider
    if kind in ("tei", "openai"):
        from .server.provider import open_server

        return open_server(kind, detail, limits or ServerLimits())
    raise OperatorError(f"{redact(spec)!r} is not a dense provider: it must be {_DENSE}")


def open_sparse(spec: str) -> "SparseProvider":
    """Open the sparse provider that `spec` names."""
    kind, detail = _parse_spec(spec)
    if kind != "splade":
        raise OperatorError(f"{redact(spec)!r} is not a sparse provider: it must be {_SPARSE}")
    from .splade import open_splade

    return open_splade(detail)


def policy(spec: str) -> Policy:
    """The worker policy for this provider: processes, or threads that share a model or a server."""
    return _POLICIES[_parse_spec(spec)[0]]


def is_sparse_provider(spec: str) -> bool:
    """Whether this provider computes sparse vectors; otherwise dense ones."""
    return _parse_spec(spec)[0] == "splade"


def identity(spec: str) -> str:
    """What the vectors depend on, as far as it is known without loading a model or calling a server."""
    kind, detail = _parse_spec(spec)
    if kind == "hash":
        return f"hash/{versions.HASH}:{_parse_dimensions(detail)}"
    if kind == "static":
        return f"static/{versions.STATIC}"
    if kind == "wordllama":
        from .static.wordllama import WEIGHTS, package_folder

        weights = hash_folder((package_folder() / WEIGHTS).parent)
        return f"wordllama {list_package_versions('wordllama', 'tokenizers')} {weights}"
    if kind == "minilm":
        from .minilm import PACKAGE, model_folder

        installed = list_package_versions(PACKAGE, "onnxruntime", "tokenizers")
        return f"minilm {installed} {hash_folder(model_folder())}"
    if kind == "onnx":
        return f"onnx {list_package_versions('onnxruntime', 'tokenizers')} {hash_folder(detail)}"
    if kind in ("sentence-transformers", "splade"):
        installed = list_package_versions("sentence-transformers", "transformers", "torch")
        return f"{kind} {installed} {model_identity(detail)}"
    from .server.provider import parse_server_address

    parse_server_address(kind, detail)
    return f"{kind} {detail}"


def _parse_spec(spec: str) -> tuple[str, str]:
    """The kind of the provider, and what follows the colon, without credentials."""
    kind, colon, detail = hide_credentials(spec).partition(":")
    if kind not in _POLICIES:
        raise OperatorError(f"unknown provider {redact(spec)!r}: it must be {_DENSE}, or for sparse vectors {_SPARSE}")
    if (
        bool(colon) != bool(detail)
        or (not detail and kind not in _WITHOUT_DETAIL)
        or (detail and kind in _NEVER_DETAILED)
    ):
        raise OperatorError(f"invalid provider {redact(spec)!r}: it must be {_DENSE}, or for sparse vectors {_SPARSE}")
    return kind, detail


def _parse_dimensions(detail: str) -> int:
    if not detail:
        return versions.HASH_DIMENSIONS
    if not detail.isascii() or not detail.isdecimal() or not 1 <= int(detail) <= versions.HASH_DIMENSIONS_MAX:
        raise OperatorError(f"hash:DIMENSIONS takes a number from 1 to {versions.HASH_DIMENSIONS_MAX}, got {detail!r}")
    return int(detail)
