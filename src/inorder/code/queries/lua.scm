(function_declaration name: (identifier) @name) @definition.function
(function_declaration name: (dot_index_expression table: (_) @owner field: (identifier) @name)) @definition.function
(function_declaration name: (method_index_expression table: (_) @owner method: (identifier) @name)) @definition.method
(variable_declaration (assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (function_definition body: (_)? @body)))) @definition.function
(assignment_statement
  (variable_list . name: (identifier) @name)
  (expression_list . value: (function_definition body: (_)? @body))) @definition.function
(assignment_statement
  (variable_list . name: (dot_index_expression table: (_) @owner field: (identifier) @name))
  (expression_list . value: (function_definition body: (_)? @body))) @definition.function
(field name: (identifier) @name value: (function_definition body: (_)? @body)) @definition.method

(chunk (variable_declaration (assignment_statement (variable_list name: (identifier) @name))) @symbol.variable)
(chunk (variable_declaration (variable_list name: (identifier) @name)) @symbol.variable)
(chunk (assignment_statement (variable_list name: (identifier) @name)) @symbol.variable)
(chunk (assignment_statement (variable_list
  name: (dot_index_expression table: (_) @owner field: (identifier) @name))) @symbol.field)

(comment) @comment

(function_call
  name: (identifier) @_function
  arguments: (arguments . (string content: (string_content) @source))
  (#any-of? @_function "require" "dofile" "loadfile")) @import

(function_call name: (identifier) @callee)
(function_call name: (dot_index_expression field: (identifier) @callee))
(function_call name: (method_index_expression method: (identifier) @callee))
