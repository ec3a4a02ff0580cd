//! A sample: the arguments of one call, and what a call has to answer.

use std::fmt;

use opgrid_core::{DType, Generator, Layout, MemoryFormat, Scalar, Value};

use super::Plain;

/// An argument of a sample.
#[derive(Clone, Debug)]
pub enum Given {
    /// A tensor.
    Tensor(Plain),
    /// A list of tensors.
    Tensors(Vec<Plain>),
    /// A list of tensors with gaps.
    OptionalTensors(Vec<Option<Plain>>),
    /// Anything else.
    Value(Value),
}

impl From<Plain> for Given {
    fn from(tensor: Plain) -> Self {
        Self::Tensor(tensor)
    }
}

impl From<Vec<Plain>> for Given {
    fn from(tensors: Vec<Plain>) -> Self {
        Self::Tensors(tensors)
    }
}

impl From<Vec<Option<Plain>>> for Given {
    fn from(tensors: Vec<Option<Plain>>) -> Self {
        Self::OptionalTensors(tensors)
    }
}

macro_rules! values {
    ($($source:ty),* $(,)?) => {
        $(impl From<$source> for Given {
            fn from(value: $source) -> Self {
                Self::Value(value.into())
            }
        })*
    };
}

values![
    i32,
    i64,
    f64,
    bool,
    &str,
    Scalar,
    DType,
    MemoryFormat,
    Layout,
    Generator,
    Vec<i64>,
    Vec<f64>,
    Vec<bool>,
    Value
];

impl Given {
    /// The tensors in it.
    pub fn tensors(&self) -> Vec<&Plain> {
        match self {
            Self::Tensor(tensor) => vec![tensor],
            Self::Tensors(tensors) => tensors.iter().collect(),
            Self::OptionalTensors(tensors) => tensors.iter().flatten().collect(),
            Self::Value(_) => Vec::new(),
        }
    }
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, texts: Vec<String>| write!(f, "[{}]", texts.join(", "));
        match self {
            Self::Tensor(tensor) => tensor.fmt(f),
            Self::Tensors(tensors) => list(f, tensors.iter().map(Plain::to_string).collect()),
            Self::OptionalTensors(tensors) => {
                let text = |gap: &Option<Plain>| gap.as_ref().map_or("None".to_owned(), Plain::to_string);
                list(f, tensors.iter().map(text).collect())
            }
            Self::Value(value) => value.fmt(f),
        }
    }
}

/// The arguments of one call. Where a device is asked for, the suite adds the one that it tests.
///
/// # Examples
///
/// ```
/// use opgrid_core::DType;
/// use opgrid_samples::{Plain, given};
///
/// let x = Plain::from_elements(DType::F32, &[2], &[1.0, 2.5]);
/// let sample = given(x.clone()).and(x).named("alpha", 3);
/// assert_eq!(sample.to_string(), "(float32 [2] (1., 2.5), float32 [2] (1., 2.5), alpha=3)");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Positional arguments, in the order of the schema.
    pub positional: Vec<Given>,
    /// Keyword arguments.
    pub keyword: Vec<(String, Given)>,
}

/// A sample with one argument.
pub fn given(argument: impl Into<Given>) -> Sample {
    Sample::default().and(argument)
}

impl Sample {
    /// Appends an argument.
    pub fn and(mut self, argument: impl Into<Given>) -> Self {
        self.positional.push(argument.into());
        self
    }

    /// Appends a keyword argument.
    pub fn named(mut self, name: &str, argument: impl Into<Given>) -> Self {
        self.keyword.push((name.to_owned(), argument.into()));
        self
    }

    /// All arguments.
    pub fn arguments(&self) -> impl Iterator<Item = &Given> {
        self.positional.iter().chain(self.keyword.iter().map(|(_, argument)| argument))
    }

    /// Replaces each tensor.
    pub fn map_tensors(&self, mut map: impl FnMut(&Plain) -> Plain) -> Self {
        let mut one = |argument: &Given| match argument {
            Given::Tensor(tensor) => Given::Tensor(map(tensor)),
            Given::Tensors(tensors) => Given::Tensors(tensors.iter().map(&mut map).collect()),
            Given::OptionalTensors(tensors) => {
                Given::OptionalTensors(tensors.iter().map(|gap| gap.as_ref().map(&mut map)).collect())
            }
            Given::Value(value) => Given::Value(value.clone()),
        };
        let positional = self.positional.iter().map(&mut one).collect();
        let keyword = self.keyword.iter().map(|(name, argument)| (name.clone(), one(argument))).collect();
        Self { positional, keyword }
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.keyword.iter().map(|(name, argument)| format!("{name}={argument}"));
        let texts: Vec<String> = self.positional.iter().map(Given::to_string).chain(named).collect();
        write!(f, "({})", texts.join(", "))
    }
}

/// What a call has to answer.
#[derive(Clone, Debug)]
pub enum Expected {
    /// A tensor with these elements.
    Tensor(Plain),
    /// A tensor of that shape with any elements.
    Shape(Vec<i64>, DType),
    /// A tensor of that shape with random elements.
    Random(Vec<i64>, DType, Distribution),
    /// Something else than a tensor.
    Value(Value),
    /// Several results, or the tensors of a list.
    Several(Vec<Expected>),
}

/// What can be known of random numbers; of complex ones it holds for both parts.
#[derive(Clone, Copy, Debug)]
pub struct Distribution {
    /// No number is smaller.
    pub least: f64,
    /// No number is larger.
    pub most: f64,
    /// The average of many.
    pub mean: f64,
    /// The standard deviation of many.
    pub deviation: f64,
}

impl Distribution {
    /// Numbers between two bounds, all equally likely.
    pub fn uniform(least: f64, most: f64) -> Self {
        Self { least, most, mean: (least + most) / 2.0, deviation: (most - least) / 12f64.sqrt() }
    }

    /// The normal distribution; of complex numbers each part has half the variance, and the real one the mean.
    pub fn normal(mean: f64, deviation: f64) -> Self {
        Self { least: f64::NEG_INFINITY, most: f64::INFINITY, mean, deviation }
    }
}

impl<T: Into<Expected>> From<Vec<T>> for Expected {
    fn from(results: Vec<T>) -> Self {
        Self::Several(results.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Expected>, const N: usize> From<[T; N]> for Expected {
    fn from(results: [T; N]) -> Self {
        Self::Several(results.into_iter().map(Into::into).collect())
    }
}

impl From<Plain> for Expected {
    fn from(tensor: Plain) -> Self {
        Self::Tensor(tensor)
    }
}
