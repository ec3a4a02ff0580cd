//! The same calls for 64, 1e4 and 1e6 elements, and for other dtypes: what `--all` measures beside the rest.

use opgrid::ops::{Conv2d, Cumsum, Embedding, LayerNorm, ScaledDotProductAttention, SoftmaxInt};
use opgrid::prelude::*;
use opgrid_bench::{Case, times};

use crate::subject::{Images, Rows, Subject, Words};

/// Softmax along rows.
pub fn softmax(input: &Tensor) -> Result<Tensor> {
    SoftmaxInt.call(input, -1, None)
}

/// Normalised rows.
pub fn layer_norm(input: &Tensor) -> Result<Tensor> {
    LayerNorm.call(input, &input.sizes()[1..], None, None, 1e-5, true)
}

/// Sums along rows.
pub fn cumsum(input: &Tensor) -> Result<Tensor> {
    Cumsum.call(input, -1, None)
}

/// Rows of a table.
pub fn embedding(rows: &Rows) -> Result<Tensor> {
    Embedding.call(&rows.x, &rows.chosen, -1, false, false)
}

/// Filters of 3 x 3 over a batch of images.
pub fn conv2d(images: &Images) -> Result<Tensor> {
    Conv2d.call(&images.input, &images.filters, None, &[1, 1], &[1, 1], &[1, 1], 1)
}

/// Attention of heads over each other's words.
pub fn attention(words: &Words) -> Result<Tensor> {
    let [query, key, value] = &words.0;
    ScaledDotProductAttention.call(query, key, value, None, 0.0, false, None, false)
}

/// Calls on rows of each size on one thread, and the largest ones on all.
macro_rules! sized {
    ($($name:literal: |$rows:ident| $call:expr;)*) => {
        /// On one thread.
        pub const ONE_THREAD: &[Case<Subject>] = &[$(
            (concat!($name, "_64"), |s, n| { let $rows = &s.rows_of[0]; times(n, || $call) }),
            (concat!($name, "_1e4"), |s, n| { let $rows = &s.rows_of[1]; times(n, || $call) }),
            (concat!($name, "_1e6"), |s, n| { let $rows = &s.rows_of[2]; times(n, || $call) }),
        )*];
        /// On all threads.
        pub const ALL_THREADS: &[Case<Subject>] = &[$(
            (concat!($name, "_1e6_threads"), |s, n| { let $rows = &s.rows_of[2]; times(n, || $call) }),
        )*];
    };
}

sized! {
    "add": |r| r.x.add(&r.y);
    "mul": |r| r.x.mul(&r.y);
    "relu": |r| r.x.relu();
    "sqrt": |r| r.x.sqrt();
    "exp": |r| r.x.exp();
    "log": |r| r.x.log();
    "tanh": |r| r.x.tanh();
    "sigmoid": |r| r.x.sigmoid();
    "gelu": |r| r.x.gelu();
    "erf": |r| r.x.erf();
    "sin": |r| r.x.sin();
    "sum": |r| r.x.sum();
    "sum_inner": |r| r.x.sum_dim(&[1], false);
    "amax": |r| r.x.amax((), false);
    "softmax": |r| softmax(&r.x);
    "layer_norm": |r| layer_norm(&r.x);
    "cumsum": |r| cumsum(&r.x);
    "sort": |r| r.x.sort(-1, false);
    "topk": |r| r.x.topk(4);
    "index_select": |r| r.x.index_select(0, &r.chosen);
    "embedding": |r| embedding(r);
}

/// Calls on what has other dtypes, by the field that holds it.
macro_rules! typed {
    ($($field:ident { $($name:literal: |$of:ident| $call:expr, $($suffix:literal $at:literal),+;)* })*) => {
        /// Other dtypes, on one thread.
        pub const OTHER_DTYPES: &[Case<Subject>] = &[$($($(
            (concat!($name, $suffix), |s, n| { let $of = &s.$field[$at]; times(n, || $call) }),
        )+)*)*];
    };
}

typed! {
    typed_rows {
        "gelu": |r| r.x.gelu(), "_f64" 0, "_bf16" 1, "_f16" 2;
        "erf": |r| r.x.erf(), "_f64" 0, "_bf16" 1, "_f16" 2;
        "sin": |r| r.x.sin(), "_f64" 0, "_bf16" 1, "_f16" 2;
        "softmax": |r| softmax(&r.x), "_f64" 0, "_bf16" 1, "_f16" 2;
        "layer_norm": |r| layer_norm(&r.x), "_f64" 0, "_bf16" 1, "_f16" 2;
        "cumsum": |r| cumsum(&r.x), "_f64" 0, "_bf16" 1, "_f16" 2, "_i64" 3;
        "sort": |r| r.x.sort(-1, false), "_f64" 0, "_bf16" 1, "_f16" 2, "_i64" 3;
        "topk": |r| r.x.topk(4), "_f64" 0, "_bf16" 1, "_f16" 2, "_i64" 3;
        "index_select": |r| r.x.index_select(0, &r.chosen), "_f64" 0, "_bf16" 1, "_i64" 3;
        "embedding": |r| embedding(r), "_f64" 0, "_bf16" 1;
    }
    typed_batches {
        "bmm": |b| b[0].bmm(&b[1]), "_f64" 0, "_bf16" 1, "_f16" 2, "_i64" 3;
    }
    typed_images {
        "conv2d": |i| conv2d(i), "_f64" 0, "_bf16" 1;
    }
    typed_words {
        "attention": |w| attention(w), "_f64" 0, "_bf16" 1;
    }
}
