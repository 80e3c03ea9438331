"""Retrievers for other libraries. Each module needs the package of its library."""
