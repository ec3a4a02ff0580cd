//! Graphs that are long in every direction, hooks that remove themselves, kernels and destructors that go back through the graph.

use std::cell::RefCell;
use std::sync::{Arc, Mutex};
use std::thread;

use opgrid_core::{DType, Device, DispatchKey, Result};
use opgrid_tensor::layers::autograd::{self, BackwardOptions, Hook, checkpoint, enable_grad, no_grad};
use opgrid_tensor::{Tensor, ops};

const LONG: usize = 200_000;

fn leaf() -> Tensor {
    let x = Tensor::from_slice(&[1.0f64], &[1]).unwrap();
    x.requires_grad_(true).unwrap();
    x
}

/// Runs on a stack of 256 KiB, on which a recursion over a chain ends soon.
fn on_a_small_stack(body: impl FnOnce() + Send + 'static) {
    thread::Builder::new().stack_size(256 * 1024).spawn(body).unwrap().join().unwrap();
}

/// A chain, made link by link; each links to the one before.
fn chain(link: impl Fn(&Tensor, &Tensor) -> Result<Tensor>) -> Tensor {
    let base = leaf();
    (0..LONG).fold(base.add(&base).unwrap(), |end, _| link(&base, &end).unwrap())
}

#[test]
fn no_chain_of_links_recurses_when_it_goes() {
    type Link = fn(&Tensor, &Tensor) -> Result<Tensor>;
    let links: [(&str, Link); 12] = [
        ("two edges to one node", |_, end| end.add(end)),
        ("an argument that is kept", |base, end| end.mul(base)),
        ("a result that is kept", |_, end| end.exp()),
        ("several arguments", |base, end| end.div(base)),
        ("a list", |_, end| Tensor::cat(&[end.clone(), end.clone()], 0)?.narrow(0, 0, 1)),
        ("gradients of leaves", |_, end| {
            let next = leaf();
            next.set_grad(Some(end.clone()))?;
            next.add(&next)
        }),
        ("hooks that close over tensors", |base, end| {
            let (next, end) = (base.add(base)?, end.clone());
            next.register_hook(move |_| Ok(Some(end.clone())))?;
            Ok(next)
        }),
        ("functions that close over tensors", |base, end| {
            let end = end.clone();
            let forward = || Ok((vec![base.mul(base)?], vec![]));
            let results =
                autograd::custom("link", &[base], forward, move |_, _| Ok(vec![Some(end.clone())]))?;
            Ok(results[0].clone())
        }),
        ("hooks that close over what their node leads to", |_, end| {
            let (next, end) = (end.add(end)?, end.clone());
            next.register_hook(move |_| Ok(Some(end.clone())))?;
            Ok(next)
        }),
        ("functions that close over their arguments", |_, end| {
            let held = end.clone();
            let forward = || Ok((vec![end.mul(end)?], vec![end.clone()]));
            let results =
                autograd::custom("link", &[end], forward, move |_, _| Ok(vec![Some(held.clone())]))?;
            Ok(results[0].clone())
        }),
        ("checkpoints that close over their inputs", |_, end| {
            let held = end.clone();
            let function = move |inputs: &[Tensor]| Ok(vec![inputs[0].mul(&held)?]);
            Ok(checkpoint(function, std::slice::from_ref(end), Default::default())?[0].clone())
        }),
        ("checkpoints that close over tensors", |base, end| {
            let end = end.clone();
            let function = move |inputs: &[Tensor]| Ok(vec![inputs[0].mul(&end)?]);
            Ok(checkpoint(function, std::slice::from_ref(base), Default::default())?[0].clone())
        }),
    ];
    for (name, link) in links {
        println!("{name}");
        on_a_small_stack(move || drop(chain(link)));
    }
}

#[test]
fn a_long_graph_is_used_and_dropped() {
    on_a_small_stack(|| {
        let base = leaf();
        let end = (0..LONG).fold(base.clone(), |end, _| end.mul(&base).unwrap());
        end.backward().unwrap();
        assert_eq!(base.grad().unwrap().to_vec::<f64>().unwrap(), [(LONG + 1) as f64]);
    });
}

/// A hook whose own destructor removes it.
#[test]
fn a_hook_is_removed_while_it_goes() {
    struct Removes(Arc<Mutex<Option<Hook>>>);
    impl Drop for Removes {
        fn drop(&mut self) {
            if let Some(hook) = self.0.lock().unwrap().take() {
                hook.remove();
            }
        }
    }
    let x = leaf();
    let place = Arc::new(Mutex::new(None));
    let removes = Removes(place.clone());
    let hook = x.register_hook(move |_| {
        let _ = &removes;
        Ok(None)
    });
    *place.lock().unwrap() = Some(hook.unwrap());
    drop(x);
    assert!(place.lock().unwrap().is_none());
}

/// One that removes itself and others while it runs, and registers new ones.
#[test]
fn hooks_change_the_list_that_they_are_in() -> Result<()> {
    let x = leaf();
    let hooks = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..3 {
        let (all, leaf) = (hooks.clone(), x.clone());
        let hook = x.register_hook(move |_| {
            for hook in all.lock().unwrap().drain(..) {
                Hook::remove(hook);
            }
            drop(leaf.register_hook(|_| Ok(None))?);
            Ok(None)
        })?;
        hooks.lock().unwrap().push(hook);
    }
    for _ in 0..3 {
        x.mul(2)?.sum()?.backward()?;
    }
    assert_eq!(x.grad().unwrap().to_vec::<f64>()?, [6.0]);
    Ok(())
}

/// A backward pass from a hook, to the leaf whose gradient is being added to.
#[test]
fn a_pass_begins_within_another_one() -> Result<()> {
    let x = leaf();
    x.mul(2)?.sum()?.backward()?;
    let inner = x.clone();
    let begun = Mutex::new(false);
    let hook = x.register_hook(move |_| {
        if !std::mem::replace(&mut *begun.lock().unwrap(), true) {
            enable_grad(|| inner.mul(3)?.sum()?.backward())?;
        }
        Ok(None)
    })?;
    x.mul(5)?.sum()?.backward()?;
    assert_eq!(x.grad().unwrap().to_vec::<f64>()?, [10.0]);
    // It keeps the leaf that it belongs to.
    hook.remove();
    Ok(())
}

/// Calls, recordings, backward passes, checkpoints and modes from the destructors of a thread's own values, whichever of
/// the values of the libraries are gone by then.
#[test]
fn a_thread_that_ends_still_computes() {
    struct AtEnd(Arc<Mutex<Vec<String>>>);
    impl Drop for AtEnd {
        fn drop(&mut self) {
            let run = || -> Result<f64> {
                let x = leaf();
                let y = checkpoint(|inputs| Ok(vec![inputs[0].exp()?]), &[x.mul(2)?], Default::default())?;
                let z = no_grad(|| Tensor::zeros(&[1], DType::F64, Device::CPU))?.add(&y[0])?;
                let options = BackwardOptions { create_graph: true, retain_graph: true };
                autograd::backward(&[&z.sum()?], &[], None, options)?;
                let grad = x.grad().expect("it was reached");
                let grad =
                    opgrid_core::excluding(DispatchKey::Tracer, || ops::MulScalar.call(&grad, 1.into()))?;
                grad.item()?.to_f64()
            };
            self.0.lock().unwrap().push(format!("{:?}", run().map(|grad| (grad * 1000.0).round())));
        }
    }
    thread_local! {
        static FIRST: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
        static LAST: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
    }
    let found = Arc::new(Mutex::new(Vec::new()));
    let given = found.clone();
    thread::spawn(move || {
        // Values of a thread go in the order in which they came, or in the reverse one: one is before, and one behind.
        FIRST.with_borrow_mut(|place| *place = Some(AtEnd(given.clone())));
        leaf().exp().unwrap().sum().unwrap().backward().unwrap();
        checkpoint(|inputs| Ok(inputs.to_vec()), &[leaf()], Default::default()).unwrap();
        LAST.with_borrow_mut(|place| *place = Some(AtEnd(given)));
    })
    .join()
    .unwrap();
    assert_eq!(*found.lock().unwrap(), ["Ok(14778.0)"; 2]);
}
