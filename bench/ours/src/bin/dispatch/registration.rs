//! Measures what operators cost before they are called: defining, implementing, dropping, and the memory they take.
//!
//! The dispatcher has the fallbacks that torch has, because they decide how much of a table is to be filled, and the
//! operators of the tensor library.

use opgrid::Registration;
use opgrid::dispatch::schema::FunctionSchema;
use opgrid::dispatch::{AnyTensor, quiesce};
use opgrid::prelude::*;

use opgrid_bench::Measured;
use opgrid_bench::clock::{self, Effort};

use crate::heap;

type Signature = fn(AnyTensor, AnyTensor, Scalar) -> AnyTensor;

fn kernel(a: &AnyTensor, _: &AnyTensor, _: Scalar) -> Result<AnyTensor> {
    Ok(a.clone())
}

/// Nanoseconds, or bytes, per operator.
///
/// # Errors
///
/// Those of the registrations.
pub fn measure(effort: Effort) -> Result<Vec<Measured>> {
    let dispatcher = Dispatcher::with_reference_fallbacks();
    let _operators = opgrid::ops::register(&dispatcher)?;
    let mut best = Costs::UNKNOWN;
    for round in 0..effort.registrations {
        best.take(&Costs::measure(&dispatcher, &format!("bench{round}"), effort.operators)?);
    }
    let each = effort.operators as f64;
    Ok(vec![
        ("define_parsed".into(), best.define_parsed / each),
        ("define_text".into(), best.define_text / each),
        ("implement".into(), best.implement / each),
        ("drop".into(), best.drop / each),
        ("entry_bytes".into(), best.bytes / each),
    ])
}

/// What all operators of a round cost together.
struct Costs {
    define_parsed: f64,
    define_text: f64,
    implement: f64,
    drop: f64,
    bytes: f64,
}

impl Costs {
    const UNKNOWN: Self = Self {
        define_parsed: f64::INFINITY,
        define_text: f64::INFINITY,
        implement: f64::INFINITY,
        drop: f64::INFINITY,
        bytes: f64::INFINITY,
    };

    /// Keeps the lower of each.
    fn take(&mut self, other: &Self) {
        self.define_parsed = self.define_parsed.min(other.define_parsed);
        self.define_text = self.define_text.min(other.define_text);
        self.implement = self.implement.min(other.implement);
        self.drop = self.drop.min(other.drop);
        self.bytes = self.bytes.min(other.bytes);
    }

    fn measure(dispatcher: &Dispatcher, namespace: &str, count: usize) -> Result<Self> {
        let texts: Vec<String> = (0..count)
            .map(|number| {
                format!("operator_{number}(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
            })
            .collect();
        let names: Vec<String> = (0..count).map(|number| format!("operator_{number}")).collect();

        let (define_text, defined) = clock::once(|| define_texts(dispatcher, namespace, &texts))?;
        drop(defined);
        quiesce()?;

        let schemas = parse(&texts)?;
        let before = heap::bytes_in_use();
        let (define_parsed, defined) = clock::once(|| define_schemas(dispatcher, namespace, schemas))?;
        let (implement, implemented) = clock::once(|| implement(dispatcher, namespace, &names))?;
        quiesce()?;
        let bytes = heap::bytes_in_use() - before;
        // What is dropped is freed when no call can see it any more: that belongs to the cost.
        let (drop, ()) = clock::once(|| {
            std::mem::drop((implemented, defined));
            quiesce()
        })?;
        Ok(Self { define_parsed, define_text, implement, drop, bytes })
    }
}

fn parse(texts: &[String]) -> Result<Vec<FunctionSchema>> {
    let schemas: std::result::Result<_, _> = texts.iter().map(|text| FunctionSchema::parse(text)).collect();
    schemas.map_err(|error| Error::new(ErrorKind::Schema, error.to_string()))
}

fn define_texts(dispatcher: &Dispatcher, namespace: &str, texts: &[String]) -> Result<Registration> {
    let mut library = dispatcher.library(namespace);
    for text in texts {
        library.define(text.as_str());
    }
    library.finish()
}

fn define_schemas(
    dispatcher: &Dispatcher,
    namespace: &str,
    schemas: Vec<FunctionSchema>,
) -> Result<Registration> {
    let mut library = dispatcher.library(namespace);
    for schema in schemas {
        library.define_schema(schema);
    }
    library.finish()
}

fn implement(dispatcher: &Dispatcher, namespace: &str, names: &[String]) -> Result<Registration> {
    let mut library = dispatcher.implementations(namespace, DispatchKey::Cpu);
    for name in names {
        library.implement(name.as_str()).add(Kernel::function::<Signature>(kernel));
    }
    library.finish()
}
