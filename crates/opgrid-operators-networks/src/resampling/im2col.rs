//! `aten::im2col`, `col2im`: the patches of images as columns, and sums of columns as images.
//!
//! `im2col`: `out[n, (c, i, j), p] = self[n, c, y, x]` at row `y = p.row * stride + i * dilation - padding` and the column that
//! follows likewise; `col2im` adds each `self[n, (c, i, j), p]` to `out[n, c, y, x]`.
//!
//! - Shapes: images of a batch or a single one; `[batch, channels * window, places]` are the columns.
//! - Dtypes: floats, complex numbers and bools, as in torch.
//! - Aliasing: the `out` forms write `out`, which must not overlap `self`.
//! - Errors: lists without two numbers; sizes of 0 but that of the batch; no place for the window; columns of another size.
//! - Source: torch.nn.functional.unfold and fold, PyTorch 2.15.

use crate::prelude::*;
use opgrid_kernels::products::{Windows, fold, unfold};
use opgrid_tensor::tensor::choose::unsupported;

pub use opgrid_tensor::ops::resampling::im2col::*;

/// The family of `aten::im2col`, which turns patches of images into columns.
pub const IM2COL: Family<Im2col> =
    Family::new(Im2col, &kind::RESAMPLING, |input, kernel, dilation, padding, stride| {
        let spec = input.spec()?;
        check(spec.dtype())?;
        let (batch, image) = spec.sizes().split_at(spec.sizes().len().saturating_sub(3));
        let &[channels, height, width] = image else { return Err(not_images(spec)) };
        if batch.len() > 1 || image.contains(&0) {
            return Err(not_images(spec));
        }
        let movement = Movement::new(kernel, dilation, padding, stride)?;
        let places = movement.places([height, width])?;
        let rows = movement.window().and_then(|window| window.checked_mul(channels));
        let columns = places[0].checked_mul(places[1]);
        let (Some(rows), Some(columns)) = (rows, columns) else {
            return Err(argument(format!(
                "the number of patches of shape {:?} overflows 64 bits",
                spec.sizes()
            )));
        };
        TensorSpec::contiguous(&[batch, &[rows, columns]].concat(), spec.dtype(), spec.device())
    })
    .same_dtype_out();

/// The family of `aten::col2im`, which adds columns up to images.
pub const COL2IM: Family<Col2im> =
    Family::new(Col2im, &kind::RESAMPLING, |input, output, kernel, dilation, padding, stride| {
        let spec = input.spec()?;
        check(spec.dtype())?;
        let &[height, width] = output else {
            return Err(argument(format!("argument `output_size` is {output:?}, expected two sizes")));
        };
        if height < 1 || width < 1 {
            return Err(argument(format!(
                "argument `output_size` is {output:?}, expected sizes of at least 1"
            )));
        }
        let movement = Movement::new(kernel, dilation, padding, stride)?;
        let places = movement.places([height, width])?;
        let (batch, columns) = spec.sizes().split_at(spec.sizes().len().saturating_sub(2));
        let (window, count) = (movement.window(), places[0].checked_mul(places[1]));
        match (columns, window, count) {
            (&[rows, found], Some(window), Some(count))
                if batch.len() <= 1 && rows > 0 && rows % window == 0 && found == count =>
            {
                let sizes = [batch, &[rows / window, height, width]].concat();
                TensorSpec::contiguous(&sizes, spec.dtype(), spec.device())
            }
            _ => Err(argument(format!(
                "argument `self` has shape {:?}, expected a multiple of the window's elements, \
                 {window:?}, and a column for each of the {count:?} positions on images of {output:?}",
                spec.sizes()
            ))),
        }
    })
    .same_dtype_out();

pub(super) fn register(library: &mut Library) {
    library
        .family(&IM2COL)
        .cpu(|input, kernel, dilation, padding, stride, out| {
            let image = &input.sizes()[input.dim() - 3..];
            let movement = Movement::new(kernel, dilation, padding, stride)?;
            let windows = movement.windows(input.numel(), [image[0], image[1], image[2]])?;
            with_dtype!(input.dtype(), T => unfold::<T>(&windows, out.array()?, input.array()?))
        })
        .derivative(|d, (input, kernel, dilation, padding, stride)| {
            let image = input.sizes()[input.dim() - 2..].to_vec();
            let [kernel, dilation, padding, stride] =
                [kernel, dilation, padding, stride].map(<[i64]>::to_vec);
            d.by(input, [], move |grad, []| Col2im.call(grad, &image, &kernel, &dilation, &padding, &stride))
        });
    library
        .family(&COL2IM)
        .cpu(|input, _, kernel, dilation, padding, stride, out| {
            let image = &out.sizes()[out.dim() - 3..];
            let movement = Movement::new(kernel, dilation, padding, stride)?;
            let windows = movement.windows(out.numel(), [image[0], image[1], image[2]])?;
            with_dtype!(input.dtype(), T => fold::<T>(&windows, out.array()?, input.array()?))
        })
        .derivative(|d, (input, _, kernel, dilation, padding, stride)| {
            let [kernel, dilation, padding, stride] =
                [kernel, dilation, padding, stride].map(<[i64]>::to_vec);
            d.by(input, [], move |grad, []| Im2col.call(grad, &kernel, &dilation, &padding, &stride))
        });
}

/// Dtypes that are taken.
const TAKEN: &[DType] =
    &[DType::Bool, DType::F16, DType::BF16, DType::F32, DType::F64, DType::Complex64, DType::Complex128];

/// # Errors
///
/// A dtype that is not taken.
fn check(dtype: DType) -> Result<()> {
    if TAKEN.contains(&dtype) {
        Ok(())
    } else {
        Err(unsupported(dtype, "a floating-point or complex dtype, or bool"))
    }
}

#[cold]
fn not_images(spec: &TensorSpec) -> opgrid_core::Error {
    argument(format!(
        "argument `self` has shape {:?}, expected three or four dimensions, of which only the batch may be empty",
        spec.sizes()
    ))
}

/// How the window moves: rows and columns.
#[derive(Clone, Copy)]
struct Movement {
    kernel: [i64; 2],
    dilation: [i64; 2],
    padding: [i64; 2],
    stride: [i64; 2],
}

impl Movement {
    fn new(kernel: &[i64], dilation: &[i64], padding: &[i64], stride: &[i64]) -> Result<Self> {
        let two = |name: &str, list: &[i64], least: i64| match *list {
            [rows, columns] if rows.min(columns) >= least => Ok([rows, columns]),
            _ => Err(argument(format!(
                "argument `{name}` is {list:?}, expected two numbers of at least \
                     {least}"
            ))),
        };
        Ok(Self {
            kernel: two("kernel_size", kernel, 1)?,
            dilation: two("dilation", dilation, 1)?,
            padding: two("padding", padding, 0)?,
            stride: two("stride", stride, 1)?,
        })
    }

    /// The elements of the window.
    fn window(&self) -> Option<i64> {
        self.kernel[0].checked_mul(self.kernel[1])
    }

    /// How many places there are in rows and columns.
    fn places(&self, image: [i64; 2]) -> Result<[i64; 2]> {
        let mut places = [0; 2];
        for dim in 0..2 {
            let padded = self.padding[dim].checked_mul(2).and_then(|both| both.checked_add(image[dim]));
            let reach = self.dilation[dim].checked_mul(self.kernel[dim] - 1);
            match padded.zip(reach) {
                Some((padded, reach)) if reach < padded => {
                    places[dim] = (padded - reach - 1) / self.stride[dim] + 1
                }
                _ => {
                    return Err(argument(format!(
                        "a kernel of size {:?} with dilation {:?} and padding {:?} does not fit images \
                         of {image:?}",
                        self.kernel, self.dilation, self.padding
                    )));
                }
            }
        }
        Ok(places)
    }

    /// Returns the windows for loops over images with `elements` elements in total.
    fn windows(&self, elements: i64, [channels, height, width]: [i64; 3]) -> Result<Windows> {
        let places = self.places([height, width])?;
        let behind = |first: usize, [rows, columns]: [i64; 2]| [first, rows as usize, columns as usize];
        Ok(Windows {
            batch: elements.checked_div(channels * height * width).unwrap_or(0) as usize,
            groups: 1,
            channels: channels as usize,
            filters: 0,
            image: behind(1, [height, width]),
            window: behind(1, self.kernel),
            places: behind(1, places),
            step: behind(1, self.stride),
            dilation: behind(1, self.dilation),
            padding: behind(0, self.padding),
        })
    }
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let refused = |kernel: Vec<i64>, padding: i64| {
            let x = generate::numbers(DType::F32, &[2, 3, 3], 0);
            given(x).and(kernel).and(vec![1, 1]).and(vec![padding; 2]).and(vec![1, 1])
        };
        samples
            .operator(Im2col, TAKEN, inputs, |it| {
                let x = it.tensor("self")?;
                let (outer, image) = x.sizes().split_at(x.sizes().len() - 2);
                let movement = movement_of(it)?;
                let places = movement.places([image[0], image[1]])?;
                let [height, width] = movement.kernel;
                let channels = outer[outer.len() - 1];
                let sizes =
                    [&outer[..outer.len() - 1], &[channels * height * width, places[0] * places[1]]].concat();
                Ok(Plain::from_fn(x.dtype(), &sizes, |at| {
                    let (outer, own) = at.split_at(at.len() - 2);
                    match movement.element(own, places[1], [image[0], image[1]]) {
                        Some(element) => x.at(&[outer, &element].concat()),
                        None => Scalar::Int(0),
                    }
                })
                .into())
            })
            .refuses("does not fit", refused(vec![4, 1], 0))
            .refuses("argument `kernel_size`", refused(vec![2], 0))
            .refuses("argument `kernel_size`", refused(vec![0, 2], 0))
            .refuses("argument `padding`", refused(vec![2, 2], -1));
        samples
            .operator(Col2im, TAKEN, column_inputs, |it| {
                let (x, output): (_, Vec<i64>) = (it.tensor("self")?, it.value("output_size")?);
                let movement = movement_of(it)?;
                let (outer, columns) = x.sizes().split_at(x.sizes().len() - 2);
                let [height, width] = movement.kernel;
                let wide = if x.dtype().is_floating_point() { DType::F64 } else { x.dtype() };
                let mut sum = Plain::from_elements::<i64>(
                    wide,
                    &[outer, &[columns[0] / (height * width)], &output].concat(),
                    &[],
                );
                let places = movement.places([output[0], output[1]])?;
                for at in naive::positions(x.sizes()) {
                    let (outer, own) = at.split_at(at.len() - 2);
                    let Some(element) = movement.element(own, places[1], [output[0], output[1]]) else {
                        continue;
                    };
                    let to = [outer, &element].concat();
                    sum.set(&to, number::plus(sum.at(&to), x.at(&at)));
                }
                Ok(sum.to(x.dtype()).into())
            })
            .tolerance(4.0)
            .refuses("a column for each", {
                let x = generate::numbers(DType::F32, &[4, 3], 0);
                given(x).and(vec![3, 3]).and(vec![2, 2]).and(vec![1, 1]).and(vec![0, 0]).and(vec![1, 1])
            });
        // Torch rounds each of the sums, of up to as many terms as the window has elements.
        samples.rounds(Col2im, Roundings::all(Rounding::Sum(16)));
    }

    impl Movement {
        /// Channel, row and column of the image that belong to a row and a column of patches, if they are in the image.
        fn element(&self, at: &[i64], width: i64, image: [i64; 2]) -> Option<[i64; 3]> {
            let [_, wide] = self.kernel;
            let (tap, place) = (at[0] % self.window()?, at[1]);
            let (tap, place) = ([tap / wide, tap % wide], [place / width, place % width]);
            let of = |dim: usize| {
                place[dim] * self.stride[dim] + tap[dim] * self.dilation[dim] - self.padding[dim]
            };
            let (row, column) = (of(0), of(1));
            let inside = (0..image[0]).contains(&row) && (0..image[1]).contains(&column);
            inside.then_some([at[0] / self.window()?, row, column])
        }
    }

    fn movement_of(it: &Inputs) -> Result<Movement> {
        let lists = ["kernel_size", "dilation", "padding", "stride"].map(|name| it.value::<Vec<i64>>(name));
        let [kernel, dilation, padding, stride] = lists;
        Movement::new(&kernel?, &dilation?, &padding?, &stride?)
    }

    /// An image, window, dilation, padding and stride.
    pub type Case = (&'static [i64], [i64; 2], [i64; 2], [i64; 2], [i64; 2]);

    const CASES: [Case; 5] = [
        (&[2, 3, 4, 5], [2, 3], [1, 1], [0, 0], [1, 1]),
        (&[2, 5, 6], [2, 2], [2, 1], [1, 0], [1, 2]),
        (&[1, 1, 3, 3], [3, 3], [1, 1], [1, 2], [2, 3]),
        (&[0, 2, 3, 3], [2, 2], [1, 1], [0, 0], [1, 1]),
        (&[1, 2, 1, 4], [1, 1], [1, 1], [0, 0], [1, 1]),
    ];

    fn inputs(dtype: DType) -> Vec<Sample> {
        let one = |(image, kernel, dilation, padding, stride): Case| {
            let lists = [kernel, dilation, padding, stride];
            lists
                .iter()
                .fold(given(generate::numbers(dtype, image, 1)), |sample, list| sample.and(list.to_vec()))
        };
        CASES.into_iter().map(one).collect()
    }

    fn column_inputs(dtype: DType) -> Vec<Sample> {
        let one = |(image, kernel, dilation, padding, stride): Case| {
            let movement = Movement::new(&kernel, &dilation, &padding, &stride).ok()?;
            let (outer, image) = image.split_at(image.len() - 2);
            let places = movement.places([image[0], image[1]]).ok()?;
            let rows = outer[outer.len() - 1] * kernel[0] * kernel[1];
            let columns = [&outer[..outer.len() - 1], &[rows, places[0] * places[1]]].concat();
            let first = given(generate::numbers(dtype, &columns, 1)).and(image.to_vec());
            let lists = [kernel, dilation, padding, stride];
            Some(lists.iter().fold(first, |sample, list| sample.and(list.to_vec())))
        };
        CASES.into_iter().filter_map(one).collect()
    }
}
