/* Divides the lines of a file among its definitions: the compiled form of `python_pieces`, whose docstrings say what the
functions of the same names do.

A file has about as many pieces as definitions. Here a piece is four numbers, and only the groups become objects.

The Python module is the reference. A test compares both on the same files. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "_attributes.h"

#define NONE (-1)

typedef struct {
    Py_ssize_t line, last_line, leading_line;
    int has_chunk, is_function;
} Definition;

typedef struct {
    Py_ssize_t first, last;
    Py_ssize_t owner, parent; /* numbers of definitions, or NONE */
} Piece;

typedef struct {
    Py_ssize_t start, end; /* of its pieces */
} Group;

typedef struct {
    Piece *items;
    Py_ssize_t count, capacity;
} Pieces;

typedef struct {
    Py_ssize_t lines_max, loose_lines_max, whole_lines_max, small_lines, bytes_max;
} Limits;

typedef struct {
    Definition *definitions;
    Py_ssize_t definition_count;
    const int64_t *starts; /* of the lines, and the end of the last one */
    Py_ssize_t line_count;
    const char *bytes;
    Limits limits;
} File;

static PyObject *line_name, *last_line_name, *leading_line_name, *has_chunk_name, *kind_name;
static unsigned char is_word_byte[256];

/* ---- reading the arguments */

static int read_definition(Definition *target, PyObject *object, PyObject *function_kinds)
{
    target->line = read_number(object, line_name);
    target->last_line = read_number(object, last_line_name);
    target->leading_line = read_number(object, leading_line_name);
    target->has_chunk = read_number(object, has_chunk_name) == 1;
    PyObject *kind = PyErr_Occurred() ? NULL : PyObject_GetAttr(object, kind_name);
    if (kind == NULL)
        return -1;
    target->is_function = PySet_Contains(function_kinds, kind);
    Py_DECREF(kind);
    return target->is_function < 0 ? -1 : 0;
}

static int read_definitions(File *file, PyObject *list, PyObject *function_kinds)
{
    file->definition_count = PyList_GET_SIZE(list);
    file->definitions = PyMem_Malloc((size_t)(file->definition_count + 1) * sizeof(Definition));
    if (file->definitions == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t at = 0; at < file->definition_count; at++) {
        Definition *each = &file->definitions[at];
        if (read_definition(each, PyList_GET_ITEM(list, at), function_kinds) < 0)
            return -1;
        if (each->has_chunk && (each->line < 1 || each->last_line < each->line || each->last_line > file->line_count
                                || each->leading_line < 1)) {
            PyErr_SetString(PyExc_ValueError, "a definition is not within the lines of its file");
            return -1;
        }
    }
    return 0;
}

static int read_pair(PyObject *pair, Py_ssize_t *one, Py_ssize_t *other)
{
    if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
        PyErr_SetString(PyExc_TypeError, "a range is a tuple of its first and last line");
        return -1;
    }
    *one = PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 0));
    *other = PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 1));
    return PyErr_Occurred() ? -1 : 0;
}

/* ---- pieces */

static int append_piece(Pieces *pieces, Piece piece)
{
    if (pieces->count == pieces->capacity) {
        Py_ssize_t capacity = pieces->capacity ? 2 * pieces->capacity : 64;
        Piece *items = PyMem_Realloc(pieces->items, (size_t)capacity * sizeof(Piece));
        if (items == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        pieces->items = items;
        pieces->capacity = capacity;
    }
    pieces->items[pieces->count++] = piece;
    return 0;
}

static Py_ssize_t count_bytes(const File *file, Py_ssize_t first, Py_ssize_t last)
{
    return file->starts[last] - file->starts[first - 1];
}

static int is_within_limits(const File *file, Py_ssize_t first, Py_ssize_t last, Py_ssize_t lines_max)
{
    return last - first < lines_max && count_bytes(file, first, last) <= file->limits.bytes_max;
}

static int is_open(const File *file, const Definition *definition)
{
    Py_ssize_t lines_max = definition->is_function ? file->limits.lines_max : file->limits.whole_lines_max;
    return !is_within_limits(file, definition->line, definition->last_line, lines_max);
}

static int is_long(const File *file, const Piece *piece)
{
    Py_ssize_t lines_max = piece->owner == NONE ? file->limits.loose_lines_max : file->limits.lines_max;
    return !is_within_limits(file, piece->first, piece->last, lines_max);
}

/* Add the rest of the lines of a definition that others are nested in. Returns the next line. */
static Py_ssize_t close_definition(const File *file, Pieces *pieces, Py_ssize_t owner, Py_ssize_t line)
{
    Py_ssize_t last = file->definitions[owner].last_line;
    if (line > last)
        return line;
    return append_piece(pieces, (Piece){line, last, owner, owner}) < 0 ? -1 : last + 1;
}

/* `stack` has room for all definitions. */
static int divide(const File *file, Pieces *pieces, Py_ssize_t *stack)
{
    Py_ssize_t line = 1, depth = 0;
    for (Py_ssize_t number = 0; number < file->definition_count; number++) {
        const Definition *definition = &file->definitions[number];
        if (!definition->has_chunk)
            continue;
        Py_ssize_t first = definition->leading_line > line ? definition->leading_line : line;
        while (depth && file->definitions[stack[depth - 1]].last_line < first)
            if ((line = close_definition(file, pieces, stack[--depth], line)) < 0)
                return -1;
        if (definition->last_line < first)
            continue;
        Py_ssize_t parent = depth ? stack[depth - 1] : NONE;
        if (line < first) {
            if (append_piece(pieces, (Piece){line, first - 1, parent, parent}) < 0)
                return -1;
            line = first;
        }
        if (is_open(file, definition)) {
            stack[depth++] = number;
        } else {
            if (append_piece(pieces, (Piece){line, definition->last_line, number, parent}) < 0)
                return -1;
            line = definition->last_line + 1;
        }
    }
    while (depth)
        if ((line = close_definition(file, pieces, stack[--depth], line)) < 0)
            return -1;
    return line > file->line_count ? 0 : append_piece(pieces, (Piece){line, file->line_count, NONE, NONE});
}

/* Replace a piece by the ranges that a function in Python has split it into. */
static int append_ranges(Pieces *pieces, const Piece *piece, PyObject *ranges)
{
    Py_ssize_t next = piece->first;
    PyObject *list = PySequence_Fast(ranges, "a piece is split into a sequence of ranges");
    if (list == NULL)
        return -1;
    int failed = 0;
    for (Py_ssize_t at = 0; !failed && at < PySequence_Fast_GET_SIZE(list); at++) {
        Piece part = {0, 0, piece->owner, piece->owner};
        failed = read_pair(PySequence_Fast_GET_ITEM(list, at), &part.first, &part.last) < 0;
        if (!failed && (part.first != next || part.last < part.first || part.last > piece->last)) {
            PyErr_SetString(PyExc_ValueError, "the ranges of a piece do not follow each other");
            failed = 1;
        }
        next = part.last + 1;
        failed = failed || append_piece(pieces, part) < 0;
    }
    Py_DECREF(list);
    if (!failed && next != piece->last + 1) {
        PyErr_SetString(PyExc_ValueError, "the ranges of a piece do not end with it");
        failed = 1;
    }
    return failed ? -1 : 0;
}

/* Split the pieces that are too long. `split` gets the first and the last line of each, and whether it has an owner. */
static int split_long(const File *file, Pieces *pieces, PyObject *split)
{
    PyObject *longs = PyList_New(0), *found = NULL;
    Pieces parts = {0};
    int failed = longs == NULL;
    for (Py_ssize_t at = 0; !failed && at < pieces->count; at++) {
        const Piece *piece = &pieces->items[at];
        if (!is_long(file, piece))
            continue;
        PyObject *range = Py_BuildValue("(nnO)", piece->first, piece->last, piece->owner == NONE ? Py_False : Py_True);
        failed = range == NULL || PyList_Append(longs, range) < 0;
        Py_XDECREF(range);
    }
    if (!failed && PyList_GET_SIZE(longs)) {
        Py_ssize_t next = 0;
        found = PyObject_CallOneArg(split, longs);
        failed = found == NULL;
        if (!failed && (!PyList_Check(found) || PyList_GET_SIZE(found) != PyList_GET_SIZE(longs))) {
            PyErr_SetString(PyExc_ValueError, "there must be ranges for each piece");
            failed = 1;
        }
        for (Py_ssize_t at = 0; !failed && at < pieces->count; at++) {
            const Piece *piece = &pieces->items[at];
            failed = is_long(file, piece) ? append_ranges(&parts, piece, PyList_GET_ITEM(found, next++)) < 0
                                          : append_piece(&parts, *piece) < 0;
        }
        Pieces before = *pieces;
        *pieces = parts;
        parts = before;
    }
    PyMem_Free(parts.items);
    Py_XDECREF(longs);
    Py_XDECREF(found);
    return failed ? -1 : 0;
}

/* ---- groups */

static int is_small(const File *file, Py_ssize_t first, Py_ssize_t last)
{
    return last - first + 1 < file->limits.small_lines;
}

static int is_small_group(const File *file, const Piece *pieces, Group group)
{
    return is_small(file, pieces[group.start].first, pieces[group.end - 1].last);
}

static int is_closing(const File *file, Py_ssize_t group_first, const Piece *piece)
{
    if (piece->last - group_first + 1 > file->limits.lines_max + file->limits.loose_lines_max)
        return 0;
    for (Py_ssize_t at = file->starts[piece->first - 1]; at < file->starts[piece->last]; at++)
        if (is_word_byte[(unsigned char)file->bytes[at]])
            return 0;
    return 1;
}

static Py_ssize_t join_small(const File *file, const Pieces *pieces, Group *groups)
{
    Py_ssize_t count = 0;
    int are_small = 0;
    for (Py_ssize_t at = 0; at < pieces->count; at++) {
        const Piece *piece = &pieces->items[at], *first = count ? &pieces->items[groups[count - 1].start] : NULL;
        int is_small_piece = is_small(file, piece->first, piece->last);
        if (first && (is_closing(file, first->first, piece)
                      || (is_small_piece && are_small && first->parent == piece->parent
                          && is_within_limits(file, first->first, piece->last, file->limits.loose_lines_max)))) {
            groups[count - 1].end = at + 1;
        } else {
            groups[count++] = (Group){at, at + 1};
            are_small = is_small_piece;
        }
    }
    return count;
}

static int can_join(const File *file, const Piece *pieces, Group one, Group other)
{
    return (is_small_group(file, pieces, one) || is_small_group(file, pieces, other))
           && pieces[one.start].parent == pieces[other.start].parent
           && is_within_limits(file, pieces[one.start].first, pieces[other.end - 1].last, file->limits.lines_max);
}

static Py_ssize_t count_lines(const Piece *pieces, Group group)
{
    return pieces[group.end - 1].last - pieces[group.start].first + 1;
}

/* Groups are joined in place: those before `count` are done. */
static Py_ssize_t join_remaining(const File *file, const Piece *pieces, Group *groups, Py_ssize_t group_count)
{
    Py_ssize_t count = 0;
    for (Py_ssize_t at = 0; at < group_count; at++) {
        Group group = groups[at];
        int has_before = count && can_join(file, pieces, groups[count - 1], group);
        int has_after = at + 1 < group_count && can_join(file, pieces, group, groups[at + 1]);
        int is_better_after = has_before && has_after && is_small_group(file, pieces, group)
                              && !is_small_group(file, pieces, groups[count - 1])
                              && count_lines(pieces, groups[at + 1]) < count_lines(pieces, groups[count - 1]);
        if (!has_before || is_better_after)
            groups[count++] = group;
        else
            groups[count - 1].end = group.end;
    }
    return count;
}

/* ---- names of groups */

static PyObject *get_definition(PyObject *definitions, Py_ssize_t number)
{
    return Py_NewRef(number == NONE ? Py_None : PyList_GET_ITEM(definitions, number));
}

static int is_defined(const Piece *piece)
{
    return piece->owner != NONE && piece->owner != piece->parent;
}

/* The definitions of a group that has several, if it is named after all of them; else an empty list. */
static PyObject *list_several(const Piece *pieces, Group group, PyObject *definitions, int is_named_after_all)
{
    PyObject *several = PyList_New(0);
    for (Py_ssize_t at = group.start; several && is_named_after_all && at < group.end; at++)
        if (is_defined(&pieces[at]) && PyList_Append(several, PyList_GET_ITEM(definitions, pieces[at].owner)) < 0)
            Py_CLEAR(several);
    return several;
}

static PyObject *name_group(const File *file, const Piece *pieces, Group group, PyObject *definitions)
{
    const Piece *largest = &pieces[group.start];
    Py_ssize_t defined_count = 0, defined = NONE;
    for (Py_ssize_t at = group.start; at < group.end; at++) {
        if (pieces[at].last - pieces[at].first > largest->last - largest->first)
            largest = &pieces[at];
        if (is_defined(&pieces[at])) {
            defined = defined_count ? defined : pieces[at].owner;
            defined_count++;
        }
    }
    Py_ssize_t owner = largest->owner;
    int is_largest_small = is_small(file, largest->first, largest->last), is_documented = 0;
    if (defined_count == 1 && is_largest_small)
        owner = defined;
    for (Py_ssize_t at = group.start; owner != NONE && at < group.end; at++)
        is_documented |= pieces[at].owner == owner && pieces[at].first <= file->definitions[owner].line;
    PyObject *several = list_several(pieces, group, definitions, defined_count > 1 && is_largest_small);
    if (several == NULL)
        return NULL;
    return Py_BuildValue("(nnNNNN)", pieces[group.start].first, pieces[group.end - 1].last,
                         get_definition(definitions, owner), PyBool_FromLong(is_documented), several,
                         get_definition(definitions, pieces[group.start].parent));
}

static PyObject *group_pieces(const File *file, Pieces *pieces, PyObject *definitions, PyObject *split)
{
    Py_ssize_t *stack = PyMem_Malloc((size_t)(file->definition_count + 1) * sizeof(Py_ssize_t));
    Group *groups = NULL;
    PyObject *found = NULL;
    if (stack == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    if (divide(file, pieces, stack) < 0 || split_long(file, pieces, split) < 0)
        goto end;
    groups = PyMem_Malloc((size_t)(pieces->count + 1) * sizeof(Group));
    if (groups == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    Py_ssize_t count = join_remaining(file, pieces->items, groups, join_small(file, pieces, groups));
    found = PyList_New(count);
    for (Py_ssize_t at = 0; found && at < count; at++) {
        PyObject *group = name_group(file, pieces->items, groups[at], definitions);
        if (group == NULL)
            Py_CLEAR(found);
        else
            PyList_SET_ITEM(found, at, group);
    }
end:
    PyMem_Free(stack);
    PyMem_Free(groups);
    return found;
}

PyDoc_STRVAR(group_lines_doc, "group_lines(definitions, starts, data, split, function_kinds, limits)\n--\n\n"
                              "See `inorder.code.python_pieces.group_lines`.");

static PyObject *group_lines(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *definitions, *starts, *data, *split, *function_kinds, *found = NULL;
    File file = {0};
    Pieces pieces = {0};
    Limits *limits = &file.limits;
    if (!PyArg_ParseTuple(arguments, "O!OSOO!(nnnnn)", &PyList_Type, &definitions, &starts, &data, &split,
                          &PyFrozenSet_Type, &function_kinds, &limits->lines_max, &limits->loose_lines_max,
                          &limits->whole_lines_max, &limits->small_lines, &limits->bytes_max))
        return NULL;
    Numbers lines = {0};
    if (open_starts(&lines, starts, PyBytes_GET_SIZE(data)) < 0)
        return NULL;
    file.bytes = PyBytes_AS_STRING(data);
    file.starts = lines.items;
    file.line_count = lines.count - 1;
    if (file.line_count < 1)
        found = PyList_New(0);
    else if (read_definitions(&file, definitions, function_kinds) == 0)
        found = group_pieces(&file, &pieces, definitions, split);
    PyMem_Free(pieces.items);
    PyMem_Free(file.definitions);
    close_numbers(&lines);
    return found;
}

/* ---- the module */

static int execute(PyObject *module)
{
    (void)module;
    for (int byte = 0; byte < 256; byte++)
        is_word_byte[byte] = byte >= 0x80 || byte == '_' || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z')
                             || (byte >= 'A' && byte <= 'Z');
    const ModuleString strings[] = {{&line_name, "line"}, {&last_line_name, "last_line"},
                                    {&leading_line_name, "leading_line"}, {&has_chunk_name, "has_chunk"},
                                    {&kind_name, "kind"}};
    return make_strings(strings, sizeof strings / sizeof *strings);
}

static PyMethodDef functions[] = {
    {"group_lines", group_lines, METH_VARARGS, group_lines_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, execute},
    {0, NULL},
};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_pieces",
    .m_doc = "Divides the lines of a file.",
    .m_methods = functions,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__pieces(void)
{
    return PyModuleDef_Init(&module);
}
