"""The version of this package, and nothing else: everybody may import it."""

__version__ = "0.3.0"
