/* Arrays that grow, and tables that number names. All is little-endian. */

#include <Python.h>
#include <stdint.h>
#include <string.h>

#if PY_BIG_ENDIAN
#error "encoded numbers are little-endian"
#endif

#define NONE (-1)

/* ---- growing arrays */

typedef struct {
    char *data;
    size_t size, room;
} Bytes;

/* Make room for `more` bytes. Returns where they begin; NULL without memory. */
static void *extend(Bytes *bytes, size_t more)
{
    if (bytes->data == NULL || bytes->room - bytes->size < more) {
        size_t room = bytes->room ? bytes->room : 256;
        while (room - bytes->size < more) {
            if (room > SIZE_MAX / 4)
                return NULL;
            room *= 2;
        }
        char *data = PyMem_Realloc(bytes->data, room);
        if (data == NULL)
            return NULL;
        bytes->data = data;
        bytes->room = room;
    }
    void *place = bytes->data + bytes->size;
    bytes->size += more;
    return place;
}

static int append(Bytes *bytes, const void *data, size_t size)
{
    void *place = extend(bytes, size);
    if (place == NULL)
        return -1;
    memcpy(place, data, size);
    return 0;
}

static int append_number(Bytes *bytes, int32_t number)
{
    return append(bytes, &number, sizeof number);
}

#define COUNT_OF(bytes) ((int32_t)((bytes).size / sizeof(int32_t)))
#define NUMBERS(bytes) ((int32_t *)(bytes).data)

/* ---- a table of names, numbered in the order in which they are added */

typedef struct {
    uint32_t hash;
    int32_t number; /* NONE: free */
} Slot;

typedef struct {
    Slot *slots;
    uint32_t mask;
    int32_t count;
    Bytes text;   /* the names, one after the other */
    Bytes starts; /* where each name begins; one more than there are names */
} Names;

static int open_names(Names *names)
{
    memset(names, 0, sizeof *names);
    names->mask = 1023;
    names->slots = PyMem_Malloc((names->mask + 1) * sizeof(Slot));
    if (names->slots == NULL)
        return -1;
    memset(names->slots, 0xff, (names->mask + 1) * sizeof(Slot));
    return append_number(&names->starts, 0);
}

static void close_names(Names *names)
{
    PyMem_Free(names->slots);
    PyMem_Free(names->text.data);
    PyMem_Free(names->starts.data);
}

static const char *get_name(const Names *names, int32_t number, size_t *size)
{
    const int32_t *starts = NUMBERS(names->starts);
    *size = (size_t)(starts[number + 1] - starts[number]);
    return names->text.data + starts[number];
}

static uint64_t mix(uint64_t hash, uint64_t part)
{
    hash = (hash ^ part) * 0xC2B2AE3D27D4EB4Fu;
    return hash ^ hash >> 29;
}

static uint32_t hash_name(const char *name, size_t size)
{
    uint64_t hash = 0x9E3779B97F4A7C15u ^ size, part;
    for (; size >= 8; name += 8, size -= 8) {
        memcpy(&part, name, 8);
        hash = mix(hash, part);
    }
    part = 0;
    memcpy(&part, name, size);
    return (uint32_t)(mix(hash, part) >> 32);
}

static int grow(Names *names)
{
    uint32_t mask = names->mask * 2 + 1;
    Slot *slots = PyMem_Malloc(((size_t)mask + 1) * sizeof(Slot));
    if (slots == NULL)
        return -1;
    memset(slots, 0xff, ((size_t)mask + 1) * sizeof(Slot));
    for (uint32_t at = 0; at <= names->mask; at++) {
        if (names->slots[at].number == NONE)
            continue;
        uint32_t place = names->slots[at].hash & mask;
        while (slots[place].number != NONE)
            place = (place + 1) & mask;
        slots[place] = names->slots[at];
    }
    PyMem_Free(names->slots);
    names->slots = slots;
    names->mask = mask;
    return 0;
}

static int is_name(const Names *names, int32_t number, const char *name, size_t size)
{
    size_t known_size;
    const char *known = get_name(names, number, &known_size);
    return known_size == size && memcmp(known, name, size) == 0;
}

/* The number of a name, which is added if it is new; NONE without memory. */
static int32_t number_name(Names *names, const char *name, size_t size)
{
    uint32_t hash = hash_name(name, size), place = hash & names->mask;
    for (; names->slots[place].number != NONE; place = (place + 1) & names->mask) {
        const Slot *slot = &names->slots[place];
        if (slot->hash == hash && is_name(names, slot->number, name, size))
            return slot->number;
    }
    if (names->text.size + size > INT32_MAX || append(&names->text, name, size) < 0)
        return NONE;
    if (append_number(&names->starts, (int32_t)names->text.size) < 0)
        return NONE;
    names->slots[place] = (Slot){hash, names->count};
    int32_t number = names->count++;
    if ((uint32_t)names->count * 2 > names->mask && grow(names) < 0)
        return NONE;
    return number;
}
