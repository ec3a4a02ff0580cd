//! A hundred plugins leave nothing but their code. Alone in its program, because kernels and the heap are counted for the whole
//! process.
#![allow(unsafe_code)]

use opgrid_operators as _;

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::PathBuf;
use std::sync::atomic::{AtomicIsize, Ordering};

use common::{build, subject};
use opgrid_core::{Dispatcher, Value};
use opgrid_plugin::Load;
use opgrid_tensor::Tensor;

/// The system's allocator, which counts the bytes that the host holds.
struct Counting;

static BYTES: AtomicIsize = AtomicIsize::new(0);

// SAFETY: every request goes to the system's allocator as it came; counting touches a number alone.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's word.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's word.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The bytes of everybody's heap, the plugins' and the system's own notes included.
fn whole_heap() -> isize {
    // SAFETY: the function only reads the allocator's counters, under its locks.
    let info = unsafe { libc::mallinfo2() };
    (info.uordblks + info.hblkhd) as isize
}

/// Loads and drops each copy; the bytes that the host holds afterwards, and those of the whole heap.
fn round(dispatcher: &Dispatcher, copies: &[PathBuf]) -> (isize, isize) {
    for copy in copies {
        let plugin = dispatcher.load(copy).unwrap();
        let x = Value::from(&Tensor::from_slice(&[1.0f32], &[1]).unwrap());
        let alive = dispatcher.find("counted::alive").unwrap().call_values(vec![x]).unwrap();
        // The contexts of the round before were given back.
        assert_eq!(alive, [Value::from(1)]);
        drop((alive, plugin));
    }
    opgrid_core::quiesce().unwrap();
    (BYTES.load(Ordering::Relaxed), whole_heap())
}

#[test]
fn a_hundred_plugins_come_and_go() {
    let path = build("crates/opgrid-plugin/tests/sources/counted.cpp", "counted", &[]);
    let folder = path.with_extension("copies");
    std::fs::create_dir_all(&folder).unwrap();
    let copies: Vec<_> = (0..101).map(|number| folder.join(format!("libcounted_{number}.so"))).collect();
    for copy in &copies {
        std::fs::copy(&path, copy).unwrap();
    }
    let (dispatcher, _operators) = subject();
    // Who lists operators has all of them registered, which takes memory once.
    let before = dispatcher.operators().len();
    // The first one pays for what is made once in a process.
    let (warm, hundred) = copies.split_at(1);
    round(&dispatcher, warm);
    let kernels = || dispatcher.stats().kernels;
    let at_first = kernels();
    let (held, _) = round(&dispatcher, warm);
    let (held_after, first) = round(&dispatcher, hundred);
    let (held_again, second) = round(&dispatcher, hundred);
    assert_eq!((dispatcher.operators().len(), kernels()), (before, at_first));
    println!(
        "a hundred plugins left {} bytes here, a second time {}, on the whole heap {}",
        held_after - held,
        held_again - held_after,
        second - first
    );
    // Tables keep the room that they have grown to.
    assert!(held_after - held < 100 * 8, "{} bytes more than with one", held_after - held);
    assert_eq!(held_again, held_after, "the code of these was there already");
    // What the allocator adds to blocks comes and goes.
    assert!(second - first < 100 * 16, "{} bytes more on the whole heap", second - first);
    std::fs::remove_dir_all(&folder).unwrap();
}
