/* Scores the chunks that have words of a question: the compiled form of `LexicalIndex.score`, for the same floats.

A block of postings has the layout that `blocks` describes. For each word of a question the postings of all its forms
are read, and counts of the same chunk are added. Only then it is known how rare the word is, and each chunk that has it
gets its share. Nothing is as long as the index but the table of positions, which is cleared entry by entry. */

#include <math.h>

typedef struct {
    int32_t number;      /* of the chunk */
    int32_t group;       /* the latest word that it has */
    uint32_t body, head; /* how often it has this word */
    double text_score, head_score;
} Found;

typedef struct {
    PyObject_HEAD
    Py_ssize_t count;
    double alive_count;
    Py_buffer alive, body_norms, head_norms;
    int32_t *positions; /* of each chunk in `found`, from 1; 0: it is not there */
    Bytes found;        /* a Found for each chunk */
    Bytes touched;      /* the positions of those that have the current word */
} Scorer;

typedef struct {
    const uint8_t *data;
    uint16_t terms;
    uint32_t gaps[3], postings, heads;
    size_t names_at, gaps_at, body_at, heads_at, size;
} Layout;

static uint32_t load16(const uint8_t *at) { return (uint32_t)at[0] | (uint32_t)at[1] << 8; }
static uint32_t load32(const uint8_t *at) { return load16(at) | load16(at + 2) << 16; }

static int damaged(const char *reason)
{
    PyErr_SetString(PyExc_ValueError, reason);
    return -1;
}

static int read_block_layout(Layout *layout, const char *data, Py_ssize_t size)
{
    const uint8_t *bytes = (const uint8_t *)data;
    if (size < 24)
        return damaged("a block of postings has no header");
    layout->data = bytes;
    layout->terms = (uint16_t)load16(bytes);
    for (int at = 0; at < 3; at++)
        layout->gaps[at] = load32(bytes + 4 + 4 * at);
    layout->postings = load32(bytes + 16);
    layout->heads = load32(bytes + 20);
    layout->names_at = 24 + 6 * (size_t)layout->terms;
    layout->gaps_at = layout->names_at + load16(bytes + 2);
    layout->body_at = layout->gaps_at + layout->gaps[0] + 2 * (size_t)layout->gaps[1] + 4 * (size_t)layout->gaps[2];
    layout->heads_at = layout->body_at + layout->postings;
    layout->size = layout->heads_at + layout->heads;
    if (layout->terms < 1 || (uint64_t)layout->gaps[0] + layout->gaps[1] + layout->gaps[2] != layout->postings ||
        layout->size != (size_t)size)
        return damaged("a block of postings does not have the size that it tells");
    return 0;
}

/* Note that a chunk has the current word this often. */
static int touch(Scorer *self, int32_t number, int32_t group, uint32_t body, uint32_t head)
{
    int32_t position = self->positions[number];
    if (!position) {
        Found *added = extend(&self->found, sizeof(Found));
        if (added == NULL)
            return -1;
        *added = (Found){number, NONE, 0, 0, 0.0, 0.0};
        position = self->positions[number] = (int32_t)(self->found.size / sizeof(Found));
    }
    Found *entry = (Found *)self->found.data + position - 1;
    if (entry->group != group) {
        entry->group = group;
        entry->body = entry->head = 0;
        if (append_number(&self->touched, position - 1) < 0)
            return -1;
    }
    entry->body += body;
    entry->head += head;
    return 0;
}

/* Read the postings of one term of a block, whose segment has the chunks from `start` to `end`. */
static int read_term(Scorer *self, const Layout *layout, int at, int32_t group, Py_ssize_t start, Py_ssize_t end)
{
    const uint8_t *starts = layout->data + 24 + 2 * at;
    size_t column = 2 * (size_t)layout->terms;
    uint32_t first = load16(starts), gap_start = load16(starts + column), head_first = load16(starts + 2 * column);
    uint32_t last = layout->postings, head_last = layout->heads;
    if (at + 1 < layout->terms) {
        last = load16(starts + 2);
        head_last = load16(starts + 2 * column + 2);
    }
    size_t wide = layout->gaps[0], widest = wide + 2 * (size_t)layout->gaps[1];
    int type = gap_start < wide ? 0 : gap_start < widest ? 1 : 2;
    size_t gap_end = type == 0 ? wide : type == 1 ? widest : layout->body_at - layout->gaps_at;
    if (first >= last || last > layout->postings || head_last > layout->heads || head_first > head_last ||
        gap_start + ((size_t)(last - first) << type) > gap_end ||
        (head_last - head_first != 0 && head_last - head_first != last - first))
        return damaged("a term of a block is damaged");
    const uint8_t *gaps = layout->data + layout->gaps_at + gap_start, *body = layout->data + layout->body_at + first;
    const uint8_t *head = head_first < head_last ? layout->data + layout->heads_at + head_first : NULL;
    const char *alive = self->alive.buf;
    Py_ssize_t number = start;
    for (uint32_t each = 0; each < last - first; each++) {
        number += type == 0 ? gaps[each] : type == 1 ? load16(gaps + 2 * each) : load32(gaps + 4 * (size_t)each);
        if (number >= end)
            return damaged("a term names a chunk that its segment does not have");
        if (alive[number] && touch(self, (int32_t)number, group, body[each], head ? head[each] : 0) < 0) {
            PyErr_NoMemory();
            return -1;
        }
    }
    return 0;
}

/* Read the postings of a term of a block, or of all that begin with it. Names are between spaces. */
static int read_block(Scorer *self, const Layout *layout, const char *term, size_t size, int is_prefix, int32_t group,
                      Py_ssize_t start, Py_ssize_t end)
{
    const uint8_t *name = layout->data + layout->names_at + 1, *names_end = layout->data + layout->gaps_at;
    for (int at = 0; at < layout->terms && name < names_end; at++) {
        const uint8_t *space = memchr(name, ' ', (size_t)(names_end - name));
        if (space == NULL)
            break;
        size_t length = (size_t)(space - name);
        int is_equal = length >= size && memcmp(name, term, size) == 0;
        if (is_equal && (is_prefix || length == size) && read_term(self, layout, at, group, start, end) < 0)
            return -1;
        name = space + 1;
    }
    return 0;
}

/* Add what the current word is worth to the scores of the chunks that have it. */
static void add_word(Scorer *self, double weight, double saturation)
{
    double found = COUNT_OF(self->touched);
    double rarity = log(1 + (self->alive_count - found + 0.5) / (found + 0.5));
    double factor = weight * rarity * (saturation + 1);
    const double *body_norms = self->body_norms.buf, *head_norms = self->head_norms.buf;
    for (int32_t at = 0; at < COUNT_OF(self->touched); at++) {
        Found *entry = (Found *)self->found.data + NUMBERS(self->touched)[at];
        if (entry->body)
            entry->text_score += entry->body * factor / (entry->body + body_norms[entry->number]);
        if (entry->head)
            entry->head_score += entry->head * factor / (entry->head + head_norms[entry->number]);
    }
}

static int score_group(Scorer *self, PyObject *group, int32_t number, double saturation)
{
    double weight;
    int is_prefix;
    PyObject *blocks;
    self->touched.size = 0;
    if (!PyArg_ParseTuple(group, "dpO!", &weight, &is_prefix, &PyList_Type, &blocks))
        return -1;
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(blocks); at++) {
        Py_ssize_t start, end, term_size, block_size;
        const char *term, *block;
        Layout layout;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(blocks, at), "nny#y#", &start, &end, &term, &term_size, &block, &block_size))
            return -1;
        if (start < 0 || end > self->count)
            return damaged("a segment is outside of the index");
        if (read_block_layout(&layout, block, block_size) < 0 ||
            read_block(self, &layout, term, (size_t)term_size, is_prefix, number, start, end) < 0)
            return -1;
    }
    if (COUNT_OF(self->touched))
        add_word(self, weight, saturation);
    return 0;
}

static int compare_found(const void *first, const void *second)
{
    int32_t left = ((const Found *)first)->number, right = ((const Found *)second)->number;
    return (left > right) - (left < right);
}

/* Write what was found in the order of the chunks. */
static PyObject *list_found(Scorer *self)
{
    Py_ssize_t count = (Py_ssize_t)(self->found.size / sizeof(Found)), next = 0;
    PyObject *numbers = PyBytes_FromStringAndSize(NULL, count * 8), *texts = PyBytes_FromStringAndSize(NULL, count * 8);
    PyObject *heads = PyBytes_FromStringAndSize(NULL, count * 8), *result = NULL;
    if (numbers != NULL && texts != NULL && heads != NULL) {
        int64_t *number = (int64_t *)PyBytes_AS_STRING(numbers);
        double *text = (double *)PyBytes_AS_STRING(texts), *head = (double *)PyBytes_AS_STRING(heads);
        Found *found = (Found *)self->found.data;
        if (count && count * 16 < self->count)
            qsort(found, (size_t)count, sizeof(Found), compare_found);
        else
            next = -1; /* so many that the table of positions is read instead */
        for (Py_ssize_t at = 0, each = 0; at < count; each++) {
            const Found *entry = &found[at];
            if (next < 0) {
                if (!self->positions[each])
                    continue;
                entry = &found[self->positions[each] - 1];
            }
            number[at] = entry->number;
            text[at] = entry->text_score;
            head[at++] = entry->head_score;
        }
        result = PyTuple_Pack(3, numbers, texts, heads);
    }
    Py_XDECREF(numbers);
    Py_XDECREF(texts);
    Py_XDECREF(heads);
    return result;
}

PyDoc_STRVAR(find_doc,
"find(groups, saturation, /)\n--\n\n"
"Score the chunks that have any word: each word is a weight, whether its terms are prefixes, and a list of the first\n"
"and last chunk of a segment, a term and a block. Returns the numbers of the chunks, the scores of their texts and those\n"
"of their headings, and for each word the number of chunks that have it. Raises ValueError for a damaged block.");

static PyObject *find_locked(Scorer *self, PyObject *groups, double saturation)
{
    PyObject *counts = PyList_New(0), *columns = NULL, *result = NULL;
    int status = counts == NULL ? -1 : 0;
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(groups) && status == 0; at++) {
        status = score_group(self, PyList_GET_ITEM(groups, at), (int32_t)at, saturation);
        PyObject *count = status ? NULL : PyLong_FromLong(COUNT_OF(self->touched));
        if (count == NULL || PyList_Append(counts, count) < 0)
            status = -1;
        Py_XDECREF(count);
    }
    columns = status ? NULL : list_found(self);
    if (columns != NULL)
        result = PyTuple_Pack(2, columns, counts);
    for (size_t at = 0; at < self->found.size / sizeof(Found); at++)
        self->positions[((Found *)self->found.data)[at].number] = 0;
    self->found.size = 0;
    Py_XDECREF(columns);
    Py_XDECREF(counts);
    return result;
}

static PyObject *find(Scorer *self, PyObject *arguments)
{
    PyObject *groups, *result;
    double saturation;
    if (!PyArg_ParseTuple(arguments, "O!d", &PyList_Type, &groups, &saturation))
        return NULL;
    Py_BEGIN_CRITICAL_SECTION(self);
    result = find_locked(self, groups, saturation);
    Py_END_CRITICAL_SECTION();
    return result;
}

static int scorer_init(Scorer *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"alive", "body_norms", "head_norms", "alive_count", NULL};
    if (self->alive.obj != NULL) {
        PyErr_SetString(PyExc_TypeError, "a scorer is initialized once");
        return -1;
    }
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "y*y*y*d", names, &self->alive, &self->body_norms,
                                     &self->head_norms, &self->alive_count))
        return -1;
    self->count = self->alive.len;
    if (self->count > INT32_MAX - 1 || self->body_norms.len != 8 * self->count || self->head_norms.len != 8 * self->count) {
        PyErr_SetString(PyExc_ValueError, "every chunk needs two norms");
        return -1;
    }
    self->positions = PyMem_Calloc((size_t)self->count + 1, sizeof(int32_t));
    if (self->positions == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

static void scorer_dealloc(Scorer *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyBuffer_Release(&self->alive);
    PyBuffer_Release(&self->body_norms);
    PyBuffer_Release(&self->head_norms);
    PyMem_Free(self->positions);
    PyMem_Free(self->found.data);
    PyMem_Free(self->touched.data);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef scorer_methods[] = {
    {"find", (PyCFunction)find, METH_VARARGS, find_doc},
    {NULL},
};

static PyType_Slot scorer_slots[] = {
    {Py_tp_doc, "Scores chunks by their postings: which are alive, and the norms of their texts and headings."},
    {Py_tp_init, scorer_init},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_dealloc, scorer_dealloc},
    {Py_tp_methods, scorer_methods},
    {0, NULL},
};

static PyType_Spec scorer_spec = {
    .name = "inorder.index.lexical._counter.PostingScorer",
    .basicsize = sizeof(Scorer),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = scorer_slots,
};
