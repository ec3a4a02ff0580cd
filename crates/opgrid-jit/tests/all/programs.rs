//! What programs refuse, and that threads and layouts change no result.

use opgrid_array::loops::elementwise;
use opgrid_array::{Array, Geometry};
use opgrid_core::DType;
use opgrid_jit::{Access, Binary, Comparison, Expression, Function, Level, Program, Unary};

/// `x * y + 1`.
fn scaled_sum() -> Expression {
    let mut expression = Expression::new();
    let x = expression.load(DType::F32, Access::Elements).unwrap();
    let y = expression.load(DType::F32, Access::Elements).unwrap();
    let one = expression.constant(DType::F32, 1.0).unwrap();
    let product = expression.binary(Binary::Multiply, x, y).unwrap();
    let sum = expression.binary(Binary::Add, product, one).unwrap();
    expression.store(sum).unwrap();
    expression
}

fn numbers(sizes: &[i64]) -> Array {
    let count = sizes.iter().product::<i64>();
    Array::from_slice(&(0..count).map(|i| i as f32 * 0.37 - 5.0).collect::<Vec<_>>(), sizes).unwrap()
}

fn check_refused(program: &Program, outputs: &[&Array], inputs: &[&Array], expected: &str) {
    let error = program.run(outputs, inputs).unwrap_err().to_string();
    assert!(error.contains(expected), "{error} does not say {expected:?}");
}

#[test]
fn arrays_that_do_not_fit_are_refused() {
    let program = Program::new(scaled_sum(), Level::best()).unwrap();
    let (x, y, out) = (numbers(&[2, 3]), numbers(&[3]), numbers(&[2, 3]));
    program.run(&[&out], &[&x, &y]).unwrap();
    check_refused(&program, &[&out], &[&x], "found 1 outputs and 1 inputs, expected 1 and 2");
    check_refused(
        &program,
        &[&out],
        &[&x, &numbers(&[2])],
        "does not broadcast to the outputs' shape [2, 3]",
    );
    let integers = Array::from_slice(&[1i64, 2, 3], &[3]).unwrap();
    check_refused(&program, &[&out], &[&x, &integers], "float32");
    check_refused(&program, &[&x], &[&x, &y], "refer to a single memory location");
    let halves = numbers(&[12]);
    let half = |offset| halves.view(Geometry::strided(&[2, 3], &[3, 1], offset).unwrap()).unwrap();
    check_refused(&program, &[&half(0)], &[&half(6), &y], "expected a storage of its own");
    let repeated = halves.view(Geometry::strided(&[2, 3], &[0, 1], 0).unwrap()).unwrap();
    check_refused(&program, &[&repeated], &[&x, &y], "more than one element");
    let guard = y.storage().write().unwrap();
    assert!(program.run(&[&out], &[&x, &y]).is_err());
    drop(guard);
}

#[test]
fn expressions_that_make_no_sense_are_refused() {
    let mut expression = Expression::new();
    let x = expression.load(DType::F32, Access::Elements).unwrap();
    let i = expression.load(DType::I64, Access::Elements).unwrap();
    let narrow = expression.load(DType::BF16, Access::Elements).unwrap();
    let messages = [
        expression.load(DType::Complex64, Access::Elements).map(drop),
        expression.binary(Binary::Add, x, i).map(drop),
        expression.binary(Binary::Divide, i, i).map(drop),
        expression.unary(Unary::Not, x).map(drop),
        expression.unary(Unary::Negate, narrow).map(drop),
        expression.select(x, i, i).map(drop),
        expression.compare(Comparison::Less, x, i).map(drop),
        expression.call(Function::f64("f", 1, |_, _| {}), &[x]).map(drop),
        expression.call(Function::f32("f", 2, |_, _| {}), &[x]).map(drop),
        expression.constant(DType::U8, 300).map(drop),
    ];
    let expected = [
        "no values of complex64",
        "dtypes differ: float32 and int64",
        "Divide is not defined for int64",
        "Not is not defined for float32",
        "converted to float32",
        "a condition is bool, found float32",
        "dtypes differ",
        "f takes float64, found float32",
        "f takes 2 arguments, found 1",
        "without overflow",
    ];
    for (message, expected) in messages.into_iter().zip(expected) {
        let error = message.unwrap_err().to_string();
        assert!(error.contains(expected), "{error} does not say {expected:?}");
    }
    let error = Program::new(expression, Level::best()).unwrap_err().to_string();
    assert!(error.contains("no outputs"), "{error}");
}

#[test]
fn equal_values_are_computed_once() {
    let mut expression = scaled_sum();
    let x = expression.load(DType::F32, Access::Elements).unwrap();
    assert_eq!(expression.unary(Unary::Negate, x).unwrap(), expression.unary(Unary::Negate, x).unwrap());
    assert_eq!(expression.constant(DType::F32, 2).unwrap(), expression.constant(DType::F32, 2.0).unwrap());
    assert_ne!(expression.constant(DType::F32, 0.0).unwrap(), expression.constant(DType::F32, -0.0).unwrap());
    assert_eq!(expression.convert(x, DType::F32).unwrap(), x);
}

#[test]
fn loops_of_no_elements_do_nothing() {
    let program = Program::new(scaled_sum(), Level::best()).unwrap();
    let (x, y) = (numbers(&[0, 3]), numbers(&[3]));
    program.run(&[&numbers(&[0, 3])], &[&x, &y]).unwrap();
}

#[test]
fn outputs_have_any_strides_and_large_loops_any_threads() {
    let (rows, columns) = (700, 301);
    let (x, y) = (numbers(&[rows, columns]), numbers(&[columns]));
    let plain = numbers(&[rows, columns]);
    elementwise::binary::<f32, f32, f32>(&plain, &x, &y, |x, y| x * y + 1.0).unwrap();
    for level in [Level::Interpreter, Level::Avx2, Level::Avx512] {
        let program = Program::new(scaled_sum(), level).unwrap();
        assert!(program.level() <= level);
        let transposed = numbers(&[columns, rows]);
        let transposed = transposed.view(transposed.geometry().transpose(0, 1).unwrap()).unwrap();
        let gaps = numbers(&[rows, 2 * columns]);
        let gaps = gaps.view(gaps.geometry().slice(1, 0, 2 * columns, 2).unwrap()).unwrap();
        for out in [numbers(&[rows, columns]), transposed, gaps] {
            program.run(&[&out], &[&x, &y]).unwrap();
            assert_eq!(out.to_vec::<f32>().unwrap(), plain.to_vec::<f32>().unwrap(), "{level}, {out:?}");
        }
    }
}

/// `(x + 1) * 1 + (x + 2) * 2 + …`, with all sums before the first product: as many values at a time.
fn with_live_values(count: i64) -> Expression {
    let mut expression = Expression::new();
    let x = expression.load(DType::F32, Access::Elements).unwrap();
    let number = |expression: &mut Expression, i: i64| expression.constant(DType::F32, i).unwrap();
    let mut sums = Vec::new();
    for i in 1..=count {
        let number = number(&mut expression, i);
        sums.push(expression.binary(Binary::Add, x, number).unwrap());
    }
    let mut total = x;
    for (i, sum) in (1..).zip(sums) {
        let number = number(&mut expression, i);
        let product = expression.binary(Binary::Multiply, sum, number).unwrap();
        total = expression.binary(Binary::Add, total, product).unwrap();
    }
    expression.store(total).unwrap();
    expression
}

#[test]
fn values_without_registers_are_spilled() {
    let x = numbers(&[77]);
    for count in [5, 14, 15, 31, 60, 120] {
        let run = |level| {
            let program = Program::new(with_live_values(count), level).unwrap();
            let out = numbers(&[77]);
            program.run(&[&out], &[&x]).unwrap();
            (program.level(), out.to_vec::<f32>().unwrap())
        };
        for level in [Level::Avx2, Level::Avx512] {
            let (found, values) = run(level);
            assert_eq!(found, level.min(Level::best()));
            assert_eq!(values, run(Level::Interpreter).1, "{count} values, {level}");
        }
    }
    let program = Program::new(with_live_values(300), Level::best()).unwrap();
    assert_eq!(program.level(), Level::Interpreter);
    program.run(&[&numbers(&[77])], &[&x]).unwrap();
}

#[test]
fn fresh_memory_is_written_whole() {
    let program = Program::new(scaled_sum(), Level::best()).unwrap();
    let (x, y) = (numbers(&[37]), numbers(&[37]));
    let out = Array::empty(x.spec().clone()).unwrap();
    program.run(&[&out], &[&x, &y]).unwrap();
    let expected: Vec<f32> = x.to_vec::<f32>().unwrap().iter().map(|x| x * x + 1.0).collect();
    assert_eq!(out.to_vec::<f32>().unwrap(), expected);
}

/// A function that panics at NaN.
fn fragile() -> Expression {
    let mut expression = Expression::new();
    let x = expression.load(DType::F32, Access::Elements).unwrap();
    let function = Function::f32("fragile", 1, |out, args| {
        assert!(!args[0].iter().any(|x| x.is_nan()), "no NaN");
        out.copy_from_slice(args[0]);
    });
    let called = expression.call(function, &[x]).unwrap();
    expression.store(called).unwrap();
    expression
}

#[test]
fn a_panic_of_a_function_leaves_arrays_that_can_be_used() {
    for count in [10, 300_000] {
        let program = Program::new(fragile(), Level::best()).unwrap();
        let mut elements = vec![1.0f32; count];
        elements[count - 3] = f32::NAN;
        let x = Array::from_slice(&elements, &[count as i64]).unwrap();
        let out = Array::from_slice(&vec![2.0f32; count], &[count as i64]).unwrap();
        let run = || program.run(&[&out], &[&x]);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err(), "{count}");
        let whole = numbers(&[count as i64]);
        program.run(&[&out], &[&whole]).unwrap();
        assert_eq!(out.to_vec::<f32>().unwrap(), whole.to_vec::<f32>().unwrap());
        program.run(&[&whole], &[&out]).unwrap();
    }
}

#[test]
fn views_at_the_end_of_a_storage_and_expanded_numbers_are_read() {
    let program = Program::new(scaled_sum(), Level::best()).unwrap();
    let whole = numbers(&[1000]);
    for (sizes, strides, offset) in [
        (&[3i64, 5][..], &[0i64, 1][..], 995),
        (&[3, 5], &[1, 0], 997),
        (&[3, 5], &[0, 0], 999),
        (&[3, 5], &[333, 83], 1),
    ] {
        let x = whole.view(Geometry::strided(sizes, strides, offset).unwrap()).unwrap();
        let out = numbers(&[3, 5]);
        program.run(&[&out], &[&x, &x]).unwrap();
        let expected: Vec<f32> = x.to_vec::<f32>().unwrap().iter().map(|x| x * x + 1.0).collect();
        assert_eq!(out.to_vec::<f32>().unwrap(), expected, "{strides:?}");
    }
    let none = Geometry::strided(&[0, 3], &[1_000_000, 7], 1_000_000_000);
    if let Ok(none) = none.and_then(|none| whole.view(none)) {
        program.run(&[&numbers(&[0, 3])], &[&none, &none]).unwrap();
    }
}

#[test]
fn long_chains_are_compiled_and_one_program_serves_many_threads() {
    let mut expression = Expression::new();
    let mut x = expression.load(DType::F64, Access::Elements).unwrap();
    for i in 0..20_000 {
        let number = expression.constant(DType::F64, i % 7).unwrap();
        let operation = if i % 2 == 0 { Binary::Add } else { Binary::Subtract };
        x = expression.binary(operation, x, number).unwrap();
    }
    expression.store(x).unwrap();
    let mut expected = 0.0;
    (0..20_000).for_each(|i| expected += if i % 2 == 0 { f64::from(i % 7) } else { -f64::from(i % 7) });
    for level in [Level::Interpreter, Level::best()] {
        let program = std::sync::Arc::new(Program::new(expression.clone(), level).unwrap());
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let program = program.clone();
                std::thread::spawn(move || {
                    let x = Array::from_slice(&[0.0f64; 37], &[37]).unwrap();
                    let out = Array::empty(x.spec().clone()).unwrap();
                    program.run(&[&out], &[&x]).unwrap();
                    out.to_vec::<f64>().unwrap()
                })
            })
            .collect();
        drop(program);
        for thread in threads {
            assert_eq!(thread.join().unwrap(), [expected; 37], "{level}");
        }
    }
}
