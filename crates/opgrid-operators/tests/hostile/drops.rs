//! Chains of what users hand over to tensors, devices and modes: each link owns the one before, and dropping the last one
//! drops all, on a small stack.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use opgrid_core::{BoxedCall, Dispatcher, Result, ThreadContext};
use opgrid_tensor::Storage;
use opgrid_tensor::layers::modes;
use opgrid_tensor::tensor::{Allocation, Allocator, CountingAllocator, CpuAllocator, DeviceMemory};

const LINKS: usize = 200_000;

/// Counts its drop.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A link: what it owns, and its count.
struct Link<T> {
    _before: Option<T>,
    _counted: Counted,
}

/// Makes a chain of so many links and drops it on a thread with a small stack. Each of them is dropped when that returns.
fn check<T: 'static>(name: &str, links: usize, make: fn(Link<T>) -> T) {
    let dropped = Arc::<AtomicUsize>::default();
    let count = dropped.clone();
    let run = move || {
        let mut last = None;
        for _ in 0..links {
            last = Some(make(Link { _before: last, _counted: Counted(count.clone()) }));
        }
        assert_eq!(count.load(Ordering::Relaxed), 0);
        drop(last);
        assert_eq!(count.load(Ordering::Relaxed), links);
    };
    let thread = std::thread::Builder::new().name(name.into()).stack_size(512 << 10).spawn(run).unwrap();
    assert!(thread.join().is_ok(), "{name}");
}

/// A device's memory, an allocator and a mode.
struct Owner<T>(#[allow(dead_code, reason = "it is owned")] Link<T>);

impl<T: Send + Sync + 'static> DeviceMemory for Owner<T> {
    fn read(&self, _: usize, _: &mut [u8]) -> Result<()> {
        Ok(())
    }

    fn write(&self, _: usize, _: &[u8]) -> Result<()> {
        Ok(())
    }
}

impl<T: Send + Sync> Allocator for Owner<T> {
    fn name(&self) -> &str {
        "owner"
    }

    fn allocate(&self, bytes: usize) -> Result<Allocation> {
        CpuAllocator.allocate(bytes)
    }
}

impl<T: Send + Sync + 'static> modes::Mode for Owner<T> {
    fn handle(&self, call: &mut BoxedCall<'_>) -> Result<()> {
        call.call()
    }
}

/// Gives a storage whose allocation is made once.
struct Once(std::sync::Mutex<Option<Allocation>>);

impl Allocator for Once {
    fn name(&self) -> &str {
        "once"
    }

    fn allocate(&self, _: usize) -> Result<Allocation> {
        Ok(self.0.lock().unwrap().take().unwrap())
    }
}

#[test]
fn memory_of_users_is_given_back_without_recursion() {
    check("allocations that are told", LINKS, |link: Link<Allocation>| {
        CpuAllocator.allocate(64).unwrap().when_released(move |bytes| {
            let _ = &link;
            assert_eq!(bytes, 64);
        })
    });
    check("storages that are told", LINKS, |link: Link<Storage>| {
        let memory = CpuAllocator.allocate(64).unwrap().when_released(move |_| drop(link));
        Storage::new(&Once(Some(memory).into()), 64).unwrap()
    });
    check("memory of devices", LINKS, |link: Link<Allocation>| Allocation::on_device(Owner(link), 8));
    check("allocators", LINKS, |link: Link<CountingAllocator>| {
        CountingAllocator::over(Arc::new(Owner(link)))
    });
}

#[test]
fn many_who_are_told_of_one_allocation_are_told_in_order() {
    let told = Arc::<AtomicUsize>::default();
    let mut memory = CpuAllocator.allocate(64).unwrap();
    for number in 0..LINKS {
        let told = told.clone();
        memory = memory.when_released(move |_| assert_eq!(told.fetch_add(1, Ordering::Relaxed), number));
    }
    drop(memory);
    assert_eq!(told.load(Ordering::Relaxed), LINKS);
}

#[test]
fn modes_of_users_are_dropped_without_recursion() {
    check("modes", 20_000, |link: Link<ThreadContext>| {
        static LAYER: std::sync::LazyLock<Dispatcher> = std::sync::LazyLock::new(|| {
            let dispatcher = Dispatcher::new();
            modes::install(&dispatcher).unwrap().keep();
            dispatcher
        });
        LAYER.within(|| {
            let _entered = modes::enter(Arc::new(Owner(link))).unwrap();
            ThreadContext::capture()
        })
    });
}
