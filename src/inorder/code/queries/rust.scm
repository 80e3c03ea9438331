(function_item name: (identifier) @name) @definition.function
(struct_item name: (type_identifier) @name) @definition.struct
(enum_item name: (type_identifier) @name) @definition.enum
(union_item name: (type_identifier) @name) @definition.union
(trait_item name: (type_identifier) @name) @definition.trait
(impl_item type: [
  (type_identifier) @name
  (generic_type type: (_) @name)
  (scoped_type_identifier) @name
  (reference_type type: (_) @name)]) @definition.impl
(mod_item name: (identifier) @name body: (_)) @definition.module
(macro_definition name: (identifier) @name) @definition.macro

(mod_item name: (identifier) @name) @symbol.module
(function_signature_item name: (identifier) @name) @symbol.function
(type_item name: (type_identifier) @name) @symbol.type
(associated_type name: (type_identifier) @name) @symbol.type
(const_item name: (identifier) @name) @symbol.constant
(static_item name: (identifier) @name) @symbol.variable
(enum_variant name: (identifier) @name) @symbol.constant
(struct_item body: (field_declaration_list (field_declaration name: (field_identifier) @name) @symbol.field))

(attribute_item) @attached
(line_comment) @comment
(block_comment) @comment

(use_declaration argument: (scoped_identifier path: (_) @source name: (_) @imported)) @import
(use_declaration argument: (scoped_use_list path: (_) @source list: (use_list (_) @imported))) @import
(use_declaration argument: (use_as_clause path: (_) @source)) @import
(use_declaration argument: (use_wildcard (_) @source "*" @imported)) @import
(use_declaration argument: (identifier) @source) @import
(use_declaration argument: (use_list (_) @source)) @import
(extern_crate_declaration name: (identifier) @source) @import

(call_expression function: (identifier) @callee)
(call_expression function: (scoped_identifier name: (identifier) @callee))
(call_expression function: (field_expression field: (field_identifier) @callee))
(call_expression function: (generic_function function: (identifier) @callee))
(call_expression function: (generic_function function: (scoped_identifier name: (identifier) @callee)))
(call_expression function: (generic_function function: (field_expression field: (field_identifier) @callee)))
(macro_invocation macro: (identifier) @callee)
(macro_invocation macro: (scoped_identifier name: (identifier) @callee))
