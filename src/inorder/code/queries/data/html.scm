(element (start_tag (attribute
  (attribute_name) @_attribute
  (quoted_attribute_value (attribute_value) @name))) (#eq? @_attribute "id")) @definition.element
(script_element (start_tag (tag_name) @name) @body (raw_text)) @definition.script
(style_element (start_tag (tag_name) @name) @body) @definition.style

(element (start_tag (tag_name) @_tag) (text) @name (#match? @_tag "^(h[1-6]|title)$")) @symbol.heading

(comment) @comment

(script_element (start_tag (attribute
  (attribute_name) @_attribute
  (quoted_attribute_value (attribute_value) @source))) (#eq? @_attribute "src")) @import
(element (start_tag
  (tag_name) @_tag
  (attribute (attribute_name) @_attribute (quoted_attribute_value (attribute_value) @source)))
  (#eq? @_tag "link") (#eq? @_attribute "href")) @import
