"""Source code: discovery of files, and parsing into chunks, symbols, imports and calls."""
