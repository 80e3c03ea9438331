"""The choice of what is read of a page."""

from typing import Literal

Extent = Literal["article", "full"]
"""How much of a page is read: its article, or everything but hidden elements."""
