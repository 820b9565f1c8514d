// Loops that close where points of two bodies coincide, for Pinocchio's constrained dynamics.
#pragma once

#include "pinocchio_peer.hpp"

#include <pinocchio/algorithm/constrained-dynamics.hpp>

namespace {

struct Closures
{
  PINOCCHIO_STD_VECTOR_WITH_EIGEN_ALLOCATOR(RigidConstraintModel) models;
  PINOCCHIO_STD_VECTOR_WITH_EIGEN_ALLOCATOR(RigidConstraintData) datas;
  ProximalSettings settings;
};

SE3 at(const double * point) { return SE3(Eigen::Matrix3d::Identity(), Eigen::Vector3d(point[0], point[1], point[2])); }

} // namespace

// Closes loops where points of two bodies coincide: two joints and 2 x 3 coordinates for each, in the joints'
// frames; `ground_axes`: errors in axes parallel to the ground's instead of the first body's.
// The settings are those of the proximal iteration.
EXPORT void pinocchio_anchor(
  void * handle, int count, const int * joints, const double * points, int ground_axes, double accuracy, double mu,
  int iterations)
{
  Peer & p = *static_cast<Peer *>(handle);
  p.closures = std::make_shared<Closures>();
  Closures & c = *p.closures;
  for (int i = 0; i < count; ++i, joints += 2, points += 6)
    c.models.push_back(RigidConstraintModel(
      CONTACT_3D, p.model, JointIndex(joints[0]), at(points), JointIndex(joints[1]), at(points + 3),
      ground_axes ? LOCAL_WORLD_ALIGNED : LOCAL));
  for (const auto & model : c.models)
    c.datas.push_back(RigidConstraintData(model));
  c.settings = ProximalSettings(accuracy, mu, iterations);
  initConstraintDynamics(p.model, p.data, c.models, c.datas);
  computeJointMinimalOrdering(p.model, p.data, c.models);
}
