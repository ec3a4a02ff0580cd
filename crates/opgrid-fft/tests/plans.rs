//! Plans are kept, and give what is expected, also for lines without elements.

use opgrid_fft::{Complex, Direction, KEPT, Planned};
use std::sync::Arc;

/// The only test with plans of `f64`, because it has them all forgotten.
#[test]
fn plans_are_kept_and_all_forgotten_when_there_are_too_many() {
    let plan = || f64::plan_complex(8, Direction::Forward);
    let first = plan();
    f64::plan_complex(8, Direction::Backward);
    for n in 1..=KEPT - 2 {
        f64::plan_of_real(n);
        assert!(Arc::ptr_eq(&first, &plan()), "after {n} more");
    }
    f64::plan_of_real(KEPT);
    assert!(!Arc::ptr_eq(&first, &plan()));
}

#[test]
fn lines_without_elements_can_be_planned() {
    f32::plan_complex(0, Direction::Forward).process(&mut []);
    f32::plan_of_real(0).process(&mut [], &mut [Complex::default()]).unwrap();
    f32::plan_to_real(0).process(&mut [Complex::default()], &mut []).unwrap();
}

#[test]
fn there_and_back_multiplies_by_the_length() {
    for n in [1, 2, 6, 7, 97] {
        let numbers: Vec<f32> = (0..n).map(|i| (i as f32).sin()).collect();
        let mut halves = vec![Complex::new(0.0, 0.0); n / 2 + 1];
        f32::plan_of_real(n).process(&mut numbers.clone(), &mut halves).unwrap();
        let mut back = vec![0.0; n];
        f32::plan_to_real(n).process(&mut halves, &mut back).unwrap();
        for (back, number) in back.iter().zip(&numbers) {
            assert!((back / n as f32 - number).abs() < 1e-5);
        }
    }
}
