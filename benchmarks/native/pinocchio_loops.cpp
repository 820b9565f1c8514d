// Pinocchio's algorithms in a loop over a ring of states, behind a C interface.
//
// Header-only on purpose: nothing is linked from the wheel, so everything is compiled with this
// machine's instruction set. Times are thread CPU time, taken here, around the loop alone.
#include <pinocchio/multibody.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include <cstring>
#include <string>
#include <time.h>
#include <vector>

using namespace pinocchio;
using Eigen::VectorXd;

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Peer
{
  Model model;
  Data data;
  std::vector<VectorXd> q, v, x; // x: joint forces or accelerations

  explicit Peer(const Model & m) : model(m), data(m) {}
};

double seconds()
{
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

bool joint_of(const std::string & kind, const double * axis, JointModel & joint)
{
  const Eigen::Vector3d a(axis[0], axis[1], axis[2]);
  if (kind == "JointModelRX") joint = JointModelRX();
  else if (kind == "JointModelRY") joint = JointModelRY();
  else if (kind == "JointModelRZ") joint = JointModelRZ();
  else if (kind == "JointModelRevoluteUnaligned") joint = JointModelRevoluteUnaligned(a);
  else if (kind == "JointModelFreeFlyer") joint = JointModelFreeFlyer();
  else return false;
  return true;
}

template<class Evaluate>
double loop(const Peer & p, long start, long count, Evaluate && evaluate)
{
  const size_t ring = p.q.size();
  size_t k = size_t(start) % ring;
  const double begin = seconds();
  for (long i = 0; i < count; ++i)
  {
    evaluate(k);
    if (++k == ring) k = 0;
  }
  return seconds() - begin;
}

} // namespace

// numbers, 28 per joint: axis 3, rotation 9 and translation 3 of the placement, mass, centre of mass 3,
// inertia 9 about it; matrices row by row. Null if a joint kind is unknown.
EXPORT void * pinocchio_open(
  int joints, const int * parents, const char * const * kinds, const double * numbers, const double * gravity)
{
  typedef Eigen::Matrix<double, 3, 3, Eigen::RowMajor> Rows;
  typedef Eigen::Vector3d Vector;
  Model model;
  model.gravity.linear(Vector(gravity[0], gravity[1], gravity[2]));
  for (int i = 0; i < joints; ++i, numbers += 28)
  {
    JointModel joint;
    if (!joint_of(kinds[i], numbers, joint)) return nullptr;
    const Eigen::Matrix3d rotation = Eigen::Map<const Rows>(numbers + 3);
    const Eigen::Matrix3d inertia = Eigen::Map<const Rows>(numbers + 19);
    const SE3 placement(rotation, Vector(numbers[12], numbers[13], numbers[14]));
    const Inertia body(numbers[15], Vector(numbers[16], numbers[17], numbers[18]), inertia);
    const JointIndex j = model.addJoint(JointIndex(parents[i]), joint, placement, "j" + std::to_string(i));
    model.appendBodyToJoint(j, body, SE3::Identity());
  }
  return new Peer(model);
}

EXPORT void pinocchio_states(void * handle, long ring, const double * q, const double * v, const double * x)
{
  Peer & p = *static_cast<Peer *>(handle);
  p.q.clear();
  p.v.clear();
  p.x.clear();
  for (long k = 0; k < ring; ++k)
  {
    p.q.push_back(Eigen::Map<const VectorXd>(q + k * p.model.nq, p.model.nq));
    p.v.push_back(Eigen::Map<const VectorXd>(v + k * p.model.nv, p.model.nv));
    p.x.push_back(Eigen::Map<const VectorXd>(x + k * p.model.nv, p.model.nv));
  }
}

// task 0, 1: aba LOCAL, WORLD; 2: rnea; 3, 4: crba LOCAL, WORLD. Returns seconds; the last result goes
// to `out` (mass matrices: the upper triangle, row by row as nv x nv) if it is not null.
EXPORT double pinocchio_run(void * handle, int task, long start, long count, double * out)
{
  Peer & p = *static_cast<Peer *>(handle);
  const Model & m = p.model;
  Data & d = p.data;
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

EXPORT void pinocchio_close(void * handle) { delete static_cast<Peer *>(handle); }
