//! Differences from torch that were decided: each stands with the samples of what differs, and is printed from there.
//!
//! An operator's own are added to its samples by [`Samples::differs`](super::Samples::differs); those of promotion, conversion, memory
//! and overlap are constants of [`departures`](crate::departures), collected by [`general`](crate::departures::general). A
//! comparison with torch asks [`Difference::explains`] about each answer that differs: what no difference explains is a fault, and so is a difference that explains more than was decided.

use num_complex::Complex64;
use opgrid_core::{DType, Kind, Scalar};

use opgrid_tensor::tensor::Geometry;

/// A departure from torch.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    /// A short name, unique among all.
    pub id: &'static str,
    /// What torch does, and what is done here instead.
    pub what: &'static str,
    /// Why.
    pub why: &'static str,
    /// The test that shows what is done here: the file below `crates`, and the function.
    pub test: (&'static str, &'static str),
    /// Whether an answer that differs is this; about the operators that the difference belongs to, in all their
    /// overloads.
    pub when: fn(&Seen<'_>) -> bool,
    /// A call that shows it, where random ones seldom do.
    pub directed: Option<Directed>,
}

/// A call that shows a difference.
#[derive(Clone, Copy, Debug)]
pub struct Directed {
    /// The overload.
    pub operator: &'static str,
    /// Its arguments, by their names in the schema.
    pub arguments: fn() -> Vec<(&'static str, Argument)>,
    /// The feature of processors without which torch's loops do not show it, as `avx512f`, or the maker of those on which they
    /// do, as `GenuineIntel`: libraries that torch calls choose their loops by the maker.
    pub needs: Option<&'static str>,
}

impl Directed {
    /// Whether the processor has what the call needs to show the difference.
    pub fn is_shown_here(&self) -> bool {
        match self.needs {
            #[cfg(target_arch = "x86_64")]
            Some("avx512f") => std::arch::is_x86_feature_detected!("avx512f"),
            Some(maker @ ("GenuineIntel" | "AuthenticAMD")) => is_made_by(maker),
            Some(_) => false,
            None => true,
        }
    }
}

/// Whether the processor says that it is of that maker. Where nothing says so, it is not.
fn is_made_by(maker: &str) -> bool {
    let said = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = said.lines().find(|line| line.starts_with("vendor_id"));
    line.and_then(|line| line.split(':').nth(1)).is_some_and(|found| found.trim() == maker)
}

/// How torch's side answers when its process has died of a signal.
pub const DIED: &str = "the process died";

/// What differs between two answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// One side refuses the call.
    Outcome,
    /// The kind of the result, as number or tensor.
    Kind,
    /// The dtype of the result.
    DType,
    /// Its sizes.
    Sizes,
    /// Its strides.
    Strides,
    /// Where its first element lies.
    Offset,
    /// Which tensor or whose memory it is.
    Identity,
    /// Its elements.
    Values,
    /// What the call wrote to memory.
    Written,
    /// Meta tensors here say something else than CPU tensors here.
    Meta,
    /// The text.
    Text,
}

/// An argument of a call whose answers differ.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A tensor.
    Tensor(Operand),
    /// A list of tensors with gaps.
    Tensors(Vec<Option<Operand>>),
    /// A number, also in a tensor's place.
    Number(Scalar),
    /// A list of integers.
    Ints(Vec<i64>),
    /// A list of floats.
    Floats(Vec<f64>),
    /// A text.
    Text(String),
    /// A dtype.
    DType(DType),
    /// An optional that is absent.
    None,
    /// Anything else.
    Other,
}

/// A tensor among the arguments.
#[derive(Clone, Debug)]
pub struct Operand {
    /// The number of the memory that it lies on.
    pub memory: usize,
    /// Sizes, strides and offset.
    pub geometry: Geometry,
    /// Its dtype.
    pub dtype: DType,
    /// Its elements in row-major order, before the call.
    pub elements: Vec<Complex64>,
}

/// An element that differs: its dtype, what it is here, and what it is there.
pub type Pair = (DType, Complex64, Complex64);

/// A call whose answers differ in one part.
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    /// The overload, as in `aten::add.Tensor`.
    pub operator: &'a str,
    /// The default dtype.
    pub default: DType,
    /// The arguments that were given, by their names in the schema.
    pub arguments: &'a [(String, Argument)],
    /// The names of those that are outputs.
    pub outputs: &'a [String],
    /// The kind of the operator.
    pub kind: Option<&'a Kind>,
    /// The sizes of the result, where its strides differ.
    pub sizes: &'a [i64],
    /// What differs.
    pub part: Part,
    /// What is answered here, as text.
    pub ours: &'a str,
    /// What torch answers.
    pub torch: &'a str,
    /// The elements that differ, where elements do.
    pub elements: &'a [Pair],
}

impl Difference {
    /// Whether it explains an answer.
    pub fn explains(&self, seen: &Seen<'_>) -> bool {
        (self.when)(seen)
    }
}

impl From<Operand> for Argument {
    fn from(operand: Operand) -> Self {
        Self::Tensor(operand)
    }
}

impl From<Scalar> for Argument {
    fn from(number: Scalar) -> Self {
        Self::Number(number)
    }
}

impl Operand {
    /// A row-major tensor of a directed call.
    pub fn rows(memory: usize, dtype: DType, sizes: &[i64], elements: &[f64]) -> Self {
        Self::from_elements(memory, dtype, Geometry::contiguous(sizes).unwrap_or(Geometry::ONE), elements)
    }

    /// A tensor of a directed call with these sizes and strides, from that element of the memory on.
    pub fn strided(
        memory: usize,
        dtype: DType,
        (sizes, strides, offset): (&[i64], &[i64], i64),
        elements: &[f64],
    ) -> Self {
        let geometry = Geometry::strided(sizes, strides, offset).unwrap_or(Geometry::ONE);
        Self::from_elements(memory, dtype, geometry, elements)
    }

    fn from_elements(memory: usize, dtype: DType, geometry: Geometry, elements: &[f64]) -> Self {
        let elements = elements.iter().map(|element| Complex64::new(*element, 0.0)).collect();
        Self { memory, geometry, dtype, elements }
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.geometry.numel() == 0
    }

    /// Whether its strides are those of rows, also where no element is reached by them.
    pub fn lies_in_rows(&self) -> bool {
        let rows = Geometry::contiguous(self.geometry.sizes());
        rows.is_ok_and(|rows| rows.strides() == self.geometry.strides())
    }

    /// Whether two of its elements are one.
    pub fn repeats(&self) -> bool {
        let mut places = self.places();
        let count = places.len();
        places.sort_unstable();
        places.dedup();
        places.len() < count
    }

    /// Where its elements lie in memory, in row-major order.
    pub fn places(&self) -> Vec<i64> {
        let mut places = vec![self.geometry.offset()];
        for (size, stride) in self.geometry.sizes().iter().zip(self.geometry.strides()) {
            places = places.iter().flat_map(|place| (0..*size).map(move |at| place + at * stride)).collect();
        }
        places
    }

    /// Whether it shares an element with another.
    pub fn meets(&self, other: &Self) -> bool {
        let mine = self.places();
        self.memory == other.memory && other.places().iter().any(|place| mine.contains(place))
    }
}

impl Seen<'_> {
    /// The operator without its namespace and overload, in place or not.
    pub fn family(&self) -> &str {
        family(self.operator)
    }

    /// The argument of that name.
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|(known, _)| known == name).map(|(_, argument)| argument)
    }

    /// The tensor of that name.
    pub fn tensor(&self, name: &str) -> Option<&Operand> {
        match self.argument(name) {
            Some(Argument::Tensor(tensor)) => Some(tensor),
            _ => None,
        }
    }

    /// The elements of the tensor of that name, or the number in its place.
    pub fn elements_of(&self, name: &str) -> Vec<Complex64> {
        match self.argument(name) {
            Some(Argument::Tensor(tensor)) => tensor.elements.clone(),
            Some(Argument::Number(number)) => vec![number.to_complex()],
            _ => Vec::new(),
        }
    }

    /// The number of that name.
    pub fn number(&self, name: &str) -> Option<Scalar> {
        match self.argument(name) {
            Some(Argument::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// The output that was given: the first, where there are several.
    pub fn out(&self) -> Option<&Operand> {
        self.outs().next()
    }

    /// The outputs that were given.
    pub fn outs(&self) -> impl Iterator<Item = &Operand> {
        self.outputs.iter().filter_map(|name| self.tensor(name))
    }

    /// The tensor that the call writes: the first output, or `self` in place.
    pub fn written_operand(&self) -> Option<&Operand> {
        let name = self.operator.split('.').next().unwrap_or_default();
        self.out().or_else(|| self.tensor("self").filter(|_| name.ends_with('_')))
    }

    /// The tensors among the arguments, with their names.
    pub fn tensors(&self) -> Vec<(&str, &Operand)> {
        let mut found = Vec::new();
        for (name, argument) in self.arguments {
            match argument {
                Argument::Tensor(tensor) => found.push((name.as_str(), tensor)),
                Argument::Tensors(list) => {
                    found.extend(list.iter().flatten().map(|tensor| (name.as_str(), tensor)))
                }
                _ => {}
            }
        }
        found
    }

    /// The tensors that are read only.
    pub fn inputs(&self) -> Vec<&Operand> {
        let is_output = |name: &str| self.outputs.iter().any(|output| output == name);
        self.tensors().into_iter().filter(|(name, _)| !is_output(name)).map(|(_, tensor)| tensor).collect()
    }

    /// The numbers among the arguments.
    pub fn numbers(&self) -> impl Iterator<Item = Scalar> {
        self.arguments.iter().filter_map(|(_, argument)| match argument {
            Argument::Number(number) => Some(*number),
            _ => None,
        })
    }

    /// Whether one of the tensors, the output included, or the default dtype has one of these dtypes.
    pub fn meets_dtype(&self, wanted: &[DType]) -> bool {
        wanted.contains(&self.default)
            || self.tensors().iter().any(|(_, tensor)| wanted.contains(&tensor.dtype))
    }

    /// Whether only this side refuses the call, with these words.
    pub fn we_refuse(&self, words: &str) -> bool {
        self.part == Part::Outcome && !is_error_of_torch(self.torch) && self.ours.contains(words)
    }

    /// Whether only torch refuses the call, with these words.
    pub fn torch_refuses(&self, words: &str) -> bool {
        self.part == Part::Outcome && is_error_of_torch(self.torch) && self.torch.contains(words)
    }

    /// Whether the operator is of a kind, or of one under it.
    pub fn is_of_kind(&self, kind: &Kind) -> bool {
        self.kind.is_some_and(|own| own.is(kind))
    }

    /// The strides of both sides' results, where they differ.
    pub fn strides(&self) -> Option<[Vec<i64>; 2]> {
        let parsed = |text: &str| -> Option<Vec<i64>> {
            let inner = text.strip_prefix('[')?.strip_suffix(']')?;
            inner.split(", ").filter(|stride| !stride.is_empty()).map(|stride| stride.parse().ok()).collect()
        };
        let is_stride = self.part == Part::Strides;
        is_stride.then(|| Some([parsed(self.ours)?, parsed(self.torch)?])).flatten()
    }

    /// Whether strides differ where torch's result is row-major and this side's without gaps.
    pub fn lies_in_rows_there(&self) -> bool {
        self.strides().is_some_and(|[ours, torch]| self.are_rows(&torch) && self.are_dense(&ours))
    }

    /// Whether strides differ where this side's result is row-major and torch's is dense.
    pub fn lies_in_rows_here(&self) -> bool {
        self.strides().is_some_and(|[ours, torch]| self.are_rows(&ours) && self.are_dense(&torch))
    }

    /// Whether the result of this side begins where its memory does, which is new.
    pub fn begins_memory_here(&self) -> bool {
        self.part == Part::Offset && self.ours == "0"
    }

    /// Whether strides differ where neither side's result has gaps.
    pub fn are_both_dense(&self) -> bool {
        self.strides().is_some_and(|both| both.iter().all(|strides| self.are_dense(strides)))
    }

    /// Whether strides are those of a result without gaps, as far as its elements are reached by them.
    fn are_dense(&self, strides: &[i64]) -> bool {
        if strides.len() != self.sizes.len() {
            return false;
        }
        let mut reached: Vec<(i64, i64)> =
            strides.iter().copied().zip(self.sizes.iter().copied()).filter(|(_, size)| *size > 1).collect();
        reached.sort_unstable();
        let mut step = 1;
        let mut is_next = |(stride, size): (i64, i64)| {
            let is_next = stride == step;
            step *= size;
            is_next
        };
        self.sizes.contains(&0) || reached.into_iter().all(&mut is_next)
    }

    /// Whether strides are those of a row-major result, as far as its elements are reached by them.
    fn are_rows(&self, strides: &[i64]) -> bool {
        let Ok(rows) = Geometry::contiguous(self.sizes) else { return false };
        let is_row = |at: usize| self.sizes[at] <= 1 || rows.strides()[at] == strides[at];
        strides.len() == self.sizes.len() && (self.sizes.contains(&0) || (0..strides.len()).all(is_row))
    }

    /// Whether several elements of a tensor are equal, or no numbers.
    pub fn has_equal_elements(&self, name: &str) -> bool {
        let equal = |one: &Complex64, other: &Complex64| one == other || one.is_nan() && other.is_nan();
        self.tensor(name).is_some_and(|tensor| {
            let each = tensor.elements.iter().enumerate();
            each.into_iter().any(|(at, one)| tensor.elements[..at].iter().any(|other| equal(one, other)))
        })
    }

    /// Whether elements differ, and each pair is of this kind.
    pub fn each(&self, is_such: impl Fn(&Pair) -> bool) -> bool {
        !self.elements.is_empty() && self.elements.iter().all(is_such)
    }

    /// Whether torch's result, which stands in its answer, has no elements.
    pub fn torch_gives_nothing(&self) -> bool {
        self.part == Part::Outcome && !is_error_of_torch(self.torch) && gives_nothing(self.torch)
    }

    /// Whether this side's result has no elements.
    pub fn we_give_nothing(&self) -> bool {
        self.part == Part::Outcome && is_error_of_torch(self.torch) && gives_nothing(self.ours)
    }
}

/// Whether an answer of torch's is an error, which begins with the class of the exception.
fn is_error_of_torch(answer: &str) -> bool {
    let class = answer.split_once(':').map(|(class, _)| class);
    answer == DIED || class.is_some_and(|class| class.ends_with("Error") && !class.contains(' '))
}

/// Whether an answer begins with a tensor one of whose sizes is zero.
fn gives_nothing(answer: &str) -> bool {
    let sizes = answer.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    sizes.is_some_and(|(sizes, _)| sizes.split(", ").any(|size| size == "0"))
}

/// The family of an operator, as `add` of `aten::add_.Tensor`.
pub fn family(operator: &str) -> &str {
    let name = operator.trim_start_matches("aten::");
    let name = name.split('.').next().unwrap_or(name);
    name.strip_suffix('_').unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call that shows a difference on processors of one maker only is not made on others.
    #[test]
    fn a_directed_call_is_for_the_processors_that_show_it() {
        let needs = |needs| Directed { operator: "aten::neg", arguments: Vec::new, needs }.is_shown_here();
        assert!(needs(None));
        assert!(!needs(Some("no such feature")));
        assert!(!(needs(Some("GenuineIntel")) && needs(Some("AuthenticAMD"))));
        let said = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        for maker in ["GenuineIntel", "AuthenticAMD"] {
            let is_named = said.lines().any(|line| line.starts_with("vendor_id") && line.ends_with(maker));
            assert_eq!(needs(Some(maker)), is_named, "{maker}");
        }
    }
}
