//! Type promotion: every pair of dtypes, and of tensors with and without dimensions and numbers, by default dtype.

use opgrid_core::{Complex64, DType, Device, Result, Scalar};
use opgrid_tensor::tensor::{can_cast, promote_types, result_type, set_default_dtype};
use opgrid_tensor::{Tensor, TensorSpec};
use serde_json::{Value as Json, json};

use super::elements::DTYPES;

/// The dtypes that may be the default.
pub const DEFAULTS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];

/// Something that takes part in promotion.
#[derive(Clone, Copy, Debug)]
struct Category {
    kind: &'static str,
    dtype: DType,
}

fn categories() -> Vec<Category> {
    let of = |kind| DTYPES.into_iter().map(move |dtype| Category { kind, dtype });
    let numbers = [DType::Bool, DType::I64, DType::F64, DType::Complex128];
    let numbers = numbers.into_iter().map(|dtype| Category { kind: "number", dtype });
    of("tensor").chain(of("scalar")).chain(numbers).collect()
}

impl Category {
    fn input(self) -> Result<Tensor> {
        let sizes: &[i64] = match self.kind {
            "number" => {
                return Ok(Tensor::number(match self.dtype {
                    DType::Bool => Scalar::Bool(true),
                    DType::I64 => Scalar::Int(1),
                    DType::F64 => Scalar::Float(1.5),
                    _ => Scalar::Complex(Complex64::new(0.0, 1.5)),
                }));
            }
            "tensor" => &[1],
            _ => &[],
        };
        Tensor::allocate(TensorSpec::contiguous(sizes, self.dtype, Device::META)?)
    }
}

/// The question about all categories under a default dtype.
pub fn line(default: DType) -> String {
    let categories: Vec<Json> =
        categories().into_iter().map(|category| json!([category.kind, category.dtype.name()])).collect();
    json!({ "promotion": categories, "default": default.name() }).to_string()
}

/// The question about pairs of dtypes.
pub fn line_of_pairs() -> String {
    json!({ "pairs": DTYPES.map(DType::name) }).to_string()
}

/// A pair, what we say about it and what torch says.
pub type Pair = (String, String, String);

/// All pairs of categories with both sides' answers.
///
/// # Errors
///
/// No memory.
pub fn categories_compared(default: DType, torch: &Json) -> Result<Vec<Pair>> {
    set_default_dtype(default)?;
    let mut compared = Vec::new();
    for (row, one) in categories().into_iter().enumerate() {
        for (column, other) in categories().into_iter().enumerate() {
            let ours = match result_type(&[&one.input()?, &other.input()?]) {
                Ok(dtype) => dtype.name().to_owned(),
                Err(error) => error.to_string(),
            };
            let of = |category: Category| format!("{} {}", category.kind, category.dtype);
            let pair = format!("{} and {} with default {default}", of(one), of(other));
            compared.push((pair, ours, torch[row][column].as_str().unwrap_or_default().to_owned()));
        }
    }
    set_default_dtype(DType::F32)?;
    Ok(compared)
}

/// All pairs of dtypes with both sides' answers: what they promote to, and whether the first may be written to the
/// second.
pub fn pairs_compared(torch: &Json) -> Vec<Pair> {
    let mut compared = Vec::new();
    for (row, one) in DTYPES.into_iter().enumerate() {
        for (column, other) in DTYPES.into_iter().enumerate() {
            let promoted =
                promote_types(one, other).map_or_else(|error| error.to_string(), |dtype| dtype.to_string());
            let ours = json!([promoted, can_cast(one, other)]);
            compared.push((format!("{one} and {other}"), ours.to_string(), torch[row][column].to_string()));
        }
    }
    compared
}

/// Whether the only difference is that torch has complex dtypes of 16-bit floats, where the next wider one stands here.
pub fn is_narrow_complex(ours: &str, torch: &str) -> bool {
    ours.contains("complex64") && ["complex32", "bcomplex32"].contains(&torch)
}
