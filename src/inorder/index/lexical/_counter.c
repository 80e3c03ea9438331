/* Counts the terms of the chunks of a file: the compiled form of `plain_counter`.

A word in ASCII is looked up in a hash table. A new one is split into the parts of a name, each part is stemmed once, by
a function in Python, and the numbers of its terms are kept. Counting is then a matter of numbers: for each term, the
posting that it has in the current chunk. Words in other scripts are analyzed in Python and come as lists of terms.

The Python modules are the reference. A test compares both on the same texts.

Shared state, for builds of Python without the GIL. The module has two tables of characters: they are filled before the
type exists, each entry by one write of a value that never changes, also when another interpreter imports the module.
Everything else belongs to one counter. Its methods hold the lock of the counter; where a function in Python lets it go,
`is_damaged` refuses a second call, as it does with the GIL. What callers pass is copied to tuples first: another thread
may change a list. So the module does not ask for the GIL. `terms` gives each thread counters of its own. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "_names.h"

#if PY_VERSION_HEX < 0x030D0000 /* the GIL is the lock */
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

#include "_scorer.h"

#define TERM_BYTES_MAX 64
#define COUNT_MAX 255
#define LENGTH_MAX 65535

/* ---- the counter */

typedef struct {
    PyObject_HEAD
    PyObject *stem_many; /* from a list of parts of names to the terms of each */
    Names words, parts, terms;
    Bytes word_lists;       /* a TermList for each word */
    Bytes listed_terms;     /* the terms of the words that have several */
    Bytes part_terms;       /* the term of each part */
    Bytes term_marks;       /* a TermMark for each term */
    int32_t file, chunk;    /* numbers of the latest ones */
    Bytes found;            /* the words of the current file, or the terms: see `Field` */
    int is_damaged;         /* a call has not ended: some words may be without their terms */
} Counter;

typedef struct {
    int32_t count;
    int32_t first; /* the term if there is one, else the place of the first in `listed_terms` */
} TermList;

typedef struct {
    int32_t file, rank;     /* the latest file that has the term, and its number in the vocabulary of that file */
    int32_t chunk, posting; /* the latest chunk that has the term, and its posting */
} TermMark;

typedef struct {
    int has_terms; /* the numbers are those of terms, and not of words */
    int32_t end;   /* where its numbers end in `found` */
} Field;

enum { OTHER, LOWER, UPPER, DIGIT, UNDERSCORE };
static uint8_t kinds[256];
static char lower_case[256];

static void fill_tables(void)
{
    for (int code = 0; code < 256; code++)
        lower_case[code] = (char)(code >= 'A' && code <= 'Z' ? code - 'A' + 'a' : code);
    for (int code = 'a'; code <= 'z'; code++) {
        kinds[code] = LOWER;
        kinds[code - 'a' + 'A'] = UPPER;
    }
    for (int code = '0'; code <= '9'; code++)
        kinds[code] = DIGIT;
    kinds['_'] = UNDERSCORE;
}

#define KIND(word, at) (kinds[(uint8_t)(word)[at]])

/* Find the next part of a name from `at` on: `HTTPServer2` has the parts `HTTP`, `Server` and `2`. Returns where it
begins, with its end in `end`; `size` if there is none. */
static size_t find_part(const char *word, size_t size, size_t at, size_t *end)
{
    while (at < size && KIND(word, at) == UNDERSCORE)
        at++;
    *end = at;
    if (at == size)
        return size;
    int kind = KIND(word, at);
    size_t last = at;
    while (last < size && KIND(word, last) == kind)
        last++;
    if (kind == UPPER && last < size && KIND(word, last) == LOWER) {
        if (last - at > 1) {
            *end = last - 1; /* its last letter begins the next part */
            return at;
        }
        while (last < size && KIND(word, last) == LOWER)
            last++;
    }
    *end = last;
    return at;
}

static void copy_lower(char *target, const char *word, size_t size)
{
    for (size_t at = 0; at < size; at++)
        target[at] = lower_case[(uint8_t)word[at]];
}

/* Whether a word is data, such as a number or a key in base 64, which has no parts. */
static int is_data(const char *word, size_t size)
{
    return size > TERM_BYTES_MAX || KIND(word, 0) == DIGIT;
}

static int32_t number_part(Counter *self, const char *word, size_t size)
{
    char part[TERM_BYTES_MAX];
    copy_lower(part, word, size);
    return number_name(&self->parts, part, size);
}

static int add_parts(Counter *self, int32_t number)
{
    size_t size, end = 0;
    const char *word = get_name(&self->words, number, &size);
    if (is_data(word, size))
        return 0;
    for (size_t at = find_part(word, size, 0, &end); at < size; at = find_part(word, size, end, &end)) {
        if (number_part(self, word + at, end - at) == NONE)
            return -1;
    }
    return 0;
}

static int32_t number_term(Counter *self, const char *term, size_t size)
{
    int32_t number = number_name(&self->terms, term, size);
    if (number == NONE || (size_t)number < self->term_marks.size / sizeof(TermMark))
        return number;
    TermMark mark = {NONE, NONE, NONE, NONE};
    return append(&self->term_marks, &mark, sizeof mark) < 0 ? NONE : number;
}

/* Append the number of a term that was derived in Python. */
static int add_text(Counter *self, PyObject *text, Bytes *numbers)
{
    Py_ssize_t size;
    const char *term = PyUnicode_AsUTF8AndSize(text, &size);
    if (term == NULL)
        return -1;
    int32_t number = number_term(self, term, (size_t)size);
    if (number == NONE || append_number(numbers, number) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

/* Add the term of a word as a whole. Without letters and digits it has none. */
static int add_whole(Counter *self, const char *word, size_t size)
{
    char whole[TERM_BYTES_MAX];
    while (size && word[0] == '_')
        word++, size--;
    while (size && word[size - 1] == '_')
        size--;
    if (size > TERM_BYTES_MAX)
        size = TERM_BYTES_MAX;
    if (!size)
        return 0;
    copy_lower(whole, word, size);
    int32_t term = number_term(self, whole, size);
    return term == NONE ? -1 : append_number(&self->listed_terms, term);
}

/* Add the terms of the parts of a word, and of the word itself if it has several. */
static int list_terms(Counter *self, const char *word, size_t size)
{
    size_t end = 0;
    int count = 0;
    if (is_data(word, size))
        return add_whole(self, word, size);
    for (size_t at = find_part(word, size, 0, &end); at < size; at = find_part(word, size, end, &end)) {
        int32_t part = number_part(self, word + at, end - at);
        if (part == NONE || append_number(&self->listed_terms, NUMBERS(self->part_terms)[part]) < 0)
            return -1;
        count++;
    }
    return count > 1 ? add_whole(self, word, size) : 0;
}

/* Add the terms of a new word, whose parts have theirs. */
static int add_terms(Counter *self, int32_t number)
{
    size_t size, before = self->listed_terms.size;
    const char *word = get_name(&self->words, number, &size);
    if (list_terms(self, word, size) < 0)
        return -1;
    int32_t first = (int32_t)(before / sizeof(int32_t));
    TermList list = {COUNT_OF(self->listed_terms) - first, first};
    if (list.count == 1) {
        list.first = NUMBERS(self->listed_terms)[first];
        self->listed_terms.size = before;
    }
    return append(&self->word_lists, &list, sizeof list);
}

/* Stem all parts that have no term yet. */
static int stem_parts(Counter *self)
{
    int32_t first = COUNT_OF(self->part_terms), count = self->parts.count - first;
    PyObject *parts = PyList_New(count), *stems = NULL, *sequence = NULL;
    int status = -1;
    if (parts == NULL)
        return -1;
    for (int32_t at = 0; at < count; at++) {
        size_t size;
        const char *part = get_name(&self->parts, first + at, &size);
        PyObject *text = PyUnicode_DecodeASCII(part, (Py_ssize_t)size, NULL);
        if (text == NULL)
            goto end;
        PyList_SET_ITEM(parts, at, text);
    }
    stems = PyObject_CallOneArg(self->stem_many, parts);
    if (stems == NULL || (sequence = PySequence_Tuple(stems)) == NULL)
        goto end;
    if (PyTuple_GET_SIZE(sequence) != count) {
        PyErr_SetString(PyExc_ValueError, "there must be one stem for each part");
        goto end;
    }
    for (int32_t at = 0; at < count; at++) {
        if (add_text(self, PyTuple_GET_ITEM(sequence, at), &self->part_terms) < 0)
            goto end;
    }
    status = 0;
end:
    Py_XDECREF(parts);
    Py_XDECREF(stems);
    Py_XDECREF(sequence);
    return status;
}

/* Number the words of a text in ASCII. */
static int number_words(Counter *self, const char *text, size_t size)
{
    for (size_t at = 0;;) {
        while (at < size && KIND(text, at) == OTHER)
            at++;
        if (at == size)
            return 0;
        size_t start = at;
        while (at < size && KIND(text, at) != OTHER)
            at++;
        int32_t number = number_name(&self->words, text + start, at - start);
        if (number == NONE || append_number(&self->found, number) < 0)
            return -1;
    }
}

/* Number terms that were derived in Python. */
static int number_terms(Counter *self, PyObject *terms)
{
    PyObject *sequence = PySequence_Tuple(terms);
    if (sequence == NULL)
        return -1;
    int status = 0;
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(sequence) && status == 0; at++)
        status = add_text(self, PyTuple_GET_ITEM(sequence, at), &self->found);
    Py_DECREF(sequence);
    return status;
}

/* Number the words of all fields, and add the new ones. Positions are numbers of 32 bits: there are fewer words and
terms than bytes. */
static int read_fields(Counter *self, PyObject *fields, Field *read)
{
    size_t total = 0;
    self->found.size = 0;
    for (Py_ssize_t at = 0; at < PyTuple_GET_SIZE(fields); at++) {
        PyObject *field = PyTuple_GET_ITEM(fields, at);
        int is_text = PyUnicode_Check(field) && PyUnicode_IS_ASCII(field);
        Py_ssize_t length = PyObject_Length(field);
        if (length < 0)
            return -1;
        if ((total += (size_t)length) > INT32_MAX / 2) {
            PyErr_SetString(PyExc_OverflowError, "a text is too large to be indexed: 1 GB is the limit");
            return -1;
        }
        if (!is_text) {
            if (number_terms(self, field) < 0)
                return -1;
        } else if (number_words(self, (const char *)PyUnicode_1BYTE_DATA(field), PyUnicode_GET_LENGTH(field)) < 0) {
            PyErr_NoMemory();
            return -1;
        }
        read[at] = (Field){!is_text, COUNT_OF(self->found)};
    }
    int32_t first = (int32_t)(self->word_lists.size / sizeof(TermList));
    for (int32_t word = first; word < self->words.count; word++) {
        if (add_parts(self, word) < 0) {
            PyErr_NoMemory();
            return -1;
        }
    }
    if (COUNT_OF(self->part_terms) < self->parts.count && stem_parts(self) < 0)
        return -1;
    for (int32_t word = first; word < self->words.count; word++) {
        if (add_terms(self, word) < 0) {
            PyErr_NoMemory();
            return -1;
        }
    }
    return 0;
}

/* ---- counting */

typedef struct {
    Bytes vocabulary; /* the terms of the file, separated by spaces */
    Bytes sizes, terms, body, head, body_lengths, head_lengths;
    int32_t rank;
} Columns;

static void close_columns(Columns *columns)
{
    PyMem_Free(columns->vocabulary.data);
    PyMem_Free(columns->sizes.data);
    PyMem_Free(columns->terms.data);
    PyMem_Free(columns->body.data);
    PyMem_Free(columns->head.data);
    PyMem_Free(columns->body_lengths.data);
    PyMem_Free(columns->head_lengths.data);
}

static int add_to_vocabulary(Counter *self, int32_t term, Columns *columns)
{
    size_t size;
    const char *name = get_name(&self->terms, term, &size);
    return (columns->rank && append(&columns->vocabulary, " ", 1) < 0) ? -1 : append(&columns->vocabulary, name, size);
}

static int count_term(Counter *self, int32_t term, int is_head, Columns *columns)
{
    TermMark *mark = (TermMark *)self->term_marks.data + term;
    if (mark->chunk != self->chunk) {
        if (mark->file != self->file) {
            if (add_to_vocabulary(self, term, columns) < 0)
                return -1;
            mark->file = self->file;
            mark->rank = columns->rank++;
        }
        mark->chunk = self->chunk;
        mark->posting = (int32_t)columns->body.size;
        if (append_number(&columns->terms, mark->rank) < 0 || append(&columns->body, "\0", 1) < 0 ||
            append(&columns->head, "\0", 1) < 0)
            return -1;
    }
    uint8_t *count = (uint8_t *)(is_head ? columns->head.data : columns->body.data) + mark->posting;
    *count += *count < COUNT_MAX;
    return 0;
}

static int append_length(Bytes *lengths, int32_t length)
{
    uint16_t limited = (uint16_t)(length < LENGTH_MAX ? length : LENGTH_MAX);
    return append(lengths, &limited, sizeof limited);
}

/* Count the terms of a field, from a position in `found` on. */
static int count_field(Counter *self, const Field *field, int32_t start, int is_head, Columns *columns)
{
    const TermList *lists = (const TermList *)self->word_lists.data;
    int32_t length = 0;
    for (int32_t at = start; at < field->end; at++) {
        int32_t number = NUMBERS(self->found)[at];
        TermList list = field->has_terms ? (TermList){1, number} : lists[number];
        const int32_t *terms = list.count == 1 ? &list.first : NUMBERS(self->listed_terms) + list.first;
        length += list.count;
        for (int32_t each = 0; each < list.count; each++) {
            if (count_term(self, terms[each], is_head, columns) < 0)
                return -1;
        }
    }
    return append_length(is_head ? &columns->head_lengths : &columns->body_lengths, length);
}

static int count_fields(Counter *self, const Field *fields, Py_ssize_t count, Columns *columns)
{
    int32_t start = 0;
    self->file++;
    for (Py_ssize_t at = 0; at < count; at += 2) {
        size_t before = columns->body.size;
        self->chunk++;
        if (count_field(self, &fields[at], start, 0, columns) < 0 ||
            count_field(self, &fields[at + 1], fields[at].end, 1, columns) < 0 ||
            append_number(&columns->sizes, (int32_t)(columns->body.size - before)) < 0)
            return -1;
        start = fields[at + 1].end;
    }
    return 0;
}

PyDoc_STRVAR(count_doc,
"count(fields, /)\n--\n\n"
"Count the terms of chunks, given by turns as the text of a chunk and its headings: each is a text in ASCII, or a list\n"
"of terms. Returns the columns of `FileTerms`.");

/* Count with the lock of the counter. `fields` is a tuple. */
static PyObject *count_locked(Counter *self, PyObject *fields)
{
    PyObject *result = NULL;
    Py_ssize_t size = PyTuple_GET_SIZE(fields);
    Columns columns = {0};
    Field *read = PyMem_Calloc((size_t)size + 1, sizeof(Field));
    if (size % 2 || self->is_damaged) {
        PyErr_SetString(PyExc_ValueError, size % 2 ? "every text needs headings" : "an earlier call has not ended");
        goto end;
    }
    self->is_damaged = 1;
    if (read == NULL) {
        PyErr_NoMemory();
        goto end;
    }
    if (read_fields(self, fields, read) < 0)
        goto end;
    if (count_fields(self, read, size, &columns) < 0) {
        PyErr_NoMemory();
        goto end;
    }
    self->is_damaged = 0;
    result = Py_BuildValue(
        "s#y#y#y#y#y#y#",
        columns.vocabulary.size ? columns.vocabulary.data : "", (Py_ssize_t)columns.vocabulary.size,
        columns.sizes.size ? columns.sizes.data : "", (Py_ssize_t)columns.sizes.size,
        columns.terms.size ? columns.terms.data : "", (Py_ssize_t)columns.terms.size,
        columns.body.size ? columns.body.data : "", (Py_ssize_t)columns.body.size,
        columns.head.size ? columns.head.data : "", (Py_ssize_t)columns.head.size,
        columns.body_lengths.size ? columns.body_lengths.data : "", (Py_ssize_t)columns.body_lengths.size,
        columns.head_lengths.size ? columns.head_lengths.data : "", (Py_ssize_t)columns.head_lengths.size);
end:
    PyMem_Free(read);
    close_columns(&columns);
    return result;
}

static PyObject *count(Counter *self, PyObject *argument)
{
    PyObject *fields = PySequence_Tuple(argument), *result;
    if (fields == NULL)
        return NULL;
    Py_BEGIN_CRITICAL_SECTION(self);
    result = count_locked(self, fields);
    Py_END_CRITICAL_SECTION();
    Py_DECREF(fields);
    return result;
}

/* ---- the type */

static int open_counter(Counter *self, PyObject *stem_many)
{
    if (self->stem_many != NULL) {
        PyErr_SetString(PyExc_TypeError, "a counter is initialized once");
        return -1;
    }
    if (open_names(&self->words) < 0 || open_names(&self->parts) < 0 || open_names(&self->terms) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    self->stem_many = Py_NewRef(stem_many);
    return 0;
}

static int counter_init(Counter *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"stem_many", NULL};
    PyObject *stem_many;
    int status;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O", names, &stem_many))
        return -1;
    Py_BEGIN_CRITICAL_SECTION(self);
    status = open_counter(self, stem_many);
    Py_END_CRITICAL_SECTION();
    return status;
}

static void counter_dealloc(Counter *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(self->stem_many);
    close_names(&self->words);
    close_names(&self->parts);
    close_names(&self->terms);
    PyMem_Free(self->word_lists.data);
    PyMem_Free(self->listed_terms.data);
    PyMem_Free(self->part_terms.data);
    PyMem_Free(self->term_marks.data);
    PyMem_Free(self->found.data);
    type->tp_free(self);
    Py_DECREF(type);
}

static int counter_traverse(Counter *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->stem_many);
    return 0;
}

static Py_ssize_t counter_length(Counter *self)
{
    Py_ssize_t length;
    Py_BEGIN_CRITICAL_SECTION(self);
    length = self->words.count;
    Py_END_CRITICAL_SECTION();
    return length;
}

static PyMethodDef counter_methods[] = {
    {"count", (PyCFunction)count, METH_O, count_doc},
    {NULL},
};

static PyType_Slot counter_slots[] = {
    {Py_tp_doc, "Counts terms. Its length is the number of words that it knows."},
    {Py_tp_init, counter_init},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_dealloc, counter_dealloc},
    {Py_tp_traverse, counter_traverse},
    {Py_tp_methods, counter_methods},
    {Py_sq_length, counter_length},
    {0, NULL},
};

static PyType_Spec counter_spec = {
    .name = "inorder.index.lexical._counter.TermCounter",
    .basicsize = sizeof(Counter),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = counter_slots,
};

static int add_type(PyObject *module, const char *name, PyType_Spec *spec)
{
    PyObject *type = PyType_FromSpec(spec);
    if (type == NULL)
        return -1;
    int status = PyModule_AddObjectRef(module, name, type);
    Py_DECREF(type);
    return status;
}

static int execute(PyObject *module)
{
    fill_tables();
    return add_type(module, "TermCounter", &counter_spec) || add_type(module, "PostingScorer", &scorer_spec) ? -1 : 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, execute},
#ifdef Py_mod_gil /* from Python 3.13 on */
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_counter",
    .m_doc = "Counts the terms of texts, and scores the chunks that have them.",
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__counter(void)
{
    return PyModuleDef_Init(&module);
}
