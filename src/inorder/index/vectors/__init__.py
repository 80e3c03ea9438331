"""The dense vectors of the documents in an index: files beside the database, and the chunk of each of their rows.

A file never changes, and is named after its content. A publication writes the new vectors to a further file, and marks
the rows of removed chunks as dead, so its cost depends on the change. `inorder.library.vectors` decides when files are
merged or written again.

The database names the files, and says which rows belong to which chunks. A new file is made durable before the
transaction that names it, and files that the database does not name are removed after it: so both always match. A file
that was lost or cut is noticed, and the next run writes all vectors again.
"""
