//! Shows tensors on `toy:0`: copies, the device's kernels, streams, the way through the CPU, autograd, and what goes wrong.

use opgrid::devices::{self, DeviceGuard, Event, Stream, StreamGuard};
use opgrid::dispatch::{Returns, SlowPath, inference_mode, reset_stats, stats, strict};
use opgrid::ops::NonBlocking;
use opgrid::prelude::*;
use toy_backend::{MultiplyAdd, TOY, arena::Block, device, to};

/// The way that a call takes, one line per hop.
fn path(operator: &str, arguments: &[&Tensor]) -> Result<String> {
    let values: Vec<_> = arguments.iter().map(|tensor| Value::from(*tensor)).collect();
    let lent: Vec<_> = values.iter().map(Value::borrow).collect();
    let handle = opgrid::dispatcher()?.find(operator)?;
    let (result, explanation) = handle.call_explained(&lent, &mut Returns::new())?;
    result.map(|()| explanation.to_string())
}

/// An event of a stream of the CPU.
fn cpu_event() -> Result<Event> {
    let event = Event::new();
    event.record(&devices::current_stream(Device::CPU)?).map(|()| event)
}

fn main() -> Result<()> {
    let _backend = toy_backend::register(opgrid::dispatcher()?)?;
    let toy = device()?;

    println!("-- a tensor crosses to {toy} and back");
    let free = TOY.arena(0).free_bytes();
    let x = to(&Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3])?, toy)?;
    println!("{x}\n{}", to(&x, Device::CPU)?);
    println!("keys {}", x.keys());
    println!("{} bytes of the arena are in use", free - TOY.arena(0).free_bytes());
    let address = x.array()?.storage().memory::<Block>().map_or(0, Block::address);
    let session = TOY.arena(0).lock();
    let raw: Vec<u8> = (address..address + 4).map(|address| session.raw(address)).collect();
    drop(session);
    println!("1.0 lies there as {raw:02x?}, on the host as {:02x?}", 1.0f32.to_le_bytes());

    println!("\n-- the device's own kernels");
    reset_stats();
    println!("{}\n{}", x.add_with(&x, 10)?, x.mul(&x)?);
    println!("copies through the CPU: {}", stats().total(SlowPath::CPU_COPY));

    println!("\n-- devices and streams");
    println!("{} devices, the current one is {}", devices::count(toy.kind()), devices::current(toy.kind())?);
    let second = DeviceGuard::new("toy:1".parse()?)?;
    println!("{}", Tensor::zeros(&[2], DType::F32, Device::from_type(toy.kind()))?);
    drop(second);
    let (stream, ready) = (Stream::new(toy)?, Event::new());
    let host = Tensor::from_slice(&[7.0f32, 8.0, 9.0], &[3])?.pin_memory()?;
    let there = {
        let _queued_here = StreamGuard::new(&stream)?;
        let there = host.to(NonBlocking(toy))?;
        ready.record(&stream)?;
        there
    };
    devices::current_stream(toy)?.wait(&ready)?;
    println!("{}", there.add(&x)?);
    let error = stream.wait(&cpu_event()?);
    println!("{}", error.map_or_else(|error| error.to_string(), |()| "no error".into()));

    println!("\n-- everything else goes through the CPU, and is counted");
    println!("{}\n{}\n{}", x.neg()?, x.sum()?, x.add_(&Tensor::number(1))?);
    print!("{}", stats());
    println!("strict: {}", strict(|| x.neg()).map_or_else(|error| error.to_string(), |y| y.to_string()));

    println!("\n-- an operator of the backend's own: its autograd kernel, and the device's");
    print!("{}", path("toy::multiply_add", &[&x, &x, &x])?);
    let _inference = inference_mode();
    print!("{}", path("toy::multiply_add", &[&x, &x, &x])?);
    println!("{}", MultiplyAdd.call(&x, &x, &x)?);

    println!("\n-- what goes wrong");
    let here = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3])?;
    let large = Tensor::empty(&[1 << 20], DType::F32, toy);
    let third = "toy:2".parse::<Device>().and_then(|device| Tensor::empty(&[1], DType::F32, device));
    for error in [x.add(&here), large, third].into_iter().filter_map(Result::err) {
        println!("{error}");
    }
    Ok(())
}
