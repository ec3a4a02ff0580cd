//! `aten::ctc_loss`, `_ctc_loss`, `_ctc_loss_backward`: how unlikely sequences of labels are, whatever the steps are at which they are emitted.
//!
//! `loss[n] = -ln(sum of the probabilities of all alignments of targets[n])`, where an alignment has one class for each step, the product of
//! whose probabilities is its own, and is the sequence once repeated classes are one and blanks are left out
//!
//! - Shapes: `log_probs` has `[T, N, C]` for `T` steps, `N` sequences and `C` classes, or `[T, C]` for a single sequence; `targets` `[N, S]`,
//!   of which labels beyond a sequence's length do not count, or all labels in a row. Lengths are one for each sequence. The loss has `[N]`, or
//!   no dimensions for a single sequence or with a reduction. `_ctc_loss` takes no single one, and its second result is what gradients need.
//! - Dtypes: float32 and float64; labels are int32 or int64, lengths integers.
//! - Values: computed in double precision. A sequence that has no alignment has an infinite loss; with `zero_infinity` it and its gradient
//!   are zero. Reduced to the mean (1) of the losses over the lengths of their sequences, to the sum (2), or not (0), as `reduction` says.
//! - Aliasing: the overloads whose names end in `out` write their outputs.
//! - Dispatch: composites of `_ctc_loss`, and of the overloads with lists of lengths.
//! - Derivative: that of `log_probs` is what the scores have of which they are the logarithms of the softmax, as in torch: so it is the right
//!   one where it goes on to `log_softmax`, and exact in spite of large losses. It has none itself.
//! - Errors: other dtypes and shapes; no classes, steps or sequences; lengths beyond those of the steps or labels; labels or a `blank` that are
//!   no classes; another `reduction`.
//! - Source: torch.nn.functional.ctc_loss, PyTorch 2.15; A. Graves et al., Connectionist Temporal Classification, ICML 2006.

use crate::kinds::pooling::check_gradient;
use crate::prelude::*;
use opgrid_kernels::ctc::{self, Batch, Sequence};
use opgrid_kernels::normalise;
use opgrid_tensor::ops::{
    EqScalar, LocalScalarDense, MaskedFillScalar, Reshape, SqueezeDim, ToCopy, Unsqueeze,
};
use opgrid_tensor::tensor::choose::unsupported;

pub use opgrid_tensor::ops::losses::ctc_loss::*;

/// The family of `aten::_ctc_loss`: its kind, shape rule and `out` rule.
pub const CTC_LOSS: Family<CtcLossForward> = Family::new(
    CtcLossForward,
    &kind::LOSS,
    |log_probs, targets, input_lengths, target_lengths, blank, _| {
        let spec = log_probs.spec()?;
        let sizes = Sizes::checked(spec, targets.spec()?, [input_lengths, target_lengths], blank)?;
        Ok((
            TensorSpec::contiguous(&sizes.losses(), spec.dtype(), spec.device())?,
            TensorSpec::contiguous(&sizes.log_alpha(), spec.dtype(), spec.device())?,
        ))
    },
)
.same_dtype_out();

/// The family of `aten::_ctc_loss_backward`: its kind, shape rule and `out` rule.
pub const CTC_LOSS_BACKWARD: Family<CtcLossBackward> = Family::new(
    CtcLossBackward,
    &kind::LOSS,
    |grad, log_probs, targets, input_lengths, target_lengths, losses, log_alpha, blank, _| {
        let spec = log_probs.spec()?;
        let sizes = Sizes::checked(spec, targets.spec()?, [input_lengths, target_lengths], blank)?;
        check_gradient("grad", grad.spec()?, spec, &sizes.losses())?;
        check_gradient("neg_log_likelihood", losses.spec()?, spec, &sizes.losses())?;
        check_gradient("log_alpha", log_alpha.spec()?, spec, &sizes.log_alpha())?;
        TensorSpec::contiguous(spec.sizes(), spec.dtype(), spec.device())
    },
)
.same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&CTC_LOSS)
        .cpu(|log_probs, targets, input_lengths, target_lengths, blank, _, losses, log_alpha| {
            let batch = batch(log_probs, targets, [input_lengths, target_lengths], blank)?;
            ctc::losses(losses.array()?, log_alpha.array()?, log_probs.array()?, &batch)
        })
        .derivative(|d, (log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)| {
            let [steps, labels] = [input_lengths, target_lengths].map(<[i64]>::to_vec);
            d.differentiable(1);
            d.by(log_probs, [log_probs, targets, d.result(0), d.result(1)], move |grad, kept| {
                let [log_probs, targets, losses, log_alpha] = kept;
                CtcLossBackward.call(
                    grad,
                    log_probs,
                    targets,
                    &steps,
                    &labels,
                    losses,
                    log_alpha,
                    blank,
                    zero_infinity,
                )
            })
        });
    library.family(&CTC_LOSS_BACKWARD).cpu(
        |grad,
         log_probs,
         targets,
         input_lengths,
         target_lengths,
         losses,
         log_alpha,
         blank,
         zero_infinity,
         out| {
            let batch = batch(log_probs, targets, [input_lengths, target_lengths], blank)?;
            let saved = [losses.array()?, log_alpha.array()?];
            ctc::gradients(out.array()?, grad.array()?, log_probs.array()?, saved, &batch, zero_infinity)
        },
    );
    library.define_with_forms(CtcLossForwardTensor, &kind::LOSS).implicit(
        |log_probs, targets, input_lengths, target_lengths, blank, zero_infinity| {
            let [steps, labels] = lengths([input_lengths, target_lengths])?;
            CtcLossForward.call(log_probs, targets, &steps, &labels, blank, zero_infinity)
        },
    );
    library.implement(CtcLossTensorOut).implicit(
        |log_probs, targets, input_lengths, target_lengths, blank, zero_infinity, losses, log_alpha| {
            let [steps, labels] = lengths([input_lengths, target_lengths])?;
            CtcLossForwardOut.call(
                log_probs,
                targets,
                &steps,
                &labels,
                blank,
                zero_infinity,
                losses,
                log_alpha,
            )
        },
    );
    library.define(CtcLossBackwardTensor).kind(&kind::LOSS).implicit(
        |grad, log_probs, targets, input_lengths, target_lengths, losses, log_alpha, blank, zero_infinity| {
            let [steps, labels] = lengths([input_lengths, target_lengths])?;
            CtcLossBackward.call(
                grad,
                log_probs,
                targets,
                &steps,
                &labels,
                losses,
                log_alpha,
                blank,
                zero_infinity,
            )
        },
    );
    library.define(CtcLossIntList).kind(&kind::LOSS).implicit(ctc_loss);
    library.define(CtcLossTensor).kind(&kind::LOSS).implicit(
        |log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity| {
            let [steps, labels] = lengths([input_lengths, target_lengths])?;
            CtcLossIntList.call(log_probs, targets, &steps, &labels, blank, reduction, zero_infinity)
        },
    );
}

fn ctc_loss(
    log_probs: &Tensor,
    targets: &Tensor,
    input_lengths: &[i64],
    target_lengths: &[i64],
    blank: i64,
    reduction: i64,
    zero_infinity: bool,
) -> Result<Tensor> {
    let reduction = loss::Reduction::numbered(reduction)?;
    let is_single = log_probs.spec()?.sizes().len() == 2;
    let batch = if is_single { Unsqueeze.call(log_probs, 1)? } else { log_probs.clone() };
    let (mut losses, _) =
        CtcLossForward.call(&batch, targets, input_lengths, target_lengths, blank, zero_infinity)?;
    if zero_infinity {
        let is_infinite = EqScalar.call(&losses, Scalar::Float(f64::INFINITY))?;
        losses = MaskedFillScalar.call(&losses, &is_infinite, Scalar::Int(0))?;
    }
    match reduction {
        loss::Reduction::None if is_single => SqueezeDim.call(&losses, 0),
        loss::Reduction::None => Ok(losses),
        loss::Reduction::Sum => losses.sum(),
        loss::Reduction::Mean => {
            let labels: Vec<f64> = target_lengths.iter().map(|length| (*length).max(1) as f64).collect();
            let labels = Tensor::from_slice(&labels, &[labels.len() as i64])?;
            let (dtype, device) = (Some(losses.dtype()), Some(losses.device()));
            let labels = ToCopy.call(&labels, dtype, None, device, None, false, None)?;
            losses.div(&labels)?.mean()
        }
    }
}

/// Lengths that tensors hold, as lists.
///
/// # Errors
///
/// Tensors of other dtypes than integers; those without data.
fn lengths(tensors: [&Tensor; 2]) -> Result<[Vec<i64>; 2]> {
    let list = |name: &str, tensor: &Tensor| {
        let dtype = tensor.spec()?.dtype();
        if !dtype.is_integral() || dtype == DType::Bool {
            return Err(argument(format!("argument `{name}` has dtype {dtype}, expected an integer dtype")));
        }
        let flat = Reshape.call(tensor, &[-1])?;
        (0..flat.numel()).map(|at| LocalScalarDense.call(&flat.select(0, at)?)?.to_i64()).collect()
    };
    Ok([list("input_lengths", tensors[0])?, list("target_lengths", tensors[1])?])
}

/// The sizes of a batch of sequences.
struct Sizes {
    steps: i64,
    count: i64,
    classes: i64,
    /// The number of states of the longest sequence.
    states: i64,
}

impl Sizes {
    /// Checks everything but labels.
    ///
    /// # Errors
    ///
    /// Dtypes, shapes and lengths that are not those of a batch of sequences; a `blank` that is no class.
    fn checked(
        log_probs: &TensorSpec,
        targets: &TensorSpec,
        lengths: [&[i64]; 2],
        blank: i64,
    ) -> Result<Self> {
        if !matches!(log_probs.dtype(), DType::F32 | DType::F64) {
            return Err(unsupported(log_probs.dtype(), "float32 or float64"));
        }
        if !matches!(targets.dtype(), DType::I32 | DType::I64) {
            let found = targets.dtype();
            return Err(argument(format!("argument `targets` has dtype {found}, expected int32 or int64")));
        }
        if targets.device() != log_probs.device() {
            let (found, expected) = (targets.device(), log_probs.device());
            return Err(argument(format!(
                "argument `targets` is on {found}, expected {expected} as `log_probs`"
            )));
        }
        let (steps, count, classes) = match *log_probs.sizes() {
            [steps, count, classes] if steps > 0 && count > 0 && classes > 0 => (steps, count, classes),
            ref found => {
                return Err(argument(format!(
                    "argument `log_probs` has shape {found:?}, expected steps, sequences and classes, at least one of each"
                )));
            }
        };
        if !(0..classes).contains(&blank) {
            let last = classes - 1;
            return Err(argument(format!("argument `blank` is {blank}, expected a class, from 0 to {last}")));
        }
        check_lengths("input_lengths", lengths[0], count, steps)?;
        check_lengths("target_lengths", lengths[1], count, i64::MAX)?;
        let longest = lengths[1].iter().copied().max().unwrap_or(0);
        let sum = lengths[1].iter().fold(0i64, |sum, length| sum.saturating_add(*length));
        let fits = match *targets.sizes() {
            [labels] => labels == sum,
            [rows, labels] => rows == count && labels >= longest,
            _ => false,
        };
        if !fits {
            return Err(argument(format!(
                "argument `targets` has shape {:?}, expected [{sum}], the labels of all sequences in a row, or {count} \
                 rows of at least {longest}",
                targets.sizes()
            )));
        }
        Ok(Self { steps, count, classes, states: 2 * longest + 1 })
    }

    fn losses(&self) -> [i64; 1] {
        [self.count]
    }

    fn log_alpha(&self) -> [i64; 3] {
        [self.count, self.steps, self.states]
    }
}

/// # Errors
///
/// Another number of lengths than there are sequences; one below zero or above `most`.
fn check_lengths(name: &str, lengths: &[i64], count: i64, most: i64) -> Result<()> {
    if lengths.len() as i64 != count {
        let found = lengths.len();
        return Err(argument(format!(
            "argument `{name}` has {found} lengths, expected {count}, one for each sequence"
        )));
    }
    match lengths.iter().find(|length| !(0..=most).contains(*length)) {
        Some(length) if *length < 0 => {
            Err(argument(format!("argument `{name}` holds {length}, expected lengths of 0 or more")))
        }
        Some(length) => {
            Err(argument(format!("argument `{name}` holds {length}, expected at most {most} steps")))
        }
        None => Ok(()),
    }
}

/// The sequences as kernels take them.
///
/// # Errors
///
/// Those of [`Sizes::checked`]; a label that is no class.
fn batch(log_probs: &Tensor, targets: &Tensor, lengths: [&[i64]; 2], blank: i64) -> Result<Batch> {
    let sizes = Sizes::checked(log_probs.spec()?, targets.spec()?, lengths, blank)?;
    let labels: Vec<i64> = normalise::numbers(targets.array()?)?;
    let row = if let &[_, row] = targets.sizes() { Some(row as usize) } else { None };
    let class = |label: &i64| match usize::try_from(*label) {
        Ok(class) if *label < sizes.classes => Ok(class),
        _ => Err(argument(format!(
            "argument `targets` holds {label}, expected classes, from 0 to {}",
            sizes.classes - 1
        ))),
    };
    let (mut first, mut sequences) = (0, Vec::new());
    for (&steps, &length) in lengths[0].iter().zip(lengths[1]) {
        let own = &labels[first..][..length as usize];
        first += row.unwrap_or(own.len());
        let labels = own.iter().map(class).collect::<Result<_>>()?;
        sequences.push(Sequence { steps: steps as usize, labels });
    }
    let [steps, classes, states, blank] =
        [sizes.steps, sizes.classes, sizes.states, blank].map(|size| size as usize);
    Ok(Batch { steps, classes, blank, states, sequences })
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    const DTYPES: &[DType] = &[DType::F32, DType::F64];

    pub(crate) fn collect(samples: &mut Samples) {
        let bound = Rounding::Sum(64);
        let given_lists = || forward(DType::F32, &CASES[0], given_as_lists);
        let without = |place: usize, other: Given| {
            let mut sample = given_lists();
            sample.positional[place] = other;
            sample
        };
        samples
            .operator(
                CtcLossForward,
                DTYPES,
                |dtype| of_batches(dtype, given_as_lists),
                |it| Ok(Expected::Several(vec![losses(it)?.into(), log_alpha(it)?.into()])),
            )
            .tolerance(16.0)
            .constant(&["log_probs"])
            .refuses("expected int32 or int64", without(1, generate::numbers(DType::F32, &[2, 3], 0).into()))
            .refuses(
                "steps, sequences and classes",
                without(0, generate::numbers(DType::F32, &[4, 3], 0).into()),
            )
            .refuses("at least one of each", without(0, generate::numbers(DType::F32, &[0, 2, 3], 0).into()))
            .refuses(
                "`targets` has shape [2, 1]",
                without(1, Plain::from_elements(DType::I64, &[2, 1], &[1]).into()),
            )
            .refuses(
                "`targets` has shape [4]",
                without(1, Plain::from_elements(DType::I64, &[4], &[1]).into()),
            )
            .refuses("`input_lengths` has 1 lengths", without(2, vec![4i64].into()))
            .refuses("`input_lengths` holds 5", without(2, vec![5i64, 3].into()))
            .refuses("`target_lengths` holds -1", without(3, vec![2i64, -1].into()))
            .refuses("`blank` is 3", given_lists().named("blank", 3i64))
            .refuses("`blank` is -1", given_lists().named("blank", -1i64))
            .refuses_data(
                "`targets` holds 7",
                without(1, Plain::from_elements(DType::I64, &[2, 2], &[7]).into()),
            );
        samples
            .operator(
                CtcLossForwardTensor,
                DTYPES,
                |dtype| of_batches(dtype, given_as_tensors),
                |it| Ok(Expected::Several(vec![losses(it)?.into(), log_alpha(it)?.into()])),
            )
            .tolerance(16.0)
            .constant(&["log_probs"])
            .not_on_meta()
            .needs_cpu()
            .needs_distinct()
            .refuses("`input_lengths` has dtype float32", {
                let mut sample = forward(DType::F32, &CASES[0], given_as_tensors);
                sample.positional[2] = Plain::from_elements(DType::F32, &[2], &[4.0, 3.0]).into();
                sample
            });
        samples
            .operator(CtcLossIntList, DTYPES, |dtype| with_reductions(dtype, given_as_lists), reduced)
            .tolerance(16.0)
            .constant(&["log_probs"]);
        samples
            .operator(CtcLossTensor, DTYPES, |dtype| with_reductions(dtype, given_as_tensors), reduced)
            .tolerance(16.0)
            .constant(&["log_probs"])
            .not_on_meta()
            .needs_cpu()
            .needs_distinct();
        samples
            .operator(CtcLossBackward, DTYPES, |dtype| of_gradients(dtype, given_as_lists), gradients)
            .tolerance(256.0)
            .constant(&["grad", "log_probs", "neg_log_likelihood", "log_alpha"])
            // The others follow from the probabilities.
            .needs_distinct()
            .refuses("`grad` has shape [1]", {
                let mut sample = of_gradients(DType::F32, given_as_lists)[0].clone();
                sample.positional[0] = generate::numbers(DType::F32, &[1], 0).into();
                sample
            });
        samples
            .operator(CtcLossBackwardTensor, DTYPES, |dtype| of_gradients(dtype, given_as_tensors), gradients)
            .tolerance(256.0)
            .constant(&["grad", "log_probs", "neg_log_likelihood", "log_alpha"])
            .not_on_meta()
            .needs_cpu()
            .needs_distinct();
        samples.rounds(CtcLossForward, Roundings::all(bound));
        samples.rounds(CtcLossIntList, Roundings::all(bound));
        samples.rounds(CtcLossBackward, Roundings::all(bound));
        samples.differs(CtcLossIntList, loss::samples::CHECKED);
    }

    /// Sizes of probabilities, labels with the sizes of their tensor, lengths of steps and labels, and the blank.
    struct Case {
        sizes: [i64; 3],
        labels: (&'static [i64], &'static [i64]),
        lengths: [&'static [i64]; 2],
        blank: i64,
    }

    /// Sequences of different lengths, with repeated labels, without labels or steps, and without alignments.
    const CASES: [Case; 6] = [
        Case { sizes: [4, 2, 3], labels: (&[2, 2], &[1, 2, 2, 1]), lengths: [&[4, 3], &[2, 1]], blank: 0 },
        Case { sizes: [4, 2, 3], labels: (&[3], &[1, 1, 0]), lengths: [&[4, 4], &[2, 1]], blank: 2 },
        Case { sizes: [5, 1, 2], labels: (&[1, 4], &[1, 1, 1, 0]), lengths: [&[5], &[3]], blank: 0 },
        Case { sizes: [2, 3, 2], labels: (&[3, 0], &[]), lengths: [&[2, 1, 0], &[0, 0, 0]], blank: 0 },
        Case {
            sizes: [3, 2, 3],
            labels: (&[2, 3], &[1, 2, 1, 2, 2, 2]),
            lengths: [&[2, 1], &[3, 1]],
            blank: 0,
        },
        Case { sizes: [3, 1, 2], labels: (&[2], &[1, 1]), lengths: [&[3], &[2]], blank: 0 },
    ];

    /// How lengths are given.
    type Lengths = fn(&[i64]) -> Given;

    fn given_as_lists(lengths: &[i64]) -> Given {
        lengths.to_vec().into()
    }

    fn given_as_tensors(lengths: &[i64]) -> Given {
        Plain::from_elements(DType::I64, &[lengths.len() as i64], lengths).into()
    }

    /// The tensors and lengths of a case.
    fn forward(dtype: DType, case: &Case, lengths: Lengths) -> Sample {
        let labels = Plain::from_elements(DType::I64, case.labels.0, case.labels.1);
        let [steps, counts] = case.lengths.map(lengths);
        given(generate::numbers(dtype, &case.sizes, 3)).and(labels).and(steps).and(counts)
    }

    fn of_batches(dtype: DType, lengths: Lengths) -> Vec<Sample> {
        let one = |case: &Case| forward(dtype, case, lengths).and(case.blank);
        CASES.iter().map(one).collect()
    }

    fn with_reductions(dtype: DType, lengths: Lengths) -> Vec<Sample> {
        let single = given(generate::numbers(dtype, &[4, 3], 3))
            .and(Plain::from_elements(DType::I32, &[2], &[1, 2]))
            .and(lengths(&[4]))
            .and(lengths(&[2]));
        let batches = CASES.iter().map(|case| forward(dtype, case, lengths).named("blank", case.blank));
        let all = loss::samples::all_reductions(batches.chain([single]).collect());
        generate::and_named(all, "zero_infinity", true)
    }

    /// Batches with what `_ctc_loss` gives for them.
    fn of_gradients(dtype: DType, lengths: Lengths) -> Vec<Sample> {
        let one = |case: &Case| {
            let batch = Sequences::of_case(case, generate::numbers(dtype, &case.sizes, 3));
            let count = case.sizes[1];
            let mut sample = forward(dtype, case, lengths);
            sample.positional.insert(0, generate::nonzero(dtype, &[count], 1).into());
            let losses: Vec<f64> = (0..count as usize).map(|n| batch.loss(n)).collect();
            let losses = Plain::from_elements(dtype, &[count], &losses);
            sample.and(losses).and(batch.log_alpha(dtype)).and(case.blank)
        };
        // Other dtypes are refused, for which there is nothing to compute.
        let all = if DTYPES.contains(&dtype) { &CASES[..] } else { &CASES[..1] };
        generate::and_named(all.iter().map(one).collect(), "zero_infinity", true)
    }

    /// Sequences by their probabilities, as references see them.
    struct Sequences {
        log_probs: Plain,
        labels: Vec<Vec<i64>>,
        steps: Vec<i64>,
        blank: i64,
    }

    impl Sequences {
        fn new(log_probs: Plain, targets: &Plain, [steps, counts]: [Vec<i64>; 2], blank: i64) -> Self {
            let mut first = 0;
            let labels = counts.iter().enumerate().map(|(n, count)| {
                let of = |at: i64| match targets.sizes() {
                    [_] => number::whole(targets.at(&[first + at])),
                    _ => number::whole(targets.at(&[n as i64, at])),
                };
                let own: Vec<i64> = (0..*count).map(of).collect();
                first += count;
                own
            });
            Self { labels: labels.collect(), log_probs, steps, blank }
        }

        fn of_case(case: &Case, log_probs: Plain) -> Self {
            let targets = Plain::from_elements(DType::I64, case.labels.0, case.labels.1);
            Self::new(log_probs, &targets, case.lengths.map(<[i64]>::to_vec), case.blank)
        }

        fn of_call(it: &Inputs) -> Result<Self> {
            let log_probs = it.tensor("log_probs")?;
            let log_probs = match *log_probs.sizes() {
                [steps, classes] => log_probs.with_sizes(&[steps, 1, classes]),
                _ => log_probs.clone(),
            };
            let list = |name: &str| match it.tensor(name) {
                Ok(tensor) => Ok(tensor.elements().iter().map(|length| number::whole(*length)).collect()),
                Err(_) => it.value::<Vec<i64>>(name),
            };
            let lengths = [list("input_lengths")?, list("target_lengths")?];
            Ok(Self::new(log_probs, it.tensor("targets")?, lengths, it.value("blank")?))
        }

        fn log_prob(&self, n: usize, step: i64, class: i64) -> f64 {
            self.log_probs.at(&[step, n as i64, class]).to_complex().re
        }

        /// All alignments of a sequence with their probabilities: every choice of classes that is the sequence once it is collapsed.
        fn alignments(&self, n: usize) -> Vec<(Vec<i64>, f64)> {
            let classes = vec![self.log_probs.sizes()[2]; self.steps[n] as usize];
            let probability = |alignment: &[i64]| -> f64 {
                (0..).zip(alignment).map(|(step, class)| self.log_prob(n, step, *class)).sum::<f64>().exp()
            };
            let all =
                naive::positions(&classes).filter(|alignment| self.collapsed(alignment) == self.labels[n]);
            all.map(|alignment| (alignment.clone(), probability(&alignment))).collect()
        }

        /// What is left of repeated classes and blanks.
        fn collapsed(&self, alignment: &[i64]) -> Vec<i64> {
            let mut labels = alignment.to_vec();
            labels.dedup();
            labels.retain(|label| *label != self.blank);
            labels
        }

        fn loss(&self, n: usize) -> f64 {
            -self.alignments(n).iter().map(|(_, probability)| probability).sum::<f64>().ln()
        }

        /// The logarithms of the probabilities of beginnings: all choices of states for the steps so far, one after the other.
        fn log_alpha(&self, dtype: DType) -> Plain {
            let longest = self.labels.iter().map(Vec::len).max().unwrap_or(0) as i64;
            let &[steps, count, _] = self.log_probs.sizes() else { return Plain::number(dtype, 0) };
            Plain::from_fn(dtype, &[count, steps, 2 * longest + 1], |at| {
                let (n, step, state) = (at[0] as usize, at[1], at[2]);
                if step >= self.steps[n] {
                    return Scalar::Float(f64::NEG_INFINITY);
                }
                let labels = &self.labels[n];
                let states = 2 * labels.len() as i64 + 1;
                let symbol =
                    |state: i64| if state % 2 == 0 { self.blank } else { labels[state as usize / 2] };
                let leads = |from: i64, to: i64| {
                    to - from <= 1 && to >= from || to - from == 2 && symbol(from) != symbol(to)
                };
                let sum: f64 = naive::positions(&vec![states; step as usize + 1])
                    .filter(|path| path[0] < 2 && path[step as usize] == state)
                    .filter(|path| path.windows(2).all(|pair| leads(pair[0], pair[1])))
                    .map(|path| {
                        let each =
                            (0..).zip(&path).map(|(step, state)| self.log_prob(n, step, symbol(*state)));
                        each.sum::<f64>().exp()
                    })
                    .sum();
                Scalar::Float(sum.ln())
            })
        }
    }

    fn losses(it: &Inputs) -> Result<Plain> {
        let all = Sequences::of_call(it)?;
        let losses: Vec<f64> = (0..all.steps.len()).map(|n| all.loss(n)).collect();
        Ok(Plain::from_elements(it.tensor("log_probs")?.dtype(), &[losses.len() as i64], &losses))
    }

    fn log_alpha(it: &Inputs) -> Result<Plain> {
        Ok(Sequences::of_call(it)?.log_alpha(it.tensor("log_probs")?.dtype()))
    }

    fn reduced(it: &Inputs) -> Result<Expected> {
        let all = Sequences::of_call(it)?;
        let (reduction, zero): (i64, bool) = (it.value("reduction")?, it.value("zero_infinity")?);
        let dtype = it.tensor("log_probs")?.dtype();
        let loss = |n: usize| match all.loss(n) {
            f64::INFINITY if zero => 0.0,
            loss if reduction == 1 => loss / all.labels[n].len().max(1) as f64,
            loss => loss,
        };
        let losses: Vec<f64> = (0..all.steps.len()).map(loss).collect();
        let sum: f64 = losses.iter().sum();
        Ok(match reduction {
            0 if it.tensor("log_probs")?.sizes().len() == 2 => Plain::number(dtype, sum),
            0 => Plain::from_elements(dtype, &[losses.len() as i64], &losses),
            1 => Plain::number(dtype, sum / losses.len() as f64),
            _ => Plain::number(dtype, sum),
        }
        .into())
    }

    /// What the class is likely, less what part of the alignments has it at that step.
    fn gradients(it: &Inputs) -> Result<Expected> {
        let all = Sequences::of_call(it)?;
        let (grad, log_probs) = (it.tensor("grad")?, it.tensor("log_probs")?);
        let zero: bool = it.value("zero_infinity")?;
        Ok(Plain::from_fn(log_probs.dtype(), log_probs.sizes(), |at| {
            let (step, n, class) = (at[0], at[1] as usize, at[2]);
            let alignments = all.alignments(n);
            let whole: f64 = alignments.iter().map(|(_, probability)| probability).sum();
            if step >= all.steps[n] || zero && whole == 0.0 {
                return Scalar::Float(0.0);
            }
            let with_class = alignments.iter().filter(|(alignment, _)| alignment[step as usize] == class);
            let part: f64 = with_class.map(|(_, probability)| probability).sum();
            let likely = all.log_prob(n, step, class).exp();
            Scalar::Float(grad.at(&[at[1]]).to_complex().re * (likely - part / whole))
        })
        .into())
    }
}
