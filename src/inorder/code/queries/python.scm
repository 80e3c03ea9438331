(function_definition name: (identifier) @name) @definition.function
(class_definition name: (identifier) @name) @definition.class
(type_alias_statement left: (type (identifier) @name)) @symbol.type

(module (expression_statement (assignment left: (identifier) @name) @symbol.variable))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @symbol.field)))

(decorator) @attached
(comment) @comment

(import_statement name: (dotted_name) @source) @import
(import_statement name: (aliased_import name: (dotted_name) @source)) @import
(import_from_statement module_name: (_) @source) @import
(import_from_statement module_name: (_) @source name: (dotted_name) @imported) @import
(import_from_statement module_name: (_) @source name: (aliased_import name: (dotted_name) @imported)) @import
(import_from_statement module_name: (_) @source (wildcard_import) @imported) @import

(call function: (identifier) @callee)
(call function: (attribute attribute: (identifier) @callee))
