//! Code reads and writes nothing beyond its arrays: behind and before each lies a page that cannot be touched.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

use std::ptr::NonNull;

use opgrid_array::{Allocation, Array, Storage, TensorSpec};
use opgrid_core::{DType, Device};
use opgrid_jit::{Access, Binary, Expression, Level, Program};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

use crate::random::Random;
use crate::values::{canonical, drawn};
use crate::with_sample;

/// An array whose elements end at the end of a page, or begin at the beginning of one, beside pages that cannot be touched.
fn guarded(values: &Array, at_end: bool) -> Array {
    let page = rustix::param::page_size();
    let bytes = values.spec().bytes().unwrap();
    let inner = bytes.next_multiple_of(page);
    let length = inner + 2 * page;
    // SAFETY: a new mapping at no given address replaces no other one.
    let start = unsafe {
        mmap_anonymous(std::ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
    };
    let start = NonNull::new(start.unwrap().cast::<u8>()).unwrap();
    let offset = page + if at_end { inner - bytes } else { 0 };
    // SAFETY: the offset lies within the mapping.
    let first = unsafe { start.add(offset) };
    with_sample!(values.dtype(), T => {
        let elements = values.to_vec::<T>().unwrap();
        // SAFETY: so many bytes of the mapping begin there, and nobody else uses them.
        unsafe { std::ptr::copy_nonoverlapping(elements.as_ptr().cast::<u8>(), first.as_ptr(), bytes) };
    });
    for guard in [0, page + inner] {
        // SAFETY: a page of the mapping in which nothing lies.
        unsafe { mprotect(start.add(guard).as_ptr().cast(), page, MprotectFlags::empty()) }.unwrap();
    }
    let address = start.as_ptr() as usize;
    let release = move || {
        // SAFETY: nobody uses the mapping any more.
        unsafe { munmap(address as *mut _, length) }.unwrap();
    };
    // SAFETY: the bytes belong to the allocation until it gives the mapping back.
    let memory = unsafe { Allocation::foreign(first, bytes, release) };
    // SAFETY: every byte was copied there above.
    let storage = unsafe { Storage::of_written(memory) }.unwrap();
    Array::new(TensorSpec::contiguous(values.sizes(), values.dtype(), Device::CPU).unwrap(), storage).unwrap()
}

/// An expression with loads and stores of a dtype: the value itself, a comparison, and a choice.
fn expression(dtype: DType) -> Expression {
    let mut expression = Expression::new();
    let x = expression.load(dtype, Access::Elements).unwrap();
    let y = expression.load(dtype, Access::Elements).unwrap();
    let scalar = expression.load(dtype, Access::Scalar).unwrap();
    let [a, b] = [x, y].map(|value| expression.convert(value, DType::F32).unwrap());
    let larger = expression.binary(Binary::Larger, a, b).unwrap();
    let is_x = expression.compare(opgrid_jit::Comparison::Equal, larger, a).unwrap();
    let chosen = expression.select(is_x, y, scalar).unwrap();
    for value in [x, is_x, chosen, larger] {
        expression.store(value).unwrap();
    }
    expression
}

#[test]
fn nothing_beyond_arrays_is_touched() {
    let mut random = Random::new(7);
    for dtype in crate::values::DTYPES {
        for level in [Level::Interpreter, Level::Avx2, Level::Avx512] {
            let program = Program::new(expression(dtype), level).unwrap();
            for n in (1..=70).chain([511, 512, 1023, 1024, 1025, 2064]) {
                for at_end in [true, false] {
                    let plain = [
                        drawn(&mut random, dtype, &[n]),
                        drawn(&mut random, dtype, &[n]),
                        drawn(&mut random, dtype, &[1]),
                    ];
                    let inputs = plain.each_ref().map(|values| guarded(values, at_end));
                    let blank: Vec<Array> = program
                        .output_dtypes()
                        .map(|dtype| drawn(&mut Random::new(1), dtype, &[n]))
                        .collect();
                    let outputs: Vec<Array> = blank.iter().map(|values| guarded(values, at_end)).collect();
                    program.run(&outputs.iter().collect::<Vec<_>>(), &inputs.each_ref()).unwrap();
                    program.run(&blank.iter().collect::<Vec<_>>(), &plain.each_ref()).unwrap();
                    for (found, expected) in outputs.iter().zip(&blank) {
                        assert_eq!(canonical(found), canonical(expected), "{dtype}, {level}, {n} elements");
                    }
                }
            }
        }
    }
}
