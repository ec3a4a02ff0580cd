//! Functions of numbers that programs call beside operators: Python's operators, `math`, and torch's on symbolic sizes.
//!
//! Integers are those of Python as long as they fit 64 bits; beyond that they are errors.

use opgrid_core::{Error, Result, Value};

use crate::error;
use crate::graph::expression::floor_div;

/// A function of numbers.
pub(crate) type Function = fn(&[Value]) -> Result<Value>;

/// The function that a target names.
pub(crate) fn find(target: &str) -> Option<Function> {
    FUNCTIONS.iter().find(|(name, _)| *name == target).map(|(_, function)| *function)
}

/// The names of all functions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name)
}

const FUNCTIONS: &[(&str, Function)] = &[
    ("_operator.add", |args| arithmetic(args, i64::checked_add, |a, b| a + b)),
    ("_operator.sub", |args| arithmetic(args, i64::checked_sub, |a, b| a - b)),
    ("_operator.mul", |args| arithmetic(args, i64::checked_mul, |a, b| a * b)),
    ("_operator.floordiv", |args| arithmetic(nonzero(args)?, floor_div, |a, b| (a / b).floor())),
    ("_operator.mod", |args| arithmetic(nonzero(args)?, modulo, |a, b| a - b * (a / b).floor())),
    ("_operator.truediv", |args| {
        let [a, b] = floats(nonzero(args)?)?;
        Ok(Value::Float(a / b))
    }),
    ("_operator.pow", power),
    ("_operator.neg", |args| unary(args, i64::checked_neg, |a| -a)),
    ("_operator.pos", |args| unary(args, Some, |a| a)),
    ("_operator.abs", |args| unary(args, i64::checked_abs, f64::abs)),
    ("_operator.eq", |args| compare(args, |a, b| a == b, |a, b| a == b)),
    ("_operator.ne", |args| compare(args, |a, b| a != b, |a, b| a != b)),
    ("_operator.lt", |args| compare(args, |a, b| a < b, |a, b| a < b)),
    ("_operator.le", |args| compare(args, |a, b| a <= b, |a, b| a <= b)),
    ("_operator.gt", |args| compare(args, |a, b| a > b, |a, b| a > b)),
    ("_operator.ge", |args| compare(args, |a, b| a >= b, |a, b| a >= b)),
    ("_operator.and_", |args| bits(args, |a, b| Some(a & b))),
    ("_operator.or_", |args| bits(args, |a, b| Some(a | b))),
    ("_operator.xor", |args| bits(args, |a, b| Some(a ^ b))),
    ("_operator.lshift", |args| bits(args, |a, b| a.checked_mul(2i64.checked_pow(u32::try_from(b).ok()?)?))),
    ("_operator.rshift", |args| bits(args, |a, b| Some(a >> u32::try_from(b).ok()?.min(63)))),
    ("_operator.getitem", item),
    ("math.trunc", |args| rounded(args, f64::trunc)),
    ("math.floor", |args| rounded(args, f64::floor)),
    ("math.ceil", |args| rounded(args, f64::ceil)),
    ("round", |args| rounded(args, f64::round_ties_even)),
    ("math.sqrt", square_root),
    ("math.exp", |args| real(args, f64::exp)),
    ("math.log", |args| real(args, f64::ln)),
    ("math.log2", |args| real(args, f64::log2)),
    ("math.sin", |args| real(args, f64::sin)),
    ("math.cos", |args| real(args, f64::cos)),
    ("math.tan", |args| real(args, f64::tan)),
    ("math.tanh", |args| real(args, f64::tanh)),
    ("math.atan", |args| real(args, f64::atan)),
    ("math.pow", |args| {
        let [a, b] = floats(args)?;
        Ok(Value::Float(a.powf(b)))
    }),
    ("torch.sym_sqrt", square_root),
    ("torch._sym_sqrt", square_root),
    ("torch.sym_int", |args| rounded(args, f64::trunc)),
    ("torch.sym_float", |args| real(args, |a| a)),
    ("torch.sym_not", |args| {
        let [a] = exactly(args)?;
        a.borrow().as_bool().map(|a| Value::Bool(!a)).ok_or_else(|| refused(args))
    }),
    ("torch.sym_max", |args| arithmetic(args, |a, b| Some(a.max(b)), f64::max)),
    ("torch.sym_min", |args| arithmetic(args, |a, b| Some(a.min(b)), f64::min)),
    ("torch.sym_sum", |args| {
        let [list] = exactly(args)?;
        let Value::List(list) = list else { return Err(refused(args)) };
        let add = |sum: i64, item: &Value| sum.checked_add(item.borrow().as_int()?);
        list.values().iter().try_fold(0, add).map(Value::Int).ok_or_else(|| refused(args))
    }),
    ("torch.sym_ite", |args| {
        let [condition, yes, no] = exactly(args)?;
        let condition = condition.borrow().as_bool().ok_or_else(|| refused(args))?;
        Ok(if condition { yes.clone() } else { no.clone() })
    }),
];

/// The arguments, as many as the function takes.
fn exactly<const N: usize>(args: &[Value]) -> Result<&[Value; N]> {
    args.try_into().map_err(|_| error::value(format!("found {} arguments, expected {N}", args.len())))
}

/// A number as an integer; truth values are 0 and 1.
fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(value) => Some(*value),
        Value::Bool(value) => Some(i64::from(*value)),
        _ => None,
    }
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(value) => Some(*value),
        value => integer(value).map(|value| value as f64),
    }
}

fn floats<const N: usize>(args: &[Value]) -> Result<[f64; N]> {
    let args = exactly::<N>(args)?;
    let mut result = [0.0; N];
    for (place, arg) in result.iter_mut().zip(args) {
        *place = float(arg).ok_or_else(|| refused(args))?;
    }
    Ok(result)
}

/// Two integers by one function, other numbers by another.
fn arithmetic(
    args: &[Value],
    integers: fn(i64, i64) -> Option<i64>,
    reals: fn(f64, f64) -> f64,
) -> Result<Value> {
    let [a, b] = exactly(args)?;
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => integers(a, b).map(Value::Int).ok_or_else(|| overflow(args)),
        _ => floats(args).map(|[a, b]| Value::Float(reals(a, b))),
    }
}

fn unary(args: &[Value], integers: fn(i64) -> Option<i64>, reals: fn(f64) -> f64) -> Result<Value> {
    let [a] = exactly(args)?;
    match integer(a) {
        Some(a) => integers(a).map(Value::Int).ok_or_else(|| overflow(args)),
        None => real(args, reals),
    }
}

fn compare(args: &[Value], integers: fn(i64, i64) -> bool, reals: fn(f64, f64) -> bool) -> Result<Value> {
    let [a, b] = exactly(args)?;
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => Ok(Value::Bool(integers(a, b))),
        _ => floats(args).map(|[a, b]| Value::Bool(reals(a, b))),
    }
}

/// A function of integers bit by bit; of two truth values it gives one.
fn bits(args: &[Value], function: fn(i64, i64) -> Option<i64>) -> Result<Value> {
    let [a, b] = exactly(args)?;
    let is_truth = matches!((a, b), (Value::Bool(_), Value::Bool(_)));
    let (a, b) = integer(a).zip(integer(b)).ok_or_else(|| refused(args))?;
    let result = function(a, b).ok_or_else(|| overflow(args))?;
    Ok(if is_truth && (0..=1).contains(&result) { Value::Bool(result == 1) } else { Value::Int(result) })
}

fn real(args: &[Value], function: fn(f64) -> f64) -> Result<Value> {
    floats(args).map(|[a]| Value::Float(function(a)))
}

fn square_root(args: &[Value]) -> Result<Value> {
    match floats(args)? {
        [a] if a < 0.0 => {
            Err(error::value(format!("the square root of {a}, expected a number of at least 0")))
        }
        [a] => Ok(Value::Float(a.sqrt())),
    }
}

/// A float as an integer; integers stay what they are.
fn rounded(args: &[Value], function: fn(f64) -> f64) -> Result<Value> {
    let [a] = exactly(args)?;
    if let Some(a) = integer(a) {
        return Ok(Value::Int(a));
    }
    let [a] = floats(args)?;
    let a = function(a);
    let fits = (-(2f64.powi(63))..2f64.powi(63)).contains(&a);
    if fits { Ok(Value::Int(a as i64)) } else { Err(overflow(args)) }
}

fn power(args: &[Value]) -> Result<Value> {
    let [a, b] = exactly(args)?;
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) if b >= 0 => {
            let power = u32::try_from(b).ok().and_then(|b| a.checked_pow(b));
            power.map(Value::Int).ok_or_else(|| overflow(args))
        }
        _ => floats(args).map(|[a, b]| Value::Float(a.powf(b))),
    }
}

fn modulo(a: i64, b: i64) -> Option<i64> {
    a.checked_sub(floor_div(a, b)?.checked_mul(b)?)
}

fn nonzero(args: &[Value]) -> Result<&[Value]> {
    let [_, divisor] = exactly(args)?;
    if float(divisor) == Some(0.0) { Err(error::value("division by zero")) } else { Ok(args) }
}

/// An element of a list; negative numbers count from its end.
fn item(args: &[Value]) -> Result<Value> {
    let [list, index] = exactly(args)?;
    let items = match list {
        Value::List(list) => list.values(),
        Value::Tuple(items) => items.to_vec(),
        _ => return Err(refused(args)),
    };
    let index = integer(index).ok_or_else(|| refused(args))?;
    let place = if index < 0 { index.checked_add(items.len() as i64) } else { Some(index) };
    let found = place.and_then(|place| items.get(usize::try_from(place).ok()?)).cloned();
    found.ok_or_else(|| error::value(format!("element {index} of a list of {}", items.len())))
}

#[cold]
fn refused(args: &[Value]) -> Error {
    let kinds = args.iter().map(|arg| arg.borrow().value_type());
    error::value(format!("found arguments of types {}, expected numbers", error::quoted(kinds)))
}

#[cold]
fn overflow(args: &[Value]) -> Error {
    error::value(format!("the result for {} does not fit an integer of 64 bits", error::quoted(args)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, args: &[Value]) -> Result<Value> {
        find(name).expect("a function of that name")(args)
    }

    #[test]
    fn integers_are_those_of_python() {
        let int = |name: &str, a: i64, b: i64| call(name, &[a.into(), b.into()]).unwrap();
        assert_eq!(int("_operator.floordiv", -7, 2), Value::Int(-4));
        assert_eq!(int("_operator.mod", -7, 2), Value::Int(1));
        assert_eq!(int("_operator.mod", 7, -2), Value::Int(-1));
        assert_eq!(int("_operator.truediv", 7, 2), Value::Float(3.5));
        assert_eq!(int("_operator.pow", 2, 10), Value::Int(1024));
        assert_eq!(int("_operator.pow", 2, -1), Value::Float(0.5));
        assert_eq!(int("_operator.lshift", 3, 4), Value::Int(48));
        assert_eq!(int("_operator.rshift", -5, 1), Value::Int(-3));
        assert_eq!(int("_operator.le", 3, 4), Value::Bool(true));
        assert_eq!(int("torch.sym_max", 3, 4), Value::Int(4));
        assert_eq!(call("_operator.and_", &[true.into(), false.into()]).unwrap(), Value::Bool(false));
        assert_eq!(call("math.trunc", &[Value::Float(-2.5)]).unwrap(), Value::Int(-2));
        assert_eq!(call("round", &[Value::Float(2.5)]).unwrap(), Value::Int(2));
        assert_eq!(call("torch.sym_ite", &[true.into(), 1.into(), 2.into()]).unwrap(), Value::Int(1));
        assert_eq!(call("torch.sym_sum", &[vec![1i64, 2, 3].into()]).unwrap(), Value::Int(6));
        assert_eq!(
            call("_operator.getitem", &[vec![1i64, 2, 3].into(), Value::Int(-1)]).unwrap(),
            Value::Int(3)
        );
    }

    #[test]
    fn what_has_no_result_is_an_error() {
        let max = Value::Int(i64::MAX);
        for (name, args, part) in [
            ("_operator.add", vec![max.clone(), 1.into()], "64 bits"),
            ("_operator.mul", vec![max.clone(), 2.into()], "64 bits"),
            ("_operator.neg", vec![Value::Int(i64::MIN)], "64 bits"),
            ("_operator.floordiv", vec![Value::Int(i64::MIN), Value::Int(-1)], "64 bits"),
            ("_operator.mod", vec![Value::Int(i64::MIN), Value::Int(-1)], "64 bits"),
            ("_operator.pow", vec![2.into(), 64.into()], "64 bits"),
            ("_operator.lshift", vec![1.into(), 63.into()], "64 bits"),
            ("_operator.lshift", vec![1.into(), Value::Int(-1)], "64 bits"),
            ("_operator.floordiv", vec![1.into(), 0.into()], "zero"),
            ("_operator.truediv", vec![1.into(), Value::Float(0.0)], "zero"),
            ("math.trunc", vec![Value::Float(f64::NAN)], "64 bits"),
            ("math.sqrt", vec![Value::Int(-1)], "square root"),
            ("_operator.add", vec![1.into()], "expected 2"),
            ("_operator.add", vec!["a".into(), 1.into()], "expected numbers"),
            ("_operator.getitem", vec![vec![1i64].into(), 1.into()], "element 1"),
        ] {
            let error = call(name, &args).unwrap_err();
            assert!(error.message().contains(part), "{name}: {error}");
        }
    }
}
