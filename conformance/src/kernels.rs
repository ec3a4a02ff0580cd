//! The typed kernels of the programs, and what each kernel notes when it runs.

use std::cell::Cell;

use opgrid_core::{
    AnyTensor, BoxedCall, DType, Device, DispatchKeySet, Generator, Kernel, Layout, Result, Scalar,
    Signature, SymInt, TensorData, Value,
};
use opgrid_schema::Type;

/// A tensor that is nothing but its keys.
pub struct Bare;

impl TensorData for Bare {
    fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("tensor()")
    }
}

thread_local! {
    static RAN: Cell<Option<(usize, DispatchKeySet)>> = const { Cell::new(None) };
}

/// Takes what the last kernel noted: its number, and the keys that it was called with.
pub fn take_ran() -> Option<(usize, DispatchKeySet)> {
    RAN.take()
}

/// Whether a kernel sees the keys it is called with; those of legacy registrations do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sees {
    /// The keys.
    Keys,
    /// Nothing but its arguments.
    Arguments,
}

/// Makes a kernel that notes the number.
type Make = fn(usize, Sees) -> Kernel;

/// A type of kernels, as the driver has it too.
pub struct SignatureOfKernels {
    /// The types of the arguments, as schemas write them.
    pub arguments: &'static [&'static str],
    /// The types of the returns.
    pub returns: &'static [&'static str],
    /// Makes a kernel of this type.
    pub make: Make,
}

impl SignatureOfKernels {
    /// The types as a schema without names.
    pub fn text(&self) -> String {
        format!("({}) -> ({})", self.arguments.join(", "), self.returns.join(", "))
    }

    /// Whether kernels of this type take symbolic integers.
    pub fn is_symbolic(&self) -> bool {
        self.arguments.iter().any(|argument| argument.starts_with("SymInt"))
    }
}

/// Results of kernels that compute nothing.
trait Nothing {
    fn nothing() -> Self;
}

impl Nothing for () {
    fn nothing() {}
}

impl Nothing for i64 {
    fn nothing() -> Self {
        0
    }
}

impl Nothing for AnyTensor {
    fn nothing() -> Self {
        AnyTensor::new(DispatchKeySet::EMPTY, Bare)
    }
}

impl Nothing for Vec<AnyTensor> {
    fn nothing() -> Self {
        Vec::new()
    }
}

impl<A: Nothing, B: Nothing> Nothing for (A, B) {
    fn nothing() -> Self {
        (A::nothing(), B::nothing())
    }
}

fn typed<S>(number: usize, sees: Sees) -> Kernel
where
    S: Signature,
    S::Output: Nothing,
{
    Kernel::layer::<S>(move |next, _| {
        RAN.set(Some((number, if sees == Sees::Keys { next.keys() } else { DispatchKeySet::EMPTY })));
        Ok(S::Output::nothing())
    })
}

/// A kernel for any operator that notes its number.
pub fn boxed(number: usize, sees: Sees) -> Kernel {
    Kernel::boxed(move |call| {
        RAN.set(Some((number, if sees == Sees::Keys { call.keys() } else { DispatchKeySet::EMPTY })));
        leave_nothing(call)
    })
}

fn leave_nothing(call: &mut BoxedCall<'_>) -> Result<()> {
    let returns = call.schema().map_or(&[][..], |schema| &schema.returns);
    for item in returns {
        match item.real_type {
            Type::Int => call.push(0),
            Type::List(_) => call.push(Vec::<AnyTensor>::new()),
            Type::Tensor => call.push(AnyTensor::nothing()),
            _ => call.push(Value::None),
        }
    }
    Ok(())
}

macro_rules! signatures {
    ($(($($argument:literal),*) -> ($($result:literal),*): $signature:ty;)*) => {
        /// Every type of kernels, in the driver's order.
        pub const SIGNATURES: &[SignatureOfKernels] = &[$(
            SignatureOfKernels {
                arguments: &[$($argument),*],
                returns: &[$($result),*],
                make: typed::<$signature>,
            }
        ),*];
    };
}

signatures! {
    ("Tensor") -> ("Tensor"): fn(AnyTensor) -> AnyTensor;
    ("Tensor", "Tensor") -> ("Tensor"): fn(AnyTensor, AnyTensor) -> AnyTensor;
    ("Tensor", "int") -> ("Tensor"): fn(AnyTensor, i64) -> AnyTensor;
    ("Tensor", "SymInt") -> ("Tensor"): fn(AnyTensor, SymInt) -> AnyTensor;
    ("Tensor") -> (): fn(AnyTensor) -> ();
    ("Tensor", "Tensor") -> ("Tensor", "Tensor"): fn(AnyTensor, AnyTensor) -> (AnyTensor, AnyTensor);
    ("Tensor?", "Tensor") -> ("Tensor"): fn(Option<AnyTensor>, AnyTensor) -> AnyTensor;
    ("Tensor[]") -> ("Tensor"): fn(Vec<AnyTensor>) -> AnyTensor;
    ("Tensor") -> ("int"): fn(AnyTensor) -> i64;
    ("Tensor", "int[]") -> ("Tensor"): fn(AnyTensor, Vec<i64>) -> AnyTensor;
    ("Tensor", "SymInt[]") -> ("Tensor"): fn(AnyTensor, Vec<SymInt>) -> AnyTensor;
    ("Tensor", "float", "bool", "str") -> ("Tensor"): fn(AnyTensor, f64, bool, String) -> AnyTensor;
    () -> (): fn() -> ();
    ("Tensor", "Scalar") -> ("Tensor"): fn(AnyTensor, Scalar) -> AnyTensor;
    ("Tensor", "ScalarType?", "Layout?", "Device?", "bool?") -> ("Tensor"):
        fn(AnyTensor, Option<DType>, Option<Layout>, Option<Device>, Option<bool>) -> AnyTensor;
    ("Tensor", "Tensor?[]") -> ("Tensor"): fn(AnyTensor, Vec<Option<AnyTensor>>) -> AnyTensor;
    ("Tensor[]", "int") -> ("Tensor[]"): fn(Vec<AnyTensor>, i64) -> Vec<AnyTensor>;
    ("Generator?", "Tensor") -> ("Tensor"): fn(Option<Generator>, AnyTensor) -> AnyTensor;
}

#[cfg(test)]
mod tests {
    use super::*;
    use opgrid_schema::OperatorName;

    #[test]
    fn texts_and_types_of_kernels_agree() {
        for signature in SIGNATURES {
            let kernel = (signature.make)(1, Sees::Keys);
            let schema = kernel.inferred_schema(OperatorName::new("", "")).expect("the kernel is typed");
            let types = |items: &[opgrid_schema::Argument]| -> Vec<String> {
                items.iter().map(|item| item.real_type.to_string()).collect()
            };
            assert_eq!(types(&schema.arguments), signature.arguments);
            assert_eq!(types(&schema.returns), signature.returns);
        }
    }
}
