(class_definition name: (identifier) @name) @definition.class
(object_definition name: (identifier) @name) @definition.object
(package_object name: (identifier) @name) @definition.object
(trait_definition name: (identifier) @name) @definition.trait
(enum_definition name: (identifier) @name) @definition.enum
(function_definition name: (_) @name) @definition.function

(function_declaration name: (_) @name) @symbol.function
(type_definition name: (type_identifier) @name) @symbol.type
(template_body (val_definition pattern: (identifier) @name) @symbol.field)
(template_body (var_definition pattern: (identifier) @name) @symbol.field)
(compilation_unit (val_definition pattern: (identifier) @name) @symbol.variable)
(simple_enum_case name: (identifier) @name) @symbol.constant
(full_enum_case name: (identifier) @name) @symbol.constant

(comment) @comment
(block_comment) @comment
(annotation) @attached

(import_declaration . path: (identifier) @source ("." . path: (identifier) @source)*) @import
(import_declaration . path: (identifier) @source ("." . path: (identifier) @source)* (namespace_selectors [
  (identifier) @imported
  (arrow_renamed_identifier name: (identifier) @imported)
  (as_renamed_identifier name: (identifier) @imported)
  (namespace_wildcard) @imported])) @import
(import_declaration . path: (identifier) @source ("." . path: (identifier) @source)* (namespace_wildcard) @imported) @import

(call_expression function: (identifier) @callee)
(call_expression function: (field_expression field: (identifier) @callee))
(call_expression function: (generic_function function: (identifier) @callee))
(call_expression function: (generic_function function: (field_expression field: (identifier) @callee)))
(instance_expression (type_identifier) @callee)
(instance_expression (generic_type type: (type_identifier) @callee))
(instance_expression (generic_type type: (stable_type_identifier (type_identifier) @callee)))
