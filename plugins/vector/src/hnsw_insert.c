/* Building graphs: nodes are inserted among those that are nearest to them. */
#include "hnsw_graph.h"

INLINE candidate_t nearest_on(const graph_t *g, int space, uint32_t own, candidate_t best, int level) {
    for (;;) {
        uint16_t *count;
        const uint32_t *links = links_of(g, node_of(best, salt_of(own)), level, &count);
        candidate_t nearest = best;
        for (int i = 0; i < *count; i++) {
            const candidate_t other = measured(g, space, own, links[i]);
            nearest = other < nearest ? other : nearest;
        }
        if (nearest == best)
            return best;
        best = nearest;
    }
}

/* Fills the beam with the nodes near a node on a level, without itself. */
INLINE void follow(graph_t *g, int space, uint32_t own, candidate_t from, int level) {
    const uint32_t salt = salt_of(own);
    beam_t *beam = &g->beam;
    next_epoch(g);
    g->visited[own] = g->epoch;
    beam->size = 0;
    insert(beam, from);
    g->visited[node_of(from, salt)] = g->epoch;
    for (int64_t next = 0; next < beam->size;) {
        if (beam->near[next] & 1) {
            next++;
            continue;
        }
        const uint32_t node = node_of(beam->near[next], salt);
        beam->near[next] |= 1;
        uint16_t *count;
        const uint32_t *links = links_of(g, node, level, &count);
        int fresh = 0;
        for (int i = 0; i < *count; i++) { /* without a branch, which would often be mispredicted */
            g->fresh[fresh] = links[i];
            fresh += g->visited[links[i]] != g->epoch;
            g->visited[links[i]] = g->epoch;
        }
        for (int i = 0; i < fresh && i < AHEAD; i++)
            read_row(g, space, g->fresh[i]);
        for (int i = 0; i < fresh; i++) {
            if (i + AHEAD < fresh)
                read_row(g, space, g->fresh[i + AHEAD]);
            const int64_t position = insert(beam, measured(g, space, own, g->fresh[i]));
            next = position < next ? position : next;
        }
    }
}

INLINE void link_back(graph_t *g, int space, uint32_t node, uint32_t other, int level) {
    const int64_t most = level ? g->m : 2 * g->m;
    uint16_t *count;
    uint32_t *links = links_of(g, node, level, &count);
    if (*count < most) {
        links[(*count)++] = other;
        return;
    }
    for (int i = 0; i < *count; i++) {
        if (i + 1 < *count)
            read_row(g, space, links[i + 1]);
        g->pool[i] = measured(g, space, node, links[i]);
    }
    g->pool[*count] = measured(g, space, node, other);
    qsort(g->pool, (size_t)*count + 1, sizeof *g->pool, ascending);
    *count = (uint16_t)choose(g, space, salt_of(node), g->pool, *count + 1, most, links);
}

INLINE int64_t insert_nodes(int space, graph_t *g, const uint32_t *order, int64_t count, int64_t entry) {
    for (int64_t at = 0; at < count; at++) {
        const uint32_t node = order[at];
        const int own = g->levels[node];
        if (entry < 0) {
            entry = node;
            continue;
        }
        candidate_t from = measured(g, space, node, (uint32_t)entry);
        const int top = g->levels[entry];
        for (int level = top; level > own; level--)
            from = nearest_on(g, space, node, from, level);
        for (int level = own < top ? own : top; level >= 0; level--) {
            follow(g, space, node, from, level);
            if (!g->beam.size) /* no other node is reached */
                break;
            from = g->beam.near[0] & ~(candidate_t)1;
            uint16_t *own_count;
            uint32_t *links = links_of(g, node, level, &own_count);
            const int64_t most = level ? g->m : 2 * g->m;
            *own_count = (uint16_t)choose(g, space, salt_of(node), g->beam.near, g->beam.size, most, links);
            for (int i = 0; i < *own_count; i++)
                link_back(g, space, links[i], node, level);
        }
        if (own > top)
            entry = node;
    }
    return entry;
}

INLINE int64_t insert_in(int space, graph_t *g, const uint32_t *order, int64_t count, int64_t entry) {
    IN_SPACE_OF_ROWS(space, insert_nodes, g, order, count, entry)
}

#ifdef WITH_FMA
WITH_FMA static int64_t insert_fma(int space, graph_t *g, const uint32_t *order, int64_t count, int64_t entry) {
    return insert_in(space, g, order, count, entry);
}
#endif

int64_t hnsw_insert(int space, graph_t *g, const uint32_t *order, int64_t count, int64_t entry) {
#ifdef WITH_FMA
    if (has_fma())
        return insert_fma(space, g, order, count, entry);
#endif
    return insert_in(space, g, order, count, entry);
}
