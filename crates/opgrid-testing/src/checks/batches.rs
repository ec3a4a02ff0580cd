//! On a batch, an operator gives what it gives for one example after another.

use opgrid_core::schema::{Argument, FunctionSchema};
use opgrid_core::{DType, Device, OperatorHandle, Result, Value};
use opgrid_tensor::Tensor;
use opgrid_tensor::families::ShapeRule;
use opgrid_tensor::layers::vmap::{Batch, DEPENDS_ON_DATA, batched, unbatched};
use opgrid_tensor::ops::{CloneTensor, Flip};

use super::with_tensors;
use crate::agreement;
use crate::draws::is_random;
use crate::fault::{Fault, Verdict};
use crate::memory::Memory;
use crate::subject::{Case, tensors};
use crate::target::guarded;

/// What the error of an operator says that would give a tensor other sizes.
const KEEPS_SIZES: &str = "cannot get other";

/// How far results may be from those of single examples, which are summed in another order, in steps of the dtype.
const TOLERANCE: f64 = 1e-9 / f64::EPSILON;

/// Up to so many tensors are batches one by one and in each combination; of more, each by itself and all together.
const MOST_COMBINED: usize = 3;

pub(super) fn on_case(case: &Case<'_>) -> Vec<Verdict> {
    let is_exact = matches!(case.dtype, DType::F64 | DType::I64 | DType::Bool | DType::Complex128);
    let writes_output = case.subject.schema.arguments.iter().any(Argument::is_out);
    let is_fit = is_exact && !writes_output && case.subject.target.device == Device::CPU;
    // Two numbers of integers become a vector of them, whose distance is of another dtype.
    let is_departure = case.subject.samples.name() == "aten::pairwise_distance";
    if !is_fit || is_departure || is_random(&case.expected) || !has_batches(case) {
        return Vec::new();
    }
    // Whether a sample is right is for other checks.
    let Ok(examples) = Examples::new(case) else { return Vec::new() };
    let own = Form { operator: &case.subject.operator, schema: &case.subject.schema, is_target: false };
    let in_place = case.subject.variants.in_place.as_ref();
    let in_place =
        in_place.map(|form| Form { operator: &form.operator, schema: &form.schema, is_target: true });
    let mut verdicts = Vec::new();
    for form in [Some(own), in_place].into_iter().flatten() {
        for subset in examples.subsets() {
            verdicts.extend(examples.check(&form, &subset));
        }
    }
    verdicts
}

fn has_batches(case: &Case<'_>) -> bool {
    case.subject.target.dispatcher.within(|| Batch::enter(1).is_ok())
}

/// An overload that is called, and whether what it writes is compared.
struct Form<'c> {
    operator: &'c OperatorHandle,
    schema: &'c FunctionSchema,
    is_target: bool,
}

/// The arguments of a sample, and other tensors that could stand in their places.
struct Examples<'c> {
    case: &'c Case<'c>,
    arguments: Vec<Value>,
    /// The tensors among the arguments in their order, those of lists one by one, and the same elements in reverse.
    tensors: Vec<[Tensor; 2]>,
    /// The number of the argument that each belongs to.
    places: Vec<usize>,
}

impl<'c> Examples<'c> {
    fn new(case: &'c Case<'c>) -> Result<Self> {
        let subject = case.subject;
        let arguments = subject.arguments(&subject.target, &case.sample, Memory::Contiguous)?;
        let (mut tensors, mut places) = (Vec::new(), Vec::new());
        for (place, argument) in arguments.iter().enumerate() {
            with_tensors(argument, &mut |tensor| {
                let dims: Vec<i64> = (0..tensor.dim() as i64).collect();
                let other = subject.target.dispatcher.within(|| Flip.call(&tensor, &dims))?;
                tensors.push([tensor.clone(), other]);
                places.push(place);
                Ok(tensor)
            })?;
        }
        Ok(Self { case, arguments, tensors, places })
    }

    /// Which tensors are batches, in turn.
    fn subsets(&self) -> Vec<Vec<bool>> {
        let count = self.tensors.iter().filter(|[tensor, _]| tensor.is_defined()).count();
        if count != self.tensors.len() || count == 0 {
            return Vec::new();
        }
        let all = 1..1usize << count.min(usize::BITS as usize - 1);
        let is_tried = |subset: &usize| {
            count <= MOST_COMBINED || subset.count_ones() == 1 || subset.count_ones() as usize == count
        };
        let tried = all.filter(is_tried).map(|subset| (0..count).map(|at| subset >> at & 1 != 0).collect());
        tried.collect()
    }

    /// The results for one example.
    fn alone(&self, form: &Form<'_>, subset: &[bool], example: usize) -> Result<Vec<Tensor>> {
        let mut tensors =
            self.tensors.iter().zip(subset).map(|(both, is_batch)| &both[usize::from(*is_batch) * example]);
        // What is written is written once.
        self.call(form, &mut || CloneTensor.call(tensors.next().expect("one for each"), None))
    }

    /// The results for all at once: for two examples, or none.
    fn together(&self, form: &Form<'_>, subset: &[bool], count: i64) -> Result<Vec<Tensor>> {
        let entered = Batch::enter(count)?;
        let mut tensors = self.tensors.iter().zip(subset).map(|([one, other], is_batch)| match is_batch {
            true => {
                let both = Tensor::stack(&[one.clone(), other.clone()], 0)?;
                batched(CloneTensor.call(&both.narrow(0, 0, count)?, None)?, entered.level())
            }
            false => CloneTensor.call(one, None),
        });
        let results = self.call(form, &mut || tensors.next().expect("one for each"))?;
        results.iter().map(|result| unbatched(result, entered.level())).collect()
    }

    fn call(&self, form: &Form<'_>, next: &mut dyn FnMut() -> Result<Tensor>) -> Result<Vec<Tensor>> {
        let arguments = self.arguments.iter().map(|argument| with_tensors(argument, &mut |_| next()));
        let arguments = arguments.collect::<Result<Vec<_>>>()?;
        let results = self.case.subject.target.call(form.operator, &arguments)?;
        let given = if form.is_target { &arguments[..1] } else { &results[..] };
        Ok(tensors(given).unwrap_or_default())
    }

    /// Whether some tensors of a list would be written as batches, and others as they are.
    fn writes_in_part(&self, form: &Form<'_>, subset: &[bool]) -> bool {
        let mut written = self.places.iter().zip(subset).filter(|(place, _)| form.is_target && **place == 0);
        let first = written.next().map(|(_, is_batch)| is_batch);
        written.any(|(_, is_batch)| Some(is_batch) != first)
    }

    /// Whether a tensor would be written that is the same for all examples.
    fn writes_outside(&self, form: &Form<'_>, subset: &[bool]) -> bool {
        let mut each = self.places.iter().zip(subset);
        each.any(|(place, is_batch)| !is_batch && form.schema.arguments[*place].is_write())
    }

    /// Compares a batch with its examples; nothing where one of them is refused.
    fn check(&self, form: &Form<'_>, subset: &[bool]) -> Option<Verdict> {
        if self.writes_in_part(form, subset) {
            return None;
        }
        let names: Vec<String> =
            subset.iter().enumerate().filter(|(_, is)| **is).map(|(at, _)| at.to_string()).collect();
        let about = format!("{} on a batch of tensor {}", form.operator.name(), names.join(", "));
        let dispatcher = self.case.subject.target.dispatcher;
        let each = (0..2).map(|example| dispatcher.within(|| guarded(|| self.alone(form, subset, example))));
        let Ok(each) = each.collect::<Result<Vec<_>>>() else { return None };
        // An example that has other sizes than the next one is not one of a batch.
        let sizes = |results: &[Tensor]| -> Vec<(Vec<i64>, DType)> {
            results.iter().map(|result| (result.sizes().to_vec(), result.dtype())).collect()
        };
        if each[0].is_empty()
            || sizes(&each[0]) != sizes(&each[1])
            || each[0].iter().any(|it| !it.is_defined())
        {
            return None;
        }
        let ran = |count: i64| dispatcher.within(|| guarded(|| self.together(form, subset, count)));
        let is_said = |message: &str| match () {
            // A write of no examples is none, whatever they would have been.
            () if message.contains("without elements, for which there are no statistics") => {
                Some("there are no statistics without examples")
            }
            () if message.contains("call it without, or outside of `vmap`") => {
                Some("it counts what all examples have together")
            }
            () if message.contains("it draws random numbers") => Some("it may draw random numbers"),
            () if message.contains(DEPENDS_ON_DATA) => Some("the result depends on the data"),
            () if message.contains(KEEPS_SIZES) => {
                Some("what stands for the examples of a batch keeps its sizes")
            }
            () => None,
        };
        let found = match ran(2) {
            Err(error)
                if self.writes_outside(form, subset)
                    && error.message().contains("comes from outside the function that `vmap` transforms") =>
            {
                return Some(Ok(()));
            }
            Ok(_) if self.writes_outside(form, subset) => {
                let found = "a result".to_owned();
                return Some(Err(Fault::wrong(found, "an error: what is outside is written").about(about)));
            }
            Ok(found) => found,
            Err(error) => {
                let fault = is_said(error.message()).map_or_else(|| Fault::error(error), Fault::skipped);
                return Some(Err(fault.about(about)));
            }
        };
        let verdict = found.iter().enumerate().try_for_each(|(place, found)| {
            let examples: Vec<Tensor> = each.iter().map(|results| results[place].clone()).collect();
            let expected = dispatcher.within(|| Tensor::stack(&examples, 0)).map_err(Fault::error)?;
            let read = |tensor: &Tensor| self.case.subject.target.read(tensor);
            if found.sizes() != expected.sizes() {
                return Err(Fault::wrong(
                    format!("sizes {:?}", found.sizes()),
                    format!("{:?}", expected.sizes()),
                ));
            }
            agreement::elements(&read(found)?, &read(&expected)?, TOLERANCE)
        });
        let verdict = verdict.and_then(|()| {
            // Without a shape rule, nobody knows what examples would have.
            if !form.operator.column::<ShapeRule>().is_ok_and(|rule| rule.is_some()) {
                return Ok(());
            }
            let none = match ran(0) {
                Ok(none) => none,
                Err(error) if is_said(error.message()).is_some() => return Ok(()),
                Err(error) => return Err(Fault::error(error).about("without examples")),
            };
            let found = sizes(&none);
            let mut expected = sizes(&each[0]);
            expected.iter_mut().for_each(|(sizes, _)| sizes.insert(0, 0));
            if found == expected {
                Ok(())
            } else {
                Err(Fault::wrong(format!("{found:?}"), format!("{expected:?}")).about("without examples"))
            }
        });
        Some(verdict.map_err(|fault| fault.about(about)))
    }
}
