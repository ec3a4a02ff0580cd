//! Makes one element of many.

use opgrid_core::conversions::IntList;
use opgrid_core::{Result, Scalar};

declarations! {
    /// # Reductions
    reductions {
        all {
            /// Whether every element is other than zero.
            pub All = "aten::all(Tensor self) -> Tensor", out("all_out"), method;
            /// Whether every element is other than zero, over a dimension.
            pub AllDim = "aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", out("out"), method(all_dim);
            pub AllDims = "aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", out;
        }

        amax {
            /// The largest element over dimensions, all if none is named.
            pub Amax = "aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", out, method;
        }

        amin {
            /// The smallest element over dimensions, all if none is named.
            pub Amin = "aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", out, method;
        }

        aminmax {
            /// The smallest and the largest element, of all or over a dimension.
            pub Aminmax = "aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)", out, method;
            pub AminmaxAll = "aten::_aminmax(Tensor self) -> (Tensor, Tensor)", out;
            pub AminmaxDim = "aten::_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)", out;
        }

        any {
            /// Whether some element is other than zero.
            pub Any = "aten::any(Tensor self) -> Tensor", out("all_out"), method;
            /// Whether some element is other than zero, over a dimension.
            pub AnyDim = "aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", out("out"), method(any_dim);
            pub AnyDims = "aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", out;
        }

        argmax {
            /// Where the largest element is, of all or over a dimension.
            pub Argmax = "aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", out, method, arguments(dim);
        }

        argmin {
            /// Where the smallest element is, of all or over a dimension.
            pub Argmin = "aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", out, method, arguments(dim);
        }

        count_nonzero {
            /// How many elements are other than zero, of all or over a dimension.
            pub CountNonzero = "aten::count_nonzero(Tensor self, int? dim=None) -> Tensor", out, method;
            pub CountNonzeroDimIntList = "aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor", out;
        }

        cov {
            /// How variables vary together.
            pub Cov = "aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor";
            /// The Pearson correlation coefficients: the covariance divided by the standard deviations.
            pub Corrcoef = "aten::corrcoef(Tensor self) -> Tensor";
        }

        linalg_powsum {
            /// The sum of the powers of magnitudes, of all elements or over dimensions.
            pub LinalgPowsum = "aten::linalg__powsum(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor";
        }

        linalg_vector_norm {
            pub LinalgVectorNorm = "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", out;
        }

        logsumexp {
            /// The logarithm of the sum of exponentials over dimensions, all if none is named.
            pub Logsumexp = "aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", out, method, alias("special_logsumexp", out);
        }

        max {
            /// The largest of all elements.
            pub Max = "aten::max(Tensor self) -> Tensor", out("unary_out"), method;
            pub MaxDim = "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", out("dim_max", max, max_values), method(max_dim);
            pub MaxOther = "aten::max.other(Tensor self, Tensor other) -> Tensor", out("out");
        }

        mean {
            pub Mean = "aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", out("dtype_out"), method;
            pub MeanDim = "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", out("out"), method(mean_dim);
        }

        min {
            /// The smallest of all elements.
            pub Min = "aten::min(Tensor self) -> Tensor", out("unary_out"), method;
            pub MinDim = "aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", out("dim_min", min, min_indices), method(min_dim);
            pub MinOther = "aten::min.other(Tensor self, Tensor other) -> Tensor", out("out");
        }

        nanmean {
            pub Nanmean = "aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", out;
        }

        nansum {
            pub Nansum = "aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", out;
        }

        norm {
            pub NormScalar = "aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor", out, method, arguments();
            pub NormScalarOptDim = "aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor", out("out");
            pub NormScalarOptDimDtype = "aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor", out("dtype_out");
            pub NormScalarOptDtype = "aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor", out;
        }

        prod {
            pub Prod = "aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", out("out"), method;
            pub ProdDimInt = "aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", out("int_out"), method(prod_dim);
        }

        renorm {
            /// Slices along a dimension, shortened where their norm is larger than a bound.
            pub Renorm = "aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor", in_place, out, method;
        }

        std {
            pub Std = "aten::std(Tensor self, bool unbiased=True) -> Tensor";
            pub StdDim = "aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor", out("out");
            pub StdCorrection = "aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor", out;
        }

        std_mean {
            pub StdMean = "aten::std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)";
            pub StdMeanDim = "aten::std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)";
            pub StdMeanCorrection = "aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)", out;
        }

        sum {
            pub Sum = "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", out("out"), method;
            pub SumDim = "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", out("IntList_out"), method(sum_dim);
        }

        sum_to_size {
            /// Sums over the dimensions along which another shape would be stretched to that of a tensor.
            pub SumToSize = "aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor", method;
        }

        var {
            pub Var = "aten::var(Tensor self, bool unbiased=True) -> Tensor";
            pub VarDim = "aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor", out("out");
            pub VarCorrection = "aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor", out;
        }

        var_mean {
            pub VarMean = "aten::var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)";
            pub VarMeanDim = "aten::var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)";
            pub VarMeanCorrection = "aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)", out;
        }
    }
}

/// # Variance
impl Tensor {
    /// The standard deviation over dimensions, all if none is named: the sum of squares is divided by the number of elements less
    /// `correction`.
    ///
    /// # Errors
    ///
    /// Those of [`StdCorrection`].
    pub fn std(&self, dim: impl IntList, correction: impl Into<Scalar>, keepdim: bool) -> Result<Self> {
        StdCorrection.call(self, Some(dim.into_list().as_ref()), Some(correction.into()), keepdim)
    }

    /// The variance over dimensions, all if none is named: the sum of squares is divided by the number of elements less
    /// `correction`.
    ///
    /// # Errors
    ///
    /// Those of [`VarCorrection`].
    pub fn var(&self, dim: impl IntList, correction: impl Into<Scalar>, keepdim: bool) -> Result<Self> {
        VarCorrection.call(self, Some(dim.into_list().as_ref()), Some(correction.into()), keepdim)
    }
}
