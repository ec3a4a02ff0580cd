//! The older way to register: one call with a schema or a name and all kernels of the operator.

use opgrid_schema::{AliasAnalysis, Declaration, ParseOptions};

use crate::calling::kernel::Kernel;
use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::DispatchKey;
use crate::registration::dispatcher::Dispatcher;
use crate::registration::library::Registration;

/// The kernels and settings of one legacy registration.
#[derive(Default)]
pub struct LegacyOptions {
    schema: Option<String>,
    kernels: Vec<(Option<DispatchKey>, Kernel)>,
    alias_analysis: Option<AliasAnalysis>,
    contradiction: Option<&'static str>,
}

impl LegacyOptions {
    /// No kernels yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The schema, for registrations that do not begin with it.
    pub fn schema(mut self, schema: &str) -> Self {
        if self.schema.replace(schema.to_owned()).is_some() {
            self.contradiction = Some("you can only specify the schema once per operator registration");
        }
        self
    }

    /// A kernel for one key; `CatchAll` stands for [every key](Self::catch_all).
    pub fn kernel(mut self, key: DispatchKey, kernel: Kernel) -> Self {
        self.kernels.push(((key != DispatchKey::CatchAll).then_some(key), kernel));
        self
    }

    /// A kernel for every key that has none of its own.
    pub fn catch_all(mut self, kernel: Kernel) -> Self {
        self.kernels.push((None, kernel));
        self
    }

    /// How compilers may treat aliases of the operator.
    pub fn alias_analysis(mut self, kind: AliasAnalysis) -> Self {
        if self.alias_analysis.replace(kind).is_some() {
            self.contradiction = Some("you can only call alias_analysis() once per operator registration");
        }
        self
    }
}

fn refused(message: String) -> Error {
    Error::new(ErrorKind::Registration, format!("in operator registration: {message}"))
}

/// Registers the operator of one legacy call.
#[track_caller]
pub(crate) fn register(
    dispatcher: &Dispatcher,
    schema_or_name: &str,
    mut options: LegacyOptions,
) -> Result<Registration> {
    if let Some(message) = options.contradiction {
        return Err(refused(message.into()));
    }
    let text = match (schema_or_name, options.schema.take()) {
        ("", None) => {
            return Err(refused(
                "tried to register an operator without specifying a schema or operator name".into(),
            ));
        }
        ("", Some(schema)) => schema,
        (given, None) => given.to_owned(),
        (given, Some(schema)) => {
            return Err(refused(format!(
                "you can only specify the schema once per operator registration, found {given} and {schema}"
            )));
        }
    };
    for (index, (key, _)) in options.kernels.iter().enumerate() {
        if options.kernels[..index].iter().any(|(other, _)| other == key) {
            return Err(refused(match key {
                Some(key) => format!(
                    "tried to register multiple kernels with same dispatch key {key} for operator schema {text}"
                ),
                None => format!("tried to register multiple catch-all kernels for operator schema {text}"),
            }));
        }
    }
    let parse_options = ParseOptions { allow_type_variables: false, ..Default::default() };
    let declaration = Declaration::parse_with(&text, &parse_options)
        .map_err(|error| Error::new(ErrorKind::Schema, error.to_string()))?;
    let mut schema = match declaration {
        Declaration::Schema(schema) => schema,
        Declaration::Name(name) => {
            if options.kernels.is_empty() {
                return Err(refused(format!(
                    "cannot infer operator schema in registration of operator {name} because there is no kernel \
                     specified"
                )));
            }
            let inferred =
                options.kernels.iter().find_map(|(_, kernel)| kernel.inferred_schema(name.clone()));
            inferred.ok_or_else(|| {
                refused(format!(
                    "cannot infer operator schema for this kind of kernel in registration of operator {name}; please \
                     explicitly specify the operator schema or specify at least one kernel for which we can infer \
                     the schema"
                ))
            })?
        }
    };
    schema.alias_analysis = options.alias_analysis;
    let Some(namespace) = schema.name.namespace().map(str::to_owned) else {
        return Err(refused(format!(
            "operator {} has no namespace; write it as namespace::name",
            schema.name
        )));
    };
    let mut library = dispatcher.fragment(&namespace);
    library.allow_override();
    let mut operator = library.define_schema(schema).describe("registered by RegisterOperators");
    for (key, kernel) in options.kernels {
        operator = operator
            .add(kernel.describe("registered by RegisterOperators").at(key.unwrap_or(DispatchKey::CatchAll)));
    }
    let _ = operator;
    library.finish()
}
