(class_declaration "interface" name: (identifier) @name (class_body)? @body) @definition.interface
(class_declaration (modifiers (class_modifier) @_modifier) name: (identifier) @name (enum_class_body)? @body
  (#eq? @_modifier "enum")) @definition.enum
(class_declaration name: (identifier) @name (class_body)? @body) @definition.class
(object_declaration name: (identifier) @name (class_body)? @body) @definition.object
(companion_object name: (identifier) @name (class_body)? @body) @definition.object
(function_declaration name: (identifier) @name (function_body)? @body) @definition.function
(secondary_constructor "constructor" @name (block)? @body) @definition.constructor

(type_alias type: (identifier) @name) @symbol.type
(source_file (property_declaration (variable_declaration (identifier) @name)) @symbol.variable)
(class_body (property_declaration (variable_declaration (identifier) @name)) @symbol.field)
(enum_class_body (property_declaration (variable_declaration (identifier) @name)) @symbol.field)
(class_parameter ["val" "var"] . (identifier) @name) @symbol.field
(enum_entry (identifier) @name) @symbol.constant

(line_comment) @comment
(block_comment) @comment

(import (qualified_identifier) @source) @import
(import (qualified_identifier) @source "*" @imported) @import

(call_expression . (identifier) @callee)
(call_expression . (navigation_expression (identifier) @callee .))
(constructor_invocation (user_type (identifier) @callee . (type_arguments)? .))
(callable_reference (identifier) @callee .)
