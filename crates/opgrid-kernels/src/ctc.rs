//! Connectionist temporal classification: how unlikely a sequence of labels is when the steps at which they are emitted do not count.
//!
//! A sequence of `n` labels has `2 * n + 1` states, with blanks around the labels:
//!
//! ```text
//! state    0       1        2       3        4
//! symbol   blank   label 0  blank   label 1  blank
//! ```
//!
//! An alignment begins in one of the first two states and ends in one of the last two. A step stays in a state, goes to the next one, or
//! leaves out the blank between two different labels. `alpha` is the logarithm of the probability of all beginnings of alignments that are
//! in a state at a step, `beta` that of all ends; both have the probability of the step's symbol. Everything is computed in double
//! precision.
//!
//! Source: A. Graves et al., Connectionist Temporal Classification, ICML 2006, sections 4.1 and 4.2.

use opgrid_core::Result;

use crate::normalise::numbers;
use crate::parts;
use opgrid_array::loops::copy;
use opgrid_array::{Array, TensorSpec};
use opgrid_core::DType;

const IMPOSSIBLE: f64 = f64::NEG_INFINITY;

/// The sequences of a batch.
pub struct Batch {
    /// The number of steps that have probabilities.
    pub steps: usize,
    /// The number of classes.
    pub classes: usize,
    /// The class that stands for no label.
    pub blank: usize,
    /// The number of states that `alpha` has room for.
    pub states: usize,
    /// The sequences.
    pub sequences: Vec<Sequence>,
}

/// A sequence of labels.
pub struct Sequence {
    /// The number of steps that it may take.
    pub steps: usize,
    /// Its labels, which are classes.
    pub labels: Vec<usize>,
}

/// Writes the negative logarithms of the probabilities of sequences to `losses`, `[N]`, and `alpha` to `log_alpha`, `[N, T, states]`, of the
/// logarithms of the probabilities of classes, `[T, N, C]`.
///
/// # Errors
///
/// Outputs that repeat elements; tensors without data or used by others.
pub fn losses(losses: &Array, log_alpha: &Array, log_probs: &Array, batch: &Batch) -> Result<()> {
    let log_probs = numbers::<f64>(log_probs)?;
    let room = batch.steps * batch.states;
    let work = room.saturating_mul(16);
    parts::produce_pair::<f64, f64>([losses, log_alpha], [1, room], work, |n, loss, alpha| {
        loss[0] = batch.alignments(n, &log_probs).forward(alpha);
    })
}

/// Writes the gradients of [`losses`] by scores of which `log_probs` are the logarithms of their softmax: what the class is likely less how much
/// of the probability of the sequence has it at that step. With `zero_infinity` those of infinite losses are zero.
///
/// # Errors
///
/// As [`losses`].
pub fn gradients(
    out: &Array,
    grad: &Array,
    log_probs: &Array,
    [losses, log_alpha]: [&Array; 2],
    batch: &Batch,
    zero_infinity: bool,
) -> Result<()> {
    let [grad, log_probs, losses, log_alpha] = [grad, log_probs, losses, log_alpha].map(numbers::<f64>);
    let (grad, log_probs, losses, log_alpha) = (grad?, log_probs?, losses?, log_alpha?);
    let (room, size) = (batch.steps * batch.states, batch.steps * batch.classes);
    let sizes = [batch.sequences.len(), batch.steps, batch.classes].map(|size| size as i64);
    // Sequence by sequence, where the result has all sequences of a step together.
    let rows = Array::empty(TensorSpec::contiguous(&sizes, DType::F64, out.device())?)?;
    parts::produce::<f64>(&rows, size, room.saturating_mul(32).saturating_add(size), |n, out| {
        out.fill(0.0);
        if zero_infinity && losses[n] == f64::INFINITY {
            return;
        }
        let alpha = &log_alpha[n * room..][..room];
        batch.alignments(n, &log_probs).backward(alpha, losses[n], grad[n], out);
    })?;
    copy::copy(out, &rows.view(rows.geometry().permute(&[1, 0, 2])?)?)
}

impl Batch {
    fn alignments<'a>(&'a self, n: usize, log_probs: &'a [f64]) -> Alignments<'a> {
        Alignments { batch: self, n, log_probs }
    }
}

/// All alignments of one sequence.
struct Alignments<'a> {
    batch: &'a Batch,
    n: usize,
    log_probs: &'a [f64],
}

impl Alignments<'_> {
    fn sequence(&self) -> &Sequence {
        &self.batch.sequences[self.n]
    }

    /// How many states there are.
    fn states(&self) -> usize {
        2 * self.sequence().labels.len() + 1
    }

    /// The class of a state.
    fn symbol(&self, state: usize) -> usize {
        if state.is_multiple_of(2) { self.batch.blank } else { self.sequence().labels[state / 2] }
    }

    /// Whether a step may lead from the state two before to this one.
    fn skips(&self, state: usize) -> bool {
        state > 1 && self.symbol(state - 2) != self.symbol(state)
    }

    fn log_prob(&self, step: usize, class: usize) -> f64 {
        let Batch { classes, sequences, .. } = self.batch;
        self.log_probs[(step * sequences.len() + self.n) * classes + class]
    }

    /// Fills `alpha`, and gives the negative logarithm of the probability of the sequence.
    fn forward(&self, alpha: &mut [f64]) -> f64 {
        let (width, states, steps) = (self.batch.states, self.states(), self.sequence().steps);
        alpha.fill(IMPOSSIBLE);
        if steps == 0 {
            // No step emits no label, for certain.
            return if states == 1 { 0.0 } else { f64::INFINITY };
        }
        for (state, alpha) in alpha[..states.min(2)].iter_mut().enumerate() {
            *alpha = self.log_prob(0, self.symbol(state));
        }
        for step in 1..steps {
            let (before, now) = alpha.split_at_mut(step * width);
            let before = &before[(step - 1) * width..];
            for (state, now) in now[..states].iter_mut().enumerate() {
                let one = if state > 0 { before[state - 1] } else { IMPOSSIBLE };
                let two = if self.skips(state) { before[state - 2] } else { IMPOSSIBLE };
                *now = log_sum([before[state], one, two]) + self.log_prob(step, self.symbol(state));
            }
        }
        let end = &alpha[(steps - 1) * width..][..states];
        -log_sum([end[states - 1], if states > 1 { end[states - 2] } else { IMPOSSIBLE }, IMPOSSIBLE])
    }

    /// Fills the gradients of all steps, `[T, C]`, which are zero before.
    fn backward(&self, alpha: &[f64], loss: f64, grad: f64, out: &mut [f64]) {
        let (width, states, steps) = (self.batch.states, self.states(), self.sequence().steps);
        let classes = self.batch.classes;
        let mut beta = vec![IMPOSSIBLE; states];
        for step in (0..steps).rev() {
            beta = self.beta_before(step, &beta);
            let out = &mut out[step * classes..][..classes];
            out.fill(IMPOSSIBLE);
            for (state, beta) in beta.iter().enumerate() {
                let of_class = &mut out[self.symbol(state)];
                *of_class = log_sum([*of_class, alpha[step * width + state] + beta, IMPOSSIBLE]);
            }
            for (class, out) in out.iter_mut().enumerate() {
                let log_prob = self.log_prob(step, class);
                // Both `alpha` and `beta` have the probability of the symbol.
                *out = (log_prob.exp() - (*out + loss - log_prob).exp()) * grad;
            }
        }
    }

    /// `beta` of a step by that of the step behind it.
    fn beta_before(&self, step: usize, behind: &[f64]) -> Vec<f64> {
        let states = behind.len();
        let is_last = step + 1 == self.sequence().steps;
        let log_rest = |state: usize| match is_last {
            true if state + 2 >= states => 0.0,
            true => IMPOSSIBLE,
            false => {
                let one = behind.get(state + 1).copied().unwrap_or(IMPOSSIBLE);
                let two =
                    if state + 2 < states && self.skips(state + 2) { behind[state + 2] } else { IMPOSSIBLE };
                log_sum([behind[state], one, two])
            }
        };
        (0..states).map(|state| log_rest(state) + self.log_prob(step, self.symbol(state))).collect()
    }
}

/// The logarithm of the sum of numbers whose logarithms these are.
fn log_sum(logarithms: [f64; 3]) -> f64 {
    let most = logarithms.into_iter().fold(IMPOSSIBLE, f64::max);
    if most == IMPOSSIBLE {
        // Negative infinity, or NaN if there is one.
        return logarithms.into_iter().sum();
    }
    logarithms.map(|logarithm| (logarithm - most).exp()).into_iter().sum::<f64>().ln() + most
}
