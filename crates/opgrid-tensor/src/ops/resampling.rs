//! Computes images of other sizes, or puts their elements elsewhere.

declarations! {
    /// # Resampling
    resampling {
        affine_grid_generator {
            /// The grid of an affine map.
            pub AffineGridGenerator = "aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor", out;
            /// The gradient of the affine map.
            pub AffineGridGeneratorBackward = "aten::affine_grid_generator_backward(Tensor grad, SymInt[] size, bool align_corners) -> Tensor";
        }

        grid_sampler {
            /// Images, read at the places that a grid names.
            pub GridSampler = "aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor";
            /// Samples images with two dimensions at the positions of a grid.
            pub GridSampler2d = "aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor", out;
            /// Samples volumes at the positions of a grid.
            pub GridSampler3d = "aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor", out;
            /// The gradients of images with two dimensions and of the grid.
            pub GridSampler2dBackward = "aten::grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)", out;
            /// The gradients of volumes and of the grid.
            pub GridSampler3dBackward = "aten::grid_sampler_3d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)", out;
        }

        im2col {
            /// The patches of images as columns.
            pub Im2col = "aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor", out;
            /// Sums of columns as images.
            pub Col2im = "aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor", out;
        }

        pixel_shuffle {
            /// Channels as elements between others.
            pub PixelShuffle = "aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", out;
            /// Elements between others as channels.
            pub PixelUnshuffle = "aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", out;
            /// The channels of all groups in turn.
            pub ChannelShuffle = "aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor", out;
            pub NativeChannelShuffle = "aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor";
        }

        upsample_aa {
            /// Images of other sizes, by a triangle.
            pub UpsampleBilinear2dAa = "aten::_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", out;
            pub UpsampleBilinear2dAaVec = "aten::_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor";
            /// The gradient of `_upsample_bilinear2d_aa`.
            pub UpsampleBilinear2dAaBackward = "aten::_upsample_bilinear2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", out("grad_input", grad_input);
            /// Images of other sizes, by a cubic polynomial.
            pub UpsampleBicubic2dAa = "aten::_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", out;
            pub UpsampleBicubic2dAaVec = "aten::_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor";
            /// The gradient of `_upsample_bicubic2d_aa`.
            pub UpsampleBicubic2dAaBackward = "aten::_upsample_bicubic2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", out("grad_input", grad_input);
        }

        upsample_bicubic2d {
            /// Images of other sizes, of neighbours by cubic polynomials.
            pub UpsampleBicubic2d = "aten::upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", out;
            pub UpsampleBicubic2dVec = "aten::upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor";
            /// The gradient of `upsample_bicubic2d`.
            pub UpsampleBicubic2dBackward = "aten::upsample_bicubic2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", out("grad_input", grad_input);
        }

        upsample_linear {
            /// Lines of other sizes, of neighbours by distance.
            pub UpsampleLinear1d = "aten::upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None) -> Tensor", out;
            pub UpsampleLinear1dVec = "aten::upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor";
            /// The gradient of `upsample_linear1d`.
            pub UpsampleLinear1dBackward = "aten::upsample_linear1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, bool align_corners, float? scales=None) -> Tensor", out("grad_input", grad_input);
            /// Images of other sizes, of neighbours by distance.
            pub UpsampleBilinear2d = "aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", out;
            pub UpsampleBilinear2dVec = "aten::upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor";
            /// The gradient of `upsample_bilinear2d`.
            pub UpsampleBilinear2dBackward = "aten::upsample_bilinear2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", out("grad_input", grad_input);
            /// Images with depth of other sizes, of neighbours by distance.
            pub UpsampleTrilinear3d = "aten::upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor", out;
            pub UpsampleTrilinear3dVec = "aten::upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor";
            /// The gradient of `upsample_trilinear3d`.
            pub UpsampleTrilinear3dBackward = "aten::upsample_trilinear3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor", out("grad_input", grad_input);
        }

        upsample_nearest {
            /// Lines of other sizes, of the nearest elements.
            pub UpsampleNearest1d = "aten::upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor", out;
            pub UpsampleNearest1dVec = "aten::upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor";
            /// The gradient of `upsample_nearest1d`.
            pub UpsampleNearest1dBackward = "aten::upsample_nearest1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, float? scales=None) -> Tensor", out("grad_input", grad_input);
            /// Images of other sizes, of the nearest elements.
            pub UpsampleNearest2d = "aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor", out;
            pub UpsampleNearest2dVec = "aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor";
            /// The gradient of `upsample_nearest2d`.
            pub UpsampleNearest2dBackward = "aten::upsample_nearest2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, float? scales_h=None, float? scales_w=None) -> Tensor", out("grad_input", grad_input);
            /// Images with depth of other sizes, of the nearest elements.
            pub UpsampleNearest3d = "aten::upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor", out;
            pub UpsampleNearest3dVec = "aten::upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor";
            /// The gradient of `upsample_nearest3d`.
            pub UpsampleNearest3dBackward = "aten::upsample_nearest3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor", out("grad_input", grad_input);
            /// Lines of other sizes, of the elements nearest to the middle of each place.
            pub UpsampleNearestExact1d = "aten::_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor", out;
            pub UpsampleNearestExact1dVec = "aten::_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor";
            /// The gradient of `_upsample_nearest_exact1d`.
            pub UpsampleNearestExact1dBackward = "aten::_upsample_nearest_exact1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, float? scales=None) -> Tensor", out("grad_input", grad_input);
            /// Images of other sizes, of the elements nearest to the middle of each place.
            pub UpsampleNearestExact2d = "aten::_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor", out;
            pub UpsampleNearestExact2dVec = "aten::_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor";
            /// The gradient of `_upsample_nearest_exact2d`.
            pub UpsampleNearestExact2dBackward = "aten::_upsample_nearest_exact2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, float? scales_h=None, float? scales_w=None) -> Tensor", out("grad_input", grad_input);
            /// Images with depth of other sizes, of the elements nearest to the middle of each place.
            pub UpsampleNearestExact3d = "aten::_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor", out;
            pub UpsampleNearestExact3dVec = "aten::_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor";
            /// The gradient of `_upsample_nearest_exact3d`.
            pub UpsampleNearestExact3dBackward = "aten::_upsample_nearest_exact3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor", out("grad_input", grad_input);
        }
    }
}
