//! `aten::normal`, `aten::normal_functional`: new tensors of normally distributed random numbers.
//!
//! `out[i]` is drawn from the distribution of mean `mean[i]` and deviation `std[i]`, of which each may be one number for all
//!
//! - Shapes: that of the tensor, of two tensors that to which both broadcast; `size` for two numbers; that of `self` in the overloads
//!   that take their content's place.
//! - Dtypes: that of the tensor, of two tensors that of `mean`; `dtype` for two numbers, the default one if none is given.
//! - Aliasing: the overloads whose names end in `out` write `out`.
//! - Dispatch: composites of `empty`, `normal_` and arithmetic.
//! - Errors: those of `normal_`; a deviation that is negative; shapes that do not broadcast.
//! - Source: torch.normal, PyTorch 2.15.

use opgrid_core::Generator;

use crate::kinds::draws;
use crate::prelude::*;
use opgrid_tensor::ops::{
    AddInplaceScalar, AddInplaceTensor, Amin, EmptyLike, EmptyMemoryFormat, Item, MulInplaceTensor,
    NormalInplace,
};
use opgrid_tensor::tensor::broadcast;

pub use opgrid_tensor::ops::random::normal_of_tensors::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(NormalTensorFloat, &kind::RANDOM).on_every_backend(|mean, std, generator| {
        let out = EmptyLike.call(mean, None, None, None, None, Some(MemoryFormat::Contiguous))?;
        around(mean, std, generator, &out).map(|()| out)
    });
    library.implement(NormalTensorFloatOut).on_every_backend(|mean, std, generator, out| {
        draws::shaped(mean, None, out)?;
        around(mean, std, generator, out)
    });
    library.define_with_forms(NormalFloatTensor, &kind::RANDOM).on_every_backend(|mean, std, generator| {
        let out = EmptyLike.call(std, None, None, None, None, Some(MemoryFormat::Contiguous))?;
        scaled(mean, std, generator, &out).map(|()| out)
    });
    library.implement(NormalFloatTensorOut).on_every_backend(|mean, std, generator, out| {
        draws::shaped(std, None, out)?;
        scaled(mean, std, generator, out)
    });
    library.define_with_forms(NormalTensorTensor, &kind::RANDOM).on_every_backend(|mean, std, generator| {
        let spec = both(mean, std)?;
        let out = Tensor::empty(spec.sizes(), spec.dtype(), spec.device())?;
        of_both(mean, std, generator, &out).map(|()| out)
    });
    library.implement(NormalTensorTensorOut).on_every_backend(|mean, std, generator, out| {
        result::give_shape(out, &both(mean, std)?)?;
        of_both(mean, std, generator, out)
    });
    library.define_with_forms(NormalFloatFloat, &kind::RANDOM).composite(
        |mean, std, size, generator, dtype, layout, device, pin_memory| {
            let out = EmptyMemoryFormat.call(size, dtype, layout, device, pin_memory, None)?;
            NormalInplace.call(&out, mean, std, generator).map(|()| out)
        },
    );
    library.implement(NormalFloatFloatOut).on_every_backend(|mean, std, size, generator, out| {
        result::give_shape(out, &TensorSpec::contiguous(size, out.dtype(), out.device())?)?;
        NormalInplace.call(out, mean, std, generator)
    });
    library.define(NormalFunctional).kind(&kind::RANDOM).on_every_backend(|input, mean, std, generator| {
        let out = EmptyLike.call(input, None, None, None, None, None)?;
        NormalInplace.call(&out, mean, std, generator).map(|()| out)
    });
    library.define(NormalOut).kind(&kind::RANDOM).on_every_backend(|input, mean, std, generator, out| {
        result::same_dtype(out, input.spec()?)?;
        draws::shaped(input, None, out)?;
        NormalInplace.call(out, mean, std, generator)
    });
}

/// What is drawn for two tensors.
fn both(mean: &Tensor, std: &Tensor) -> Result<TensorSpec> {
    let sizes = broadcast(&[mean.sizes(), std.sizes()])?;
    TensorSpec::contiguous(&sizes, mean.spec()?.dtype(), mean.device())
}

/// # Errors
///
/// Complex numbers; an element that is negative; nobody looks at those of meta tensors.
fn check_deviations(std: &Tensor) -> Result<()> {
    if std.spec()?.dtype().is_complex() {
        return Err(argument(format!("argument `std` has dtype {}, expected real numbers", std.dtype())));
    }
    if std.numel() == 0 || std.device().is_meta() {
        return Ok(());
    }
    let least = Item.call(&Amin.call(std, &[], false)?)?.to_f64()?;
    if least < 0.0 {
        Err(argument(format!("argument `std` has the negative element {least}, expected zero or more")))
    } else {
        Ok(())
    }
}

fn around(mean: &Tensor, std: f64, generator: Option<&Generator>, out: &Tensor) -> Result<()> {
    NormalInplace.call(out, 0.0, std, generator)?;
    AddInplaceTensor.call(out, mean, Scalar::Int(1))
}

fn scaled(mean: f64, std: &Tensor, generator: Option<&Generator>, out: &Tensor) -> Result<()> {
    check_deviations(std)?;
    NormalInplace.call(out, 0.0, 1.0, generator)?;
    MulInplaceTensor.call(out, std)?;
    AddInplaceScalar.call(out, Scalar::Float(mean), Scalar::Int(1))
}

fn of_both(mean: &Tensor, std: &Tensor, generator: Option<&Generator>, out: &Tensor) -> Result<()> {
    check_deviations(std)?;
    NormalInplace.call(out, 0.0, 1.0, generator)?;
    MulInplaceTensor.call(out, std)?;
    AddInplaceTensor.call(out, mean, Scalar::Int(1))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let floats = INEXACT.split_at(4).0;
        let like = |name: &'static str, mean: f64, deviation: f64| {
            move |it: &Inputs| -> Result<Expected> {
                let x = it.tensor(name)?;
                Ok(Expected::Random(x.sizes().to_vec(), x.dtype(), Distribution::normal(mean, deviation)))
            }
        };
        fn filled(dtype: DType, value: f64) -> [Plain; 4] {
            [vec![2000], vec![40, 50], vec![0], vec![]]
                .map(|sizes| Plain::from_elements(dtype, &sizes, &[value]))
        }
        samples
            .operator_with(
                NormalTensorFloat,
                INEXACT,
                |dtype| filled(dtype, 3.0).map(|mean| given(mean).and(2.0)).to_vec(),
                like("mean", 3.0, 2.0),
            )
            .refuses("zero or more", given(generate::numbers(DType::F32, &[2], 0)).and(-1.0));
        samples
            .operator_with(
                NormalFloatTensor,
                floats,
                |dtype| filled(dtype, 2.0).map(|std| given(3.0).and(std)).to_vec(),
                like("std", 3.0, 2.0),
            )
            .refuses_data("negative", given(3.0).and(Plain::from_elements(DType::F32, &[2], &[-1.0])));
        samples.operator_with(
            NormalTensorTensor,
            INEXACT,
            |dtype| {
                filled(dtype, 3.0)
                    .map(|mean| given(mean).and(Plain::from_elements(DType::F32, &[1], &[2.0])))
                    .to_vec()
            },
            |it| {
                let (x, std) = (it.tensor("mean")?, it.tensor("std")?);
                let sizes = naive::broadcast([x.sizes(), std.sizes()].into_iter())?;
                Ok(Expected::Random(sizes, x.dtype(), Distribution::normal(3.0, 2.0)))
            },
        );
        samples.operator_with(
            NormalFloatFloat,
            INEXACT,
            |dtype| {
                let one = |sizes: Vec<i64>| given(3.0).and(2.0).and(sizes).named("dtype", dtype);
                [vec![2000], vec![40, 50], vec![0], vec![]].map(one).to_vec()
            },
            |it| {
                let (size, dtype): (_, Option<DType>) = (it.value("size")?, it.value("dtype")?);
                Ok(Expected::Random(size, dtype.unwrap_or(default_dtype()), Distribution::normal(3.0, 2.0)))
            },
        );
        let of_self = |dtype| draws::samples::tensors(dtype, |call| call.and(3.0).and(2.0));
        samples.operator_with(NormalFunctional, INEXACT, of_self, like("self", 3.0, 2.0));
        // Box and Muller's formula, by another logarithm, sine and cosine.
        samples.rounds(NormalFunctional, Roundings::all(Rounding::Sum(32)));
        samples.operator_with(
            NormalOut,
            INEXACT,
            |dtype| {
                let with_out = |call: Sample| {
                    let out = call.positional[0].clone();
                    call.and(3.0).and(2.0).named("out", out)
                };
                draws::samples::tensors(dtype, with_out)
            },
            like("self", 3.0, 2.0),
        );
    }
}
