//! Makes one element of those under a window that moves over images.

declarations! {
    /// # Pooling
    pooling {
        adaptive_avg_pool {
            /// Averages of as many parts of lines.
            pub AdaptiveAvgPool1d = "aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor", out;
            /// Averages of as many parts of images.
            pub AdaptiveAvgPool2d = "aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor", out;
            /// Averages of as many parts of images with depth.
            pub AdaptiveAvgPool3d = "aten::adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor", out;
            /// What `adaptive_avg_pool2d` is made of.
            pub AdaptiveAvgPool2dDirect = "aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor", out;
            /// Its gradient.
            pub AdaptiveAvgPool2dBackward = "aten::_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor", out;
            /// What `adaptive_avg_pool3d` is made of.
            pub AdaptiveAvgPool3dDirect = "aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor", out;
            /// Its gradient.
            pub AdaptiveAvgPool3dBackward = "aten::_adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor", out;
        }

        adaptive_max_pool {
            /// The largest elements of as many parts of lines.
            pub AdaptiveMaxPool1d = "aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)";
            /// The largest elements of as many parts of images.
            pub AdaptiveMaxPool2d = "aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)", out("out", out, indices);
            /// The largest elements of as many parts of images with depth.
            pub AdaptiveMaxPool3d = "aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)", out("out", out, indices);
            /// The gradient of `adaptive_max_pool2d` by the elements that were chosen.
            pub AdaptiveMaxPool2dBackward = "aten::adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor", out("grad_input", grad_input);
            /// The gradient of `adaptive_max_pool3d` by the elements that were chosen.
            pub AdaptiveMaxPool3dBackward = "aten::adaptive_max_pool3d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor", out("grad_input", grad_input);
        }

        avg_pool {
            /// Averages along lines.
            pub AvgPool1d = "aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, bool count_include_pad=True) -> Tensor", out;
            /// Averages under a window that moves over images.
            pub AvgPool2d = "aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor", out;
            /// Averages under a window that moves over images with depth.
            pub AvgPool3d = "aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor", out;
            /// The gradient of `avg_pool3d`.
            pub AvgPool3dBackward = "aten::avg_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor", out("grad_input", grad_input);
            /// The gradient of `avg_pool2d`.
            pub AvgPool2dBackward = "aten::avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor", out("grad_input", grad_input);
        }

        fractional_max_pool {
            /// The largest elements of images under windows at random places, and their indices.
            pub FractionalMaxPool2d = "aten::fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> (Tensor, Tensor)", out("output", output, indices);
            /// The gradient by the elements that were chosen.
            pub FractionalMaxPool2dBackward = "aten::fractional_max_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] output_size, Tensor indices) -> Tensor", out("grad_input", grad_input);
            /// The largest elements of images with depth under windows at random places, and their indices.
            pub FractionalMaxPool3d = "aten::fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples) -> (Tensor, Tensor)", out("output", output, indices);
            /// The gradient by the elements that were chosen.
            pub FractionalMaxPool3dBackward = "aten::fractional_max_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] output_size, Tensor indices) -> Tensor", out("grad_input", grad_input);
        }

        max_pool {
            /// The largest elements along lines.
            pub MaxPool1d = "aten::max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> Tensor";
            /// The maximum of each window and its index.
            pub MaxPool1dWithIndices = "aten::max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)";
            /// The largest elements under a window that moves over images.
            pub MaxPool2d = "aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor";
            /// The maximum of each window and its index.
            pub MaxPool2dWithIndices = "aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)", out("out", out, indices);
            /// The gradient by the elements that were chosen.
            pub MaxPool2dWithIndicesBackward = "aten::max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor", out("grad_input", grad_input);
            /// The largest elements under a window that moves over images with depth.
            pub MaxPool3d = "aten::max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> Tensor";
            /// The maximum of each window and its index.
            pub MaxPool3dWithIndices = "aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)", out("out", out, indices);
            /// The gradient by the elements that were chosen in volumes.
            pub MaxPool3dWithIndicesBackward = "aten::max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, int[3] dilation, bool ceil_mode, Tensor indices) -> Tensor", out("grad_input", grad_input);
        }

        max_unpool {
            /// Elements at places of larger images, and zeros elsewhere.
            pub MaxUnpool2d = "aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor", out;
            /// Elements at places of larger images with depth, and zeros elsewhere.
            pub MaxUnpool3d = "aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor", out;
        }
    }
}
