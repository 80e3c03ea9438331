(function_definition name: (word) @name) @definition.function

(program (variable_assignment name: (variable_name) @name) @symbol.variable)
(program (declaration_command (variable_assignment name: (variable_name) @name) @symbol.variable))

(comment) @comment

(command
  name: (command_name (word) @_command)
  . argument: (_) @source
  (#any-of? @_command "source" ".")) @import

(command name: (command_name (word) @callee))
