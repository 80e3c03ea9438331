(table . [(bare_key) (dotted_key) (quoted_key)] @name) @definition.table
(table_array_element . [(bare_key) (dotted_key) (quoted_key)] @name) @definition.table

(document (pair . [(bare_key) (dotted_key) (quoted_key)] @name) @symbol.key)
(table (pair . [(bare_key) (dotted_key) (quoted_key)] @name) @symbol.key)
(table_array_element (pair . [(bare_key) (dotted_key) (quoted_key)] @name) @symbol.key)

(comment) @comment
