(module name: (_) @name) @definition.module
(class name: (_) @name) @definition.class
(method name: (_) @name) @definition.function
(singleton_method name: (_) @name) @definition.method

(assignment left: (constant) @name) @symbol.constant
(call
  method: (identifier) @_method
  arguments: (argument_list (simple_symbol) @name)
  (#any-of? @_method "attr_reader" "attr_writer" "attr_accessor")) @symbol.field

(comment) @comment

(call
  !receiver
  method: (identifier) @_method
  arguments: (argument_list . (string (string_content) @source))
  (#any-of? @_method "require" "require_relative" "load" "autoload")) @import

(call method: [(identifier) (constant)] @callee)
