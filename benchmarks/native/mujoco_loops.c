/* MuJoCo's smooth dynamics and its step in a loop over a ring of states.
   Times are thread CPU time, taken here, around the loop alone. */
#include <mujoco/mujoco.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
  mjModel *model;
  mjData *data;
  mjtNum *force; /* inverse dynamics goes here */
  long ring;
  const double *q, *v, *x; /* the caller keeps these; x: joint forces or accelerations */
} Peer;

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void copy(mjtNum *to, const double *from, mjtSize n) { memcpy(to, from, sizeof(double) * (size_t)n); }

/* positions to accelerations, without contacts, limits, sensors or actuators */
static void forward_dynamics(const mjModel *m, mjData *d) {
  mj_kinematics(m, d);
  mj_comPos(m, d);
  mj_crb(m, d);
  mj_factorM(m, d);
  mj_comVel(m, d);
  mj_passive(m, d);
  mj_rne(m, d, 0, d->qfrc_bias);
  mj_fwdActuation(m, d);
  mj_fwdAcceleration(m, d);
}

static void inverse_dynamics(const mjModel *m, mjData *d, mjtNum *force) {
  mj_kinematics(m, d);
  mj_comPos(m, d);
  mj_comVel(m, d);
  mj_rne(m, d, 1, force);
}

static void mass_matrix(const mjModel *m, mjData *d) {
  mj_kinematics(m, d);
  mj_comPos(m, d);
  mj_crb(m, d);
}

void *mujoco_open(const char *binary_model) {
  mjModel *m = mj_loadModel(binary_model, NULL);
  if (!m) return NULL;
  Peer *p = calloc(1, sizeof(Peer));
  p->model = m;
  p->data = mj_makeData(m);
  p->force = calloc((size_t)m->nv, sizeof(mjtNum));
  return p;
}

void mujoco_states(void *handle, long ring, const double *q, const double *v, const double *x) {
  Peer *p = handle;
  p->ring = ring;
  p->q = q;
  p->v = v;
  p->x = x;
}

/* task 0: smooth forward dynamics; 1: inverse dynamics; 2: mass matrix; 3: a step with constraints. Returns
   seconds; the last result, of a step the accelerations at its start, goes to `out` if it is not null. */
double mujoco_run(void *handle, int task, long start, long count, double *out) {
  Peer *p = handle;
  const mjModel *m = p->model;
  mjData *d = p->data;
  const mjtSize nq = m->nq, nv = m->nv;
  long k = start % p->ring;
  const mjfTime profiler = mjcb_time; /* the Python module sets one; a C program has none */
  mjcb_time = NULL;
  const double begin = seconds();
  for (long i = 0; i < count; ++i) {
    copy(d->qpos, p->q + k * nq, nq);
    if (task != 2) copy(d->qvel, p->v + k * nv, nv);
    if (task == 0 || task == 3) {
      copy(d->qfrc_applied, p->x + k * nv, nv);
      if (task == 0) forward_dynamics(m, d);
      else mj_step(m, d);
    } else if (task == 1) {
      copy(d->qacc, p->x + k * nv, nv);
      inverse_dynamics(m, d, p->force);
    } else {
      mass_matrix(m, d);
    }
    if (++k == p->ring) k = 0;
  }
  const double time = seconds() - begin;
  mjcb_time = profiler;
  if (out) {
    if (task == 0) copy(out, d->qacc_smooth, nv);
    else if (task == 1) copy(out, p->force, nv);
    else if (task == 3) copy(out, d->qacc, nv);
    else mj_fullM(m, d, out);
  }
  return time;
}

void mujoco_close(void *handle) {
  Peer *p = handle;
  mj_deleteData(p->data);
  mj_deleteModel(p->model);
  free(p->force);
  free(p);
}
