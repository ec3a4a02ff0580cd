//! `aten::pad`, `aten::_pad_enum`, `aten::_pad_circular`: a frame around a tensor, of one of several kinds.
//!
//! - Kinds: "constant", "reflect", "replicate", "circular"; `_pad_enum` has them as 3, 0, 1 and 2.
//! - Shapes: as [`ConstantPadNd`]; frames that are not constant are for the last one to three dimensions, of a tensor that
//!   has one more for channels and perhaps one for a batch.
//! - Strides: those of the operators that it is made of; of `_pad_circular` row-major.
//! - Dispatch: composites of `constant_pad_nd`, `reflection_pad1d` and its relatives; `_pad_circular` of `cat` and slices.
//! - Errors: another mode; a `value` for a frame that is not constant; numbers of dimensions that do not fit; more elements
//!   than there are to repeat.
//! - Source: torch.nn.functional.pad, PyTorch 2.15.

use crate::kinds::padding::{self, Mode};
use crate::prelude::*;
use opgrid_tensor::ops::{
    Cat, ConstantPadNd, ReflectionPad1d, ReflectionPad2d, ReflectionPad3d, ReplicationPad1d,
    ReplicationPad2d, ReplicationPad3d, SliceTensor,
};

pub use opgrid_tensor::ops::padding::pad::*;

pub(super) fn register(library: &mut Library) {
    library.define(Pad).kind(&kind::PADDING).implicit(|input, pad, mode, value| {
        let number = match mode {
            "reflect" => 0,
            "replicate" => 1,
            "circular" => 2,
            "constant" => 3,
            other => {
                let message = format!(
                    "argument `mode` is \"{other}\", expected constant, reflect, replicate or circular"
                );
                return Err(argument(message));
            }
        };
        PadEnum.call(input, pad, number, value)
    });
    library.define(PadEnum).kind(&kind::PADDING).implicit(pad_enum);
    library.define(PadCircular).kind(&kind::PADDING).implicit(circular);
}

fn pad_enum(input: &Tensor, pad: &[i64], mode: i64, value: Option<f64>) -> Result<Tensor> {
    let dims = input.spec()?.sizes().len();
    padding::check(pad, dims)?;
    if mode == 3 {
        return ConstantPadNd.call(input, pad, Scalar::Float(value.unwrap_or(0.0)));
    }
    if !(0..3).contains(&mode) {
        return Err(argument(format!("argument `mode` is {mode}, expected 0 to 3")));
    }
    if value.is_some_and(|value| value != 0.0) {
        return Err(argument("argument `value` is given, which is only supported for constant padding"));
    }
    match (pad.len(), dims, mode) {
        (2, 2 | 3, 0) => ReflectionPad1d.call(input, pad),
        (4, 3 | 4, 0) => ReflectionPad2d.call(input, pad),
        (6, 4 | 5, 0) => ReflectionPad3d.call(input, pad),
        (2, 2 | 3, 1) => ReplicationPad1d.call(input, pad),
        (4, 3 | 4, 1) => ReplicationPad2d.call(input, pad),
        (6, 4 | 5, 1) => ReplicationPad3d.call(input, pad),
        (2, 2 | 3, 2) | (4, 3 | 4, 2) | (6, 4 | 5, 2) => PadCircular.call(input, pad),
        _ => {
            let message = format!(
                "argument `pad` has {} numbers for `self` of {dims} dimensions, expected 2n for the \
                 last n dimensions of n + 1 or n + 2, with n from 1 to 3",
                pad.len()
            );
            Err(opgrid_core::Error::new(opgrid_core::ErrorKind::NotImplemented, message))
        }
    }
}

fn circular(input: &Tensor, pad: &[i64]) -> Result<Tensor> {
    let sizes = input.spec()?.sizes();
    padding::check(pad, sizes.len())?;
    let around = sizes.len() - pad.len() / 2;
    if !(1..=2).contains(&around) {
        let message = format!(
            "argument `pad` has {} numbers, two for each dimension of `self` but {around}, expected them for all but 1 or 2",
            pad.len()
        );
        return Err(argument(message));
    }
    let mut result = input.clone();
    for (dim, &pair) in padding::pairs(pad, sizes.len()).iter().enumerate() {
        if pair == (0, 0) {
            continue;
        }
        let part = |run: &opgrid_kernels::runs::Run| {
            SliceTensor.call(&result, dim as i64, Some(run.start), Some(run.start + run.count), 1)
        };
        let parts = Mode::Circular.runs(sizes[dim], pair)?.iter().map(part).collect::<Result<Vec<_>>>()?;
        result = Cat.call(&parts, dim as i64)?;
    }
    if result.is_same(input) {
        opgrid_tensor::ops::CloneTensor.call(input, Some(MemoryFormat::Contiguous))
    } else {
        result.contiguous()
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let x = generate::numbers(DType::F32, &[1, 2, 3], 0);
        samples
            .operator(
                Pad,
                NUMBERS,
                |dtype| with_modes(dtype, &["reflect", "replicate"].map(Given::from)),
                by_name,
            )
            .refuses("expected constant", given(x.clone()).and([1, 1].to_vec()).and("edge"))
            .refuses("`value`", given(x.clone()).and([1, 1].to_vec()).and("reflect").and(2.0))
            .refuses("dimensions", given(x.clone()).and([1; 6].to_vec()).and("replicate"));
        samples
            .operator(PadEnum, NUMBERS, |dtype| with_modes(dtype, &[0, 1].map(Given::from)), by_number)
            .refuses("0 to 3", given(x.clone()).and([1, 1].to_vec()).and(4));
        samples.operator(Pad, STORED, |dtype| with_modes(dtype, &["circular".into()]), by_name);
        samples.operator(PadEnum, STORED, |dtype| with_modes(dtype, &[2.into()]), by_number);
        let constant = |dtype| vec![given(generate::numbers(dtype, &[2, 3], 0)).and([0; 2].to_vec())];
        samples.operator(Pad, STORED, constant, |it| Ok(it.tensor("self")?.clone().into()));
        let circular = |dtype| {
            let cases: [(&[i64], &[i64]); 4] = [
                (&[2, 2, 3], &[1, 2]),
                (&[1, 2, 3], &[-1, 2]),
                (&[1, 2, 3, 4], &[1, 0, 3, 2]),
                (&[2, 1, 2, 2, 3], &[0, 1, 2, 0, 0, 1]),
            ];
            cases.map(|(sizes, pad)| given(generate::numbers(dtype, sizes, 0)).and(pad.to_vec())).to_vec()
        };
        samples
            .operator(PadCircular, STORED, circular, |it| {
                padding::samples::reference(it, Mode::Circular, "pad")
            })
            .refuses("all but 1 or 2", given(x.clone()).and(Vec::<i64>::new()))
            .refuses("at most 3", given(x.clone()).and([4, 0].to_vec()))
            .refuses("no element to repeat", given(x).and([-2, -1].to_vec()));
        samples.differs(Pad, OF_WHAT_STAYS);
        samples.differs(PadEnum, OF_WHAT_STAYS);
        samples.differs(PadCircular, OF_WHAT_STAYS);
        samples.differs(
            PadCircular,
            Difference {
                id: "sides-go-in-pairs",
                what: "torch ignores the last of an odd count of numbers; here an odd count is \
                     rejected, as in all other modes",
                why: "an unused number is probably a mistake",
                test: (
                    "opgrid-operators/tests/all/differences/refused.rs",
                    "what_torch_does_not_check_is_refused",
                ),
                when: |seen| seen.we_refuse("expected an even count of them"),
                directed: Some(Directed {
                    operator: "aten::_pad_circular",
                    arguments: || {
                        vec![
                            ("self", Operand::rows(0, DType::F32, &[1, 1, 2], &[1.0, 2.0]).into()),
                            ("pad", Argument::Ints(vec![1, 1, 1])),
                        ]
                    },
                    needs: None,
                }),
            },
        );
    }

    const OF_WHAT_STAYS: Difference = Difference {
        id: "circular-frames-of-what-stays",
        what: "circular padding in torch may repeat more elements than negative padding keeps, reading \
             positions that it is writing; here at most as many as are kept",
        why: "results must not be uninitialized memory",
        test: ("opgrid-operators/tests/all/differences/refused.rs", "what_torch_does_not_check_is_refused"),
        when: |seen| {
            let leaves_out = match seen.argument("pad") {
                Some(Argument::Ints(pad)) => pad.iter().any(|count| *count < 0),
                _ => false,
            };
            leaves_out && seen.we_refuse("on each side")
        },
        directed: None,
    };

    fn by_name(it: &Inputs) -> Result<Expected> {
        let mode: String = it.value("mode")?;
        let mode = match mode.as_str() {
            "reflect" => Mode::Reflect,
            "replicate" => Mode::Replicate,
            _ => Mode::Circular,
        };
        padding::samples::reference(it, mode, "pad")
    }

    fn by_number(it: &Inputs) -> Result<Expected> {
        let mode: i64 = it.value("mode")?;
        padding::samples::reference(
            it,
            [Mode::Reflect, Mode::Replicate, Mode::Circular][mode as usize],
            "pad",
        )
    }

    fn with_modes(dtype: DType, modes: &[Given]) -> Vec<Sample> {
        let cases: [(&[i64], &[i64]); 3] =
            [(&[1, 2, 3], &[1, 2]), (&[2, 1, 3, 2], &[1, 0, 1, 2]), (&[1, 1, 2, 3, 2], &[0, 1, 1, 1, 1, 0])];
        let with_all = |(sizes, pad): (&[i64], &[i64])| {
            let sample = given(generate::numbers(dtype, sizes, 0)).and(pad.to_vec());
            modes.iter().map(|mode| sample.clone().and(mode.clone())).collect::<Vec<_>>()
        };
        cases.into_iter().flat_map(with_all).collect()
    }
}
