//! Strings with options of any numbers.

use opgrid_tensor::tensor::print::{PrintOptions, with_print_options};
use opgrid_tensor::{Geometry, Tensor};

use super::{MAX, base, view};

fn text(tensor: &Tensor, options: PrintOptions) -> String {
    with_print_options(options, || tensor.to_string())
}

#[test]
fn options_of_any_numbers_print() {
    let numbers = [1.5f32, -2.25, 1e30, f32::NAN, f32::INFINITY, 1e-30, 0.0, -0.0];
    let x = Tensor::from_slice(&numbers, &[2, 4]).unwrap();
    let default = PrintOptions::DEFAULT;
    let mut tried = Vec::new();
    for precision in [0, 1, 100, u16::MAX - 1, u16::MAX] {
        for sci_mode in [None, Some(true), Some(false)] {
            tried.push(PrintOptions { precision, sci_mode, ..default });
        }
    }
    for threshold in [i64::MIN, 0, 1, MAX] {
        for edgeitems in [0, 1, u32::MAX] {
            for linewidth in [0, 1, usize::MAX] {
                tried.push(PrintOptions { threshold, edgeitems, linewidth, ..default });
            }
        }
    }
    for options in tried {
        let text = text(&x, options);
        assert!(text.starts_with("tensor([") && text.ends_with(')'), "{options:?}: {text}");
    }
}

#[test]
fn the_longest_precision_has_every_digit() {
    let x = Tensor::from_slice(&[1.5f64], &[1]).unwrap();
    for sci_mode in [true, false] {
        let options = PrintOptions { precision: u16::MAX, sci_mode: Some(sci_mode), ..PrintOptions::DEFAULT };
        let text = text(&x, options);
        let end = if sci_mode { "e+00" } else { "" };
        let zeros = "0".repeat(usize::from(u16::MAX) - 1);
        assert!(
            text.contains(&format!("1.5{zeros}{end}")) && !text.contains(&format!("{zeros}0")),
            "{sci_mode}"
        );
    }
}

#[test]
fn sizes_of_any_numbers_print() {
    let default = PrintOptions::DEFAULT;
    assert_eq!(text(&view(&[MAX], &[0], 0), default), "tensor([1., 1., 1.,  ..., 1., 1., 1.])");
    assert!(text(&view(&[0, MAX], &[MAX, MAX], MAX), default).contains("[]"));
    let repeated = base().view_as(Geometry::strided(&[MAX], &[0], 0).unwrap()).unwrap();
    for options in [
        PrintOptions { threshold: MAX, ..default },
        PrintOptions { edgeitems: u32::MAX, ..default },
        PrintOptions { edgeitems: u32::MAX, threshold: 0, ..default },
    ] {
        let text = text(&repeated, options);
        assert!(text.contains("lower `threshold` or `edgeitems`"), "{options:?}: {text}");
    }
}
