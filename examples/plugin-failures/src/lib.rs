//! A plugin in Rust that fails, panics and lies; `tests/failures.rs` says what becomes of it.
//!
//! Which way the entry goes is up to the host: each way has an operator in the namespace `asked`, which is there or not. The
//! operators of `forms` do what they should.

mod entry;
mod forms;

/// What the operators of [`forms`] are written with. The tests compile the same file with that of the host.
use opgrid_plugin_sdk::prelude as api;

use std::cell::RefCell;
use std::sync::atomic::{AtomicI64, Ordering};

use opgrid_plugin_sdk::prelude::*;
use opgrid_plugin_sdk::{
    BackendComponent, DeviceMemory, ExcludeGuard, IncludeGuard, note, parallel_for, warn,
};

/// How many contexts of kernels there are.
static ALIVE: AtomicI64 = AtomicI64::new(0);

/// What kernels hold: it is counted, and panics when it is dropped if it is told so.
struct Held {
    panics: bool,
}

impl Held {
    fn new(panics: bool) -> Self {
        ALIVE.fetch_add(1, Ordering::Relaxed);
        Self { panics }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::Relaxed);
        assert!(!self.panics || std::thread::panicking(), "what a kernel holds panicked when it was dropped");
    }
}

thread_local! {
    /// Guards that are kept from one call to another.
    static KEPT: RefCell<Option<(IncludeGuard, ExcludeGuard)>> = const { RefCell::new(None) };
}

/// What a panic carries that panics in turn when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "what a panic carried panicked when it was dropped");
    }
}

/// A device's memory that cannot be used.
struct Broken(Held);

impl DeviceMemory for Broken {
    fn read(&self, start: usize, _: &mut [u8]) -> Result<()> {
        panic!("the device is gone at byte {start}, {}", self.0.panics)
    }

    fn write(&self, _: usize, _: &[u8]) -> Result<()> {
        Err(Error::new(ErrorKind::Argument, "the device is full"))
    }
}

fn is_asked(what: &str) -> bool {
    Dispatcher::current().find(&format!("asked::{what}")).is_ok()
}

operator! {
    Alive = "rusty::alive() -> int";
    /// Half of a number.
    Half = "rusty::half(float x) -> float";
    Panics = "rusty::panics(Tensor self) -> Tensor";
    PanicsWithABomb = "rusty::panics_with_a_bomb(Tensor self) -> Tensor";
    Fails = "rusty::fails(Tensor self) -> Tensor";
    Misfit = "rusty::misfit(Tensor self) -> Tensor";
    Asks = "rusty::asks(Tensor self) -> Tensor";
    OnDevice = "rusty::on_device(bool panics) -> Tensor";
    ReadBack = "rusty::read_back(Tensor self) -> Tensor";
    WriteBack = "rusty::write_back(Tensor self) -> Tensor";
    Which = "rusty::which() -> int";
    Sum = "rusty::sum(int n, int fails, int panics) -> int";
    Waits = "rusty::waits(Tensor self) -> Tensor";
    Says = "rusty::says(str text) -> ()";
    Borrows = "rusty::borrows(Tensor self) -> int";
    Keep = "rusty::keep(bool on) -> ()";
    AskedWhich = "asked::which() -> int";
    AskedWait = "asked::wait() -> ()";
    Add = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
}

/// Everything that the entry says.
///
/// # Errors
///
/// Those that the host asks for.
pub fn register(dispatcher: &Dispatcher) -> Result<Registration> {
    // The errors that the host makes of panics say what they said. A plugin's own copy of the standard library would print
    // that too, with a back trace where one is asked for, past what the tests' program holds back of its output.
    std::panic::set_hook(Box::new(|_| {}));
    let mut library = dispatcher.library("rusty");
    let held = Held::new(is_asked("panic_of_a_context"));
    library.define(Alive).closure(DispatchKey::CompositeExplicitAutograd, move |()| {
        let _ = &held;
        Ok(ALIVE.load(Ordering::Relaxed))
    });
    if is_asked("panic") {
        panic!("the entry gave up");
    }
    if is_asked("panic_with_a_bomb") {
        std::panic::panic_any(Bomb);
    }
    if is_asked("error") {
        library.discard();
        return Err(Error::new(ErrorKind::NotImplemented, "the entry has nothing to say"));
    }
    inferred(&mut library);
    failures(&mut library);
    results(&mut library);
    devices(&mut library)?;
    hosts(&mut library);
    let mut registration = library.finish()?;
    registration.join(forms::register(dispatcher)?);
    Ok(registration)
}

/// Operators whose schemas are those of their kernels' types, and one that does not fit its schema.
fn inferred(library: &mut Library) {
    type Inferred = fn(Tensor, i64, Option<f64>) -> (Tensor, Vec<i64>);
    library.define_inferred(
        "inferred",
        Kernel::function::<Inferred>(|x, n, more| {
            Ok((x.clone(), more.map_or(vec![n], |more| vec![n, more as i64])))
        }),
    );
    library.define_inferred("nothing", Kernel::function::<fn()>(|| Ok(())));
    library.define(Half).kernel(DispatchKey::CompositeImplicitAutograd, |x| Ok(x / 2.0));
    library.define("unlike(str x) -> float").add(Kernel::function::<fn(f64) -> f64>(Ok));
}

fn failures(library: &mut Library) {
    library.define(Panics).kernel(DispatchKey::Cpu, |x| panic!("no kernel for {} elements", x.numel()));
    library.define(PanicsWithABomb).kernel(DispatchKey::Cpu, |_| std::panic::panic_any(Bomb));
    library
        .define(Fails)
        .kernel(DispatchKey::Cpu, |_| Err(Error::new(ErrorKind::Argument, "nothing but failure")));
    library.define("panics_half_way(Tensor self) -> Tensor").boxed(DispatchKey::Cpu, |call| {
        let x = call.tensor(0)?;
        call.push(x)?;
        panic!("one result was there")
    });
    library.define(Misfit).kernel(DispatchKey::Cpu, |x| {
        let other = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0], &[5])?;
        Add.call(x, &other, 1.into())
    });
    library
        .define(Asks)
        .provider(DispatchKey::Cpu, "asking", |x| Ok(x.clone()))
        .when("nobody knows", |_| panic!("the condition gave up"));
}

/// Kernels that leave other results than their schemas say, or take other arguments.
fn results(library: &mut Library) {
    let mut misfit = |name: &str, kernel: Kernel| {
        library.define(&*format!("{name}(Tensor self) -> Tensor")).add(kernel.at(DispatchKey::Cpu));
    };
    misfit("two_for_one", Kernel::function::<fn(Tensor) -> (Tensor, Tensor)>(|x| Ok((x.clone(), x.clone()))));
    misfit("none_for_one", Kernel::function::<fn(Tensor)>(|_| Ok(())));
    misfit("int_for_tensor", Kernel::function::<fn(Tensor) -> i64>(|_| Ok(7)));
    misfit("two_parameters", Kernel::function::<fn(Tensor, Tensor) -> Tensor>(|x, _| Ok(x.clone())));
    misfit("text_parameter", Kernel::function::<fn(String) -> i64>(|_| Ok(7)));
}

fn devices(library: &mut Library) -> Result<()> {
    let device = Device::numbered(BackendComponent::register("RustyDevice")?.device_type(), 0)?;
    library.define(OnDevice).closure(DispatchKey::CompositeExplicitAutograd, move |(panics,)| {
        Tensor::on_device(Broken(Held::new(panics)), 8, &[2], None, DType::F32, device)
    });
    library.define(ReadBack).kernel(DispatchKey::CompositeExplicitAutograd, Tensor::on_cpu);
    library.define(WriteBack).kernel(DispatchKey::CompositeExplicitAutograd, |x| {
        x.write_back(&Tensor::empty(&[2], DType::F32, Device::CPU)?)?;
        Ok(x.clone())
    });
    Ok(())
}

/// Operators that ask the host something, and wait on its threads.
fn hosts(library: &mut Library) {
    library.define(Which).kernel(DispatchKey::CompositeImplicitAutograd, || AskedWhich.call());
    library.define(Sum).kernel(DispatchKey::CompositeImplicitAutograd, |n, fails, panics| {
        let sum = AtomicI64::new(0);
        parallel_for(n as usize, 3, |range| {
            for number in range.map(|number| number as i64) {
                if number == fails {
                    return Err(Error::new(ErrorKind::Index, format!("{number} is refused")));
                }
                assert!(number != panics, "no range has {number}");
                sum.fetch_add(number, Ordering::Relaxed);
            }
            Ok(())
        })?;
        Ok(sum.into_inner())
    });
    library.define(Says).document("Tells people a text.").kernel(
        DispatchKey::CompositeImplicitAutograd,
        |text| {
            note(text);
            parallel_for(1, 1, |_| {
                warn(format_args!("{text}, on a thread"));
                Ok(())
            })
        },
    );
    library.define(Borrows).kernel(DispatchKey::Cpu, borrows);
    library.define(Keep).kernel(DispatchKey::CompositeImplicitAutograd, |on| {
        let guards = on.then(|| {
            (IncludeGuard::new(DispatchKey::TestingOnlyGenericMode), ExcludeGuard::new(DispatchKey::Tracer))
        });
        KEPT.set(guards);
        Ok(())
    });
    library.define(Waits).kernel(DispatchKey::Cpu, |x| {
        AskedWait.call()?;
        // By now the plugin may have been dropped.
        let twice: Vec<f32> = x.to_vec::<f32>()?.iter().map(|x| 2.0 * x).collect();
        Tensor::from_slice(&twice, x.sizes())
    });
}

/// Borrows elements in ways that go together and in ways that do not; how often it was refused.
fn borrows(x: &Tensor) -> Result<i64> {
    let mut refused = 0;
    let mut refuse = |is_refused: bool| refused += i64::from(is_refused);
    {
        let (one, other) = (x.elements::<f32>()?, x.elements::<f32>()?);
        assert_eq!(one[..], other[..]);
        // Threads read what this one has borrowed.
        parallel_for(one.len(), 1, |range| {
            assert_eq!(one[range.clone()], other[range]);
            Ok(())
        })?;
        refuse(x.elements_mut::<f32>().is_err());
        refuse(x.elements::<i64>().is_err());
    }
    let mut writer = x.elements_mut::<f32>()?;
    writer[0] += 1.0;
    refuse(x.elements::<f32>().is_err());
    refuse(x.elements_mut::<f32>().is_err());
    refuse(x.to_vec::<f32>().is_err());
    refuse(Add.call(x, x, 1.into()).is_err());
    drop(writer);
    // A borrow keeps the memory, also of a tensor that is gone.
    let copy = Tensor::from_slice(&x.to_vec::<f32>()?, x.sizes())?;
    let elements = copy.elements::<f32>()?;
    assert_eq!(elements[0], x.elements::<f32>()?[0]);
    Ok(refused)
}
