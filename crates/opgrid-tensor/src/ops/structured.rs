//! Makes kernels out of a shape function and a loop: functional, in-place and `out`, on CPU and meta tensors.
//!
//! The shape function says what the result is like and refuses what cannot be; it is all that a meta kernel does.
//! The loop fills an output that has the right shape. Kernels allocate their results directly, without a dispatch
//! to `empty`. Errors get the overload's name in front.

use opgrid_core::operator::{KernelOf, OutputOf, ReturningOf};
use opgrid_core::{
    Argument, DeviceType, DispatchKey, Error, Operator, OperatorBuilder, Result, Return, Signature,
    WritesLast,
};

use crate::error::argument;
use crate::kernels::access::check_written;
use crate::samples::{Difference, Operand, Part};
use crate::tensor::{Array, Tensor, TensorSpec, can_cast};

/// The signature of an operator whose first argument is a tensor, beside that of its `out` overload.
pub trait Structured: Signature {
    /// The same arguments with an output behind them.
    type Out: Signature<Output = ()>;

    /// The first argument.
    fn first<'a>(args: Self::Args<'a>) -> &'a Tensor;

    /// The arguments with the output.
    fn join<'a>(args: Self::Args<'a>, out: &'a Tensor) -> <Self::Out as Signature>::Args<'a>;

    /// The arguments apart from the output.
    fn split<'a>(args: <Self::Out as Signature>::Args<'a>) -> (Self::Args<'a>, &'a Tensor);
}

macro_rules! structured {
    ($(($($name:ident $value:ident),*))*) => {
        $(impl<Ret: Return, $($name: Argument),*> Structured for fn(Tensor, $($name),*) -> Ret {
            type Out = fn(Tensor, $($name,)* Tensor) -> WritesLast;

            #[inline]
            fn first<'a>(args: Self::Args<'a>) -> &'a Tensor {
                args.0
            }

            #[inline]
            fn join<'a>(
                (input, $($value,)*): Self::Args<'a>,
                out: &'a Tensor,
            ) -> <Self::Out as Signature>::Args<'a> {
                (input, $($value,)* out)
            }

            #[inline]
            fn split<'a>(
                (input, $($value,)* out): <Self::Out as Signature>::Args<'a>,
            ) -> (Self::Args<'a>, &'a Tensor) {
                ((input, $($value,)*), out)
            }
        })*
    };
}

structured! {
    ()
    (A a)
    (A a, B b)
    (A a, B b, C c)
    (A a, B b, C c, D d)
    (A a, B b, C c, D d, E e)
}

/// The loop of an operator: a kernel of its `out` overload, whether it has one or not.
pub type Loop<O> = <<<O as Operator>::Signature as Structured>::Out as Signature>::Returning<()>;
/// The shape function of an operator.
pub type Shape<O> = ReturningOf<O, TensorSpec>;

/// Adds kernels for CPU and meta tensors to an operator.
pub trait Kernels<O: Operator>: Sized {
    /// The same function for both: where there is nothing to compute.
    fn on_cpu_and_meta(self, kernel: KernelOf<O>) -> Self;

    /// The same function for every backend, with the overload's name in front of its errors: for views, and for what
    /// has checks of its own before it calls other operators.
    fn on_every_backend(self, kernel: KernelOf<O>) -> Self;

    /// For every backend, made of other operators only, whose errors have names.
    fn composite(self, kernel: KernelOf<O>) -> Self;

    /// For every key, made of other operators whose derivatives it inherits, with the overload's name in front of its
    /// errors.
    fn implicit(self, kernel: KernelOf<O>) -> Self;

    /// A new tensor as `shape` says, filled by `cpu`.
    fn structured(self, shape: Shape<O>, cpu: Loop<O>) -> Self
    where
        O::Signature: Structured<Output = Tensor>;

    /// The first argument as the output of `cpu`.
    fn in_place(self, shape: Shape<O>, cpu: Loop<O>) -> Self
    where
        O::Signature: Structured<Output = ()>;

    /// The same where the result depends on the output, as its dtype does in `sum.IntList_out`.
    fn out_by<F: Operator>(self, functional: F, shape: Shape<O>, cpu: Loop<F>) -> Self
    where
        F::Signature: Structured<Out = O::Signature>,
        O: Operator<Signature: Signature<Output = ()>>;

    /// The last argument as the output of `functional`.
    fn out_of<F: Operator>(self, functional: F, shape: Shape<F>, cpu: Loop<F>) -> Self
    where
        F::Signature: Structured<Out = O::Signature>,
        O: Operator<Signature: Signature<Output = ()>>;
}

impl<O: Operator> Kernels<O> for OperatorBuilder<'_, O> {
    #[track_caller]
    fn on_cpu_and_meta(self, kernel: KernelOf<O>) -> Self {
        both(self, move |args| O::Signature::apply(kernel, args))
    }

    #[track_caller]
    fn on_every_backend(self, kernel: KernelOf<O>) -> Self {
        self.closure(DispatchKey::CompositeExplicitAutograd, move |args| {
            O::Signature::apply(kernel, args).map_err(with_name::<O>)
        })
    }

    #[track_caller]
    fn composite(self, kernel: KernelOf<O>) -> Self {
        self.kernel(DispatchKey::CompositeExplicitAutograd, kernel)
    }

    #[track_caller]
    fn implicit(self, kernel: KernelOf<O>) -> Self {
        self.closure(DispatchKey::CompositeImplicitAutograd, move |args| {
            O::Signature::apply(kernel, args).map_err(with_name::<O>)
        })
    }

    #[track_caller]
    fn structured(self, shape: Shape<O>, cpu: Loop<O>) -> Self
    where
        O::Signature: Structured<Output = Tensor>,
    {
        both(self, move |args| {
            let out = Tensor::fresh(O::Signature::apply(shape, args)?)?;
            fill::<O::Signature>(cpu, O::Signature::shorten(args), &out)?;
            Ok(out.publish())
        })
    }

    #[track_caller]
    fn in_place(self, shape: Shape<O>, cpu: Loop<O>) -> Self
    where
        O::Signature: Structured<Output = ()>,
    {
        both(self, move |args| {
            let (spec, out) = (O::Signature::apply(shape, args)?, O::Signature::first(args));
            check_result(out, &spec)?;
            if out.sizes() != spec.sizes() {
                return Err(wrong_shape("self", out, &spec));
            }
            fill::<O::Signature>(cpu, args, out)
        })
    }

    #[track_caller]
    fn out_of<F: Operator>(self, _functional: F, shape: Shape<F>, cpu: Loop<F>) -> Self
    where
        F::Signature: Structured<Out = O::Signature>,
        O: Operator<Signature: Signature<Output = ()>>,
    {
        both(self, move |args| {
            let (args, out) = F::Signature::split(args);
            let spec = F::Signature::apply(shape, args)?;
            check_result(out, &spec)?;
            give_shape(out, &spec)?;
            fill::<F::Signature>(cpu, args, out)
        })
    }

    #[track_caller]
    fn out_by<F: Operator>(self, _functional: F, shape: Shape<O>, cpu: Loop<F>) -> Self
    where
        F::Signature: Structured<Out = O::Signature>,
        O: Operator<Signature: Signature<Output = ()>>,
    {
        both(self, move |args| {
            let spec = O::Signature::apply(shape, args)?;
            let (args, out) = F::Signature::split(args);
            check_result(out, &spec)?;
            give_shape(out, &spec)?;
            fill::<F::Signature>(cpu, args, out)
        })
    }
}

/// A new tensor of that spec, filled by `cpu` unless it is a meta tensor: for operators whose first argument is no
/// tensor, or whose shape takes work that the loop needs too.
pub(super) fn made(spec: TensorSpec, cpu: impl FnOnce(&Tensor) -> Result<()>) -> Result<Tensor> {
    let out = Tensor::fresh(spec)?;
    if out.device().kind() != DeviceType::Meta {
        cpu(&out)?;
    }
    Ok(out.publish())
}

/// The same into an output, which gets the shape of `spec` if it has no elements.
pub(super) fn written(
    out: &Tensor,
    spec: &TensorSpec,
    cpu: impl FnOnce(&Tensor) -> Result<()>,
) -> Result<()> {
    check_result(out, spec)?;
    give_shape(out, spec)?;
    if out.device().kind() != DeviceType::Meta {
        cpu(out)?;
    }
    Ok(())
}

/// # Errors
///
/// `out` has another dtype than the result: for operators that move elements and convert none.
pub(super) fn same_dtype(out: &Tensor, spec: &TensorSpec) -> Result<()> {
    let (found, expected) = (out.spec()?.dtype(), spec.dtype());
    if found != expected {
        return Err(argument(format!("argument `out` has dtype {found}, expected {expected} as the result")));
    }
    Ok(())
}

/// The same closure for both keys, with the overload's name in front of its errors.
#[track_caller]
fn both<'l, O: Operator>(
    operators: OperatorBuilder<'l, O>,
    kernel: impl for<'a> Fn(opgrid_core::operator::ArgsOf<'a, O>) -> Result<OutputOf<O>>
    + Copy
    + Send
    + Sync
    + 'static,
) -> OperatorBuilder<'l, O> {
    let named = move |args: opgrid_core::operator::ArgsOf<'_, O>| kernel(args).map_err(with_name::<O>);
    operators.closure(DispatchKey::Cpu, named).closure(DispatchKey::Meta, named)
}

#[cold]
fn with_name<O: Operator>(error: Error) -> Error {
    error.within(O::name())
}

/// Runs the loop, unless there is nothing to fill.
#[inline]
fn fill<'a, S: Structured>(
    cpu: <S::Out as Signature>::Returning<()>,
    args: S::Args<'a>,
    out: &'a Tensor,
) -> Result<()> {
    if out.device().kind() == DeviceType::Meta {
        return Ok(());
    }
    S::Out::apply(cpu, S::join(args, out))
}

/// # Errors
///
/// `out` is on another device, repeats elements, or cannot hold results of the dtype.
pub(super) fn check_result(out: &Tensor, spec: &TensorSpec) -> Result<()> {
    let found = out.spec()?;
    if found.device() != spec.device() {
        let message = format!("the output is on device {}, expected {}", found.device(), spec.device());
        return Err(argument(message));
    }
    check_written(found.geometry())?;
    if !can_cast(spec.dtype(), found.dtype()) {
        let message = format!(
            "result type {} can't be cast to the desired output type {}",
            spec.dtype(),
            found.dtype()
        );
        return Err(argument(message));
    }
    Ok(())
}

/// Gives an output without elements the shape of the result.
///
/// # Errors
///
/// Elements, and another shape. Torch warns and resizes.
pub(super) fn give_shape(out: &Tensor, spec: &TensorSpec) -> Result<()> {
    if out.sizes() == spec.sizes() {
        return Ok(());
    }
    if out.numel() != 0 {
        return Err(wrong_shape("out", out, spec));
    }
    out.replace_empty(Array::empty(TensorSpec::new(spec.geometry().clone(), out.dtype(), out.device()))?)
}

#[cold]
fn wrong_shape(name: &str, out: &Tensor, spec: &TensorSpec) -> Error {
    let message = format!(
        "argument `{name}` has shape {:?}, which doesn't match the result's shape {:?}",
        out.sizes(),
        spec.sizes()
    );
    argument(message)
}

/// The differences from torch that come of what stands here.
pub(crate) const DIFFERENCES: &[Difference] = &[
    Difference {
        id: "outputs-keep-their-shape",
        what: "torch gives an output of another shape the shape of the result, with a warning; here it is \
               refused unless it has no elements",
        why: "tensors would change under the hands of those who look at them",
        test: ("opgrid-tensor/tests/views.rs", "outputs_beside_their_inputs"),
        when: |seen| {
            let is_named = seen.we_refuse("argument `out`") && seen.we_refuse("shape");
            is_named && seen.out().is_some_and(|out| !out.is_empty())
        },
        directed: None,
    },
    Difference {
        id: "outputs-that-get-a-shape-get-memory",
        what: "torch enlarges the memory under an output without elements where it lies; here the output \
               gets memory of its own",
        why: "others who look at the memory keep what they see",
        test: ("opgrid-tensor/tests/differences.rs", "an_output_that_gets_a_shape_gets_memory"),
        when: |seen| {
            matches!(seen.part, Part::Offset | Part::Written) && seen.out().is_some_and(Operand::is_empty)
        },
        directed: None,
    },
    Difference {
        id: "refused-without-elements",
        what: "torch does not look at dtypes and numbers where there are no elements; here a call is \
               refused whatever the sizes are",
        why: "whether a program is right must not depend on its data",
        test: ("opgrid-tensor/tests/differences.rs", "what_is_refused_with_elements_is_refused_without"),
        when: |seen| seen.we_refuse("") && seen.torch_gives_nothing(),
        directed: None,
    },
];

/// Of operators that torch makes of others.
pub(crate) const ORDER_OF_INPUTS: Difference = Difference {
    id: "outputs-that-get-a-shape-get-an-order",
    what: "torch copies to an output without elements, which then lies in rows; here it gets the order of \
           the inputs as with all other operators",
    why: "one rule for all operators",
    test: ("opgrid-tensor/tests/differences.rs", "an_output_that_gets_a_shape_gets_memory"),
    when: |seen| seen.part == Part::Strides && seen.out().is_some_and(Operand::is_empty),
    directed: None,
};
