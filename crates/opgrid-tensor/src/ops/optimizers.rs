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
            /// Adds a number to each tensor.
            pub ForeachAddInplaceScalar = "aten::_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()";
            /// Adds to each tensor its own.
            pub ForeachAddInplaceList = "aten::_foreach_add_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()";
            /// Multiplies each tensor by a number.
            pub ForeachMulInplaceScalar = "aten::_foreach_mul_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()";
            /// Multiplies each tensor by its own.
            pub ForeachMulInplaceList = "aten::_foreach_mul_.List(Tensor(a!)[] self, Tensor[] other) -> ()";
            /// Multiplies each tensor by one tensor of a single element.
            pub ForeachMulInplaceTensor = "aten::_foreach_mul_.Tensor(Tensor(a!)[] self, Tensor other) -> ()";
            /// Sets each tensor to zero.
            pub ForeachZeroInplace = "aten::_foreach_zero_(Tensor(a!)[] self) -> ()";
            /// The norm of each tensor.
            pub ForeachNormScalar = "aten::_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]";
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
