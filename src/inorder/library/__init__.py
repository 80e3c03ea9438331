"""The library: `DATA/library.sqlite` and the files with vectors beside it. See `schema` for its tables."""
