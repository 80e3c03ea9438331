(function_declaration name: (identifier) @name) @definition.function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @owner
    (generic_type type: (type_identifier) @owner)
    (pointer_type [(type_identifier) @owner (generic_type type: (type_identifier) @owner)])]))
  name: (field_identifier) @name) @definition.method

(type_declaration . (type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @body)) .) @definition.struct
(type_declaration . (type_spec name: (type_identifier) @name type: (interface_type) @body) .) @definition.interface
(type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @body)) @definition.struct
(type_spec name: (type_identifier) @name type: (interface_type) @body) @definition.interface
(type_spec name: (type_identifier) @name type: [
  (type_identifier) (qualified_type) (pointer_type) (array_type) (slice_type) (map_type) (channel_type) (function_type) (generic_type)
]) @definition.type
(type_alias name: (type_identifier) @name) @definition.type

(method_elem name: (field_identifier) @name) @symbol.method
(field_declaration name: (field_identifier) @name) @symbol.field
(source_file (const_declaration (const_spec name: (identifier) @name) @symbol.constant))
(source_file (var_declaration (var_spec name: (identifier) @name) @symbol.variable))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @symbol.variable)))

(comment) @comment

(import_spec path: (interpreted_string_literal) @source) @import

(call_expression function: (identifier) @callee)
(call_expression function: (selector_expression field: (field_identifier) @callee))
(call_expression function: (index_expression operand: (identifier) @callee))
(type_conversion_expression type: (generic_type type: (type_identifier) @callee))
(composite_literal type: (type_identifier) @callee)
