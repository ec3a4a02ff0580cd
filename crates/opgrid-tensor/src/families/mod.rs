//! Operator families: one value that says what an operator is, for its kernels and for every backend else.
//!
//! A [`Family`] states an operator's [kind], its shape rule and what its `out` form asks for; `operator!` states its
//! overloads. From a family and one loop come the kernels of all forms, on the CPU
//! ([`DefineFamily::family`]) and on anybody's backend ([`DefineFamily::implement_family`]), and those for meta tensors.
//! The registry gets what layers, suites and tools ask for, as [columns](opgrid_core::Column): the kind, the links
//! between the forms ([`Forms`](opgrid_core::Forms)), the shape rule ([`ShapeRule`]), and for views how to take the same
//! view of another tensor ([`ViewRule`]).

mod define;
pub mod forms;
mod front_ends;
pub mod kind;
pub mod result;
mod results;
mod shape_rule;
mod signature;
mod through_cpu;
mod view;

use opgrid_core::{Kind, Operator};

pub use define::{Backend, Carries, DefineFamily, DefineKind, FamilyBuilder, FamilyKernels};
pub use front_ends::{DeprecatedOrders, NumbersForTensors, Switch, VariadicTensors};
pub use results::Results;
pub use shape_rule::{ShapeRule, result_specs};
pub use signature::{
    FamilySignature, FirstArgument, OutputsOf, SpecsOf, TakesNumber, TakesNumberFirst, ViewSignature,
};
pub use through_cpu::through_cpu;
pub use view::{GeometriesOf, ViewFamily, ViewRule, Views};

use forms::{OutRule, OutShape, Shape};

/// What is known of an operator that gives new tensors: its kind, its shape rule, and what its `out` form asks for.
///
/// One with several results has a shape rule that gives a tuple of specs, and loops with as many outputs.
///
/// # Examples
///
/// A family of one's own: `twice(Tensor self) -> Tensor` with all forms, from a shape rule and a loop.
///
/// ```
/// use opgrid_core::{Dispatcher, Result, operator};
/// use opgrid::families::{DefineFamily, Family, kind};
/// use opgrid::kernels::elementwise;
/// use opgrid::array::{TensorSpec, with_dtype};
/// use opgrid::Tensor;
///
/// operator! {
///     pub Twice = "docs::twice(Tensor self) -> Tensor", in_place, out;
/// }
///
/// const TWICE: Family<Twice> = Family::new(Twice, &kind::POINTWISE_UNARY, |x| x.spec().cloned());
///
/// fn twice(input: &Tensor, out: &Tensor) -> Result<()> {
///     with_dtype!(input.dtype(), T: Float => elementwise::unary::<T, T>(out, input, |x| x + x))
/// }
///
/// let dispatcher = Dispatcher::new();
/// let mut library = dispatcher.library("docs");
/// library.family(&TWICE).cpu(twice);
/// let _registration = library.finish()?;
///
/// let x = Tensor::from_slice(&[1.0f32, 2.0], &[2])?;
/// dispatcher.call(TwiceInplace, (&x,))?;
/// assert_eq!(x.to_vec::<f32>()?, [2.0, 4.0]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
///
/// One with two results, `halves(Tensor self) -> (Tensor floor, Tensor rest)`: two specs, two outputs.
///
/// ```
/// use opgrid_core::{Device, DType, Dispatcher, Result, operator};
/// use opgrid::families::{DefineFamily, Family, kind};
/// use opgrid::kernels::elementwise;
/// use opgrid::Tensor;
///
/// operator! {
///     pub Halves = "docs::halves(Tensor self) -> (Tensor half, Tensor rest)", out;
/// }
///
/// const HALVES: Family<Halves> =
///     Family::new(Halves, &kind::POINTWISE_UNARY, |x| Ok((x.spec()?.clone(), x.spec()?.clone())));
///
/// fn halves(input: &Tensor, half: &Tensor, rest: &Tensor) -> Result<()> {
///     elementwise::unary::<i64, i64>(half, input, |x| x >> 1)?;
///     elementwise::unary::<i64, i64>(rest, input, |x| x & 1)
/// }
///
/// let dispatcher = Dispatcher::new();
/// let mut library = dispatcher.library("docs");
/// library.family(&HALVES).cpu(halves);
/// let _registration = library.finish()?;
///
/// let x = Tensor::from_slice(&[7i64, 8], &[2])?;
/// let (half, rest) = dispatcher.call(Halves, (&x,))?;
/// assert_eq!((half.to_vec::<i64>()?, rest.to_vec::<i64>()?), (vec![3, 4], vec![1, 0]));
/// let out = Tensor::empty(&[2], DType::I64, Device::CPU)?;
/// let error = dispatcher.call(HalvesOut, (&x, &out, &out)).unwrap_err();
/// assert!(error.message().contains("two outputs refer to the same memory"));
/// dispatcher.call(HalvesOut, (&x, &half, &rest))?;
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub struct Family<O: Operator<Signature: FamilySignature>> {
    pub(crate) kind: &'static Kind,
    pub(crate) shape: Shape<O::Signature>,
    pub(crate) in_place: Shape<O::Signature>,
    pub(crate) out: OutRule<O::Signature>,
}

impl<O: Operator<Signature: FamilySignature>> Family<O> {
    /// A family whose `out` form converts the result to the dtype of the output.
    pub const fn new(_operator: O, kind: &'static Kind, shape: Shape<O::Signature>) -> Self {
        Self { kind, shape, in_place: shape, out: OutRule::Converted }
    }

    /// Gives the in-place form its own shape rule, for dtypes that it refuses.
    #[must_use]
    pub const fn in_place_shape(mut self, shape: Shape<O::Signature>) -> Self {
        self.in_place = shape;
        self
    }

    /// Restricts outputs of the `out` form to the result's dtype.
    #[must_use]
    pub const fn same_dtype_out(mut self) -> Self {
        self.out = OutRule::SameDtype;
        self
    }

    /// Gives the `out` form a shape rule that depends on the output, such as on its dtype in `sum.IntList_out`.
    #[must_use]
    pub const fn out_shape(mut self, shape: OutShape<O::Signature>) -> Self {
        self.out = OutRule::Shape(shape);
        self
    }
}
