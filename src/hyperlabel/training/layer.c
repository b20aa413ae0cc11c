/* Pooling layers over the votes of a matrix, forward and backward, for constant widths IN and OUT.

   Votes are in the order of items: those of item i are starts[i] to starts[i + 1], vote e is by LF lf[e]. The
   numbers of a vote lie side by side and are handled as vectors of up to 8. `rows` (n, OUT) and `columns` (m, OUT)
   are what the means of its item and of its LF add to a vote. Matrices are (width in, width out). Gradients of
   weights accumulate; sums over columns must come in as zeros. */
#include <math.h>
#include <stdint.h>
#include <string.h>
#define LANES(d) ((d) % 8 == 0 ? 8 : (d) % 4 == 0 ? 4 : 1)
#define EACH(b, d) _Pragma("GCC unroll 64") for (int b = 0; b < (d); b++)
#define VECTOR(type, d) type __attribute__((vector_size(4 * LANES(d)), aligned(4), may_alias))
typedef VECTOR(float, OUT) out_t;
typedef VECTOR(float, IN) in_t;
typedef VECTOR(int32_t, OUT) mask_t;
enum { OUTS = OUT / LANES(OUT), INS = IN / LANES(IN) };

/* `value` times the slope of the activation at a. */
static inline out_t leaky(out_t a, out_t value)
{
    mask_t above = a > 0;
    return (out_t)((above & (mask_t)value) | (~above & (mask_t)(LEAK * value)));
}

/* What a vote is before the activation. */
static inline void combine(out_t *a, const out_t *row, const out_t *column, const float *cell, const out_t *weight)
{
    EACH(b, OUTS) a[b] = row[b] + column[b];
    EACH(k, IN) EACH(b, OUTS) a[b] += weight[k * OUTS + b] * cell[k];
}

/* Send the gradient g of a combined vote to its row, its column, the weight and, if asked for, the vote. */
static inline void spread(const out_t *g, const float *cell, const in_t *transposed, out_t *to_row, out_t *to_column,
                          out_t *to_weight, in_t *to_cell)
{
    EACH(b, OUTS) to_row[b] += g[b];
    EACH(b, OUTS) to_column[b] += g[b];
    EACH(k, IN) EACH(b, OUTS) to_weight[k * OUTS + b] += cell[k] * g[b];
    if (!to_cell) return;
    in_t back[INS] = {0};
    EACH(o, OUT) EACH(b, INS) back[b] += transposed[o * INS + b] * g[o / LANES(OUT)][o % LANES(OUT)];
    EACH(b, INS) to_cell[b] = back[b];
}

/* A layer: activated votes (e, OUT) and their sums over rows and columns. */
void forward(int64_t n, const int32_t *starts, const int32_t *lf, const float *restrict cells,
             const out_t *restrict weight, const out_t *restrict rows, const out_t *restrict columns,
             out_t *restrict out, out_t *restrict row_sums, out_t *restrict column_sums)
{
    for (int64_t i = 0; i < n; i++) {
        out_t sum[OUTS] = {0};
        for (int64_t e = starts[i]; e < starts[i + 1]; e++) {
            out_t a[OUTS], *column_sum = column_sums + lf[e] * OUTS;
            combine(a, rows + i * OUTS, columns + lf[e] * OUTS, cells + e * IN, weight);
            EACH(b, OUTS) out[e * OUTS + b] = a[b] = leaky(a[b], a[b]);
            EACH(b, OUTS) sum[b] += a[b];
            EACH(b, OUTS) column_sum[b] += a[b];
        }
        EACH(b, OUTS) row_sums[i * OUTS + b] = sum[b];
    }
}

/* `out` is what `forward` gave, `grad`, `grad_rows` and `grad_columns` the gradients of its three outputs;
   `transposed` is the weight as (OUT, IN); `to_cells` is null where nobody asks for it. */
void backward(int64_t n, const int32_t *starts, const int32_t *lf, const float *restrict cells,
              const in_t *restrict transposed, const out_t *restrict out, const out_t *restrict grad,
              const out_t *restrict grad_rows, const out_t *restrict grad_columns, in_t *restrict to_cells,
              out_t *restrict to_weight, out_t *restrict to_rows, out_t *restrict to_columns)
{
    for (int64_t i = 0; i < n; i++) {
        out_t sum[OUTS] = {0};
        for (int64_t e = starts[i]; e < starts[i + 1]; e++) {
            out_t g[OUTS];
            EACH(b, OUTS) g[b] = grad[e * OUTS + b] + grad_rows[i * OUTS + b] + grad_columns[lf[e] * OUTS + b];
            EACH(b, OUTS) g[b] = leaky(out[e * OUTS + b], g[b]);
            spread(g, cells + e * IN, transposed, sum, to_columns + lf[e] * OUTS, to_weight,
                   to_cells ? to_cells + e * INS : 0);
        }
        EACH(b, OUTS) to_rows[i * OUTS + b] = sum[b];
    }
}

/* One linear layer of the head, on a single item. */
static inline void linear(out_t *to, const out_t *from, const out_t *weight, const out_t *bias)
{
    EACH(b, OUTS) to[b] = bias[b];
    for (int k = 0; k < OUT; k++) EACH(b, OUTS) to[b] += weight[k * OUTS + b] * ((const float *)from)[k];
}

static inline void linear_backward(out_t *to, const out_t *from, const out_t *g, const out_t *transposed,
                                   out_t *to_weight, out_t *to_bias)
{
    EACH(b, OUTS) to_bias[b] += g[b];
    for (int k = 0; k < OUT; k++) EACH(b, OUTS) to_weight[k * OUTS + b] += ((const float *)from)[k] * g[b];
    EACH(b, OUTS) to[b] = transposed[b] * g[0][0];
    for (int o = 1; o < OUT; o++) EACH(b, OUTS) to[b] += transposed[o * OUTS + b] * ((const float *)g)[o];
}

/* The last layer, the mean over each item's votes, the head of three linear layers and the cross-entropy, item by
   item, forward and at once backward. Without `target` only the logits. An item without votes has no loss, and if
   MASKED none whose mean sums to zero or less; `taught` counts the others.
   `head` and `to_head` are one block: two matrices (OUT, OUT) with their biases, a column (OUT), a bias;
   `turned` holds the two matrices transposed. `buffer` holds the votes of one item. Returns the sum of losses. */
double finish(int64_t n, const int32_t *starts, const int32_t *lf, const float *restrict cells,
              const out_t *restrict weight, const in_t *restrict transposed, const out_t *restrict rows,
              const out_t *restrict columns, const float *restrict head, const out_t *restrict turned,
              const float *restrict target, out_t *restrict buffer, float *restrict logits, in_t *restrict to_cells,
              out_t *restrict to_weight, out_t *restrict to_rows, out_t *restrict to_columns, float *restrict to_head,
              int64_t *restrict taught)
{
    enum { FIRST = 0, SECOND = OUT * (OUT + 1), LAST = 2 * SECOND, SQUARE = OUT * OUT };
    double loss = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t start = starts[i], votes = starts[i + 1] - start;
        out_t mean[OUTS] = {0}, one[OUTS], two[OUTS], sum[OUTS] = {0};
        for (int64_t v = 0; v < votes; v++) {
            out_t *a = buffer + v * OUTS;
            combine(a, rows + i * OUTS, columns + lf[start + v] * OUTS, cells + (start + v) * IN, weight);
            EACH(b, OUTS) mean[b] += leaky(a[b], a[b]);
        }
        EACH(b, OUTS) mean[b] /= (float)(votes ? votes : 1);
        linear(one, mean, (const out_t *)(head + FIRST), (const out_t *)(head + FIRST + SQUARE));
        EACH(b, OUTS) one[b] = leaky(one[b], one[b]);
        linear(two, one, (const out_t *)(head + SECOND), (const out_t *)(head + SECOND + SQUARE));
        EACH(b, OUTS) two[b] = leaky(two[b], two[b]);
        float logit = head[LAST + OUT];
        for (int o = 0; o < OUT; o++) logit += ((const float *)two)[o] * head[LAST + o];
        logits[i] = logit;
        if (!target) continue;
        float total = 0;
        for (int o = 0; o < OUT; o++) total += ((const float *)mean)[o];
        if (votes && (!MASKED || total > 0)) {
            *taught += 1;
            float rest = expf(-fabsf(logit)), g = (logit > 0 ? 1 : rest) / (1 + rest) - target[i];
            out_t second[OUTS], first[OUTS], back[OUTS];
            loss += (logit > 0 ? logit : 0) + log1pf(rest) - target[i] * logit;
            EACH(b, OUTS) second[b] = leaky(two[b], ((const out_t *)(head + LAST))[b] * g);
            EACH(b, OUTS) ((out_t *)(to_head + LAST))[b] += two[b] * g;
            to_head[LAST + OUT] += g;
            linear_backward(first, one, second, turned + SQUARE / LANES(OUT), (out_t *)(to_head + SECOND),
                            (out_t *)(to_head + SECOND + SQUARE));
            EACH(b, OUTS) first[b] = leaky(one[b], first[b]);
            linear_backward(back, mean, first, turned, (out_t *)(to_head + FIRST),
                            (out_t *)(to_head + FIRST + SQUARE));
            EACH(b, OUTS) back[b] /= (float)votes;
            for (int64_t v = 0; v < votes; v++) {
                out_t spread_g[OUTS];
                EACH(b, OUTS) spread_g[b] = leaky(buffer[v * OUTS + b], back[b]);
                spread(spread_g, cells + (start + v) * IN, transposed, sum, to_columns + lf[start + v] * OUTS,
                       to_weight, to_cells + (start + v) * INS);
            }
        } else if (votes) {
            memset(to_cells + start * INS, 0, votes * sizeof(in_t) * INS); /* nothing comes back from this item */
        }
        EACH(b, OUTS) to_rows[i * OUTS + b] = sum[b];
    }
    return loss;
}
