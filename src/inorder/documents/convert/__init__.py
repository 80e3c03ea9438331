"""The step `doctags`: from the bytes of a file to a document. Pure functions, which know no plan, store or stage."""
