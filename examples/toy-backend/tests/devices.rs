//! Devices, streams, events, memory and random numbers of the backend: what waits for what, and what goes wrong.
//!
//! A program of its own: the global dispatcher keeps the backend, and no other test may use its devices.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use opgrid::devices::{
    self, DeviceGuard, DeviceRuntime, DeviceStream, Event, Stream, StreamGuard, set_current,
    set_current_stream,
};
use opgrid::dispatch::{BackendComponent, DeviceType, Generator, ThreadContext, compute_dispatch_key};
use opgrid::families::through_cpu;
use opgrid::manual_seed;
use opgrid::ops::{self, NonBlocking};
use opgrid::prelude::*;
use opgrid::tensor::Allocator;
use opgrid::tensor::CountingAllocator;
use toy_backend::{TOY, Toy, arena::Block, kernels, queue, register};

/// The global dispatcher with the backend, and its devices for one test.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    static REGISTERED: Once = Once::new();
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    REGISTERED.call_once(|| register(opgrid::dispatcher().unwrap()).unwrap().keep());
    alone
}

fn device(name: &str) -> Device {
    name.parse().unwrap()
}

fn toy() -> DeviceType {
    toy_backend::device().unwrap().kind()
}

fn floats(elements: &[f32], on: Device) -> Tensor {
    Tensor::from_slice(elements, &[elements.len() as i64]).unwrap().to(on).unwrap()
}

fn elements(tensor: &Tensor) -> Vec<f32> {
    tensor.to_vec().unwrap()
}

fn address(tensor: &Tensor) -> usize {
    tensor.array().unwrap().storage().memory::<Block>().unwrap().address()
}

fn message<T>(result: Result<T>) -> String {
    result.err().expect("an error").to_string()
}

/// Holds a queue up until it is opened or dropped.
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn across(stream: &Stream) -> Self {
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        let own = Arc::clone(&gate);
        queue(stream, move || {
            let opened = own.1.wait_while(own.0.lock().unwrap(), |is_open| !*is_open);
            drop(opened.unwrap());
            Ok(())
        })
        .unwrap();
        Self(gate)
    }

    fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

/// Whether something becomes true within a while.
fn soon(mut is_so: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(60) {
        if is_so() {
            return true;
        }
        thread::sleep(Duration::from_millis(1));
    }
    false
}

#[test]
fn a_tensor_without_an_index_goes_to_the_current_device() -> Result<()> {
    let _alone = alone();
    let any = Device::from_type(toy());
    assert_eq!((devices::count(toy()), devices::is_available(toy())), (2, true));
    assert_eq!(devices::current(toy())?, device("toy:0"));
    assert_eq!(Tensor::zeros(&[2], DType::F32, any)?.device(), device("toy:0"));
    let guard = DeviceGuard::new(device("toy:1"))?;
    let x = floats(&[1.0, 2.0], any);
    assert_eq!((x.device(), devices::current(toy())?), (device("toy:1"), device("toy:1")));
    assert!(x.to(any)?.is_same(&x), "it is there already");
    assert_eq!(x.add(&x)?.device(), device("toy:1"));
    drop(guard);
    let there = x.to(any)?;
    assert_eq!((there.device(), elements(&there)), (device("toy:0"), vec![1.0, 2.0]));
    assert!(message(x.add(&there)).contains("at least two, toy:1 and toy:0"));

    assert_eq!(set_current(device("toy:1"))?, device("toy:0"));
    assert_eq!(set_current(device("toy:0"))?, device("toy:1"));
    Ok(())
}

#[test]
fn guards_end_with_a_panic_and_go_along_to_other_threads() -> Result<()> {
    let _alone = alone();
    let second = Stream::new(device("toy:1"))?;
    let before = devices::current_stream(device("toy:1"))?;
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _stream = StreamGuard::new(&second).unwrap();
        assert_eq!(devices::current(toy()).unwrap(), device("toy:1"));
        assert_eq!(devices::current_stream(Device::from_type(toy())).unwrap(), second);
        panic!("in the scope");
    }));
    assert!(panicked.is_err());
    assert_eq!(
        (devices::current(toy())?, devices::current_stream(device("toy:1"))?),
        (device("toy:0"), before)
    );

    let context = {
        let _stream = StreamGuard::new(&second)?;
        ThreadContext::capture()
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let within = context.within(|| devices::current_stream(Device::from_type(toy())).unwrap());
            (within, devices::current(toy()).unwrap())
        });
        assert_eq!(other.join().unwrap(), (second.clone(), device("toy:0")));
    });
    set_current_stream(&second)?;
    assert_eq!(devices::current_stream(device("toy:1"))?, second);
    set_current_stream(&devices::default_stream(device("toy:1"))?)
}

#[test]
fn devices_that_are_not_there_are_named() {
    let _alone = alone();
    let text = message(DeviceGuard::new(device("toy:2")));
    assert_eq!(text, "there is no device toy:2, expected toy:0 to toy:1");
    for text in [
        message(devices::current_stream(device("toy:2"))),
        message(devices::allocator(device("toy:2"))),
        message(devices::synchronize(device("toy:2"))),
        message(devices::set_allocator(device("toy:2"), None)),
        message(devices::generator(device("toy:2"), 1)),
        message(Tensor::zeros(&[1], DType::F32, device("toy:2"))),
    ] {
        assert!(text.contains("there is no device toy:2"), "{text}");
    }
    let text = message(devices::current(DeviceType::Cuda));
    assert!(text.contains("type `cuda` has no runtime, expected one of cpu, toy"), "{text}");
    assert!(message(DeviceGuard::new(device("cpu:1"))).contains("expected cpu:0, the only one"));
}

#[test]
fn streams_do_not_wait_for_each_other_unless_they_are_told_to() -> Result<()> {
    let _alone = alone();
    let on = device("toy:0");
    let (first, second) = (devices::current_stream(on)?, Stream::new(on)?);
    let x = floats(&[1.0, 2.0], on);
    let gate = Gate::across(&first);
    x.add_(&x)?;
    let early = {
        let _second = StreamGuard::new(&second)?;
        x.add_with(&x, 0)?
    };
    assert_eq!(
        elements(&early),
        [1.0, 2.0],
        "the second stream does not wait, and reading waits for that stream alone"
    );
    assert!(!first.query()?);

    let doubled = Event::new();
    assert!(doubled.query()?, "nothing is before an event that was never recorded");
    doubled.record(&first)?;
    second.wait(&doubled)?;
    let late = {
        let _second = StreamGuard::new(&second)?;
        x.add_with(&x, 0)?
    };
    thread::sleep(Duration::from_millis(30));
    assert!(!doubled.query()? && !second.query()?, "it waits as long as the gate is closed");
    gate.open();
    assert_eq!(elements(&late), [2.0, 4.0]);
    doubled.synchronize()?;
    assert!(doubled.query()? && soon(|| second.query().unwrap()));
    Ok(())
}

#[test]
fn reading_waits_for_all_that_was_queued() -> Result<()> {
    let _alone = alone();
    let on = device("toy:0");
    let x = floats(&[1.0, 2.0], on);
    let gate = Gate::across(&devices::current_stream(on)?);
    for _ in 0..10 {
        x.add_(&x)?;
    }
    thread::scope(|scope| {
        let readers = [
            scope.spawn(|| elements(&x)),
            // The way through the CPU, and a blocking copy, wait too.
            scope.spawn(|| elements(&x.neg().unwrap().neg().unwrap())),
            scope.spawn(|| elements(&x.to(Device::CPU).unwrap())),
        ];
        thread::sleep(Duration::from_millis(20));
        assert!(readers.iter().all(|reader| !reader.is_finished()));
        gate.open();
        for reader in readers {
            assert_eq!(reader.join().unwrap(), [1024.0, 2048.0]);
        }
    });
    Ok(())
}

#[test]
fn copies_from_and_to_pinned_memory_do_not_wait() -> Result<()> {
    let _alone = alone();
    let on = device("toy:0");
    let stream = devices::current_stream(on)?;
    let plain = Tensor::from_slice(&[1.0f32, 2.0], &[2])?;
    assert!(!plain.is_pinned() && !ops::IsPinned.call(&plain, Some(on))?);
    let pinned_before = TOY.pinned_bytes();
    let host = plain.pin_memory()?;
    assert!(host.is_pinned() && host.pin_memory()?.is_same(&host) && host.device() == Device::CPU);
    assert_eq!((elements(&host), TOY.pinned_bytes() - pinned_before), (vec![1.0, 2.0], 8));
    assert!(ops::IsPinned.call(&host, Some(on))? && !ops::IsPinned.call(&host, Some(device("cuda")))?);

    let gate = Gate::across(&stream);
    let there = host.to(NonBlocking(on))?;
    assert!(!stream.query()?, "the copy is behind the gate");
    let text = message(host.add_(&plain));
    assert!(text.contains("has a reader") && text.contains("synchronize the stream"), "{text}");
    assert_eq!(elements(&host), [1.0, 2.0], "others may read");
    let back = there.to(NonBlocking(Device::CPU))?;
    assert!(back.is_pinned(), "as torch has it");
    assert!(message(back.to_vec::<f32>()).contains("is being written"));
    gate.open();
    stream.synchronize()?;
    assert_eq!((elements(&back), elements(&there)), (vec![1.0, 2.0], vec![1.0, 2.0]));
    host.add_(&plain)?;
    assert_eq!((elements(&host), elements(&there)), (vec![2.0, 4.0], vec![1.0, 2.0]));

    there.copy_non_blocking_(&host)?;
    // From memory that is not pinned the bytes are taken before the call returns.
    let other = Tensor::from_slice(&[5.0f32, 6.0], &[2])?;
    there.copy_non_blocking_(&other)?;
    other.add_(&plain)?;
    assert_eq!(elements(&there), [5.0, 6.0]);
    drop((host, back));
    assert_eq!(TOY.pinned_bytes(), pinned_before);
    assert!(message(there.pin_memory()).contains("is on device toy:0, expected a tensor on the cpu"));
    let zeros = ops::EmptyMemoryFormat.call(&[2], None, None, None, Some(true), None)?;
    assert!(zeros.is_pinned() && elements(&zeros) == [0.0, 0.0]);
    let text = message(ops::EmptyMemoryFormat.call(&[2], None, None, Some(on), Some(true), None));
    assert!(text.contains("neither pinned"), "{text}");
    Ok(())
}

#[test]
fn memory_is_not_used_again_while_queued_work_uses_it() -> Result<()> {
    let _alone = alone();
    let on = device("toy:1");
    let stream = devices::current_stream(on)?;
    let like = || Tensor::empty(&[64], DType::F32, on);
    devices::synchronize(on)?;

    // The backend's own kernels note what they use.
    let (x, keeper) = (like()?, like()?);
    let place = address(&x);
    let gate = Gate::across(&stream);
    keeper.copy_(&x)?;
    drop(x);
    assert_ne!(address(&like()?), place);
    gate.open();
    stream.synchronize()?;
    assert_eq!(address(&like()?), place, "the first gap, now that the copy has ended");

    // Of a program's own work the backend knows by `record_stream` alone.
    let x = like()?;
    assert_eq!(address(&x), place);
    let gate = Gate::across(&stream);
    drop(x);
    let again = like()?;
    assert_eq!(address(&again), place, "nobody said that the queue uses it");
    again.record_stream(&stream)?;
    drop(again);
    let other = like()?;
    assert_ne!(address(&other), place);
    gate.open();
    stream.synchronize()?;
    assert_eq!(address(&like()?), place);

    let text = message(other.record_stream(&devices::current_stream(Device::CPU)?));
    assert!(
        text.contains("found a stream of cpu:0, expected one of the tensor's type of device, `toy`"),
        "{text}"
    );
    Tensor::zeros(&[1], DType::F32, Device::CPU)?.record_stream(&stream)
}

#[test]
fn a_device_whose_memory_is_all_leaving_waits_for_it() -> Result<()> {
    let _alone = alone();
    let on = device("toy:1");
    let half = || Tensor::zeros(&[1 << 17], DType::F32, on);
    for _ in 0..8 {
        let x = half()?;
        x.add_(&x)?;
    }
    let (_first, _second) = (half()?, half()?);
    assert!(message(half()).contains("device toy:1 has no memory for 524288 bytes"));
    Ok(())
}

#[test]
fn the_allocator_of_one_device_can_be_exchanged() -> Result<()> {
    let _alone = alone();
    let on = device("toy:0");
    let counting = CountingAllocator::over(devices::allocator(on)?);
    let before = devices::set_allocator(on, Some(Arc::new(counting.clone())))?;
    assert!(before.is_none());
    let x = floats(&[1.0; 16], on);
    let sum = x.add(&x)?;
    assert_eq!((counting.live_allocations(), counting.live_bytes()), (2, 128));
    let elsewhere = floats(&[1.0; 16], device("toy:1"));
    assert_eq!(counting.live_allocations(), 2);
    assert_eq!(elements(&sum), [2.0; 16]);
    drop((x, sum, elsewhere));
    assert_eq!(counting.live_bytes(), 0);
    let set = devices::set_allocator(on, before)?;
    assert_eq!(set.map(|set| set.name().to_owned()).as_deref(), Some("counting"));
    let total = counting.total_allocations();
    drop(floats(&[1.0], on));
    assert_eq!(counting.total_allocations(), total);
    Ok(())
}

#[test]
fn each_device_has_random_numbers_of_its_own() -> Result<()> {
    let _alone = alone();
    let draw = |on: &str| elements(&Tensor::rand(&[4], DType::F32, device(on)).unwrap());
    manual_seed(3);
    let first = ["cpu", "toy:0", "toy:1"].map(draw);
    assert!(first[0] != first[1] && first[1] != first[2]);
    assert_ne!(draw("toy:0"), first[1]);
    manual_seed(3);
    assert_eq!(["toy:1", "cpu", "toy:0"].map(draw), [&first[2], &first[0], &first[1]].map(Clone::clone));

    let of_second = devices::generator(device("toy:1"), 5)?;
    assert_eq!(of_second.device(), device("toy:1"));
    assert!(
        devices::default_generator(Device::from_type(toy()))? == devices::default_generator(device("toy:0"))?
    );
    let rand = || {
        let on = Some(device("toy:1"));
        ops::RandGenerator.call(&[4], Some(&of_second), None, None, on, None).unwrap()
    };
    let (one, other) = (elements(&rand()), elements(&rand()));
    assert_ne!(one, other);
    opgrid::kernels::random::reseed(&of_second, 5)?;
    assert_eq!(elements(&rand()), one);
    Ok(())
}

#[test]
fn a_second_run_draws_the_numbers_of_the_device_again() -> Result<()> {
    let _alone = alone();
    let on = device("toy:0");
    let x = floats(&[1.0; 32], on);
    x.requires_grad_(true)?;
    let function = |inputs: &[Tensor]| {
        let noise = Tensor::rand(&[32], DType::F32, inputs[0].device())?;
        Ok(vec![inputs[0].mul(&noise)?.mul(&inputs[0])?])
    };
    let results =
        opgrid::layers::autograd::checkpoint(function, std::slice::from_ref(&x), Default::default())?;
    results[0].sum()?.backward()?;
    let gradient = x.grad().expect("a gradient");
    // The derivative of `x * noise * x` at one is twice the noise, which is what the first run has given.
    let twice: Vec<f32> = elements(&results[0].detach()?).iter().map(|noise| 2.0 * noise).collect();
    assert_eq!(elements(&gradient), twice);
    Ok(())
}

#[test]
fn events_belong_to_a_device() -> Result<()> {
    let _alone = alone();
    let [zero, one] = ["toy:0", "toy:1"].map(|on| devices::current_stream(device(on)).unwrap());
    let cpu = devices::current_stream(Device::CPU)?;
    let (event, of_cpu) = (Event::timed(), Event::timed());
    event.record(&zero)?;
    of_cpu.record(&cpu)?;
    let text = message(event.record(&one));
    assert!(
        text.contains("event of toy:0: found a stream of toy:1") && text.contains("an event for each"),
        "{text}"
    );
    one.wait(&event)?;
    let text = message(one.wait(&of_cpu));
    assert!(
        text.contains("stream of toy:1: found an event of cpu:0") && text.contains("synchronize"),
        "{text}"
    );

    let later = Event::timed();
    queue(&zero, || {
        thread::sleep(Duration::from_millis(5));
        Ok(())
    })?;
    later.record(&zero)?;
    later.synchronize()?;
    assert!(event.elapsed(&later)? >= Duration::from_millis(5));
    assert!(
        message(event.elapsed(&of_cpu)).contains("events of toy:0 and cpu:0, expected two of one device")
    );
    assert!(message(event.elapsed(&Event::timed())).contains("was not recorded"));
    let untimed = Event::new();
    untimed.record(&zero)?;
    assert!(message(event.elapsed(&untimed)).contains("has no time"));
    let gate = Gate::across(&zero);
    later.record(&zero)?;
    assert!(message(event.elapsed(&later)).contains("has not completed yet"));
    drop(gate);
    Ok(())
}

#[test]
fn work_that_fails_is_told_to_the_first_who_waits() -> Result<()> {
    let _alone = alone();
    let on = device("toy:0");
    let stream = devices::current_stream(on)?;
    queue(&stream, || Err(Error::new(ErrorKind::Kernel, "the device is out of breath")))?;
    assert_eq!(message(stream.synchronize()), "the device is out of breath");
    devices::synchronize(on)?;
    queue(&stream, || panic!("on the device"))?;
    let text = message(devices::synchronize(on));
    assert!(text.contains("has panicked"), "{text}");
    let x = floats(&[1.0], on);
    queue(&stream, || Err(Error::new(ErrorKind::Kernel, "again")))?;
    x.add_(&x)?;
    assert_eq!(message(x.to_vec::<f32>()), "again");
    assert_eq!(elements(&x), [2.0]);
    assert!(
        message(queue(&devices::current_stream(Device::CPU)?, || Ok(())))
            .contains("expected a stream of a toy")
    );
    Ok(())
}

/// A runtime that fails to start as often as it is told, and counts.
struct Flaky {
    toy: Toy,
    failures: AtomicUsize,
    starts: Arc<AtomicUsize>,
    asks_itself: bool,
}

impl DeviceRuntime for Flaky {
    fn count(&self) -> usize {
        self.toy.count()
    }

    fn allocator(&self, index: usize) -> Result<Arc<dyn Allocator>> {
        self.toy.allocator(index)
    }

    fn start(&self) -> Result<()> {
        self.starts.fetch_add(1, Ordering::SeqCst);
        if self.asks_itself {
            devices::allocator(Device::from_type("flaky".parse()?))?;
        }
        let left = self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        match left {
            Ok(2..) => panic!("the driver crashes"),
            Ok(_) => Err(Error::new(ErrorKind::Kernel, "the driver is not ready")),
            Err(_) => self.toy.start(),
        }
    }

    fn default_stream(&self, index: usize) -> Result<Arc<dyn DeviceStream>> {
        self.toy.default_stream(index)
    }
}

#[test]
fn a_start_is_late_and_its_failure_is_not_for_ever() -> Result<()> {
    let _alone = alone();
    let kind = BackendComponent::register("Flaky")?.device_type().unwrap();
    let starts = Arc::new(AtomicUsize::new(0));
    let started = || starts.load(Ordering::SeqCst);
    let flaky = |failures, asks_itself| Flaky {
        toy: Toy::new(kind, 1, 256),
        failures: AtomicUsize::new(failures),
        starts: Arc::clone(&starts),
        asks_itself,
    };
    let registration = devices::register(kind, flaky(2, false))?;
    let any = Device::from_type(kind);
    assert_eq!((devices::count(kind), devices::current(kind)?.to_string()), (1, "flaky:0".into()));
    devices::synchronize(any)?;
    let _guard = DeviceGuard::new(any)?;
    manual_seed(1);
    assert_eq!(started(), 0, "asking starts nothing");
    assert!(catch_unwind(|| devices::current_stream(any)).is_err(), "a panic is the caller's");
    assert_eq!(message(devices::current_stream(any)), "devices of type `flaky`: the driver is not ready");
    thread::scope(|scope| {
        let callers = [0; 4].map(|_| scope.spawn(|| devices::current_stream(any).unwrap()));
        let streams = callers.map(|caller| caller.join().unwrap());
        assert!(streams.iter().all(|stream| *stream == streams[0]), "they get one default stream");
    });
    assert_eq!(started(), 3, "two failures, and one start for all");
    drop(registration);

    let _registration = devices::register(kind, flaky(0, true))?;
    let text = message(devices::current_stream(any));
    assert!(text.contains("uses its own devices while it starts") && text.contains("devices.rs:"), "{text}");
    Ok(())
}

#[test]
fn a_runtime_that_is_taken_back_leaves_its_streams_running() -> Result<()> {
    let _alone = alone();
    let kind = BackendComponent::register("Leaving")?.device_type().unwrap();
    let first = devices::register(kind, Toy::new(kind, 2, 256))?;
    let text = message(devices::register(kind, Toy::new(kind, 1, 256)));
    assert_eq!(text.matches("devices.rs:").count(), 2, "{text}");
    assert!(text.contains("drop that registration first"), "{text}");
    assert!(message(devices::register(DeviceType::Cpu, Toy::new(kind, 1, 256))).contains("is built in"));

    let on = Device::numbered(kind, 1)?;
    let stream = Stream::new(on)?;
    let of_guard = StreamGuard::new(&stream)?;
    let gate = Gate::across(&stream);
    let done = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&done);
    queue(&stream, move || {
        own.fetch_add(1, Ordering::SeqCst);
        Ok(())
    })?;
    drop(first);
    assert_eq!((devices::count(kind), devices::is_available(kind)), (0, false));
    assert!(message(devices::current_stream(on)).contains("has no runtime"));
    assert!(message(set_current_stream(&stream)).contains("of an unregistered runtime"));
    gate.open();
    stream.synchronize()?;
    assert_eq!(done.load(Ordering::SeqCst), 1, "what was queued is done");

    let _second = devices::register(kind, Toy::new(kind, 2, 256))?;
    assert_eq!(
        devices::current(kind)?.index(),
        Some(0),
        "what was current of the first runtime counts no more"
    );
    assert_ne!(devices::current_stream(on)?, stream);
    let event = Event::new();
    event.record(&stream)?;
    assert!(message(devices::current_stream(on)?.wait(&event)).contains("the same runtime"));
    drop(of_guard);
    assert_ne!(devices::current_stream(on)?, stream);
    // A stream that is dropped does what is left.
    let gate = Gate::across(&stream);
    let own = Arc::clone(&done);
    queue(&stream, move || {
        own.fetch_add(1, Ordering::SeqCst);
        Ok(())
    })?;
    drop((stream, event));
    gate.open();
    assert!(soon(|| done.load(Ordering::SeqCst) == 2));
    Ok(())
}

/// A runtime whose random numbers are of its own making.
struct Dice(Toy);

impl DeviceRuntime for Dice {
    fn count(&self) -> usize {
        self.0.count()
    }

    fn allocator(&self, index: usize) -> Result<Arc<dyn Allocator>> {
        self.0.allocator(index)
    }

    fn start(&self) -> Result<()> {
        self.0.start()
    }

    fn default_stream(&self, index: usize) -> Result<Arc<dyn DeviceStream>> {
        self.0.default_stream(index)
    }

    fn pinned_allocator(&self) -> Option<Arc<dyn Allocator>> {
        self.0.pinned_allocator()
    }

    fn new_generator(&self, device: Device, seed: u64) -> Result<Generator> {
        let keys = compute_dispatch_key(None, None, Some(device))?.key_set();
        Ok(Generator::new(keys, device, seed))
    }
}

#[test]
fn two_backends_have_pinned_memory_and_random_numbers_of_their_own() -> Result<()> {
    let _alone = alone();
    let backend = BackendComponent::register("Dice")?;
    let (key, kind) = (backend.key(), backend.device_type().unwrap());
    let dispatcher = opgrid::dispatcher()?;
    let mut operators = dispatcher.implementations("aten", key);
    operators.implement(ops::EmptyMemoryFormat).kernel(key, kernels::empty);
    operators.implement(ops::EmptyStrided).kernel(key, kernels::empty_strided);
    operators.implement(ops::CopyInplace).kernel(key, kernels::copy_);
    let mut everything = dispatcher.implementations("_", key);
    everything.fallback(Kernel::boxed(through_cpu));
    let _kernels = (operators.finish()?, everything.finish()?);
    let registration = devices::register(kind, Dice(Toy::new(kind, 1, 4096)))?;
    let on = Device::from_type(kind);

    // Whose pinned memory is meant has to be said.
    let plain = Tensor::from_slice(&[1.0f32, 2.0], &[2])?;
    let text = message(plain.pin_memory());
    assert!(text.contains("for several device types, toy, dice, expected one"), "{text}");
    let host = ops::PinMemory.call(&plain, Some(on))?;
    assert!(ops::IsPinned.call(&host, Some(on))? && !ops::IsPinned.call(&host, Some(device("toy")))?);
    // Nobody can say it for the result of `to`, so that the copy waits.
    let back = floats(&[1.0, 2.0], on).to(NonBlocking(Device::CPU))?;
    assert_eq!((back.is_pinned(), elements(&back)), (false, vec![1.0, 2.0]));

    // The CPU cannot draw from the device's generator, and draws from its own.
    let draw = |on| elements(&Tensor::rand(&[2], DType::F32, on).unwrap());
    devices::default_generator(on)?;
    manual_seed(9);
    assert_eq!(devices::default_generator(on)?.state::<u64>(), Some(&9), "it begins anew");
    let there = draw(on);
    manual_seed(9);
    assert_eq!(there, draw(Device::CPU));

    drop(registration);
    assert!(plain.pin_memory()?.is_pinned());
    Ok(())
}

/// What a program does that knows no device.
fn on_any_device(device: Device) -> Result<Vec<f32>> {
    let _guard = DeviceGuard::new(device)?;
    let (stream, done) = (Stream::with_priority(device, -1)?, Event::new());
    let x = Tensor::ones(&[3], DType::F32, device)?;
    devices::synchronize(device)?;
    let doubled = {
        let _queued_here = StreamGuard::new(&stream)?;
        let doubled = x.add(&x)?;
        done.record(&stream)?;
        doubled
    };
    devices::current_stream(device)?.wait(&done)?;
    let sum = doubled.add(&x)?;
    assert!(devices::allocator(device)?.allocate(8)?.bytes() >= 8);
    assert_eq!(devices::default_generator(device)?.device(), devices::resolve(device)?);
    devices::synchronize(device)?;
    sum.to(Device::CPU)?.to_vec()
}

#[test]
fn a_program_is_the_same_for_every_device() {
    let _alone = alone();
    for name in ["cpu", "toy", "toy:1"] {
        assert_eq!(on_any_device(device(name)).unwrap(), [3.0; 3], "{name}");
    }
    assert_eq!(devices::types()[0], DeviceType::Cpu);
    assert!(devices::can_pin(toy()) && !devices::can_pin(DeviceType::Cpu));
}
