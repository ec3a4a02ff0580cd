//! What operators share that make tensors from nothing: no argument is a tensor, so options choose the backend.
//!
//! The kernel for `BackendSelect` computes the key from dtype, layout and device, and calls on with it alone. What has
//! no kernel there fails with the error of that key.

use opgrid_core::operator::KernelOf;
use opgrid_core::schema::OperatorName;
use opgrid_core::{
    Argument, DType, Device, DispatchKey, DispatchKeySet, Generator, Layout, Library, MemoryFormat, Operator,
    OperatorBuilder, Result, Return, Signature, WritesLast, compute_dispatch_key,
};

use opgrid_tensor::families::result::{check_result, give_shape, same_dtype};
use opgrid_tensor::families::{DefineFamily, DefineKind, kind};
use opgrid_tensor::ops::EmptyMemoryFormat;
use opgrid_tensor::tensor::{Geometry, Tensor, TensorSpec};

/// The signature of an operator whose last arguments are dtype, layout, device and whether memory is pinned.
pub trait Factory: Signature {
    /// The keys that such a call goes on with, by its options.
    const SELECTED: Self::Returning<DispatchKeySet>;
}

macro_rules! factory {
    ($(($($name:ident $value:ident),*))*) => {
        $(impl<Ret: Return, $($name: Argument),*> Factory
            for fn($($name,)* Option<DType>, Option<Layout>, Option<Device>, Option<bool>) -> Ret
        {
            const SELECTED: Self::Returning<DispatchKeySet> =
                |$($value,)* dtype, layout, device, _pin_memory| selected(dtype, layout, device);
        })*
    };
}

factory! {
    (A _a)
    (A _a, B _b)
    (A _a, B _b, C _c)
    (A _a, B _b, C _c, D _d)
}

/// Adds the kernels of a factory to an operator.
pub trait Factories<O: Operator>: Sized {
    /// The choice of the backend.
    fn by_options(self) -> Self
    where
        O::Signature: Factory;

    /// Registers a kernel for every backend, behind the selection of the backend.
    fn factory(self, kernel: KernelOf<O>) -> Self
    where
        O::Signature: Factory;
}

impl<O: Operator> Factories<O> for OperatorBuilder<'_, O> {
    #[track_caller]
    fn by_options(self) -> Self
    where
        O::Signature: Factory,
    {
        self.selecting(DispatchKey::BackendSelect, O::Signature::SELECTED)
    }

    #[track_caller]
    fn factory(self, kernel: KernelOf<O>) -> Self
    where
        O::Signature: Factory,
    {
        self.by_options().on_every_backend(kernel)
    }
}

/// An operator of sizes and options.
type OfSizes = fn(Vec<i64>, Option<DType>, Option<Layout>, Option<Device>, Option<bool>) -> Tensor;
/// A signature of sizes, a generator of random numbers, and options.
type OfGenerator =
    fn(Vec<i64>, Option<Generator>, Option<DType>, Option<Layout>, Option<Device>, Option<bool>) -> Tensor;

/// Defines an operator of sizes and options with its `out` form; `fill` writes the elements of both by other operators.
#[track_caller]
pub fn define_filled<F, O>(library: &mut Library, operator: F, output: O, fill: fn(&Tensor) -> Result<()>)
where
    F: Operator<Signature = OfSizes>,
    O: Operator<Signature = fn(Vec<i64>, Tensor) -> WritesLast>,
{
    let explicit = DispatchKey::CompositeExplicitAutograd;
    let functional = library.define_with_forms(operator, &kind::FACTORY).by_options();
    let _ = functional.closure(explicit, move |(size, dtype, layout, device, pin_memory)| {
        let made = EmptyMemoryFormat.call(size, dtype, layout, device, pin_memory, None);
        made.and_then(|out| fill(&out).map(|()| out)).map_err(|error| error.within(F::name()))
    });
    let _ = library.implement(output).closure(explicit, move |(size, out)| {
        let written = || {
            give_shape(out, &TensorSpec::contiguous(size, out.dtype(), out.device())?)?;
            fill(out)
        };
        written().map_err(|error| error.within(O::name()))
    });
}

/// Writes the `out` form of an operator that makes a tensor like another one, in the dtype of the output; `fill` writes
/// the elements.
///
/// # Errors
///
/// An output of another shape, or that repeats elements; those of `fill`.
pub fn give_like(
    out: &Tensor,
    input: &Tensor,
    memory_format: Option<MemoryFormat>,
    fill: impl FnOnce(&Tensor) -> Result<()>,
) -> Result<()> {
    give(out, input.spec()?.geometry().like(memory_format.unwrap_or(MemoryFormat::Preserve))?, fill)
}

/// Gives an output a geometry and fills it, for a factory operator.
///
/// # Errors
///
/// As [`give_like`].
pub fn give(out: &Tensor, geometry: Geometry, fill: impl FnOnce(&Tensor) -> Result<()>) -> Result<()> {
    let spec = out.spec()?.with_geometry(geometry);
    check_result(out, &spec)?;
    give_shape(out, &spec)?;
    fill(out)
}

/// Fills an output in the dtype of `input`, which the output has to have.
///
/// # Errors
///
/// As [`give_like`]; an output of another dtype.
pub fn fill_like(
    out: &Tensor,
    input: &Tensor,
    memory_format: Option<MemoryFormat>,
    fill: impl FnOnce(&Tensor) -> Result<()>,
) -> Result<()> {
    let spec = input.spec()?;
    same_dtype(out, spec)?;
    give_like(out, input, memory_format, fill)
}

/// Defines an operator of sizes and options, and the same with a generator, with their `out` forms; `fill` draws the elements
/// of all.
#[track_caller]
pub fn define_drawn<P, G, O, S>(
    library: &mut Library,
    (plain, seeded): (P, G),
    (output, seeded_output): (O, S),
    fill: fn(&Tensor, Option<&Generator>) -> Result<()>,
) where
    P: Operator<Signature = OfSizes>,
    G: Operator<Signature = OfGenerator>,
    O: Operator<Signature = fn(Vec<i64>, Tensor) -> WritesLast>,
    S: Operator<Signature = fn(Vec<i64>, Option<Generator>, Tensor) -> WritesLast>,
{
    let explicit = DispatchKey::CompositeExplicitAutograd;
    let drawn = move |generator: Option<&Generator>, made: Result<Tensor>, name: fn() -> OperatorName| {
        made.and_then(|out| fill(&out, generator).map(|()| out)).map_err(|error| error.within(name()))
    };
    let _ = library.define_with_forms(plain, &kind::RANDOM).closure(
        explicit,
        move |(size, dtype, layout, device, pin_memory)| {
            drawn(None, EmptyMemoryFormat.call(size, dtype, layout, device, pin_memory, None), P::name)
        },
    );
    let _ = library.define_with_forms(seeded, &kind::RANDOM).closure(
        explicit,
        move |(size, generator, dtype, layout, device, pin_memory)| {
            drawn(generator, EmptyMemoryFormat.call(size, dtype, layout, device, pin_memory, None), G::name)
        },
    );
    let written =
        move |size: &[i64], generator: Option<&Generator>, out: &Tensor, name: fn() -> OperatorName| {
            let shaped = TensorSpec::contiguous(size, out.dtype(), out.device())
                .and_then(|spec| give_shape(out, &spec));
            shaped.and_then(|()| fill(out, generator)).map_err(|error| error.within(name()))
        };
    let _ = library.implement(output).closure(explicit, move |(size, out)| written(size, None, out, O::name));
    let _ = library
        .implement(seeded_output)
        .closure(explicit, move |(size, generator, out)| written(size, generator, out, S::name));
}

/// The keys that such a call goes on with.
///
/// # Errors
///
/// There is no key for such data.
#[inline]
pub fn selected(
    dtype: Option<DType>,
    layout: Option<Layout>,
    device: Option<Device>,
) -> Result<DispatchKeySet> {
    const CPU: DispatchKeySet = DispatchKeySet::from_key(DispatchKey::Cpu);
    match compute_dispatch_key(dtype, layout, device)? {
        DispatchKey::Cpu => Ok(CPU),
        key => Ok(key.key_set()),
    }
}

/// Samples of operators that make tensors.
#[cfg(feature = "samples")]
pub mod samples {

    use super::*;
    use opgrid_kernels::random;
    use opgrid_samples::prelude::*;
    use opgrid_tensor::tensor::default_dtype;

    /// Samples of such a pair of operators, whose elements have that distribution.
    pub fn of_drawn<P: Operator, G: Operator>(
        samples: &mut Samples,
        (plain, seeded): (P, G),
        distribution: Distribution,
    ) {
        let expected = move |it: &Inputs| -> Result<Expected> {
            let (size, dtype): (_, Option<DType>) = (it.value("size")?, it.value("dtype")?);
            Ok(Expected::Random(size, dtype.unwrap_or(default_dtype()), distribution))
        };
        let sizes = |dtype| {
            [vec![2000], vec![40, 50], vec![0], vec![]].map(|size| given(size).named("dtype", dtype)).to_vec()
        };
        samples.operator_with(plain, INEXACT, sizes, expected).refuses("", given([-1].to_vec()));
        let with_generator = |dtype| {
            vec![given([2000].to_vec()).named("generator", random::generator(3)).named("dtype", dtype)]
        };
        samples.operator_with(seeded, INEXACT, with_generator, expected);
    }
}
