(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(method_definition name: (_) @name) @definition.method
(lexical_declaration (variable_declarator name: (identifier) @name value: (arrow_function body: (_) @body))) @definition.function
(lexical_declaration (variable_declarator name: (identifier) @name value: (function_expression body: (_) @body))) @definition.function
(lexical_declaration (variable_declarator name: (identifier) @name value: (class body: (_) @body))) @definition.class
(assignment_expression
  left: [(identifier) @name (member_expression property: (property_identifier) @name)]
  right: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.function
(pair key: (property_identifier) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.method
(program (lexical_declaration (variable_declarator name: (identifier) @name value: (object) @body)) @definition.object)
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name value: (object) @body)) @definition.object))

(program (lexical_declaration (variable_declarator name: (identifier) @name) @symbol.variable))
(program (variable_declaration (variable_declarator name: (identifier) @name) @symbol.variable))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @symbol.variable)))

(decorator) @attached
(comment) @comment

(import_statement source: (string (string_fragment) @source)) @import
(import_statement (import_clause (identifier) @imported) source: (string (string_fragment) @source)) @import
(import_statement (import_clause (namespace_import "*" @imported)) source: (string (string_fragment) @source)) @import
(import_statement (import_clause (named_imports (import_specifier name: (_) @imported))) source: (string (string_fragment) @source)) @import
(export_statement source: (string (string_fragment) @source)) @import
(export_statement (export_clause (export_specifier name: (_) @imported)) source: (string (string_fragment) @source)) @import
(call_expression
  function: [(identifier) (import)] @_function
  arguments: (arguments . (string (string_fragment) @source))
  (#any-of? @_function "require" "import")) @import

(call_expression function: (identifier) @callee)
(call_expression function: (member_expression property: [(property_identifier) (private_property_identifier)] @callee))
(new_expression constructor: (identifier) @callee)
(new_expression constructor: (member_expression property: (property_identifier) @callee))
