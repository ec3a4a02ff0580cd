//! Outputs without elements, which get shapes and memory: beside themselves among the arguments, and when loops fail, panic,
//! drop what they are registered by, or write to the output behind the call's back.

use std::cell::RefCell;
use std::panic::AssertUnwindSafe;

use opgrid_core::{DType, Device, Dispatcher, Registration, Result, operator};
use opgrid_tensor::families::{DefineFamily, Family, kind};
use opgrid_tensor::ops::{
    AminmaxOut, CatOut, IndexSelectOut, MmOut, PdistForwardOut, SumIntListOut, VarMeanCorrectionOut,
};
use opgrid_tensor::{Geometry, Tensor};

use super::MAX;

/// A tensor of those sizes, without elements, at a wild place.
fn nothing(sizes: &[i64], offset: i64) -> Tensor {
    let memory = Tensor::empty(&[4], DType::F32, Device::CPU).unwrap();
    memory.view_as(Geometry::strided(sizes, &vec![MAX / 2; sizes.len()], offset).unwrap()).unwrap()
}

fn numbers(sizes: &[i64]) -> Tensor {
    Tensor::full(sizes, 2.0, Some(DType::F32), Device::CPU).unwrap()
}

fn elements(tensor: &Tensor) -> (Vec<i64>, Vec<f32>) {
    (tensor.sizes().to_vec(), tensor.to_vec::<f32>().unwrap())
}

#[test]
fn an_argument_that_is_the_output_keeps_its_shape_until_all_is_written() {
    for offset in [0, 3, 1 << 40, MAX] {
        let out = nothing(&[0, 3], offset);
        PdistForwardOut.call(&out, 2.0, &out).unwrap();
        assert_eq!(elements(&out), (vec![0], vec![]), "_pdist_forward");

        let out = nothing(&[0, 3], offset);
        SumIntListOut.call(&out, Some(&[0]), false, None, &out).unwrap();
        assert_eq!(elements(&out), (vec![3], vec![0.0; 3]), "sum");

        let out = nothing(&[0], offset);
        CatOut.call(&[out.clone(), numbers(&[2]), out.clone()], 0, &out).unwrap();
        assert_eq!(elements(&out), (vec![2], vec![2.0; 2]), "cat");

        let out = nothing(&[2, 0], offset);
        MmOut.call(&out, &numbers(&[0, 3]), &out).unwrap();
        assert_eq!(elements(&out), (vec![2, 3], vec![0.0; 6]), "mm");

        let (out, mean) = (nothing(&[0, 2], offset), nothing(&[0], offset));
        VarMeanCorrectionOut.call(&out, Some(&[0]), None, false, &out, &mean).unwrap();
        assert_eq!((out.sizes(), mean.sizes()), ([2].as_slice(), [2].as_slice()), "var_mean");
    }
}

#[test]
fn one_tensor_is_not_two_outputs() {
    let out = nothing(&[0], MAX);
    let error = AminmaxOut.call(&numbers(&[4]), None, false, &out, &out).unwrap_err().to_string();
    assert!(error.contains("two outputs refer to the same memory"), "{error}");
    assert_eq!(out.sizes(), [0]);
}

#[test]
fn a_loop_that_fails_leaves_the_output_as_it_was() {
    let out = nothing(&[0], 1 << 40);
    let beyond = Tensor::from_slice(&[1i64, 7], &[2]).unwrap();
    let error = IndexSelectOut.call(&numbers(&[3]), 0, &beyond, &out).unwrap_err().to_string();
    assert!(error.contains('7'), "{error}");
    assert_eq!(out.sizes(), [0]);
}

operator! {
    /// What a test's loop makes of a tensor.
    pub Loop = "hostile::loop(Tensor self) -> Tensor", out;
}

/// What a loop may reach beside its arguments: the caller's output, and the registration of its own operator.
struct Reach {
    out: Tensor,
    registration: Option<Registration>,
}

thread_local! {
    static REACH: RefCell<Option<Reach>> = const { RefCell::new(None) };
}

fn with_reach<X>(look: impl FnOnce(&mut Reach) -> X) -> X {
    REACH.with_borrow_mut(|reach| look(reach.as_mut().expect("a loop of `into_nothing` runs")))
}

/// Calls `hostile::loop.out` with that loop and an output without elements at a wild place: what it ends in, and the output.
fn into_nothing(body: fn(&Tensor, &Tensor) -> Result<()>) -> (std::thread::Result<Result<()>>, Tensor) {
    const HOSTILE: Family<Loop> = Family::new(Loop, &kind::POINTWISE_UNARY, |x| Ok(x.spec()?.clone()));
    let (dispatcher, out) = (Dispatcher::new(), nothing(&[0], MAX));
    let _operators = opgrid_tensor::register(&dispatcher).unwrap();
    let mut library = dispatcher.library("hostile");
    library.family(&HOSTILE).cpu(body);
    let registration = Some(library.finish().unwrap());
    REACH.set(Some(Reach { out: out.clone(), registration }));
    let input = numbers(&[3]);
    let call = || dispatcher.within(|| LoopOut.call(&input, &out));
    let ended = std::panic::catch_unwind(AssertUnwindSafe(call));
    REACH.set(None);
    (ended, out)
}

#[test]
fn a_loop_that_panics_leaves_the_output_as_it_was() {
    let (ended, out) = into_nothing(|_, filled| {
        filled.fill_(7.0)?;
        panic!("in the middle of a loop");
    });
    assert!(ended.is_err());
    assert_eq!(elements(&out), (vec![0], vec![]));
}

#[test]
fn a_loop_may_drop_its_own_registration() {
    let (ended, out) = into_nothing(|_, filled| {
        drop(with_reach(|reach| reach.registration.take()));
        filled.fill_(7.0).map(drop)
    });
    ended.unwrap().unwrap();
    assert_eq!(elements(&out), (vec![3], vec![7.0; 3]));
}

#[test]
fn a_loop_that_gives_the_output_a_shape_itself_is_told() {
    let (ended, out) = into_nothing(|_, filled| {
        let out = with_reach(|reach| reach.out.clone());
        CatOut.call(&[numbers(&[2])], 0, &out)?;
        filled.fill_(7.0).map(drop)
    });
    let error = ended.unwrap().unwrap_err().to_string();
    assert!(error.contains("gave the output a shape"), "{error}");
    assert_eq!(elements(&out), (vec![2], vec![2.0; 2]));
}
