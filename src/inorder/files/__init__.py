"""What documents and code both need of files: walking folders, decoding text, optional packages."""
