//! `aten::lstm.input`, `aten::lstm_cell`: sequences through cells with long and short memory.
//!
//! `c' = σ(forget) * c + σ(input) * tanh(cell)`, `h' = σ(output) * tanh(c')`, with gates `x @ w_ihᵀ + b_ih + h @ w_hhᵀ + b_hh`
//!
//! - Shapes: `[steps, batch, inputs]`, or the batch first, and two states `[layers * directions, batch, size]`; `params` has
//!   `w_ih`, `w_hh` and, if `has_biases`, `b_ih` and `b_hh` for each layer and direction, and where the first state is
//!   smaller than the second the matrix that projects it. The results are the states of the last layer in all steps, and the
//!   last two states of all layers. `lstm_cell` takes one step of `[batch, inputs]`.
//! - Dtypes: floating-point and complex ones, one for all.
//! - Values: while `train`, outputs of all layers but the last are dropped with the probability `dropout`.
//! - Dispatch: composites. All products of a layer with its inputs are one product of matrices.
//! - Errors: other shapes, dtypes or devices; no steps.
//! - Source: torch.nn.LSTM, PyTorch 2.15; S. Hochreiter, J. Schmidhuber, Long Short-Term Memory (1997).

use crate::kinds::recurrent::{Cell, Network, State, Weights};
use crate::prelude::*;

pub use opgrid_tensor::ops::recurrent::lstm::*;

pub(super) fn register(library: &mut Library) {
    library.define(LstmInput).kind(&kind::RECURRENT).implicit(
        |input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first| {
            let cell = Cell::Lstm;
            let network =
                Network { cell, has_biases, num_layers, dropout, train, bidirectional, batch_first };
            match network.run(input, hx, params)? {
                (output, hidden, Some(cells)) => Ok((output, hidden, cells)),
                _ => Err(argument("there is no cell state")),
            }
        },
    );
    library.define(LstmCell).kind(&kind::RECURRENT).implicit(|input, hx, w_ih, w_hh, b_ih, b_hh| {
        let [hidden, cell] = hx else {
            return Err(argument(format!("argument `hx` has {} states, expected 2", hx.len())));
        };
        let state = State { hidden: hidden.clone(), cell: Some(cell.clone()) };
        match Cell::Lstm.alone(input, &state, &Weights::new([w_ih, w_hh], [b_ih, b_hh]))? {
            State { hidden, cell: Some(cell) } => Ok((hidden, cell)),
            State { .. } => Err(argument("there is no cell state")),
        }
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::recurrent;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = |sizes: &[i64]| recurrent::samples::small(DType::F32, sizes, 0);
        let options = |sample: Sample| sample.and(true).and(1).and(0.0).and(false).and(false).and(false);
        let states = || vec![x(&[1, 2, 2]), x(&[1, 2, 2])];
        samples
            .operator(
                LstmInput,
                INEXACT,
                |dtype| recurrent::samples::inputs(Cell::Lstm, dtype),
                |it| Ok(recurrent::samples::expected(Cell::Lstm, it)?.into()),
            )
            .tolerance(64.0)
            .refuses(
                "1 states",
                options(given(x(&[3, 2, 3])).and(vec![x(&[1, 2, 2])]).and(Vec::<Plain>::new())),
            )
            .refuses("0 tensors", options(given(x(&[3, 2, 3])).and(states()).and(Vec::<Plain>::new())))
            .refuses("three dimensions", options(given(x(&[3, 2])).and(states()).and(Vec::<Plain>::new())))
            .refuses("0 steps", options(given(x(&[0, 2, 3])).and(states()).and(Vec::<Plain>::new())))
            .refuses("`hx` has shape", options(given(x(&[3, 1, 3])).and(states()).and(Vec::<Plain>::new())));
        samples
            .operator(
                LstmCell,
                INEXACT,
                |dtype| recurrent::samples::cell_samples(Cell::Lstm, dtype),
                |it| Ok(recurrent::samples::expected_cell(Cell::Lstm, it)?.into()),
            )
            .tolerance(32.0)
            .refuses("1 states", given(x(&[2, 3])).and(vec![x(&[2, 2])]).and(x(&[8, 3])).and(x(&[8, 2])))
            .refuses("`w_ih` has shape", {
                given(x(&[2, 3])).and(vec![x(&[2, 2]), x(&[2, 2])]).and(x(&[6, 3])).and(x(&[8, 2]))
            });
        samples.rounds(LstmInput, recurrent::samples::ROUNDING);
        samples.rounds(LstmCell, recurrent::samples::ROUNDING);
        samples.differs_as(LstmInput, recurrent::samples::DIFFERENCES);
        samples.differs(LstmCell, recurrent::samples::STEPS_OF_FLOATS);
    }
}
