/* One pooling layer over the votes of a matrix, forward and backward, for constant widths IN and OUT.

   Votes are in the order of items: those of item i are starts[i] to starts[i + 1], vote e is by LF lf[e]. The
   numbers of a vote lie side by side and are handled as vectors of up to 8. `rows` (n, OUT) and `columns` (m, OUT)
   are what the means of its item and of its LF add to a vote. `weight` is (IN, OUT). Column sums and gradients of
   the weight must come in as zeros. */
#include <stdint.h>
#include <string.h>
#define LANES(d) ((d) % 8 == 0 ? 8 : (d) % 4 == 0 ? 4 : 1)
#define EACH(b, d) _Pragma("GCC unroll 64") for (int b = 0; b < (d); b++)
typedef float out_t __attribute__((vector_size(4 * LANES(OUT)), aligned(4), may_alias));
typedef float in_t __attribute__((vector_size(4 * LANES(IN)), aligned(4), may_alias));
enum { OUTS = OUT / LANES(OUT), INS = IN / LANES(IN) };

typedef int32_t mask_t __attribute__((vector_size(4 * LANES(OUT)), aligned(4), may_alias));

/* `value` times the slope of the activation at a. */
static inline out_t leaky(out_t a, out_t value)
{
    mask_t above = a > 0;
    return (out_t)((above & (mask_t)value) | (~above & (mask_t)(LEAK * value)));
}

static inline void combine(out_t *a, const out_t *row, const out_t *column, const float *cell, const out_t *weight)
{
    EACH(b, OUTS) a[b] = row[b] + column[b];
    EACH(k, IN) EACH(b, OUTS) a[b] += weight[k * OUTS + b] * cell[k];
}

void forward(int64_t n, const int32_t *starts, const int32_t *lf, const float *restrict cells,
             const out_t *restrict weight, const out_t *restrict rows, const out_t *restrict columns,
             out_t *restrict out, out_t *restrict row_sums, out_t *restrict column_sums)
{
    for (int64_t i = 0; i < n; i++) {
        out_t sum[OUTS] = {0};
        for (int64_t e = starts[i]; e < starts[i + 1]; e++) {
            out_t a[OUTS], *column_sum = column_sums + lf[e] * OUTS;
            combine(a, rows + i * OUTS, columns + lf[e] * OUTS, cells + e * IN, weight);
            EACH(b, OUTS) a[b] = leaky(a[b], a[b]);
            EACH(b, OUTS) sum[b] += a[b];
            EACH(b, OUTS) column_sum[b] += a[b];
            if (out) EACH(b, OUTS) out[e * OUTS + b] = a[b];
        }
        EACH(b, OUTS) row_sums[i * OUTS + b] = sum[b];
    }
}

/* `grad` (e, OUT) or null, `grad_rows` and `grad_columns` are the gradients of the three outputs of `forward`;
   `transposed` is the weight as (OUT, IN); `to_cells` is null where nobody asks for it. */
void backward(int64_t n, const int32_t *starts, const int32_t *lf, const float *restrict cells,
              const out_t *restrict weight, const in_t *restrict transposed, const out_t *restrict rows,
              const out_t *restrict columns, const out_t *restrict grad, const out_t *restrict grad_rows,
              const out_t *restrict grad_columns, in_t *restrict to_cells, out_t *restrict to_weight,
              out_t *restrict to_rows, out_t *restrict to_columns)
{
    for (int64_t i = 0; i < n; i++) {
        out_t sum[OUTS] = {0};
        for (int64_t e = starts[i]; e < starts[i + 1]; e++) {
            out_t a[OUTS], g[OUTS], *to_column = to_columns + lf[e] * OUTS;
            const float *cell = cells + e * IN;
            combine(a, rows + i * OUTS, columns + lf[e] * OUTS, cell, weight);
            EACH(b, OUTS) g[b] = grad_rows[i * OUTS + b] + grad_columns[lf[e] * OUTS + b];
            if (grad) EACH(b, OUTS) g[b] += grad[e * OUTS + b];
            EACH(b, OUTS) g[b] = leaky(a[b], g[b]);
            EACH(b, OUTS) sum[b] += g[b];
            EACH(b, OUTS) to_column[b] += g[b];
            EACH(k, IN) EACH(b, OUTS) to_weight[k * OUTS + b] += cell[k] * g[b];
            if (to_cells) {
                in_t back[INS] = {0};
                EACH(o, OUT) EACH(b, INS) back[b] += transposed[o * INS + b] * g[o / LANES(OUT)][o % LANES(OUT)];
                EACH(b, INS) to_cells[e * INS + b] = back[b];
            }
        }
        EACH(b, OUTS) to_rows[i * OUTS + b] = sum[b];
    }
}
