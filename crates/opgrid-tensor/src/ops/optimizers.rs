//! Updates parameters by their gradients.

declarations! {
    /// # Optimizers
    optimizers {
        amp_non_finite_check_and_unscale {
            /// Multiplies gradients by the inverse of their loss's scale, and notes whether one is not finite.
            pub AmpForeachNonFiniteCheckAndUnscaleInplace = "aten::_amp_foreach_non_finite_check_and_unscale_(Tensor(a!)[] self, Tensor(b!) found_inf, Tensor inv_scale) -> ()";
        }

        amp_update_scale {
            /// Changes the scale of a loss by whether its gradients were finite.
            pub AmpUpdateScaleInplace = "aten::_amp_update_scale_(Tensor(a!) self, Tensor(b!) growth_tracker, Tensor found_inf, float scale_growth_factor, float scale_backoff_factor, int growth_interval) -> Tensor(a!)";
        }

        foreach {
            /// Adds to each tensor its own, times `alpha`.
            pub ForeachAddList = "aten::_foreach_add.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]", in_place, out;
            /// Adds a number to each tensor.
            pub ForeachAddScalar = "aten::_foreach_add.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", in_place, out;
            /// Adds to each tensor its number.
            pub ForeachAddScalarList = "aten::_foreach_add.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]", in_place, out;
            /// Adds to each tensor one number in a tensor, times `alpha`.
            pub ForeachAddTensor = "aten::_foreach_add.Tensor(Tensor[] self, Tensor other, *, Scalar alpha=1) -> Tensor[]", in_place, out;
            /// Subtracts from each tensor its own, times `alpha`.
            pub ForeachSubList = "aten::_foreach_sub.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]", in_place, out;
            /// Subtracts a number from each tensor.
            pub ForeachSubScalar = "aten::_foreach_sub.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", in_place, out;
            /// Subtracts from each tensor its number.
            pub ForeachSubScalarList = "aten::_foreach_sub.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]", in_place, out;
            /// Multiplies each tensor by its own.
            pub ForeachMulList = "aten::_foreach_mul.List(Tensor[] self, Tensor[] other) -> Tensor[]", in_place, out;
            /// Multiplies each tensor by a number.
            pub ForeachMulScalar = "aten::_foreach_mul.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", in_place, out;
            /// Multiplies each tensor by its number.
            pub ForeachMulScalarList = "aten::_foreach_mul.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]", in_place, out;
            /// Multiplies each tensor by one number in a tensor.
            pub ForeachMulTensor = "aten::_foreach_mul.Tensor(Tensor[] self, Tensor other) -> Tensor[]", in_place, out;
            /// Divides each tensor by its own.
            pub ForeachDivList = "aten::_foreach_div.List(Tensor[] self, Tensor[] other) -> Tensor[]", in_place, out;
            /// Divides each tensor by a number.
            pub ForeachDivScalar = "aten::_foreach_div.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", in_place, out;
            /// Divides each tensor by its number.
            pub ForeachDivScalarList = "aten::_foreach_div.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]", in_place, out;
            /// Divides each tensor by one number in a tensor.
            pub ForeachDivTensor = "aten::_foreach_div.Tensor(Tensor[] self, Tensor other) -> Tensor[]", in_place, out;
            /// The larger of each element and that of another tensor.
            pub ForeachClampMinList = "aten::_foreach_clamp_min.List(Tensor[] self, Tensor[] other) -> Tensor[]", in_place, out;
            /// The larger of each element and a number.
            pub ForeachClampMinScalar = "aten::_foreach_clamp_min.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", in_place, out;
            /// The larger of each element and its tensor's number.
            pub ForeachClampMinScalarList = "aten::_foreach_clamp_min.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]", in_place, out;
            /// The smaller of each element and that of another tensor.
            pub ForeachClampMaxList = "aten::_foreach_clamp_max.List(Tensor[] self, Tensor[] other) -> Tensor[]", in_place, out;
            /// The smaller of each element and a number.
            pub ForeachClampMaxScalar = "aten::_foreach_clamp_max.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", in_place, out;
            /// The smaller of each element and its tensor's number.
            pub ForeachClampMaxScalarList = "aten::_foreach_clamp_max.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]", in_place, out;
            /// The larger of each element and that of another tensor.
            pub ForeachMaximumList = "aten::_foreach_maximum.List(Tensor[] self, Tensor[] other) -> Tensor[]", in_place, out;
            /// The larger of each element and a number.
            pub ForeachMaximumScalar = "aten::_foreach_maximum.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", in_place, out;
            /// The larger of each element and its tensor's number.
            pub ForeachMaximumScalarList = "aten::_foreach_maximum.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]", in_place, out;
            /// The smaller of each element and that of another tensor.
            pub ForeachMinimumList = "aten::_foreach_minimum.List(Tensor[] self, Tensor[] other) -> Tensor[]", in_place, out;
            /// The smaller of each element and a number.
            pub ForeachMinimumScalar = "aten::_foreach_minimum.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", in_place, out;
            /// The smaller of each element and its tensor's number.
            pub ForeachMinimumScalarList = "aten::_foreach_minimum.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]", in_place, out;
            /// Each tensor to the power of its own.
            pub ForeachPowList = "aten::_foreach_pow.List(Tensor[] self, Tensor[] exponent) -> Tensor[]", in_place, out;
            /// Each tensor to the power of a number.
            pub ForeachPowScalar = "aten::_foreach_pow.Scalar(Tensor[] self, Scalar exponent) -> Tensor[]", in_place, out;
            /// A number to the power of each tensor.
            pub ForeachPowScalarAndTensor = "aten::_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]";
            /// Each tensor to the power of its number.
            pub ForeachPowScalarList = "aten::_foreach_pow.ScalarList(Tensor[] self, Scalar[] exponent) -> Tensor[]", in_place, out;
            /// Adds to each tensor the product of two, times a number.
            pub ForeachAddcmulScalar = "aten::_foreach_addcmul.Scalar(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1) -> Tensor[]", in_place, out;
            /// Adds to each tensor the product of two, times its number.
            pub ForeachAddcmulScalarList = "aten::_foreach_addcmul.ScalarList(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars) -> Tensor[]", in_place, out;
            /// Adds to each tensor the product of two, times its number, an element of a tensor.
            pub ForeachAddcmulTensor = "aten::_foreach_addcmul.Tensor(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor scalars) -> Tensor[]", in_place, out;
            /// Adds to each tensor the quotient of two, times a number.
            pub ForeachAddcdivScalar = "aten::_foreach_addcdiv.Scalar(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1) -> Tensor[]", in_place, out;
            /// Adds to each tensor the quotient of two, times its number.
            pub ForeachAddcdivScalarList = "aten::_foreach_addcdiv.ScalarList(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars) -> Tensor[]", in_place, out;
            /// Adds to each tensor the quotient of two, times its number, an element of a tensor.
            pub ForeachAddcdivTensor = "aten::_foreach_addcdiv.Tensor(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor scalars) -> Tensor[]", in_place, out;
            /// Goes from each tensor toward its own by the part of the way that a third one says.
            pub ForeachLerpList = "aten::_foreach_lerp.List(Tensor[] self, Tensor[] tensors1, Tensor[] weights) -> Tensor[]", in_place, out;
            /// Goes from each tensor toward its own by a part of the way.
            pub ForeachLerpScalar = "aten::_foreach_lerp.Scalar(Tensor[] self, Tensor[] tensors1, Scalar weight) -> Tensor[]", in_place, out;
            /// Goes from each tensor toward its own by its part of the way.
            pub ForeachLerpScalarList = "aten::_foreach_lerp.ScalarList(Tensor[] self, Tensor[] tensors1, Scalar[] weight) -> Tensor[]", in_place, out;
            /// The norm of each tensor.
            pub ForeachNormScalar = "aten::_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]", out;
            /// The sum of the powers of the magnitudes in each tensor.
            pub ForeachPowsumScalar = "aten::_foreach_powsum.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]", out;
            /// The largest element of each tensor.
            pub ForeachMax = "aten::_foreach_max(Tensor[] self) -> Tensor[]", out;
            /// The product of each matrix with its own.
            pub ForeachMm = "aten::_foreach_mm(Tensor[] self, Tensor[] mat2) -> Tensor[]";
            /// Each tensor with the elements of another one.
            pub ForeachCopy = "aten::_foreach_copy(Tensor[] self, Tensor[] src, bool non_blocking=False) -> Tensor[] self_out", in_place, out;
            /// A copy of each tensor.
            pub ForeachClone = "aten::_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]", out;
            /// Zeros like each tensor.
            pub ForeachZero = "aten::_foreach_zero(Tensor[] self) -> Tensor[] self_out", in_place, out;
        }

        foreach_unary {
            /// `abs` of each tensor.
            pub ForeachAbs = "aten::_foreach_abs(Tensor[] self) -> Tensor[]", in_place, out;
            /// `acos` of each tensor.
            pub ForeachAcos = "aten::_foreach_acos(Tensor[] self) -> Tensor[]", in_place, out;
            /// `asin` of each tensor.
            pub ForeachAsin = "aten::_foreach_asin(Tensor[] self) -> Tensor[]", in_place, out;
            /// `atan` of each tensor.
            pub ForeachAtan = "aten::_foreach_atan(Tensor[] self) -> Tensor[]", in_place, out;
            /// `ceil` of each tensor.
            pub ForeachCeil = "aten::_foreach_ceil(Tensor[] self) -> Tensor[]", in_place, out;
            /// `cos` of each tensor.
            pub ForeachCos = "aten::_foreach_cos(Tensor[] self) -> Tensor[]", in_place, out;
            /// `cosh` of each tensor.
            pub ForeachCosh = "aten::_foreach_cosh(Tensor[] self) -> Tensor[]", in_place, out;
            /// `erf` of each tensor.
            pub ForeachErf = "aten::_foreach_erf(Tensor[] self) -> Tensor[]", in_place, out;
            /// `erfc` of each tensor.
            pub ForeachErfc = "aten::_foreach_erfc(Tensor[] self) -> Tensor[]", in_place, out;
            /// `exp` of each tensor.
            pub ForeachExp = "aten::_foreach_exp(Tensor[] self) -> Tensor[]", in_place, out;
            /// `expm1` of each tensor.
            pub ForeachExpm1 = "aten::_foreach_expm1(Tensor[] self) -> Tensor[]", in_place, out;
            /// `floor` of each tensor.
            pub ForeachFloor = "aten::_foreach_floor(Tensor[] self) -> Tensor[]", in_place, out;
            /// `frac` of each tensor.
            pub ForeachFrac = "aten::_foreach_frac(Tensor[] self) -> Tensor[]", in_place, out;
            /// `lgamma` of each tensor.
            pub ForeachLgamma = "aten::_foreach_lgamma(Tensor[] self) -> Tensor[]", in_place, out;
            /// `log` of each tensor.
            pub ForeachLog = "aten::_foreach_log(Tensor[] self) -> Tensor[]", in_place, out;
            /// `log10` of each tensor.
            pub ForeachLog10 = "aten::_foreach_log10(Tensor[] self) -> Tensor[]", in_place, out;
            /// `log1p` of each tensor.
            pub ForeachLog1p = "aten::_foreach_log1p(Tensor[] self) -> Tensor[]", in_place, out;
            /// `log2` of each tensor.
            pub ForeachLog2 = "aten::_foreach_log2(Tensor[] self) -> Tensor[]", in_place, out;
            /// `neg` of each tensor.
            pub ForeachNeg = "aten::_foreach_neg(Tensor[] self) -> Tensor[]", in_place, out;
            /// `reciprocal` of each tensor.
            pub ForeachReciprocal = "aten::_foreach_reciprocal(Tensor[] self) -> Tensor[]", in_place, out;
            /// `round` of each tensor.
            pub ForeachRound = "aten::_foreach_round(Tensor[] self) -> Tensor[]", in_place, out;
            /// `rsqrt` of each tensor.
            pub ForeachRsqrt = "aten::_foreach_rsqrt(Tensor[] self) -> Tensor[]", in_place, out;
            /// `sigmoid` of each tensor.
            pub ForeachSigmoid = "aten::_foreach_sigmoid(Tensor[] self) -> Tensor[]", in_place, out;
            /// `sign` of each tensor.
            pub ForeachSign = "aten::_foreach_sign(Tensor[] self) -> Tensor[]", in_place, out;
            /// `sin` of each tensor.
            pub ForeachSin = "aten::_foreach_sin(Tensor[] self) -> Tensor[]", in_place, out;
            /// `sinh` of each tensor.
            pub ForeachSinh = "aten::_foreach_sinh(Tensor[] self) -> Tensor[]", in_place, out;
            /// `sqrt` of each tensor.
            pub ForeachSqrt = "aten::_foreach_sqrt(Tensor[] self) -> Tensor[]", in_place, out;
            /// `tan` of each tensor.
            pub ForeachTan = "aten::_foreach_tan(Tensor[] self) -> Tensor[]", in_place, out;
            /// `tanh` of each tensor.
            pub ForeachTanh = "aten::_foreach_tanh(Tensor[] self) -> Tensor[]", in_place, out;
            /// `trunc` of each tensor.
            pub ForeachTrunc = "aten::_foreach_trunc(Tensor[] self) -> Tensor[]", in_place, out;
        }

        fused_adam {
            /// A step of Adam for many parameters.
            pub FusedAdamInplace = "aten::_fused_adam_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()";
            /// A step of Adam with decoupled weight decay for many parameters.
            pub FusedAdamwInplace = "aten::_fused_adamw_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()";
        }

        fused_sgd {
            /// A step of stochastic gradient descent for many parameters.
            pub FusedSgdInplace = "aten::_fused_sgd_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] momentum_buffer_list, *, float weight_decay, float momentum, float lr, float dampening, bool nesterov, bool maximize, bool is_first_step, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()";
        }
    }
}
