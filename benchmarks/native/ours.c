/* One of our kernels, called by its address in a loop over a ring of states.
   Times are thread CPU time, taken here, around the loop alone. */
#include <stdint.h>
#include <time.h>

typedef void Kernel(const double *const *in, double *const *out, double *work, const double *constants,
                    const int32_t *tables);

enum { MOST_INPUTS = 64 };

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Input i of state k starts at rings[i] + k * strides[i]; a stride of zero is an input that does not change.
   Returns seconds, or a negative number if the kernel has too many inputs for this loop. */
double ours_run(Kernel *kernel, long inputs, const double *const *rings, const int64_t *strides, long ring,
                double *const *out, double *work, const double *constants, const int32_t *tables, long start,
                long count) {
  const double *in[MOST_INPUTS];
  if (inputs > MOST_INPUTS) return -1.0;
  long k = start % ring;
  const double begin = seconds();
  for (long i = 0; i < count; ++i) {
    for (long j = 0; j < inputs; ++j) in[j] = rings[j] + k * strides[j];
    kernel(in, out, work, constants, tables);
    if (++k == ring) k = 0;
  }
  return seconds() - begin;
}
