//! `aten::rnn_tanh.input`, `aten::rnn_relu.input`, `aten::rnn_tanh_cell`, `aten::rnn_relu_cell`: sequences through simple cells.
//!
//! `h' = f(x @ w_ihᵀ + b_ih + h @ w_hhᵀ + b_hh)`, where `f` is the hyperbolic tangent or `relu`
//!
//! - Shapes: as `gru.input` and `gru_cell`.
//! - Dtypes: floating-point and complex ones, one for all; with `relu` floating-point ones and integers.
//! - Values: while `train`, outputs of all layers but the last are dropped with the probability `dropout`.
//! - Dispatch: composites. All products of a layer with its inputs are one product of matrices.
//! - Errors: other shapes, dtypes or devices; no steps.
//! - Source: torch.nn.RNN, PyTorch 2.15; J. L. Elman, Finding Structure in Time (1990).

use crate::kinds::recurrent::{Cell, Network, State, Weights};
use crate::prelude::*;

pub use opgrid_tensor::ops::recurrent::rnn::*;

pub(super) fn register(library: &mut Library) {
    library.define(RnnTanhInput).kind(&kind::RECURRENT).implicit(
        |input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first| {
            let cell = Cell::Tanh;
            let network =
                Network { cell, has_biases, num_layers, dropout, train, bidirectional, batch_first };
            network.run(input, std::slice::from_ref(hx), params).map(|(output, hidden, _)| (output, hidden))
        },
    );
    library.define(RnnReluInput).kind(&kind::RECURRENT).implicit(
        |input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first| {
            let cell = Cell::Relu;
            let network =
                Network { cell, has_biases, num_layers, dropout, train, bidirectional, batch_first };
            network.run(input, std::slice::from_ref(hx), params).map(|(output, hidden, _)| (output, hidden))
        },
    );
    library.define(RnnTanhCell).kind(&kind::RECURRENT).implicit(|input, hx, w_ih, w_hh, b_ih, b_hh| {
        let state = State { hidden: hx.clone(), cell: None };
        Ok(Cell::Tanh.alone(input, &state, &Weights::new([w_ih, w_hh], [b_ih, b_hh]))?.hidden)
    });
    library.define(RnnReluCell).kind(&kind::RECURRENT).implicit(|input, hx, w_ih, w_hh, b_ih, b_hh| {
        let state = State { hidden: hx.clone(), cell: None };
        Ok(Cell::Relu.alone(input, &state, &Weights::new([w_ih, w_hh], [b_ih, b_hh]))?.hidden)
    });
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::recurrent;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        samples
            .operator(
                RnnTanhInput,
                INEXACT,
                |dtype| recurrent::samples::inputs(Cell::Tanh, dtype),
                |it| Ok(recurrent::samples::expected(Cell::Tanh, it)?.into()),
            )
            .tolerance(64.0);
        samples
            .operator(
                RnnReluInput,
                REAL,
                |dtype| recurrent::samples::inputs(Cell::Relu, dtype),
                |it| Ok(recurrent::samples::expected(Cell::Relu, it)?.into()),
            )
            .tolerance(64.0);
        samples
            .operator(
                RnnTanhCell,
                INEXACT,
                |dtype| recurrent::samples::cell_samples(Cell::Tanh, dtype),
                |it| Ok(recurrent::samples::expected_cell(Cell::Tanh, it)?.remove(0).into()),
            )
            .tolerance(32.0);
        samples
            .operator(
                RnnReluCell,
                REAL,
                |dtype| recurrent::samples::cell_samples(Cell::Relu, dtype),
                |it| Ok(recurrent::samples::expected_cell(Cell::Relu, it)?.remove(0).into()),
            )
            .tolerance(32.0);
        samples.rounds(RnnTanhInput, recurrent::samples::ROUNDING);
        samples.rounds(RnnReluInput, recurrent::samples::ROUNDING);
        samples.rounds(RnnTanhCell, recurrent::samples::ROUNDING);
        samples.rounds(RnnReluCell, recurrent::samples::ROUNDING);
        samples.differs_as(RnnTanhInput, recurrent::samples::DIFFERENCES);
        samples.differs_as(RnnReluInput, recurrent::samples::DIFFERENCES);
        samples.differs(RnnTanhCell, recurrent::samples::STEPS_OF_FLOATS);
    }
}
