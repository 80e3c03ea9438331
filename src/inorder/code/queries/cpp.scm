(template_declaration (class_specifier name: (_) @name body: (_) @body)) @definition.class
(template_declaration (struct_specifier name: (_) @name body: (_) @body)) @definition.struct
(template_declaration (function_definition
  declarator: [
    (function_declarator declarator: (_) @name)
    (pointer_declarator declarator: (function_declarator declarator: (_) @name))
    (reference_declarator (function_declarator declarator: (_) @name))]
  body: (_) @body)) @definition.function
(function_definition declarator: [
  (function_declarator declarator: (_) @name)
  (pointer_declarator declarator: (function_declarator declarator: (_) @name))
  (reference_declarator (function_declarator declarator: (_) @name))
]) @definition.function
(class_specifier name: (_) @name body: (_)) @definition.class
(struct_specifier name: (_) @name body: (_)) @definition.struct
(namespace_definition name: (_) @name) @definition.namespace

(field_declaration declarator: [
  (function_declarator declarator: (field_identifier) @name)
  (pointer_declarator declarator: (function_declarator declarator: (field_identifier) @name))
  (reference_declarator (function_declarator declarator: (field_identifier) @name))
]) @symbol.method
(alias_declaration name: (type_identifier) @name) @symbol.type
(concept_definition name: (identifier) @name) @symbol.concept
(namespace_definition body: (declaration_list (declaration declarator: (init_declarator declarator: (identifier) @name)) @symbol.variable))

(using_declaration [(qualified_identifier) (identifier)] @source) @import

(call_expression function: (qualified_identifier name: (identifier) @callee))
(call_expression function: (qualified_identifier name: (qualified_identifier name: (identifier) @callee)))
(call_expression function: (qualified_identifier name: (template_function name: (identifier) @callee)))
(call_expression function: (template_function name: (identifier) @callee))
(call_expression function: (field_expression field: (template_method name: (field_identifier) @callee)))
(new_expression type: [(type_identifier) @callee (template_type name: (type_identifier) @callee)])
