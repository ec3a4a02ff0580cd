//! Random expressions: machine code of every level gives the bits of the interpreter.
//!
//! `OPGRID_JIT_EXPRESSIONS` is the number of expressions, two thousand without it; `OPGRID_JIT_SEED` is that of the first one.

use opgrid_array::Array;
use opgrid_core::DType;
use opgrid_jit::{Access, Binary, Comparison, Expression, Function, Level, Program, Unary, Value};

use crate::random::Random;
use crate::values::{DTYPES, canonical, drawn, laid_out};

const UNARY: [Unary; 8] = [
    Unary::Negate,
    Unary::Absolute,
    Unary::SquareRoot,
    Unary::Ceil,
    Unary::Floor,
    Unary::Trunc,
    Unary::Round,
    Unary::Not,
];
const BINARY: [Binary; 9] = [
    Binary::Add,
    Binary::Subtract,
    Binary::Multiply,
    Binary::Divide,
    Binary::Larger,
    Binary::Smaller,
    Binary::And,
    Binary::Or,
    Binary::Xor,
];
const COMPARISONS: [Comparison; 4] =
    [Comparison::Less, Comparison::LessEqual, Comparison::Equal, Comparison::NotEqual];

/// Functions that see whole blocks, with results that depend on one place each.
const FUNCTIONS: [Function; 3] = [
    Function::f32("third", 1, |out, args| {
        out.iter_mut().zip(args[0]).for_each(|(out, x)| *out = x / 3.0 + 1.0);
    }),
    Function::f32("fused", 3, |out, args| {
        for (i, out) in out.iter_mut().enumerate() {
            *out = args[0][i].mul_add(args[1][i], args[2][i]);
        }
    }),
    Function::f64("cube", 1, |out, args| {
        out.iter_mut().zip(args[0]).for_each(|(out, x)| *out = x * x * x);
    }),
];

/// The number that a variable of the environment names.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("the setting is a number"))
}

/// Some values of one dtype, chosen from all.
fn alike(random: &mut Random, expression: &Expression, values: &[Value], first: Value) -> Value {
    let dtype = expression.dtype(first);
    let same: Vec<Value> = values.iter().copied().filter(|value| expression.dtype(*value) == dtype).collect();
    same[random.below(same.len())]
}

/// An expression of so many operations, and its inputs for outputs of a shape. `dtypes` are those of inputs.
fn expression(
    random: &mut Random,
    operations: usize,
    dtypes: &[DType],
    shape: &[i64],
) -> (Expression, Vec<Array>) {
    let mut expression = Expression::new();
    let (mut values, mut inputs) = (Vec::new(), Vec::new());
    for _ in 0..1 + random.below(5) {
        let dtype = dtypes[random.below(dtypes.len())];
        if random.below(5) == 0 {
            values.push(expression.load(dtype, Access::Scalar).unwrap());
            inputs.push(drawn(random, dtype, &[1]));
        } else {
            values.push(expression.load(dtype, Access::Elements).unwrap());
            inputs.push(laid_out(random, dtype, shape));
        }
    }
    for number in [0i64, 1, 3] {
        values.push(expression.constant(dtypes[random.below(dtypes.len())], number).unwrap());
    }
    let mut left = operations;
    while left > 0 {
        // Mostly one of the last values, so that chains get long.
        let recent = values.len().min(6);
        let a = values[if random.below(4) == 0 {
            random.below(values.len())
        } else {
            values.len() - 1 - random.below(recent)
        }];
        let (b, c) = (alike(random, &expression, &values, a), alike(random, &expression, &values, a));
        let condition = values.iter().copied().rev().find(|value| expression.dtype(*value) == DType::Bool);
        let function = FUNCTIONS[random.below(FUNCTIONS.len())];
        let made = match random.below(10) {
            0 | 1 => expression.unary(UNARY[random.below(UNARY.len())], a),
            2..6 => expression.binary(BINARY[random.below(BINARY.len())], a, b),
            6 => expression.compare(COMPARISONS[random.below(COMPARISONS.len())], a, b),
            7 => expression.select(condition.unwrap_or(a), b, c),
            8 => expression.convert(a, DTYPES[random.below(DTYPES.len())]),
            _ => expression.call(function, &[a, b, c][..function.arity()]),
        };
        // Some functions are not defined for some dtypes.
        if let Ok(value) = made {
            values.push(value);
            left -= 1;
        }
    }
    expression.store(*values.last().unwrap()).unwrap();
    for _ in 0..random.below(4) {
        expression.store(values[random.below(values.len())]).unwrap();
    }
    (expression, inputs)
}

fn shape(random: &mut Random) -> Vec<i64> {
    match random.below(5) {
        0 => vec![1 + random.below(40) as i64],
        1 => vec![900 + random.below(1400) as i64],
        2 => vec![1 + random.below(30) as i64, 1 + random.below(40) as i64],
        3 => vec![1 + random.below(5) as i64, 1 + random.below(7) as i64, 1 + random.below(40) as i64],
        _ => vec![1],
    }
}

/// What a program of a level computes.
fn outputs(expression: &Expression, level: Level, inputs: &[Array], shape: &[i64]) -> Vec<Vec<u64>> {
    let program = Program::new(expression.clone(), level).unwrap();
    let outputs: Vec<Array> =
        program.output_dtypes().map(|dtype| drawn(&mut Random::new(1), dtype, shape)).collect();
    program.run(&outputs.iter().collect::<Vec<_>>(), &inputs.iter().collect::<Vec<_>>()).unwrap();
    outputs.iter().map(canonical).collect()
}

fn check(seed: u64, dtypes: &[DType]) {
    let mut random = Random::new(seed);
    let shape = shape(&mut random);
    let operations = 1 + random.below(60);
    let (expression, inputs) = expression(&mut random, operations, dtypes, &shape);
    let expected = outputs(&expression, Level::Interpreter, &inputs, &shape);
    for level in [Level::Avx2, Level::Avx512].into_iter().filter(|level| *level <= Level::best()) {
        let found = outputs(&expression, level, &inputs, &shape);
        for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let wrong = found.iter().zip(expected).position(|(found, expected)| found != expected);
            if let Some(at) = wrong {
                panic!(
                    "seed {seed}, {level}, shape {shape:?}: output {k} differs at {at}: {:x}, expected {:x}\n{expression:?}",
                    found[at], expected[at]
                );
            }
        }
    }
}

#[test]
fn machine_code_gives_the_bits_of_the_interpreter() {
    let (count, first) = (setting("OPGRID_JIT_EXPRESSIONS", 2000), setting("OPGRID_JIT_SEED", 0));
    for seed in first..first + count {
        // Half of them with one dtype, so that there is much that can be done with the values.
        match seed % 8 {
            0 | 1 => check(seed, &[DType::F32]),
            2 => check(seed, &[DType::F64]),
            3 => check(seed, &[DType::I32, DType::I64]),
            _ => check(seed, &DTYPES),
        }
    }
}
