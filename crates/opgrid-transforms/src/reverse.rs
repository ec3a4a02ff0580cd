//! Reverse mode: functions recorded by autograd at a level of their own.
//!
//! Inputs of the function are wrapped and require gradients at the level; what it uses from outside does not. Autograd records
//! calls on wrappers as it records all calls, and below it the call runs on what is behind them, where a transform around may
//! record it, too. When the function has run, the graph's tensors are as good as what is behind them, so that the backward pass
//! computes at the level of the caller, which may be another transform.

use opgrid_core::{BoxedCall, DispatchKeySet, Error, ErrorKind, Result, Value};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::autograd::{self, BackwardOptions, GradMode, is_grad_enabled};
use opgrid_tensor::layers::functional::share_memory;
use opgrid_tensor::layers::levels::{self, Entered, Level, Transform, each_tensor, map_all, map_tensors};
use opgrid_tensor::ops::ZerosLike;

/// The transform of a function that is recorded.
pub struct Reverse;

impl Reverse {
    /// A tensor that stands for another one at a level of this transform, and that gradients are asked of.
    ///
    /// # Errors
    ///
    /// A dtype without gradients.
    pub fn variable(tensor: &Tensor, level: &Level) -> Result<Tensor> {
        let variable = lift(tensor, level)?;
        variable.requires_grad_(true)?;
        Ok(variable)
    }
}

impl Transform for Reverse {
    fn name(&self) -> &'static str {
        "grad"
    }

    fn run(&self, call: &mut BoxedCall<'_>, level: &Level) -> Result<()> {
        levels::check_writes(call, level)?;
        let mut is_recorded = false;
        if is_grad_enabled() {
            each_tensor(call.args(), &mut |tensor| {
                is_recorded |= tensor.requires_grad() && level.behind(tensor).is_some();
            });
        }
        if !is_recorded {
            return lower(call, level);
        }
        // What a level around records is a constant here.
        let args = map_all(call.args(), &mut |tensor| {
            if tensor.requires_grad() && level.behind(tensor).is_none() {
                lift(tensor, level)
            } else {
                Ok(tensor.clone())
            }
        })?;
        level.record(call, &args.iter().map(Value::borrow).collect::<Vec<_>>())
    }

    fn lower(&self, call: &mut BoxedCall<'_>, level: &Level) -> Result<()> {
        // The thread excludes autograd because it has recorded the call; its results belong to what it records.
        levels::recording(|| lower(call, level))
    }

    fn adopt(&self, made: Tensor, level: &Level) -> Result<Tensor> {
        lift(&made, level)
    }
}

/// Enters a level whose calls are recorded.
#[track_caller]
pub(crate) fn enter() -> Result<Entered> {
    Level::enter(Reverse)
}

/// A tensor that stands for another one at the level, which requires no gradient there.
pub(crate) fn lift(tensor: &Tensor, level: &Level) -> Result<Tensor> {
    Ok(level.wrap(tensor.clone(), None, tensor.spec()?.clone(), DispatchKeySet::EMPTY))
}

/// Runs a call on what is behind the tensors of the level.
fn lower(call: &mut BoxedCall<'_>, level: &Level) -> Result<()> {
    let args = map_all(call.args(), &mut |tensor| Ok(level.inner_of(tensor)))?;
    let results = level.around(|| call.operator().call_values(args))?;
    for result in results {
        let result = map_tensors(result.borrow(), &mut |result| wrapped(result, call, level))?;
        call.push(result);
    }
    Ok(())
}

/// The result of a call as a tensor of the level: an argument that was returned is that argument, and a view of one is its view.
fn wrapped(result: &Tensor, call: &BoxedCall<'_>, level: &Level) -> Result<Tensor> {
    if !result.is_defined() {
        return Ok(result.clone());
    }
    let (mut same, mut base) = (None, None);
    each_tensor(call.args(), &mut |tensor| {
        let Some(leveled) = level.behind(tensor) else { return };
        if leveled.inner().is_same(result) {
            same = Some(tensor);
        } else if base.is_none() && have_one_memory(leveled.inner(), result) {
            base = Some(tensor);
        }
    });
    if let Some(argument) = same {
        return Ok(argument.clone());
    }
    let wrapped = lift(result, level)?;
    Ok(match base {
        Some(base) => wrapped.taken_of(base),
        None => wrapped,
    })
}

/// Whether two tensors share memory, behind all levels.
pub(crate) fn have_one_memory(one: &Tensor, other: &Tensor) -> bool {
    if let Some(shares) = share_memory(one, other) {
        return shares;
    }
    let (one, other) = (levels::plain(one), levels::plain(other));
    match (one.array(), other.array()) {
        (Ok(one), Ok(other)) => one.storage().is_same(other.storage()),
        _ => false,
    }
}

/// Products of vectors with the Jacobian of a function, at the inputs that it was called with ([`vjp`]).
pub struct Vjp {
    level: Level,
    inputs: Vec<Tensor>,
    results: Vec<Tensor>,
}

impl Vjp {
    /// Products for results that a function gave at a level, by variables of that level ([`Reverse::variable`]).
    pub fn new(level: Level, inputs: Vec<Tensor>, results: Vec<Tensor>) -> Self {
        Self { level, inputs, results }
    }

    /// The gradients of the inputs, by those of the results; `None` stands for zeros. May be called any number of times.
    ///
    /// # Errors
    ///
    /// Another number of gradients than of results, gradients of other sizes, an operator without a derivative.
    pub fn call(&self, gradients: &[Option<Tensor>]) -> Result<Vec<Tensor>> {
        if gradients.len() != self.results.len() {
            return Err(Error::new(
                ErrorKind::Argument,
                format!(
                    "vjp: found {} gradients for {} results, expected one for each",
                    gradients.len(),
                    self.results.len()
                ),
            ));
        }
        let options = BackwardOptions { retain_graph: true, create_graph: is_grad_enabled() };
        let found = self.gradients(gradients, options)?;
        let each = found.into_iter().zip(&self.inputs).map(|(grad, input)| match grad {
            Some(grad) => Ok(grad),
            None => ZerosLike.call(&self.level.inner_of(input), None, None, None, None, None),
        });
        each.collect()
    }

    /// The gradients of the inputs, where results depend on them.
    pub(crate) fn gradients(
        &self,
        gradients: &[Option<Tensor>],
        options: BackwardOptions,
    ) -> Result<Vec<Option<Tensor>>> {
        let (mut results, mut given) = (Vec::new(), Vec::new());
        for (result, gradient) in self.results.iter().zip(gradients) {
            let depends = result.requires_grad() && self.level.behind(result).is_some();
            if depends && gradient.is_some() {
                results.push(result);
                given.push(gradient.clone());
            }
        }
        if results.is_empty() {
            return Ok(vec![None; self.inputs.len()]);
        }
        let inputs: Vec<&Tensor> = self.inputs.iter().collect();
        self.level.transparent(|| autograd::grad(&results, &inputs, &given, options))
    }
}

/// The results of a function, and products of vectors with its Jacobian.
///
/// # Errors
///
/// Inputs of integer dtypes; those of the function; a dispatcher without the layer ([`install`](crate::install)).
///
/// # Examples
///
/// ```
/// use opgrid::prelude::*;
/// use opgrid_transforms::vjp;
///
/// let _transforms = opgrid_transforms::install(opgrid::dispatcher()?)?;
/// let (x, y) = (tensor![1.0, 2.0]?, tensor![3.0, 4.0]?);
/// let (results, vjp) = vjp(&[&x, &y], |inputs| Ok(vec![inputs[0].mul(&inputs[1])?]))?;
/// assert_eq!(results[0].to_vec::<f32>()?, [3.0, 8.0]);
/// let grads = vjp.call(&[Some(tensor![1.0, 10.0]?)])?;
/// assert_eq!(grads[0].to_vec::<f32>()?, [3.0, 40.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[track_caller]
pub fn vjp(
    inputs: &[&Tensor],
    function: impl FnOnce(&[Tensor]) -> Result<Vec<Tensor>>,
) -> Result<(Vec<Tensor>, Vjp)> {
    let entered = enter()?;
    let level = entered.level().clone();
    let inputs = inputs.iter().map(|input| Reverse::variable(input, &level)).collect::<Result<Vec<_>>>()?;
    let results = {
        let _on = GradMode::new(true);
        function(&inputs)?
    };
    drop(entered);
    let given = results.iter().map(|result| level.inner_of(result)).collect();
    Ok((given, Vjp { level, inputs, results }))
}

/// The gradient of a function with one number as its result.
///
/// # Errors
///
/// A result of several elements; those of [`vjp`].
///
/// # Examples
///
/// ```
/// use opgrid::prelude::*;
///
/// let _transforms = opgrid_transforms::install(opgrid::dispatcher()?)?;
/// let x = tensor![1.0, 2.0]?;
/// assert_eq!(opgrid_transforms::grad(&x, |x| x.mul(x)?.sum())?.to_vec::<f32>()?, [2.0, 4.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[track_caller]
pub fn grad(input: &Tensor, function: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    Ok(grad_and_value(input, function)?.0)
}

/// As [`grad`], and the result.
///
/// # Errors
///
/// Those of [`grad`].
#[track_caller]
pub fn grad_and_value(
    input: &Tensor,
    function: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<(Tensor, Tensor)> {
    let (mut results, vjp) = vjp(&[input], |inputs| Ok(vec![function(&inputs[0])?]))?;
    let result = results.remove(0);
    if result.numel() != 1 {
        return Err(Error::new(
            ErrorKind::Argument,
            format!(
                "grad: the function returned a tensor of sizes {:?}, expected one element; sum it, or use \
                 `vjp` or `jacrev`",
                result.sizes()
            ),
        ));
    }
    let one = result.ones_like()?;
    Ok((vjp.call(&[Some(one)])?.remove(0), result))
}
