//! Divides exponentials by their sum.

use opgrid_core::Result;

use crate::tensor::Tensor;

declarations! {
    softmaxes {
        log_softmax {
            pub LogSoftmax = "aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", out;
            pub LogSoftmaxBackwardData = "aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor", out;
            pub LogSoftmaxInt = "aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", out;
        }

        softmax {
            pub Softmax = "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", out;
            pub SoftmaxBackwardData = "aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor", out("out", grad_input);
            pub SoftmaxInt = "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", out;
        }
    }
}

impl Tensor {
    /// The logarithm of softmax along a dimension.
    ///
    /// # Errors
    ///
    /// Those of [`LogSoftmaxInt`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::Tensor;
    ///
    /// let x = Tensor::from_slice(&[0.0f32, 0.0], &[2])?;
    /// assert_eq!(x.log_softmax(0)?.exp()?.to_vec::<f32>()?, [0.5, 0.5]);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn log_softmax(&self, dim: i64) -> Result<Self> {
        LogSoftmaxInt.call(self, dim, None)
    }
}

impl Tensor {
    /// Exponentials divided by their sum along a dimension.
    ///
    /// # Errors
    ///
    /// Those of [`SoftmaxInt`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::Tensor;
    ///
    /// let x = Tensor::from_slice(&[0.0f32, 0.0], &[2])?;
    /// assert_eq!(x.softmax(0)?.to_vec::<f32>()?, [0.5, 0.5]);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn softmax(&self, dim: i64) -> Result<Self> {
        SoftmaxInt.call(self, dim, None)
    }
}
