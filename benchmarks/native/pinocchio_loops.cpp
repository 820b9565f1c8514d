// Pinocchio's algorithms for trees in a loop over a ring of states, behind a C interface.
#include "pinocchio_peer.hpp"

#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include <cstring>

// task 0, 1: aba LOCAL, WORLD; 2: rnea; 3, 4: crba LOCAL, WORLD. Returns seconds; the last result goes
// to `out` (mass matrices: the upper triangle, row by row as nv x nv) if it is not null.
EXPORT double pinocchio_run(void * handle, int task, long start, long count, double * out)
{
  Peer & p = *static_cast<Peer *>(handle);
  const few::Model & m = p.model;
  few::Data & d = p.data;
  double time = -1.0;
  switch (task)
  {
  case 0:
    time = loop(p, start, count, [&](size_t k) { aba(m, d, p.q[k], p.v[k], p.x[k], Convention::LOCAL); });
    break;
  case 1:
    time = loop(p, start, count, [&](size_t k) { aba(m, d, p.q[k], p.v[k], p.x[k], Convention::WORLD); });
    break;
  case 2:
    time = loop(p, start, count, [&](size_t k) { rnea(m, d, p.q[k], p.v[k], p.x[k]); });
    break;
  case 3:
    time = loop(p, start, count, [&](size_t k) { crba(m, d, p.q[k], Convention::LOCAL); });
    break;
  case 4:
    time = loop(p, start, count, [&](size_t k) { crba(m, d, p.q[k], Convention::WORLD); });
    break;
  default:
    return time;
  }
  if (!out) return time;
  if (task < 2) std::memcpy(out, d.ddq.data(), sizeof(double) * size_t(m.nv));
  else if (task == 2) std::memcpy(out, d.tau.data(), sizeof(double) * size_t(m.nv));
  else
    for (int i = 0; i < m.nv; ++i)
      for (int j = 0; j < m.nv; ++j)
        out[i * m.nv + j] = d.M(i, j);
  return time;
}
