"""The versions of vectors that are made without a model, and of what is done with the texts of a model. Whether vectors
are up to date is known without NumPy, which is slow to import."""

HASH = 1
"""Of the provider `hash`. To be increased whenever its vectors change."""
HASH_DIMENSIONS = 384
"""The default number of dimensions."""
HASH_DIMENSIONS_MAX = 65_536
"""Sixteen bits of a hash choose the dimension."""
STATIC = 2
"""Of the provider `static`. To be increased whenever its vectors change."""
WINDOWS = 1
"""Of how local models read texts that are too long for them. To be increased whenever their vectors change."""
