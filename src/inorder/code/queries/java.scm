(class_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(record_declaration name: (identifier) @name) @definition.record
(annotation_type_declaration name: (identifier) @name) @definition.annotation
(method_declaration name: (identifier) @name body: (_)) @definition.method
(constructor_declaration name: (identifier) @name) @definition.constructor
(compact_constructor_declaration name: (identifier) @name) @definition.constructor

(method_declaration name: (identifier) @name) @symbol.method
(annotation_type_element_declaration name: (identifier) @name) @symbol.method
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @symbol.field
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @symbol.constant
(enum_constant name: (identifier) @name) @symbol.constant

(line_comment) @comment
(block_comment) @comment

(import_declaration [(scoped_identifier) (identifier)] @source (asterisk)? @imported) @import

(method_invocation name: (identifier) @callee)
(object_creation_expression type: (type_identifier) @callee)
(object_creation_expression type: (generic_type . (type_identifier) @callee))
(object_creation_expression type: (scoped_type_identifier (type_identifier) @callee .))
(method_reference (identifier) @callee .)
