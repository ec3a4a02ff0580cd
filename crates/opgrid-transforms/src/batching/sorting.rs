//! Searches and counts, where what is searched may differ from example to example.

use opgrid_core::{DType, Result, Scalar, Value};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::vmap::BatchedCall;
use opgrid_tensor::ops::{
    Amax, Amin, AnyDim, Clamp, EqScalar, EqTensor, Floor, GeScalar, LogicalAnd, LogicalNot, NewFull,
    NewZeros, ScatterAdd, SearchsortedTensor, WhereScalarOther,
};

use super::arguments::{differs, flag, full, given, int, optional, rows};
use super::{Rule, as_it_is};

pub(super) const RULES: &[(&[&str], Rule)] = &[
    (&["bucketize.Scalar", "bucketize.Tensor"], bucketize),
    (&["searchsorted.Scalar", "searchsorted.Tensor"], searchsorted),
    (&["isin.Tensor_Scalar", "isin.Scalar_Tensor", "isin.Tensor_Tensor"], isin),
    (&["histc"], histc),
    (
        &[
            "_unique",
            "_unique2",
            "argwhere",
            "bincount",
            "masked_select",
            "nonzero",
            "nonzero_numpy",
            "repeat_interleave.Tensor",
            "unique_consecutive",
            "unique_dim",
            "unique_dim_consecutive",
            "where",
        ],
        // How many there are depends on the data.
        |call| call.one_by_one(),
    ),
];

/// A number as one for each example, of a dtype that both have.
fn number_beside(number: Scalar, sorted: &Tensor) -> Result<(Tensor, Tensor)> {
    let sorted = match number {
        Scalar::Float(_) if !sorted.dtype().is_floating_point() => sorted.to_dtype(DType::F64)?,
        _ => sorted.clone(),
    };
    let size = sorted.sizes()[0];
    Ok((NewFull.call(&sorted, &[size, 1], number, None, None, None, None)?, sorted))
}

/// The places in rows, with the sizes of an example.
fn places(
    call: &mut BatchedCall<'_, '_>,
    sorted: &Tensor,
    sought: &Tensor,
    [out_int32, right]: [bool; 2],
    side: Option<&str>,
    sorter: Option<&Tensor>,
    sizes: Vec<i64>,
) -> Result<()> {
    let found = SearchsortedTensor.call(sorted, sought, out_int32, right, side, sorter)?;
    call.push(found.reshape(sizes)?.into())
}

fn bucketize(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    if !differs(call, 1) {
        return as_it_is(call);
    }
    let (boundaries, flags) = (full(call, 1)?, [flag(call, 2), flag(call, 3)]);
    match call.args()[0].as_scalar() {
        Some(number) => {
            let (sought, boundaries) = number_beside(number, &boundaries)?;
            let sizes = vec![call.size()];
            places(call, &boundaries, &sought, flags, None, None, sizes)
        }
        None => {
            let sought = full(call, 0)?;
            let sizes = sought.sizes().to_vec();
            places(call, &boundaries, &rows(&sought)?, flags, None, None, sizes)
        }
    }
}

fn searchsorted(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    if !differs(call, 0) && !differs(call, 5) && given(call, 0).is_some_and(|sorted| sorted.dim() == 1) {
        return as_it_is(call);
    }
    let (sorted, sorter) = (full(call, 0)?, optional(call, 5)?);
    let flags = [flag(call, 2), flag(call, 3)];
    let side = call.args()[4].as_str();
    match call.args()[1].as_scalar() {
        Some(number) => {
            let (sought, sorted) = number_beside(number, &sorted)?;
            let sizes = vec![call.size()];
            places(call, &sorted, &sought, flags, side, sorter.as_ref(), sizes)
        }
        None => {
            let sought = full(call, 1)?;
            let sizes = sought.sizes().to_vec();
            let sought = if sorted.dim() == 2 { rows(&sought)? } else { sought };
            places(call, &sorted, &sought, flags, side, sorter.as_ref(), sizes)
        }
    }
}

fn isin(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    if !differs(call, 1) {
        return as_it_is(call);
    }
    let tests = rows(&full(call, 1)?)?;
    let found = match call.args()[0].as_scalar() {
        Some(element) => AnyDim.call(&EqScalar.call(&tests, element)?, 1, false)?,
        None => {
            let elements = full(call, 0)?;
            let pairs = EqTensor.call(&rows(&elements)?.unsqueeze(2)?, &tests.unsqueeze(1)?)?;
            AnyDim.call(&pairs, 2, false)?.reshape(elements.sizes())?
        }
    };
    call.push(if flag(call, 3) { LogicalNot.call(&found)? } else { found }.into())
}

/// Each element counts in the part of the range that it lies in.
fn histc(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let input = rows(&full(call, 0)?)?;
    let (bins, size) = (int(call, 1)?, call.size());
    let [least, most] = [2, 3].map(|place| call.args()[place].as_scalar().map_or(Ok(0.0), |it| it.to_f64()));
    let (least, most) = (least?, most?);
    let wide = input.to_dtype(DType::F64)?;
    let (least, most) = if least == most {
        let (least, most) = (Amin.call(&wide, &[1], true)?, Amax.call(&wide, &[1], true)?);
        let is_one = EqTensor.call(&least, &most)?.to_dtype(DType::F64)?;
        (least.sub(&is_one)?, most.add(&is_one)?)
    } else {
        let end = |end: f64| NewFull.call(&wide, &[size, 1], end.into(), None, None, None, None);
        (end(least)?, end(most)?)
    };
    let place = wide.sub(&least)?.mul(bins)?.div(&most.sub(&least)?)?;
    let is_within = LogicalAnd.call(&GeScalar.call(&place, 0.into())?, &wide.le(&most)?)?;
    let place = WhereScalarOther.call(&is_within, &place, 0.into())?;
    let place = Clamp.call(&Floor.call(&place)?, None, Some((bins - 1).into()))?.to_dtype(DType::I64)?;
    let counts = NewZeros.call(&input, &[size, bins], None, None, None, None)?;
    let counted = is_within.to_dtype(input.dtype())?;
    call.push(Value::from(ScatterAdd.call(&counts, 1, &place, &counted)?))
}
