/* Reads the matches of a query on the tree of a file: the compiled form of `python_matches`.

A file of a thousand lines has some hundreds of matches, most of them calls and comments, of which only the place
matters. Nodes are objects of the package tree-sitter, and are read by their attributes.

The Python functions are the reference. A test compares both on the same files. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "_attributes.h"

/* ---- places in a file */

typedef struct {
    Py_ssize_t start, end;
    Py_ssize_t order; /* of two spans with one start, the one that was found last counts */
} Span;

typedef struct {
    Span *items;
    Py_ssize_t count, capacity;
    int is_sorted; /* and no start occurs twice */
} Spans;

static int append_span(Spans *spans, Py_ssize_t start, Py_ssize_t end)
{
    if (spans->count == spans->capacity) {
        Py_ssize_t capacity = spans->capacity ? 2 * spans->capacity : 64;
        Span *items = PyMem_Realloc(spans->items, (size_t)capacity * sizeof(Span));
        if (items == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        spans->items = items;
        spans->capacity = capacity;
    }
    if (spans->count && spans->items[spans->count - 1].start >= start)
        spans->is_sorted = 0;
    spans->items[spans->count] = (Span){start, end, spans->count};
    spans->count++;
    return 0;
}

static int compare_spans(const void *one, const void *other)
{
    const Span *a = one, *b = other;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static void sort_spans(Spans *spans)
{
    if (spans->is_sorted)
        return;
    qsort(spans->items, (size_t)spans->count, sizeof(Span), compare_spans);
    Py_ssize_t kept = 0;
    for (Py_ssize_t at = 0; at < spans->count; at++)
        if (at + 1 == spans->count || spans->items[at + 1].start != spans->items[at].start)
            spans->items[kept++] = spans->items[at];
    spans->count = kept;
}

static PyObject *array_type, *type_code;

/* An `array("q")`, of which the numbers are in `bytes`. Takes the reference. */
static PyObject *make_array(PyObject *bytes)
{
    PyObject *array = bytes ? PyObject_CallFunctionObjArgs(array_type, type_code, bytes, NULL) : NULL;
    Py_XDECREF(bytes);
    return array;
}

/* The start and the end of each span. */
static PyObject *to_array(Spans *spans)
{
    sort_spans(spans);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, spans->count * 2 * (Py_ssize_t)sizeof(int64_t));
    for (Py_ssize_t at = 0; bytes && at < spans->count; at++) {
        int64_t pair[] = {spans->items[at].start, spans->items[at].end};
        memcpy(PyBytes_AS_STRING(bytes) + at * (Py_ssize_t)sizeof pair, pair, sizeof pair);
    }
    return make_array(bytes);
}

/* ---- matches */

enum { CALLEE, COMMENT, ATTACHED, DOC, SPAN_ROLES, IMPORT = SPAN_ROLES, REST, ROLES, UNKNOWN = ROLES };
static PyObject *role_names[REST];
static PyObject *start_name, *end_name;

#define PATTERNS_MAX 256

/* The role of a pattern by what `roles` says of it, which `find_role` finds out with the first match. */
static int find_role(PyObject *pattern, PyObject *nodes, PyObject *roles, PyObject *find)
{
    PyObject *found = PyDict_GetItemWithError(roles, pattern);
    if (found == NULL) {
        if (PyErr_Occurred() || (found = PyObject_CallOneArg(find, nodes)) == NULL)
            return -1;
        int failed = PyDict_SetItem(roles, pattern, found);
        Py_DECREF(found); /* `roles` has it */
        if (failed)
            return -1;
    }
    if (!PyTuple_Check(found) || PyTuple_GET_SIZE(found) == 0) {
        PyErr_SetString(PyExc_TypeError, "a role is a tuple, which begins with the name of a capture");
        return -1;
    }
    for (int role = 0; role < REST; role++) {
        int is_equal = PyObject_RichCompareBool(PyTuple_GET_ITEM(found, 0), role_names[role], Py_EQ);
        if (is_equal)
            return is_equal < 0 ? -1 : role;
    }
    return REST;
}

static int append_node(Spans *spans, PyObject *nodes, PyObject *name)
{
    PyObject *list = PyDict_GetItemWithError(nodes, name);
    if (list == NULL || !PyList_Check(list) || !PyList_GET_SIZE(list)) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_KeyError, "a match has no node %R", name);
        return -1;
    }
    PyObject *node = PyList_GET_ITEM(list, 0);
    Py_ssize_t start = read_number(node, start_name), end = start < 0 ? -1 : read_number(node, end_name);
    return end < 0 ? -1 : append_span(spans, start, end);
}

/* Append the place of a match to `spans`, or the match itself to one of two lists. */
static int sort_match(PyObject *match, Spans *spans, PyObject *const *lists, unsigned char *known, PyObject *roles,
                      PyObject *find)
{
    if (!PyTuple_Check(match) || PyTuple_GET_SIZE(match) != 2 || !PyDict_Check(PyTuple_GET_ITEM(match, 1))) {
        PyErr_SetString(PyExc_TypeError, "a match is a tuple of a pattern and its nodes");
        return -1;
    }
    PyObject *pattern = PyTuple_GET_ITEM(match, 0), *nodes = PyTuple_GET_ITEM(match, 1);
    Py_ssize_t number = PyLong_AsSsize_t(pattern);
    if (number < 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "a pattern has a negative number");
        return -1;
    }
    int role = number < PATTERNS_MAX ? known[number] : UNKNOWN;
    if (role == UNKNOWN) {
        role = find_role(pattern, nodes, roles, find);
        if (role < 0)
            return -1;
        if (number < PATTERNS_MAX)
            known[number] = (unsigned char)role;
    }
    return role < SPAN_ROLES ? append_node(&spans[role], nodes, role_names[role])
                             : PyList_Append(lists[role - SPAN_ROLES], match);
}

PyDoc_STRVAR(sort_matches_doc, "sort_matches(matches, roles, find_role)\n--\n\n"
                               "See `inorder.code.python_matches.sort_matches`.");

static PyObject *sort_matches(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    if (count != 3 || !PyList_Check(arguments[0]) || !PyDict_Check(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "sort_matches takes a list of matches, a dict of roles and a function");
        return NULL;
    }
    Spans spans[SPAN_ROLES] = {0};
    unsigned char known[PATTERNS_MAX];
    memset(known, UNKNOWN, sizeof known);
    PyObject *found = NULL, *lists[ROLES - SPAN_ROLES] = {PyList_New(0), PyList_New(0)};
    if (lists[0] == NULL || lists[1] == NULL)
        goto done;
    for (int role = 0; role < SPAN_ROLES; role++)
        spans[role].is_sorted = 1;
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(arguments[0]); at++)
        if (sort_match(PyList_GET_ITEM(arguments[0], at), spans, lists, known, arguments[1], arguments[2]) < 0)
            goto done;
    found = PyTuple_New(ROLES);
    for (int role = 0; found && role < SPAN_ROLES; role++) {
        PyObject *array = to_array(&spans[role]);
        if (array == NULL)
            Py_CLEAR(found);
        else
            PyTuple_SET_ITEM(found, role, array);
    }
    for (int role = SPAN_ROLES; found && role < ROLES; role++)
        PyTuple_SET_ITEM(found, role, Py_NewRef(lists[role - SPAN_ROLES]));
done:
    for (int role = 0; role < SPAN_ROLES; role++)
        PyMem_Free(spans[role].items);
    for (int role = SPAN_ROLES; role < ROLES; role++)
        Py_XDECREF(lists[role - SPAN_ROLES]);
    return found;
}

/* ---- lines */

/* The place after the end of the line that begins at `at`. A lone carriage return ends a line. */
static Py_ssize_t find_next_line(const char *bytes, Py_ssize_t size, Py_ssize_t at, int has_returns)
{
    if (!has_returns) {
        const char *found = memchr(bytes + at, '\n', (size_t)(size - at));
        return found ? found - bytes + 1 : size;
    }
    while (at < size && bytes[at] != '\n' && bytes[at] != '\r')
        at++;
    if (at + 1 < size && bytes[at] == '\r' && bytes[at + 1] == '\n')
        at++;
    return at < size ? at + 1 : size;
}

PyDoc_STRVAR(find_line_starts_doc, "find_line_starts(data)\n--\n\nSee `inorder.code.python_matches.find_line_starts`.");

static PyObject *find_line_starts(PyObject *module, PyObject *data)
{
    (void)module;
    if (!PyBytes_Check(data)) {
        PyErr_SetString(PyExc_TypeError, "find_line_starts takes bytes");
        return NULL;
    }
    const char *bytes = PyBytes_AS_STRING(data);
    Py_ssize_t size = PyBytes_GET_SIZE(data), count = 0;
    int has_returns = memchr(bytes, '\r', (size_t)size) != NULL;
    for (Py_ssize_t at = 0; at < size; at = find_next_line(bytes, size, at, has_returns))
        count++;
    PyObject *starts = PyBytes_FromStringAndSize(NULL, (count + 1) * (Py_ssize_t)sizeof(int64_t));
    int64_t start = 0;
    for (Py_ssize_t line = 0; starts && line <= count; line++) {
        memcpy(PyBytes_AS_STRING(starts) + line * (Py_ssize_t)sizeof start, &start, sizeof start);
        if (line < count)
            start = find_next_line(bytes, size, (Py_ssize_t)start, has_returns);
    }
    return make_array(starts);
}

PyDoc_STRVAR(find_line_doc, "find_line(starts, byte)\n--\n\nSee `inorder.code.python_matches.find_line`.");

static PyObject *find_line(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    Numbers starts = {0};
    Py_ssize_t byte = count == 2 ? PyLong_AsSsize_t(arguments[1]) : -1;
    if (count != 2)
        PyErr_SetString(PyExc_TypeError, "find_line takes the starts of lines and a place");
    if (PyErr_Occurred() || open_numbers(&starts, arguments[0]) < 0)
        return NULL;
    Py_ssize_t line = search_line(starts.items, starts.count - 1, byte, 0);
    close_numbers(&starts);
    return PyLong_FromSsize_t(line);
}

/* ---- the module */

static int execute(PyObject *module)
{
    (void)module;
    const ModuleString strings[] = {
        {&role_names[CALLEE], "callee"}, {&role_names[COMMENT], "comment"}, {&role_names[ATTACHED], "attached"},
        {&role_names[DOC], "doc"}, {&role_names[IMPORT], "import"}, {&type_code, "q"}, {&start_name, "start_byte"},
        {&end_name, "end_byte"},
    };
    PyObject *library = array_type ? NULL : PyImport_ImportModule("array");
    if (library)
        array_type = PyObject_GetAttrString(library, "array");
    Py_XDECREF(library);
    return array_type ? make_strings(strings, sizeof strings / sizeof *strings) : -1;
}

static PyMethodDef functions[] = {
    {"sort_matches", (PyCFunction)(void (*)(void))sort_matches, METH_FASTCALL, sort_matches_doc},
    {"find_line", (PyCFunction)(void (*)(void))find_line, METH_FASTCALL, find_line_doc},
    {"find_line_starts", find_line_starts, METH_O, find_line_starts_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, execute},
    {0, NULL},
};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_matches",
    .m_doc = "Reads the matches of a query.",
    .m_methods = functions,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__matches(void)
{
    return PyModuleDef_Init(&module);
}
