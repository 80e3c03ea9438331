"""The dense vectors of the documents in an index: files beside the database, and the chunk of each of their rows.

A file never changes, and is named after its content. The first one has the vectors of all documents in the order of
their item ids. A later change adds a file with the new vectors only, and marks the rows of removed chunks as dead, so
its cost depends on the change. When there are many files, the latest are merged; when many rows are dead or were added,
all vectors are written again to one file.

The database names the files, and says which rows belong to which chunks. A new file is made durable before the
transaction that names it, and files that the published database does not name are removed after it: so both always
match. A file that was lost or cut is noticed, and the next run of stage `index` writes all vectors again.
"""
