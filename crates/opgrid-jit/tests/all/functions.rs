//! Elementary functions give the bits that eager loops give.

use opgrid_array::Array;
use opgrid_array::loops::arithmetic::Arithmetic;
use opgrid_array::loops::{Function, elementwise, math};
use opgrid_core::DType;
use opgrid_jit::{Access, Binary, Expression, Level, Program, functions};

use crate::random::Random;
use crate::values::{canonical, laid_out};

/// Checks `function(x * x - x)` of arrays of many layouts against eager loops.
fn check<T, F>(function: fn(DType) -> Option<opgrid_jit::Function>, eager: F)
where
    T: Arithmetic,
    F: Function<(T,), Output = T>,
{
    let function = function(T::DTYPE).unwrap();
    let mut expression = Expression::new();
    let x = expression.load(T::DTYPE, Access::Elements).unwrap();
    let square = expression.binary(Binary::Multiply, x, x).unwrap();
    let difference = expression.binary(Binary::Subtract, square, x).unwrap();
    let result = expression.call(function, &[difference]).unwrap();
    let sum = expression.binary(Binary::Add, result, x).unwrap();
    for value in [result, sum] {
        expression.store(value).unwrap();
    }
    let mut random = Random::new(3);
    for level in [Level::Interpreter, Level::Avx2, Level::Avx512] {
        let program = Program::new(expression.clone(), level).unwrap();
        for sizes in [[1, 7], [3, 300], [40, 33], [2, 2048]] {
            let x = laid_out(&mut random, T::DTYPE, &sizes);
            let count = (sizes[0] * sizes[1]) as usize;
            let [plain, out, sum] =
                [(); 3].map(|()| Array::from_slice(&vec![T::ZERO; count], &sizes).unwrap());
            program.run(&[&out, &sum], &[&x]).unwrap();
            elementwise::unary::<T, T>(&plain, &x, |x: T| x.times(x).minus(x)).unwrap();
            elementwise::unary_by::<T, T>(&plain, &plain, eager).unwrap();
            assert_eq!(canonical(&out), canonical(&plain), "{function:?}, {level}");
            elementwise::binary::<T, T, T>(&plain, &plain, &x, T::plus).unwrap();
            assert_eq!(canonical(&sum), canonical(&plain), "{function:?}, {level}");
        }
    }
}

#[test]
fn functions_give_the_bits_of_eager_loops() {
    check::<f32, _>(functions::exp, math::Exponential);
    check::<f64, _>(functions::exp, math::Exponential);
    check::<f32, _>(functions::log, math::Logarithm);
    check::<f64, _>(functions::log, math::Logarithm);
    check::<f32, _>(functions::sigmoid, math::Logistic);
    check::<f64, _>(functions::sigmoid, math::Logistic);
    check::<f32, _>(functions::tanh, math::HyperbolicTangent);
    check::<f64, _>(functions::tanh, math::HyperbolicTangent);
    assert!(functions::exp(DType::I64).is_none());
}
