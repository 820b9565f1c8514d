// What all loops over Pinocchio's algorithms share: a model read from numbers, a ring of states, a clock.
//
// Header-only on purpose: nothing is linked from the wheel, so everything is compiled with this
// machine's instruction set. Times are thread CPU time, taken here, around the loop alone.
#pragma once

#include "pinocchio_joints.hpp"

#include <memory>
#include <string>
#include <time.h>
#include <vector>

using namespace pinocchio;
using Eigen::VectorXd;

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Closures; // in pinocchio_closures.cpp

struct Peer
{
  few::Model model;
  few::Data data;
  std::vector<VectorXd> q, v, x; // x: joint forces or accelerations
  std::shared_ptr<Closures> closures;

  explicit Peer(const few::Model & m) : model(m), data(m) {}
};

double seconds()
{
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

bool joint_of(const std::string & kind, const double * axes, few::JointModel & joint)
{
  const Eigen::Vector3d a(axes[0], axes[1], axes[2]), b(axes[3], axes[4], axes[5]);
  if (kind == "JointModelRX") joint = JointModelRX();
  else if (kind == "JointModelRY") joint = JointModelRY();
  else if (kind == "JointModelRZ") joint = JointModelRZ();
  else if (kind == "JointModelRevoluteUnaligned") joint = JointModelRevoluteUnaligned(a);
  else if (kind == "JointModelPZ") joint = JointModelPZ();
  else if (kind == "JointModelUniversal") joint = JointModelUniversal(a, b);
  else if (kind == "JointModelSpherical") joint = JointModelSpherical();
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

// numbers, 31 per joint: two axes 6, rotation 9 and translation 3 of the placement, mass, centre of mass 3,
// inertia 9 about it; matrices row by row. Null if a joint kind is unknown.
EXPORT void * pinocchio_open(
  int joints, const int * parents, const char * const * kinds, const double * numbers, const double * gravity)
{
  typedef Eigen::Matrix<double, 3, 3, Eigen::RowMajor> Rows;
  typedef Eigen::Vector3d Vector;
  few::Model model;
  model.gravity.linear(Vector(gravity[0], gravity[1], gravity[2]));
  for (int i = 0; i < joints; ++i, numbers += 31)
  {
    few::JointModel joint;
    if (!joint_of(kinds[i], numbers, joint)) return nullptr;
    const Eigen::Matrix3d rotation = Eigen::Map<const Rows>(numbers + 6);
    const Eigen::Matrix3d inertia = Eigen::Map<const Rows>(numbers + 22);
    const SE3 placement(rotation, Vector(numbers[15], numbers[16], numbers[17]));
    const Inertia body(numbers[18], Vector(numbers[19], numbers[20], numbers[21]), inertia);
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

EXPORT void pinocchio_close(void * handle) { delete static_cast<Peer *>(handle); }
