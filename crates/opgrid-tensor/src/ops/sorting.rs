//! Puts elements in order, or looks for them where they are so.

declarations! {
    /// # Sorting and searching
    sorting {
        argsort {
            /// Where the elements were that are in order along a dimension.
            pub Argsort = "aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", method;
            pub ArgsortStable = "aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor", out;
        }

        bincount {
            pub Bincount = "aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor", out;
        }

        bucketize {
            pub BucketizeTensor = "aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor", out;
            pub BucketizeScalar = "aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor", out;
        }

        histc {
            pub Histc = "aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", out;
        }

        histogram {
            /// How many elements lie between edges, and the edges.
            pub HistogramBinsTensor = "aten::histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)", out;
            /// How many elements lie in bins of equal width, and the edges of the bins.
            pub HistogramBinCt = "aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)", out;
            /// How many points lie in bins of a grid, and the edges along each coordinate.
            pub Histogramdd = "aten::histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)";
            /// How many points lie in bins of a grid, with as many bins along each coordinate.
            pub HistogramddIntBins = "aten::histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)";
            /// How many points lie in bins of a grid with the given edges.
            pub HistogramddTensorListBins = "aten::histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)";
            /// The edges of the bins of `histogramdd`.
            pub HistogramddBinEdges = "aten::_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor[]", out;
            /// The sums of `histogramdd` by numbers of bins.
            pub HistogramddFromBinCts = "aten::_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor", out;
            /// The sums of `histogramdd` by edges.
            pub HistogramddFromBinTensors = "aten::_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False) -> Tensor", out;
        }

        isin {
            pub IsinTensorTensor = "aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor", out;
            pub IsinTensorScalar = "aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor", out;
            pub IsinScalarTensor = "aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor", out;
        }

        kthvalue {
            /// The element of a rank along a dimension, and where it is.
            pub Kthvalue = "aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", out("values"), method;
        }

        median {
            pub Median = "aten::median(Tensor self) -> Tensor", out, method;
            pub MedianDim = "aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", out("dim_values"), method(median_dim);
        }

        mode {
            /// The element that is there most often along a dimension, and where it is.
            pub Mode = "aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", out("values"), method;
        }

        msort {
            /// The elements in order along the first dimension.
            pub Msort = "aten::msort(Tensor self) -> Tensor", out, method;
        }

        nanmedian {
            pub Nanmedian = "aten::nanmedian(Tensor self) -> Tensor", out, method;
            pub NanmedianDim = "aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", out("dim_values"), method(nanmedian_dim);
        }

        nonzero {
            /// Where the elements are that are other than zero.
            pub Nonzero = "aten::nonzero(Tensor self) -> Tensor", out, method;
            /// The places of the first `size` elements that are other than zero, and `fill_value` where there are fewer.
            pub NonzeroStatic = "aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor", out;
            /// The indices of nonzero elements, as one tensor per dimension.
            pub NonzeroNumpy = "aten::nonzero_numpy(Tensor self) -> Tensor[]", method;
        }

        quantile {
            /// The numbers below which parts of the elements lie.
            pub Quantile = "aten::quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor", out;
            /// The number below which a part of the elements lies.
            pub QuantileScalar = "aten::quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor", out("scalar_out");
            /// As `quantile`, of the elements that are no NaN.
            pub Nanquantile = "aten::nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor", out;
            /// As `quantile`, of the elements that are no NaN.
            pub NanquantileScalar = "aten::nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor", out("scalar_out");
        }

        searchsorted {
            pub SearchsortedTensor = "aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor", out;
            pub SearchsortedScalar = "aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor", out;
        }

        sort {
            /// The elements in order along a dimension, and where they were.
            pub Sort = "aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", out("values"), method;
            pub SortStable = "aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", out("values_stable");
        }

        topk {
            /// The largest or the smallest elements along a dimension, and where they are.
            pub Topk = "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)", out("values"), method, arguments(k);
        }

        unique {
            pub Unique2 = "aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)", out;
            pub Unique = "aten::_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)", out;
        }

        unique_consecutive {
            pub UniqueConsecutive = "aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)", out;
        }

        unique_dim {
            pub UniqueDim = "aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)", out;
            pub UniqueDimConsecutive = "aten::unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)", out;
        }

        value_selecting_reduction_backward {
            /// The gradient of operators that choose elements along a dimension.
            pub ValueSelectingReductionBackward = "aten::value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes, bool keepdim) -> Tensor";
        }
    }
}
