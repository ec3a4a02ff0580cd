//! Makes tensors from sizes and options.

use opgrid_core::conversions::{IntList, Integer};
use opgrid_core::{DType, Device, Result, Scalar};

declarations! {
    /// # New tensors like this one
    factories {
        arange {
            pub Arange = "aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            pub ArangeStart = "aten::arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor";
            pub ArangeStartStep = "aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out("start_out");
        }

        empty {
            pub EmptyMemoryFormat = "aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", out("out");
        }

        empty_like {
            pub EmptyLike = "aten::empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", out, method;
        }

        empty_permuted {
            pub EmptyPermuted = "aten::empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
        }

        empty_strided {
            pub EmptyStrided = "aten::empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
        }

        eye {
            pub Eye = "aten::eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            pub EyeM = "aten::eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
        }

        full {
            pub Full = "aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
        }

        full_like {
            pub FullLike = "aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", out, method;
            pub ZerosLike = "aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", out, method;
            pub OnesLike = "aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", out, method;
        }

        linspace {
            pub LinspaceTensorTensor = "aten::linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            pub LinspaceTensorScalar = "aten::linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            pub LinspaceScalarTensor = "aten::linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            pub Linspace = "aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
        }

        logspace {
            pub Logspace = "aten::logspace(Scalar start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            pub LogspaceTensorTensor = "aten::logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            pub LogspaceTensorScalar = "aten::logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            pub LogspaceScalarTensor = "aten::logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
        }

        new_empty {
            pub NewEmpty = "aten::new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            pub NewEmptyStrided = "aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
        }

        new_full {
            pub NewFull = "aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            pub NewZeros = "aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            pub NewOnes = "aten::new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
        }

        ones {
            pub Ones = "aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
        }

        range {
            /// The numbers from `start` to `end`, with the end.
            pub Range = "aten::range(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor";
            /// The numbers from `start` to `end` in steps, with the end where a step meets it.
            pub RangeStep = "aten::range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out("out");
            pub RangeOutWithoutStep = "aten::range.out_(Scalar start, Scalar end, *, Tensor(a!) out) -> Tensor(a!)";
        }

        scalar_tensor {
            pub ScalarTensor = "aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
        }

        tril_indices {
            pub TrilIndices = "aten::tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            pub TriuIndices = "aten::triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
        }

        windows {
            /// A triangle, for `window_length` points.
            pub BartlettWindow = "aten::bartlett_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            /// A triangle; unless periodic it is symmetric.
            pub BartlettWindowPeriodic = "aten::bartlett_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out("periodic_out");
            /// Blackman's window, for `window_length` points.
            pub BlackmanWindow = "aten::blackman_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            /// Blackman's window; unless periodic it is symmetric.
            pub BlackmanWindowPeriodic = "aten::blackman_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out("periodic_out");
            /// Hamming's window, a raised cosine, for `window_length` points.
            pub HammingWindow = "aten::hamming_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            /// Hamming's window, a raised cosine; unless periodic it is symmetric.
            pub HammingWindowPeriodic = "aten::hamming_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out("periodic_out");
            /// Hamming's window, a raised cosine, of another shape.
            pub HammingWindowPeriodicAlpha = "aten::hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out("periodic_alpha_out");
            /// Hamming's window, a raised cosine, of another shape.
            pub HammingWindowPeriodicAlphaBeta = "aten::hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out("periodic_alpha_beta_out");
            /// Hann's window, a raised cosine that begins with zero, for `window_length` points.
            pub HannWindow = "aten::hann_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            /// Hann's window, a raised cosine that begins with zero; unless periodic it is symmetric.
            pub HannWindowPeriodic = "aten::hann_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out("periodic_out");
            /// Kaiser's window, of Bessel functions, for `window_length` points.
            pub KaiserWindow = "aten::kaiser_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            /// Kaiser's window, of Bessel functions; unless periodic it is symmetric.
            pub KaiserWindowPeriodic = "aten::kaiser_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out("periodic_out");
            /// Kaiser's window, of Bessel functions, of another shape.
            pub KaiserWindowBeta = "aten::kaiser_window.beta(int window_length, bool periodic, float beta, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out("beta_out");
        }

        zeros {
            pub Zeros = "aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            pub ZeroInplace = "aten::zero_(Tensor(a!) self) -> Tensor(a!)";
            pub Zero = "aten::zero(Tensor self) -> Tensor", out;
        }
    }
}

/// # New tensors
impl Tensor {
    /// The numbers from `start` to before `end`; of integers an int64 tensor.
    ///
    /// # Errors
    ///
    /// Those of [`ArangeStartStep`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::Tensor;
    ///
    /// assert_eq!(Tensor::arange(1, 7, 2)?.to_string(), "tensor([1, 3, 5])");
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn arange(start: impl Into<Scalar>, end: impl Into<Scalar>, step: impl Into<Scalar>) -> Result<Self> {
        ArangeStartStep.call(start.into(), end.into(), step.into(), None, None, None, None)
    }

    /// A new row-major tensor with any content.
    ///
    /// # Errors
    ///
    /// Those of [`EmptyMemoryFormat`].
    pub fn empty(size: impl IntList, dtype: DType, device: impl Into<Device>) -> Result<Self> {
        EmptyMemoryFormat.call(size.into_list().as_ref(), Some(dtype), None, Some(device.into()), None, None)
    }

    /// A matrix with ones on the diagonal and zeros elsewhere.
    ///
    /// # Errors
    ///
    /// Those of [`EyeM`].
    pub fn eye(
        rows: impl Integer,
        columns: impl Integer,
        dtype: DType,
        device: impl Into<Device>,
    ) -> Result<Self> {
        EyeM.call(rows.to_i64(), columns.to_i64(), Some(dtype), None, Some(device.into()), None)
    }

    /// A new tensor with `value` everywhere; without a dtype it has that of the number.
    ///
    /// # Errors
    ///
    /// Those of [`Full`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_core::Device;
    /// use opgrid::Tensor;
    ///
    /// let x = Tensor::full(&[2], 7, None, Device::CPU)?;
    /// assert_eq!(x.to_string(), "tensor([7, 7])");
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn full(
        size: impl IntList,
        value: impl Into<Scalar>,
        dtype: impl Into<Option<DType>>,
        device: impl Into<Device>,
    ) -> Result<Self> {
        Full.call(size.into_list().as_ref(), value.into(), dtype.into(), None, Some(device.into()), None)
    }

    /// `steps` numbers from `start` to `end`, both included, in the default dtype.
    ///
    /// # Errors
    ///
    /// Those of [`Linspace`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::Tensor;
    ///
    /// assert_eq!(Tensor::linspace(0, 1, 5)?.to_vec::<f32>()?, [0.0, 0.25, 0.5, 0.75, 1.0]);
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn linspace(start: impl Into<Scalar>, end: impl Into<Scalar>, steps: impl Integer) -> Result<Self> {
        Linspace.call(start.into(), end.into(), steps.to_i64(), None, None, None, None)
    }

    /// A new tensor of ones.
    ///
    /// # Errors
    ///
    /// Those of [`Ones`].
    pub fn ones(size: impl IntList, dtype: DType, device: impl Into<Device>) -> Result<Self> {
        Ones.call(size.into_list().as_ref(), Some(dtype), None, Some(device.into()), None)
    }

    /// A new tensor of zeros.
    ///
    /// # Errors
    ///
    /// Those of [`Zeros`].
    pub fn zeros(size: impl IntList, dtype: DType, device: impl Into<Device>) -> Result<Self> {
        Zeros.call(size.into_list().as_ref(), Some(dtype), None, Some(device.into()), None)
    }
}
