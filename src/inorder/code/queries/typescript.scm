(class_declaration name: (type_identifier) @name) @definition.class
(abstract_class_declaration name: (type_identifier) @name) @definition.class
(interface_declaration name: (type_identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(type_alias_declaration name: (type_identifier) @name) @definition.type
(internal_module name: (_) @name) @definition.namespace
(module name: (_) @name) @definition.module

(public_field_definition name: (_) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.method

(public_field_definition name: (_) @name) @symbol.field
(interface_body (property_signature name: (_) @name) @symbol.field)
(interface_body (method_signature name: (_) @name) @symbol.method)
(abstract_method_signature name: (_) @name) @symbol.method
(function_signature name: (identifier) @name) @symbol.function
(enum_body [(property_identifier) (string)] @name @symbol.constant)
(enum_assignment name: (_) @name) @symbol.constant
