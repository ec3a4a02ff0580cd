//! What the backend says of its devices: two of them, each with an arena and two queues, which start when they are needed.

use std::sync::{Arc, OnceLock};

use opgrid::devices::{DeviceRuntime, DeviceStream, Stream};
use opgrid::dispatch::DeviceType;
use opgrid::tensor::Allocator;
use opgrid::tensor::CountingAllocator;
use opgrid::{Error, ErrorKind, Result};

use crate::arena::Arena;
use crate::queue::{Queue, Ticket};

/// The devices of one type. Clones are the same devices.
#[derive(Clone)]
pub struct Toy(Arc<Inner>);

struct Inner {
    kind: DeviceType,
    units: Vec<Unit>,
    pinned: CountingAllocator,
}

/// One device.
struct Unit {
    arena: Arena,
    /// The default stream, and the one that every other stream is.
    queues: OnceLock<[Arc<Queue>; 2]>,
}

impl Toy {
    /// So many devices of a type, each with so many bytes.
    pub fn new(kind: DeviceType, count: usize, bytes: usize) -> Self {
        let unit =
            |index| Unit { arena: Arena::new(&format!("{kind}:{index}"), bytes), queues: OnceLock::new() };
        let units = (0..count).map(unit).collect();
        Self(Arc::new(Inner { kind, units, pinned: CountingAllocator::default() }))
    }

    /// The memory of a device.
    pub fn arena(&self, index: usize) -> &Arena {
        &self.0.units[index].arena
    }

    /// How many bytes of the host's memory are pinned for the devices.
    pub fn pinned_bytes(&self) -> usize {
        self.0.pinned.live_bytes()
    }

    /// Whether the queues run.
    pub fn is_started(&self) -> bool {
        self.0.units.iter().all(|unit| unit.queues.get().is_some())
    }

    fn queues(&self, index: usize) -> Result<&[Arc<Queue>; 2]> {
        self.0.units[index].queues.get().ok_or_else(|| {
            let message =
                format!("device {}:{index} was not started, expected a call of `start` before", self.0.kind);
            Error::new(ErrorKind::Internal, message)
        })
    }
}

impl DeviceRuntime for Toy {
    fn count(&self) -> usize {
        self.0.units.len()
    }

    fn allocator(&self, index: usize) -> Result<Arc<dyn Allocator>> {
        Ok(Arc::new(self.arena(index).clone()))
    }

    fn start(&self) -> Result<()> {
        for unit in &self.0.units {
            if unit.queues.get().is_none() {
                let name = unit.arena.name();
                let pair = [Queue::new(name)?, Queue::new(&format!("{name}, second"))?];
                let _ = unit.queues.set(pair.map(Arc::new));
            }
        }
        Ok(())
    }

    fn default_stream(&self, index: usize) -> Result<Arc<dyn DeviceStream>> {
        Ok(self.queues(index)?[0].clone())
    }

    fn new_stream(&self, index: usize, _priority: i32) -> Result<Arc<dyn DeviceStream>> {
        Ok(self.queues(index)?[1].clone())
    }

    fn synchronize(&self, index: usize) -> Result<()> {
        let results = self.queues(index)?.each_ref().map(|queue| queue.synchronize());
        results.into_iter().collect()
    }

    fn pinned_allocator(&self) -> Option<Arc<dyn Allocator>> {
        // Every page of a toy's host stays where it is, so that counting is all.
        Some(Arc::new(self.0.pinned.clone()))
    }
}

/// Queues work of a program's own on a stream of a toy.
///
/// # Errors
///
/// A stream of another backend.
pub fn queue(stream: &Stream, work: impl FnOnce() -> Result<()> + Send + 'static) -> Result<Ticket> {
    let queue = stream.backend::<Queue>().ok_or_else(|| {
        let message =
            format!("found {stream:?}, expected a stream of a toy; take one of `devices::current_stream`");
        Error::new(ErrorKind::Argument, message)
    })?;
    Ok(queue.push(work))
}
