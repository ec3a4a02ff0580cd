//! Measures `candle`, on one thread.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use candle_core::{DType, Device, Result, Shape, Tensor};
use opgrid_bench_peers::{case, numbers};

fn tensor(shape: impl Into<Shape>, seed: u32) -> Result<Tensor> {
    let shape = shape.into();
    Tensor::from_vec(numbers(shape.elem_count(), seed), shape, &Device::Cpu)
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
        case("empty3", || Tensor::zeros(3, DType::F32, cpu)),
        case("add3", || &three[0] + &three[1]),
        case("add_scalar3", || &three[0] + 1.0),
        case("chain64", || {
            let mut x = ((&short[0] + &short[1])? * &short[1])?;
            for _ in 0..4 {
                x = ((&x + &short[1])? * &short[1])?;
            }
            Result::Ok(x)
        }),
        case("add", || &a + &b),
        case("add_number", || &a + 1.0),
        case("add_row", || matrix.broadcast_add(&row)),
        case("add_transposed", || &squares[0] + &turned),
        case("mul", || &a * &b),
        case("neg", || a.neg()),
        case("sqrt", || a.sqrt()),
        case("exp", || a.exp()),
        case("log", || a.log()),
        case("tanh", || signed.tanh()),
        case("gelu", || signed.gelu_erf()),
        case("relu", || signed.relu()),
        case("maximum", || a.maximum(&b)),
        case("zeros", || Tensor::zeros(100_000, DType::F32, cpu)),
        case("clone", || a.copy()),
        case("contiguous", || lies_across.contiguous()),
        case("sum_1e5", || a.sum_all()),
        case("sum_inner", || matrix.sum(1)),
        case("sum_outer", || matrix.sum(0)),
        case("mean_inner", || matrix.mean(1)),
        case("amax_inner", || matrix.max(1)),
        case("argmax", || a.argmax(0)),
        case("argmax_inner", || matrix.argmax(1)),
        case("matmul_vector", || squares[0].matmul(&column)),
        case("bmm", || batches[0].matmul(&batches[1])),
        case("mm_bf16", || left.matmul(&right)),
    ];
    let names = ["matmul_64", "matmul_256", "matmul_1024", "matmul_2048"];
    for (name, factors) in names.into_iter().zip(factors) {
        let [x, y] = factors?;
        cases.push(case(name, move || x.matmul(&y)));
    }
    Ok(opgrid_bench_peers::main(&cases))
}

fn main() -> ExitCode {
    measure().unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}
