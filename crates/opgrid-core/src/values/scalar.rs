//! Numbers that stand beside tensors: [`Scalar`] of any kind, and [`SymInt`] that may not be known yet.

use std::fmt;
use std::sync::Arc;

use num_complex::Complex64;

use crate::deferred_drop::Flat;
use crate::error::{Error, ErrorKind, Result};

/// A number of whatever kind the caller gave: integer, floating-point, complex or bool.
///
/// # Examples
///
/// ```
/// use opgrid_core::Scalar;
///
/// assert_eq!(Scalar::from(2).to_f64()?, 2.0);
/// assert!(Scalar::from(1.5).to_i64().is_err());
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// An integer.
    Int(i64),
    /// An integer above the largest [`Int`](Self::Int), as `uint64` has them; made by `From<u64>`.
    UInt(u64),
    /// A floating-point number.
    Float(f64),
    /// A complex number.
    Complex(Complex64),
    /// True or false.
    Bool(bool),
}

impl Scalar {
    /// The number as a float; bools are 0 and 1.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`] for a complex number with an imaginary part.
    pub fn to_f64(self) -> Result<f64> {
        match self {
            Self::Int(value) => Ok(value as f64),
            Self::UInt(value) => Ok(value as f64),
            Self::Float(value) => Ok(value),
            Self::Complex(value) if value.im == 0.0 => Ok(value.re),
            Self::Bool(value) => Ok(f64::from(u8::from(value))),
            Self::Complex(_) => Err(self.refused("float")),
        }
    }

    /// The number as a float of 32 bits, rounded to the nearest one; bools are 0 and 1.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`] for a complex number with an imaginary part.
    pub fn to_f32(self) -> Result<f32> {
        Ok(self.to_f64()? as f32)
    }

    /// The number as an integer; bools are 0 and 1.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Value`] for anything that is not a whole number or does not fit.
    pub fn to_i64(self) -> Result<i64> {
        match self {
            Self::Int(value) => Ok(value),
            Self::Bool(value) => Ok(i64::from(value)),
            Self::UInt(value) => i64::try_from(value).map_err(|_| self.refused("int")),
            Self::Float(_) | Self::Complex(_) => {
                let value = self.to_f64().map_err(|_| self.refused("int"))?;
                let fits = value.trunc() == value && (-(2f64.powi(63))..2f64.powi(63)).contains(&value);
                if fits { Ok(value as i64) } else { Err(self.refused("int")) }
            }
        }
    }

    /// Whether the number is not zero.
    pub fn to_bool(self) -> bool {
        match self {
            Self::Int(value) => value != 0,
            Self::UInt(value) => value != 0,
            Self::Float(value) => value != 0.0,
            Self::Complex(value) => value != Complex64::ZERO,
            Self::Bool(value) => value,
        }
    }

    /// The number as a complex one.
    pub fn to_complex(self) -> Complex64 {
        match self {
            Self::Int(value) => Complex64::new(value as f64, 0.0),
            Self::UInt(value) => Complex64::new(value as f64, 0.0),
            Self::Float(value) => Complex64::new(value, 0.0),
            Self::Complex(value) => value,
            Self::Bool(value) => Complex64::new(f64::from(u8::from(value)), 0.0),
        }
    }

    #[cold]
    fn refused(self, kind: &str) -> Error {
        Error::new(ErrorKind::Value, format!("value {self} cannot be converted to {kind} without loss"))
    }
}

impl From<i64> for Scalar {
    #[inline]
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<i32> for Scalar {
    #[inline]
    fn from(value: i32) -> Self {
        Self::Int(value.into())
    }
}

impl From<u64> for Scalar {
    #[inline]
    fn from(value: u64) -> Self {
        i64::try_from(value).map_or(Self::UInt(value), Self::Int)
    }
}

impl From<f64> for Scalar {
    #[inline]
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<f32> for Scalar {
    #[inline]
    fn from(value: f32) -> Self {
        Self::Float(value.into())
    }
}

impl From<Complex64> for Scalar {
    #[inline]
    fn from(value: Complex64) -> Self {
        Self::Complex(value)
    }
}

impl From<bool> for Scalar {
    #[inline]
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::UInt(value) => write!(f, "{value}"),
            Self::Float(value) => f.write_str(&opgrid_schema::print_float(*value)),
            Self::Complex(value) => print_complex(*value, f),
            Self::Bool(value) => f.write_str(if *value { "True" } else { "False" }),
        }
    }
}

/// Writes `re+imj` with both parts as floats are written.
pub(crate) fn print_complex(value: Complex64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let sign = if value.im.is_sign_negative() && value.im != 0.0 { "" } else { "+" };
    let (re, im) = (opgrid_schema::print_float(value.re), opgrid_schema::print_float(value.im));
    write!(f, "{re}{sign}{im}j")
}

/// An integer that stands for a number not known yet, as while tracing with sizes of any value.
pub trait SymbolicInt: fmt::Display + Send + Sync + 'static {
    /// Fixes the number: code that needs it now goes on with it, and what was traced holds for it alone.
    ///
    /// # Errors
    ///
    /// Where the number cannot be known.
    fn guard(&self) -> Result<i64>;
}

/// A shared symbolic integer, one pointer wide.
#[derive(Clone)]
pub struct SymNode(Arc<Flat<Box<dyn SymbolicInt>>>);

impl SymNode {
    /// A node of that symbolic integer.
    pub fn new(symbol: impl SymbolicInt) -> Self {
        Self(Arc::new(Flat::new(Box::new(symbol))))
    }

    /// Fixes the number.
    ///
    /// # Errors
    ///
    /// Where the number cannot be known.
    pub fn guard(&self) -> Result<i64> {
        self.0.guard()
    }
}

impl PartialEq for SymNode {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Display for SymNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", **self.0)
    }
}

impl fmt::Debug for SymNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", **self.0)
    }
}

/// An integer that may be symbolic.
///
/// # Examples
///
/// ```
/// use opgrid_core::SymInt;
///
/// assert_eq!(SymInt::from(3).guard()?, 3);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum SymInt {
    /// A number that is known.
    Int(i64),
    /// A symbolic one.
    Node(SymNode),
}

impl SymInt {
    /// The number, fixing it where it is symbolic.
    ///
    /// # Errors
    ///
    /// Where the number cannot be known.
    pub fn guard(&self) -> Result<i64> {
        match self {
            Self::Int(value) => Ok(*value),
            Self::Node(node) => node.guard(),
        }
    }
}

impl From<i64> for SymInt {
    #[inline]
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl fmt::Display for SymInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Node(node) => write!(f, "{node}"),
        }
    }
}
