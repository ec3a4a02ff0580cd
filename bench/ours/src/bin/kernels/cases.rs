//! The calls that are measured. What a name means stands in `bench/kernels.json`.

use opgrid::layers::autograd::no_grad;
use opgrid::ops::{CloneTensor, Embedding, RsubScalar, ToCopy};
use opgrid::prelude::*;
use opgrid_bench::{Case, times};

use crate::own::{softsign, sum_of_squares};
use crate::sizes::{attention, conv2d, cumsum, layer_norm, softmax};
use crate::subject::Subject;

fn to(input: &Tensor, dtype: DType) -> Result<Tensor> {
    ToCopy.call(input, Some(dtype), None, None, None, false, None)
}

/// Ten calls.
fn chain(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let mut result = x.clone();
    for _ in 0..5 {
        result = result.add(y)?.mul(y)?;
    }
    Ok(result)
}

/// Figures on one thread.
pub const ONE_THREAD: &[Case<Subject>] = &[
    ("empty3", |_, n| times(n, || Tensor::empty(&[3], DType::F32, Device::CPU))),
    ("add3", |s, n| times(n, || s.three[0].add(&s.three[1]))),
    ("add_scalar3", |s, n| times(n, || s.three[0].add(1))),
    ("chain64", |s, n| times(n, || chain(&s.rows_of[0].x, &s.rows_of[0].y))),
    ("add3_grad", |s, n| times(n, || s.three_marked[0].add(&s.three_marked[1]))),
    ("add3_no_grad", |s, n| no_grad(|| times(n, || s.three_marked[0].add(&s.three_marked[1])))),
    ("mlp_step", |s, n| times(n, || s.mlp.step())),
    ("add", |s, n| times(n, || s.a.add(&s.b))),
    ("add_in_place", |s, n| times(n, || s.out.add_(&s.b))),
    ("add_number", |s, n| times(n, || s.a.add(1))),
    ("add_row", |s, n| times(n, || s.matrix.add(&s.row))),
    ("add_column", |s, n| times(n, || s.matrix.add(&s.column))),
    ("add_sliced", |s, n| times(n, || s.a.add(&s.sliced))),
    ("add_transposed", |s, n| {
        let transposed = s.square[1].t()?;
        times(n, || s.square[0].add(&transposed))
    }),
    ("add_mixed", |s, n| times(n, || s.a.add(&s.f64[1]))),
    ("add_f64", |s, n| times(n, || s.f64[0].add(&s.f64[1]))),
    ("add_bf16", |s, n| times(n, || s.bf16[0].add(&s.bf16[1]))),
    ("add_i64", |s, n| times(n, || s.i64[0].add(&s.i64[1]))),
    ("sub", |s, n| times(n, || s.a.sub(&s.b))),
    ("rsub", |s, n| times(n, || RsubScalar.call(&s.a, Scalar::Int(1), Scalar::Int(1)))),
    ("mul", |s, n| times(n, || s.a.mul(&s.b))),
    ("mul_bf16", |s, n| times(n, || s.bf16[0].mul(&s.bf16[1]))),
    ("mul_i64", |s, n| times(n, || s.i64[0].mul(&s.i64[1]))),
    ("div", |s, n| times(n, || s.a.div(&s.b))),
    ("div_i64", |s, n| times(n, || s.i64[0].div(&s.i64[1]))),
    ("div_trunc", |s, n| times(n, || s.a.div_rounded(&s.b, "trunc"))),
    ("div_floor", |s, n| times(n, || s.a.div_rounded(&s.b, "floor"))),
    ("div_floor_i64", |s, n| times(n, || s.i64[0].div_rounded(&s.i64[1], "floor"))),
    ("neg", |s, n| times(n, || s.a.neg())),
    ("abs", |s, n| times(n, || s.signed.abs())),
    ("abs_i64", |s, n| times(n, || s.i64[0].abs())),
    ("reciprocal", |s, n| times(n, || s.a.reciprocal())),
    ("pow_2", |s, n| times(n, || s.a.pow(2))),
    ("pow_3", |s, n| times(n, || s.a.pow(3))),
    ("pow_half", |s, n| times(n, || s.a.pow(0.5))),
    ("pow_number", |s, n| times(n, || s.a.pow(2.7))),
    ("pow", |s, n| times(n, || s.a.pow(&s.b))),
    ("pow_i64", |s, n| times(n, || s.i64[0].pow(3))),
    ("sqrt", |s, n| times(n, || s.a.sqrt())),
    ("exp", |s, n| times(n, || s.a.exp())),
    ("exp_f64", |s, n| times(n, || s.f64[0].exp())),
    ("exp_bf16", |s, n| times(n, || s.bf16[0].exp())),
    ("log", |s, n| times(n, || s.a.log())),
    ("log_f64", |s, n| times(n, || s.f64[0].log())),
    ("tanh", |s, n| times(n, || s.signed.tanh())),
    ("tanh_f64", |s, n| times(n, || s.f64[0].tanh())),
    ("sigmoid", |s, n| times(n, || s.signed.sigmoid())),
    ("sigmoid_bf16", |s, n| times(n, || s.bf16[0].sigmoid())),
    ("gelu", |s, n| times(n, || s.signed.gelu())),
    ("erf", |s, n| times(n, || s.signed.erf())),
    ("sin", |s, n| times(n, || s.signed.sin())),
    ("relu", |s, n| times(n, || s.signed.relu())),
    ("maximum", |s, n| times(n, || s.a.maximum(&s.b))),
    ("maximum_i64", |s, n| times(n, || s.i64[0].maximum(&s.i64[1]))),
    ("eq", |s, n| times(n, || s.a.eq(&s.b))),
    ("eq_i64", |s, n| times(n, || s.i64[0].eq(&s.i64[1]))),
    ("lt", |s, n| times(n, || s.a.lt(&s.b))),
    ("lt_number", |s, n| times(n, || s.a.lt(0.5))),
    ("logical_and", |s, n| times(n, || s.bools[0].logical_and(&s.bools[1]))),
    ("logical_not", |s, n| times(n, || s.bools[0].logical_not())),
    ("where", |s, n| times(n, || Tensor::where_(&s.bools[0], &s.a, &s.b))),
    ("isnan", |s, n| times(n, || s.a.isnan())),
    ("isfinite", |s, n| times(n, || s.a.isfinite())),
    ("masked_fill", |s, n| times(n, || s.a.masked_fill(&s.bools[0], 0))),
    ("fill", |s, n| times(n, || s.out.fill_(1))),
    ("copy", |s, n| times(n, || s.out.copy_(&s.a))),
    ("clone", |s, n| times(n, || CloneTensor.call(&s.a, None))),
    ("clone_1e7", |s, n| times(n, || CloneTensor.call(&s.large_a, None))),
    ("contiguous", |s, n| {
        let transposed = s.matrix.t()?;
        times(n, || transposed.contiguous())
    }),
    ("contiguous_sliced", |s, n| times(n, || s.sliced.contiguous())),
    ("f32_to_f64", |s, n| times(n, || to(&s.a, DType::F64))),
    ("f64_to_f32", |s, n| times(n, || to(&s.f64[0], DType::F32))),
    ("f32_to_bf16", |s, n| times(n, || to(&s.a, DType::BF16))),
    ("bf16_to_f32", |s, n| times(n, || to(&s.bf16[0], DType::F32))),
    ("f32_to_f16", |s, n| times(n, || to(&s.a, DType::F16))),
    ("i64_to_f32", |s, n| times(n, || to(&s.i64[0], DType::F32))),
    ("f32_to_i64", |s, n| times(n, || to(&s.a, DType::I64))),
    ("f32_to_bool", |s, n| times(n, || to(&s.a, DType::Bool))),
    ("bool_to_f32", |s, n| times(n, || to(&s.bools[0], DType::F32))),
    ("zeros", |s, n| times(n, || Tensor::zeros(s.a.sizes(), DType::F32, Device::CPU))),
    ("full", |s, n| times(n, || Tensor::full(s.a.sizes(), 2.5, None, Device::CPU))),
    ("arange", |s, n| times(n, || Tensor::arange(0, s.a.numel(), 1))),
    ("arange_f32", |s, n| times(n, || Tensor::arange(0.0, s.a.numel() as f64, 1))),
    ("linspace", |s, n| times(n, || Tensor::linspace(0, 1, s.a.numel()))),
    ("eye", |s, n| {
        let side = s.square[0].sizes()[0];
        times(n, || Tensor::eye(side, side, DType::F32, Device::CPU))
    }),
    ("rand", |s, n| times(n, || Tensor::rand(s.a.sizes(), DType::F32, Device::CPU))),
    ("randn", |s, n| times(n, || Tensor::randn(s.a.sizes(), DType::F32, Device::CPU))),
    ("sum_1e5", |s, n| times(n, || s.a.sum())),
    ("sum_f64", |s, n| times(n, || s.f64[0].sum())),
    ("sum_bf16", |s, n| times(n, || s.bf16[0].sum())),
    ("sum_i64", |s, n| times(n, || s.i64[0].sum())),
    ("sum_bool", |s, n| times(n, || s.bools[0].sum())),
    ("sum_inner", |s, n| times(n, || s.matrix.sum_dim(&[1], false))),
    ("sum_outer", |s, n| times(n, || s.matrix.sum_dim(&[0], false))),
    ("mean", |s, n| times(n, || s.a.mean())),
    ("mean_inner", |s, n| times(n, || s.matrix.mean_dim(&[1], false))),
    ("mean_outer", |s, n| times(n, || s.matrix.mean_dim(&[0], false))),
    ("amax", |s, n| times(n, || s.a.amax((), false))),
    ("amax_i64", |s, n| times(n, || s.i64[0].amax((), false))),
    ("amax_inner", |s, n| times(n, || s.matrix.amax(&[1], false))),
    ("amax_outer", |s, n| times(n, || s.matrix.amax(&[0], false))),
    ("argmax", |s, n| times(n, || s.a.argmax(None))),
    ("argmax_inner", |s, n| times(n, || s.matrix.argmax(1))),
    ("argmax_outer", |s, n| times(n, || s.matrix.argmax(0))),
    ("any", |s, n| times(n, || s.all_false.any())),
    ("all", |s, n| times(n, || s.all_true.all())),
    ("equal", |s, n| times(n, || s.a.equal(&s.copy))),
    ("allclose", |s, n| times(n, || s.a.allclose(&s.copy, 1e-5, 1e-8))),
    ("own_elementwise", |s, n| times(n, || softsign(&s.signed))),
    ("own_reduction", |s, n| times(n, || sum_of_squares(&s.a))),
    ("softmax", |s, n| times(n, || softmax(&s.matrix))),
    ("layer_norm", |s, n| times(n, || layer_norm(&s.matrix))),
    ("cumsum", |s, n| times(n, || cumsum(&s.matrix))),
    ("sort", |s, n| times(n, || s.matrix.sort(-1, false))),
    ("topk", |s, n| times(n, || s.matrix.topk(10))),
    ("embedding", |s, n| times(n, || Embedding.call(&s.matrix, &s.rows, -1, false, false))),
    ("cat", |s, n| times(n, || Tensor::cat(&s.quarters, 0))),
    ("cat_inner", |s, n| times(n, || Tensor::cat(&s.halves, 1))),
    ("stack", |s, n| times(n, || Tensor::stack(&s.quarters, 0))),
    ("index_select", |s, n| times(n, || s.matrix.index_select(0, &s.rows))),
    ("index_select_inner", |s, n| times(n, || s.matrix.index_select(1, &s.columns))),
    ("gather", |s, n| times(n, || s.matrix.gather(1, &s.column_of_each))),
    ("gather_outer", |s, n| times(n, || s.matrix.gather(0, &s.row_of_each))),
    ("index", |s, n| times(n, || s.a.index(&s.by_places))),
    ("index_rows", |s, n| times(n, || s.matrix.index(&s.by_rows))),
    ("index_mask", |s, n| times(n, || s.a.index(&s.by_mask))),
    ("index_put", |s, n| times(n, || s.out.index_put_(&s.by_places, &s.b, false))),
    ("index_put_accumulate", |s, n| times(n, || s.out.index_put_(&s.by_places, &s.b, true))),
    ("matmul_64", |s, n| times(n, || s.factors[0][0].mm(&s.factors[0][1]))),
    ("matmul_256", |s, n| times(n, || s.factors[1][0].mm(&s.factors[1][1]))),
    ("matmul_1024", |s, n| times(n, || s.factors[2][0].mm(&s.factors[2][1]))),
    ("matmul_2048", |s, n| times(n, || s.factors[3][0].mm(&s.factors[3][1]))),
    ("matmul_vector", |s, n| times(n, || s.square[0].matmul(&s.vector))),
    ("bmm", |s, n| times(n, || s.batches[0].bmm(&s.batches[1]))),
    ("addmm", |s, n| times(n, || s.factors[1][0].addmm(&s.factors[1][0], &s.factors[1][1]))),
    ("mm_f64", |s, n| times(n, || s.factors_f64[0].mm(&s.factors_f64[1]))),
    ("mm_bf16", |s, n| times(n, || s.factors_bf16[0].mm(&s.factors_bf16[1]))),
    ("mm_i64", |s, n| times(n, || s.factors_i64[0].mm(&s.factors_i64[1]))),
    ("conv2d", |s, n| times(n, || conv2d(&s.images))),
    ("attention", |s, n| times(n, || attention(&s.words))),
];

/// Figures on as many threads as the library takes by itself.
pub const ALL_THREADS: &[Case<Subject>] = &[
    ("add_threads", |s, n| times(n, || s.a.add(&s.b))),
    ("exp_threads", |s, n| times(n, || s.a.exp())),
    ("sum_1e5_threads", |s, n| times(n, || s.a.sum())),
    ("sum_1e7_threads", |s, n| times(n, || s.large_a.sum())),
    ("add_transposed_threads", |s, n| {
        let transposed = s.square[1].t()?;
        times(n, || s.square[0].add(&transposed))
    }),
    ("index_threads", |s, n| times(n, || s.a.index(&s.by_places))),
    ("matmul_1024_threads", |s, n| times(n, || s.factors[2][0].mm(&s.factors[2][1]))),
];
