//! Activation functions of networks, and their slopes.

declarations! {
    /// # Activation functions
    activations {
        celu {
            /// `elu` whose slope is one at zero for every `alpha`.
            pub Celu = "aten::celu(Tensor self, Scalar alpha=1.) -> Tensor", in_place, out, method;
        }

        elu {
            /// An exponential function for negative elements.
            pub Elu = "aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", in_place, out, method, arguments(alpha);
        }

        elu_backward {
            pub EluBackward = "aten::elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor", out("grad_input", grad_input);
        }

        gelu {
            /// Elements times the part of a normal distribution that lies below them.
            pub Gelu = "aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor", in_place, out, method;
        }

        gelu_backward {
            pub GeluBackward = "aten::gelu_backward(Tensor grad_output, Tensor self, *, str approximate=\"none\") -> Tensor", out("grad_input", grad_input);
            /// The gradient of `gelu` without approximation, of operators that have derivatives of any order.
            pub InfinitelyDifferentiableGeluBackward = "aten::infinitely_differentiable_gelu_backward(Tensor grad, Tensor self) -> Tensor";
        }

        glu {
            /// The first half of a dimension times the logistic function of the second one.
            pub Glu = "aten::glu(Tensor self, int dim=-1) -> Tensor", out, method;
            /// The gradient of `glu`.
            pub GluBackward = "aten::glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor", out("grad_input", grad_input);
            /// The tangent of `glu`.
            pub GluJvp = "aten::glu_jvp(Tensor glu, Tensor x, Tensor dx, int dim) -> Tensor", out;
            /// The tangent of the gradient of `glu`.
            pub GluBackwardJvp = "aten::glu_backward_jvp(Tensor grad_x, Tensor grad_glu, Tensor x, Tensor dgrad_glu, Tensor dx, int dim) -> Tensor", out;
        }

        hardshrink {
            /// Zero instead of elements near it.
            pub Hardshrink = "aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", out, method;
            /// The gradient of `hardshrink`.
            pub HardshrinkBackward = "aten::hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor", out("grad_input", grad_input);
        }

        hardsigmoid {
            /// A logistic function of straight lines.
            pub Hardsigmoid = "aten::hardsigmoid(Tensor self) -> Tensor", in_place, out, method;
            /// The gradient of `hardsigmoid`.
            pub HardsigmoidBackward = "aten::hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor", out("grad_input", grad_input);
        }

        hardswish {
            /// Elements times a logistic function of straight lines.
            pub Hardswish = "aten::hardswish(Tensor self) -> Tensor", in_place, out, method;
            /// The gradient of `hardswish`.
            pub HardswishBackward = "aten::hardswish_backward(Tensor grad_output, Tensor self) -> Tensor", out;
        }

        hardtanh {
            /// Elements limited to a range.
            pub Hardtanh = "aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", in_place, out, method;
        }

        hardtanh_backward {
            pub HardtanhBackward = "aten::hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor", out("grad_input", grad_input);
        }

        leaky_relu {
            /// A small slope for negative elements.
            pub LeakyRelu = "aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", in_place, out, method;
        }

        leaky_relu_backward {
            pub LeakyReluBackward = "aten::leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor", out("grad_input", grad_input);
        }

        log_sigmoid {
            /// The logarithm of the logistic function.
            pub LogSigmoid = "aten::log_sigmoid(Tensor self) -> Tensor", out, method;
        }

        log_sigmoid_forward {
            pub LogSigmoidForward = "aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)";
            /// The gradient of `log_sigmoid`.
            pub LogSigmoidBackward = "aten::log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor", out("grad_input", grad_input);
            pub LogSigmoidForwardOutput = "aten::log_sigmoid_forward.output(Tensor self, *, Tensor(a!) output, Tensor(b!) buffer) -> (Tensor(a!), Tensor(b!))";
        }

        mish {
            /// Elements times the hyperbolic tangent of their softplus.
            pub Mish = "aten::mish(Tensor self) -> Tensor", in_place, out, method;
            /// The gradient of `mish`.
            pub MishBackward = "aten::mish_backward(Tensor grad_output, Tensor self) -> Tensor";
        }

        prelu {
            /// Slopes of their own for negative elements.
            pub Prelu = "aten::prelu(Tensor self, Tensor weight) -> Tensor", method;
            pub PreluKernel = "aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor";
            pub PreluKernelBackward = "aten::_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)";
        }

        relu6 {
            /// Elements limited to what lies from 0 to 6.
            pub Relu6 = "aten::relu6(Tensor self) -> Tensor", in_place, method;
        }

        selu {
            /// `elu` with the numbers that keep mean and variance.
            pub Selu = "aten::selu(Tensor self) -> Tensor", in_place, method;
        }

        silu {
            /// Elements times their logistic function.
            pub Silu = "aten::silu(Tensor self) -> Tensor", in_place, out, method;
        }

        silu_backward {
            pub SiluBackward = "aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor", out("grad_input", grad_input);
        }

        softplus {
            /// A smooth step from zero to elements.
            pub Softplus = "aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", out, method, arguments();
        }

        softplus_backward {
            pub SoftplusBackward = "aten::softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor", out("grad_input", grad_input);
        }

        softshrink {
            /// Elements moved towards zero.
            pub Softshrink = "aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", out, method;
            /// The gradient of `softshrink`.
            pub SoftshrinkBackward = "aten::softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor", out("grad_input", grad_input);
        }

        threshold {
            /// A number instead of elements that are not above another one.
            pub Threshold = "aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", in_place, out, method;
        }

        threshold_backward {
            pub ThresholdBackward = "aten::threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor", out("grad_input", grad_input);
        }
    }
}
