//! Compares the schema of a definition with the one inferred from a kernel's function type.

use std::fmt;

use crate::{Argument, FunctionSchema};

/// The first difference between an expected and an inferred schema; positions count from one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureMismatch(String);

impl fmt::Display for SignatureMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SignatureMismatch {}

/// Checks that a kernel's inferred schema fits the schema that was defined.
///
/// Only counts and types are compared; names, defaults, annotations and list sizes cannot be inferred. Unless
/// the kernel takes symbolic integers, `SymInt` in the definition counts as `int`.
///
/// # Errors
///
/// The first difference, in the words `Type mismatch in argument 1: int vs Tensor.`
///
/// # Examples
///
/// ```
/// use opgrid_schema::{FunctionSchema, check_signature};
///
/// let expected = FunctionSchema::parse("my::f(Tensor self, int n) -> Tensor")?;
/// let inferred = FunctionSchema::parse("_(Tensor _0, Tensor _1) -> Tensor _0")?;
/// let mismatch = check_signature(&expected, &inferred, false).unwrap_err();
/// assert_eq!(mismatch.to_string(), "Type mismatch in argument 2: int vs Tensor.");
/// # Ok::<(), opgrid_schema::ParseError>(())
/// ```
pub fn check_signature(
    expected: &FunctionSchema,
    inferred: &FunctionSchema,
    inferred_is_symint: bool,
) -> Result<(), SignatureMismatch> {
    check_counts("arguments", &expected.arguments, &inferred.arguments)?;
    check_counts("returns", &expected.returns, &inferred.returns)?;
    check_types("argument", &expected.arguments, &inferred.arguments, inferred_is_symint)?;
    check_types("return", &expected.returns, &inferred.returns, inferred_is_symint)
}

fn check_counts(what: &str, expected: &[Argument], inferred: &[Argument]) -> Result<(), SignatureMismatch> {
    if expected.len() == inferred.len() {
        return Ok(());
    }
    let (expected, inferred) = (expected.len(), inferred.len());
    Err(SignatureMismatch(format!("The number of {what} is different. {expected} vs {inferred}.")))
}

fn check_types(
    what: &str,
    expected: &[Argument],
    inferred: &[Argument],
    symint: bool,
) -> Result<(), SignatureMismatch> {
    for (position, (expected, inferred)) in expected.iter().zip(inferred).enumerate() {
        let seen = if symint { expected.real_type.clone() } else { expected.real_type.without_symint() };
        if seen != inferred.real_type {
            let position = position + 1;
            let inferred = &inferred.real_type;
            return Err(SignatureMismatch(format!(
                "Type mismatch in {what} {position}: {seen} vs {inferred}."
            )));
        }
    }
    Ok(())
}
