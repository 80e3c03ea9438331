(rule_set (selectors) @name (block) @body) @definition.rule
(media_statement . (_) @name (block) @body) @definition.media
(supports_statement . (_) @name (block) @body) @definition.supports
(keyframes_statement (keyframes_name) @name (keyframe_block_list) @body) @definition.keyframes

(declaration (property_name) @name (#match? @name "^--")) @symbol.variable

(comment) @comment

(import_statement (string_value (string_content) @source)) @import
(import_statement (call_expression (arguments (string_value (string_content) @source)))) @import
(import_statement (call_expression (arguments (plain_value) @source))) @import
