//! Initial values, by those of torch 2.15 on a CPU after `manual_seed(0)`.
//!
//! The default generator belongs to the whole process, so this test has one of its own.

use opgrid::Tensor;
use opgrid_core::Result;
use opgrid_nn::{Conv2d, Embedding, Linear, Module, MultiheadAttention, TransformerEncoderLayer};

/// The sum of the parameters' sizes after `manual_seed(0)`, and the last element of the first parameter.
fn check_first(name: &str, made: &dyn Fn() -> Result<Box<dyn Module>>, expected: [f64; 2]) -> Result<()> {
    opgrid::manual_seed(0);
    let parameters = made()?.parameters();
    let size = |parameter: &Tensor| parameter.abs()?.sum()?.item()?.to_f64();
    let sizes = parameters.iter().map(size).collect::<Result<Vec<_>>>()?;
    let last = *parameters[0].to_vec::<f32>()?.last().expect("parameters have elements");
    for (found, expected) in [sizes.iter().sum(), f64::from(last)].into_iter().zip(expected) {
        let differs: f64 = found - expected;
        assert!(differs.abs() <= 1e-5 * expected.abs(), "{name}: found {found}, expected {expected}");
    }
    Ok(())
}

#[test]
fn initial_values_are_those_of_torch() -> Result<()> {
    check_first("linear", &|| Ok(Box::new(Linear::new(3, 4)?)), [3.745826, -0.1134871])?;
    check_first("conv2d", &|| Ok(Box::new(Conv2d::new(3, 4, 3)?)), [11.09939, -0.1484477])?;
    let embedding = || Ok(Box::new(Embedding::new(5, 3)?.padding_idx(0)?) as Box<dyn Module>);
    check_first("embedding", &embedding, [9.222661, -1.071187])?;
    check_first("attention", &|| Ok(Box::new(MultiheadAttention::new(8, 2)?)), [52.54925, 0.3323467])?;
    let layer = || Ok(Box::new(TransformerEncoderLayer::new(8, 2, 16)?) as Box<dyn Module>);
    check_first("encoder layer", &layer, [112.5282, 0.3323467])
}
