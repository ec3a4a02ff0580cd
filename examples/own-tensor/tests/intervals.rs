//! The library from outside: typed and boxed calls, two dispatchers, the layer, and tensors of another library.

use opgrid_core::{
    AnyTensor, DispatchKey, Dispatcher, ErrorKind, Registration, Result, TensorData, TensorType, Value,
};
use own_tensor::{Add, Curve, Hull, Intervals, Log, Mul, Rounding, Widths, register};

fn subject(rounding: Rounding) -> (Dispatcher, Registration) {
    let dispatcher = Dispatcher::new();
    let registration = register(&dispatcher, rounding).unwrap();
    (dispatcher, registration)
}

fn list(items: &[(f64, f64)]) -> Intervals {
    Intervals::new(items.iter().copied()).unwrap()
}

#[test]
fn operators_compute_with_intervals() -> Result<()> {
    let (quick, _operators) = subject(Rounding::Nearest);
    let (x, y) = (list(&[(1.0, 2.0), (-1.0, 3.0)]), list(&[(0.5, 0.5), (-2.0, 1.0)]));
    assert_eq!(quick.call(Add, (&x, &y))?.to_string(), "[1.5..2.5, -3..4]");
    assert_eq!(quick.call(Mul, (&x, &y))?.to_string(), "[0.5..1, -6..3]");
    assert_eq!(quick.call(Curve, (&x,))?.to_string(), "[2..6, -4..12]");
    assert_eq!(quick.call(Hull, (&[x.clone(), y.clone()][..],))?.to_string(), "[0.5..2, -2..3]");
    assert_eq!(quick.call(Widths, (&y,))?, [0.0, 3.0]);
    assert_eq!(x.keys().to_string(), "DispatchKeySet(CPU, ADInplaceOrView, AutogradCPU, AutocastCPU)");
    Ok(())
}

#[test]
fn errors_name_operator_and_argument() {
    let (quick, _operators) = subject(Rounding::Nearest);
    let (one, two) = (list(&[(0.0, 1.0)]), list(&[(0.0, 1.0), (0.0, 1.0)]));
    let text = quick.call(Add, (&two, &one)).unwrap_err().to_string();
    assert_eq!(text, "interval::add: argument `other` has 1 intervals, expected 2 as in `self`");
    let text = quick.call(Hull, (&[][..],)).unwrap_err().to_string();
    assert!(text.contains("argument `tensors` is empty"), "{text}");
    for (low, high) in [(2.0, 1.0), (f64::NAN, 1.0)] {
        assert_eq!(Intervals::new([(low, high)]).unwrap_err().kind(), ErrorKind::Argument);
    }
}

#[test]
fn dispatchers_have_kernels_of_their_own() {
    let (quick, _quick) = subject(Rounding::Nearest);
    let (careful, _careful) = subject(Rounding::Outwards);
    let tenth = list(&[(0.1, 0.1)]);
    assert_eq!(quick.call(Widths, (&quick.call(Mul, (&tenth, &tenth)).unwrap(),)).unwrap(), [0.0]);
    let square = careful.call(Mul, (&tenth, &tenth)).unwrap();
    assert!(careful.call(Widths, (&square,)).unwrap()[0] > 0.0);
    let curve = careful.call(Curve, (&tenth,)).unwrap();
    let (inner, outer) = (quick.call(Curve, (&tenth,)).unwrap().items()[0], curve.items()[0]);
    assert!(outer.low < inner.low && inner.high < outer.high, "a composite stays on its dispatcher");
}

#[test]
fn boxed_calls_carry_the_type() -> Result<()> {
    let (quick, _operators) = subject(Rounding::Nearest);
    let x = list(&[(1.0, 2.0)]);
    let add = quick.find("interval::add")?;
    let results = add.call_values(vec![Value::from(x.clone()), Value::from(x.clone())])?;
    assert_eq!(results[0].to_string(), "[2..4]");
    assert_eq!(add.typed::<fn(Intervals, Intervals) -> Intervals>()?.call((&x, &x))?.to_string(), "[2..4]");
    let hull = quick.find("interval::hull")?;
    let both = vec![x.clone().into_any(), x.into_any()];
    assert_eq!(hull.call_values(vec![Value::from(both)])?[0].to_string(), "[1..2]");
    Ok(())
}

struct Stranger;

impl TensorData for Stranger {
    fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("stranger")
    }
}

#[test]
fn tensors_of_another_library_are_refused() {
    let (quick, _operators) = subject(Rounding::Nearest);
    let stranger = AnyTensor::new(DispatchKey::Cpu.key_set(), Stranger);
    let widths = quick.find("interval::widths").unwrap();
    let error = widths.call_values(vec![Value::from(stranger)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Value);
    assert!(error.to_string().contains("interval::widths"), "{error}");
}

#[test]
fn the_layer_logs_calls_of_tensors_that_carry_its_key() -> Result<()> {
    let (quick, _operators) = subject(Rounding::Nearest);
    let log = Log::default();
    let attached = log.attach(&quick)?;
    let x = list(&[(1.0, 2.0)]);
    let logged = x.under(Log::layer()?);
    assert_eq!(logged.keys(), x.keys() | Log::layer()?.key_set());
    quick.call(Curve, (&x,))?;
    assert!(log.lines().is_empty());
    let curve = quick.call(Curve, (&logged,))?;
    assert_eq!(log.lines(), ["interval::curve([1..2]) -> [2..6]"], "what runs below is not logged again");
    quick.call(Mul, (&curve, &logged))?;
    quick.call(Add, (&logged, &list(&[]))).unwrap_err();
    assert_eq!(log.lines().len(), 3);
    assert!(log.lines()[2].contains("argument `other` has 0 intervals"), "{}", log.lines()[2]);
    drop(attached);
    quick.call(Curve, (&logged,))?;
    assert_eq!(log.lines().len(), 3, "calls step over a layer that is gone");
    Ok(())
}
