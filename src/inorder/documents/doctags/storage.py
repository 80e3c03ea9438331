"""The two forms a document is written in.

Both are written without the library that defines them; the tests prove that it loads the JSON unchanged and exports the
same DocTags from it.
"""

from .docling_json import write_json
from .tags import write_doctags

__all__ = ["write_doctags", "write_json"]
