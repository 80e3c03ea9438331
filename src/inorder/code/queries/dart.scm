(class_definition name: (identifier) @name) @definition.class
(mixin_declaration (identifier) @name (class_body) @body) @definition.class
(extension_declaration name: (identifier) @name) @definition.extension
(extension_type_declaration name: (identifier) @name) @definition.class
(enum_declaration name: (identifier) @name) @definition.enum

((function_signature name: (identifier) @name) @definition.function . (function_body) @body)
((getter_signature name: (identifier) @name) @definition.function . (function_body) @body)
((setter_signature name: (identifier) @name) @definition.function . (function_body) @body)
(local_function_declaration (lambda_expression
  parameters: (function_signature name: (identifier) @name) body: (_) @body)) @definition.function
((method_signature (function_signature name: (identifier) @name)) @definition.method . (function_body) @body)
((method_signature (getter_signature name: (identifier) @name)) @definition.method . (function_body) @body)
((method_signature (setter_signature name: (identifier) @name)) @definition.method . (function_body) @body)
((method_signature (operator_signature (binary_operator) @name)) @definition.method . (function_body) @body)
((method_signature (constructor_signature name: (identifier) @name . parameters: (_))) @definition.constructor
  . (function_body) @body)
((method_signature (factory_constructor_signature (identifier) @name . (formal_parameter_list))) @definition.constructor
  . (function_body) @body)

(declaration (function_signature name: (identifier) @name)) @symbol.method
(declaration (getter_signature name: (identifier) @name)) @symbol.method
(declaration (setter_signature name: (identifier) @name)) @symbol.method
(declaration (constructor_signature name: (identifier) @name . parameters: (_))) @symbol.constructor
(declaration (constant_constructor_signature (identifier) @name . (formal_parameter_list))) @symbol.constructor
(declaration (initialized_identifier_list (initialized_identifier . (identifier) @name))) @symbol.field
(declaration (static_final_declaration_list (static_final_declaration . (identifier) @name))) @symbol.field
(type_alias . (type_identifier) @name) @symbol.type
(enum_constant name: (identifier) @name) @symbol.constant
(program (static_final_declaration_list (static_final_declaration . (identifier) @name) @symbol.variable))
(program (initialized_identifier_list (initialized_identifier . (identifier) @name) @symbol.variable))

(annotation) @attached
(comment) @comment
(documentation_comment) @comment

(import_specification (configurable_uri (uri (string_literal) @source))) @import
(import_specification (configurable_uri (uri (string_literal) @source)) (combinator "show" (identifier) @imported)) @import
(library_export (configurable_uri (uri (string_literal) @source))) @import
(library_export (configurable_uri (uri (string_literal) @source)) (combinator "show" (identifier) @imported)) @import
(part_directive (uri (string_literal) @source)) @import

((identifier) @callee . (selector (argument_part)))
((selector [
  (unconditional_assignable_selector (identifier) @callee)
  (conditional_assignable_selector (identifier) @callee)]) . (selector (argument_part)))
(cascade_section (cascade_selector (identifier) @callee) . (argument_part))
(new_expression (type_identifier) @callee)
(const_object_expression (type_identifier) @callee)
