(create_table (object_reference) @name (column_definitions)? @body) @definition.table
(create_view (object_reference) @name (create_query) @body) @definition.view
(create_materialized_view (object_reference) @name) @definition.view
(create_function (object_reference) @name (function_body) @body) @definition.function
(create_trigger (object_reference) @name) @definition.trigger
(create_type (object_reference) @name) @definition.type
(create_index column: (identifier) @name) @definition.index
(create_schema (identifier) @name) @symbol.schema

(column_definition name: (identifier) @name) @symbol.column

(comment) @comment
(marginalia) @comment

(invocation (object_reference name: (identifier) @callee))
