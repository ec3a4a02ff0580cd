//! Operators of opgrid that reduce, accumulate and sort along dimensions: one file for each family; to add one, write its file, its line in the list below, and its declaration
//! in `opgrid-tensor`.

#![deny(unsafe_code)]

mod kinds;
mod prelude;

opgrid_kinds::operators! {
    /// Makes one element of many.
    reductions {
        all,
        amax,
        amin,
        aminmax,
        any,
        argmax,
        argmin,
        count_nonzero,
        cov,
        linalg_powsum,
        linalg_vector_norm,
        logsumexp,
        max,
        mean,
        min,
        nanmean,
        nansum,
        norm,
        prod,
        renorm,
        std,
        std_mean,
        sum,
        sum_to_size,
        var,
        var_mean,
    }

    /// Joins each element with all before it along a dimension.
    scans {
        cummax,
        cummaxmin_backward,
        cummin,
        cumprod,
        cumsum,
        diff,
        gradient,
        logcumsumexp,
        trapezoid,
    }

    /// Divides exponentials by their sum.
    softmaxes {
        log_softmax,
        softmax,
    }

    /// Puts elements in order, or looks for them where they are so.
    sorting {
        argsort,
        bincount,
        bucketize,
        histc,
        histogram,
        isin,
        kthvalue,
        median,
        mode,
        msort,
        nanmedian,
        nonzero,
        quantile,
        searchsorted,
        sort,
        topk,
        unique,
        unique_consecutive,
        unique_dim,
        value_selecting_reduction_backward,
    }
}
