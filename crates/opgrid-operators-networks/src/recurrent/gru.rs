//! `aten::gru.input`, `aten::gru_cell`: sequences through cells with gates.
//!
//! `h' = new + σ(update) * (h - new)`, `new = tanh(x_new + σ(reset) * h_new)`, with gates `x @ w_ihᵀ + b_ih` and
//! `h @ w_hhᵀ + b_hh`, whose sums are `reset` and `update`
//!
//! - Shapes: `[steps, batch, inputs]`, or the batch first, and a state `[layers * directions, batch, size]`; `params` has
//!   `w_ih`, `w_hh` and, if `has_biases`, `b_ih` and `b_hh` for each layer and direction. The results are the states of the
//!   last layer in all steps, and the last states of all layers. `gru_cell` takes one step of `[batch, inputs]`.
//! - Dtypes: floating-point and complex ones, one for all.
//! - Values: while `train`, outputs of all layers but the last are dropped with the probability `dropout`.
//! - Dispatch: composites. All products of a layer with its inputs are one product of matrices.
//! - Errors: other shapes, dtypes or devices; no steps.
//! - Source: torch.nn.GRU, PyTorch 2.15; K. Cho et al., Learning Phrase Representations using RNN Encoder-Decoder (2014).

use crate::kinds::recurrent::{Cell, Network, State, Weights};
use crate::prelude::*;

pub use opgrid_tensor::ops::recurrent::gru::*;

pub(super) fn register(library: &mut Library) {
    library.define(GruInput).kind(&kind::RECURRENT).implicit(
        |input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first| {
            let cell = Cell::Gru;
            let network =
                Network { cell, has_biases, num_layers, dropout, train, bidirectional, batch_first };
            network.run(input, std::slice::from_ref(hx), params).map(|(output, hidden, _)| (output, hidden))
        },
    );
    library.define(GruCell).kind(&kind::RECURRENT).implicit(|input, hx, w_ih, w_hh, b_ih, b_hh| {
        let state = State { hidden: hx.clone(), cell: None };
        Ok(Cell::Gru.alone(input, &state, &Weights::new([w_ih, w_hh], [b_ih, b_hh]))?.hidden)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::recurrent;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = |sizes: &[i64]| recurrent::samples::small(DType::F32, sizes, 0);
        samples
            .operator(
                GruInput,
                INEXACT,
                |dtype| recurrent::samples::inputs(Cell::Gru, dtype),
                |it| Ok(recurrent::samples::expected(Cell::Gru, it)?.into()),
            )
            .tolerance(64.0);
        samples
            .operator(
                GruCell,
                INEXACT,
                |dtype| recurrent::samples::cell_samples(Cell::Gru, dtype),
                |it| Ok(recurrent::samples::expected_cell(Cell::Gru, it)?.remove(0).into()),
            )
            .tolerance(32.0)
            .refuses("two dimensions", given(x(&[3])).and(x(&[2])).and(x(&[6, 3])).and(x(&[6, 2])))
            .refuses(
                "as many as the state",
                given(x(&[2, 3])).and(x(&[1, 2])).and(x(&[6, 3])).and(x(&[6, 2])),
            );
        samples.rounds(GruInput, recurrent::samples::ROUNDING);
        samples.rounds(GruCell, recurrent::samples::ROUNDING);
        samples.differs_as(GruInput, recurrent::samples::DIFFERENCES);
        samples.differs(GruCell, recurrent::samples::STEPS_OF_FLOATS);
    }
}
