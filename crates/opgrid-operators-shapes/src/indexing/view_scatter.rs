//! `aten::slice_scatter`, `aten::select_scatter`, `aten::diagonal_scatter`, `aten::as_strided_scatter`: a copy in which a
//! view has other elements.
//!
//! - Shapes: that of `self`, whose dimensions keep their order in memory; `src` has that of the view.
//! - Places: `as_strided_scatter` writes what `as_strided` reads of `self`, or of a copy of it where dimensions repeat elements; what
//!   it writes into gaps between elements is lost with them.
//! - Dtypes: that of `self`, to which `src` is converted.
//! - Aliasing: the `out` forms write `out`, of the dtype of `self`, and give it its shape if it has no elements.
//! - Dispatch: composites of `clone`, the view and `copy_`.
//! - Errors: those of the view; a `src` of another shape.
//! - Source: torch.slice_scatter, torch.select_scatter, torch.diagonal_scatter, torch.as_strided_scatter, PyTorch 2.15.

use crate::prelude::*;
use crate::views::as_strided::placed;
use opgrid_tensor::ops::{AsStrided, CopyInplace, Diagonal, SelectInt, SliceTensor};

pub use opgrid_tensor::ops::indexing::view_scatter::*;

pub(super) fn register(library: &mut Library) {
    library.define_with_forms(SliceScatter, &kind::INDEXING).on_every_backend(slice_scatter).derivative(
        |d, (input, src, dim, start, end, step)| {
            let sizes = src.sizes().to_vec();
            d.by(input, [], move |grad, []| {
                SliceScatter.call(grad, &derivatives::zeros_of(&sizes, grad)?, dim, start, end, step)
            })?;
            d.by(src, [], move |grad, []| SliceTensor.call(grad, dim, start, end, step))
        },
    );
    library.implement(SliceScatterOut).on_every_backend(|input, src, dim, start, end, step, out| {
        result::copied(out, &slice_scatter(input, src, dim, start, end, step)?)
    });
    library.define_with_forms(SelectScatter, &kind::INDEXING).on_every_backend(select_scatter).derivative(
        |d, (input, src, dim, index)| {
            let sizes = src.sizes().to_vec();
            d.by(input, [], move |grad, []| {
                SelectScatter.call(grad, &derivatives::zeros_of(&sizes, grad)?, dim, index)
            })?;
            d.by(src, [], move |grad, []| SelectInt.call(grad, dim, index))
        },
    );
    library.implement(SelectScatterOut).on_every_backend(|input, src, dim, index, out| {
        result::copied(out, &select_scatter(input, src, dim, index)?)
    });
    library
        .define_with_forms(DiagonalScatter, &kind::INDEXING)
        .on_every_backend(diagonal_scatter)
        .derivative(|d, (input, src, offset, dim1, dim2)| {
            let sizes = src.sizes().to_vec();
            d.by(input, [], move |grad, []| {
                DiagonalScatter.call(grad, &derivatives::zeros_of(&sizes, grad)?, offset, dim1, dim2)
            })?;
            d.by(src, [], move |grad, []| Diagonal.call(grad, offset, dim1, dim2))
        });
    library.implement(DiagonalScatterOut).on_every_backend(|input, src, offset, dim1, dim2, out| {
        result::copied(out, &diagonal_scatter(input, src, offset, dim1, dim2)?)
    });
    library
        .define_with_forms(AsStridedScatter, &kind::INDEXING)
        .on_every_backend(as_strided_scatter)
        .derivative(|d, (input, src, size, stride, offset)| {
            let (own, first) = lies(input.spec()?.geometry())?;
            let (sizes, size, stride) = (src.sizes().to_vec(), size.to_vec(), stride.to_vec());
            let offset = Some(offset.unwrap_or(first) - first);
            let (places, part) = (own.clone(), (size.clone(), stride.clone()));
            d.by(input, [], move |grad, []| {
                let ones = Tensor::ones(&[own.end()], grad.dtype(), grad.device())?;
                let ones = AsStrided.call(&ones, own.sizes(), own.strides(), Some(0))?;
                let zeros = derivatives::zeros_of(&sizes, grad)?;
                grad.mul(&AsStridedScatter.call(&ones, &zeros, &size, &stride, offset)?)
            })?;
            d.by(src, [], move |grad, []| {
                let memory = placed(grad, &places, places.end())?;
                AsStrided.call(&memory, &part.0, &part.1, offset)
            })
        });
    library.implement(AsStridedScatterOut).on_every_backend(|input, src, size, stride, offset, out| {
        result::copied(out, &as_strided_scatter(input, src, size, stride, offset)?)
    });
}

/// How a copy of a tensor lies in which places are written, from the beginning of its memory; and the place in the tensor's memory
/// that this is. As in torch, elements that lie in one place are copied one by one.
fn lies(geometry: &Geometry) -> Result<(Geometry, i64)> {
    if geometry.repeats() {
        Ok((geometry.like(MemoryFormat::Preserve)?, 0))
    } else {
        Ok((geometry.at_offset(0)?, geometry.offset()))
    }
}

/// A copy of `input`, of which `view` has the elements of `src`.
fn with_view(input: &Tensor, src: &Tensor, view: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let result = opgrid_tensor::ops::CloneTensor.call(input, Some(MemoryFormat::Preserve))?;
    write(&view(&result)?, src)?;
    Ok(result)
}

/// Gives a view the elements of `src`.
fn write(view: &Tensor, src: &Tensor) -> Result<()> {
    if view.sizes() != src.spec()?.sizes() {
        let message =
            format!("argument `src` has shape {:?}, expected {:?} as the view", src.sizes(), view.sizes());
        return Err(argument(message));
    }
    CopyInplace.call(view, src, false)
}

fn slice_scatter(
    input: &Tensor,
    src: &Tensor,
    dim: i64,
    start: Option<i64>,
    end: Option<i64>,
    step: i64,
) -> Result<Tensor> {
    with_view(input, src, |copy| SliceTensor.call(copy, dim, start, end, step))
}

fn select_scatter(input: &Tensor, src: &Tensor, dim: i64, index: i64) -> Result<Tensor> {
    with_view(input, src, |copy| SelectInt.call(copy, dim, index))
}

fn diagonal_scatter(input: &Tensor, src: &Tensor, offset: i64, dim1: i64, dim2: i64) -> Result<Tensor> {
    with_view(input, src, |copy| Diagonal.call(copy, offset, dim1, dim2))
}

fn as_strided_scatter(
    input: &Tensor,
    src: &Tensor,
    size: &[i64],
    stride: &[i64],
    storage_offset: Option<i64>,
) -> Result<Tensor> {
    let (own, first) = lies(input.spec()?.geometry())?;
    let storage_offset = storage_offset.unwrap_or(first);
    let offset = storage_offset.checked_sub(first).filter(|offset| *offset >= 0);
    let offset = offset.ok_or_else(|| {
        argument(format!(
            "argument `storage_offset` is {storage_offset}, which is before the first element of \
             `self`; expected {first} or more"
        ))
    })?;
    if own.is_dense() || own.numel() == 0 {
        return with_view(input, src, |copy| AsStrided.call(copy, size, stride, Some(offset)));
    }
    // Places of memory are meant, so that gaps stay until the part is written.
    let memory = AsStrided.call(input, &[own.end()], &[1], Some(first))?;
    let memory = opgrid_tensor::ops::CloneTensor.call(&memory, None)?;
    write(&AsStrided.call(&memory, size, stride, Some(offset))?, src)?;
    let copy = AsStrided.call(&memory, own.sizes(), own.strides(), Some(0))?;
    opgrid_tensor::ops::CloneTensor.call(&copy, Some(MemoryFormat::Preserve))
}

#[cfg(feature = "samples")]
pub(crate) mod samples {
    use super::*;
    use crate::kinds::views;
    use opgrid_samples::prelude::*;

    pub(crate) fn collect(samples: &mut Samples) {
        let gaps = Difference {
            id: "scattered-copies-have-no-gaps",
            what: "torch's copies in which a part is replaced keep the gaps and the offset of `self`; \
                 here they are dense",
            why: "no element is in the gaps",
            test: (
                "opgrid-operators/tests/all/differences/layouts.rs",
                "results_do_not_depend_on_the_layout",
            ),
            when: |seen| seen.out().is_none() && (seen.part == Part::Strides || seen.begins_memory_here()),
            directed: Some(Directed {
                operator: "aten::slice_scatter",
                arguments: || {
                    vec![
                        ("self", Operand::strided(0, DType::F32, (&[2, 2], &[4, 1], 1), &[1.0; 4]).into()),
                        ("src", Operand::rows(1, DType::F32, &[1, 2], &[2.0; 2]).into()),
                        ("dim", Scalar::Int(0).into()),
                        ("start", Scalar::Int(0).into()),
                        ("end", Scalar::Int(1).into()),
                    ]
                },
                needs: None,
            }),
        };
        samples.differs(
            AsStridedScatter,
            Difference {
                id: "parts-beside-the-elements",
                what: "torch writes the part that `as_strided_scatter` selects to memory before or \
                     after the copy's elements, where it is lost; here that is rejected",
                why: "elements must not be lost",
                test: (
                    "opgrid-operators/tests/all/differences/refused.rs",
                    "what_torch_does_not_check_is_refused",
                ),
                when: |seen| {
                    seen.we_refuse("before the first element of `self`")
                        || seen.we_refuse("are out of bounds for storage of size")
                },
                directed: Some(Directed {
                    operator: "aten::as_strided_scatter",
                    arguments: || {
                        vec![
                            ("self", Operand::strided(0, DType::F32, (&[2], &[1], 1), &[1.0; 2]).into()),
                            ("src", Operand::rows(1, DType::F32, &[1], &[5.0]).into()),
                            ("size", Argument::Ints(vec![1])),
                            ("stride", Argument::Ints(vec![1])),
                            ("storage_offset", Scalar::Int(0).into()),
                        ]
                    },
                    needs: None,
                }),
            },
        );
        samples.differs(SliceScatter, gaps);
        samples.differs(SelectScatter, gaps);
        samples.differs(DiagonalScatter, gaps);
        samples.differs(AsStridedScatter, gaps);
        let slices = |dtype| {
            let cases: [(&[i64], &[i64], [i64; 4]); 4] = [
                (&[5, 3], &[2, 3], [0, 1, 4, 2]),
                (&[2, 7], &[2, 2], [1, -5, -1, 3]),
                (&[4], &[0], [0, 3, 1, 1]),
                (&[0], &[0], [0, 0, 2, 1]),
            ];
            let one = |(sizes, src, [dim, start, end, step]): (&[i64], &[i64], [i64; 4])| {
                beside(dtype, sizes, src).and(dim).and(start).and(end).and(step)
            };
            cases.map(one).to_vec()
        };
        let x = generate::numbers(DType::F32, &[2, 3], 0);
        samples
            .operator(SliceScatter, STORED, slices, |it| {
                let (dim, start, step): (i64, i64, i64) =
                    (it.value("dim")?, it.value("start")?, it.value("step")?);
                let sizes = it.tensor("self")?.sizes();
                let dim = naive::dimension(dim, sizes.len());
                let start = (if start < 0 { start + sizes[dim] } else { start }).clamp(0, sizes[dim]);
                replaced(it, &|position| {
                    let mut place = position.to_vec();
                    place[dim] = start + place[dim] * step;
                    place
                })
            })
            .refuses("expected", given(x.clone()).and(x.with_sizes(&[6])).and(0).and(0).and(1));
        let selected = |dtype| {
            let cases: [(&[i64], &[i64], i64, i64); 4] =
                [(&[2, 3], &[3], 0, 1), (&[2, 3], &[2], -1, -3), (&[4], &[], 0, 2), (&[2, 0], &[0], 0, 1)];
            cases.map(|(sizes, src, dim, index)| beside(dtype, sizes, src).and(dim).and(index)).to_vec()
        };
        samples
            .operator(SelectScatter, STORED, selected, |it| {
                let (dim, index): (i64, i64) = (it.value("dim")?, it.value("index")?);
                let sizes = it.tensor("self")?.sizes();
                let dim = naive::dimension(dim, sizes.len());
                let index = if index < 0 { index + sizes[dim] } else { index };
                replaced(it, &|position| [&position[..dim], &[index], &position[dim..]].concat())
            })
            .refuses("expected", given(x.clone()).and(x.clone()).and(0).and(0));
        let diagonals = |dtype| {
            let cases: [(&[i64], &[i64], [i64; 3]); 4] = [
                (&[3, 4], &[3], [1, 0, 1]),
                (&[3, 4], &[2], [-1, 0, -1]),
                (&[2, 3, 4], &[3, 2], [0, 2, 0]),
                (&[0, 2], &[0], [0, 0, 1]),
            ];
            let one = |(sizes, src, [offset, dim1, dim2]): (&[i64], &[i64], [i64; 3])| {
                beside(dtype, sizes, src).and(offset).and(dim1).and(dim2)
            };
            cases.map(one).to_vec()
        };
        samples
            .operator(DiagonalScatter, STORED, diagonals, |it| {
                let sizes = it.tensor("self")?.sizes();
                let all = views::samples::Diagonals::new(
                    sizes,
                    it.value("offset")?,
                    views::samples::two_dims(it, sizes.len())?,
                );
                replaced(it, &|position| all.place(position))
            })
            .refuses("expected", given(x.clone()).and(x.clone()));
        let strided = |dtype| {
            pub type Case = (&'static [i64], &'static [i64], &'static [i64], i64);
            let cases: [Case; 3] =
                [(&[12], &[2, 3], &[3, 1], 0), (&[12], &[3, 2], &[1, 4], 2), (&[12], &[], &[], 5)];
            let one = |(sizes, size, stride, offset): Case| {
                beside(dtype, sizes, size).and(size.to_vec()).and(stride.to_vec()).and(offset)
            };
            cases.map(one).to_vec()
        };
        samples
            .operator(AsStridedScatter, STORED, strided, |it| {
                let (stride, offset): (Vec<i64>, i64) = (it.value("stride")?, it.value("storage_offset")?);
                replaced(it, &|position| {
                    vec![position.iter().zip(&stride).fold(offset, |at, (index, step)| at + index * step)]
                })
            })
            .needs_contiguous()
            .refuses("expected", given(x.clone()).and(x).and([2].to_vec()).and([1].to_vec()));
    }

    fn beside(dtype: DType, sizes: &[i64], src: &[i64]) -> Sample {
        given(generate::numbers(dtype, sizes, 0)).and(generate::numbers(dtype, src, 1))
    }

    /// The first argument with the elements of `src` at the places of their positions.
    fn replaced(it: &Inputs, place: &dyn Fn(&[i64]) -> Vec<i64>) -> Result<Expected> {
        let (mut x, src) = (it.tensor("self")?.clone(), it.tensor("src")?);
        for position in naive::positions(src.sizes()) {
            x.set(&place(&position), src.at(&position));
        }
        Ok(x.into())
    }
}
