//! What a side answers to a case.

use opgrid_core::{DType, Scalar};
use serde_json::Value as Json;

use super::hex;
use crate::tensors::case::Block;

/// What a call led to.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The results, or the error.
    pub outcome: Result<Vec<Returned>, String>,
    /// The blocks that were written, with their contents afterwards.
    pub written: Vec<(usize, Block)>,
}

/// A result.
#[derive(Clone, Debug, PartialEq)]
pub enum Returned {
    /// A tensor.
    Tensor(TensorAnswer),
    /// A number.
    Number(Scalar),
    /// A tensor of a dtype that opgrid does not have.
    Foreign(String),
    /// A list of results.
    List(Vec<Returned>),
    /// Nothing.
    None,
}

/// A tensor in an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorAnswer {
    /// Its dtype.
    pub dtype: DType,
    /// Its sizes.
    pub sizes: Vec<i64>,
    /// Its strides.
    pub strides: Vec<i64>,
    /// Where its first element lies.
    pub offset: i64,
    /// The number of the tensor that it is, if it is an earlier one.
    pub same: Option<usize>,
    /// The number of the block on which it lies, if it is one of the case.
    pub block: Option<usize>,
    /// Its elements in row-major order.
    pub bytes: Vec<u8>,
}

impl Returned {
    fn tensors(&self) -> Vec<&TensorAnswer> {
        match self {
            Self::Tensor(tensor) => vec![tensor],
            Self::List(list) => list.iter().flat_map(Self::tensors).collect(),
            _ => Vec::new(),
        }
    }
}

impl PartialEq for Block {
    fn eq(&self, other: &Self) -> bool {
        self.dtype == other.dtype && self.bytes == other.bytes
    }
}

impl Answer {
    /// The answer to a call that the other side wrote; `blocks` are those of the case.
    ///
    /// # Errors
    ///
    /// It is no answer.
    pub fn parse(json: &Json, blocks: &[Block]) -> Result<Self, String> {
        let outcome = match json["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(array(&json["returns"])?.iter().map(returned).collect::<Result<_, _>>()?),
        };
        let written = array(&json["written"])?.iter().map(|pair| {
            let at = pair[0].as_u64().ok_or("a block has no number")? as usize;
            let block = blocks.get(at).ok_or("a block is not one of the case")?;
            Ok((at, Block { dtype: block.dtype, bytes: bytes(&pair[1])? }))
        });
        Ok(Self { outcome, written: written.collect::<Result<_, String>>()? })
    }

    /// The tensors that the call gave, those of lists among them.
    pub fn tensors(&self) -> Vec<&TensorAnswer> {
        self.outcome.as_deref().unwrap_or_default().iter().flat_map(Returned::tensors).collect()
    }
}

fn array(json: &Json) -> Result<&Vec<Json>, String> {
    json.as_array().ok_or_else(|| format!("expected a list, found {json}"))
}

fn bytes(json: &Json) -> Result<Vec<u8>, String> {
    json.as_str().and_then(hex::bytes).ok_or_else(|| format!("expected hexadecimal digits, found {json}"))
}

fn double(json: &Json) -> Result<f64, String> {
    json.as_str()
        .and_then(hex::to_double)
        .ok_or_else(|| format!("expected the bits of a float, found {json}"))
}

fn integers(json: &Json) -> Result<Vec<i64>, String> {
    let list = array(json)?.iter().map(Json::as_i64).collect::<Option<_>>();
    list.ok_or_else(|| format!("expected integers, found {json}"))
}

fn returned(json: &Json) -> Result<Returned, String> {
    let value = &json[1];
    let wrong = || format!("expected a result, found {json}");
    let place = |json: &Json| json.as_u64().map(|at| at as usize);
    Ok(match json[0].as_str().unwrap_or_default() {
        "tensor" if value.as_str().is_some_and(|name| name.parse::<DType>().is_err()) => {
            Returned::Foreign(value.as_str().unwrap_or_default().to_owned())
        }
        "tensor" => Returned::Tensor(TensorAnswer {
            dtype: value.as_str().and_then(|name| name.parse().ok()).ok_or_else(wrong)?,
            sizes: integers(&json[2])?,
            strides: integers(&json[3])?,
            offset: json[4].as_i64().ok_or_else(wrong)?,
            same: place(&json[5]),
            block: place(&json[6]),
            bytes: bytes(&json[7])?,
        }),
        "bool" => Returned::Number(Scalar::Bool(value.as_bool().ok_or_else(wrong)?)),
        "int" => {
            let number = value.as_i64().map(Scalar::Int).or(value.as_u64().map(Scalar::from));
            Returned::Number(number.ok_or_else(wrong)?)
        }
        "float" => Returned::Number(Scalar::Float(double(value)?)),
        "complex" => {
            let value = opgrid_core::Complex64::new(double(&value[0])?, double(&value[1])?);
            Returned::Number(Scalar::Complex(value))
        }
        "list" => Returned::List(array(value)?.iter().map(returned).collect::<Result<_, _>>()?),
        _ => Returned::None,
    })
}
