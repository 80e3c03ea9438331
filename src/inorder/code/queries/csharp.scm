(namespace_declaration name: (_) @name) @definition.namespace
(class_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.interface
(struct_declaration name: (identifier) @name) @definition.struct
(record_declaration name: (identifier) @name) @definition.record
(enum_declaration name: (identifier) @name) @definition.enum
(method_declaration name: (identifier) @name body: (_)) @definition.method
(constructor_declaration name: (identifier) @name) @definition.constructor
(destructor_declaration name: (identifier) @name) @definition.method
(property_declaration name: (identifier) @name) @definition.property
(operator_declaration operator: _ @name) @definition.method
(local_function_statement name: (identifier) @name) @definition.function

(file_scoped_namespace_declaration name: (_) @name) @symbol.namespace
(method_declaration name: (identifier) @name) @symbol.method
(delegate_declaration name: (identifier) @name) @symbol.type
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @symbol.field
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @symbol.event
(enum_member_declaration name: (identifier) @name) @symbol.constant

(comment) @comment

(using_directive name: (identifier) (_) @source .) @import
(using_directive !name [(identifier) (qualified_name)] @source) @import

(invocation_expression function: (identifier) @callee)
(invocation_expression function: (generic_name (identifier) @callee))
(invocation_expression function: (member_access_expression name: (identifier) @callee))
(invocation_expression function: (member_access_expression name: (generic_name (identifier) @callee)))
(invocation_expression function: (conditional_access_expression (member_binding_expression name: (identifier) @callee)))
(object_creation_expression type: [
  (identifier) @callee
  (generic_name (identifier) @callee)
  (qualified_name name: (identifier) @callee)])
