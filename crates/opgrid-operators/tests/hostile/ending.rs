//! Threads that end: the destructors of their thread-locals may use tensors and every layer, as other code does.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use opgrid_core::{BoxedCall, DType, Device, Dispatcher, Result, ThreadContext};
use opgrid_tensor::Tensor;
use opgrid_tensor::dlpack::{Loan, Versioned};
use opgrid_tensor::layers::{autocast, autograd, modes, vmap};
use opgrid_tensor::tensor::{PrintOptions, print_options, with_print_options};

/// Passes calls on.
struct Through;

impl modes::Mode for Through {
    fn handle(&self, call: &mut BoxedCall<'_>) -> Result<()> {
        call.call()
    }
}

type Use = fn(&Tensor) -> Result<()>;

/// What the destructors do.
const USES: [(&str, Use); 9] = [
    ("operators", |x| {
        assert_eq!(x.add(x)?.to_vec::<f64>()?, [2.0, 4.0]);
        Ok(())
    }),
    ("no gradients", |x| autograd::no_grad(|| x.exp()).map(drop)),
    ("autocast", |x| autocast::within(DType::BF16, || x.exp()).map(drop)),
    ("batches", |x| vmap::over(&[x], |x| x[0].exp()).map(drop)),
    ("contexts", |x| ThreadContext::capture().within(|| x.exp()).map(drop)),
    ("modes", |x| {
        let entered = modes::enter(Arc::new(Through));
        let context = ThreadContext::capture();
        let result = context.within(|| x.exp()).map(drop);
        drop(entered);
        result
    }),
    ("large loops", |_| {
        let ones = Tensor::ones(&[1 << 20], DType::F32, Device::CPU)?;
        assert_eq!(ones.sum()?.item()?.to_f64()?, f64::from(1 << 20));
        Ok(())
    }),
    ("printing", |x| {
        let options = PrintOptions { precision: 2, ..print_options() };
        assert!(with_print_options(options, || x.to_string()).contains('1'));
        Ok(())
    }),
    ("devices and loans", |x| {
        let _ = opgrid_tensor::devices::current_stream(Device::CPU)?;
        opgrid_tensor::devices::synchronize(Device::CPU)?;
        Loan::<Versioned>::from_tensor(x, false)?.into_tensor().map(drop)
    }),
];

/// Uses tensors when its thread ends.
struct AtEnd {
    dispatcher: Dispatcher,
    x: Tensor,
    done: Sender<(usize, Result<()>)>,
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        for (number, (_, work)) in USES.iter().enumerate() {
            let result = self.dispatcher.within(|| work(&self.x));
            self.done.send((number, result)).unwrap();
        }
    }
}

thread_local! {
    static AT_END: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
}

#[test]
fn destructors_of_thread_locals_use_every_layer() {
    let dispatcher = Dispatcher::new();
    opgrid_tensor::register(&dispatcher).unwrap().keep();
    for install in [autograd::install, autocast::install, vmap::install, modes::install] {
        install(&dispatcher).unwrap().keep();
    }
    // The thread-locals of the layers are made before that of the test, so that they end first; or after it, or never.
    for used_before in [false, true] {
        for used_after in [false, true] {
            let (done, results) = channel();
            let (dispatcher, x) = (dispatcher.clone(), Tensor::from_slice(&[1.0f64, 2.0], &[2]).unwrap());
            let run = move || {
                let work = |dispatcher: &Dispatcher, x: &Tensor| {
                    for (name, work) in USES {
                        dispatcher.within(|| work(x)).unwrap_or_else(|error| panic!("{name}: {error}"));
                    }
                };
                if used_before {
                    work(&dispatcher, &x);
                }
                AT_END.set(Some(AtEnd { dispatcher: dispatcher.clone(), x: x.clone(), done }));
                if used_after {
                    work(&dispatcher, &x);
                }
            };
            let ended = std::thread::spawn(run).join();
            let results: Vec<_> = results.iter().collect();
            for (number, result) in &results {
                assert!(result.is_ok(), "{}: {result:?}", USES[*number].0);
            }
            assert!(ended.is_ok() && results.len() == USES.len(), "{} of {}", results.len(), USES.len());
        }
    }
}
