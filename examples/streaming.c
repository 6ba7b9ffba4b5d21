/* SPDX-License-Identifier: MIT */
/* streaming.c: run a cell on a stream: prepare once, then one call per input. Constant memory, no allocation in the
 * loop.
 *
 * Build against the installed library: cc streaming.c $(pkg-config --cflags --libs sparc)
 */
#include <math.h>
#include <sparc/sparc.h>
#include <stdio.h>

int main(void) {
  sparc_cell *cell;
  if (sparc_cell_create(&(sparc_cell_config){.kind = "sparc", .D = 2, .H = 4}, &cell) != SPARC_OK) {
    fprintf(stderr, "%s\n", sparc_error());
    return 1;
  }
  const sparc_cell_sizes n = sparc_cell_sizes_of(cell);
  float *params = sparc_alloc(n.params * sizeof *params), *prepared = sparc_alloc(n.prepared * sizeof *prepared);
  float *state = sparc_alloc(n.state * sizeof *state), *tape = sparc_alloc(n.tape * sizeof *tape);
  if (!params || !prepared || !state || !tape) return 1;

  /* random weights; a real program would read them from a file (sparc_tensors_load) */
  sparc_cell_init(cell, SPARC_INIT_CLASSIFICATION, 1, NULL, params);
  if (sparc_prepare(cell, params, prepared) != SPARC_OK) return 1;

  printf("%zu parameters, %zu numbers carried from step to step\n", n.params, n.state);
  for (int t = 0; t < 6; t++) {
    const float x[2] = {sinf(0.5f * (float)t), 1};
    const float mask = t == 3 ? 0 : 1; /* a new segment starts at step 3, from state zero */
    if (sparc_step(cell, prepared, state, x, mask, NULL, tape) != SPARC_OK) return 1;
    printf("t %d%s  h0 = %+.4f %+.4fi\n", t, mask == 0 ? " (new segment)" : "", (double)state[0], (double)state[4]);
  }

  sparc_free(tape);
  sparc_free(state);
  sparc_free(prepared);
  sparc_free(params);
  sparc_cell_free(cell);
  return 0;
}
