/* The best documents for a query, by BM25, from the blocks of its terms.
 *
 * Documents are scored window by window. A window is left out if the best scores of the blocks in it
 * cannot be among the best so far: its blocks are not unpacked. Scores are summed in the order of the
 * terms in 32 bits, as numpy does.
 */
#include "blocks.h"

#include <math.h>

#define MIN_WINDOW 512
#define MAX_WINDOW 4096 /* documents whose scores are summed at once: they stay in the first cache */
#define MAX_WORDS 250   /* words of a clause that needs all: they are counted in bytes */
#define MAX_CLAUSES 250
#define FEW_TERMS 8     /* terms whose blocks decide where windows end */

enum { MUST, SHOULD, MUST_NOT };

typedef struct {
    const uint8_t *data;     /* the blocks */
    const int64_t *offsets;  /* where each block is, and the end */
    const uint32_t *firsts;  /* the first document of each block */
    const float *best;       /* the best weight in each block, without the factor */
    const uint8_t *streams;  /* positions, or NULL */
    const int64_t *stream_offsets;
    int64_t blocks, length;
    float factor;
    /* The place in the list: a posting of a decoded block, or the start of a block. */
    int64_t block;
    int is_decoded, count, at;
    uint32_t documents[MAX_BLOCK], frequencies[MAX_BLOCK];
    /* The block whose positions are unpacked, -1 for none. */
    int64_t positions_block;
    int positions_count;
    uint32_t positions_documents[MAX_BLOCK], positions_frequencies[MAX_BLOCK];
    int64_t positions_starts[MAX_BLOCK + 1];
    uint32_t *deltas; /* those of the positions of a document follow each other */
    int64_t capacity;
} term_t;

typedef struct {
    int64_t place; /* in the phrase */
    int64_t first, number; /* terms */
} word_t;

/* A part of a query: words, and how they must match. */
typedef struct {
    int64_t role, needs_all, slop; /* a slop below 0 is no phrase */
    int64_t first, number; /* words */
    float boost;
} clause_t;

/* A heap of the documents with the highest scores, and of these the lowest row numbers; worst first. */
typedef struct {
    float *scores;
    int64_t *documents;
    const uint64_t *rows;
    int64_t capacity, size;
} best_t;

/* The scores of documents from `low` up to `end`. Those that are not among `touched` have neither a
 * score nor a state. */
typedef struct {
    int64_t low, end;
    float scores[MAX_WINDOW];
    uint8_t states[MAX_WINDOW];
    uint16_t touched[MAX_WINDOW];
    int number;
} window_t;

typedef struct {
    layout_t layout;
    int64_t num_documents;
    const float *norms;
    term_t *terms;
    word_t *words;
    clause_t *clauses;
    int64_t num_terms, num_words, num_clauses;
    int is_sorted;  /* rows ascend with documents, and results are sorted */
    int has_bounds; /* scores grow with those of terms */
    float limit;    /* a score that so many documents as are wanted have at least */
    best_t best;
    uint32_t *ends, *own; /* positions of a phrase */
    int64_t ends_capacity, own_capacity;
} ranking_t;

INLINE int is_worse(const best_t *best, int64_t i, float score, uint64_t row) {
    return best->scores[i] < score || (best->scores[i] == score && best->rows[best->documents[i]] > row);
}

static void sift_down(best_t *best, int64_t at, int64_t size, float score, int64_t document) {
    const uint64_t row = best->rows[document];
    for (int64_t child; (child = 2 * at + 1) < size; at = child) {
        if (child + 1 < size &&
            is_worse(best, child + 1, best->scores[child], best->rows[best->documents[child]]))
            child++;
        if (!is_worse(best, child, score, row))
            break;
        best->scores[at] = best->scores[child];
        best->documents[at] = best->documents[child];
    }
    best->scores[at] = score;
    best->documents[at] = document;
}

static void offer(best_t *best, float score, int64_t document) {
    if (best->size < best->capacity) {
        best->scores[best->size] = score;
        best->documents[best->size++] = document;
        if (best->size == best->capacity)
            for (int64_t at = best->size / 2 - 1; at >= 0; at--)
                sift_down(best, at, best->size, best->scores[at], best->documents[at]);
    } else if (best->size && is_worse(best, 0, score, best->rows[document])) {
        sift_down(best, 0, best->size, score, document);
    }
}

INLINE int count_of(const ranking_t *r, const term_t *t, int64_t block) {
    return block + 1 < t->blocks ? r->layout.size : (int)(t->length - block * r->layout.size);
}

static const char *decode_current(const ranking_t *r, term_t *t) {
    t->count = count_of(r, t, t->block);
    t->at = 0;
    t->is_decoded = 1;
    const char *error = decode_block(t->data + t->offsets[t->block], t->data + t->offsets[t->block + 1],
                                     t->count, r->layout, t->documents, t->frequencies);
    if (!error && t->documents[t->count - 1] >= r->num_documents)
        error = "a document is not in the partition";
    return error;
}

/* Goes to the first posting from `low` on; blocks before it are not unpacked. */
static const char *seek(const ranking_t *r, term_t *t, int64_t low) {
    while (t->block < t->blocks) {
        if (t->block + 1 < t->blocks && t->firsts[t->block + 1] <= low) {
            t->block++;
            t->is_decoded = 0;
            continue;
        }
        if (!t->is_decoded) {
            if (t->firsts[t->block] >= low)
                return NULL;
            const char *error = decode_current(r, t);
            if (error)
                return error;
        }
        while (t->at < t->count && t->documents[t->at] < low)
            t->at++;
        if (t->at < t->count)
            return NULL;
        t->block++;
        t->is_decoded = 0;
    }
    return NULL;
}

/* The document of the place in the list, which `seek` has gone to. */
INLINE int64_t current(const term_t *t) {
    if (t->block == t->blocks)
        return INT64_MAX;
    return t->is_decoded ? t->documents[t->at] : t->firsts[t->block];
}

static int64_t next_of_word(const ranking_t *r, const word_t *word) {
    int64_t low = INT64_MAX;
    for (int64_t i = 0; i < word->number; i++) {
        const int64_t own = current(&r->terms[word->first + i]);
        low = own < low ? own : low;
    }
    return low;
}

/* The first document that a clause may match, from the places in the lists of its terms on. */
static int64_t next_of_clause(const ranking_t *r, const clause_t *clause) {
    int64_t document = clause->needs_all ? -1 : INT64_MAX;
    for (int64_t i = 0; i < clause->number; i++) {
        const int64_t own = next_of_word(r, &r->words[clause->first + i]);
        if (clause->needs_all ? own > document : own < document)
            document = own;
    }
    return document < 0 ? INT64_MAX : document;
}

/* The first document from `*low` on that may match, INT64_MAX if there is none. */
static const char *next_candidate(const ranking_t *r, int64_t *low) {
    for (;;) {
        int64_t document = -1, any = INT64_MAX;
        for (int64_t i = 0; i < r->num_terms; i++) {
            const char *error = seek(r, &r->terms[i], *low);
            if (error)
                return error;
        }
        for (int64_t i = 0; i < r->num_clauses; i++) {
            if (r->clauses[i].role == MUST_NOT)
                continue;
            const int64_t own = next_of_clause(r, &r->clauses[i]);
            if (r->clauses[i].role == MUST)
                document = own > document ? own : document;
            else
                any = own < any ? own : any;
        }
        if (document < 0)
            document = any;
        if (document <= *low || document == INT64_MAX) {
            *low = document;
            return NULL;
        }
        *low = document;
    }
}

/* Where a window from `low` on ends: with a block, if that is neither too near nor too far. */
static int64_t end_of_window(const ranking_t *r, int64_t low) {
    int64_t end = low + MAX_WINDOW;
    if (r->num_terms <= FEW_TERMS) {
        for (int64_t i = 0; i < r->num_terms; i++) {
            const term_t *t = &r->terms[i];
            if (t->block + 1 < t->blocks && t->firsts[t->block + 1] < end && t->firsts[t->block + 1] > low)
                end = t->firsts[t->block + 1];
        }
        end = end < low + MIN_WINDOW ? low + MIN_WINDOW : end;
    }
    return end < r->num_documents ? end : r->num_documents;
}

/* The score that no document before `end` exceeds. */
static double bound_of(const ranking_t *r, int64_t end) {
    double bound = 0;
    for (int64_t i = 0; i < r->num_clauses; i++) {
        const clause_t *clause = &r->clauses[i];
        if (clause->role == MUST_NOT)
            continue;
        double sum = 0;
        for (int64_t j = 0; j < clause->number; j++) {
            const word_t *word = &r->words[clause->first + j];
            for (int64_t k = 0; k < word->number; k++) {
                const term_t *t = &r->terms[word->first + k];
                float best = 0;
                for (int64_t block = t->block; block < t->blocks && t->firsts[block] < end; block++)
                    best = t->best[block] > best ? t->best[block] : best;
                sum += (double)t->factor * best;
            }
        }
        bound += sum * clause->boost;
    }
    /* Sums in 32 bits are rounded once for each term and clause. */
    return bound * (1 + 1.2e-7 * (double)(r->num_terms + r->num_clauses + 4));
}

/* Adds the weights of a term to the scores of a window. If all words are needed, only of documents that
 * have the words before, which are as many as their state says. */
static const char *add_term(const ranking_t *r, term_t *t, window_t *w, int word, int needs_all) {
    const char *error = seek(r, t, w->low);
    while (!error && t->block < t->blocks) {
        if (!t->is_decoded) {
            if (t->firsts[t->block] >= w->end || (error = decode_current(r, t)))
                break;
        }
        int i = t->at;
        for (; i < t->count && t->documents[i] < w->end; i++) {
            const int64_t document = t->documents[i], at = document - w->low;
            if (at < 0)
                return "documents do not ascend";
            const int state = w->states[at];
            if (needs_all && state != word && state != word + 1)
                continue;
            if (!state)
                w->touched[w->number++] = (uint16_t)at;
            const float times = (float)t->frequencies[i];
            w->scores[at] += t->factor * (times / (times + r->norms[document]));
            w->states[at] = (uint8_t)(word + 1);
        }
        t->at = i;
        if (i < t->count)
            break;
        t->block++;
        t->is_decoded = 0;
    }
    return error;
}

/* Reads the positions of a block of a term. */
static const char *decode_positions(const ranking_t *r, term_t *t, int64_t block) {
    t->positions_block = -1;
    const int count = count_of(r, t, block);
    const char *error = NULL;
    if (t->is_decoded && t->block == block) {
        memcpy(t->positions_documents, t->documents, sizeof t->documents);
        memcpy(t->positions_frequencies, t->frequencies, sizeof t->frequencies);
    } else {
        error = decode_block(t->data + t->offsets[block], t->data + t->offsets[block + 1], count, r->layout,
                             t->positions_documents, t->positions_frequencies);
    }
    if (error)
        return error;
    t->positions_starts[0] = 0;
    for (int i = 0; i < count; i++)
        t->positions_starts[i + 1] = t->positions_starts[i] + t->positions_frequencies[i];
    const int64_t total = t->positions_starts[count];
    const uint8_t *at = t->streams + t->stream_offsets[block], *end = t->streams + t->stream_offsets[block + 1];
    if (total / GROUP > end - at || total % GROUP > end - at)
        return "a stream of positions ends too early";
    if (total > t->capacity) {
        uint32_t *grown = realloc(t->deltas, 4 * (size_t)total);
        if (!grown)
            return NO_MEMORY;
        t->deltas = grown;
        t->capacity = total;
    }
    if ((error = decode_stream(at, end, total, t->deltas)))
        return error;
    t->positions_block = block;
    t->positions_count = count;
    return NULL;
}

static int compare_positions(const void *one, const void *other) {
    const uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    return (a > b) - (a < b);
}

/* Appends the positions of a term in a document to `own`, which has `*count`. */
static const char *append_positions(ranking_t *r, term_t *t, int64_t document, int64_t *count) {
    if (t->positions_block < 0 || t->positions_documents[t->positions_count - 1] < document ||
        t->positions_documents[0] > document) {
        int64_t low = 0, high = t->blocks; /* the last block that does not begin after it */
        while (high - low > 1) {
            const int64_t middle = (low + high) / 2;
            if (t->firsts[middle] <= document)
                low = middle;
            else
                high = middle;
        }
        if (t->blocks == 0 || t->firsts[low] > document)
            return NULL;
        const char *error = decode_positions(r, t, low);
        if (error)
            return error;
    }
    int low = 0, high = t->positions_count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (t->positions_documents[middle] < document)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == t->positions_count || t->positions_documents[low] != document)
        return NULL;
    const int64_t number = t->positions_frequencies[low];
    if (*count + number > r->own_capacity) {
        const int64_t capacity = 2 * (*count + number);
        uint32_t *grown = realloc(r->own, 4 * (size_t)capacity);
        if (!grown)
            return NO_MEMORY;
        r->own = grown;
        r->own_capacity = capacity;
    }
    const uint32_t *deltas = t->deltas + t->positions_starts[low];
    uint64_t position = 0;
    for (int64_t i = 0; i < number; i++) {
        position += deltas[i];
        if (position > UINT32_MAX)
            return "a position is too large";
        r->own[(*count)++] = (uint32_t)position;
    }
    return NULL;
}

/* Whether a document has the words of a phrase in their order. */
static const char *has_phrase(ranking_t *r, const clause_t *clause, int64_t document, int *result) {
    int64_t num_ends = 0;
    *result = 0;
    for (int64_t i = 0; i < clause->number; i++) {
        const word_t *word = &r->words[clause->first + i];
        int64_t count = 0;
        for (int64_t j = 0; j < word->number; j++) {
            const char *error = append_positions(r, &r->terms[word->first + j], document, &count);
            if (error)
                return error;
        }
        if (word->number > 1)
            qsort(r->own, (size_t)count, 4, compare_positions);
        if (i > 0) {
            /* The phrase goes on where the word before is `distance`, or up to `slop` more, before. */
            const int64_t distance = word->place - r->words[clause->first + i - 1].place;
            int64_t left = 0, at = 0;
            for (int64_t j = 0; j < count; j++) {
                const int64_t high = (int64_t)r->own[j] - distance;
                while (at < num_ends && r->ends[at] < high - clause->slop)
                    at++;
                if (at < num_ends && r->ends[at] <= high)
                    r->own[left++] = r->own[j];
            }
            count = left;
        }
        uint32_t *ends = r->ends;
        const int64_t capacity = r->ends_capacity;
        r->ends = r->own, r->ends_capacity = r->own_capacity;
        r->own = ends, r->own_capacity = capacity;
        num_ends = count;
        if (!num_ends)
            return NULL;
    }
    *result = 1;
    return NULL;
}

/* The `count`-th highest of some numbers, which are at least as many; `heap` has `count` places. */
static float nth_highest(const float *numbers, int64_t size, int64_t count, float *heap) {
    for (int64_t i = 0; i < size; i++) {
        const float number = numbers[i];
        int64_t at = i;
        if (i < count) {
            for (int64_t parent; at > 0 && heap[parent = (at - 1) / 2] > number; at = parent)
                heap[at] = heap[parent];
        } else {
            if (!(number > heap[0]))
                continue;
            at = 0;
            for (int64_t child; (child = 2 * at + 1) < count; at = child) {
                if (child + 1 < count && heap[child + 1] < heap[child])
                    child++;
                if (heap[child] >= number)
                    break;
                heap[at] = heap[child];
            }
        }
        heap[at] = number;
    }
    return heap[0];
}

/* A score that the wanted number of documents have at least: as many blocks of a term have a document
 * with their best weight. */
static const char *first_limit(ranking_t *r) {
    const int64_t count = r->best.capacity;
    r->limit = -INFINITY;
    if (!r->has_bounds || r->num_clauses != 1 || r->clauses[0].needs_all || !count)
        return NULL;
    float *heap = NULL;
    for (int64_t i = 0; i < r->num_terms; i++) {
        const term_t *t = &r->terms[i];
        if (t->blocks < count)
            continue;
        if (!heap && !(heap = malloc(4 * (size_t)count)))
            return NO_MEMORY;
        const float limit = t->factor * nth_highest(t->best, t->blocks, count, heap) * r->clauses[0].boost;
        r->limit = limit > r->limit ? limit : r->limit;
    }
    free(heap);
    return NULL;
}

static void offer_document(ranking_t *r, float score, int64_t document) {
    if (!(score >= r->limit)) /* nor if it is not a number */
        return;
    offer(&r->best, score, document);
    if (r->best.size == r->best.capacity && r->best.scores[0] > r->limit)
        r->limit = r->best.scores[0];
}

/* The documents of a window that match a clause, with their scores. If it needs all words and is the only
 * clause, they are offered at once. */
static const char *score_clause(ranking_t *r, const clause_t *clause, window_t *w) {
    for (int64_t i = 0; i < clause->number; i++) {
        const word_t *word = &r->words[clause->first + i];
        for (int64_t j = 0; j < word->number; j++) {
            const char *error =
                add_term(r, &r->terms[word->first + j], w, clause->needs_all ? (int)i : 0, (int)clause->needs_all);
            if (error)
                return error;
        }
        if (clause->needs_all && !w->number)
            return NULL;
    }
    if (!clause->needs_all)
        return NULL;
    int left = 0;
    for (int i = 0; i < w->number; i++) {
        const uint16_t at = w->touched[i];
        const float score = w->scores[at] * clause->boost;
        int matches = w->states[at] == clause->number;
        if (r->num_clauses == 1 && !(score >= r->limit))
            matches = 0; /* positions need not be read */
        if (matches && clause->slop >= 0 && clause->number > 1) {
            const char *error = has_phrase(r, clause, w->low + at, &matches);
            if (error)
                return error;
        }
        if (matches && r->num_clauses > 1) {
            w->touched[left++] = at;
            continue;
        }
        if (matches)
            offer_document(r, score, w->low + at);
        w->scores[at] = 0;
        w->states[at] = 0;
    }
    w->number = left;
    return NULL;
}

/* What the clauses so far say of a document, a byte each. */
enum { IS_ANY = 1, IS_EXCLUDED = 2, ONE_MUST = 4 };

/* Adds the documents of a clause to those of the clauses before it, and forgets them. */
static void add_clause(const clause_t *clause, window_t *w, window_t *sums, uint16_t *marks) {
    for (int i = 0; i < w->number; i++) {
        const uint16_t at = w->touched[i];
        if (!sums->states[at]) {
            sums->states[at] = 1;
            sums->touched[sums->number++] = at;
            marks[at] = 0;
        }
        if (clause->role == MUST_NOT) {
            marks[at] |= IS_EXCLUDED;
        } else {
            sums->scores[at] += w->scores[at] * clause->boost;
            marks[at] = (uint16_t)(clause->role == MUST ? marks[at] + ONE_MUST : marks[at] | IS_ANY);
        }
        w->scores[at] = 0;
        w->states[at] = 0;
    }
    w->number = 0;
}

/* Offers the documents that match all clauses, and forgets them. */
static void offer_sums(ranking_t *r, window_t *sums, const uint16_t *marks, int num_must) {
    for (int i = 0; i < sums->number; i++) {
        const uint16_t at = sums->touched[i];
        const int matches = num_must ? (marks[at] & ~IS_ANY) == ONE_MUST * num_must : marks[at] == IS_ANY;
        if (matches)
            offer_document(r, sums->scores[at], sums->low + at);
        sums->scores[at] = 0;
        sums->states[at] = 0;
    }
    sums->number = 0;
}

static void offer_clause(ranking_t *r, const clause_t *clause, window_t *w) {
    for (int i = 0; i < w->number; i++) {
        const uint16_t at = w->touched[i];
        offer_document(r, w->scores[at] * clause->boost, w->low + at);
        w->scores[at] = 0;
        w->states[at] = 0;
    }
    w->number = 0;
}

static const char *rank_windows(ranking_t *r, window_t *w, window_t *sums, uint16_t *marks) {
    int num_must = 0;
    for (int64_t i = 0; i < r->num_clauses; i++)
        num_must += r->clauses[i].role == MUST;
    const char *error = first_limit(r);
    for (int64_t low = 0; !error; low = w->end) {
        if ((error = next_candidate(r, &low)) || low >= r->num_documents)
            break;
        w->low = sums->low = low;
        w->end = sums->end = end_of_window(r, low);
        if (r->has_bounds && r->limit > 0 && bound_of(r, w->end) < r->limit)
            continue;
        for (int64_t i = 0; i < r->num_clauses && !error; i++) {
            error = score_clause(r, &r->clauses[i], w);
            if (error)
                break;
            if (r->num_clauses == 1)
                offer_clause(r, &r->clauses[i], w);
            else
                add_clause(&r->clauses[i], w, sums, marks);
        }
        if (!error)
            offer_sums(r, sums, marks, num_must);
    }
    return error;
}

/* A number that ascends as scores fall, and documents of equal scores rise. */
INLINE uint64_t key_of(float score, int64_t document) {
    uint32_t bits;
    memcpy(&bits, &score, 4);
    bits ^= bits >> 31 ? UINT32_MAX : 1u << 31; /* ascends with the score */
    return (uint64_t)~bits << 32 | (uint64_t)document;
}

/* Sorts the best documents, the best one first; equal ones ascend, as their rows do. */
static const char *sort_best(best_t *best) {
    const int64_t size = best->size;
    uint64_t *keys = malloc((size_t)(2 * size + 1) * sizeof *keys), *others = keys + size;
    if (!keys)
        return NO_MEMORY;
    uint64_t *const allocated = keys;
    for (int64_t i = 0; i < size; i++)
        keys[i] = key_of(best->scores[i], best->documents[i]);
    if (size < 64) {
        for (int64_t i = 1, at; i < size; i++) {
            const uint64_t key = keys[i];
            for (at = i; at > 0 && keys[at - 1] > key; at--)
                keys[at] = keys[at - 1];
            keys[at] = key;
        }
    } else {
        for (int shift = 0; shift < 64; shift += 8) {
            int64_t counts[256] = {0}, start = 0;
            for (int64_t i = 0; i < size; i++)
                counts[keys[i] >> shift & 255]++;
            if (counts[keys[0] >> shift & 255] == size)
                continue;
            for (int i = 0; i < 256; i++) {
                const int64_t count = counts[i];
                counts[i] = start;
                start += count;
            }
            for (int64_t i = 0; i < size; i++)
                others[counts[keys[i] >> shift & 255]++] = keys[i];
            uint64_t *swapped = keys;
            keys = others, others = swapped;
        }
    }
    for (int64_t i = 0; i < size; i++) {
        uint32_t bits = ~(uint32_t)(keys[i] >> 32);
        bits ^= bits >> 31 ? 1u << 31 : UINT32_MAX;
        memcpy(&best->scores[i], &bits, 4);
        best->documents[i] = (int64_t)(keys[i] & UINT32_MAX);
    }
    free(allocated);
    return NULL;
}

static const char *rank(ranking_t *r) {
    struct {
        window_t of_clause, sums;
        uint16_t marks[MAX_WINDOW];
    } *windows = calloc(1, sizeof *windows);
    if (!windows)
        return NO_MEMORY;
    const char *error = rank_windows(r, &windows->of_clause, &windows->sums, windows->marks);
    free(windows);
    return error || !r->is_sorted ? error : sort_best(&r->best);
}

/* Checks all blocks of a list, and tells the first document and the best weight of each. `lengths`: the
 * terms of each document. */
static const char *prepare(const uint8_t *data, const int64_t *offsets, int64_t blocks, int64_t length,
                           layout_t layout, const float *norms, const int64_t *lengths, int64_t num_documents,
                           uint32_t *firsts, float *best) {
    uint32_t documents[MAX_BLOCK], frequencies[MAX_BLOCK];
    int64_t before = -1;
    for (int64_t block = 0; block < blocks; block++) {
        const int count = block + 1 < blocks ? layout.size : (int)(length - block * layout.size);
        const char *error =
            decode_block(data + offsets[block], data + offsets[block + 1], count, layout, documents, frequencies);
        if (error)
            return error;
        if (documents[0] <= before)
            return "documents do not ascend";
        before = documents[count - 1];
        if (before >= num_documents)
            return "a document is not in the partition";
        float highest = 0;
        int is_longer = 1;
        for (int i = 0; i < count; i++) {
            const float times = (float)frequencies[i], weight = times / (times + norms[documents[i]]);
            highest = weight > highest ? weight : highest;
            is_longer &= lengths[documents[i]] >= frequencies[i];
        }
        if (!is_longer)
            return "a document has a term more often than all terms";
        firsts[block] = documents[0];
        best[block] = highest;
    }
    return NULL;
}

/* Whether the blocks of a list with `length` documents are where `offsets` says. */
static int are_blocks(const Py_buffer *data, const Py_buffer *offsets, int64_t blocks) {
    if (!holds(offsets, blocks + 1, 8))
        return 0;
    const int64_t *at = offsets->buf;
    if (at[0] < 0 || at[blocks] > data->len)
        return 0;
    for (int64_t i = 0; i < blocks; i++)
        if (at[i] > at[i + 1])
            return 0;
    return 1;
}

static PyObject *py_prepare_blocks(PyObject *self, PyObject *args) {
    Py_buffer b[6] = {0};
    Py_ssize_t length, size;
    int has_score, has_plain_rest;
    const char *error;
    layout_t layout;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*nnppy*y*w*w*", &b[0], &b[1], &length, &size, &has_score, &has_plain_rest,
                          &b[2], &b[3], &b[4], &b[5]))
        return release(b, 6), NULL;
    if (!layout_of(size, has_score, has_plain_rest, &layout) || length < 0)
        return done(b, 6, MISMATCH, 0);
    const int64_t blocks = length / size + (length % size != 0), documents = b[2].len / 4;
    if (!are_blocks(&b[0], &b[1], blocks) || !holds(&b[2], documents, 4) || !holds(&b[3], documents, 8) ||
        !holds(&b[4], blocks, 4) || !holds(&b[5], blocks, 4))
        return done(b, 6, MISMATCH, 0);
    WITHOUT_GIL(prepare(b[0].buf, b[1].buf, blocks, length, layout, b[2].buf, b[3].buf, documents, b[4].buf,
                        b[5].buf))
    return done(b, 6, error, 0);
}

#define TERM_BUFFERS 6

/* Takes a term, a tuple; 0 with an exception. `buffers` must be released in any case. */
static int take_term(PyObject *tuple, layout_t layout, Py_buffer *b, term_t *t) {
    const int is_tuple = PyTuple_Check(tuple) && PyTuple_Size(tuple) == TERM_BUFFERS + 2;
    for (int i = 0; is_tuple && i < TERM_BUFFERS; i++) {
        PyObject *item = PyTuple_GetItem(tuple, i);
        if (item != Py_None && PyObject_GetBuffer(item, &b[i], PyBUF_SIMPLE) < 0)
            return 0;
    }
    if (is_tuple) {
        t->length = PyLong_AsLongLong(PyTuple_GetItem(tuple, TERM_BUFFERS));
        t->factor = (float)PyFloat_AsDouble(PyTuple_GetItem(tuple, TERM_BUFFERS + 1));
        if (PyErr_Occurred())
            return 0;
    }
    t->blocks = t->length / layout.size + (t->length % layout.size != 0);
    t->positions_block = -1;
    t->data = b[0].buf, t->offsets = b[1].buf, t->firsts = b[2].buf, t->best = b[3].buf;
    t->streams = b[4].buf, t->stream_offsets = b[5].buf;
    if (!is_tuple || t->length < 0 || !are_blocks(&b[0], &b[1], t->blocks) || !holds(&b[2], t->blocks, 4) ||
        !holds(&b[3], t->blocks, 4) || (b[4].obj && !are_blocks(&b[4], &b[5], t->blocks))) {
        PyErr_SetString(PyExc_ValueError, MISMATCH);
        return 0;
    }
    return 1;
}

/* Takes clauses: for each its role, whether it needs all words, slop and number of words, and for
 * each word its place and number of terms; 0 if the numbers do not belong together. */
static int take_clauses(ranking_t *r, const int64_t *shape, int64_t size, const float *boosts) {
    int64_t at = 0, words = 0, terms = 0;
    for (int64_t i = 0; i < r->num_clauses; i++) {
        if (size - at < 4)
            return 0;
        clause_t *clause = &r->clauses[i];
        *clause = (clause_t){shape[at], shape[at + 1], shape[at + 2], words, shape[at + 3], boosts[i]};
        at += 4;
        if (clause->role < MUST || clause->role > MUST_NOT || clause->number < 0 ||
            clause->number > (size - at) / 2 || clause->number > r->num_words - words ||
            (clause->needs_all && clause->number > MAX_WORDS))
            return 0;
        for (int64_t j = 0; j < clause->number; j++, at += 2, words++) {
            word_t *word = &r->words[words];
            *word = (word_t){shape[at], terms, shape[at + 1]};
            if (word->number < 0 || word->number > r->num_terms - terms || word->place < 0 ||
                word->place > UINT32_MAX)
                return 0;
            for (int64_t k = 0; k < word->number; k++, terms++)
                if (clause->slop >= 0 && clause->number > 1 && !r->terms[terms].streams)
                    return 0;
        }
        if (clause->slop > UINT32_MAX)
            return 0;
        if (!(clause->boost > 0 && clause->boost < INFINITY))
            r->has_bounds = 0;
    }
    return at == size && terms == r->num_terms;
}

static PyObject *py_rank(PyObject *self, PyObject *args) {
    Py_buffer b[6] = {0}, *of_terms = NULL;
    PyObject *terms;
    Py_ssize_t size;
    int has_score, has_plain_rest;
    const char *error = NULL;
    ranking_t r = {0};
    (void)self;
    if (!PyArg_ParseTuple(args, "O!npppy*y*y*y*w*w*", &PyList_Type, &terms, &size, &has_score, &has_plain_rest,
                          &r.is_sorted, &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]))
        return release(b, 6), NULL;
    r.num_documents = b[0].len / 4;
    r.num_terms = PyList_Size(terms);
    r.num_words = b[2].len / 16;
    r.num_clauses = b[3].len / 4;
    r.best.capacity = b[4].len / 4;
    r.has_bounds = 1;
    of_terms = calloc((size_t)(TERM_BUFFERS * r.num_terms + 1), sizeof *of_terms);
    r.terms = calloc((size_t)(r.num_terms + 1), sizeof *r.terms);
    r.words = calloc((size_t)(r.num_words + 1), sizeof *r.words);
    r.clauses = calloc((size_t)(r.num_clauses + 1), sizeof *r.clauses);
    if (!of_terms || !r.terms || !r.words || !r.clauses)
        error = NO_MEMORY;
    else if (!layout_of(size, has_score, has_plain_rest, &r.layout) || r.num_clauses > MAX_CLAUSES ||
             !holds(&b[0], r.num_documents, 4) ||
             !holds(&b[1], r.num_documents, 8) || !holds(&b[2], b[2].len / 8, 8) || !holds(&b[3], r.num_clauses, 4) ||
             !holds(&b[4], r.best.capacity, 4) || !holds(&b[5], r.best.capacity, 8))
        error = MISMATCH;
    int is_taken = !error;
    for (int64_t i = 0; is_taken && i < r.num_terms; i++) {
        term_t *t = &r.terms[i];
        is_taken = take_term(PyList_GetItem(terms, i), r.layout, of_terms + TERM_BUFFERS * i, t);
        r.has_bounds &= t->factor >= 0 && t->factor < INFINITY;
    }
    if (is_taken) {
        r.norms = b[0].buf;
        r.best.rows = b[1].buf, r.best.scores = b[4].buf, r.best.documents = b[5].buf;
        if (!take_clauses(&r, b[2].buf, b[2].len / 8, b[3].buf))
            error = MISMATCH;
        else
            WITHOUT_GIL(rank(&r))
    }
    for (int64_t i = 0; r.terms && i < r.num_terms; i++)
        free(r.terms[i].deltas);
    if (of_terms)
        release(of_terms, (int)(TERM_BUFFERS * r.num_terms));
    free(of_terms), free(r.terms), free(r.words), free(r.clauses), free(r.ends), free(r.own);
    if (!is_taken && !error)
        return release(b, 6), NULL; /* with the exception of a term */
    return done(b, 6, error, r.best.size);
}

PyMethodDef ranking_methods[] = {
    {"prepare_blocks", py_prepare_blocks, METH_VARARGS, NULL},
    {"rank", py_rank, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
