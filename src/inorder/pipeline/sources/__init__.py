"""What a run finds: names of sources, their files, what a file is, and how the content of one is read."""
