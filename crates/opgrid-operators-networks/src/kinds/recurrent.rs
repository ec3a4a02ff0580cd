//! What recurrent networks share: cells, layers in both directions, and their samples.
//!
//! | cell | gates | next state |
//! |---|---|---|
//! | `Tanh`, `Relu` | one | `f(x + h)` |
//! | `Gru` | reset, update, new | `new + update * (h - new)`, with `new = tanh(x + reset * h)` |
//! | `Lstm` | input, forget, cell, output | `c = forget * c + input * cell`, `h = output * tanh(c)` |
//!
//! Here `x` and `h` are the gates' products with the input and with the state before, each with its bias. The products of all
//! inputs of a layer are one product of matrices. Where no layer of the dispatcher is on the way, what a step of `Lstm` computes
//! of its gates in single precision is one loop: a dozen calls for a few numbers each take several times as long.

use opgrid_core::{DType, DispatchKey, Error, LocalKeys, MemoryFormat, Result, tensor_key_set};

use crate::kinds::dropout::dropped;
use opgrid_array::error::argument;
use opgrid_array::with_dtype;
use opgrid_tensor::ops::{
    AddTensor, Addcmul, Addmm, AddmmInplace, Cat, Contiguous, Linear, MulTensor, Relu, SelectInt, Sigmoid,
    SliceTensor, Stack, SubTensor, TMatrix, Tanh, TransposeInt,
};
use opgrid_tensor::tensor::Tensor;

/// How a state becomes the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Tanh,
    Relu,
    Gru,
    Lstm,
}

/// What a cell knows of the steps before.
#[derive(Clone)]
pub(crate) struct State {
    pub(crate) hidden: Tensor,
    /// The cell state of `Lstm`.
    pub(crate) cell: Option<Tensor>,
}

/// The parameters of a cell: of the input, of the state, and what the state is projected by.
pub(crate) struct Weights<'a> {
    pub(crate) input: &'a Tensor,
    pub(crate) hidden: &'a Tensor,
    pub(crate) input_bias: Option<&'a Tensor>,
    pub(crate) hidden_bias: Option<&'a Tensor>,
    projection: Option<&'a Tensor>,
}

impl<'a> Weights<'a> {
    /// Collects the weights of a single cell.
    pub(crate) fn new(
        [input, hidden]: [&'a Tensor; 2],
        [input_bias, hidden_bias]: [Option<&'a Tensor>; 2],
    ) -> Self {
        Self { input, hidden, input_bias, hidden_bias, projection: None }
    }

    /// Collects the weights of a layer in one direction.
    fn from_parameters(parameters: &'a [Tensor], has_biases: bool) -> Result<Self> {
        match (parameters, has_biases) {
            ([input, hidden], false) => Ok(Self::new([input, hidden], [None; 2])),
            ([input, hidden, projection], false) => {
                Ok(Self { projection: Some(projection), ..Self::new([input, hidden], [None; 2]) })
            }
            ([input, hidden, one, other], true) => Ok(Self::new([input, hidden], [Some(one), Some(other)])),
            ([input, hidden, one, other, projection], true) => {
                let own = Self::new([input, hidden], [Some(one), Some(other)]);
                Ok(Self { projection: Some(projection), ..own })
            }
            (found, _) => Err(argument(format!("found {} parameters of a layer", found.len()))),
        }
    }
}

impl Cell {
    /// How many gates there are.
    pub(crate) fn gates(self) -> i64 {
        match self {
            Self::Tanh | Self::Relu => 1,
            Self::Gru => 3,
            Self::Lstm => 4,
        }
    }

    /// # Errors
    ///
    /// A dtype that the gates have no functions for.
    pub(crate) fn check_dtype(self, dtype: DType) -> Result<()> {
        match self {
            Self::Relu => with_dtype!(dtype, T: Real by itself => check_type::<T>()),
            _ => with_dtype!(dtype, T: Inexact => check_type::<T>()),
        }
    }

    /// Whether gates are sums of the products with the input and with the state: then both biases are added to the first.
    fn adds_gates(self) -> bool {
        self != Self::Gru
    }

    /// The products of the gates with the input, with the biases that belong to them.
    ///
    /// # Errors
    ///
    /// Those of the operators that it is made of.
    fn products(self, input: &Tensor, weights: &Weights<'_>) -> Result<Tensor> {
        let bias = match (weights.input_bias, weights.hidden_bias) {
            (Some(one), Some(other)) if self.adds_gates() => Some(AddTensor.call(one, other, 1.into())?),
            (one, other) if self.adds_gates() => one.or(other).cloned(),
            (one, _) => one.cloned(),
        };
        Linear.call(input, weights.input, bias.as_ref())
    }

    /// The next state, from [`products`](Self::products) with the input.
    ///
    /// # Errors
    ///
    /// Those of the operators that it is made of.
    pub(crate) fn step(self, input: &Tensor, state: &State, weights: &Weights<'_>) -> Result<State> {
        let hidden = if self.adds_gates() {
            Addmm.call(input, &state.hidden, &TMatrix.call(weights.hidden)?, 1.into(), 1.into())?
        } else {
            Linear.call(&state.hidden, weights.hidden, weights.hidden_bias)?
        };
        let size = hidden.sizes().last().copied().unwrap_or(0) / self.gates();
        let gates =
            |of: &Tensor, from: i64, to: i64| SliceTensor.call(of, -1, Some(from * size), Some(to * size), 1);
        let gate = |of: &Tensor, at: i64| gates(of, at, at + 1);
        let hidden_state = |hidden| Ok(State { hidden, cell: None });
        match self {
            Self::Tanh => hidden_state(Tanh.call(&hidden)?),
            Self::Relu => hidden_state(Relu.call(&hidden)?),
            Self::Gru => {
                let sums = AddTensor.call(&gates(input, 0, 2)?, &gates(&hidden, 0, 2)?, 1.into())?;
                let both = Sigmoid.call(&sums)?;
                let (reset, update) = (gate(&both, 0)?, gate(&both, 1)?);
                let kept = MulTensor.call(&gate(&hidden, 2)?, &reset)?;
                let new = Tanh.call(&AddTensor.call(&gate(input, 2)?, &kept, 1.into())?)?;
                let difference = SubTensor.call(&state.hidden, &new, 1.into())?;
                hidden_state(AddTensor.call(&MulTensor.call(&difference, &update)?, &new, 1.into())?)
            }
            Self::Lstm => {
                let both = Sigmoid.call(&gates(&hidden, 0, 2)?)?;
                let (through, kept) = (gate(&both, 0)?, gate(&both, 1)?);
                let before = state.cell.as_ref().ok_or_else(no_cell)?;
                let new = Tanh.call(&gate(&hidden, 2)?)?;
                let cell = Addcmul.call(&MulTensor.call(&kept, before)?, &through, &new, 1.into())?;
                let hidden = MulTensor.call(&Sigmoid.call(&gate(&hidden, 3)?)?, &Tanh.call(&cell)?)?;
                let hidden = match weights.projection {
                    Some(projection) => Linear.call(&hidden, projection, None)?,
                    None => hidden,
                };
                Ok(State { hidden, cell: Some(cell) })
            }
        }
    }

    /// One step on its own: from an input of two dimensions.
    ///
    /// # Errors
    ///
    /// Other shapes or dtypes.
    pub(crate) fn alone(self, input: &Tensor, state: &State, weights: &Weights<'_>) -> Result<State> {
        let (x, h) = (input.spec()?, state.hidden.spec()?);
        self.check_dtype(x.dtype())?;
        let (&[batch, inputs], &[states, size]) = (x.sizes(), h.sizes()) else {
            let message = format!(
                "found an input of shape {:?} and a state of {:?}, expected two dimensions each",
                x.sizes(),
                h.sizes()
            );
            return Err(argument(message));
        };
        if batch != states {
            let message = format!("the input has {batch} rows, expected as many as the state: {states}");
            return Err(argument(message));
        }
        let rows = size.checked_mul(self.gates());
        for (name, weight, columns) in [("w_ih", weights.input, inputs), ("w_hh", weights.hidden, size)] {
            if rows.is_none_or(|rows| weight.sizes() != [rows, columns]) {
                let message = format!(
                    "argument `{name}` has shape {:?}, expected [{} * {size}, {columns}]",
                    weight.sizes(),
                    self.gates()
                );
                return Err(argument(message));
            }
        }
        [weights.input_bias, weights.hidden_bias]
            .into_iter()
            .flatten()
            .try_for_each(|bias| check_bias(bias, x.dtype()))?;
        if let Some(cell) = state.cell.as_ref().filter(|cell| cell.sizes() != h.sizes()) {
            let message = format!("the cell state has shape {:?}, expected {:?}", cell.sizes(), h.sizes());
            return Err(argument(message));
        }
        self.step(&self.products(input, weights)?, state, weights)
    }
}

/// # Errors
///
/// Another dtype than that of the input.
fn check_bias(bias: &Tensor, dtype: DType) -> Result<()> {
    match bias.spec()?.dtype() {
        found if found == dtype => Ok(()),
        found => {
            let message =
                format!("a bias has dtype {found}, expected {dtype} as the input; convert one of them");
            Err(argument(message))
        }
    }
}

fn no_cell() -> Error {
    argument("there is no cell state")
}

/// A network of layers.
#[derive(Clone, Copy)]
pub(crate) struct Network {
    pub(crate) cell: Cell,
    pub(crate) has_biases: bool,
    pub(crate) num_layers: i64,
    pub(crate) dropout: f64,
    pub(crate) train: bool,
    pub(crate) bidirectional: bool,
    pub(crate) batch_first: bool,
}

impl Network {
    /// All states of the last layer, and the last ones of all layers: hidden, and of the cells.
    ///
    /// # Errors
    ///
    /// Other shapes, dtypes, or another number of parameters.
    pub(crate) fn run(
        &self,
        input: &Tensor,
        states: &[Tensor],
        parameters: &[Tensor],
    ) -> Result<(Tensor, Tensor, Option<Tensor>)> {
        let directions = if self.bidirectional { 2 } else { 1 };
        let expected = if self.cell == Cell::Lstm { 2 } else { 1 };
        if states.len() != expected {
            return Err(argument(format!("argument `hx` has {} states, expected {expected}", states.len())));
        }
        let per_layer = self.check(input, states, parameters, directions)?;
        let mut sequence = if self.batch_first { TransposeInt.call(input, 0, 1)? } else { input.clone() };
        let mut last = Vec::new();
        for layer in 0..self.num_layers {
            if self.train && self.dropout != 0.0 && layer > 0 {
                sequence = dropped(&sequence, self.dropout, None)?;
            }
            let mut outputs = Vec::new();
            for direction in 0..directions {
                let number = (layer * directions + direction) as usize;
                let weights = Weights::from_parameters(
                    &parameters[number * per_layer..][..per_layer],
                    self.has_biases,
                )?;
                let state = |of: &Tensor| SelectInt.call(of, 0, number as i64);
                let first = State { hidden: state(&states[0])?, cell: states.get(1).map(state).transpose()? };
                let (output, state) = self.layer(&sequence, first, &weights, direction == 1)?;
                outputs.push(output);
                last.push(state);
            }
            sequence = if directions == 2 { Cat.call(&outputs, 2)? } else { outputs.remove(0) };
        }
        let output = if self.batch_first { TransposeInt.call(&sequence, 0, 1)? } else { sequence };
        let cells: Option<Vec<Tensor>> = last.iter().map(|state| state.cell.clone()).collect();
        let hidden: Vec<Tensor> = last.into_iter().map(|state| state.hidden).collect();
        let cells = cells.map(|cells| Stack.call(&cells, 0)).transpose()?;
        Ok((output, Stack.call(&hidden, 0)?, cells))
    }

    /// All states of one layer in one direction, and the last one.
    fn layer(
        &self,
        sequence: &Tensor,
        first: State,
        weights: &Weights<'_>,
        is_reverse: bool,
    ) -> Result<(Tensor, State)> {
        let steps = sequence.sizes()[0];
        if self.is_fused(sequence, &first, weights) {
            return self.fused(sequence, first, weights, is_reverse);
        }
        let gates = self.cell.products(sequence, weights)?;
        let (mut state, mut outputs) = (first, Vec::with_capacity(steps as usize));
        for step in 0..steps {
            let at = if is_reverse { steps - 1 - step } else { step };
            state = self.cell.step(&SelectInt.call(&gates, 0, at)?, &state, weights)?;
            outputs.push(state.hidden.clone());
        }
        if is_reverse {
            outputs.reverse();
        }
        Ok((Stack.call(&outputs, 0)?, state))
    }

    /// Whether [`fused`](Self::fused) computes a layer: nobody but the CPU's kernels would see the calls of its steps.
    fn is_fused(&self, sequence: &Tensor, first: &State, weights: &Weights<'_>) -> bool {
        let (thread, usual) = (LocalKeys::current(), LocalKeys::DEFAULT);
        let is_alone = thread.included == usual.included && thread.excluded.has_all(usual.excluded);
        let keys = tensor_key_set(DispatchKey::Cpu);
        let is_plain = |tensor: &Tensor| {
            keys.has_all(tensor.keys())
                && !tensor.may_have_metadata()
                && tensor.array_spec().is_some_and(|spec| spec.dtype() == DType::F32)
        };
        let Weights { input, hidden, input_bias, hidden_bias, projection } = *weights;
        let biases = [input_bias, hidden_bias].into_iter().flatten();
        let mut tensors =
            [sequence, &first.hidden, input, hidden].into_iter().chain(&first.cell).chain(biases);
        self.cell == Cell::Lstm && projection.is_none() && is_alone && tensors.all(is_plain)
    }

    /// All states of one layer in one direction and the last one, with a product and one loop for each step.
    fn fused(
        &self,
        sequence: &Tensor,
        first: State,
        weights: &Weights<'_>,
        is_reverse: bool,
    ) -> Result<(Tensor, State)> {
        let mut cell = first.cell.ok_or_else(no_cell)?;
        let (sizes, mut hidden) = (cell.sizes().to_vec(), first.hidden);
        let steps = sequence.sizes()[0];
        let gates = self.cell.products(sequence, weights)?;
        // Rows of it are read in every step.
        let turned = Contiguous.call(&TMatrix.call(weights.hidden)?, MemoryFormat::Contiguous)?;
        let output = Tensor::empty(&[&[steps], sizes.as_slice()].concat(), DType::F32, cell.device())?;
        for step in 0..steps {
            let at = if is_reverse { steps - 1 - step } else { step };
            let sums = SelectInt.call(&gates, 0, at)?;
            AddmmInplace.call(&sums, &hidden, &turned, 1.into(), 1.into())?;
            let next = Tensor::empty(&sizes, DType::F32, cell.device())?;
            hidden = SelectInt.call(&output, 0, at)?;
            opgrid_kernels::recurrent::lstm(hidden.array()?, next.array()?, sums.array()?, cell.array()?)?;
            cell = next;
        }
        Ok((output, State { hidden, cell: Some(cell) }))
    }

    /// Gives the number of parameters of a layer in one direction.
    fn check(
        &self,
        input: &Tensor,
        states: &[Tensor],
        parameters: &[Tensor],
        directions: i64,
    ) -> Result<usize> {
        let spec = input.spec()?;
        self.cell.check_dtype(spec.dtype())?;
        let &[first, second, _] = spec.sizes() else {
            let message = format!("argument `input` has shape {:?}, expected three dimensions", spec.sizes());
            return Err(argument(message));
        };
        let (steps, batch) = if self.batch_first { (second, first) } else { (first, second) };
        if steps == 0 || self.num_layers < 1 {
            let message =
                format!("found {steps} steps and {} layers, expected at least one of each", self.num_layers);
            return Err(argument(message));
        }
        let count = self.num_layers.checked_mul(directions);
        for state in states {
            if state.spec()?.dtype() != spec.dtype() {
                let message = format!(
                    "argument `hx` has dtype {}, expected {} as the input; convert one of them",
                    state.dtype(),
                    spec.dtype()
                );
                return Err(argument(message));
            }
            let fits =
                matches!(state.spec()?.sizes(), &[own, states, _] if Some(own) == count && states == batch);
            if !fits {
                let message = format!(
                    "argument `hx` has shape {:?}, expected [{} * {directions}, {batch}, any]",
                    state.sizes(),
                    self.num_layers
                );
                return Err(argument(message));
            }
        }
        let is_projected = states.get(1).is_some_and(|cell| cell.sizes()[2] != states[0].sizes()[2]);
        let per_layer = if self.has_biases { 4 } else { 2 } + usize::from(is_projected);
        let expected = count.and_then(|count| count.checked_mul(per_layer as i64));
        if expected == Some(parameters.len() as i64) {
            let size = states[states.len() - 1].sizes()[2];
            let rows = size.checked_mul(self.cell.gates());
            for layer in parameters.chunks_exact(per_layer) {
                for weight in &layer[..2] {
                    if weight.spec()?.sizes().first().copied() != rows {
                        let message = format!(
                            "a weight has shape {:?}, expected [{} * {size}, any]",
                            weight.sizes(),
                            self.cell.gates()
                        );
                        return Err(argument(message));
                    }
                }
                if self.has_biases {
                    layer[2..4].iter().try_for_each(|bias| check_bias(bias, spec.dtype()))?;
                }
            }
            Ok(per_layer)
        } else {
            let found = parameters.len();
            let message = format!(
                "argument `params` has {found} tensors, expected {per_layer} for each of {} * {directions} layers",
                self.num_layers
            );
            Err(argument(message))
        }
    }
}

/// What is asked of a dtype of which only the type counts.
fn check_type<T: opgrid_tensor::tensor::Element>() -> Result<()> {
    debug_assert!(T::DTYPE.size_in_bytes() == size_of::<T>());
    Ok(())
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use num_complex::Complex64;
    use opgrid_core::{Scalar, Value};

    use super::*;
    use opgrid_kinds::convolutions::samples::DTYPE_OF_BIAS;
    use opgrid_samples::prelude::*;

    /// How far states may lie from torch's. Gates cancel, so that small states come of sums of larger terms: of 12,000 single steps of
    /// each kind in single precision, the results here lay within 9 units beside one of those in double precision, torch's within 25.
    pub(crate) const ROUNDING: Roundings = Roundings::all(Rounding::Near(16));

    /// The differences from torch that networks have.
    pub(crate) const DIFFERENCES: &[Difference] = &[PARAMETERS_ARE_CHECKED, STEPS_OF_FLOATS, DTYPE_OF_BIAS];

    /// Differences for the dtypes of recurrent networks and cells.
    pub(crate) const STEPS_OF_FLOATS: Difference = Difference {
        id: "steps-of-integers",
        what: "torch accepts integers in single cells, with a floating-point state that allows no \
             second step, and as inputs with floating-point states; here they are rejected",
        why: "all steps have one dtype",
        test: ("opgrid-operators/tests/all/networks.rs", "parameters_of_networks_are_checked"),
        when: |seen| seen.we_refuse("expected a floating-point or complex dtype"),
        directed: None,
    };

    const PARAMETERS_ARE_CHECKED: Difference = Difference {
        id: "parameters-of-networks-are-checked",
        what: "torch splits matrices with too few or too many rows into as many gates as result, \
             broadcasts them, or reads out of bounds, ignores extra states and parameters, and \
             converts cell states of some dtypes; here sizes and dtypes that do not match are rejected",
        why: "a wrong size is probably a mistake",
        test: ("opgrid-operators/tests/all/networks.rs", "parameters_of_networks_are_checked"),
        when: |seen| {
            let of_lstm =
                seen.we_refuse("shapes cannot be multiplied") || seen.we_refuse("rows to match `self`");
            let words = ["a weight has shape", "argument `hx` has", "argument `params` has"];
            seen.family() == "lstm" && of_lstm || words.iter().any(|words| seen.we_refuse(words))
        },
        directed: None,
    };

    /// Small numbers, of integers 0 and few times 1, so that sums of sums stay in the range of all dtypes.
    pub(crate) fn small(dtype: DType, sizes: &[i64], seed: i64) -> Plain {
        let elements: Vec<f64> = (0..23).map(|at| ((at * 7 + seed * 5) % 9 - 4) as f64).collect();
        let scaled = elements.iter().map(|x| {
            if dtype.is_floating_point() || dtype.is_complex() { x / 8.0 } else { (x / 4.0).trunc().abs() }
        });
        Plain::from_elements(dtype, sizes, &scaled.collect::<Vec<_>>())
    }

    /// Samples of a network: input, states, parameters and options.
    pub(crate) fn inputs(cell: Cell, dtype: DType) -> Vec<Sample> {
        /// Layers, and whether there are biases, two directions, and the batch first.
        const CASES: [(i64, bool, bool, bool); 5] = [
            (1, true, false, false),
            (1, false, false, true),
            (2, true, true, false),
            (2, true, false, true),
            (1, true, true, false),
        ];
        let one = |(layers, biases, both, batch_first): (i64, bool, bool, bool)| {
            let [steps, batch, inputs, size] = [3, 2, 3, 2];
            let directions = if both { 2 } else { 1 };
            let input = if batch_first { [batch, steps, inputs] } else { [steps, batch, inputs] };
            let state = |seed| small(dtype, &[layers * directions, batch, size], seed);
            let mut parameters = Vec::new();
            for layer in 0..layers {
                for direction in 0..directions {
                    let seed = 10 * layer + 5 * direction;
                    let columns = if layer == 0 { inputs } else { size * directions };
                    let rows = cell.gates() * size;
                    parameters.push(small(dtype, &[rows, columns], seed + 1));
                    parameters.push(small(dtype, &[rows, size], seed + 2));
                    if biases {
                        parameters.push(small(dtype, &[rows], seed + 3));
                        parameters.push(small(dtype, &[rows], seed + 4));
                    }
                }
            }
            let states: Given = match cell {
                Cell::Lstm => vec![state(6), state(7)].into(),
                _ => state(6).into(),
            };
            let sample = given(small(dtype, &input, 0)).and(states).and(parameters).and(biases).and(layers);
            sample.and(0.0).and(false).and(both).and(batch_first)
        };
        CASES.into_iter().map(one).collect()
    }

    /// Samples of a single step.
    pub(crate) fn cell_samples(cell: Cell, dtype: DType) -> Vec<Sample> {
        let one = |batch: i64, biases: bool| {
            let rows = cell.gates() * 2;
            let state = |seed| small(dtype, &[batch, 2], seed);
            let states: Given = match cell {
                Cell::Lstm => vec![state(6), state(7)].into(),
                _ => state(6).into(),
            };
            let sample = given(small(dtype, &[batch, 3], 0)).and(states);
            let sample = sample.and(small(dtype, &[rows, 3], 1)).and(small(dtype, &[rows, 2], 2));
            if biases {
                sample.and(small(dtype, &[rows], 3)).and(small(dtype, &[rows], 4))
            } else {
                sample.and(Value::None)
            }
        };
        vec![one(2, true), one(1, false), one(0, true)]
    }

    /// Numbers of a row: a state, an input.
    type Row = Vec<Complex64>;

    /// The next state of one row, by plain loops: hidden, and of the cell.
    fn expected_step(
        cell: Cell,
        input: &Row,
        (hidden, memory): (&Row, &Row),
        parameters: &[&Plain],
    ) -> (Row, Row) {
        let product = |weight: &Plain, bias: Option<&&Plain>, row: &Row| -> Row {
            let of = |at: i64| {
                let terms = row.iter().zip(0..).map(|(x, column)| x * weight.at(&[at, column]).to_complex());
                terms.sum::<Complex64>() + bias.map_or(Complex64::ZERO, |bias| bias.at(&[at]).to_complex())
            };
            (0..weight.sizes()[0]).map(of).collect()
        };
        let x = product(parameters[0], parameters.get(2), input);
        let h = product(parameters[1], parameters.get(3), hidden);
        let n = hidden.len();
        let sigmoid = |x: Complex64| (Complex64::ONE + (-x).exp()).inv();
        let both = |gate: usize, at: usize| x[gate * n + at] + h[gate * n + at];
        let next = |at: usize| match cell {
            Cell::Tanh => (both(0, at).tanh(), Complex64::ZERO),
            Cell::Relu => (Complex64::new(both(0, at).re.max(0.0), 0.0), Complex64::ZERO),
            Cell::Gru => {
                let (reset, update) = (sigmoid(both(0, at)), sigmoid(both(1, at)));
                let new = (x[2 * n + at] + reset * h[2 * n + at]).tanh();
                (new + update * (hidden[at] - new), Complex64::ZERO)
            }
            Cell::Lstm => {
                let memory = sigmoid(both(1, at)) * memory[at] + sigmoid(both(0, at)) * both(2, at).tanh();
                (sigmoid(both(3, at)) * memory.tanh(), memory)
            }
        };
        (0..n).map(next).unzip()
    }

    fn row(of: &Plain, before: &[i64]) -> Row {
        let n = of.sizes()[of.sizes().len() - 1];
        (0..n).map(|at| of.at(&[before, &[at]].concat()).to_complex()).collect()
    }

    fn rows(dtype: DType, sizes: &[i64], rows: impl IntoIterator<Item = Row>) -> Plain {
        Plain::from_elements(
            dtype,
            sizes,
            &rows.into_iter().flatten().map(Scalar::Complex).collect::<Vec<_>>(),
        )
    }

    /// The states among the arguments: hidden, and of the cell.
    fn given_states(it: &Inputs) -> Result<Vec<Plain>> {
        match it.tensors("hx") {
            Ok(states) => Ok(states.to_vec()),
            Err(_) => Ok(vec![it.tensor("hx")?.clone()]),
        }
    }

    /// What a single step answers: hidden, and for `Lstm` the state of the cell.
    ///
    /// # Errors
    ///
    /// The sample lacks an argument.
    pub(crate) fn expected_cell(cell: Cell, it: &Inputs) -> Result<Vec<Plain>> {
        let (x, states) = (it.tensor("input")?, given_states(it)?);
        let names = ["w_ih", "w_hh", "b_ih", "b_hh"];
        let parameters: Vec<&Plain> = names.iter().filter_map(|name| it.tensor(name).ok()).collect();
        let step = |at: i64| {
            let memory = states.get(1).unwrap_or(&states[0]);
            expected_step(cell, &row(x, &[at]), (&row(&states[0], &[at]), &row(memory, &[at])), &parameters)
        };
        let (hidden, memory): (Vec<Row>, Vec<Row>) = (0..x.sizes()[0]).map(step).unzip();
        let both = [hidden, memory].map(|of| rows(x.dtype(), states[0].sizes(), of));
        Ok(both.into_iter().take(states.len()).collect())
    }

    /// What a network answers: all outputs, the last states, and for `Lstm` those of the cells.
    ///
    /// # Errors
    ///
    /// The sample lacks an argument.
    pub(crate) fn expected(cell: Cell, it: &Inputs) -> Result<Vec<Plain>> {
        let (input, states, all) = (it.tensor("input")?, given_states(it)?, it.tensors("params")?);
        let [biases, both, batch_first]: [bool; 3] =
            [it.value("has_biases")?, it.value("bidirectional")?, it.value("batch_first")?];
        let layers: i64 = it.value("num_layers")?;
        let turned = if batch_first { input.permuted(&[1, 0, 2]) } else { input.clone() };
        let (steps, batch) = (turned.sizes()[0], turned.sizes()[1]);
        let (directions, per) = (if both { 2 } else { 1 }, if biases { 4 } else { 2 });
        // By step and row of the batch.
        let mut sequence: Vec<Vec<Row>> =
            (0..steps).map(|step| (0..batch).map(|at| row(&turned, &[step, at])).collect()).collect();
        let (mut last, mut memories) = (Vec::new(), Vec::new());
        for layer in 0..layers {
            let mut next: Vec<Vec<Row>> = vec![vec![Vec::new(); batch as usize]; steps as usize];
            for direction in 0..directions {
                let number = layer * directions + direction;
                let parameters: Vec<&Plain> = all[number as usize * per..][..per].iter().collect();
                for at in 0..batch {
                    let memory = states.get(1).unwrap_or(&states[0]);
                    let mut state = (row(&states[0], &[number, at]), row(memory, &[number, at]));
                    for step in 0..steps {
                        let step = if direction == 1 { steps - 1 - step } else { step } as usize;
                        let own = &sequence[step][at as usize];
                        state = expected_step(cell, own, (&state.0, &state.1), &parameters);
                        next[step][at as usize].extend(&state.0);
                    }
                    last.push(state.0);
                    memories.push(state.1);
                }
            }
            sequence = next;
        }
        let size = states[0].sizes()[2];
        let output = rows(input.dtype(), &[steps, batch, size * directions], sequence.into_iter().flatten());
        let output = if batch_first { output.permuted(&[1, 0, 2]) } else { output };
        let [last, memories] = [last, memories].map(|of| rows(input.dtype(), states[0].sizes(), of));
        Ok([output, last, memories].into_iter().take(1 + states.len()).collect())
    }
}
