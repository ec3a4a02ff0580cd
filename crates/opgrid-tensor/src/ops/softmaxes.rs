//! Divides exponentials by their sum.

declarations! {
    /// # Softmax
    softmaxes {
        log_softmax {
            pub LogSoftmax = "aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", out;
            pub LogSoftmaxBackwardData = "aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor", out;
            pub LogSoftmaxInt = "aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", out, method, arguments(dim);
            /// As `log_softmax`.
            pub SpecialLogSoftmax = "aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor";
        }

        softmax {
            pub Softmax = "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", out;
            pub SoftmaxBackwardData = "aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor", out("out", grad_input);
            pub SoftmaxInt = "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", out, method, arguments(dim);
            /// As `softmax`.
            pub SpecialSoftmax = "aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor";
        }
    }
}
