//! A plugin in Rust that fails, panics and lies; `tests/failures.rs` says what becomes of it.
//!
//! Which way the entry goes is up to the host: each way has an operator in the namespace `asked`, which is there or not.

mod entry;

use std::sync::atomic::{AtomicI64, Ordering};

use opgrid_plugin_sdk::{
    Block, Call, DType, Device, DeviceMemory, Error, ErrorKind, Operator, Registrar, Result, Tensor,
    parallel_for,
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
    Operator::find(&format!("asked::{what}")).is_ok()
}

/// Everything that the entry says.
///
/// # Errors
///
/// Those that the host asks for.
pub fn register(registrar: &Registrar) -> Result<()> {
    // The errors that the host makes of panics say what they said. A plugin's own copy of the standard library would print
    // that too, with a back trace where one is asked for, past what the tests' program holds back of its output.
    std::panic::set_hook(Box::new(|_| {}));
    let library = registrar.library("rusty")?;
    let held = Held::new(is_asked("panic_of_a_context"));
    library.define("alive() -> int")?;
    library.implement("alive", "CompositeExplicitAutograd", move || {
        let _ = &held;
        Ok(ALIVE.load(Ordering::Relaxed))
    })?;
    if is_asked("panic") {
        panic!("the entry gave up");
    }
    if is_asked("panic_with_a_bomb") {
        std::panic::panic_any(Bomb);
    }
    if is_asked("error") {
        return Err(Error::new(ErrorKind::NotImplemented, "the entry has nothing to say"));
    }
    typed(&library)?;
    failures(&library)?;
    results(&library)?;
    conditions(&library)?;
    devices(registrar, &library)?;
    hosts(&library)?;
    threads(&library)
}

fn unary(library: &Block, name: &str) -> Result<()> {
    library.define(&format!("{name}(Tensor self) -> Tensor"))
}

/// Operators whose schemas are those of their kernels' types, and one that does not fit its schema.
fn typed(library: &Block) -> Result<()> {
    library.operator("inferred", |x: Tensor, n: i64, more: Option<f64>| {
        Ok((x, more.map_or(vec![n], |more| vec![n, more as i64])))
    })?;
    library.operator("nothing", || Ok(()))?;
    library.operator("half(float x) -> float", |x: f64| Ok(x / 2.0))?;
    library.operator("unlike(str x) -> float", |x: f64| Ok(x))
}

fn failures(library: &Block) -> Result<()> {
    for name in ["panics", "panics_with_a_bomb", "fails", "panics_half_way", "misfit"] {
        unary(library, name)?;
    }
    library.implement("panics", "CPU", |x: Tensor| -> Result<Tensor> {
        panic!("no kernel for {} elements", x.numel()?)
    })?;
    library.implement("panics_with_a_bomb", "CPU", |_: Tensor| -> Result<Tensor> {
        std::panic::panic_any(Bomb)
    })?;
    library.implement("fails", "CPU", |_: Tensor| -> Result<Tensor> {
        Err(Error::new(ErrorKind::Argument, "nothing but failure"))
    })?;
    library.implement("panics_half_way", "CPU", |call: &mut Call<'_>| {
        let x: Tensor = call.argument(0)?;
        call.push(&x)?;
        panic!("one result was there")
    })?;
    library.implement("misfit", "CPU", |x: Tensor| {
        let other = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0], &[5])?;
        Operator::find("aten::add.Tensor")?.call::<Tensor>(&[&x, &other, &1i64])
    })
}

fn results(library: &Block) -> Result<()> {
    for name in ["two_for_one", "none_for_one", "int_for_tensor", "two_parameters", "text_parameter"] {
        unary(library, name)?;
    }
    library.implement("two_for_one", "CPU", |x: Tensor| Ok((x.clone(), x)))?;
    library.implement("none_for_one", "CPU", |_: Tensor| Ok(()))?;
    library.implement("int_for_tensor", "CPU", |_: Tensor| Ok(7i64))?;
    library.implement("two_parameters", "CPU", |x: Tensor, _: Tensor| Ok(x))?;
    library.implement("text_parameter", "CPU", |_: String| Ok(7i64))
}

fn conditions(library: &Block) -> Result<()> {
    unary(library, "asks")?;
    library.provider("asks", "CPU", "asking", Ok::<Tensor, Error>, "nobody knows", |_| {
        panic!("the condition gave up")
    })
}

fn devices(registrar: &Registrar, library: &Block) -> Result<()> {
    let (_, device) = registrar.backend("RustyDevice")?;
    library.define("on_device(bool panics) -> Tensor")?;
    library.implement("on_device", "CompositeExplicitAutograd", move |panics: bool| {
        Tensor::on_device(Broken(Held::new(panics)), 8, &[2], None, DType::F32, device.numbered(0))
    })?;
    library.define("read_back(Tensor self) -> Tensor")?;
    library.implement("read_back", "CompositeExplicitAutograd", |x: Tensor| x.on_cpu())?;
    library.define("write_back(Tensor self) -> Tensor")?;
    library.implement("write_back", "CompositeExplicitAutograd", |x: Tensor| {
        x.write_back(&Tensor::empty(&[2], DType::F32, Device::CPU)?)?;
        Ok(x)
    })
}

/// An operator that asks the host which one it is.
fn hosts(library: &Block) -> Result<()> {
    library.operator("which", || Operator::find("asked::which")?.call::<i64>(&[]))
}

fn threads(library: &Block) -> Result<()> {
    library.operator("sum(int n, int fails, int panics) -> int", |n: i64, fails: i64, panics: i64| {
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
    })?;
    library.define("waits(Tensor self) -> Tensor")?;
    library.implement("waits", "CPU", |x: Tensor| {
        let wait = Operator::find("asked::wait")?;
        wait.call_boxed(&[])?;
        // By now the plugin may have been dropped.
        let twice: Vec<f32> = x.to_vec::<f32>()?.iter().map(|x| 2.0 * x).collect();
        Tensor::from_slice(&twice, x.sizes()?)
    })
}
