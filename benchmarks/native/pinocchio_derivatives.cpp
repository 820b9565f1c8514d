// Pinocchio's derivatives of accelerations in a loop over a ring of states, behind a C interface. They stand alone: with
// the other functions they would take many minutes to compile.
#include "pinocchio_anchors.hpp"
#include "pinocchio_peer.hpp"

#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/constrained-dynamics-derivatives.hpp>

// task 0: computeABADerivatives; 1: constraintDynamics and computeConstraintDynamicsDerivatives. Returns seconds; the
// last derivatives of accelerations for joint forces go to `out`, row by row as nv x nv, if it is not null (of task 0
// the upper triangle).
EXPORT double pinocchio_run(void * handle, int task, long start, long count, double * out)
{
  Peer & p = *static_cast<Peer *>(handle);
  const few::Model & m = p.model;
  few::Data & d = p.data;
  double time = -1.0;
  if (task == 0)
    time = loop(p, start, count, [&](size_t k) { computeABADerivatives(m, d, p.q[k], p.v[k], p.x[k]); });
  else
  {
    Closures & c = *p.closures;
    time = loop(p, start, count, [&](size_t k) {
      constraintDynamics(m, d, p.q[k], p.v[k], p.x[k], c.models, c.datas, c.settings);
      computeConstraintDynamicsDerivatives(m, d, c.models, c.datas, c.settings);
    });
  }
  for (int i = 0; out && i < m.nv; ++i)
    for (int j = 0; j < m.nv; ++j)
      out[i * m.nv + j] = task == 0 ? d.Minv(i, j) : d.ddq_dtau(i, j);
  return time;
}
