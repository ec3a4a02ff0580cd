//! Gives other sizes and strides to the same memory.

declarations! {
    /// # Views
    views {
        alias {
            /// A new handle on the tensor's elements.
            pub Alias = "aten::alias(Tensor(a) self) -> Tensor(a)";
            /// The elements in a new tensor.
            pub AliasCopy = "aten::alias_copy(Tensor self) -> Tensor", out;
            /// A view without a derivative.
            pub Detach = "aten::detach(Tensor(a) self) -> Tensor(a)", method;
            /// The elements in a new tensor, without a derivative.
            pub DetachCopy = "aten::detach_copy(Tensor self) -> Tensor", out;
            pub DetachInplace = "aten::detach_(Tensor(a!) self) -> Tensor(a!)";
            pub Lift = "aten::lift(Tensor self) -> Tensor", out;
            pub LiftFresh = "aten::lift_fresh(Tensor(a) self) -> Tensor(a)";
        }

        as_strided {
            pub AsStrided = "aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)", method;
            /// The elements at these places of the memory in a new tensor.
            pub AsStridedCopy = "aten::as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor", out;
            pub AsStridedInplace = "aten::as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a!)";
        }

        atleast {
            pub Atleast1d = "aten::atleast_1d(Tensor self) -> Tensor";
            pub Atleast2d = "aten::atleast_2d(Tensor self) -> Tensor";
            pub Atleast3d = "aten::atleast_3d(Tensor self) -> Tensor";
            pub Atleast1dSequence = "aten::atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]";
            pub Atleast2dSequence = "aten::atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]";
            pub Atleast3dSequence = "aten::atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]";
        }

        broadcast_tensors {
            pub BroadcastTensors = "aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]";
        }

        diagonal {
            /// The diagonals of the matrices that two dimensions are.
            pub Diagonal = "aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)", method;
            /// The gradient of `diagonal`: zeros beside the diagonals.
            pub DiagonalBackward = "aten::diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor", out;
            /// The diagonals of the matrices that two dimensions are, in a new tensor.
            pub DiagonalCopy = "aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", out;
            /// The diagonals of matrices, or of those that two dimensions are.
            pub LinalgDiagonal = "aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)";
        }

        expand {
            pub Expand = "aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", method;
            /// Stretched to these sizes, in a new tensor.
            pub ExpandCopy = "aten::expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor", out;
            /// Stretched to the sizes of another tensor.
            pub ExpandAs = "aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", method;
            pub BroadcastTo = "aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)", method;
        }

        flatten {
            /// The dimensions from `start_dim` to `end_dim`, both included, as one.
            pub FlattenUsingInts = "aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)", method;
            /// All dimensions as one.
            pub Ravel = "aten::ravel(Tensor(a) self) -> Tensor(a)", method;
        }

        matrix_transpose {
            pub MT = "aten::mT(Tensor(a) self) -> Tensor(a)";
            /// Matrices transposed, of conjugates.
            pub MH = "aten::mH(Tensor(a) self) -> Tensor(a)";
            /// Matrices transposed, of conjugates.
            pub Adjoint = "aten::adjoint(Tensor(a) self) -> Tensor(a)";
            /// One matrix transposed, of conjugates.
            pub MatrixH = "aten::matrix_H(Tensor(a) self) -> Tensor(a)";
            pub NumpyT = "aten::numpy_T(Tensor(a) self) -> Tensor(a)";
        }

        meshgrid {
            pub Meshgrid = "aten::meshgrid(Tensor[] tensors) -> Tensor[]";
            pub MeshgridIndexing = "aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]";
        }

        movedim {
            /// Dimensions at other places; the others keep their order.
            pub MovedimIntlist = "aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", method;
            pub MovedimInt = "aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)";
            pub MoveaxisIntlist = "aten::moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)";
            pub MoveaxisInt = "aten::moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)";
        }

        narrow {
            /// `length` indices of a dimension from `start` on.
            pub Narrow = "aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)", method;
            pub NarrowTensor = "aten::narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)";
            /// `length` indices of a dimension from `start` on, in a new tensor.
            pub NarrowCopy = "aten::narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor", out;
        }

        permute {
            /// The dimensions in another order.
            pub Permute = "aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)", method;
            /// The dimensions in another order, in a new tensor.
            pub PermuteCopy = "aten::permute_copy(Tensor self, int[] dims) -> Tensor", out;
        }

        reshape {
            pub Reshape = "aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", method;
            /// The elements in the same order under other sizes, in a new tensor.
            pub ReshapeCopy = "aten::_reshape_copy(Tensor self, SymInt[] size) -> Tensor";
            pub ReshapeAs = "aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)";
        }

        resize {
            /// Gives the tensor other sizes, and more memory where they need it.
            pub ResizeInplace = "aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)";
            pub ResizeAsInplace = "aten::resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)";
            pub Resize = "aten::resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor", out;
        }

        select {
            /// One index of a dimension, which disappears.
            pub SelectInt = "aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", method;
            /// The gradient of `select`: zeros at the other indices.
            pub SelectBackward = "aten::select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor", out;
            /// One index of a dimension, which disappears, in a new tensor.
            pub SelectCopyInt = "aten::select_copy.int(Tensor self, int dim, SymInt index) -> Tensor", out;
        }

        set {
            pub SetInplaceSourceTensor = "aten::set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)";
            pub SetInplaceSourceTensorStorageOffset = "aten::set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, SymInt storage_offset, SymInt[] size, SymInt[] stride=[]) -> Tensor(a!)";
            pub SetInplace = "aten::set_(Tensor(a!) self) -> Tensor(a!)";
        }

        slice {
            /// Every `step`-th index of a dimension from `start` to before `end`.
            pub SliceTensor = "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)", method;
            /// The gradient of `slice`: zeros at the other indices.
            pub SliceBackward = "aten::slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor", out;
            /// Every `step`-th index of a dimension from `start` to before `end`, in a new tensor.
            pub SliceCopyTensor = "aten::slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor", out;
        }

        split {
            /// Parts of one size, the last one perhaps smaller.
            pub SplitTensor = "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]", method(split);
            /// Parts of one size, the last one perhaps smaller, in new tensors.
            pub SplitCopyTensor = "aten::split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", out;
            pub SplitSizes = "aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]";
            /// Parts of these sizes.
            pub SplitWithSizes = "aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]", method;
            /// Parts of these sizes in new tensors.
            pub SplitWithSizesCopy = "aten::split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]", out;
            /// As many parts, or fewer, of equal sizes but for the last one.
            pub Chunk = "aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]", method;
            pub UnsafeSplitTensor = "aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]";
            pub UnsafeChunk = "aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]";
        }

        squeeze {
            /// Without dimensions of size 1.
            pub Squeeze = "aten::squeeze(Tensor(a) self) -> Tensor(a)", method(squeeze_all);
            /// Without one dimension, if its size is 1.
            pub SqueezeDim = "aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)";
            pub SqueezeDims = "aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", method(squeeze);
            /// Without dimensions of size 1, in a new tensor.
            pub SqueezeCopy = "aten::squeeze_copy(Tensor self) -> Tensor", out;
            /// Without one dimension, if its size is 1, in a new tensor.
            pub SqueezeCopyDim = "aten::squeeze_copy.dim(Tensor self, int dim) -> Tensor", out;
            /// Without those of some dimensions whose size is 1, in a new tensor.
            pub SqueezeCopyDims = "aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor", out;
            pub SqueezeInplace = "aten::squeeze_(Tensor(a!) self) -> Tensor(a!)";
            pub SqueezeInplaceDim = "aten::squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)";
            pub SqueezeInplaceDims = "aten::squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)";
        }

        tensor_split {
            pub TensorSplitSections = "aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]";
            pub TensorSplitIndices = "aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]";
            pub TensorSplitTensorIndicesOrSections = "aten::tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]";
            pub HsplitInt = "aten::hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]";
            pub HsplitArray = "aten::hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]";
            pub VsplitInt = "aten::vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]";
            pub VsplitArray = "aten::vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]";
            pub DsplitInt = "aten::dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]";
            pub DsplitArray = "aten::dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]";
        }

        transpose {
            /// Two dimensions exchanged.
            pub TransposeInt = "aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", method;
            /// Two dimensions exchanged, in a new tensor.
            pub TransposeCopyInt = "aten::transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor", out;
            pub TransposeInplace = "aten::transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)";
            pub TMatrix = "aten::t(Tensor(a) self) -> Tensor(a)", method;
            /// A matrix transposed, in a new tensor.
            pub TCopy = "aten::t_copy(Tensor self) -> Tensor", out;
            pub TInplace = "aten::t_(Tensor(a!) self) -> Tensor(a!)";
            pub Swapaxes = "aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)";
            pub SwapaxesInplace = "aten::swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)";
            pub Swapdims = "aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)";
            pub SwapdimsInplace = "aten::swapdims_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)";
        }

        unbind {
            /// The slices of a dimension, which disappears.
            pub UnbindInt = "aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", method(unbind);
            /// The slices of a dimension, which disappears, in new tensors.
            pub UnbindCopyInt = "aten::unbind_copy.int(Tensor self, int dim=0) -> Tensor[]", out;
        }

        unflatten {
            /// One dimension as several, of which one size may be -1.
            pub UnflattenInt = "aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)", method;
        }

        unfold {
            /// Windows of a dimension, `step` apart.
            pub Unfold = "aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)", method;
            /// The gradient of `unfold`: elements get the sum of those of all windows that they are in.
            pub UnfoldBackward = "aten::unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor", out;
            /// Windows of a dimension, `step` apart, in a new tensor.
            pub UnfoldCopy = "aten::unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor", out;
        }

        unsqueeze {
            /// With a dimension of size 1 before `dim`.
            pub Unsqueeze = "aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", method;
            /// With a dimension of size 1 before `dim`, in a new tensor.
            pub UnsqueezeCopy = "aten::unsqueeze_copy(Tensor self, int dim) -> Tensor", out;
            pub UnsqueezeInplace = "aten::unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)";
        }

        view {
            /// A view under other sizes, of which one may be -1.
            pub View = "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", method;
            /// The elements in the same order under other sizes, in a new tensor.
            pub ViewCopy = "aten::view_copy(Tensor self, SymInt[] size) -> Tensor", out;
            pub ViewAs = "aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)";
            pub UnsafeView = "aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor", out;
        }

        view_dtype {
            /// Reinterprets the bytes as elements of another dtype.
            pub ViewDtype = "aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", method(view_dtype);
            /// Reinterprets the bytes as elements of another dtype, in a new tensor.
            pub ViewCopyDtype = "aten::view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor", out;
        }
    }
}
