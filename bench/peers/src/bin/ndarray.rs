//! Measures `ndarray`: calls without dispatch, on one thread.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use ndarray::{Array1, Array2, Axis};
use opgrid_bench_peers::{case, numbers};

fn vector(count: usize, seed: u32) -> Array1<f32> {
    numbers(count, seed).into()
}

fn square(side: usize, seed: u32) -> Array2<f32> {
    let elements = numbers(side * side, seed);
    Array2::from_shape_vec((side, side), elements).expect("as many elements as the shape has")
}

fn main() -> ExitCode {
    let three = [vector(3, 1), vector(3, 2)];
    let short = [vector(64, 3), vector(64, 4)];
    let (a, b) = (vector(100_000, 5), vector(100_000, 6));
    let signed = &a - 0.5;
    let matrix = a.to_shape((1000, 100)).expect("as many elements").to_owned();
    let row = vector(100, 7);
    let squares = [square(1024, 8), square(1024, 9)];
    let factors = [64, 256, 1024, 2048].map(|side| [square(side, 10), square(side, 11)]);
    let mut cases = vec![
        case("empty3", || Array1::<f32>::uninit(3)),
        case("add3", || &three[0] + &three[1]),
        case("add_scalar3", || &three[0] + 1.0),
        case("chain64", || {
            let mut x = (&short[0] + &short[1]) * &short[1];
            for _ in 0..4 {
                x = &(&x + &short[1]) * &short[1];
            }
            x
        }),
        case("add", || &a + &b),
        case("add_number", || &a + 1.0),
        case("add_row", || &matrix + &row),
        case("add_transposed", || &squares[0] + &squares[1].t()),
        case("mul", || &a * &b),
        case("neg", || -&a),
        case("sqrt", || a.sqrt()),
        case("exp", || a.exp()),
        case("log", || a.ln()),
        case("tanh", || signed.tanh()),
        case("zeros", || Array1::<f32>::zeros(100_000)),
        case("clone", || a.clone()),
        case("contiguous", || matrix.t().as_standard_layout().into_owned()),
        case("sum_1e5", || a.sum()),
        case("sum_inner", || matrix.sum_axis(Axis(1))),
        case("sum_outer", || matrix.sum_axis(Axis(0))),
        case("mean_inner", || matrix.mean_axis(Axis(1))),
        case("matmul_vector", || squares[0].dot(&squares[1].column(0))),
    ];
    for (name, [x, y]) in ["matmul_64", "matmul_256", "matmul_1024", "matmul_2048"].into_iter().zip(&factors)
    {
        cases.push(case(name, || x.dot(y)));
    }
    opgrid_bench_peers::main(&cases)
}
