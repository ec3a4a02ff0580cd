//! What products of matrices share: the checks of their arguments.

use opgrid_core::{DType, Result, Scalar};

use crate::error::argument;
use crate::samples::{Plain, naive, number};
use crate::tensor::TensorSpec;
use crate::tensor::choose::unsupported;

/// # Errors
///
/// Factors of different dtypes or devices; bools.
pub(super) fn check_factors(factors: &[(&str, &TensorSpec)]) -> Result<()> {
    let Some(((first, a), rest)) = factors.split_first() else { return Ok(()) };
    if let Some((name, b)) = rest.iter().find(|(_, b)| (a.dtype(), a.device()) != (b.dtype(), b.device())) {
        let message = format!(
            "argument `{name}` is {} on {}, expected {} on {} as `{first}`; convert one of them",
            b.dtype(),
            b.device(),
            a.dtype(),
            a.device()
        );
        return Err(argument(message));
    }
    if a.dtype() == DType::Bool {
        return Err(unsupported(a.dtype(), "a dtype of numbers"));
    }
    Ok(())
}

/// For samples: the products of the matrices in the last two dimensions; those before broadcast.
pub(super) fn reference(a: &Plain, b: &Plain) -> Plain {
    let [m, k] = last_two(a);
    let [_, n] = last_two(b);
    let stacks = [a, b].map(|x| &x.sizes()[..x.sizes().len() - 2]);
    let stack = naive::broadcast(stacks.into_iter()).unwrap_or_default();
    Plain::from_fn(a.dtype(), &[&stack[..], &[m, n]].concat(), |position| {
        let (stack, cell) = position.split_at(position.len() - 2);
        let element = |x: &Plain, row, column| x.at(&[stack, &[row, column]].concat());
        let terms = (0..k).map(|at| number::times(element(a, cell[0], at), element(b, at, cell[1])));
        terms.reduce(number::plus).unwrap_or(Scalar::Int(0))
    })
}

fn last_two(x: &Plain) -> [i64; 2] {
    let sizes = x.sizes();
    [sizes[sizes.len() - 2], sizes[sizes.len() - 1]]
}
