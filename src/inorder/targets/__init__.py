"""Databases and vector stores that an index is exported to. `base` has the contract that each of them fulfils."""
