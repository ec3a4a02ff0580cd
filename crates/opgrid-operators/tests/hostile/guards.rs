//! Guards that never end, threads that end before their storages, and tensors that two threads write at once.

use std::mem;
use std::sync::Barrier;
use std::thread;

use opgrid_core::{DType, Device};
use opgrid_tensor::{Storage, Tensor};

/// A guard that never ends keeps others out forever, wherever they are, and nobody waits for it.
#[test]
fn guards_that_are_forgotten_refuse() {
    let (read, written) = (Storage::cpu(8).unwrap(), Storage::cpu(8).unwrap());
    mem::forget(read.read().unwrap());
    mem::forget(written.write().unwrap());
    let look = || {
        assert!(read.read().is_ok() && read.read_owned().is_ok());
        assert!(read.write().is_err() && read.write_owned().is_err());
        assert!(written.read().is_err() && written.read_owned().is_err());
        assert!(written.write().is_err() && written.write_owned().is_err());
    };
    thread::scope(|scope| scope.spawn(look).join().unwrap());
    look();
}

/// What a thread made belongs to nobody who comes after it, and what it forgot still counts.
#[test]
fn storages_outlive_their_makers() {
    for _ in 0..50 {
        let make = || {
            let storages = [(); 3].map(|()| Storage::cpu(8).unwrap());
            mem::forget(storages[1].read().unwrap());
            mem::forget(storages[2].write().unwrap());
            storages
        };
        let [free, read, written] = thread::spawn(make).join().unwrap();
        let look = || {
            free.write().unwrap().bytes().fill(1);
            assert_eq!(free.read().unwrap().bytes(), [1; 8]);
            assert!(read.read().is_ok() && read.write().is_err());
            assert!(written.read().is_err() && written.write().is_err());
        };
        thread::scope(|scope| scope.spawn(look).join().unwrap());
        look();
    }
}

/// Guards end on other threads while their storage's maker reads and writes.
#[test]
fn guards_that_travel_are_counted_where_all_are() {
    for _ in 0..200 {
        let storage = Storage::cpu(8).unwrap();
        storage.write().unwrap().bytes().fill(3);
        let reader = storage.read_owned().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || assert_eq!(reader.bytes(), [3; 8]));
            for _ in 0..20 {
                assert_eq!(storage.read().unwrap().bytes(), [3; 8]);
            }
        });
        let mut writer = storage.write_owned().expect("every reader has ended");
        thread::scope(|scope| {
            scope.spawn(move || writer.bytes().fill(4));
        });
        assert_eq!(storage.read().unwrap().bytes(), [4; 8]);
    }
}

/// A maker and another thread add to one tensor in place: each addition is whole or refused.
#[test]
fn additions_from_two_threads_are_whole_or_refused() {
    const ROUNDS: usize = 300;
    let tensors: Vec<_> =
        (0..ROUNDS).map(|_| Tensor::zeros(&[100], DType::I64, Device::CPU).unwrap()).collect();
    let start = Barrier::new(2);
    let add = || {
        let one = Tensor::from_slice(&[1i64], &[1]).unwrap();
        start.wait();
        tensors.iter().map(|tensor| i64::from(tensor.add_(&one).is_ok())).collect::<Vec<_>>()
    };
    let (ours, theirs) = thread::scope(|scope| {
        let other = scope.spawn(add);
        (add(), other.join().unwrap())
    });
    for (tensor, (ours, theirs)) in tensors.iter().zip(ours.into_iter().zip(theirs)) {
        assert_eq!(tensor.to_vec::<i64>().unwrap(), [ours + theirs; 100]);
    }
}
