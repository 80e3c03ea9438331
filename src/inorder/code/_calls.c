/* Encodes the calls of a file: the compiled form of `python_calls`.

A file of a thousand lines has some hundreds of calls. They go from the tree to the index as bytes, without an object for
each.

The Python function is the reference. A test compares both on the same files. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "_attributes.h"
#include "_names.h"

typedef struct {
    const char *text; /* in UTF-8 */
    size_t size;
} Text;

typedef struct {
    Py_ssize_t start, end;
    Text name;
} Scope;

typedef struct {
    Text caller, callee;
    size_t line, column;
} Call;

typedef struct {
    Numbers starts; /* of the lines */
    const char *bytes;
    Py_ssize_t size, text_start;
    PyObject *replaced; /* callees that are not as they are in the file: objects of bytes */
} File;

/* ---- reading the arguments */

static int read_scope(PyObject *tuple, Scope *scope)
{
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != 3) {
        PyErr_SetString(PyExc_TypeError, "a scope is a tuple of its start, its end and its name");
        return -1;
    }
    Py_ssize_t length;
    scope->start = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, 0));
    scope->end = PyErr_Occurred() ? -1 : PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, 1));
    scope->name.text = PyErr_Occurred() ? NULL : PyUnicode_AsUTF8AndSize(PyTuple_GET_ITEM(tuple, 2), &length);
    if (scope->name.text == NULL)
        return -1;
    scope->name.size = (size_t)length;
    return 0;
}

static Scope *read_scopes(PyObject *list)
{
    Py_ssize_t count = PyList_GET_SIZE(list);
    Scope *scopes = PyMem_Calloc((size_t)count + 1, sizeof(Scope));
    if (scopes == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        if (read_scope(PyList_GET_ITEM(list, at), &scopes[at]) < 0) {
            PyMem_Free(scopes);
            return NULL;
        }
    }
    scopes[count].start = PY_SSIZE_T_MAX;
    return scopes;
}

/* ---- locating calls */

static size_t count_characters(const char *bytes, Py_ssize_t start, Py_ssize_t end)
{
    size_t count = 0;
    for (Py_ssize_t at = start; at < end; at++)
        count += (bytes[at] & 0xC0) != 0x80;
    return count;
}

static int is_ascii(const char *bytes, size_t size)
{
    for (size_t at = 0; at < size; at++)
        if (bytes[at] & 0x80)
            return 0;
    return 1;
}

/* The name of what is called. What is not UTF-8 is replaced. */
static int read_callee(const File *file, Py_ssize_t start, Py_ssize_t end, Text *callee)
{
    *callee = (Text){file->bytes + start, (size_t)(end - start)};
    if (is_ascii(callee->text, callee->size))
        return 0;
    PyObject *text = PyUnicode_DecodeUTF8(callee->text, end - start, "replace");
    PyObject *bytes = text ? PyUnicode_AsUTF8String(text) : NULL;
    Py_XDECREF(text);
    if (bytes == NULL || PyList_Append(file->replaced, bytes) < 0) {
        Py_XDECREF(bytes);
        return -1;
    }
    *callee = (Text){PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes)};
    Py_DECREF(bytes); /* `replaced` has it */
    return 0;
}

/* Read all calls. `stack` has room for all scopes: those that enclose the current place. */
static int locate_calls(const Numbers *spans, const Scope *scopes, const Scope **stack, const File *file, Call *calls)
{
    size_t depth = 0;
    Py_ssize_t line = 1;
    const int64_t *starts = file->starts.items;
    for (Py_ssize_t at = 0; at < spans->count / 2; at++) {
        int64_t start = spans->items[2 * at], end = spans->items[2 * at + 1];
        while (line < file->starts.count && starts[line] <= start)
            line++;
        if (start < 0 || end < start || end > file->size || line >= file->starts.count) {
            PyErr_SetString(PyExc_IndexError, "a call is not within its file");
            return -1;
        }
        for (; scopes->start <= start; scopes++) {
            while (depth && stack[depth - 1]->end <= scopes->start)
                depth--;
            stack[depth++] = scopes;
        }
        while (depth && stack[depth - 1]->end <= start)
            depth--;
        calls[at].caller = depth ? stack[depth - 1]->name : (Text){"", 0};
        calls[at].line = (size_t)line;
        int64_t first = starts[line - 1] < file->text_start ? file->text_start : starts[line - 1];
        calls[at].column = count_characters(file->bytes, first, start) + 1;
        if (read_callee(file, start, end, &calls[at].callee) < 0)
            return -1;
    }
    return 0;
}

/* ---- encoding, as MessagePack */

static char *put_number(char *place, size_t number)
{
    int bytes = number < 0x80 ? 0 : number <= UINT8_MAX ? 1 : number <= UINT16_MAX ? 2 : number <= UINT32_MAX ? 4 : 8;
    if (bytes == 0)
        *place++ = (char)number;
    else
        *place++ = (char)(bytes == 1 ? 0xcc : bytes == 2 ? 0xcd : bytes == 4 ? 0xce : 0xcf);
    for (int byte = bytes - 1; byte >= 0; byte--)
        *place++ = (char)(number >> 8 * byte);
    return place;
}

/* The beginning of what has a size: `small` for less than `limit`, else `code` for 16 bits and the next code for 32. */
static char *put_size(char *place, size_t size, size_t limit, int small, int code)
{
    int bytes = size < limit ? 0 : size <= UINT16_MAX ? 2 : 4;
    *place++ = (char)(bytes == 0 ? small | (int)size : bytes == 2 ? code : code + 1);
    for (int byte = bytes - 1; byte >= 0; byte--)
        *place++ = (char)(size >> 8 * byte);
    return place;
}

static char *put_list(char *place, size_t count)
{
    return put_size(place, count, 16, 0x90, 0xdc);
}

static char *put_text(char *place, Text text)
{
    if (text.size >= 32 && text.size <= UINT8_MAX) {
        *place++ = (char)0xd9;
        *place++ = (char)text.size;
    } else {
        place = put_size(place, text.size, 32, 0xa0, 0xda);
    }
    memcpy(place, text.text, text.size);
    return place + text.size;
}

static char *put_site(char *place, const Call *call)
{
    return put_number(put_number(put_text(place, call->callee), call->line), call->column);
}

#define SITE_BYTES 32 /* more than what precedes the texts of a call, and its numbers, take */

static char *reserve(Bytes *bytes, size_t more)
{
    char *place = extend(bytes, more);
    if (place == NULL)
        PyErr_NoMemory();
    else
        bytes->size -= more;
    return place;
}

static void set_end(Bytes *bytes, const char *end)
{
    bytes->size = (size_t)(end - bytes->data);
}

/* One list for each call. */
static int encode_rows(Bytes *bytes, const Call *calls, size_t count)
{
    char *place = reserve(bytes, SITE_BYTES);
    if (place == NULL)
        return -1;
    set_end(bytes, put_list(place, count));
    for (size_t at = 0; at < count; at++) {
        place = reserve(bytes, calls[at].caller.size + calls[at].callee.size + SITE_BYTES);
        if (place == NULL)
            return -1;
        set_end(bytes, put_site(put_text(put_list(place, 4), calls[at].caller), &calls[at]));
    }
    return 0;
}

static int is_same(Text one, Text other)
{
    return one.size == other.size && (one.text == other.text || memcmp(one.text, other.text, one.size) == 0);
}

static size_t find_end_of_group(const Call *calls, size_t count, size_t at)
{
    size_t end = at + 1;
    while (end < count && is_same(calls[end].caller, calls[at].caller))
        end++;
    return end;
}

/* Consecutive calls of one caller together. */
static int encode_groups(Bytes *bytes, const Call *calls, size_t count)
{
    size_t groups = 0;
    for (size_t at = 0; at < count; at = find_end_of_group(calls, count, at))
        groups++;
    char *place = reserve(bytes, SITE_BYTES);
    if (place == NULL)
        return -1;
    set_end(bytes, put_list(place, groups));
    for (size_t at = 0; at < count;) {
        size_t end = find_end_of_group(calls, count, at);
        if ((place = reserve(bytes, calls[at].caller.size + SITE_BYTES)) == NULL)
            return -1;
        set_end(bytes, put_list(put_text(put_list(place, 2), calls[at].caller), end - at));
        for (; at < end; at++) {
            if ((place = reserve(bytes, calls[at].callee.size + SITE_BYTES)) == NULL)
                return -1;
            set_end(bytes, put_site(put_list(place, 3), &calls[at]));
        }
    }
    return 0;
}

/* The different names that are called, in the order of their first calls. */
static PyObject *list_callees(const Call *calls, size_t count)
{
    Names names;
    PyObject *list = PyList_New(0);
    int failed = open_names(&names) < 0;
    for (size_t at = 0; !failed && at < count; at++)
        failed = number_name(&names, calls[at].callee.text, calls[at].callee.size) == NONE;
    if (failed)
        PyErr_NoMemory();
    for (int32_t number = 0; list && !failed && number < names.count; number++) {
        size_t size;
        const char *name = get_name(&names, number, &size);
        PyObject *text = PyUnicode_DecodeUTF8(name, (Py_ssize_t)size, NULL);
        failed = text == NULL || PyList_Append(list, text) < 0;
        Py_XDECREF(text);
    }
    close_names(&names);
    if (failed)
        Py_CLEAR(list);
    return list;
}

static PyObject *encode(const Call *calls, size_t count)
{
    Bytes rows = {0}, groups = {0};
    PyObject *encoded = NULL, *callees = list_callees(calls, count);
    if (callees && encode_rows(&rows, calls, count) == 0 && (!count || encode_groups(&groups, calls, count) == 0))
        encoded = Py_BuildValue("y#y#O", rows.data, (Py_ssize_t)rows.size, count ? groups.data : "",
                                (Py_ssize_t)groups.size, callees);
    Py_XDECREF(callees);
    PyMem_Free(rows.data);
    PyMem_Free(groups.data);
    return encoded;
}

/* ---- the module */

PyDoc_STRVAR(encode_calls_doc, "encode_calls(calls, scopes, starts, data, text_start)\n--\n\n"
                               "See `inorder.code.python_calls.encode_calls`.");

static PyObject *encode_calls(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    if (count != 5 || !PyList_Check(arguments[1]) || !PyBytes_Check(arguments[3])) {
        PyErr_SetString(PyExc_TypeError, "encode_calls takes calls, scopes, starts of lines, a text and its start");
        return NULL;
    }
    PyObject *encoded = NULL;
    Numbers spans = {0};
    File file = {.bytes = PyBytes_AS_STRING(arguments[3]), .size = PyBytes_GET_SIZE(arguments[3]),
                 .text_start = PyLong_AsSsize_t(arguments[4])};
    Scope *scopes = PyErr_Occurred() ? NULL : read_scopes(arguments[1]);
    const Scope **stack = NULL;
    Call *calls = NULL;
    if (scopes == NULL || open_numbers(&spans, arguments[0]) < 0
        || open_starts(&file.starts, arguments[2], file.size) < 0)
        goto end;
    stack = PyMem_Malloc((size_t)(PyList_GET_SIZE(arguments[1]) + 1) * sizeof(Scope *));
    calls = PyMem_Malloc((size_t)(spans.count / 2 + 1) * sizeof(Call));
    if (stack == NULL || calls == NULL)
        PyErr_NoMemory();
    else if ((file.replaced = PyList_New(0)) != NULL && locate_calls(&spans, scopes, stack, &file, calls) == 0)
        encoded = encode(calls, (size_t)(spans.count / 2));
end:
    Py_XDECREF(file.replaced);
    close_numbers(&spans);
    close_numbers(&file.starts);
    PyMem_Free(calls);
    PyMem_Free(stack);
    PyMem_Free(scopes);
    return encoded;
}

static PyMethodDef functions[] = {
    {"encode_calls", (PyCFunction)(void (*)(void))encode_calls, METH_FASTCALL, encode_calls_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot module_slots[] = {
    {0, NULL},
};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_calls",
    .m_doc = "Encodes the calls of a file.",
    .m_methods = functions,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__calls(void)
{
    return PyModuleDef_Init(&module);
}
