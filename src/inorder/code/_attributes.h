/* Reading attributes of Python objects. */

#include <Python.h>

/* The attribute of an object that is an int; -1 with an error if there is none. */
static Py_ssize_t read_number(PyObject *object, PyObject *name)
{
    PyObject *found = PyObject_GetAttr(object, name);
    if (found == NULL)
        return -1;
    Py_ssize_t number = PyLong_AsSsize_t(found);
    Py_DECREF(found);
    return number;
}
