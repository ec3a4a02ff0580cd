//! Draws random numbers.

use opgrid_core::conversions::{IntList, Integer};
use opgrid_core::{DType, Device, Result};

declarations! {
    /// # Random numbers
    random {
        bernoulli {
            /// Ones with the probabilities that the elements are, and zeros.
            pub Bernoulli = "aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor", out;
            pub BernoulliP = "aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor";
            pub BernoulliInplaceFloat = "aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)";
            pub BernoulliFloatOut = "aten::bernoulli.float_out(Tensor self, float p=0.5, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)";
            pub BernoulliTensor = "aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor", in_place, out;
        }

        binomial {
            /// How many of `count` trials succeed, each with probability `prob`.
            pub Binomial = "aten::binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor", out;
        }

        cauchy {
            pub Cauchy = "aten::cauchy(Tensor self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor", in_place, out;
        }

        dropout {
            /// Zero instead of randomly chosen elements, and larger ones for the others.
            pub Dropout = "aten::dropout(Tensor input, float p, bool train) -> Tensor";
            pub DropoutInplace = "aten::dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)";
            /// Zero instead of all elements of randomly chosen channels, and larger ones for the others.
            pub FeatureDropout = "aten::feature_dropout(Tensor input, float p, bool train) -> Tensor";
            pub FeatureDropoutInplace = "aten::feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)";
            /// What `selu` tends to instead of randomly chosen elements, scaled so that mean and variance stay.
            pub AlphaDropout = "aten::alpha_dropout(Tensor input, float p, bool train) -> Tensor";
            pub AlphaDropoutInplace = "aten::alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)";
            /// What `selu` tends to instead of all elements of randomly chosen channels, scaled so that mean and variance stay.
            pub FeatureAlphaDropout = "aten::feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor";
            pub FeatureAlphaDropoutInplace = "aten::feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)";
            pub NativeDropout = "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)", out;
            /// The gradient of `native_dropout` by where elements stay.
            pub NativeDropoutBackward = "aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor", out;
        }

        exponential {
            pub Exponential = "aten::exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor", in_place, out;
        }

        geometric {
            pub Geometric = "aten::geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor", in_place, out;
        }

        log_normal {
            pub LogNormal = "aten::log_normal(Tensor self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor", in_place, out;
        }

        multinomial {
            pub Multinomial = "aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor", out, method, arguments(num_samples);
        }

        normal {
            pub NormalInplace = "aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)";
        }

        normal_of_tensors {
            pub NormalTensorFloat = "aten::normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor", out;
            pub NormalFloatTensor = "aten::normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor", out;
            pub NormalTensorTensor = "aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor", out;
            pub NormalFloatFloat = "aten::normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            pub NormalFunctional = "aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor";
            pub NormalOut = "aten::normal.out(Tensor self, float mean=0., float std=1., *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)";
        }

        poisson {
            /// Numbers of Poisson distributions whose rates are the elements.
            pub Poisson = "aten::poisson(Tensor self, Generator? generator=None) -> Tensor", out;
        }

        rand {
            pub Rand = "aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            pub RandGenerator = "aten::rand.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
        }

        rand_like {
            pub RandLike = "aten::rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", out, method;
            pub RandLikeGenerator = "aten::rand_like.generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", out;
        }

        randint {
            pub Randint = "aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            pub RandintGenerator = "aten::randint.generator(SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            pub RandintLow = "aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            pub RandintLowGenerator = "aten::randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
        }

        randint_like {
            pub RandintLike = "aten::randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", out;
            pub RandintLikeGenerator = "aten::randint_like.generator(Tensor self, SymInt high, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", out;
            pub RandintLikeLowDtype = "aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", out;
            pub RandintLikeLowGeneratorDtype = "aten::randint_like.low_generator_dtype(Tensor self, SymInt low, SymInt high, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", out;
            pub RandintLikeTensor = "aten::randint_like.Tensor(Tensor self, Tensor high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", out;
            pub RandintLikeTensorGenerator = "aten::randint_like.Tensor_generator(Tensor self, Tensor high, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", out;
        }

        randn {
            pub Randn = "aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            pub RandnGenerator = "aten::randn.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
        }

        randn_like {
            pub RandnLike = "aten::randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", out, method;
            pub RandnLikeGenerator = "aten::randn_like.generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor", out;
        }

        random_integers {
            pub Random = "aten::random(Tensor self, *, Generator? generator=None) -> Tensor", in_place, out;
            pub RandomFrom = "aten::random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor", in_place, out;
            pub RandomTo = "aten::random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor", in_place, out;
        }

        randperm {
            pub Randperm = "aten::randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
            pub RandpermGenerator = "aten::randperm.generator(SymInt n, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", out;
        }

        rrelu {
            /// Random slopes for negative elements.
            pub Rrelu = "aten::rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor";
            pub RreluInplace = "aten::rrelu_(Tensor(a!) self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor(a!)";
            /// Random slopes for negative elements, which are written to `noise`.
            pub RreluWithNoise = "aten::rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor";
            pub RreluWithNoiseInplace = "aten::rrelu_with_noise_(Tensor(a!) self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor(a!)";
            pub RreluWithNoiseOut = "aten::rrelu_with_noise.out(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None, *, Tensor(a!) out) -> Tensor(a!)";
            /// Random slopes for negative elements, and those slopes as a second result.
            pub RreluWithNoiseFunctional = "aten::rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> (Tensor, Tensor noise_out)";
            /// The gradient of `rrelu`.
            pub RreluWithNoiseBackward = "aten::rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training, bool self_is_result) -> Tensor", out;
        }

        sample_dirichlet {
            /// Numbers of Dirichlet distributions, whose parameters stand along the last dimension.
            pub SampleDirichlet = "aten::_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor", out;
            /// The derivative of an element `x` of `_sample_dirichlet` by its own parameter, divided by `1 - x`.
            pub DirichletGrad = "aten::_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor", out;
        }

        standard_gamma {
            /// Numbers of gamma distributions of scale one, whose shape parameters are the elements.
            pub StandardGamma = "aten::_standard_gamma(Tensor self, Generator? generator=None) -> Tensor", out;
            /// The derivative of numbers that `_standard_gamma` gave by the shape parameters.
            pub StandardGammaGrad = "aten::_standard_gamma_grad(Tensor self, Tensor output) -> Tensor", out;
        }

        uniform {
            pub Uniform = "aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor", in_place, out;
        }
    }
}

/// # New tensors of random numbers
impl Tensor {
    /// A new row-major tensor of random numbers, evenly distributed from 0 to before 1.
    ///
    /// # Errors
    ///
    /// Those of [`Rand`].
    pub fn rand(size: impl IntList, dtype: DType, device: impl Into<Device>) -> Result<Self> {
        Rand.call(size.into_list().as_ref(), Some(dtype), None, Some(device.into()), None)
    }

    /// A new row-major tensor of random numbers, normally distributed with mean 0 and deviation 1.
    ///
    /// # Errors
    ///
    /// Those of [`Randn`].
    pub fn randn(size: impl IntList, dtype: DType, device: impl Into<Device>) -> Result<Self> {
        Randn.call(size.into_list().as_ref(), Some(dtype), None, Some(device.into()), None)
    }

    /// A new row-major tensor of random integers, evenly distributed from 0 to before `high`.
    ///
    /// # Errors
    ///
    /// Those of [`Randint`].
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid::prelude::*;
    ///
    /// let dice = Tensor::randint(6, 10, DType::I64, Device::CPU)?;
    /// assert!(dice.to_vec::<i64>()?.iter().all(|it| (0..6).contains(it)));
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn randint(
        high: impl Integer,
        size: impl IntList,
        dtype: DType,
        device: impl Into<Device>,
    ) -> Result<Self> {
        let size = size.into_list();
        Randint.call(high.to_i64(), size.as_ref(), Some(dtype), None, Some(device.into()), None)
    }

    /// In training, elements are zero with probability `p`, and the others are divided by `1 - p`; otherwise the tensor itself.
    ///
    /// # Errors
    ///
    /// Those of [`Dropout`].
    pub fn dropout(&self, p: f64, train: bool) -> Result<Self> {
        Dropout.call(self, p, train)
    }
}
