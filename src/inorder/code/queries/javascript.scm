(class_declaration name: (identifier) @name) @definition.class

(variable_declaration (variable_declarator name: (identifier) @name value: (arrow_function body: (_) @body))) @definition.function
(variable_declaration (variable_declarator name: (identifier) @name value: (function_expression body: (_) @body))) @definition.function
(assignment_expression left: [(identifier) @name (member_expression property: (property_identifier) @name)] right: (class body: (_) @body)) @definition.class
(field_definition property: (_) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.method

(field_definition property: (_) @name) @symbol.field

(jsx_opening_element name: (identifier) @callee (#match? @callee "^[A-Z]"))
(jsx_self_closing_element name: (identifier) @callee (#match? @callee "^[A-Z]"))
