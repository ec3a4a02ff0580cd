//! What calls allocate: nothing.
#![allow(unsafe_code)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::cpu;
use opgrid_core::{
    AnyTensor as Tensor, Complex64, DispatchKey, Dispatcher, ExcludeGuard, Kernel, Result, Returns, Scalar,
    ValueRef, WritesFirst, operator,
};

/// The system's allocator, which counts what each thread asks for.
struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every request goes to the system's allocator as it came; counting touches a thread-local number alone.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's word.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's word.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often `body` allocates, after a first time that may prepare things.
fn allocations(mut body: impl FnMut()) -> usize {
    body();
    let before = COUNT.get();
    body();
    COUNT.get() - before
}

operator! {
    pub Zip = "allocations::zip(Tensor a, Tensor? b, Tensor[] c, int[] d, Scalar e, str f) -> Tensor";
    pub Four = "allocations::four(Tensor a, Tensor b, Tensor c, Tensor d) -> (Tensor, Tensor, Tensor, Tensor)";
    pub Touch = "allocations::touch(Tensor(a!) a) -> Tensor(a!)";
}

fn zip(a: &Tensor, _: Option<&Tensor>, _: &[Tensor], _: &[i64], _: Scalar, _: &str) -> Result<Tensor> {
    Ok(a.clone())
}

type Quartet = (Tensor, Tensor, Tensor, Tensor);

fn four(a: &Tensor, b: &Tensor, c: &Tensor, d: &Tensor) -> Result<Quartet> {
    Ok((a.clone(), b.clone(), c.clone(), d.clone()))
}

#[test]
fn calls_allocate_nothing() {
    let mut library = Dispatcher::global().library("allocations");
    let pass = || Kernel::boxed(|call| call.below()).at(DispatchKey::AutogradCpu);
    library.define(Zip).kernel(DispatchKey::Cpu, zip).add(pass());
    library
        .define(Four)
        .kernel(DispatchKey::Cpu, four)
        .layer(DispatchKey::AutogradCpu, |next, args| next.call(args));
    library.define(Touch).boxed(DispatchKey::Cpu, |call| {
        let first = call.tensor(0)?.clone();
        call.push(first);
        Ok(())
    });
    let _registration = library.finish().unwrap();
    let find = |name: &str| Dispatcher::global().find(name).unwrap();
    let (x, y) = (cpu(), common::tensor(DispatchKey::Cpu.key_set() | DispatchKey::AutogradCpu.key_set()));
    let (list, sizes) = ([x.clone(), x.clone()], [1, 2, 3]);
    let scalar = Scalar::Complex(Complex64::new(1.0, 2.0));
    for a in [&x, &y] {
        assert_eq!(allocations(|| drop(Zip.call(a, Some(&x), &list, &sizes, scalar, "text").unwrap())), 0);
        assert_eq!(allocations(|| drop(Four.call(a, &x, &x, &x).unwrap())), 0);
        assert_eq!(allocations(|| Touch.call(a).unwrap()), 0);
        let (zip, four, touch) =
            (find("allocations::zip"), find("allocations::four"), find("allocations::touch"));
        let typed = touch.typed::<fn(Tensor) -> WritesFirst>().unwrap();
        assert_eq!(allocations(|| typed.call((a,)).unwrap()), 0);
        let all = [ValueRef::from(a); 4];
        let boxed = |operator: &opgrid_core::OperatorHandle, args: &[ValueRef<'_>]| {
            let mut returns = Returns::new();
            operator.call_boxed(args, &mut returns).unwrap();
        };
        assert_eq!(allocations(|| boxed(&four, &all)), 0);
        assert_eq!(allocations(|| boxed(&touch, &all[..1])), 0);
        let complex = Complex64::new(1.0, 2.0);
        let args = [
            ValueRef::from(a),
            ValueRef::NONE,
            ValueRef::from(&list[..]),
            ValueRef::from(&sizes[..]),
            ValueRef::from(&complex),
            ValueRef::from("text"),
        ];
        assert_eq!(allocations(|| boxed(&zip, &args)), 0);
    }
    assert_eq!(allocations(|| drop(ExcludeGuard::below_autograd())), 0);
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(1_u64)))), 1, "the count counts");
}
