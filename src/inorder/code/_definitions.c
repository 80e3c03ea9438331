/* Finds the definitions of a file: the compiled form of `python_definitions`, whose docstrings say what the functions of
the same names do.

A file of a thousand lines has about a hundred definitions. Names in ASCII, lines and signatures are made here. What is
rare is left to functions in Python: names that are no identifiers, documentation, and texts in other scripts. Nodes are
objects of the package tree-sitter, and are read by their attributes.

The Python module is the reference. A test compares both on the same files. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "_attributes.h"

#define NONE (-1)

typedef struct {
    Py_ssize_t start, end;
    int is_comment;
} Span;

typedef struct {
    Span *items;
    Py_ssize_t count;
} Spans;

typedef struct {
    PyObject *nodes, *role;    /* of its match: borrowed */
    Py_ssize_t pattern, order; /* the number of the pattern, and the place of the first match of its name */
    Py_ssize_t name_start, name_end;
    PyObject *kind, *name, *owner, *qualified_name, *doc, *signature;
    int has_chunk;
    Py_ssize_t start, end, body; /* `body` is NONE if unknown */
    Py_ssize_t parent, depth, line, last_line, leading_line;
} Definition;

typedef struct {
    PyObject *class_kinds;
    Py_ssize_t depth_max, signature_characters_max, signature_lines_max;
    PyObject *split_name, *clean_name, *extract_string_text, *extract_comment_text, *join_signature;
} Rules;

typedef struct {
    Definition *definitions;
    Py_ssize_t count;
    Spans comments, leading, docs; /* `leading`: comments and what else belongs to the definition below */
    Numbers lines;
    const int64_t *starts;         /* of the lines, and the end of the last one */
    Py_ssize_t line_count, size, text_start;
    const char *bytes;
    char *signature; /* room for one */
    Rules rules;
} File;

static PyObject *start_name, *end_name, *name_name, *owner_name, *body_name, *child_name, *nothing, *line_break;
static PyObject *function_kind, *method_kind;

/* ---- reading the arguments */

/* Append spans. There is room for them. */
static int read_spans(Spans *spans, const Numbers *numbers, int is_comment, Py_ssize_t size)
{
    for (Py_ssize_t at = 0; at + 1 < numbers->count; at += 2) {
        Span span = {numbers->items[at], numbers->items[at + 1], is_comment};
        if (span.start < 0 || span.end < span.start || span.end > size) {
            PyErr_SetString(PyExc_ValueError, "a span is not within its file");
            return -1;
        }
        spans->items[spans->count++] = span;
    }
    return 0;
}

static int compare_spans(const void *one, const void *other)
{
    const Span *a = one, *b = other;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a->is_comment - b->is_comment;
}

static int allocate_spans(Spans *spans, Py_ssize_t number_count)
{
    spans->items = PyMem_Malloc((size_t)(number_count / 2 + 1) * sizeof(Span));
    if (spans->items == NULL)
        PyErr_NoMemory();
    return spans->items ? 0 : -1;
}

static int read_all_spans(File *file, const Numbers *comments, const Numbers *attached, const Numbers *docs)
{
    Py_ssize_t size = file->size;
    if (allocate_spans(&file->comments, comments->count) < 0 || allocate_spans(&file->docs, docs->count) < 0
        || allocate_spans(&file->leading, comments->count + attached->count) < 0
        || read_spans(&file->comments, comments, 1, size) < 0 || read_spans(&file->docs, docs, 0, size) < 0
        || read_spans(&file->leading, comments, 1, size) < 0 || read_spans(&file->leading, attached, 0, size) < 0)
        return -1;
    qsort(file->leading.items, (size_t)file->leading.count, sizeof(Span), compare_spans);
    return 0;
}

static int open_and_read_spans(File *file, PyObject *comments, PyObject *attached, PyObject *docs)
{
    Numbers numbers[3] = {0};
    int failed = open_numbers(&numbers[0], comments) < 0 || open_numbers(&numbers[1], attached) < 0
                 || open_numbers(&numbers[2], docs) < 0
                 || read_all_spans(file, &numbers[0], &numbers[1], &numbers[2]) < 0;
    for (int at = 0; at < 3; at++)
        close_numbers(&numbers[at]);
    return failed ? -1 : 0;
}

static int read_starts(File *file, PyObject *starts)
{
    if (open_starts(&file->lines, starts, file->size) < 0)
        return -1;
    file->starts = file->lines.items;
    file->line_count = file->lines.count - 1;
    if (file->line_count < 0)
        PyErr_SetString(PyExc_ValueError, "a file has at least one start");
    return file->line_count < 0 ? -1 : 0;
}

/* ---- texts */

static PyObject *make_text(const File *file, Py_ssize_t start, Py_ssize_t end)
{
    if (start < file->text_start)
        start = file->text_start;
    if (end > file->size)
        end = file->size;
    return start < end ? PyUnicode_DecodeUTF8(file->bytes + start, end - start, "replace") : Py_NewRef(nothing);
}

/* Join two names with a dot. */
static PyObject *join_names(PyObject *outer, PyObject *inner)
{
    if (!PyUnicode_IS_ASCII(outer) || !PyUnicode_IS_ASCII(inner))
        return PyUnicode_FromFormat("%U.%U", outer, inner);
    Py_ssize_t outer_size = PyUnicode_GET_LENGTH(outer), inner_size = PyUnicode_GET_LENGTH(inner);
    PyObject *joined = PyUnicode_New(outer_size + 1 + inner_size, 127);
    if (joined) {
        Py_UCS1 *place = PyUnicode_1BYTE_DATA(joined);
        memcpy(place, PyUnicode_1BYTE_DATA(outer), (size_t)outer_size);
        place[outer_size] = '.';
        memcpy(place + outer_size + 1, PyUnicode_1BYTE_DATA(inner), (size_t)inner_size);
    }
    return joined;
}

/* Call a function that returns a text. */
static PyObject *call_for_text(PyObject *function, PyObject *argument)
{
    PyObject *text = PyObject_CallOneArg(function, argument);
    if (text && !PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "a name or a text is no string");
        Py_CLEAR(text);
    }
    return text;
}

/* ---- matches */

/* The first node of a capture; NULL without an error if there is none. Borrowed. */
static PyObject *get_node(PyObject *nodes, PyObject *name)
{
    PyObject *list = PyDict_GetItemWithError(nodes, name);
    if (list == NULL || !PyList_Check(list) || !PyList_GET_SIZE(list))
        return NULL;
    return PyList_GET_ITEM(list, 0);
}

static int read_node(PyObject *node, Py_ssize_t *start, Py_ssize_t *end, Py_ssize_t size)
{
    *start = read_number(node, start_name);
    *end = *start < 0 ? -1 : read_number(node, end_name);
    if (!PyErr_Occurred() && (*start < 0 || *end < *start || *end > size))
        PyErr_SetString(PyExc_ValueError, "a node is not within its file");
    return PyErr_Occurred() ? -1 : 0;
}

/* Read the name and the pattern of each match that has a name. */
static int read_matches(File *file, PyObject *matches, PyObject *roles)
{
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(matches); at++) {
        PyObject *match = PyList_GET_ITEM(matches, at);
        if (!PyTuple_Check(match) || PyTuple_GET_SIZE(match) != 2 || !PyDict_Check(PyTuple_GET_ITEM(match, 1))) {
            PyErr_SetString(PyExc_TypeError, "a match is a tuple of a pattern and its nodes");
            return -1;
        }
        PyObject *nodes = PyTuple_GET_ITEM(match, 1), *name = get_node(nodes, name_name);
        PyObject *role = PyDict_GetItemWithError(roles, PyTuple_GET_ITEM(match, 0));
        if (PyErr_Occurred())
            return -1;
        if (role == NULL || !PyTuple_Check(role) || PyTuple_GET_SIZE(role) != 3) {
            PyErr_SetString(PyExc_TypeError, "a role is a tuple of a capture, a kind, and whether it has a chunk");
            return -1;
        }
        if (name == NULL)
            continue;
        Definition *definition = &file->definitions[file->count];
        *definition = (Definition){.nodes = nodes, .role = role, .order = file->count, .parent = NONE};
        definition->pattern = PyLong_AsSsize_t(PyTuple_GET_ITEM(match, 0));
        if (PyErr_Occurred() || read_node(name, &definition->name_start, &definition->name_end, file->size) < 0)
            return -1;
        file->count++;
    }
    return 0;
}

static int compare_names(const void *one, const void *other)
{
    const Definition *a = one, *b = other;
    if (a->name_start != b->name_start)
        return a->name_start < b->name_start ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int compare_places(const void *one, const void *other)
{
    const Definition *a = one, *b = other;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static void sort_definitions(File *file, int (*compare)(const void *, const void *))
{
    for (Py_ssize_t at = 1; at < file->count; at++) {
        if (compare(&file->definitions[at - 1], &file->definitions[at]) > 0) {
            qsort(file->definitions, (size_t)file->count, sizeof(Definition), compare);
            return;
        }
    }
}

/* Of several patterns that match one name, keep the first of the query. */
static void choose_patterns(File *file)
{
    Py_ssize_t kept = 0;
    sort_definitions(file, compare_names);
    for (Py_ssize_t at = 0; at < file->count; at++) {
        Definition *definition = &file->definitions[at], *known = kept ? &file->definitions[kept - 1] : NULL;
        if (known == NULL || known->name_start != definition->name_start) {
            file->definitions[kept++] = *definition;
        } else if (definition->pattern < known->pattern) {
            Py_ssize_t order = known->order;
            *known = *definition;
            known->order = order;
        }
    }
    file->count = kept;
}

static int read_body(const File *file, Definition *definition, PyObject *node)
{
    PyObject *body = get_node(definition->nodes, body_name);
    if (PyErr_Occurred())
        return -1;
    body = body ? Py_NewRef(body) : PyObject_CallMethodOneArg(node, child_name, body_name);
    if (body == NULL)
        return -1;
    definition->body = body == Py_None ? NONE : read_number(body, start_name);
    if (!PyErr_Occurred() && definition->body > file->size)
        PyErr_SetString(PyExc_ValueError, "a body is not within its file");
    Py_DECREF(body);
    return PyErr_Occurred() ? -1 : 0;
}

static int build_definition(const File *file, Definition *definition)
{
    PyObject *node = get_node(definition->nodes, PyTuple_GET_ITEM(definition->role, 0));
    if (node == NULL) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_KeyError, "a match has no node of its role");
        return -1;
    }
    definition->kind = Py_NewRef(PyTuple_GET_ITEM(definition->role, 1));
    definition->has_chunk = PyTuple_GET_ITEM(definition->role, 2) == Py_True;
    if (read_node(node, &definition->start, &definition->end, file->size) < 0 || read_body(file, definition, node) < 0)
        return -1;
    PyObject *owner = get_node(definition->nodes, owner_name);
    if (owner) {
        Py_ssize_t start, end;
        if (read_node(owner, &start, &end, file->size) < 0
            || (definition->owner = make_text(file, start, end)) == NULL)
            return -1;
    }
    definition->doc = Py_NewRef(nothing);
    definition->name = make_text(file, definition->name_start, definition->name_end);
    return definition->name && !PyErr_Occurred() ? 0 : -1;
}

/* ---- names and lines */

static Py_ssize_t find_line(const File *file, Py_ssize_t byte, Py_ssize_t first)
{
    return search_line(file->starts, file->line_count, byte, first);
}

/* Clean a name that is no identifier. Returns it with the names before it. */
static PyObject *split_name(const File *file, Definition *definition)
{
    PyObject *arguments[] = {definition->kind, definition->name};
    PyObject *pair = PyObject_Vectorcall(file->rules.split_name, arguments, 2, NULL), *whole = NULL;
    if (pair && PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2 && PyUnicode_Check(PyTuple_GET_ITEM(pair, 0))
        && PyUnicode_Check(PyTuple_GET_ITEM(pair, 1))) {
        Py_SETREF(definition->name, Py_NewRef(PyTuple_GET_ITEM(pair, 0)));
        whole = Py_NewRef(PyTuple_GET_ITEM(pair, 1));
    } else if (pair) {
        PyErr_SetString(PyExc_TypeError, "a name is split into a tuple of two strings");
    }
    Py_XDECREF(pair);
    return whole;
}

/* The name within the enclosing definition. */
static PyObject *make_inner_name(const File *file, Definition *definition)
{
    int is_identifier = PyUnicode_IsIdentifier(definition->name);
    PyObject *name = is_identifier ? Py_NewRef(definition->name) : split_name(file, definition);
    if (name && definition->owner && PyUnicode_GET_LENGTH(definition->owner)) {
        PyObject *owner = call_for_text(file->rules.clean_name, definition->owner);
        PyObject *joined = owner ? join_names(owner, name) : NULL;
        Py_XDECREF(owner);
        Py_DECREF(name);
        return joined;
    }
    return name;
}

static int set_names_and_lines(const File *file, Definition *definition, Py_ssize_t parent)
{
    const Definition *all = file->definitions;
    PyObject *name = make_inner_name(file, definition);
    if (name == NULL)
        return -1;
    if (parent != NONE) {
        int is_function = PyObject_RichCompareBool(definition->kind, function_kind, Py_EQ);
        int is_method = is_function > 0 ? PySet_Contains(file->rules.class_kinds, all[parent].kind) : is_function;
        if (is_method < 0) {
            Py_DECREF(name);
            return -1;
        }
        if (is_method)
            Py_SETREF(definition->kind, Py_NewRef(method_kind));
        if (all[parent].depth >= file->rules.depth_max && all[parent].parent != NONE)
            parent = all[parent].parent;
        definition->depth = all[parent].depth + 1;
        definition->qualified_name = join_names(all[parent].qualified_name, name);
        Py_DECREF(name);
    } else {
        definition->qualified_name = name;
    }
    definition->parent = parent;
    Py_ssize_t start = definition->start, end = definition->end;
    definition->line = find_line(file, start, 0);
    definition->last_line = end > start ? find_line(file, end - 1, definition->line) : definition->line;
    return definition->qualified_name ? 0 : -1;
}

/* ---- documentation */

static int is_blank(const File *file, Py_ssize_t start, Py_ssize_t end)
{
    for (Py_ssize_t at = start; at < end; at++) {
        char byte = file->bytes[at];
        if (byte != ' ' && (byte < '\t' || byte > '\r'))
            return 0;
    }
    return 1;
}

static PyObject *join_comments(const File *file, Py_ssize_t first, Py_ssize_t end)
{
    PyObject *texts = PyList_New(0), *joined = NULL;
    for (Py_ssize_t at = first; texts && at < end; at++) {
        const Span *span = &file->leading.items[at];
        PyObject *text = span->is_comment ? make_text(file, span->start, span->end) : Py_NewRef(Py_None);
        if (text == NULL || (text != Py_None && PyList_Append(texts, text) < 0))
            Py_CLEAR(texts);
        Py_XDECREF(text);
    }
    if (texts && PyList_GET_SIZE(texts))
        joined = PyUnicode_Join(line_break, texts);
    Py_XDECREF(texts);
    return joined;
}

/* Set the leading line of a definition, and its documentation if there are comments above it. `next` is the first span
that does not begin before the definition. */
static int set_leading_line(const File *file, Definition *definition, Py_ssize_t next)
{
    Py_ssize_t line = definition->line, at = next - 1;
    for (; at >= 0; at--) {
        const Span *span = &file->leading.items[at];
        if (line < 2 || span->end <= file->starts[line - 2] || !is_blank(file, span->end, file->starts[line - 1]))
            break;
        Py_ssize_t first = find_line(file, span->start, 0);
        if (first >= line || !is_blank(file, file->starts[first - 1], span->start))
            break;
        line = first;
    }
    definition->leading_line = line;
    if (at + 1 == next)
        return 0;
    PyObject *comments = join_comments(file, at + 1, next);
    if (comments == NULL)
        return PyErr_Occurred() ? -1 : 0;
    PyObject *doc = call_for_text(file->rules.extract_comment_text, comments);
    Py_DECREF(comments);
    if (doc)
        Py_SETREF(definition->doc, doc);
    return doc ? 0 : -1;
}

/* Give a documentation string to the innermost definition on the stack that encloses it. Returns the new depth. */
static Py_ssize_t assign_doc(const File *file, const Span *span, const Py_ssize_t *stack, Py_ssize_t depth)
{
    while (depth && file->definitions[stack[depth - 1]].end <= span->start)
        depth--;
    if (depth == 0)
        return 0;
    PyObject *text = make_text(file, span->start, span->end);
    PyObject *doc = text ? call_for_text(file->rules.extract_string_text, text) : NULL;
    Py_XDECREF(text);
    if (doc == NULL)
        return -1;
    Py_SETREF(file->definitions[stack[depth - 1]].doc, doc);
    return depth;
}

/* ---- nesting */

static int nest(File *file, Py_ssize_t *stack)
{
    Py_ssize_t depth = 0, next_leading = 0;
    const Span *doc = file->docs.items, *docs_end = doc + file->docs.count;
    for (Py_ssize_t at = 0; at < file->count; at++) {
        Definition *definition = &file->definitions[at];
        for (; doc < docs_end && doc->start < definition->start; doc++)
            if ((depth = assign_doc(file, doc, stack, depth)) < 0)
                return -1;
        for (; depth; depth--) {
            const Definition *top = &file->definitions[stack[depth - 1]];
            if (top->end > definition->start && (top->start != definition->start || top->end != definition->end))
                break;
        }
        if (set_names_and_lines(file, definition, depth ? stack[depth - 1] : NONE) < 0)
            return -1;
        if (!definition->has_chunk)
            continue;
        while (next_leading < file->leading.count && file->leading.items[next_leading].start < definition->start)
            next_leading++;
        if (set_leading_line(file, definition, next_leading) < 0)
            return -1;
        stack[depth++] = at;
    }
    for (; doc < docs_end; doc++)
        if ((depth = assign_doc(file, doc, stack, depth)) < 0)
            return -1;
    return 0;
}

/* ---- signatures */

static int is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r') || (byte >= 0x1c && byte <= 0x1f);
}

/* Append a text in ASCII to a signature of this size, with one space for any number of them. Returns the new size; NONE
if the text is not ASCII. */
static Py_ssize_t add_to_signature(const File *file, Py_ssize_t start, Py_ssize_t end, Py_ssize_t size, int *is_apart)
{
    for (Py_ssize_t at = start; at < end; at++) {
        char byte = file->bytes[at];
        if (byte & 0x80)
            return NONE;
        if (is_space(byte)) {
            *is_apart = 1;
        } else {
            if (*is_apart && size)
                file->signature[size++] = ' ';
            file->signature[size++] = byte;
            *is_apart = 0;
        }
    }
    return size;
}

/* The signature from the parts of the file between comments, in Python. `next` is the first comment. */
static PyObject *join_other_signature(const File *file, Py_ssize_t start, Py_ssize_t end, Py_ssize_t next)
{
    PyObject *parts = PyList_New(0), *joined = NULL;
    for (int is_last = 0; parts && !is_last;) {
        const Span *comment = next < file->comments.count ? &file->comments.items[next++] : NULL;
        is_last = comment == NULL || comment->start >= end;
        PyObject *part = make_text(file, start, is_last ? end : comment->start);
        if (part == NULL || PyList_Append(parts, part) < 0)
            Py_CLEAR(parts);
        Py_XDECREF(part);
        start = is_last ? end : comment->end;
    }
    PyObject *head = parts ? PyUnicode_Join(nothing, parts) : NULL;
    if (head)
        joined = call_for_text(file->rules.join_signature, head);
    Py_XDECREF(head);
    Py_XDECREF(parts);
    return joined;
}

/* The signature of a definition. `next` is the first comment after its start. */
static PyObject *build_signature(const File *file, const Definition *definition, Py_ssize_t next)
{
    Py_ssize_t start = definition->start, end = definition->body, size = 0, length_max;
    int is_apart = 0;
    if (end <= start) {
        Py_ssize_t line_end = definition->line <= file->line_count ? file->starts[definition->line] : definition->end;
        int is_short = definition->last_line - definition->line < file->rules.signature_lines_max;
        end = is_short || definition->end < line_end ? definition->end : line_end;
    }
    length_max = 4 * file->rules.signature_characters_max;
    if (end > start + length_max)
        end = start + length_max;
    Py_ssize_t from = start;
    for (Py_ssize_t at = next; size >= 0 && at < file->comments.count && file->comments.items[at].start < end; at++) {
        size = add_to_signature(file, from, file->comments.items[at].start, size, &is_apart);
        from = file->comments.items[at].end;
    }
    if (size >= 0)
        size = add_to_signature(file, from, end, size, &is_apart);
    if (size < 0)
        return join_other_signature(file, start, end, next);
    if (size > file->rules.signature_characters_max)
        size = file->rules.signature_characters_max;
    while (size && strchr(" {:;,", file->signature[size - 1]))
        size--;
    return PyUnicode_DecodeASCII(file->signature, size, NULL);
}

static int add_signatures(File *file)
{
    Py_ssize_t next = 0;
    for (Py_ssize_t at = 0; at < file->count; at++) {
        Definition *definition = &file->definitions[at];
        while (next < file->comments.count && file->comments.items[next].start < definition->start)
            next++;
        definition->signature = build_signature(file, definition, next);
        if (definition->signature == NULL)
            return -1;
    }
    return 0;
}

/* ---- the result */

static PyObject *make_object(const Definition *definition, PyObject *make)
{
    PyObject *numbers[] = {PyLong_FromSsize_t(definition->start), PyLong_FromSsize_t(definition->end),
                           PyLong_FromSsize_t(definition->line), PyLong_FromSsize_t(definition->last_line),
                           PyLong_FromSsize_t(definition->leading_line)};
    PyObject *made = NULL;
    if (!PyErr_Occurred()) {
        PyObject *arguments[] = {definition->kind, definition->has_chunk ? Py_True : Py_False,
                                 numbers[0], numbers[1], definition->name, definition->qualified_name,
                                 numbers[2], numbers[3], numbers[4], definition->doc, definition->signature};
        made = PyObject_Vectorcall(make, arguments, sizeof arguments / sizeof *arguments, NULL);
    }
    for (size_t at = 0; at < sizeof numbers / sizeof *numbers; at++)
        Py_XDECREF(numbers[at]);
    return made;
}

static PyObject *make_objects(const File *file, PyObject *make)
{
    PyObject *list = PyList_New(file->count);
    for (Py_ssize_t at = 0; list && at < file->count; at++) {
        PyObject *made = make_object(&file->definitions[at], make);
        if (made == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, at, made);
    }
    return list;
}

static int find_all(File *file, PyObject *matches, PyObject *roles)
{
    if (read_matches(file, matches, roles) < 0)
        return -1;
    choose_patterns(file);
    for (Py_ssize_t at = 0; at < file->count; at++)
        if (build_definition(file, &file->definitions[at]) < 0)
            return -1;
    sort_definitions(file, compare_places);
    Py_ssize_t *stack = PyMem_Malloc((size_t)(file->count + 1) * sizeof(Py_ssize_t));
    if (stack == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    int failed = nest(file, stack) < 0 || add_signatures(file) < 0;
    PyMem_Free(stack);
    return failed ? -1 : 0;
}

static void close_file(File *file)
{
    for (Py_ssize_t at = 0; at < file->count; at++) {
        Definition *definition = &file->definitions[at];
        Py_XDECREF(definition->kind);
        Py_XDECREF(definition->name);
        Py_XDECREF(definition->owner);
        Py_XDECREF(definition->qualified_name);
        Py_XDECREF(definition->doc);
        Py_XDECREF(definition->signature);
    }
    PyMem_Free(file->definitions);
    PyMem_Free(file->comments.items);
    PyMem_Free(file->leading.items);
    PyMem_Free(file->docs.items);
    close_numbers(&file->lines);
    PyMem_Free(file->signature);
}

PyDoc_STRVAR(find_definitions_doc,
             "find_definitions(matches, roles, comments, attached, docs, starts, data, text_start, rules, make)\n--\n\n"
             "See `inorder.code.python_definitions.find_definitions`.");

static PyObject *find_definitions(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *matches, *roles, *comments, *attached, *docs, *starts, *data, *make, *found = NULL;
    File file = {0};
    Rules *rules = &file.rules;
    if (!PyArg_ParseTuple(arguments, "O!O!OOOOSn(O!nnnOOOOO)O", &PyList_Type, &matches, &PyDict_Type, &roles,
                          &comments, &attached, &docs, &starts, &data, &file.text_start, &PyFrozenSet_Type, &rules->class_kinds, &rules->depth_max,
                          &rules->signature_characters_max, &rules->signature_lines_max, &rules->split_name,
                          &rules->clean_name, &rules->extract_string_text, &rules->extract_comment_text,
                          &rules->join_signature, &make))
        return NULL;
    if (file.text_start < 0 || rules->signature_characters_max < 0
        || rules->signature_characters_max > 1 << 20) {
        PyErr_SetString(PyExc_ValueError, "a text starts in its file, and a signature has a limit");
        return NULL;
    }
    file.bytes = PyBytes_AS_STRING(data);
    file.size = PyBytes_GET_SIZE(data);
    file.definitions = PyMem_Malloc((size_t)(PyList_GET_SIZE(matches) + 1) * sizeof(Definition));
    file.signature = PyMem_Malloc((size_t)(8 * rules->signature_characters_max + 2));
    if (file.definitions == NULL || file.signature == NULL)
        PyErr_NoMemory();
    else if (read_starts(&file, starts) == 0 && open_and_read_spans(&file, comments, attached, docs) == 0
             && find_all(&file, matches, roles) == 0)
        found = make_objects(&file, make);
    close_file(&file);
    return found;
}

/* ---- the module */

static int execute(PyObject *module)
{
    (void)module;
    const ModuleString strings[] = {
        {&start_name, "start_byte"}, {&end_name, "end_byte"}, {&name_name, "name"}, {&owner_name, "owner"},
        {&body_name, "body"}, {&child_name, "child_by_field_name"}, {&nothing, ""}, {&line_break, "\n"},
        {&function_kind, "function"}, {&method_kind, "method"},
    };
    return make_strings(strings, sizeof strings / sizeof *strings);
}

static PyMethodDef functions[] = {
    {"find_definitions", find_definitions, METH_VARARGS, find_definitions_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, execute},
    {0, NULL},
};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_definitions",
    .m_doc = "Finds the definitions of a file.",
    .m_methods = functions,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__definitions(void)
{
    return PyModuleDef_Init(&module);
}
