// The joints that the models have, as a collection of their own: with all of Pinocchio's, its derivatives take more
// than ten minutes and three gigabytes to compile. Its algorithms are the same.
#pragma once

#define BOOST_VARIANT_USE_RELAXED_GET_BY_DEFAULT
#include <pinocchio/multibody.hpp>

namespace few {

template<typename S, int O>
struct Joints
{
  typedef S Scalar;
  static constexpr int Options = O;

  typedef boost::variant<
    pinocchio::JointModelRevoluteTpl<S, O, 0>, pinocchio::JointModelRevoluteTpl<S, O, 1>,
    pinocchio::JointModelRevoluteTpl<S, O, 2>, pinocchio::JointModelFreeFlyerTpl<S, O>,
    pinocchio::JointModelRevoluteUnalignedTpl<S, O>, pinocchio::JointModelSphericalTpl<S, O>,
    pinocchio::JointModelPrismaticTpl<S, O, 2>, pinocchio::JointModelUniversalTpl<S, O>>
    JointModelVariant;

  typedef boost::variant<
    pinocchio::JointDataRevoluteTpl<S, O, 0>, pinocchio::JointDataRevoluteTpl<S, O, 1>,
    pinocchio::JointDataRevoluteTpl<S, O, 2>, pinocchio::JointDataFreeFlyerTpl<S, O>,
    pinocchio::JointDataRevoluteUnalignedTpl<S, O>, pinocchio::JointDataSphericalTpl<S, O>,
    pinocchio::JointDataPrismaticTpl<S, O, 2>, pinocchio::JointDataUniversalTpl<S, O>>
    JointDataVariant;
};

typedef pinocchio::ModelTpl<double, 0, Joints> Model;
typedef pinocchio::DataTpl<double, 0, Joints> Data;
typedef pinocchio::JointModelTpl<double, 0, Joints> JointModel;

} // namespace few
