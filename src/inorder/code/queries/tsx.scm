(jsx_opening_element name: (identifier) @callee (#match? @callee "^[A-Z]"))
(jsx_self_closing_element name: (identifier) @callee (#match? @callee "^[A-Z]"))
