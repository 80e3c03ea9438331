(class_declaration declaration_kind: "struct" name: (type_identifier) @name) @definition.struct
(class_declaration declaration_kind: "enum" name: (type_identifier) @name) @definition.enum
(class_declaration declaration_kind: "extension" name: (_) @name) @definition.extension
(class_declaration name: (type_identifier) @name) @definition.class
(protocol_declaration name: (type_identifier) @name) @definition.interface
(function_declaration "func" . name: _ @name body: (_)) @definition.function
(init_declaration name: "init" @name body: (_)) @definition.constructor
(deinit_declaration "deinit" @name) @definition.method
(subscript_declaration "subscript" @name (computed_property) @body) @definition.method
(property_declaration name: (pattern bound_identifier: (simple_identifier) @name) computed_value: (_) @body) @definition.property

(protocol_function_declaration "func" . name: _ @name) @symbol.method
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @symbol.field
(typealias_declaration . name: (type_identifier) @name) @symbol.type
(associatedtype_declaration name: (type_identifier) @name) @symbol.type
(source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @symbol.variable)
(class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @symbol.field)
(enum_class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @symbol.field)
(enum_entry name: (simple_identifier) @name) @symbol.constant
(macro_declaration (simple_identifier) @name) @symbol.macro

(comment) @comment
(multiline_comment) @comment

(import_declaration (identifier) @source) @import

(call_expression . (simple_identifier) @callee)
(call_expression . (navigation_expression suffix: (navigation_suffix suffix: (simple_identifier) @callee)))
(constructor_expression constructed_type: (user_type (type_identifier) @callee . (type_arguments)? .))
(macro_invocation (simple_identifier) @callee)
