//! Operators of opgrid that make, copy, view, join and index tensors: one file for each family; to add one, write its file, its line in the list below, and its declaration
//! in `opgrid-tensor`.

#![deny(unsafe_code)]

mod kinds;
mod prelude;

opgrid_kinds::operators! {
    /// Gives other sizes and strides to the same memory.
    views {
        alias,
        as_strided,
        atleast,
        broadcast_tensors,
        diagonal,
        expand,
        flatten,
        matrix_transpose,
        meshgrid,
        movedim,
        narrow,
        permute,
        reshape,
        resize,
        select,
        set,
        slice,
        split,
        squeeze,
        tensor_split,
        transpose,
        unbind,
        unflatten,
        unfold,
        unsqueeze,
        view,
        view_dtype,
    }

    /// Makes tensors from sizes and options.
    factories {
        arange,
        empty,
        empty_like,
        empty_permuted,
        empty_strided,
        eye,
        full,
        full_like,
        linspace,
        logspace,
        new_empty,
        new_full,
        ones,
        range,
        scalar_tensor,
        tril_indices,
        windows,
        zeros,
    }

    /// Copies elements, between tensors or from and to numbers.
    copies {
        clone,
        contiguous,
        copy,
        fill,
        lift_fresh_copy,
        local_scalar_dense,
        pin_memory,
        to,
        to_copy,
    }

    /// Puts tensors together.
    joining {
        block_diag,
        cartesian_prod,
        cat,
        hstack,
        pad_sequence,
        stack,
        vander,
    }

    /// Asks what a tensor is like.
    questions {
        assertions,
        dtypes,
        is_nonzero,
        sizes,
    }

    /// Reads or writes the elements that indices or masks choose.
    indexing {
        argwhere,
        combinations,
        diag,
        fill_diagonal,
        flip,
        gather,
        index,
        index_add,
        index_copy,
        index_fill,
        index_put,
        index_reduce,
        index_select,
        masked_fill,
        masked_scatter,
        masked_select,
        one_hot,
        put,
        repeat,
        repeat_interleave,
        roll,
        rot90,
        scatter,
        scatter_add,
        scatter_reduce,
        take,
        take_along_dim,
        trace,
        tril,
        view_scatter,
    }
}
