//! Graphs that keep tensors in another form: what is packed when, and what comes back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use opgrid_core::{Error, ErrorKind, Result, ThreadContext};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::autograd::{PackSavedTensors, Packed, checkpoint};

fn leaf(values: &[f64]) -> Tensor {
    let x = Tensor::from_slice(values, &[values.len() as i64]).unwrap();
    x.requires_grad_(true).unwrap();
    x
}

fn gradient(x: &Tensor) -> Vec<f64> {
    x.grad().unwrap().to_vec().unwrap()
}

/// Packs tensors as numbers, and counts them.
fn numbers(count: &Arc<AtomicUsize>) -> impl Fn(&Tensor) -> Result<Packed> + Send + Sync + 'static {
    let count = count.clone();
    move |tensor| {
        count.fetch_add(1, Ordering::Relaxed);
        let (values, sizes) = (tensor.to_vec::<f64>()?, tensor.sizes().to_vec());
        Ok(Packed::new(move || Tensor::from_slice(&values, &sizes)))
    }
}

#[test]
fn gradients_are_those_of_what_was_packed() {
    let (x, count) = (leaf(&[0.5, 2.0]), Arc::default());
    let y = {
        let _packing = PackSavedTensors::new(numbers(&count));
        x.mul(&x).unwrap().exp().unwrap().sum().unwrap()
    };
    assert_eq!(count.load(Ordering::Relaxed), 3);
    y.backward().unwrap();
    assert_eq!(gradient(&x), [0.5f64, 2.0].map(|x| 2.0 * x * (x * x).exp()));
    x.exp().unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 3, "the scope has ended");
}

#[test]
fn threads_that_take_over_the_state_pack_too() {
    let (x, count) = (leaf(&[1.0]), Arc::default());
    let _packing = PackSavedTensors::new(numbers(&count));
    let context = ThreadContext::capture();
    std::thread::scope(|scope| {
        scope.spawn(|| context.within(|| x.exp()).unwrap());
        scope.spawn(|| x.exp().unwrap());
    });
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[test]
fn the_innermost_scope_or_checkpoint_decides() {
    for nested in [false, true] {
        let (x, count) = (leaf(&[0.5]), Arc::new(AtomicUsize::new(0)));
        let inner_count = count.clone();
        let run = move |inputs: &[Tensor]| {
            let _packing = PackSavedTensors::new(numbers(&inner_count));
            let y = inputs[0].exp()?;
            if !nested {
                return Ok(vec![y.sin()?]);
            }
            // Its function saves for the inner checkpoint, whose input it is.
            checkpoint(|inputs| Ok(vec![inputs[0].sin()?]), &[y], Default::default())
        };
        let y = checkpoint(run, std::slice::from_ref(&x), Default::default()).unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 2, "the result of `exp`, and it again as an argument");
        y[0].backward().unwrap();
        assert_eq!(gradient(&x), [0.5f64.exp() * 0.5f64.exp().cos()], "nested: {nested}");
    }
    let (x, count) = (leaf(&[0.5]), Arc::default());
    let _packing = PackSavedTensors::new(numbers(&count));
    let y =
        checkpoint(|inputs| Ok(vec![inputs[0].exp()?.sin()?]), std::slice::from_ref(&x), Default::default());
    assert_eq!(count.load(Ordering::Relaxed), 1, "the input of the checkpoint");
    y.unwrap()[0].backward().unwrap();
    assert_eq!(gradient(&x), [0.5f64.exp() * 0.5f64.exp().cos()]);
}

#[test]
fn scopes_end_in_any_order_and_with_panics() {
    let (x, first, second) = (leaf(&[1.0]), Arc::default(), Arc::default());
    let outer = PackSavedTensors::new(numbers(&first));
    let inner = PackSavedTensors::new(numbers(&second));
    drop(outer);
    x.exp().unwrap();
    drop(inner);
    x.exp().unwrap();
    assert_eq!((first.load(Ordering::Relaxed), second.load(Ordering::Relaxed)), (0, 0));
    let panicking = PackSavedTensors::new(|_| panic!("out of space"));
    assert!(catch_unwind(AssertUnwindSafe(|| x.exp())).is_err());
    drop(panicking);
    x.exp().unwrap().backward().unwrap();
    assert_eq!(gradient(&x), [1f64.exp()]);
}

#[test]
fn errors_say_what_came_back() {
    let x = leaf(&[1.0, 2.0]);
    let y = {
        let _packing = PackSavedTensors::new(|_| Ok(Packed::new(|| Tensor::from_slice(&[1.0f32], &[1]))));
        x.exp().unwrap().sum().unwrap()
    };
    let message = y.backward().unwrap_err().to_string();
    assert!(message.contains("float32 tensor of shape [1], expected float64 and shape [2]"), "{message}");
    let _packing = PackSavedTensors::new(|_| Err(Error::new(ErrorKind::Argument, "out of space")));
    assert!(x.exp().unwrap_err().to_string().contains("out of space"));
}

#[test]
fn packing_does_not_pack_what_it_calls() {
    let x = leaf(&[1.0]);
    let _packing = PackSavedTensors::new(|tensor| {
        let small = tensor.mul(tensor)?.sqrt()?;
        Ok(Packed::new(move || small.mul(1.0)))
    });
    x.exp().unwrap().backward().unwrap();
    assert_eq!(gradient(&x), [1f64.exp()]);
}
