"""Engines: they execute batches in the calling thread, in threads, in processes, or on a Ray cluster."""
