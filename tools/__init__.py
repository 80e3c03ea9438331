"""Programs for maintainers: what `make docs` runs."""
