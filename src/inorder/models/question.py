"""What a model is asked, and the key under which its answer is kept.

The key depends on what the user pays for alone: the model, the prompt, the parameters and the input. It does not depend
on versions of this package: a page that is rendered one pixel differently is the same question.
"""

import base64
from hashlib import sha256
from typing import Any

import msgspec

SENT = ("output_tokens_max", "temperature", "seed", "schema")
"""The parameters that a request has. All others, such as the resolution of an image, are only part of the key."""


class Image(msgspec.Struct, frozen=True):
    """An image that is sent with a prompt.

    >>> Image(b"...", "image/png").to_url()
    'data:image/png;base64,Li4u'
    """

    data: bytes
    media_type: str

    def to_url(self) -> str:
        """Return the image as a data URL."""
        return f"data:{self.media_type};base64,{base64.b64encode(self.data).decode()}"


class ModelInput(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent with a prompt."""

    text: str = ""
    images: tuple[Image, ...] = ()

    @property
    def hash(self) -> str:
        """The SHA-256 over all that is sent, for `Question.input_key`."""
        parts = [self.text, *(part for image in self.images for part in (image.media_type, image.data))]
        return sha256(msgspec.msgpack.encode(parts)).hexdigest()


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is asked.

    >>> question = Question(model="http://localhost:8000/v1#m", prompt="Read it.", input_key="f3a1#1")
    >>> question.key == Question(model=question.model, prompt="Read it.", input_key="f3a1#2").key
    False
    """

    model: str
    """`URL#MODEL`, without credentials."""
    prompt: str
    parameters: dict[str, Any] = {}
    """See `SENT`."""
    input_key: str = ""
    """`FILE#PAGE` with the SHA-256 of the file, or the SHA-256 of what is sent."""

    @property
    def key(self) -> str:
        """The SHA-256 over all fields in a canonical form."""
        parts = [self.model, self.prompt, self.parameters, self.input_key]
        return sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()

    def with_parameters(self, **parameters: Any) -> "Question":
        """Return the question with other values of these parameters."""
        return msgspec.structs.replace(self, parameters={**self.parameters, **parameters})
