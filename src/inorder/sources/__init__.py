"""Remote sources: objects in buckets, on servers and in archives, through fsspec.

Read the package in this order: `address` parses what the user writes, `protocols` is the table of what is supported,
`stores` list and read objects, `listing` has all objects of a source in a fixed order with their fingerprints, and
`fetching` reads contents in parallel within limits. `remote_input` is the input of an item.

A remote source is never mirrored: the plan is made of the listing alone, and a worker reads the objects that it must
process.
"""
