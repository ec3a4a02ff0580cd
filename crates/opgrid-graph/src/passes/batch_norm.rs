//! Batch normalization behind a convolution.

use std::collections::BTreeMap;

use opgrid_core::{Dispatcher, Result, Scalar};
use opgrid_tensor::layers::autograd::no_grad;
use opgrid_tensor::{Tensor, ops};

use super::{add_constant, unwritten_tensors};
use crate::archive::Archive;
use crate::graph::{Argument, Node, Outcome};
use crate::program::effects::maybe_written;

const CONVOLUTIONS: [&str; 3] = ["aten::conv1d", "aten::conv2d", "aten::conv3d"];

/// Computes what a batch normalization does with known statistics into the weights of the convolution before it.
///
/// Results differ by rounding. The new weights are constants; parameters that nothing else uses are left without a use.
///
/// # Errors
///
/// An operator that is not there, and those of the computations.
///
/// # Examples
///
/// ```
/// use opgrid_graph::{passes, read};
///
/// let archive = read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models/convolutions.pt2").as_ref())?;
/// assert!(archive.graph.targets().contains_key("aten::batch_norm"));
/// let archive = passes::fold_batch_norms(archive)?;
/// assert!(!archive.graph.targets().contains_key("aten::batch_norm"));
/// # use opgrid as _;
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn fold_batch_norms(mut archive: Archive) -> Result<Archive> {
    crate::operators::ensure_registered()?;
    let maybe_written = maybe_written(&Dispatcher::current(), &archive.graph.block)?;
    let stored = unwritten_tensors(&archive, &maybe_written);
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    super::each_reference(&archive.graph.block, &mut |name| *uses.entry(name.to_owned()).or_insert(0) += 1);
    let mut makers: BTreeMap<String, usize> = BTreeMap::new();
    for place in 0..archive.graph.block.nodes.len() {
        let nodes = &archive.graph.block.nodes;
        let [Outcome::One(result)] = nodes[place].results.as_slice() else { continue };
        let found = normalization(&nodes[place], &stored).and_then(|(input, norm)| {
            let maker = *makers.get(input)?;
            let convolution = convolution(&nodes[maker], &stored)?;
            let is_alone = uses.get(input) == Some(&1) && !maybe_written.contains(input);
            is_alone.then_some((maker, convolution, norm))
        });
        makers.insert(result.name.clone(), place);
        let Some((maker, (weight, bias), norm)) = found else { continue };
        let (weight, bias) = no_grad(|| folded(&weight, bias.as_ref(), &norm))?;
        let result = result.clone();
        let [weight_name, bias_name] = ["weight", "bias"].map(|part| format!("c_{}_{part}", result.name));
        add_constant(&mut archive, weight_name.clone(), weight);
        add_constant(&mut archive, bias_name.clone(), bias);
        makers.insert(result.name.clone(), maker);
        // The convolution gives what the normalization gave, which is gone.
        let nodes = &mut archive.graph.block.nodes;
        nodes[place].target = REMOVED.to_owned();
        let node = &mut nodes[maker];
        node.results = vec![Outcome::One(result)];
        node.positional[1] = Argument::Value(weight_name);
        node.positional.resize(node.positional.len().max(3), Argument::None);
        node.positional[2] = Argument::Value(bias_name);
    }
    archive.graph.block.nodes.retain(|node| node.target != REMOVED);
    Ok(archive)
}

const REMOVED: &str = "";

/// A batch normalization with known statistics.
struct Normalization {
    weight: Option<Tensor>,
    bias: Option<Tensor>,
    mean: Tensor,
    variance: Tensor,
    eps: f64,
}

/// The tensor that an argument names, if it is there: `Some(None)` for no tensor.
fn tensor(argument: Option<&Argument>, stored: &BTreeMap<String, Tensor>) -> Option<Option<Tensor>> {
    match argument {
        None | Some(Argument::None) => Some(None),
        Some(Argument::Value(name)) => stored.get(name).cloned().map(Some),
        Some(_) => None,
    }
}

/// The input of a batch normalization and what it does, if the node is one that does not train.
fn normalization<'n>(node: &'n Node, stored: &BTreeMap<String, Tensor>) -> Option<(&'n str, Normalization)> {
    let [Argument::Value(input), given @ ..] = node.positional.as_slice() else { return None };
    let is_one = node.target == "aten::batch_norm" && node.named.is_empty();
    // weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled
    let [_, _, _, _, Argument::Number(Scalar::Bool(false)), _, Argument::Number(eps), ..] = given else {
        return None;
    };
    if !is_one {
        return None;
    }
    let norm = Normalization {
        weight: tensor(given.first(), stored)?,
        bias: tensor(given.get(1), stored)?,
        mean: tensor(given.get(2), stored)??,
        variance: tensor(given.get(3), stored)??,
        eps: eps.to_f64().ok()?,
    };
    Some((input, norm))
}

/// Weight and bias of a convolution.
fn convolution(node: &Node, stored: &BTreeMap<String, Tensor>) -> Option<(Tensor, Option<Tensor>)> {
    if !CONVOLUTIONS.contains(&node.target.as_str()) || !node.named.is_empty() {
        return None;
    }
    Some((tensor(node.positional.get(1), stored)??, tensor(node.positional.get(2), stored)?))
}

/// Weight and bias of the convolution that does both.
fn folded(weight: &Tensor, bias: Option<&Tensor>, norm: &Normalization) -> Result<(Tensor, Tensor)> {
    let dtype = weight.dtype();
    let exact = |tensor: &Tensor| tensor.to(opgrid_core::DType::F64);
    let eps = Tensor::number(norm.eps);
    let mut scale = ops::Rsqrt.call(&exact(&norm.variance)?.add(&eps)?)?;
    if let Some(weight) = &norm.weight {
        scale = scale.mul(&exact(weight)?)?;
    }
    let mut shape = vec![1; weight.dim()];
    shape[0] = -1;
    let weight = exact(weight)?.mul(&scale.reshape(&shape)?)?;
    let mut offset = exact(&norm.mean)?.neg()?;
    if let Some(bias) = bias {
        offset = offset.add(&exact(bias)?)?;
    }
    offset = offset.mul(&scale)?;
    if let Some(bias) = &norm.bias {
        offset = offset.add(&exact(bias)?)?;
    }
    Ok((weight.to(dtype)?, offset.to(dtype)?))
}
