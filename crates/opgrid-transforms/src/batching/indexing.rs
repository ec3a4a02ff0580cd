//! Operators that read or write at indices, where the indices may differ from example to example.
//!
//! Those along a dimension become `gather` and `scatter`, which check indices against the size of that dimension: none reaches into another
//! example.

use opgrid_core::{AnyTensor, DType, List, MemoryFormat, Result, TensorType, Value, ValueView};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::vmap::BatchedCall;
use opgrid_tensor::ops::{
    CloneTensor, Cumsum, DiagEmbed, Gather, IndexPut, IndexSelect, LtScalar, MaskedScatter, Permute, Repeat,
    Roll, ScatterAdd, ScatterReduceTwo, ScatterSrc, ScatterValue, SubScalar, WhereScalarOther, WhereSelf,
    ZerosLike,
};

use super::arguments::{behind, differs, flag, full, given, int, ints, rows, with_dims};
use super::dimensions::along_dimensions;
use super::{Rule, as_it_is};

pub(super) const RULES: &[(&[&str], Rule)] = &[
    (&["diag_embed"], diag_embed),
    (
        &[
            "gather",
            "scatter.reduce",
            "scatter.src",
            "scatter.value",
            "scatter.value_reduce",
            "scatter_add",
            "scatter_reduce.two",
        ],
        at_indices,
    ),
    (&["index.Tensor", "_unsafe_index.Tensor"], index),
    (&["index_put", "_unsafe_index_put", "_index_put_impl"], index_put),
    (&["index_select"], index_select),
    (
        &["index_add", "index_copy", "index_reduce", "index_fill.int_Scalar", "index_fill.int_Tensor"],
        index_write,
    ),
    (&["masked_scatter"], masked_scatter),
    (&["put"], put),
    (&["repeat"], repeat),
    (&["rot90"], along_dimensions),
    (&["roll"], roll),
    (&["take"], take),
    (&["tril", "triu"], as_it_is),
];

fn diag_embed(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let input = full(call, 0)?;
    let dims = [2, 3].map(|place| int(call, place).map(|dim| behind(dim, input.dim() as i64)));
    let [first, second] = dims;
    call.push(DiagEmbed.call(&input, int(call, 1)?, first?, second?)?.into())
}

/// `gather` and `scatter`: all tensors have as many dimensions.
fn at_indices(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let is_read = call.operator().name().base() == "gather";
    let rank = given(call, 0).map_or(0, Tensor::dim);
    // The result has the sizes of the indices, or those of what is written.
    let is_number = given(call, if is_read { 2 } else { 0 }).is_some_and(|tensor| tensor.dim() == 0);
    let places = 0..call.args().len();
    let args = places.map(|place| match call.args()[place].view() {
        ValueView::Tensor(_) => Ok(with_dims(&full(call, place)?, 2)?.into()),
        _ if place == 1 => Ok(behind(int(call, 1)?, rank as i64).into()),
        _ => Ok(call.args()[place].to_value()),
    });
    let args = args.collect::<Result<_>>()?;
    call.call_and(args, &mut |result| if is_number { result.squeeze(1) } else { Ok(result.clone()) })
}

/// A tensor, a dimension of it, and indices for it, as `gather` and `scatter` take them: each index for all places beside.
struct Along {
    input: Tensor,
    dim: i64,
    index: Tensor,
    is_number: bool,
}

impl Along {
    /// Reads the arguments 0, 1 and 2. Negative indices count from the end where that is so for the operator.
    fn from_call(call: &BatchedCall<'_, '_>, may_be_negative: bool) -> Result<Self> {
        let is_number = given(call, 0).is_some_and(|tensor| tensor.dim() == 0);
        let input = with_dims(&full(call, 0)?, 2)?;
        let dim = behind(int(call, 1)?, input.dim() as i64 - 1);
        let index = rows(&full(call, 2)?)?.to_dtype(DType::I64)?;
        let index = if may_be_negative { from_the_end(&index, input.sizes()[dim as usize])? } else { index };
        let mut shape = vec![1; input.dim()];
        (shape[0], shape[dim as usize]) = (index.sizes()[0], index.sizes()[1]);
        let mut sizes = input.sizes().to_vec();
        sizes[dim as usize] = index.sizes()[1];
        let index = index.reshape(shape)?.expand(sizes)?;
        Ok(Self { input, dim, index, is_number })
    }

    /// A result of the sizes of the tensor, as the result of examples.
    fn whole(&self, result: Tensor) -> Result<Value> {
        Ok(if self.is_number { result.squeeze(1)? } else { result }.into())
    }
}

/// Negative indices counted from the end.
fn from_the_end(index: &Tensor, size: i64) -> Result<Tensor> {
    WhereSelf.call(&LtScalar.call(index, 0.into())?, &index.add(size)?, index)
}

/// Elements along a dimension, by other indices for each example.
fn index_select(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    if !differs(call, 2) && given(call, 0).is_some_and(|input| input.dim() > 0) {
        let input = full(call, 0)?;
        let (dim, (index, _)) = (int(call, 1)?, call.tensor(2).expect("the schema says that it is a tensor"));
        return call.push(IndexSelect.call(&input, behind(dim, input.dim() as i64 - 1), &index)?.into());
    }
    let along = Along::from_call(call, false)?;
    let chosen = Gather.call(&along.input, along.dim, &along.index, false)?;
    call.push(if along.is_number { chosen.reshape(call.size())? } else { chosen }.into())
}

/// Operators that write along a dimension.
fn index_write(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let base = call.operator().name().base();
    let along = Along::from_call(call, base == "index_fill")?;
    let Along { input, dim, index, .. } = &along;
    let source = |place: usize| -> Result<Tensor> {
        with_dims(&full(call, place)?, input.dim())?.expand(index.sizes())
    };
    let written = match base {
        "index_add" => {
            let alpha = call.args()[4].as_scalar().filter(|alpha| alpha.to_f64().is_ok_and(|it| it != 1.0));
            let source = match alpha {
                Some(alpha) => source(3)?.mul(alpha)?.to_dtype(input.dtype())?,
                None => source(3)?,
            };
            ScatterAdd.call(input, *dim, index, &source)?
        }
        "index_copy" => ScatterSrc.call(input, *dim, index, &source(3)?)?,
        "index_reduce" => {
            let reduce = call.args()[4].as_str().unwrap_or_default();
            ScatterReduceTwo.call(input, *dim, index, &source(3)?, reduce, flag(call, 5))?
        }
        _ => match call.args()[3].as_scalar() {
            Some(value) => ScatterValue.call(input, *dim, index, value)?,
            None => {
                let value = super::arguments::with_last_dims(&full(call, 3)?, input.dim())?;
                ScatterSrc.call(input, *dim, index, &value.to_dtype(input.dtype())?.expand(index.sizes())?)?
            }
        },
    };
    let written = along.whole(written)?;
    call.push(written)
}

/// Elements in the order of memory.
fn take(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (input, index) = (rows(&full(call, 0)?)?, full(call, 1)?);
    let places = from_the_end(&rows(&index)?, input.sizes()[1])?;
    call.push(Gather.call(&input, 1, &places, false)?.reshape(index.sizes())?.into())
}

fn put(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (whole, index, source) = (full(call, 0)?, rows(&full(call, 1)?)?, rows(&full(call, 2)?)?);
    let input = rows(&whole)?;
    let places = from_the_end(&index, input.sizes()[1])?;
    let written = if flag(call, 3) {
        ScatterAdd.call(&input, 1, &places, &source)?
    } else {
        ScatterSrc.call(&input, 1, &places, &source)?
    };
    call.push(written.reshape(whole.sizes())?.into())
}

fn masked_scatter(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let rank = [0, 1].iter().filter_map(|place| given(call, *place)).map(Tensor::dim).max().unwrap_or(0);
    let (input, mask) = (with_dims(&full(call, 0)?, rank + 1)?, with_dims(&full(call, 1)?, rank + 1)?);
    let sizes = opgrid_tensor::tensor::broadcast(&[input.sizes(), mask.sizes()])?;
    let written = chosen_of(
        &input.expand(sizes.as_slice())?,
        &mask.expand(sizes.as_slice())?,
        &rows(&full(call, 2)?)?,
    )?;
    call.push(written.into())
}

/// The tensor with elements of `source`, one after another, where the mask is true.
fn chosen_of(input: &Tensor, mask: &Tensor, source: &Tensor) -> Result<Tensor> {
    if source.sizes()[1] == 0 {
        // It says what is wrong, if anything is chosen.
        return MaskedScatter.call(input, mask, source);
    }
    let chosen = rows(mask)?;
    let places = SubScalar.call(&Cumsum.call(&chosen, 1, Some(DType::I64))?, 1.into(), 1.into())?;
    let places = WhereScalarOther.call(&chosen, &places, 0.into())?;
    let elements = Gather.call(source, 1, &places, false)?.reshape(mask.sizes())?;
    WhereSelf.call(mask, &elements, input)
}

fn repeat(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let repeats = ints(call, 1)?;
    let input = with_dims(&full(call, 0)?, repeats.len() + 1)?;
    call.push(Repeat.call(&input, &[&[1], repeats.as_slice()].concat())?.into())
}

fn roll(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let (input, shifts, dims) = (full(call, 0)?, ints(call, 1)?, ints(call, 2)?);
    if dims.is_empty() {
        return call.push(Roll.call(&rows(&input)?, &shifts, &[1])?.reshape(input.sizes())?.into());
    }
    let dims: Vec<i64> = dims.iter().map(|dim| behind(*dim, input.dim() as i64 - 1)).collect();
    let rolled = Roll.call(&with_dims(&input, 2)?, &shifts, &dims)?;
    call.push(rolled.reshape(input.sizes())?.into())
}

/// What `index` and `index_put` do: a tensor whose dimensions with indices come first, behind that of the batch.
struct Indexed {
    /// The dimensions of the tensor in that order.
    order: Vec<i64>,
    indices: Vec<Tensor>,
    /// How many dimensions the indices have together.
    rank: usize,
    /// Before how many dimensions of the result those of the indices stand, behind that of the batch.
    at: usize,
}

impl Indexed {
    /// None where a mask chooses.
    fn from_call(call: &BatchedCall<'_, '_>) -> Result<Option<Self>> {
        let ValueView::OptionalTensors(list) = call.args()[1].view() else { return Ok(None) };
        let of_example = |tensor: &AnyTensor| Tensor::from_any_ref(tensor).cloned();
        let given_ones: Vec<Option<Tensor>> =
            list.iter().map(|it| it.as_ref().and_then(of_example)).collect();
        if given_ones.iter().flatten().any(|index| matches!(index.dtype(), DType::Bool | DType::U8)) {
            return Ok(None);
        }
        let places: Vec<usize> = (0..given_ones.len()).filter(|at| given_ones[*at].is_some()).collect();
        let is_apart = places.windows(2).any(|pair| pair[1] != pair[0] + 1);
        let dims = given(call, 0).map_or(0, Tensor::dim);
        let others = (0..dims).filter(|dim| !places.contains(dim));
        let order =
            [0].into_iter().chain(places.iter().copied().chain(others).map(|dim| dim as i64 + 1)).collect();
        let rank = given_ones.iter().flatten().map(Tensor::dim).max().unwrap_or(0);
        let indices = given_ones.iter().flatten();
        let indices = indices.map(|index| with_dims(&call.stretched(index)?.to_dtype(DType::I64)?, rank + 1));
        let at = if is_apart { 0 } else { places.first().copied().unwrap_or(0) };
        Ok(Some(Self { order, indices: indices.collect::<Result<_>>()?, rank, at }))
    }

    /// The indices, with one of the batch before them.
    fn list(&self, size: i64) -> Result<Vec<Option<Tensor>>> {
        let examples = Tensor::arange(0, size, 1)?.reshape([vec![size], vec![1; self.rank]].concat())?;
        Ok([examples].into_iter().chain(self.indices.iter().cloned()).map(Some).collect())
    }

    /// Where each dimension of an indexed tensor belongs in the result, for a result of so many dimensions.
    fn places(&self, dims: usize) -> Vec<i64> {
        let (first, others) = (1..=self.rank, self.rank + 1..dims);
        let before = others.clone().take(self.at);
        let order = [0].into_iter().chain(before).chain(first).chain(others.skip(self.at));
        order.map(|dim| dim as i64).collect()
    }
}

/// The order of dimensions that undoes another one.
fn inverse(order: &[i64]) -> Vec<i64> {
    let mut inverse = vec![0; order.len()];
    for (place, dim) in order.iter().enumerate() {
        inverse[*dim as usize] = place as i64;
    }
    inverse
}

fn optional_list(list: Vec<Option<Tensor>>) -> Value {
    List::OptionalTensors(list.into_iter().map(|it| it.map(Tensor::into_any)).collect()).into()
}

fn index(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    // How many elements a mask chooses depends on the data.
    let Some(indexed) = Indexed::from_call(call)? else { return call.one_by_one() };
    let input = Permute.call(&full(call, 0)?, &indexed.order)?;
    if indexed.indices.is_empty() {
        return call.push(CloneTensor.call(&input, Some(MemoryFormat::Contiguous))?.into());
    }
    let chosen =
        call.operator().call_values(vec![input.into(), optional_list(indexed.list(call.size())?)])?;
    let chosen = Tensor::try_from(chosen.into_iter().next().unwrap_or(Value::None))?;
    call.push(Permute.call(&chosen, &indexed.places(chosen.dim()))?.into())
}

fn index_put(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let Some(indexed) = Indexed::from_call(call)? else { return masked_put(call) };
    let input = full(call, 0)?;
    let moved = Permute.call(&input, &indexed.order)?;
    let dims = 1 + indexed.rank + moved.dim() - 1 - indexed.indices.len();
    let values = with_dims(&full(call, 2)?, dims)?;
    let values = Permute.call(&values, &inverse(&indexed.places(dims)))?;
    let list = indexed.list(call.size())?;
    let written = IndexPut.call(&moved, &list, &values, flag(call, 3))?;
    call.push(Permute.call(&written, &inverse(&indexed.order))?.into())
}

/// A mask over the first dimensions chooses where the values go, one after another.
fn masked_put(call: &mut BatchedCall<'_, '_>) -> Result<()> {
    let ValueView::OptionalTensors(list) = call.args()[1].view() else { return call.one_by_one() };
    let [Some(mask)] = list.iter().map(Option::as_ref).collect::<Vec<_>>()[..] else {
        return call.one_by_one();
    };
    let Some(mask) = Tensor::from_any_ref(mask) else { return call.one_by_one() };
    let (input, values) = (full(call, 0)?, full(call, 2)?);
    let own = mask.dim();
    let mask = super::arguments::with_last_dims(&call.stretched(mask)?.to_dtype(DType::Bool)?, input.dim())?;
    let mask = mask.expand(input.sizes())?;
    let rest = &input.sizes()[1 + own..];
    // One value for all places, or values for each of them.
    let is_one = values.dim() <= 1 + rest.len() || values.sizes()[1] == 1;
    let added = if is_one {
        let values = if values.dim() > 1 + rest.len() { values.squeeze(1)? } else { values };
        let values = with_dims(&values, input.dim())?.expand(input.sizes())?;
        let before =
            if flag(call, 3) { ZerosLike.call(&input, None, None, None, None, None)? } else { input.clone() };
        WhereSelf.call(&mask, &values, &before)?
    } else {
        let sizes = [&values.sizes()[..2], rest].concat();
        let values = rows(&values.expand(sizes)?.contiguous()?)?;
        let before =
            if flag(call, 3) { ZerosLike.call(&input, None, None, None, None, None)? } else { input.clone() };
        chosen_of(&before, &mask, &values)?
    };
    call.push(if flag(call, 3) { input.add(&added)? } else { added }.into())
}
