(call target: (identifier) @_keyword (arguments . (alias) @name) (do_block) @body
  (#eq? @_keyword "defmodule")) @definition.module
(call target: (identifier) @_keyword (arguments . (alias) @name) (do_block) @body
  (#eq? @_keyword "defprotocol")) @definition.interface
(call target: (identifier) @_keyword (arguments . (alias) @name) (do_block) @body
  (#eq? @_keyword "defimpl")) @definition.impl
(call
  target: (identifier) @_keyword
  (arguments . [
    (identifier) @name
    (call target: (identifier) @name)
    (binary_operator left: [(identifier) @name (call target: (identifier) @name)] operator: "when")])
  (do_block)? @body
  (#any-of? @_keyword "def" "defp" "defn" "defnp" "defdelegate")) @definition.function
(call
  target: (identifier) @_keyword
  (arguments . [
    (identifier) @name
    (call target: (identifier) @name)
    (binary_operator left: [(identifier) @name (call target: (identifier) @name)] operator: "when")])
  (do_block)? @body
  (#any-of? @_keyword "defmacro" "defmacrop" "defguard" "defguardp")) @definition.macro

(unary_operator operator: "@" operand: (call
  target: (identifier) @_keyword
  (arguments . (binary_operator left: [(identifier) @name (call target: (identifier) @name)] operator: "::"))
  (#any-of? @_keyword "type" "typep" "opaque"))) @symbol.type
(unary_operator operator: "@" operand: (call
  target: (identifier) @_keyword
  (arguments . (binary_operator left: (call target: (identifier) @name) operator: "::"))
  (#any-of? @_keyword "callback" "macrocallback"))) @symbol.function
(unary_operator operator: "@" operand: (call target: (identifier) @name (arguments)
  (#not-match? @name
    "^(?:after_compile|before_compile|behaviour|callback|compile|deprecated|derive|doc|enforce_keys|external_resource|impl|macrocallback|moduledoc|moduletag|on_load|opaque|optional_callbacks|spec|since|tag|type|typedoc|typep)$"))) @symbol.constant
(call target: (identifier) @_keyword (arguments [
  (list (atom) @name)
  (list (keywords (pair key: (keyword) @name)))
  (keywords (pair key: (keyword) @name))])
  (#any-of? @_keyword "defstruct" "defexception")) @symbol.field

(comment) @comment
(unary_operator operator: "@" operand: (call
  target: (identifier) @_keyword
  (arguments . (binary_operator left: (call target: (identifier) @name) operator: "::"))
  (#eq? @_keyword "spec"))) @attached
(unary_operator operator: "@" operand: (call target: (identifier) @_keyword
  (#any-of? @_keyword "deprecated" "doc" "impl" "since" "spec" "tag" "typedoc"))) @attached

(call target: (identifier) @_keyword (arguments . (alias) @source)
  (#any-of? @_keyword "alias" "import" "require" "use")) @import
(call target: (identifier) @_keyword (arguments . (dot left: (alias) @source right: (tuple (alias) @imported)))
  (#any-of? @_keyword "alias" "import" "require" "use")) @import

(call target: (identifier) @callee
  (#not-match? @callee
    "^(?:after_compile|alias|before_compile|behaviour|callback|compile|def|defdelegate|defexception|defguard|defguardp|defimpl|defmacro|defmacrop|defmodule|defn|defnp|defoverridable|defp|defprotocol|defstruct|deprecated|derive|doc|enforce_keys|external_resource|impl|import|macrocallback|moduledoc|moduletag|on_load|opaque|optional_callbacks|require|since|spec|tag|type|typedoc|typep|use)$"))
(call target: (dot right: (identifier) @callee))
