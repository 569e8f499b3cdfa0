/* A transducer of keys that ascend, whose numbers are those of their order.
 *
 * `lance_core_text.write.encode_fst` has the same in Python, and explains it; `postings.fst` documents
 * the bytes.
 */
#include "module.h"

#define VERSION 3
#define HEADER 16
#define BUCKETS 10000 /* of known nodes, two each */
#define MAX_UNINDEXED 32
#define NONE 1 /* the address of no node */

typedef struct {
    uint64_t output, target; /* the number that it adds, and the address of its node */
    uint8_t byte;
} arc_t;

/* A node. `last` is the transition to the next node of the key, if `has_last`. */
typedef struct {
    uint64_t final_output, last_output;
    arc_t *arcs;
    int num_arcs, capacity, is_final, has_last;
    uint8_t last;
} node_t;

/* A node that is written, at `address`, which is 0 in an empty cell. */
typedef struct {
    uint64_t address, final_output;
    arc_t *arcs;
    int num_arcs, capacity, is_final;
} known_t;

typedef struct {
    uint8_t *data;
    int64_t size, capacity;
    node_t *open; /* those of the last key, and the root */
    int64_t depth, num_open; /* the last one, and how many there is memory for */
    known_t *known;
    uint64_t last; /* the address of the node that was written last */
    uint8_t numbers[256]; /* those that stand for common bytes, or 0 */
} writer_t;

static int grow(arc_t **arcs, int *capacity, int count) {
    if (count <= *capacity)
        return 1;
    const int larger = count < 4 ? 4 : 2 * count;
    arc_t *grown = realloc(*arcs, (size_t)larger * sizeof **arcs);
    if (!grown)
        return 0;
    *arcs = grown, *capacity = larger;
    return 1;
}

/* Bytes of a number, at least one. */
INLINE int size_of(uint64_t number) {
    int size = 1;
    for (; number > 255; number >>= 8)
        size++;
    return size;
}

static int reserve(writer_t *w, int64_t count) {
    if (w->size + count <= w->capacity)
        return 1;
    const int64_t larger = 2 * (w->size + count);
    uint8_t *grown = realloc(w->data, (size_t)larger);
    if (!grown)
        return 0;
    w->data = grown, w->capacity = larger;
    return 1;
}

INLINE void put(writer_t *w, uint64_t number, int size) {
    for (int i = 0; i < size; i++, number >>= 8)
        w->data[w->size++] = (uint8_t)number;
}

static void write_single(writer_t *w, arc_t arc) {
    uint8_t state = 0xC0;
    if (arc.target != w->last || arc.output) {
        const uint64_t distance = arc.target ? (uint64_t)w->size - arc.target : 0;
        const int of_output = arc.output ? size_of(arc.output) : 0, of_distance = size_of(distance);
        state = 0x80;
        put(w, arc.output, of_output);
        put(w, distance, of_distance);
        put(w, (uint64_t)(of_distance << 4 | of_output), 1);
    }
    if (!w->numbers[arc.byte])
        put(w, arc.byte, 1);
    put(w, state | w->numbers[arc.byte], 1);
}

static void write_any(writer_t *w, const node_t *node) {
    const uint64_t start = (uint64_t)w->size;
    const int count = node->num_arcs;
    uint64_t outputs = node->is_final ? node->final_output : 0, distances = 0;
    for (int i = 0; i < count; i++) {
        const arc_t arc = node->arcs[i];
        const uint64_t distance = arc.target ? start - arc.target : 0;
        outputs = arc.output > outputs ? arc.output : outputs;
        distances = distance > distances ? distance : distances;
    }
    const int of_output = outputs ? size_of(outputs) : 0, of_distance = count ? size_of(distances) : 0;
    if (node->is_final)
        put(w, node->final_output, of_output);
    for (int i = count - 1; i >= 0; i--)
        put(w, node->arcs[i].output, of_output);
    for (int i = count - 1; i >= 0; i--)
        put(w, node->arcs[i].target ? start - node->arcs[i].target : 0, of_distance);
    for (int i = count - 1; i >= 0; i--)
        put(w, node->arcs[i].byte, 1);
    if (count > MAX_UNINDEXED) {
        memset(w->data + w->size, 255, 256);
        for (int i = 0; i < count; i++)
            w->data[w->size + node->arcs[i].byte] = (uint8_t)i;
        w->size += 256;
    }
    put(w, (uint64_t)(of_distance << 4 | of_output), 1);
    if (count > 63 || count == 0)
        put(w, count == 256 ? 1 : (uint64_t)count, 1);
    put(w, (uint64_t)(node->is_final << 6 | (count > 63 ? 0 : count)), 1);
}

INLINE uint64_t hashed(uint64_t hash, uint64_t number) {
    return (hash ^ number) * 1099511628211u;
}

static int equals(const known_t *known, const node_t *node) {
    if (!known->address || known->is_final != node->is_final || known->final_output != node->final_output ||
        known->num_arcs != node->num_arcs)
        return 0;
    for (int i = 0; i < node->num_arcs; i++) {
        const arc_t a = known->arcs[i], b = node->arcs[i];
        if (a.byte != b.byte || a.output != b.output || a.target != b.target)
            return 0;
    }
    return 1;
}

/* Tells the address of a node, which is written unless an equal one is known. */
static const char *compile(writer_t *w, const node_t *node, uint64_t *address) {
    if (node->is_final && !node->num_arcs && !node->final_output)
        return *address = 0, NULL;
    uint64_t hash = hashed(hashed(14695981039346656037u, (uint64_t)node->is_final), node->final_output);
    for (int i = 0; i < node->num_arcs; i++)
        hash = hashed(hashed(hashed(hash, node->arcs[i].byte), node->arcs[i].output), node->arcs[i].target);
    known_t *bucket = w->known + 2 * (hash % BUCKETS);
    if (equals(bucket, node))
        return *address = bucket->address, NULL;
    const known_t second = bucket[1];
    bucket[1] = bucket[0], bucket[0] = second; /* what is used last is the first one */
    if (equals(bucket, node))
        return *address = bucket->address, NULL;
    if (!grow(&bucket->arcs, &bucket->capacity, node->num_arcs) || !reserve(w, 32 + 256 + 24 * 256))
        return NO_MEMORY;
    if (node->num_arcs != 1 || node->is_final)
        write_any(w, node);
    else
        write_single(w, node->arcs[0]);
    *address = w->last = (uint64_t)w->size - 1;
    bucket->address = w->last, bucket->final_output = node->final_output, bucket->is_final = node->is_final;
    bucket->num_arcs = node->num_arcs;
    if (node->num_arcs)
        memcpy(bucket->arcs, node->arcs, (size_t)node->num_arcs * sizeof *node->arcs);
    return NULL;
}

/* Lets the last transition of a node lead to `target`. */
static const char *close_last(node_t *node, uint64_t target) {
    if (!node->has_last)
        return NULL;
    if (!grow(&node->arcs, &node->capacity, node->num_arcs + 1))
        return NO_MEMORY;
    node->arcs[node->num_arcs++] = (arc_t){node->last_output, target, node->last};
    node->has_last = 0;
    return NULL;
}

/* Writes the nodes behind `depth`, which the next key does not have. */
static const char *freeze(writer_t *w, int64_t depth) {
    uint64_t address = NONE;
    const char *error = NULL;
    while (!error && w->depth > depth) {
        node_t *node = &w->open[w->depth--];
        if (!(error = close_last(node, address)))
            error = compile(w, node, &address);
    }
    return error ? error : close_last(&w->open[w->depth], address);
}

/* Adds what the transition to a node has no longer to all that follows. */
static void add_output(node_t *node, uint64_t output) {
    if (node->is_final)
        node->final_output += output;
    for (int i = 0; i < node->num_arcs; i++)
        node->arcs[i].output += output;
    if (node->has_last)
        node->last_output += output;
}

static const char *add_key(writer_t *w, const uint8_t *key, int64_t size, uint64_t output) {
    if (!size) {
        w->open[0].is_final = 1, w->open[0].final_output = output;
        return NULL;
    }
    int64_t depth = 0;
    while (depth < size && w->open[depth].has_last && w->open[depth].last == key[depth]) {
        node_t *node = &w->open[depth++];
        const uint64_t shared = node->last_output < output ? node->last_output : output;
        const uint64_t rest = node->last_output - shared;
        output -= shared, node->last_output = shared;
        if (rest)
            add_output(&w->open[depth], rest);
    }
    const char *error = freeze(w, depth);
    if (error)
        return error;
    if (size >= w->num_open) {
        const int64_t larger = 2 * size + 2;
        node_t *grown = realloc(w->open, (size_t)larger * sizeof *grown);
        if (!grown)
            return NO_MEMORY;
        memset(grown + w->num_open, 0, (size_t)(larger - w->num_open) * sizeof *grown);
        w->open = grown, w->num_open = larger;
    }
    for (; depth < size; depth++, output = 0) {
        node_t *node = &w->open[depth], *next = node + 1;
        node->last = key[depth], node->last_output = output, node->has_last = 1;
        next->final_output = 0, next->num_arcs = next->is_final = next->has_last = 0;
    }
    w->depth = size;
    w->open[size].is_final = 1;
    return NULL;
}

/* The CRC-32C of bytes, rotated and shifted. */
static uint32_t masked_checksum(const uint8_t *data, int64_t size) {
    uint32_t table[256], crc = UINT32_MAX;
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t own = byte;
        for (int bit = 0; bit < 8; bit++)
            own = own >> 1 ^ (own & 1 ? 0x82F63B78u : 0);
        table[byte] = own;
    }
    for (int64_t i = 0; i < size; i++)
        crc = table[(crc ^ data[i]) & 255] ^ crc >> 8;
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

static const char *write_all(writer_t *w, const uint8_t *data, const int64_t *offsets, int64_t count) {
    const char *error = NULL;
    uint64_t root = 0;
    put(w, VERSION, 8);
    put(w, 0, 8);
    for (int64_t i = 0; i < count && !error; i++) {
        const int64_t size = offsets[i + 1] - offsets[i];
        if (i) {
            const int64_t before = offsets[i] - offsets[i - 1], both = before < size ? before : size;
            const int order = memcmp(data + offsets[i - 1], data + offsets[i], (size_t)both);
            if (order > 0 || (order == 0 && before >= size))
                return "keys do not ascend";
        }
        error = add_key(w, data + offsets[i], size, (uint64_t)i);
    }
    if (error || (error = freeze(w, 0)) || (error = compile(w, &w->open[0], &root)))
        return error;
    if (!reserve(w, 20))
        return NO_MEMORY;
    put(w, (uint64_t)count, 8);
    put(w, root, 8);
    put(w, masked_checksum(w->data, w->size), 4);
    return NULL;
}

static PyObject *py_write_transducer(PyObject *self, PyObject *args) {
    Py_buffer b[3] = {0};
    writer_t w = {0};
    PyObject *result = NULL;
    const char *error = NULL;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*", &b[0], &b[1], &b[2]))
        return release(b, 3), NULL;
    const int64_t count = b[1].len / 8 - 1, *offsets = b[1].buf;
    if (count < 0 || !holds(&b[1], count + 1, 8) || offsets[0] < 0 || offsets[count] > b[0].len || b[2].len > 63)
        return done(b, 3, MISMATCH, 0);
    for (int64_t i = 0; i < count; i++)
        if (offsets[i] > offsets[i + 1])
            return done(b, 3, MISMATCH, 0);
    for (int64_t i = 0; i < b[2].len; i++)
        w.numbers[((const uint8_t *)b[2].buf)[i]] = (uint8_t)(i + 1);
    w.last = NONE, w.num_open = 64;
    w.open = calloc((size_t)w.num_open, sizeof *w.open);
    w.known = calloc(2 * BUCKETS, sizeof *w.known);
    if (!w.open || !w.known || !reserve(&w, HEADER))
        error = NO_MEMORY;
    else
        WITHOUT_GIL(write_all(&w, b[0].buf, offsets, count))
    if (!error)
        result = PyBytes_FromStringAndSize((const char *)w.data, w.size);
    for (int64_t i = 0; w.open && i < w.num_open; i++)
        free(w.open[i].arcs);
    for (int64_t i = 0; w.known && i < 2 * BUCKETS; i++)
        free(w.known[i].arcs);
    free(w.open), free(w.known), free(w.data);
    if (error)
        return done(b, 3, error, 0);
    release(b, 3);
    return result;
}

PyMethodDef transducer_methods[] = {
    {"write_transducer", py_write_transducer, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
