/* Reads the stats of files of one folder: the compiled form of `stats.read_stats_in_python`.

A run over many files that have not changed does little else. The folder is opened once, so that the system does not walk
its path for every file, and no object is made for a file.

The Python function is the reference. A test compares both on the same files. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__APPLE__)
#define MODIFIED(found) ((found).st_mtimespec)
#define CHANGED(found) ((found).st_ctimespec)
#else
#define MODIFIED(found) ((found).st_mtim)
#define CHANGED(found) ((found).st_ctim)
#endif
#define FIELDS 4

static PyObject *array_type, *type_code;

static int64_t to_ns(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Read the stat of a file. Returns 0 if it cannot be read, or is not a regular file; -1 with an error of Python. */
static int read_stat(int folder, PyObject *name, int64_t *fields)
{
    struct stat found;
    PyObject *encoded = NULL;
    const char *bytes;
    if (!PyUnicode_Check(name)) {
        PyErr_SetString(PyExc_TypeError, "a name must be a string");
        return -1;
    }
    if (PyUnicode_IS_COMPACT_ASCII(name)) {
        bytes = (const char *)PyUnicode_1BYTE_DATA(name);
    } else {
        if ((encoded = PyUnicode_EncodeFSDefault(name)) == NULL)
            return -1;
        bytes = PyBytes_AS_STRING(encoded);
    }
    int is_read = fstatat(folder, bytes, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(found.st_mode);
    Py_XDECREF(encoded);
    if (is_read) {
        fields[0] = (int64_t)found.st_size;
        fields[1] = to_ns(MODIFIED(found));
        fields[2] = to_ns(CHANGED(found));
        fields[3] = (int64_t)(uint64_t)found.st_ino;
    }
    return is_read;
}

static int read_all(int folder, PyObject *names, int64_t *fields)
{
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(names); at++) {
        int is_read = read_stat(folder, PyList_GET_ITEM(names, at), fields + at * FIELDS);
        if (is_read != 1)
            return is_read;
    }
    return 1;
}

PyDoc_STRVAR(read_stats_doc, "read_stats(folder, names)\n--\n\nSee `inorder.files.stats.read_stats_in_python`.");

static PyObject *read_stats(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *path, *names, *found = NULL;
    if (!PyArg_ParseTuple(arguments, "O&O!", PyUnicode_FSConverter, &path, &PyList_Type, &names))
        return NULL;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, PyList_GET_SIZE(names) * FIELDS * (Py_ssize_t)sizeof(int64_t));
    int folder = bytes ? open(PyBytes_AS_STRING(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int is_read = folder >= 0 ? read_all(folder, names, (int64_t *)PyBytes_AS_STRING(bytes)) : 0;
    if (folder >= 0)
        close(folder);
    if (is_read > 0)
        found = PyObject_CallFunctionObjArgs(array_type, type_code, bytes, NULL);
    else if (is_read == 0 && bytes)
        found = Py_NewRef(Py_None);
    Py_XDECREF(bytes);
    Py_DECREF(path);
    return found;
}

static int execute(PyObject *module)
{
    (void)module;
    PyObject *library = array_type ? NULL : PyImport_ImportModule("array");
    if (library)
        array_type = PyObject_GetAttrString(library, "array");
    Py_XDECREF(library);
    if (!type_code)
        type_code = PyUnicode_InternFromString("q");
    return array_type && type_code ? 0 : -1;
}

static PyMethodDef functions[] = {
    {"read_stats", read_stats, METH_VARARGS, read_stats_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, execute},
    {0, NULL},
};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_stats",
    .m_doc = "Reads the stats of files.",
    .m_methods = functions,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__stats(void)
{
    return PyModuleDef_Init(&module);
}
