//! Measures `candle`, on one thread: whoever starts this program sets `RAYON_NUM_THREADS` to 1.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use candle_core::{DType, Device, Result, Shape, Tensor};
use opgrid_bench_peers::{Case, case, numbers};

fn tensor(shape: impl Into<Shape>, seed: u32) -> Result<Tensor> {
    let shape = shape.into();
    Tensor::from_vec(numbers(shape.elem_count(), seed), shape, &Device::Cpu)
}

/// A case whose call the library has: a call that fails is said to be not there, and the figure stays without a number.
fn tried<'s>(name: &'static str, call: impl Fn() -> Result<Tensor> + 's) -> Option<Case<'s>> {
    match call() {
        Ok(_) => Some(case(name, call)),
        Err(error) => {
            eprintln!("{name}: not there: {error}");
            None
        }
    }
}

fn pair<S: Into<Shape> + Copy>(shape: S, seed: u32) -> Result<[Tensor; 2]> {
    Ok([tensor(shape, seed)?, tensor(shape, seed + 1)?])
}

fn measure() -> Result<ExitCode> {
    let (three, short) = (pair(3, 1)?, pair(64, 3)?);
    let [a, b] = pair(100_000, 5)?;
    let signed = (&a - 0.5)?;
    let matrix = a.reshape((1000, 100))?;
    let row = tensor(100, 7)?;
    let squares = pair((1024, 1024), 8)?;
    let factors = [64, 256, 1024, 2048].map(|side| pair((side, side), 10));
    let narrow = pair((256, 256), 12)?.map(|factor| factor.to_dtype(DType::BF16));
    let [left, right] = narrow;
    let (left, right) = (left?, right?);
    let batches = pair((16, 64, 64), 14)?;
    let turned = squares[1].t()?;
    let lies_across = matrix.t()?;
    let column = squares[1].narrow(1, 0, 1)?.contiguous()?;
    let cpu = &Device::Cpu;
    let mut cases = vec![
        // The library gives no memory that was not written.
        tried("empty3", || Tensor::zeros(3, DType::F32, cpu)),
        tried("add3", || &three[0] + &three[1]),
        tried("add_scalar3", || &three[0] + 1.0),
        tried("chain64", || {
            let mut x = ((&short[0] + &short[1])? * &short[1])?;
            for _ in 0..4 {
                x = ((&x + &short[1])? * &short[1])?;
            }
            Ok(x)
        }),
        tried("add", || &a + &b),
        tried("add_number", || &a + 1.0),
        tried("add_row", || matrix.broadcast_add(&row)),
        tried("add_transposed", || &squares[0] + &turned),
        tried("mul", || &a * &b),
        tried("neg", || a.neg()),
        tried("sqrt", || a.sqrt()),
        tried("exp", || a.exp()),
        tried("log", || a.log()),
        tried("tanh", || signed.tanh()),
        tried("gelu", || signed.gelu_erf()),
        tried("relu", || signed.relu()),
        tried("maximum", || a.maximum(&b)),
        tried("zeros", || Tensor::zeros(100_000, DType::F32, cpu)),
        tried("clone", || a.copy()),
        tried("contiguous", || lies_across.contiguous()),
        tried("sum_1e5", || a.sum_all()),
        tried("sum_inner", || matrix.sum(1)),
        tried("sum_outer", || matrix.sum(0)),
        tried("mean_inner", || matrix.mean(1)),
        tried("amax_inner", || matrix.max(1)),
        tried("argmax", || a.argmax(0)),
        tried("argmax_inner", || matrix.argmax(1)),
        tried("matmul_vector", || squares[0].matmul(&column)),
        tried("bmm", || batches[0].matmul(&batches[1])),
        tried("mm_bf16", || left.matmul(&right)),
    ];
    let names = ["matmul_64", "matmul_256", "matmul_1024", "matmul_2048"];
    for (name, factors) in names.into_iter().zip(factors) {
        let [x, y] = factors?;
        cases.push(tried(name, move || x.matmul(&y)));
    }
    let cases: Vec<_> = cases.into_iter().flatten().collect();
    Ok(opgrid_bench_peers::main(&cases))
}

fn main() -> ExitCode {
    measure().unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}
