// Pinocchio's two forward dynamics with closed loops, in a loop over a ring of states, behind a C interface.
#include "pinocchio_anchors.hpp"
#include "pinocchio_peer.hpp"

#include <pinocchio/algorithm/loop-constrained-aba.hpp>

#include <cstring>

// task 0: constraintDynamics; 1: lcaba. Returns seconds; the last accelerations go to `out` if it is not null.
EXPORT double pinocchio_run(void * handle, int task, long start, long count, double * out)
{
  Peer & p = *static_cast<Peer *>(handle);
  Closures & c = *p.closures;
  const few::Model & m = p.model;
  few::Data & d = p.data;
  const double time = task == 0 ? loop(p, start, count, [&](size_t k) {
    constraintDynamics(m, d, p.q[k], p.v[k], p.x[k], c.models, c.datas, c.settings);
  }) : loop(p, start, count, [&](size_t k) {
    lcaba(m, d, p.q[k], p.v[k], p.x[k], c.models, c.datas, c.settings);
  });
  if (out) std::memcpy(out, d.ddq.data(), sizeof(double) * size_t(m.nv));
  return time;
}

// Classical Runge-Kutta steps of constraintDynamics with Baumgarte terms, for models whose joints turn or slide.
// q and v are moved on in place; returns seconds.
EXPORT double pinocchio_motion(void * handle, double * q, double * v, double h, long steps, double kp, double kd)
{
  Peer & p = *static_cast<Peer *>(handle);
  Closures & c = *p.closures;
  const few::Model & m = p.model;
  few::Data & d = p.data;
  for (auto & model : c.models)
  {
    model.baumgarte_corrector_parameters().Kp = kp;
    model.baumgarte_corrector_parameters().Kd = kd;
  }
  Eigen::Map<VectorXd> Q(q, m.nq), V(v, m.nv);
  const VectorXd none = VectorXd::Zero(m.nv);
  VectorXd v1, v2, v3, v4, a1, a2, a3, a4;
  const auto f = [&](const VectorXd & x, const VectorXd & w) -> VectorXd {
    return constraintDynamics(m, d, x, w, none, c.models, c.datas, c.settings);
  };
  const double begin = seconds();
  for (long i = 0; i < steps; ++i)
  {
    v1 = V;
    a1 = f(Q, v1);
    v2 = V + h / 2 * a1;
    a2 = f(Q + h / 2 * v1, v2);
    v3 = V + h / 2 * a2;
    a3 = f(Q + h / 2 * v2, v3);
    v4 = V + h * a3;
    a4 = f(Q + h * v3, v4);
    Q += h / 6 * (v1 + 2 * v2 + 2 * v3 + v4);
    V += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4);
  }
  return seconds() - begin;
}
