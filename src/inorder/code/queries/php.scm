(function_definition name: (name) @name) @definition.function
(class_declaration name: (name) @name) @definition.class
(interface_declaration name: (name) @name) @definition.interface
(trait_declaration name: (name) @name) @definition.trait
(enum_declaration name: (name) @name) @definition.enum
(method_declaration name: (name) @name body: (_)) @definition.method
(namespace_definition name: (namespace_name) @name body: (_)) @definition.namespace

(namespace_definition name: (namespace_name) @name) @symbol.namespace
(method_declaration name: (name) @name) @symbol.method
(const_declaration (const_element (name) @name) @symbol.constant)
(property_declaration (property_element name: (variable_name (name) @name))) @symbol.field
(property_promotion_parameter name: (variable_name (name) @name)) @symbol.field
(enum_case name: (name) @name) @symbol.constant

(comment) @comment

(namespace_use_declaration (namespace_use_clause . [(qualified_name) (name)] @source)) @import
(namespace_use_declaration (namespace_name) @source body: (namespace_use_group (namespace_use_clause . (_) @imported))) @import
([
  (require_expression [(string (string_content) @source) (binary_expression right: (string (string_content) @source))])
  (require_once_expression [(string (string_content) @source) (binary_expression right: (string (string_content) @source))])
  (include_expression [(string (string_content) @source) (binary_expression right: (string (string_content) @source))])
  (include_once_expression [(string (string_content) @source) (binary_expression right: (string (string_content) @source))])
] @import)

(function_call_expression function: (name) @callee)
(function_call_expression function: (qualified_name (name) @callee))
(member_call_expression name: (name) @callee)
(nullsafe_member_call_expression name: (name) @callee)
(scoped_call_expression name: (name) @callee)
(object_creation_expression [(name) @callee (qualified_name (name) @callee)])
