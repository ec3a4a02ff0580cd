//! Whether two indices lead to one element: exactly, against looking at every element.

use std::collections::HashSet;

use opgrid_tensor::{Array, Geometry, Tensor};
use proptest::collection::vec;
use proptest::prelude::*;

use super::base;

/// The naive answer.
fn overlaps(sizes: &[i64], strides: &[i64]) -> bool {
    let mut positions = vec![0i64];
    for (size, stride) in sizes.iter().zip(strides) {
        positions =
            positions.iter().flat_map(|at| (0..*size).map(move |index| at + index * stride)).collect();
    }
    let mut seen = HashSet::new();
    !positions.into_iter().all(|at| seen.insert(at))
}

fn check(sizes: &[i64], strides: &[i64]) {
    let found = Geometry::strided(sizes, strides, 3).unwrap().overlaps_itself();
    assert_eq!(found, Some(overlaps(sizes, strides)), "sizes {sizes:?}, strides {strides:?}");
}

/// Calls `f` with every list of `len` numbers from `range`.
fn lists(len: usize, range: std::ops::RangeInclusive<i64>, f: &mut dyn FnMut(&[i64])) {
    let mut list = vec![*range.start(); len];
    loop {
        f(&list);
        let Some(at) = list.iter().rposition(|number| number < range.end()) else { return };
        list[at] += 1;
        list[at + 1..].fill(*range.start());
    }
}

#[test]
fn every_small_geometry_is_decided_as_it_is() {
    for (dims, sizes, strides) in [
        (0, 0..=0, 0..=0),
        (1, 0..=4, 0..=4),
        (2, 0..=4, 0..=9),
        (3, 1..=3, 0..=9),
        (3, 2..=4, 1..=8),
        (4, 2..=3, 1..=6),
    ] {
        lists(dims, sizes, &mut |sizes| {
            lists(dims, strides.clone(), &mut |strides| check(sizes, strides));
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

    /// Few elements among many positions, so that neither counting nor nesting decides.
    #[test]
    fn geometries_of_more_dimensions_are_decided_as_they_are(
        dims in vec((2i64..5, prop_oneof![1i64..40, 1i64..3000]), 3..7),
        scale in prop_oneof![Just(1i64), Just(7), Just(1 << 40)],
    ) {
        let (sizes, strides): (Vec<i64>, Vec<i64>) = dims.into_iter().unzip();
        let scaled: Vec<i64> = strides.iter().map(|stride| stride * scale).collect();
        let found = Geometry::strided(&sizes, &scaled, 0).unwrap().overlaps_itself();
        prop_assert_eq!(found, Some(overlaps(&sizes, &strides)), "sizes {:?}, strides {:?}", sizes, scaled);
    }

    /// Whatever can be made by slices and permutations of a dense tensor can be written.
    #[test]
    fn parts_of_dense_tensors_never_overlap(
        dims in vec((1i64..6, 1i64..5, 0i64..4), 1..6),
        turns in vec(any::<prop::sample::Index>(), 5),
    ) {
        let sizes: Vec<i64> = dims.iter().map(|dim| dim.0).collect();
        let mut geometry = Geometry::contiguous(&sizes).unwrap();
        for (dim, (_, step, start)) in dims.iter().enumerate() {
            geometry = geometry.slice(dim as i64, *start, i64::MAX, *step).unwrap();
        }
        for (dim, turn) in (0..dims.len()).zip(turns) {
            geometry = geometry.transpose(dim as i64, turn.index(dims.len()) as i64).unwrap();
        }
        prop_assert_eq!(geometry.overlaps_itself(), Some(false), "{:?}", geometry);
    }
}

#[test]
fn large_geometries_are_decided_at_once() {
    let million = 1 << 20;
    for (sizes, strides, expected) in [
        (vec![8, million], vec![1, 1], true),
        (vec![million, 8], vec![8, 1], false),
        (vec![million, 8], vec![7, 1], true),
        // Interlocking, and apart: neither stride leads beyond the other dimension.
        (vec![million, million + 1], vec![million, million - 1], true),
        (vec![million, million], vec![million, million - 1], false),
        (vec![1000, 1000, 1000], vec![1_000_999, 1001, 1], false),
        (vec![1000, 1000, 1000], vec![1_000_003, 1000, 999], true),
        (vec![2, 1000, 1000], vec![3, 6, 8_000_000], false),
        (vec![3, 1000, 1000], vec![3, 6, 8_000_000], true),
        (vec![100; 4], vec![1, 101, 10_201, 1_030_301], false),
        (vec![100; 4], vec![99, 10_001, 1_000_003, 7], true),
        (vec![i64::MAX], vec![0], true),
        (vec![i64::MAX], vec![1], false),
        (vec![2, 2, 2], vec![i64::MAX / 4, i64::MAX / 4 - 1, 1], true),
        (vec![2, 2, 2], vec![i64::MAX / 4, i64::MAX / 4 - 2, 1], false),
        (vec![1 << 31, 1 << 31], vec![1, 1 << 31], false),
        (vec![1 << 31, 1 << 31], vec![1, (1 << 31) - 1], true),
    ] {
        let geometry = Geometry::strided(&sizes, &strides, 0).unwrap();
        assert_eq!(geometry.overlaps_itself(), Some(expected), "{geometry:?}");
    }
}

#[test]
fn outputs_that_interlock_without_meeting_are_written() {
    // Positions 0, 2, 4 and 3, 5, 7: no stride leads beyond the other dimension.
    let geometry = Geometry::strided(&[2, 3], &[3, 2], 1).unwrap();
    let x = base();
    let view = x.view_as(geometry).unwrap();
    view.mul_(10).unwrap();
    assert_eq!(view.to_vec::<f32>().unwrap(), [20.0, 40.0, 60.0, 50.0, 70.0, 90.0]);
    let start = x.slice(0, 0, 11, 1).unwrap().to_vec::<f32>().unwrap();
    assert_eq!(start, [1.0, 20.0, 3.0, 40.0, 50.0, 60.0, 70.0, 8.0, 90.0, 10.0, 11.0]);
    // The same, large enough for threads: rows of odd and even numbers.
    let n = 1 << 17;
    let base =
        Tensor::from_array(Array::from_slice(&vec![0i64; 2 * n + 2], &[2 * n as i64 + 2]).unwrap()).unwrap();
    let view = base.as_strided(&[2, n as i64], &[3, 2], None).unwrap();
    for _ in 0..5 {
        view.add_(&Tensor::number(1)).unwrap();
    }
    assert_eq!(view.to_vec::<i64>().unwrap(), vec![5; 2 * n]);
    assert_eq!(base.sum().unwrap().to_vec::<i64>().unwrap(), [10 * n as i64]);
}
