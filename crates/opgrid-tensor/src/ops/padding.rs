//! Puts a frame around tensors.

declarations! {
    /// # Padding
    padding {
        constant {
            /// A frame of one number around the tensor.
            pub ConstantPadNd = "aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor", out;
        }

        pad {
            pub Pad = "aten::pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor";
            pub PadEnum = "aten::_pad_enum(Tensor self, SymInt[] pad, int mode, float? value=None) -> Tensor";
            pub PadCircular = "aten::_pad_circular(Tensor self, SymInt[] pad) -> Tensor";
        }

        reflection {
            pub ReflectionPad1d = "aten::reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor", out;
            pub ReflectionPad2d = "aten::reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor", out;
            pub ReflectionPad3d = "aten::reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor", out;
            /// The gradient of `reflection_pad1d`.
            pub ReflectionPad1dBackward = "aten::reflection_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor", out("grad_input", grad_input);
            /// The gradient of `reflection_pad2d`.
            pub ReflectionPad2dBackward = "aten::reflection_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor", out("grad_input", grad_input);
            /// The gradient of `reflection_pad3d`.
            pub ReflectionPad3dBackward = "aten::reflection_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor", out("grad_input", grad_input);
        }

        replication {
            pub ReplicationPad1d = "aten::replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor", out;
            pub ReplicationPad2d = "aten::replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor", out;
            pub ReplicationPad3d = "aten::replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor", out;
            /// The gradient of `replication_pad1d`.
            pub ReplicationPad1dBackward = "aten::replication_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor", out("grad_input", grad_input);
            /// The gradient of `replication_pad2d`.
            pub ReplicationPad2dBackward = "aten::replication_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor", out("grad_input", grad_input);
            /// The gradient of `replication_pad3d`.
            pub ReplicationPad3dBackward = "aten::replication_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor", out("grad_input", grad_input);
        }
    }
}
