//! Measures fused loops on one thread beside the loops that eager operators run one after the other:
//! `cargo run --release -p opgrid-jit --example fused_loops`.
//!
//! Times are the least of many, in microseconds: of compiling, then of running at each level, then of eager loops.

use std::hint::black_box;
use std::time::{Duration, Instant};

use opgrid_array::loops::{Function, elementwise, math, set_num_threads};
use opgrid_array::{Array, Element};
use opgrid_core::{DType, Result};
use opgrid_jit::{Access, Binary, Expression, Level, Program, Value, functions};

/// Numbers of elements.
const SIZES: [i64; 4] = [100, 4096, 65_536, 1_000_000];

/// A loop, and what eager operators do: with two inputs, an array for results and one for what lies between.
struct Case {
    name: &'static str,
    expression: fn(&mut Builder) -> Result<Value>,
    eager: fn(inputs: [&Array; 2], out: &Array) -> Result<()>,
}

/// An expression of float32 with short names.
struct Builder {
    expression: Expression,
    x: Value,
    y: Value,
}

impl Builder {
    fn new() -> Result<Self> {
        let mut expression = Expression::new();
        let x = expression.load(DType::F32, Access::Elements)?;
        let y = expression.load(DType::F32, Access::Elements)?;
        Ok(Self { expression, x, y })
    }

    fn number(&mut self, value: f32) -> Result<Value> {
        self.expression.constant(DType::F32, f64::from(value))
    }

    fn binary(&mut self, function: Binary, a: Value, b: Value) -> Result<Value> {
        self.expression.binary(function, a, b)
    }

    fn times(&mut self, factor: f32, value: Value) -> Result<Value> {
        let factor = self.number(factor)?;
        self.binary(Binary::Multiply, factor, value)
    }
}

const CASES: [Case; 3] = [
    Case {
        name: "max(x * y + 1, 0) * 0.5 - y",
        expression: |it| {
            let product = it.binary(Binary::Multiply, it.x, it.y)?;
            let one = it.number(1.0)?;
            let sum = it.binary(Binary::Add, product, one)?;
            let zero = it.number(0.0)?;
            let positive = it.binary(Binary::Larger, sum, zero)?;
            let half = it.times(0.5, positive)?;
            it.binary(Binary::Subtract, half, it.y)
        },
        eager: |[x, y], out| {
            elementwise::binary::<f32, f32, f32>(out, x, y, |x, y| x * y)?;
            elementwise::unary::<f32, f32>(out, out, |x| x + 1.0)?;
            elementwise::unary::<f32, f32>(out, out, |x| if x < 0.0 { 0.0 } else { x })?;
            elementwise::unary::<f32, f32>(out, out, |x| x * 0.5)?;
            elementwise::binary::<f32, f32, f32>(out, out, y, |x, y| x - y)
        },
    },
    Case {
        name: "gelu(x) by tanh",
        expression: |it| {
            let bent = it.times(0.044715, it.x)?;
            let bent = it.binary(Binary::Multiply, bent, it.x)?;
            let bent = it.binary(Binary::Multiply, bent, it.x)?;
            let sum = it.binary(Binary::Add, it.x, bent)?;
            let scaled = it.times(GeluByTanh::ROOT, sum)?;
            let tanh = functions::tanh(DType::F32).expect("there is a function of float32");
            let tanh = it.expression.call(tanh, &[scaled])?;
            let one = it.number(1.0)?;
            let part = it.binary(Binary::Add, one, tanh)?;
            let half = it.times(0.5, it.x)?;
            it.binary(Binary::Multiply, half, part)
        },
        eager: |[x, _], out| elementwise::unary_by::<f32, f32>(out, x, GeluByTanh),
    },
    Case {
        name: "silu(x) * y",
        expression: |it| {
            let sigmoid = functions::sigmoid(DType::F32).expect("there is a function of float32");
            let sigmoid = it.expression.call(sigmoid, &[it.x])?;
            let silu = it.binary(Binary::Multiply, it.x, sigmoid)?;
            it.binary(Binary::Multiply, silu, it.y)
        },
        eager: |[x, y], out| {
            elementwise::unary_by::<f32, f32>(out, x, math::Logistic)?;
            elementwise::binary::<f32, f32, f32>(out, x, out, |x, sigmoid| x * sigmoid)?;
            elementwise::binary::<f32, f32, f32>(out, out, y, |x, y| x * y)
        },
    },
];

/// The formula of `aten::gelu` with `approximate="tanh"`, in one loop as there.
#[derive(Clone, Copy)]
struct GeluByTanh;

impl GeluByTanh {
    const ROOT: f32 = std::f32::consts::FRAC_2_SQRT_PI * std::f32::consts::FRAC_1_SQRT_2;
}

impl Function<(f32,)> for GeluByTanh {
    type Output = f32;
    const IS_LONG: bool = true;

    #[inline(always)]
    fn call(self, (x,): (f32,)) -> f32 {
        0.5 * x * (1.0 + math::Inexact::tanh(Self::ROOT * (x + 0.044715 * x * x * x)))
    }
}

/// The least time of a call.
fn least(mut call: impl FnMut() -> Result<()>) -> Result<Duration> {
    let mut least = Duration::MAX;
    for _ in 0..200 {
        let start = Instant::now();
        call()?;
        least = least.min(start.elapsed());
    }
    Ok(least)
}

fn micros(time: Duration) -> String {
    format!("{:10.2}", time.as_secs_f64() * 1e6)
}

fn numbers<T: Element>(count: i64, number: impl Fn(i64) -> T) -> Result<Array> {
    Array::from_slice(&(0..count).map(number).collect::<Vec<T>>(), &[count])
}

fn main() -> Result<()> {
    set_num_threads(1);
    let levels =
        [Level::Interpreter, Level::Avx2, Level::Avx512].into_iter().filter(|level| *level <= Level::best());
    let levels: Vec<Level> = levels.collect();
    for case in CASES {
        let build = || -> Result<Expression> {
            let mut builder = Builder::new()?;
            let result = (case.expression)(&mut builder)?;
            builder.expression.store(result)?;
            Ok(builder.expression)
        };
        println!("{}", case.name);
        for &level in &levels {
            let time = least(|| Program::new(build()?, level).map(|program| drop(black_box(program))))?;
            println!("  compiled for {level}: {}", micros(time).trim());
        }
        for count in SIZES {
            let x = numbers(count, |i| (i % 1000) as f32 / 200.0 - 2.5)?;
            let y = numbers(count, |i| (i % 777) as f32 / 300.0 - 1.5)?;
            let (out, expected) = (numbers(count, |_| 0.0f32)?, numbers(count, |_| 0.0f32)?);
            let mut line = format!("  {count:>9}");
            for &level in &levels {
                let program = Program::new(build()?, level)?;
                let time = least(|| program.run(&[&out], &[&x, &y]))?;
                line += &format!("  {level} {}", micros(time));
            }
            let eager = least(|| (case.eager)([&x, &y], &expected))?;
            assert_eq!(
                out.to_vec::<f32>()?,
                expected.to_vec::<f32>()?,
                "{} gives the numbers of eager loops",
                case.name
            );
            println!("{line}  eager {}", micros(eager));
        }
    }
    Ok(())
}
