//! What tensors alone keep alive, as collectors of language bindings see it; and memory that the graph does not watch.

use std::sync::{Arc, Mutex};

use opgrid_core::{DType, Device, Result};
use opgrid_tensor::layers::autograd::{
    self, BackwardOptions, CheckpointOptions, Foreign, OwnershipMap, checkpoint_with, custom_with,
    held_by_node, held_by_tensor,
};
use opgrid_tensor::{Tensor, ops};

fn leaf() -> Tensor {
    let x = Tensor::ones(&[2], DType::F64, Device::CPU).unwrap();
    x.requires_grad_(true).unwrap();
    x
}

fn held() -> Foreign {
    Arc::new(())
}

/// What somebody else has.
static OTHERS: Mutex<Vec<Tensor>> = Mutex::new(Vec::new());

/// Has a tensor run a hook that holds something.
fn hooked(tensor: &Tensor) -> Result<()> {
    let held = held();
    let own = held.clone();
    tensor.register_hook_with(held, move |_| {
        let _ = &own;
        Ok(None)
    })?;
    Ok(())
}

fn count_by(tensor: &Tensor) -> usize {
    let mut count = 0;
    held_by_tensor(tensor, usize::MAX, &mut |_| count += 1);
    count
}

#[test]
fn a_tensor_shows_what_it_alone_keeps() -> Result<()> {
    type Case = (&'static str, fn() -> Result<Tensor>, usize);
    let cases: &[Case] = &[
        (
            "a hook of a leaf",
            || {
                let x = leaf();
                hooked(&x)?;
                Ok(x)
            },
            1,
        ),
        (
            "two hooks of a result",
            || {
                let y = leaf().exp()?;
                hooked(&y)?;
                hooked(&y)?;
                Ok(y)
            },
            2,
        ),
        (
            "a hook below",
            || {
                let x = leaf();
                hooked(&x)?;
                x.exp()?.sum()
            },
            1,
        ),
        (
            "two ways to one leaf",
            || {
                let x = leaf();
                hooked(&x)?;
                x.mul(&x)?.add(&x.exp()?)
            },
            1,
        ),
        (
            "a leaf that somebody else has",
            || {
                let x = leaf();
                hooked(&x)?;
                let y = x.exp()?;
                OTHERS.lock().unwrap().push(x);
                Ok(y)
            },
            0,
        ),
        (
            "a view that was written",
            || {
                let (x, w) = (leaf(), leaf());
                hooked(&x)?;
                hooked(&w)?;
                let y = x.exp()?;
                y.select(0, 0)?.mul_(&w.select(0, 1)?)?;
                Ok(y)
            },
            2,
        ),
        (
            "a function of its own",
            || {
                let (held, x) = (held(), leaf());
                let own = held.clone();
                let results = custom_with(
                    "f",
                    &[&x],
                    || Ok((vec![x.exp()?], vec![x.clone()])),
                    held,
                    move |grads, _| {
                        let _ = &own;
                        Ok(vec![grads.for_result(0).cloned()])
                    },
                )?;
                results[0].sum()
            },
            1,
        ),
        (
            "a checkpoint",
            || {
                let (held, x) = (held(), leaf());
                hooked(&x)?;
                let own = held.clone();
                let run = move |inputs: &[Tensor]| {
                    let _ = &own;
                    Ok(vec![inputs[0].exp()?.mul(&inputs[0])?.exp()?])
                };
                let results = checkpoint_with(held, run, &[x.exp()?], CheckpointOptions::default())?;
                Ok(results[0].clone())
            },
            2,
        ),
        (
            "a gradient with a graph",
            || {
                let x = leaf();
                hooked(&x)?;
                let loss = x.mul(&x)?.sum()?;
                let options = BackwardOptions { retain_graph: false, create_graph: true };
                autograd::backward(&[&loss], &[None], None, options)?;
                Ok(x)
            },
            1,
        ),
    ];
    for (name, make, expected) in cases {
        let tensor = make()?;
        assert_eq!(count_by(&tensor), *expected, "{name}");
        // Another handle is another owner.
        let other = tensor.clone();
        assert_eq!(count_by(&tensor), 0, "{name}");
        drop(other);
        let mut limited = 0;
        held_by_tensor(&tensor, 0, &mut |_| limited += 1);
        assert_eq!(limited, 0, "{name}");
    }
    Ok(())
}

#[test]
fn a_node_shows_what_it_alone_keeps() -> Result<()> {
    let y = leaf().exp()?;
    let node = y.origin()?.unwrap();
    hooked(&y)?;
    let count = |node| {
        let mut count = 0;
        held_by_node(node, usize::MAX, &mut |_| count += 1);
        count
    };
    assert_eq!(count(&node), 0, "the tensor leads to it, too");
    drop(y);
    assert_eq!(count(&node), 1);
    Ok(())
}

#[test]
fn a_map_counts_what_several_keep_together() -> Result<()> {
    let x = leaf();
    hooked(&x)?;
    let (y, z) = (x.exp()?, x.mul(&x)?);
    let mut map = OwnershipMap::new(usize::MAX);
    let roots = [&x, &y, &z].map(|tensor| map.add_tensor(tensor).unwrap());
    assert!(Tensor::ones(&[1], DType::F64, Device::CPU).is_ok_and(|plain| map.add_tensor(&plain).is_none()));
    assert_eq!(roots.map(|place| map.count(place)), [1; 3]);
    let holders: Vec<usize> = (0..map.len()).filter(|place| map.is_holder(*place)).collect();
    let [holder] = holders[..] else { panic!("one leaf has a hook") };
    // The tensor leads to it once, each use by its target and by what it keeps of the argument or the result.
    let references: usize =
        (0..map.len()).flat_map(|place| map.parts(place)).filter(|part| *part == holder).count();
    assert_eq!(references, map.count(holder));
    assert!(map.is_complete() && map.is_current());
    let mut small = OwnershipMap::new(1);
    small.add_tensor(&y);
    assert!(!small.is_complete());
    drop(small);
    let w = y.exp()?;
    assert!(!map.is_current(), "the node has another owner");
    drop(w);
    assert!(map.is_current());
    hooked(&z)?;
    assert!(!map.is_current(), "there is another hook");
    Ok(())
}

#[test]
fn the_gradient_goes_with_its_leaf() -> Result<()> {
    let x = leaf();
    let held = Arc::new(());
    let loss = x.mul(&x)?.sum()?;
    let own = held.clone();
    loss.register_hook(move |_| {
        let _ = &own;
        Ok(None)
    })?;
    let options = BackwardOptions { retain_graph: true, create_graph: true };
    autograd::backward(&[&loss], &[None], None, options)?;
    let y = x.mul(&loss)?;
    drop((x, loss));
    // A graph that leads to the leaf goes on without it.
    y.sum()?.backward()?;
    drop(y);
    assert_eq!(Arc::strong_count(&held), 1);
    Ok(())
}

#[test]
fn untracked_memory_is_the_same_memory() -> Result<()> {
    let x = Tensor::empty(&[4], DType::F32, Device::CPU)?;
    let data = x.untracked()?;
    // Memory that nobody has written reads as zero, from whichever side.
    assert_eq!(data.to_vec::<f32>()?, [0.0; 4]);
    let (of_x, of_data) = (x.version(), data.version());
    data.fill_(2)?;
    assert_eq!((x.to_vec::<f32>()?, x.version(), data.version()), (vec![2.0; 4], of_x, of_data + 1));
    x.add_(&x)?;
    assert_eq!((data.to_vec::<f32>()?, x.version(), data.version()), (vec![4.0; 4], of_x + 1, of_data + 1));
    let again = data.untracked()?;
    again.fill_(1)?;
    assert_eq!((x.to_vec::<f32>()?, data.version(), again.version()), (vec![1.0; 4], of_data + 1, 1));
    // Guards see each other.
    let (one, other) = (x.array()?.storage(), data.array()?.storage());
    assert!(one.is_same(other) && other.is_same(again.array()?.storage()));
    for (one, other) in [(one, other), (other, one)] {
        let reader = one.read()?;
        assert!(other.write().is_err());
        assert_eq!(other.read()?.bytes(), reader.bytes());
        drop(reader);
        let writer = one.write_owned()?;
        assert!(other.read().is_err() && other.write().is_err() && one.read().is_err());
        drop(writer);
        let reader = one.read_owned()?;
        assert!(other.write().is_err());
        drop(reader);
        other.write()?;
    }
    // Memory outlives the tensor that had it first.
    let address = x.array()?.storage().address();
    drop(x);
    assert_eq!((data.to_vec::<f32>()?, data.array()?.storage().address()), (vec![1.0; 4], address));
    Ok(())
}

#[test]
fn threads_that_share_untracked_memory_see_each_other() -> Result<()> {
    let x = Tensor::zeros(&[64], DType::I64, Device::CPU)?;
    let aliases: Vec<Tensor> = (0..4).map(|_| x.untracked()).collect::<Result<_>>()?;
    std::thread::scope(|scope| {
        for alias in aliases.iter().chain([&x]) {
            scope.spawn(move || {
                let mut written = 0;
                while written < 500 {
                    // Somebody else may be at it.
                    written += i64::from(alias.add_(&Tensor::number(1)).is_ok());
                    if let Ok(elements) = alias.to_vec::<i64>() {
                        assert!(elements.iter().all(|element| *element == elements[0]));
                    }
                }
            });
        }
    });
    assert_eq!(x.to_vec::<i64>()?, [2500; 64]);
    Ok(())
}

#[test]
fn other_memory_counts_on() -> Result<()> {
    let (x, a, b) = (leaf(), Tensor::zeros(&[3], DType::F32, Device::CPU)?, leaf());
    let loss = x.mul(&x)?.sum()?;
    let first = x.version();
    for _ in 0..3 {
        x.set_data(&a)?;
        assert_eq!((x.sizes(), x.dtype(), x.version()), ([3].as_slice(), DType::F32, first));
        x.set_data(&b)?;
        assert_eq!((x.sizes(), x.dtype(), x.version()), ([2].as_slice(), DType::F64, first));
    }
    ops::FillInplaceScalar.call(&b.untracked()?, 5.into())?;
    assert_eq!(x.to_vec::<f64>()?, [5.0, 5.0]);
    loss.backward()?;
    assert_eq!(x.grad().unwrap().to_vec::<f64>()?, [2.0, 2.0]);
    for wrong in
        [Tensor::zeros(&[2], DType::I64, Device::CPU)?, Tensor::empty(&[2], DType::F64, Device::META)?]
    {
        assert!(x.set_data(&wrong).is_err());
    }
    Ok(())
}
