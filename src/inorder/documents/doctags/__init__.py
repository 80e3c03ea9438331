"""A document as others read it: the DoclingDocument JSON, which is exact, and DocTags, which are compact."""
