//! Prints tensors as torch does: `tensor([2., 3., 4.])`.
//!
//! One style is chosen for all elements that will be seen, so that columns align: whole floats end in a point,
//! others have four decimals, and a wide range is written with exponents. Above 1000 elements only three at each end
//! of a dimension are shown. [`PrintOptions`] changes these numbers.
//!
//! Source: behaviour of PyTorch 2.15.

mod options;

use std::fmt::{self, Write};

use opgrid_core::{DType, DeviceType, Result};

pub use self::options::{PrintOptions, print_options, set_print_options, with_print_options};

use super::array::Array;
use super::element::{Element, Number};
use super::geometry::Dims;
use super::promote::{complex_of, default_dtype};
use super::spec::TensorSpec;
use crate::with_dtype;

const PREFIX: &str = "tensor(";
/// How many elements are shown at most, whatever the options: an expanded tensor has more than any memory has strings for.
const LONGEST: i64 = 1 << 26;

impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&array(self, &[]).unwrap_or_else(|error| format!("tensor(<{error}>)")))
    }
}

/// The text of an array; `suffixes` (such as `requires_grad=True`) go to the end.
///
/// # Errors
///
/// Somebody is writing the array's memory; a dtype that is not printed.
pub fn array(array: &Array, suffixes: &[&str]) -> Result<String> {
    if array.device().kind() == DeviceType::Meta {
        return Ok(tensor(array.spec(), &|_| Number::Bool(false), suffixes));
    }
    let storage = array.storage().on_cpu()?;
    let guard = storage.read()?;
    with_dtype!(array.dtype(), T: Stored => {
        let elements = guard.slice::<T>()?;
        let geometry = array.geometry();
        let element = |index: &[i64]| {
            let steps = index.iter().zip(geometry.strides()).map(|(at, stride)| at * stride);
            elements[(geometry.offset() + steps.sum::<i64>()) as usize].number()
        };
        Ok(tensor(array.spec(), &element, suffixes))
    })
}

/// The text of a tensor of that spec whose elements `element` gives by index.
pub fn tensor(spec: &TensorSpec, element: &dyn Fn(&[i64]) -> Number, suffixes: &[&str]) -> String {
    let options = print_options();
    let (sizes, dtype, device) = (spec.sizes(), spec.dtype(), spec.device());
    let meta = device.kind() == DeviceType::Meta;
    let empty = spec.numel() == 0;
    let mut notes = Vec::new();
    if device.kind() != DeviceType::Cpu {
        notes.push(format!("device='{device}'"));
    }
    // A summary that shows no element at all says the size, even where nothing is summarised.
    if meta || if empty { sizes.len() != 1 } else { options.edgeitems == 0 } {
        notes.push(format!("size={}", tuple(sizes)));
    }
    let own = default_dtype();
    let plain = [own, complex_of(own), DType::I64, DType::Bool];
    let unmarked = if meta || empty { &plain[..1] } else { &plain };
    if !unmarked.contains(&dtype) {
        notes.push(format!("dtype=torch.{dtype}"));
    }
    notes.extend(suffixes.iter().map(|&suffix| suffix.to_owned()));
    let body = match (meta, empty) {
        (true, _) => "...".to_owned(),
        (_, true) => "[]".to_owned(),
        _ => match Body::new(sizes, element, options) {
            Ok(body) => body.text(),
            Err(shown) => format!(
                "<{shown} elements are too many to print, expected at most {LONGEST}; lower `threshold` or `edgeitems`>"
            ),
        },
    };
    let prefix = if device.is_fake() { "FakeTensor(" } else { PREFIX };
    with_notes(format!("{prefix}{body}"), &notes, options.linewidth)
}

/// Sizes as Python prints a tuple.
fn tuple(sizes: &[i64]) -> String {
    match sizes {
        [one] => format!("({one},)"),
        _ => {
            let sizes: Vec<_> = sizes.iter().map(i64::to_string).collect();
            format!("({})", sizes.join(", "))
        }
    }
}

/// Appends `notes` and the closing parenthesis, on a new line wherever a note would pass the line's width.
fn with_notes(mut text: String, notes: &[String], line_width: usize) -> String {
    // torch counts two columns more than there are; the break before a line is one of them.
    let mut column = text.len() + 2 - text.rfind('\n').map_or(0, |end| end + 1);
    for note in notes {
        if column + note.len() + 2 > line_width {
            let _ = write!(text, ",\n{:1$}{note}", "", PREFIX.len());
            column = PREFIX.len() + note.len();
        } else {
            let _ = write!(text, ", {note}");
            column += note.len() + 2;
        }
    }
    text.push(')');
    text
}

/// How every element of a tensor is written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// Integers and booleans.
    Plain,
    /// Floats without a fraction: `1.`.
    Whole,
    Fixed,
    Scientific,
}

#[derive(Clone, Copy, Debug)]
struct Style {
    form: Form,
    precision: usize,
    width: usize,
}

impl Style {
    /// The styles of the real and of the imaginary parts of these elements.
    fn for_numbers(numbers: &[Number], options: PrintOptions) -> [Self; 2] {
        let parts: [Vec<Number>; 2] =
            [0, 1].map(|part| numbers.iter().filter_map(|&number| split(number)[part]).collect());
        parts.map(|numbers| Self::of_reals(&numbers, options))
    }

    fn of_reals(numbers: &[Number], options: PrintOptions) -> Self {
        let plain = Self { form: Form::Plain, precision: usize::from(options.precision), width: 1 };
        let Some(floats) = numbers.iter().map(|&number| float(number)).collect::<Option<Vec<f64>>>() else {
            return plain.wide_enough(numbers.iter().copied());
        };
        let counted: Vec<f64> =
            floats.into_iter().filter(|value| value.is_finite() && *value != 0.0).collect();
        let style = Self { form: Form::for_values(&counted, options.sci_mode), ..plain };
        style.wide_enough(counted.into_iter().map(Number::F64))
    }

    fn wide_enough(mut self, numbers: impl Iterator<Item = Number>) -> Self {
        self.width = numbers.map(|number| self.form.text(number, self.precision).len()).max().unwrap_or(1);
        self
    }

    fn text(self, number: Number) -> String {
        let text = self.form.text(number, self.precision);
        // The widths of format strings end at 65535, which a long precision passes.
        " ".repeat(self.width.saturating_sub(text.len())) + &text
    }
}

impl Form {
    /// The form for these finite numbers other than zero.
    fn for_values(values: &[f64], sci_mode: Option<bool>) -> Self {
        let (mut low, mut high, mut whole) = (f64::INFINITY, 0.0f64, true);
        for value in values {
            low = low.min(value.abs());
            high = high.max(value.abs());
            whole &= value.fract() == 0.0;
        }
        if values.is_empty() {
            return Self::Whole;
        }
        let wide = high / low > 1000.0 || high > 1e8 || low < 1e-4;
        match (whole, sci_mode.unwrap_or(wide)) {
            (_, true) => Self::Scientific,
            (true, false) => Self::Whole,
            (false, false) => Self::Fixed,
        }
    }

    fn text(self, number: Number, precision: usize) -> String {
        let value = match number {
            Number::I64(value) => return value.to_string(),
            Number::U64(value) => return value.to_string(),
            Number::Bool(value) => return if value { "True" } else { "False" }.to_owned(),
            Number::F32(value) => f64::from(value),
            Number::F64(value) => value,
            Number::Complex64(value) => f64::from(value.re),
            Number::Complex128(value) => value.re,
        };
        if value.is_nan() {
            return "nan".to_owned();
        }
        if value.is_infinite() {
            return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
        }
        match self {
            Self::Plain | Self::Whole => format!("{value:.0}."),
            Self::Fixed => format!("{value:.precision$}"),
            Self::Scientific => scientific(value, precision),
        }
    }
}

/// An exponent with a sign and at least two digits behind the decimals.
fn scientific(value: f64, precision: usize) -> String {
    // The standard library counts the digit before the point, too, and ends at 65535. Digits so far behind are zeros.
    let written = precision.min(usize::from(u16::MAX) - 1);
    let text = format!("{value:.written$e}");
    let (digits, exponent) = text.split_once('e').expect("the format writes an exponent");
    let digits = digits.to_owned() + &"0".repeat(precision - written);
    match exponent.strip_prefix('-') {
        Some(exponent) => format!("{digits}e-{exponent:0>2}"),
        None => format!("{digits}e+{exponent:0>2}"),
    }
}

/// A number as real and imaginary part, of which only complex ones have one.
fn split(number: Number) -> [Option<Number>; 2] {
    match number {
        Number::Complex64(value) => [Some(Number::F32(value.re)), Some(Number::F32(value.im))],
        Number::Complex128(value) => [Some(Number::F64(value.re)), Some(Number::F64(value.im))],
        real => [Some(real), None],
    }
}

fn float(number: Number) -> Option<f64> {
    match number {
        Number::F32(value) => Some(f64::from(value)),
        Number::F64(value) => Some(value),
        _ => None,
    }
}

/// The elements between the parentheses.
struct Body<'a> {
    sizes: &'a [i64],
    element: &'a dyn Fn(&[i64]) -> Number,
    options: PrintOptions,
    summary: bool,
    /// The styles of real and of imaginary parts.
    styles: [Style; 2],
    complex: bool,
}

impl<'a> Body<'a> {
    /// # Errors
    ///
    /// The number of elements that would be shown, if they are too many.
    fn new(
        sizes: &'a [i64],
        element: &'a dyn Fn(&[i64]) -> Number,
        options: PrintOptions,
    ) -> Result<Self, i64> {
        let summary = sizes.iter().product::<i64>() > options.threshold;
        let styles = [Style { form: Form::Plain, precision: 0, width: 0 }; 2];
        let mut body = Self { sizes, element, options, summary, styles, complex: false };
        let counts = (0..sizes.len()).map(|dim| body.ends(dim).map_or(sizes[dim], |edge| 2 * edge));
        let shown = counts.product::<i64>();
        if shown > LONGEST {
            return Err(shown);
        }
        let mut seen = Vec::new();
        body.collect(&mut Dims::new(), &mut seen);
        body.styles = Style::for_numbers(&seen, options);
        body.complex = seen.first().is_some_and(|&number| split(number)[1].is_some());
        Ok(body)
    }

    fn text(&self) -> String {
        self.block(&mut Dims::new())
    }

    /// How many indices of dimension `dim` are shown at each end, if not all of them are.
    fn ends(&self, dim: usize) -> Option<i64> {
        let edge = i64::from(self.options.edgeitems);
        (self.summary && self.sizes[dim] > 2 * edge).then_some(edge)
    }

    /// The indices of dimension `dim` that are shown, and where a gap is.
    fn shown(&self, dim: usize) -> (Vec<i64>, Option<usize>) {
        let size = self.sizes[dim];
        match self.ends(dim) {
            Some(edge) => ((0..edge).chain(size - edge..size).collect(), Some(edge as usize)),
            None => ((0..size).collect(), None),
        }
    }

    fn collect(&self, index: &mut Dims, seen: &mut Vec<Number>) {
        if index.len() == self.sizes.len() {
            seen.push((self.element)(index));
            return;
        }
        for at in self.shown(index.len()).0 {
            index.push(at);
            self.collect(index, seen);
            index.pop();
        }
    }

    fn one(&self, number: Number) -> String {
        let [real, imaginary] = self.styles;
        let [Some(first), second] = split(number) else { return String::new() };
        let mut text = real.text(first);
        if let Some(second) = second {
            let second = imaginary.text(second);
            let second = second.trim_start();
            let sign = if second.starts_with('-') { "" } else { "+" };
            let _ = write!(text, "{sign}{second}j");
        }
        text
    }

    fn width(&self) -> usize {
        self.styles[0].width + if self.complex { self.styles[1].width + 1 } else { 0 }
    }

    /// Everything below `index`, starting at the column that belongs to its depth.
    fn block(&self, index: &mut Dims) -> String {
        let depth = index.len();
        if depth == self.sizes.len() {
            return self.one((self.element)(index));
        }
        let (shown, gap) = self.shown(depth);
        let mut parts: Vec<String> = Vec::with_capacity(shown.len() + 1);
        for at in shown {
            index.push(at);
            parts.push(self.block(index));
            index.pop();
        }
        let below = self.sizes.len() - depth - 1;
        if let Some(gap) = gap {
            // In a line of numbers the gap is aligned with their signs.
            parts.insert(gap, if below == 0 && gap > 0 { " ..." } else { "..." }.to_owned());
        }
        let indent = PREFIX.len() + depth;
        let line_break = |lines: usize| format!(",{:\n<lines$}{:2$}", "", "", indent + 1);
        if below > 0 {
            return format!("[{}]", parts.join(&line_break(below)));
        }
        // Every element and the separator after it, as many as fit and at least one.
        let per_line = (self.options.linewidth.saturating_sub(indent) / (self.width() + 2)).max(1);
        let lines: Vec<String> = parts.chunks(per_line).map(|line| line.join(", ")).collect();
        format!("[{}]", lines.join(&line_break(1)))
    }
}
