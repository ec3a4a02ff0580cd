//! Checks the run-time borrow state of storages: conflicts, threads, memory that was never written, allocators.

use std::sync::atomic::{AtomicUsize, Ordering};

use opgrid_core::Result;
use opgrid_tensor::tensor::{Allocator, CountingAllocator, FailingAllocator, storage::ALIGNMENT};
use opgrid_tensor::{Array, Bool, Storage, TensorSpec};

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn conflicts_name_what_happened_and_the_remedy() {
    let storage = Storage::cpu(16).unwrap();
    let (one, two) = (storage.read().unwrap(), storage.read().unwrap());
    let refused = message(storage.write());
    assert!(refused.contains("cannot be written now because it has 2 readers"), "{refused}");
    assert!(refused.contains("work on a clone"), "{refused}");
    drop((one, two));
    let writer = storage.write().unwrap();
    assert!(message(storage.clone().read()).contains("cannot be read now because it is being written"));
    assert!(storage.write().is_err());
    drop(writer);
    assert!(storage.read().is_ok() && storage.write().is_ok());
}

#[test]
fn meta_storage_has_a_size_and_no_data() {
    let storage = Storage::meta(1 << 60).unwrap();
    assert_eq!((storage.bytes(), storage.has_data()), (1 << 60, false));
    assert!(message(storage.read()).contains("cannot read the data of a tensor on device meta"));
    assert!(message(storage.write()).contains("cannot write"));
}

#[test]
fn memory_is_aligned_zero_and_of_any_size() {
    for bytes in [0, 1, 7, 64, 100, 4096, 1 << 20] {
        let storage = Storage::cpu(bytes).unwrap();
        let reader = storage.read().unwrap();
        assert_eq!(reader.bytes().len(), bytes);
        assert_eq!(reader.bytes().as_ptr().addr() % ALIGNMENT, 0);
        assert!(reader.bytes().iter().all(|byte| *byte == 0));
        assert_eq!(reader.slice::<f64>().unwrap().len(), bytes / 8);
    }
}

#[test]
fn any_byte_reads_as_a_bool() {
    let storage = Storage::cpu(3).unwrap();
    storage.write().unwrap().bytes().copy_from_slice(&[0, 1, 200]);
    assert_eq!(storage.read().unwrap().slice::<Bool>().unwrap(), [false, true, true].map(Bool::from));
}

#[test]
fn allocators_are_asked_and_told() {
    let counting = CountingAllocator::default();
    let storage = Storage::new(&counting, 40).unwrap();
    let view = storage.clone();
    assert!(view.is_same(&storage) && !view.is_same(&Storage::cpu(40).unwrap()));
    drop(storage);
    assert_eq!((counting.live_allocations(), counting.live_bytes()), (1, 40));
    drop(view);
    assert_eq!((counting.live_allocations(), counting.live_bytes(), counting.total_allocations()), (0, 0, 1));
    let failing: &dyn Allocator = &FailingAllocator;
    let refused = message(Storage::new(failing, 123));
    assert!(refused.contains("`failing` has no memory for 123 bytes"), "{refused}");
    assert!(message(Storage::cpu(usize::MAX / 2)).contains("bytes"));
    assert!(Storage::cpu(usize::MAX).is_err());
}

#[test]
fn an_array_fits_its_storage() {
    let array = Array::from_slice(&[1.0f32, 2.0, 3.0], &[3]).unwrap();
    let wide = array.geometry().at_offset(1).unwrap();
    let refused = message(array.view(wide));
    assert!(
        refused.contains("requiring a storage size of 16 bytes are out of bounds for storage of size 12"),
        "{refused}"
    );
    assert!(Array::new(array.spec().clone(), Storage::meta(12).unwrap()).is_err());
    assert!(message(Array::from_slice(&[1i64], &[2])).contains("need 2 elements, found 1"));
    let cuda = TensorSpec::contiguous(&[1], array.dtype(), "cuda".parse().unwrap()).unwrap();
    assert!(message(Array::empty(cuda)).contains("device cuda"));
}

/// Readers that see a mixture of two writes would have read while somebody wrote.
#[test]
fn readers_never_see_half_a_write() {
    let rounds = if cfg!(miri) { 20 } else { 5000 };
    let storage = Storage::cpu(64 * 8).unwrap();
    let read = || {
        let Ok(guard) = storage.read() else { return };
        let elements = guard.slice::<i64>().unwrap();
        let first = elements[0];
        assert!(elements.iter().all(|element| *element == first));
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..rounds).for_each(|_| read()));
        }
        for round in 0..rounds {
            if let Ok(mut guard) = storage.write() {
                guard.slice::<i64>().unwrap().fill(round);
            }
        }
    });
    // Every guard was given back, whichever counter it was counted in.
    storage.write().unwrap().slice::<i64>().unwrap().fill(-1);
    read();
}

/// What its maker began before another thread came counts on.
#[test]
fn a_storage_is_taken_from_its_maker_with_its_guards() {
    let storage = Storage::cpu(8).unwrap();
    let elsewhere = |look: &(dyn Fn() + Sync)| {
        std::thread::scope(|scope| scope.spawn(look).join().unwrap());
    };
    let mut writer = storage.write().unwrap();
    writer.bytes().fill(1);
    elsewhere(&|| {
        assert!(message(storage.read()).contains("is being written"));
        assert!(message(storage.write()).contains("is being written"));
    });
    assert!(message(storage.read()).contains("is being written"));
    drop(writer);
    let storage = Storage::cpu(8).unwrap();
    storage.write().unwrap().bytes().fill(1);
    let (first, second) = (storage.read().unwrap(), storage.read().unwrap());
    elsewhere(&|| {
        assert_eq!(storage.read().unwrap().bytes(), [1; 8]);
        assert!(message(storage.write()).contains("2 readers"));
    });
    let third = storage.read().unwrap();
    drop(first);
    elsewhere(&|| assert!(message(storage.write()).contains("2 readers")));
    drop((second, third));
    elsewhere(&|| storage.write().unwrap().bytes().fill(2));
    assert_eq!(storage.read().unwrap().bytes(), [2; 8]);
}

/// As above, at the moment at which the storage is taken: what is seen was written as a whole.
#[test]
fn makers_and_those_who_take_exclude_one_another() {
    let rounds = if cfg!(miri) { 20 } else { 2000 };
    // All are made before the first one is taken: those after it are everybody's from the start.
    let storages: Vec<_> = (0..rounds).map(|_| Storage::cpu(64 * 8).unwrap()).collect();
    let round = AtomicUsize::new(0);
    let write = |storage: &Storage, number: i64| {
        let Ok(mut guard) = storage.write() else { return };
        let elements = guard.slice::<i64>().unwrap();
        let first = elements[0];
        for element in elements {
            assert_eq!(*element, first);
            *element = number;
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for (number, storage) in storages.iter().enumerate() {
                while round.load(Ordering::Relaxed) < number {
                    std::hint::spin_loop();
                }
                if let Ok(guard) = storage.read() {
                    let elements = guard.slice::<i64>().unwrap();
                    assert!(elements.iter().all(|element| *element == elements[0]));
                }
                write(storage, -1);
            }
        });
        for (number, storage) in storages.iter().enumerate() {
            round.store(number, Ordering::Relaxed);
            (0..20).for_each(|time| write(storage, time));
        }
    });
    for storage in &storages {
        write(storage, 7);
        assert_eq!(storage.read().unwrap().slice::<i64>().unwrap(), [7; 64], "every guard was given back");
    }
}

/// Readers that have a counter each still keep writers out, one by one.
#[test]
fn a_reader_on_another_thread_keeps_writers_out() {
    let storage = Storage::cpu(8).unwrap();
    // Contention makes the counters appear.
    let rounds = if cfg!(miri) { 20 } else { 20_000 };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..rounds).for_each(|_| drop(storage.read().unwrap())));
        }
    });
    let guard = storage.read().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let second = storage.read().unwrap();
            assert!(message(storage.write()).contains("2 readers"));
            drop(second);
            assert!(message(storage.write()).contains("a reader"));
        });
    });
    drop(guard);
    assert!(storage.write().is_ok());
}

/// Two writers that are let in at once would lose an increment.
#[test]
fn writers_exclude_one_another() {
    let rounds = if cfg!(miri) { 20 } else { 20_000 };
    let storage = Storage::cpu(8).unwrap();
    let written = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..rounds {
                    if let Ok(mut guard) = storage.write() {
                        guard.slice::<i64>().unwrap()[0] += 1;
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let total = storage.read().unwrap().slice::<i64>().unwrap()[0];
    assert_eq!(total as usize, written.load(Ordering::Relaxed));
}

#[test]
fn memory_is_given_back_on_another_thread() {
    let storages: Vec<Storage> = (1..2000).map(|bytes| Storage::cpu(bytes * 8).unwrap()).collect();
    std::thread::spawn(move || drop(storages)).join().unwrap();
    for bytes in 1..2000 {
        let storage = Storage::cpu(bytes * 8).unwrap();
        storage.write().unwrap().bytes().fill(1);
    }
}

#[test]
fn guards_that_own_their_storage_count_as_the_others_do() {
    let storage = Storage::cpu(16).unwrap();
    let (one, two) = (storage.read_owned().unwrap(), storage.read().unwrap());
    assert_eq!(one.bytes(), [0; 16]);
    assert!(message(storage.write_owned()).contains("has 2 readers"));
    drop(two);
    // The guard goes to another thread and ends there; the storage lives as long as it does.
    std::thread::spawn(move || drop(one)).join().unwrap();
    let mut writer = storage.write_owned().unwrap();
    assert!(message(storage.read()).contains("is being written") && storage.read_owned().is_err());
    assert!(writer.storage().is_same(&storage));
    let version = storage.version();
    let writer = std::thread::spawn(move || {
        writer.bytes().fill(7);
        writer
    });
    let writer = writer.join().unwrap();
    drop(storage.clone());
    drop(writer);
    assert_eq!((storage.read().unwrap().bytes(), storage.version()), (&[7u8; 16][..], version));

    let alone = storage.read_owned().unwrap();
    drop(storage);
    assert_eq!(alone.bytes(), [7; 16]);
    assert!(message(Storage::meta(4).unwrap().read_owned()).contains("device meta"));
}

#[test]
fn owned_readers_of_many_threads_are_counted_where_they_began() {
    let storage = Storage::cpu(8).unwrap();
    // Threads that meet get counters of their own; readers from before and after that are still all seen.
    let before = storage.read_owned().unwrap();
    let readers: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        drop(storage.read().unwrap());
                    }
                    storage.read_owned().unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for reader in readers {
        assert!(storage.write().is_err());
        drop(reader);
    }
    assert!(storage.write_owned().is_err());
    drop(before);
    assert!(storage.write_owned().is_ok());
}
