//! How tensors are printed: digits, summaries and the width of lines, for the process or for a scope.

use std::cell::Cell;
use std::sync::{PoisonError, RwLock};

/// Options of printing, with torch's names and defaults.
///
/// # Examples
///
/// ```
/// use opgrid_array::Array;
/// use opgrid_array::print::{PrintOptions, with_print_options};
///
/// let x = Array::from_slice(&[1.0f32, 2.5], &[2])?;
/// assert_eq!(x.to_string(), "tensor([1.0000, 2.5000])");
/// let short = with_print_options(PrintOptions::SHORT, || x.to_string());
/// assert_eq!(short, "tensor([1.00, 2.50])");
/// let exponents = PrintOptions { precision: 1, sci_mode: Some(true), ..PrintOptions::DEFAULT };
/// assert_eq!(with_print_options(exponents, || x.to_string()), "tensor([1.0e+00, 2.5e+00])");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrintOptions {
    /// Digits after the point.
    pub precision: u16,
    /// Tensors with more elements than this are summarised.
    pub threshold: i64,
    /// How many elements at each end of a dimension a summary shows.
    pub edgeitems: u32,
    /// The columns of a line.
    pub linewidth: usize,
    /// Whether floats have exponents; `None` where their range decides.
    pub sci_mode: Option<bool>,
}

impl PrintOptions {
    /// The options that hold unless others are set.
    pub const DEFAULT: Self =
        Self { precision: 4, threshold: 1000, edgeitems: 3, linewidth: 80, sci_mode: None };
    /// Two digits, and two elements at each end.
    pub const SHORT: Self = Self { precision: 2, edgeitems: 2, ..Self::DEFAULT };
    /// No summaries.
    pub const FULL: Self = Self { threshold: i64::MAX, ..Self::DEFAULT };

    /// The options of torch's profile `default`, `short` or `full`.
    pub fn profile(name: &str) -> Option<Self> {
        match name {
            "default" => Some(Self::DEFAULT),
            "short" => Some(Self::SHORT),
            "full" => Some(Self::FULL),
            _ => None,
        }
    }
}

impl Default for PrintOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

static PROCESS: RwLock<PrintOptions> = RwLock::new(PrintOptions::DEFAULT);

thread_local! {
    static SCOPE: Cell<Option<PrintOptions>> = const { Cell::new(None) };
}

/// The options that this thread prints with.
pub fn print_options() -> PrintOptions {
    let scope = SCOPE.try_with(Cell::get).ok().flatten();
    scope.unwrap_or_else(|| *PROCESS.read().unwrap_or_else(PoisonError::into_inner))
}

/// Sets the options of all threads, except in scopes of [`with_print_options`].
///
/// # Examples
///
/// ```standalone_crate
/// use opgrid_array::Array;
/// use opgrid_array::print::{PrintOptions, set_print_options};
///
/// set_print_options(PrintOptions { threshold: 5, edgeitems: 1, ..PrintOptions::DEFAULT });
/// let x = Array::from_slice(&[1i64, 2, 3, 4, 5, 6], &[6])?;
/// assert_eq!(x.to_string(), "tensor([1,  ..., 6])");
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub fn set_print_options(options: PrintOptions) {
    *PROCESS.write().unwrap_or_else(PoisonError::into_inner) = options;
}

/// Runs `body`, in which this thread prints with `options`.
pub fn with_print_options<R>(options: PrintOptions, body: impl FnOnce() -> R) -> R {
    /// Brings the options back, also when `body` panics.
    struct Restore(Option<PrintOptions>);

    impl Drop for Restore {
        fn drop(&mut self) {
            SCOPE.set(self.0);
        }
    }

    let _restore = Restore(SCOPE.replace(Some(options)));
    body()
}
