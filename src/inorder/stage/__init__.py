"""Stages: a plan of items, a worker that processes one item, and the runner that all stages share."""
