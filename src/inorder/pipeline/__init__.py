"""The pipeline: one run over all sources, in which an item is a file and a stage is a step."""
