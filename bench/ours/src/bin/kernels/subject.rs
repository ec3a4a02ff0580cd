//! The tensors that the cases work on. The peer's program makes the same, from the same random numbers.

use opgrid::manual_seed;
use opgrid::ops::ToCopy;
use opgrid::prelude::*;

use crate::mlp::Mlp;

/// Rows of numbers, as many more, and numbers of half of the rows.
pub struct Rows {
    pub x: Tensor,
    pub y: Tensor,
    pub chosen: Tensor,
}

/// A batch of images, and filters.
pub struct Images {
    pub input: Tensor,
    pub filters: Tensor,
}

/// Queries, keys and values.
pub struct Words(pub [Tensor; 3]);

pub struct Subject {
    pub three: [Tensor; 2],
    /// Three tensors that require gradients.
    pub three_marked: [Tensor; 2],
    pub mlp: Mlp,
    /// 1e5 numbers from 0 to 1, twice.
    pub a: Tensor,
    pub b: Tensor,
    /// 1e5 numbers from -0.5 to 0.5, twice.
    pub signed: Tensor,
    /// A copy of `a`.
    pub copy: Tensor,
    /// What is written in place.
    pub out: Tensor,
    pub bools: [Tensor; 2],
    pub all_true: Tensor,
    pub all_false: Tensor,
    /// From 0 to 99, and from 1 to 100.
    pub i64: [Tensor; 2],
    pub f64: [Tensor; 2],
    pub bf16: [Tensor; 2],
    /// Every other one of 2e5.
    pub sliced: Tensor,
    /// `[1000, 100]`.
    pub matrix: Tensor,
    pub row: Tensor,
    pub column: Tensor,
    /// Four quarters of `a`, and two halves of `matrix`.
    pub quarters: Vec<Tensor>,
    pub halves: Vec<Tensor>,
    /// Numbers of half of the rows and columns of `matrix`, and of a row and a column for each of its elements.
    pub rows: Tensor,
    pub columns: Tensor,
    pub row_of_each: Tensor,
    pub column_of_each: Tensor,
    /// Numbers of elements, numbers of rows, and a mask, as lists for `index`.
    pub by_places: [Option<Tensor>; 1],
    pub by_rows: [Option<Tensor>; 1],
    pub by_mask: [Option<Tensor>; 1],
    /// `[1024, 1024]`, twice.
    pub square: [Tensor; 2],
    /// Squares of 64, 256, 1024 and 2048.
    pub factors: [[Tensor; 2]; 4],
    pub vector: Tensor,
    pub batches: [Tensor; 2],
    pub factors_f64: [Tensor; 2],
    pub factors_bf16: [Tensor; 2],
    pub factors_i64: [Tensor; 2],
    /// How many elements `large_a` and `large_b` have.
    pub large: usize,
    pub large_a: Tensor,
    pub large_b: Tensor,
    /// 64, 1e4 and 1e6 numbers.
    pub rows_of: [Rows; 3],
    /// `[1000, 100]` as f64, bf16, f16 and i64.
    pub typed_rows: [Rows; 4],
    pub typed_batches: [[Tensor; 2]; 4],
    pub images: Images,
    /// As f64 and bf16.
    pub typed_images: [Images; 2],
    pub words: Words,
    pub typed_words: [Words; 2],
}

impl Rows {
    fn new(rows: i64, columns: i64) -> Result<Self> {
        let x = rand(&[rows, columns])?;
        Ok(Self { x, y: rand(&[rows, columns])?, chosen: numbers(&[(rows / 2).max(1)], rows)? })
    }

    fn cast(&self, dtype: DType) -> Result<Self> {
        // Not all integers are zero.
        let cast = |numbers: &Tensor| cast(&numbers.mul(100)?, dtype);
        Ok(Self { x: cast(&self.x)?, y: cast(&self.y)?, chosen: self.chosen.clone() })
    }
}

fn rand(size: &[i64]) -> Result<Tensor> {
    Tensor::rand(size, DType::F32, Device::CPU)
}

fn cast(input: &Tensor, dtype: DType) -> Result<Tensor> {
    ToCopy.call(input, Some(dtype), None, None, None, false, None)
}

/// Whole numbers from 0 to below `end`.
fn numbers(size: &[i64], end: i64) -> Result<Tensor> {
    cast(&rand(size)?.mul(end)?, DType::I64)
}

fn marked(tensor: Tensor) -> Result<Tensor> {
    tensor.requires_grad_(true)?;
    Ok(tensor)
}

fn two(make: impl Fn() -> Result<Tensor>) -> Result<[Tensor; 2]> {
    Ok([make()?, make()?])
}

impl Subject {
    /// Everything in its size, divided by `shrink`.
    ///
    /// # Errors
    ///
    /// Those of the operators.
    pub fn new(shrink: i64) -> Result<Self> {
        manual_seed(0);
        let sized = |n: i64| (n / shrink).max(1);
        let (n, height, width, large) = (sized(100_000), sized(1000), 100, sized(10_000_000));
        let (a, b) = (rand(&[n])?, rand(&[n])?);
        let matrix = a.reshape(&[height, width])?;
        let signed = a.sub(0.5)?;
        let bools = [a.lt(&b)?, signed.lt(0.0)?];
        let i64 = [numbers(&[n], 100)?, numbers(&[n], 100)?.add(1)?];
        let (places, rows) = (numbers(&[n], n)?, numbers(&[height / 2], height)?);
        let typed = Rows::new(height, width)?;
        let batches = two(|| rand(&[16, sized(64), sized(64)]))?;
        let images = Images { input: rand(&[8, 16, sized(32), sized(32)])?, filters: rand(&[32, 16, 3, 3])? };
        let word = || rand(&[2, 4, sized(128), 64]);
        let words = Words([word()?, word()?, word()?]);
        let images_as = |dtype| -> Result<Images> {
            Ok(Images { input: cast(&images.input, dtype)?, filters: cast(&images.filters, dtype)? })
        };
        let words_as = |dtype| -> Result<Words> {
            let [query, key, value] = &words.0;
            Ok(Words([cast(query, dtype)?, cast(key, dtype)?, cast(value, dtype)?]))
        };
        let batches_as =
            |dtype| -> Result<[Tensor; 2]> { Ok([cast(&batches[0], dtype)?, cast(&batches[1], dtype)?]) };
        let square = |size: i64| two(|| rand(&[sized(size), sized(size)]));
        Ok(Self {
            three: two(|| rand(&[3]))?,
            three_marked: two(|| marked(rand(&[3])?))?,
            mlp: Mlp::new()?,
            copy: a.add(0)?,
            out: a.add(0)?,
            all_true: a.eq(&a)?,
            all_false: a.ne(&a)?,
            f64: [cast(&a, DType::F64)?, cast(&b, DType::F64)?],
            bf16: [cast(&a, DType::BF16)?, cast(&b, DType::BF16)?],
            sliced: rand(&[2 * n])?.slice(0, None, None, 2)?,
            row: rand(&[width])?,
            column: rand(&[height, 1])?,
            quarters: (0..4)
                .map(|k| a.slice(0, Some(k * n / 4), Some((k + 1) * n / 4), 1))
                .collect::<Result<_>>()?,
            halves: vec![rand(&[height, width / 2])?, rand(&[height, width / 2])?],
            columns: numbers(&[width / 2], width)?,
            row_of_each: numbers(&[height, width], height)?,
            column_of_each: numbers(&[height, width], width)?,
            by_places: [Some(places)],
            by_rows: [Some(rows.clone())],
            by_mask: [Some(bools[0].clone())],
            square: square(1024)?,
            factors: [square(64)?, square(256)?, square(1024)?, square(2048)?],
            vector: rand(&[sized(1024)])?,
            factors_f64: two(|| cast(&rand(&[sized(256), sized(256)])?, DType::F64))?,
            factors_bf16: two(|| cast(&rand(&[sized(256), sized(256)])?, DType::BF16))?,
            factors_i64: two(|| numbers(&[sized(128), sized(128)], 100))?,
            rows_of: [
                Rows::new(1, sized(64).max(8))?,
                Rows::new(sized(100), 100)?,
                Rows::new(sized(1000), sized(1000).max(8))?,
            ],
            typed_rows: [
                typed.cast(DType::F64)?,
                typed.cast(DType::BF16)?,
                typed.cast(DType::F16)?,
                typed.cast(DType::I64)?,
            ],
            typed_batches: [
                batches_as(DType::F64)?,
                batches_as(DType::BF16)?,
                batches_as(DType::F16)?,
                batches_as(DType::I64)?,
            ],
            typed_images: [images_as(DType::F64)?, images_as(DType::BF16)?],
            typed_words: [words_as(DType::F64)?, words_as(DType::BF16)?],
            large: large as usize,
            large_a: Tensor::ones(&[large], DType::F32, Device::CPU)?,
            large_b: Tensor::ones(&[large], DType::F32, Device::CPU)?,
            a,
            b,
            matrix,
            signed,
            bools,
            i64,
            rows,
            batches,
            images,
            words,
        })
    }
}
