/* Ranks the terms of many files: the compiled form of `term_ranks`. */

#include <stdlib.h>

typedef struct {
    uint64_t key; /* its first eight bytes as a number: most comparisons need no more */
    const char *name;
    size_t size;
    int32_t number;
} RankedName;

static uint64_t read_key(const char *name, size_t size)
{
    uint64_t key = 0;
    for (size_t at = 0; at < 8; at++)
        key = key << 8 | (at < size ? (uint8_t)name[at] : 0);
    return key;
}

/* In the order of their bytes in UTF-8, which is that of their characters. */
static int compare_names(const void *first, const void *second)
{
    const RankedName *a = first, *b = second;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    int order = memcmp(a->name, b->name, a->size < b->size ? a->size : b->size);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

/* Number the terms of a vocabulary, which are separated by spaces. */
static int number_vocabulary(Names *names, const char *text, size_t size, Bytes *known)
{
    known->size = 0;
    for (size_t at = 0; at < size;) {
        const char *space = memchr(text + at, ' ', size - at);
        size_t end = space == NULL ? size : (size_t)(space - text);
        if (end > at) {
            int32_t number = number_name(names, text + at, end - at);
            if (number == NONE || append_number(known, number) < 0)
                return -1;
        }
        at = end + 1;
    }
    return 0;
}

/* Add the number of each term of a file, given by its place in the vocabulary. */
static int add_numbers(Bytes *numbers, const Bytes *known, const char *terms, size_t size)
{
    char *place = size ? extend(numbers, size) : NULL;
    if (place == NULL && size) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t at = 0; at < size; at += sizeof(uint32_t)) {
        uint32_t term;
        memcpy(&term, terms + at, sizeof term);
        if (term >= (uint32_t)COUNT_OF(*known)) {
            PyErr_SetString(PyExc_IndexError, "a term is not in the vocabulary of its file");
            return -1;
        }
        memcpy(place + at, &NUMBERS(*known)[term], sizeof term);
    }
    return 0;
}

static int add_file(Names *names, PyObject *vocabulary, PyObject *terms, Bytes *known, Bytes *numbers)
{
    Py_ssize_t text_size, size;
    char *data;
    const char *text = PyUnicode_AsUTF8AndSize(vocabulary, &text_size);
    if (text == NULL || PyBytes_AsStringAndSize(terms, &data, &size) < 0)
        return -1;
    if (size % (Py_ssize_t)sizeof(uint32_t)) {
        PyErr_SetString(PyExc_ValueError, "terms are numbers of 32 bits");
        return -1;
    }
    if (number_vocabulary(names, text, (size_t)text_size, known) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    return add_numbers(numbers, known, data, (size_t)size);
}

/* List the names in ascending order, with the rank of each number in `ranks`. */
static PyObject *list_names(const Names *names, RankedName *ranked, int32_t *ranks)
{
    for (int32_t number = 0; number < names->count; number++) {
        RankedName *each = &ranked[number];
        each->name = get_name(names, number, &each->size);
        each->key = read_key(each->name, each->size);
        each->number = number;
    }
    qsort(ranked, (size_t)names->count, sizeof *ranked, compare_names);
    PyObject *list = PyList_New(names->count);
    for (int32_t rank = 0; list != NULL && rank < names->count; rank++) {
        PyObject *name = PyUnicode_DecodeUTF8(ranked[rank].name, (Py_ssize_t)ranked[rank].size, NULL);
        if (name == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, rank, name);
        ranks[ranked[rank].number] = rank;
    }
    return list;
}

static PyObject *make_ranks(const Names *names, const Bytes *numbers)
{
    PyObject *list = NULL, *column = NULL, *result = NULL;
    size_t count = (size_t)names->count + 1;
    RankedName *ranked = PyMem_Calloc(count, sizeof *ranked);
    int32_t *ranks = PyMem_Calloc(count, sizeof *ranks);
    if (ranked == NULL || ranks == NULL)
        PyErr_NoMemory();
    else if ((list = list_names(names, ranked, ranks)) != NULL)
        column = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)numbers->size);
    if (column != NULL) {
        char *place = PyBytes_AS_STRING(column);
        for (int32_t at = 0; at < COUNT_OF(*numbers); at++)
            memcpy(place + (size_t)at * sizeof(int32_t), &ranks[NUMBERS(*numbers)[at]], sizeof(int32_t));
        result = PyTuple_Pack(2, list, column);
    }
    PyMem_Free(ranked);
    PyMem_Free(ranks);
    Py_XDECREF(list);
    Py_XDECREF(column);
    return result;
}

PyDoc_STRVAR(rank_terms_doc,
"rank_terms(vocabularies, terms, /)\n--\n\n"
"List the terms of all vocabularies in ascending order. `terms` has a column of `FileTerms` for each of them. Also\n"
"returns the place of each of these terms in the list, as numbers of 32 bits.");

static PyObject *rank_terms(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2 || !PyList_Check(arguments[0]) || !PyList_Check(arguments[1]) ||
        PyList_GET_SIZE(arguments[0]) != PyList_GET_SIZE(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "rank_terms needs two lists of the same length");
        return NULL;
    }
    Names names;
    Bytes known = {0}, numbers = {0};
    PyObject *result = NULL;
    if (open_names(&names) < 0) {
        PyErr_NoMemory();
        goto end;
    }
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(arguments[0]); at++) {
        PyObject *vocabulary = PyList_GET_ITEM(arguments[0], at), *terms = PyList_GET_ITEM(arguments[1], at);
        if (add_file(&names, vocabulary, terms, &known, &numbers) < 0)
            goto end;
    }
    result = make_ranks(&names, &numbers);
end:
    close_names(&names);
    PyMem_Free(known.data);
    PyMem_Free(numbers.data);
    return result;
}
