//! Reads or writes the elements that indices or masks choose.

declarations! {
    /// # Indexing
    indexing {
        argwhere {
            /// The indices of elements that are not zero.
            pub Argwhere = "aten::argwhere(Tensor self) -> Tensor", method;
        }

        combinations {
            /// All choices of `r` elements of a vector, each once or with repetitions.
            pub Combinations = "aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor";
        }

        diag {
            pub DiagEmbed = "aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", out;
            pub Diag = "aten::diag(Tensor self, int diagonal=0) -> Tensor", out;
            pub Diagflat = "aten::diagflat(Tensor self, int offset=0) -> Tensor";
        }

        fill_diagonal {
            /// Sets the elements of the main diagonal to a number.
            pub FillDiagonalInplace = "aten::fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)";
        }

        flip {
            /// Dimensions in reverse order.
            pub Flip = "aten::flip(Tensor self, int[] dims) -> Tensor", out, method;
            pub Fliplr = "aten::fliplr(Tensor self) -> Tensor";
            pub Flipud = "aten::flipud(Tensor self) -> Tensor";
        }

        gather {
            pub Gather = "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", out, method;
            /// The gradient of `gather`.
            pub GatherBackward = "aten::gather_backward(Tensor grad, Tensor self, int dim, Tensor index, bool sparse_grad) -> Tensor";
        }

        index {
            pub IndexTensor = "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", out, method;
            /// Reads elements at indices that are known to be in range; they are checked all the same.
            pub UnsafeIndexTensor = "aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor";
        }

        index_add {
            /// Slices added at the indices of a dimension, each `alpha` times.
            pub IndexAdd = "aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor", in_place, out, method;
        }

        index_copy {
            /// Slices written at the indices of a dimension.
            pub IndexCopy = "aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", in_place, out, method;
        }

        index_fill {
            /// A number at the indices of a dimension.
            pub IndexFillIntScalar = "aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", in_place, out, method(index_fill);
            pub IndexFillIntTensor = "aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", in_place, out;
        }

        index_put {
            pub IndexPut = "aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", in_place, out, method;
        }

        index_reduce {
            /// Slices combined at the indices of a dimension.
            pub IndexReduce = "aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor", in_place, out;
        }

        index_select {
            /// The indices of one dimension that a list names.
            pub IndexSelect = "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor", out, method;
            /// The gradient of `index_select`.
            pub IndexSelectBackward = "aten::index_select_backward(Tensor grad, SymInt[] self_sizes, int dim, Tensor index) -> Tensor";
        }

        masked_fill {
            /// A copy with a number where a mask is true.
            pub MaskedFillScalar = "aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", in_place, out;
            pub MaskedFillTensor = "aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", in_place, out, method, or_number(MaskedFillScalar);
        }

        masked_scatter {
            /// Elements of `source` written where a mask is true, in order.
            pub MaskedScatter = "aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", in_place, out, method;
            /// The gradient of the source of `masked_scatter`.
            pub MaskedScatterBackward = "aten::masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor";
        }

        masked_select {
            /// The elements where a mask is true.
            pub MaskedSelect = "aten::masked_select(Tensor self, Tensor mask) -> Tensor", out, method;
            /// The gradient of `masked_select`.
            pub MaskedSelectBackward = "aten::masked_select_backward(Tensor grad, Tensor input, Tensor mask) -> Tensor";
        }

        one_hot {
            /// A one at each index, zeros elsewhere.
            pub OneHot = "aten::one_hot(Tensor self, int num_classes=-1) -> Tensor", method;
        }

        put {
            /// Elements written to places of the tensor as one list, or added there.
            pub Put = "aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", in_place, out;
        }

        repeat {
            /// The tensor several times along each dimension.
            pub Repeat = "aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", out, method;
            pub Tile = "aten::tile(Tensor self, SymInt[] dims) -> Tensor";
        }

        repeat_interleave {
            pub RepeatInterleaveTensor = "aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor", out;
            pub RepeatInterleaveSelfTensor = "aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor";
            pub RepeatInterleaveSelfInt = "aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor";
        }

        roll {
            /// Elements moved along dimensions, and from the end back to the start.
            pub Roll = "aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", out, method;
        }

        rot90 {
            /// The plane of two dimensions turned by `k` right angles.
            pub Rot90 = "aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor", out;
        }

        scatter {
            /// Values written to the places of a dimension that indices name.
            pub ScatterSrc = "aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", in_place, out, method(scatter);
            pub ScatterValue = "aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", in_place, out;
            pub ScatterReduce = "aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor", in_place, out;
            pub ScatterValueReduce = "aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor", in_place, out;
        }

        scatter_add {
            /// Values added at the places of a dimension that indices name.
            pub ScatterAdd = "aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", in_place, out, method;
        }

        scatter_reduce {
            /// Values combined at the places of a dimension that indices name.
            pub ScatterReduceTwo = "aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor", in_place, out;
        }

        take {
            /// Elements of the tensor as one list, in row-major order.
            pub Take = "aten::take(Tensor self, Tensor index) -> Tensor", out, method;
        }

        take_along_dim {
            pub TakeAlongDim = "aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", out;
        }

        trace {
            /// The sum of the diagonal.
            pub Trace = "aten::trace(Tensor self) -> Tensor", out, method;
            /// The gradient of `trace`.
            pub TraceBackward = "aten::trace_backward(Tensor grad, SymInt[] sizes) -> Tensor";
        }

        tril {
            /// What lies on a diagonal and below it, zeros above.
            pub Tril = "aten::tril(Tensor self, SymInt diagonal=0) -> Tensor", in_place, out, method;
            /// What lies on a diagonal and above it, zeros below.
            pub Triu = "aten::triu(Tensor self, SymInt diagonal=0) -> Tensor", in_place, out, method;
        }

        view_scatter {
            pub SliceScatter = "aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor", out;
            pub SelectScatter = "aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor", out;
            pub DiagonalScatter = "aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor", out;
            pub AsStridedScatter = "aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor", out;
        }
    }
}
