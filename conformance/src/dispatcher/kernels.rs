//! The typed kernels of the programs; each notes that it ran, and calls the operator that it was given.

use opgrid_core::{
    AnyTensor, BoxedCall, DType, Device, DispatchKeySet, Generator, Kernel, Layout, Result, Scalar,
    Signature, SymInt, TensorData, Value,
};
use opgrid_schema::Type;

use super::calls::note;
use super::program::Name;

/// A tensor that is nothing but its keys.
pub struct Bare;

impl TensorData for Bare {
    fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("tensor()")
    }
}

/// Whether a kernel sees the keys it is called with; those of legacy registrations do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sees {
    /// The keys.
    Keys,
    /// Nothing but its arguments.
    Arguments,
}

/// What a kernel does when it runs.
#[derive(Clone, Debug)]
pub struct Task {
    /// The number that it notes.
    pub number: usize,
    /// Whether it notes the keys, too.
    pub sees: Sees,
    /// The operator that it calls.
    pub callee: Option<Name>,
}

impl Task {
    fn run(&self, keys: DispatchKeySet) {
        let keys = if self.sees == Sees::Keys { keys } else { DispatchKeySet::EMPTY };
        note(self.number, keys, self.callee.as_ref());
    }
}

/// Makes a kernel for a task.
type Make = fn(Task) -> Kernel;

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

fn typed<S>(task: Task) -> Kernel
where
    S: Signature,
    S::Output: Nothing,
{
    Kernel::layer::<S>(move |next, _| {
        task.run(next.keys());
        Ok(S::Output::nothing())
    })
}

/// A kernel for any operator.
pub fn boxed(task: Task) -> Kernel {
    Kernel::boxed(move |call| {
        task.run(call.keys());
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
            let kernel = (signature.make)(Task { number: 1, sees: Sees::Keys, callee: None });
            let schema = kernel.inferred_schema(OperatorName::new("", "")).expect("the kernel is typed");
            let types = |items: &[opgrid_schema::Argument]| -> Vec<String> {
                items.iter().map(|item| item.real_type.to_string()).collect()
            };
            assert_eq!(types(&schema.arguments), signature.arguments);
            assert_eq!(types(&schema.returns), signature.returns);
        }
    }
}
