/* Reading attributes of Python objects, and arrays of numbers. */

#include <Python.h>
#include <stdint.h>

/* The attribute of an object that is an int; -1 with an error if there is none. */
static inline Py_ssize_t read_number(PyObject *object, PyObject *name)
{
    PyObject *found = PyObject_GetAttr(object, name);
    if (found == NULL)
        return -1;
    Py_ssize_t number = PyLong_AsSsize_t(found);
    Py_DECREF(found);
    return number;
}

/* A string that is made once, when a module is loaded, and where it is kept. */
typedef struct {
    PyObject **place;
    const char *text;
} ModuleString;

static inline int make_strings(const ModuleString *strings, size_t count)
{
    for (size_t at = 0; at < count; at++)
        if (!*strings[at].place && (*strings[at].place = PyUnicode_InternFromString(strings[at].text)) == NULL)
            return -1;
    return 0;
}

/* The numbers of an `array("q")`: a list would need an object for each. */
typedef struct {
    Py_buffer view;
    const int64_t *items;
    Py_ssize_t count;
} Numbers;

static inline int open_numbers(Numbers *numbers, PyObject *object)
{
    if (PyObject_GetBuffer(object, &numbers->view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0)
        return -1;
    const char *format = numbers->view.format;
    if (numbers->view.itemsize != sizeof(int64_t) || format == NULL || strcmp(format, "q") != 0) {
        PyErr_SetString(PyExc_TypeError, "numbers must be an array of type q");
        PyBuffer_Release(&numbers->view);
        return -1;
    }
    numbers->items = numbers->view.buf;
    numbers->count = numbers->view.len / (Py_ssize_t)sizeof(int64_t);
    return 0;
}

/* Does nothing if they are not open. */
static inline void close_numbers(Numbers *numbers)
{
    PyBuffer_Release(&numbers->view);
}

/* The line that contains a byte, not before `first`; the last line for a byte past the end. */
static inline Py_ssize_t search_line(const int64_t *starts, Py_ssize_t line_count, Py_ssize_t byte, Py_ssize_t first)
{
    Py_ssize_t low = first, high = line_count;
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2;
        if (byte < starts[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* As `open_numbers`, for the starts of the lines of a file, and the end of the last one. */
static inline int open_starts(Numbers *starts, PyObject *object, Py_ssize_t size)
{
    if (open_numbers(starts, object) < 0)
        return -1;
    for (Py_ssize_t at = 0; at < starts->count; at++) {
        if (starts->items[at] < (at ? starts->items[at - 1] : 0) || starts->items[at] > size) {
            PyErr_SetString(PyExc_ValueError, "the starts of lines are not within the file, or not in order");
            close_numbers(starts);
            return -1;
        }
    }
    return 0;
}
