//! Libraries: a group of definitions, kernels and fallbacks that come and go together.
//!
//! A library only records; [`Library::finish`] applies everything at once or nothing at all. What it did is undone
//! when the [`Registration`] is dropped, in whatever order registrations are dropped.

use std::borrow::Cow;
use std::io::Write;
use std::sync::{Arc, Weak};

use opgrid_schema::{AliasAnalysis, Declaration, FunctionSchema, OperatorName, ParseOptions};

use crate::calling::columns::{Column, HeldColumn};
use crate::calling::conditions::{Condition, names_of};
use crate::calling::kernel::{Kernel, Origin};
use crate::calling::kind::Kind;
use crate::calling::operator::Definition;
use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::DispatchKey;
use crate::panics::Panics;
use crate::place::Place;
use crate::registration::dispatcher::Dispatcher;
use crate::registration::dispatcher_state::DispatcherState;
use crate::registration::on_demand::{Groups, OnDemand};
use crate::registration::operator_builder::OperatorBuilder;
use crate::registration::overload::Operator;
use crate::registration::transaction::{Change, Item};

/// The kinds of libraries, with different rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LibraryKind {
    Library,
    Fragment,
    Implementations,
}

impl LibraryKind {
    fn name(self) -> &'static str {
        match self {
            Self::Library => "library",
            Self::Fragment => "fragment",
            Self::Implementations => "implementations",
        }
    }
}

/// A group of registrations while it is put together. The first mistake is kept and reported by
/// [`finish`](Self::finish).
///
/// # Examples
///
/// ```
/// use opgrid_core::{Dispatcher, DispatchKey, Kernel};
///
/// let dispatcher = Dispatcher::new();
/// let mut library = dispatcher.library("myops");
/// library
///     .define("half(int x) -> int")
///     .add(Kernel::function::<fn(i64) -> i64>(|x| Ok(x / 2)).at(DispatchKey::CompositeExplicitAutograd));
/// let registration = library.finish()?;
/// assert!(dispatcher.find("myops::half").is_ok());
///
/// drop(registration);
/// assert!(dispatcher.find("myops::half").is_err());
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[must_use = "a library does nothing until `finish`"]
pub struct Library {
    dispatcher: Dispatcher,
    kind: LibraryKind,
    /// `None` for `_`.
    namespace: Option<String>,
    key: Option<DispatchKey>,
    may_replace: bool,
    place: Place,
    /// The place of everything, where a front end states it.
    stated: Option<Place>,
    items: Vec<Item>,
    error: Option<Error>,
}

/// What can be defined or implemented: an overload known at compile time, or a text.
pub trait Target {
    /// Whether the schema belongs to a type, so that it stands instead of a name, too.
    const IS_OVERLOAD: bool;

    /// The schema or name as text.
    fn text(&self) -> &str;

    /// What it does, in words for people.
    fn documentation(&self) -> &'static str {
        ""
    }
}

impl<O: Operator> Target for O {
    const IS_OVERLOAD: bool = true;

    fn text(&self) -> &str {
        O::SCHEMA
    }

    fn documentation(&self) -> &'static str {
        O::DOCUMENTATION
    }
}

impl Target for &str {
    const IS_OVERLOAD: bool = false;

    fn text(&self) -> &str {
        self
    }
}

/// The operator that a builder works on. What is done about it is here, once for all types of operators.
pub(super) struct Begun {
    /// `None` after a mistake, which the library remembers.
    pub(super) name: Option<OperatorName>,
    /// The item that defines the operator, if this library does.
    defined: Option<usize>,
}

impl Begun {
    const BROKEN: Self = Self { name: None, defined: None };

    fn into_builder<T>(self, library: &mut Library) -> OperatorBuilder<'_, T> {
        OperatorBuilder::new(library, self)
    }
}

impl Library {
    #[track_caller]
    pub(crate) fn new(
        dispatcher: &Dispatcher,
        kind: LibraryKind,
        namespace: &str,
        key: Option<DispatchKey>,
    ) -> Self {
        let place = Place::here();
        let wildcard = namespace == "_";
        let mut library = Self {
            dispatcher: dispatcher.clone(),
            kind,
            namespace: (!wildcard).then(|| namespace.to_owned()),
            key: key.filter(|key| *key != DispatchKey::CatchAll),
            may_replace: false,
            place,
            stated: None,
            items: Vec::new(),
            error: None,
        };
        if wildcard && kind != LibraryKind::Implementations {
            library.refuse(
                ErrorKind::Registration,
                format!(
                    "cannot define a {0} with the wildcard namespace _ (every {0} defines operators for a distinct \
                     namespace); did you mean `Dispatcher::implementations`?",
                    kind.name()
                ),
            );
        } else if !wildcard && OperatorName::parse(&format!("{namespace}::x")).is_err() {
            library.refuse(
                ErrorKind::Registration,
                format!("`{namespace}` is not a namespace: expected an identifier"),
            );
        } else if kind == LibraryKind::Library {
            library.items.push(Item::Namespace(namespace.to_owned(), None));
        }
        library
    }

    /// Says what the error for an operator of the namespace that is not there says besides, where operators of it may have to be
    /// asked for. Of a library that does not define the namespace, this is a mistake.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_core::Dispatcher;
    ///
    /// let dispatcher = Dispatcher::new();
    /// let mut library = dispatcher.library("myops");
    /// library.hint("`myops::all` registers the others");
    /// let _registration = library.finish()?;
    /// let error = dispatcher.find("myops::half").unwrap_err();
    /// assert!(error.to_string().ends_with("; `myops::all` registers the others"));
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn hint(&mut self, text: &'static str) -> &mut Self {
        match self.items.first_mut() {
            Some(Item::Namespace(_, hint)) => *hint = Some(text),
            _ => self.refuse(
                ErrorKind::Registration,
                "hint(...): a hint belongs to a namespace, which `Dispatcher::library` defines".to_owned(),
            ),
        }
        self
    }

    /// The dispatcher that the library is for.
    pub fn dispatcher(&self) -> &Dispatcher {
        &self.dispatcher
    }

    /// Lets kernels and fallbacks of this library replace those that are there, as torch does with kernels; each
    /// replacement is reported through [`Dispatcher::on_override`].
    pub fn allow_override(&mut self) -> &mut Self {
        self.may_replace = true;
        self
    }

    /// Says where the library and what follows stands, for front ends of other languages: their callers are not places
    /// in Rust code.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_core::{Dispatcher, Place};
    ///
    /// let dispatcher = Dispatcher::new();
    /// let mut library = dispatcher.library("myops");
    /// library.stands_at(Place::new("kernels.py", 12)).define("half(int x) -> int");
    /// let _registration = library.finish()?;
    /// assert!(dispatcher.find("myops::half")?.dump_state()?.contains("kernels.py:12"));
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn stands_at(&mut self, place: Place) -> &mut Self {
        self.place = place;
        self.stated = Some(place);
        self
    }

    /// The place of something that was said at `place` in Rust code.
    pub(super) fn place_or(&self, place: Place) -> Place {
        self.stated.unwrap_or(place)
    }

    fn context(&self) -> String {
        format!("(error occurred while processing {} block at {})", self.kind.name(), self.place)
    }

    #[cold]
    fn refuse(&mut self, kind: ErrorKind, message: String) {
        if self.error.is_none() {
            self.error = Some(Error::new(kind, format!("{message} {}", self.context())));
        }
    }

    /// Defines an operator by a schema text or an overload known at compile time.
    #[track_caller]
    pub fn define<T: Target>(&mut self, target: T) -> OperatorBuilder<'_, T> {
        self.define_documented(target.text(), target.documentation(), Place::here()).into_builder(self)
    }

    fn define_documented(&mut self, text: &str, documentation: &'static str, place: Place) -> Begun {
        let operator = self.define_text(text, self.place_or(place));
        self.document(&operator, documentation.into());
        operator
    }

    fn define_text(&mut self, text: &str, place: Place) -> Begun {
        match Declaration::parse_with(text, &ParseOptions { allow_type_variables: false, ..Default::default() }) {
            Err(error) => self.refuse(ErrorKind::Schema, error.to_string()),
            Ok(Declaration::Name(name)) => self.refuse(
                ErrorKind::Schema,
                format!(
                    "tried to parse a function schema but only the operator name was given: {name}; write its \
                     arguments and returns, or give a kernel to infer them from"
                ),
            ),
            Ok(Declaration::Schema(mut schema)) => {
                schema.alias_analysis = Some(AliasAnalysis::FromSchema);
                return self.define_parsed(schema, place);
            }
        }
        Begun::BROKEN
    }

    /// Defines an operator by a schema that is parsed already; its alias analysis stays as it is.
    #[track_caller]
    pub fn define_schema(&mut self, schema: FunctionSchema) -> OperatorBuilder<'_, &'static str> {
        let place = self.place_or(Place::here());
        self.define_parsed(schema, place).into_builder(self)
    }

    /// Defines an operator by its name and a kernel; argument and return types come from the kernel.
    #[track_caller]
    pub fn define_inferred(&mut self, name: &str, kernel: Kernel) -> OperatorBuilder<'_, &'static str> {
        let place = self.place_or(Place::here());
        let operator = self.infer(name, &kernel, place);
        operator.into_builder(self).add(kernel)
    }

    fn infer(&mut self, name: &str, kernel: &Kernel, place: Place) -> Begun {
        let parsed = match OperatorName::parse(name) {
            Ok(name) => name,
            Err(error) => {
                self.refuse(ErrorKind::Schema, error.to_string());
                return Begun::BROKEN;
            }
        };
        let Some(mut schema) = kernel.inferred_schema(parsed) else {
            self.refuse(
                ErrorKind::Schema,
                format!(
                    "define_inferred(\"{name}\"): full schema string was not specified, and we couldn't infer schema \
                     either; explicitly provide a schema string to `Library::define`"
                ),
            );
            return Begun::BROKEN;
        };
        schema.alias_analysis = Some(AliasAnalysis::Conservative);
        self.define_parsed(schema, place)
    }

    fn define_parsed(&mut self, mut schema: FunctionSchema, place: Place) -> Begun {
        let name = schema.name.clone();
        if self.kind == LibraryKind::Implementations {
            self.refuse(
                ErrorKind::Registration,
                format!(
                    "define(\"{name}\"): cannot define an operator inside of an implementations block; place all \
                     definitions in the (unique) library block for the namespace (`Dispatcher::library`), or in a \
                     fragment (`Dispatcher::fragment`)"
                ),
            );
            return Begun::BROKEN;
        }
        let Some(namespace) = self.namespace.clone() else { return Begun::BROKEN };
        if let Some(given) = name.namespace().filter(|given| *given != namespace) {
            self.refuse(
                ErrorKind::Registration,
                format!(
                    "explicitly provided namespace ({given}) in schema string does not match namespace of enclosing \
                     {} block ({namespace}); move this definition to the (unique) library block of that namespace, or \
                     drop the namespace",
                    self.kind.name()
                ),
            );
            return Begun::BROKEN;
        }
        if schema.arguments.len() > 64 {
            let count = schema.arguments.len();
            self.refuse(
                ErrorKind::Schema,
                format!("{name}: the function schema has {count} arguments but at most 64 are supported"),
            );
            return Begun::BROKEN;
        }
        schema.name = name.with_namespace_if_missing(&namespace);
        let name = schema.name.clone();
        let definition = Definition::new(schema, Origin::at(place));
        self.items.push(Item::Define(Box::new(definition)));
        let defined = Some(self.items.len() - 1);
        Begun { name: Some(name), defined }
    }

    /// Adds kernels to an operator, given by name or as an overload known at compile time; the operator may be
    /// defined later.
    #[track_caller]
    pub fn implement<T: Target>(&mut self, target: T) -> OperatorBuilder<'_, T> {
        self.implement_text(target.text(), T::IS_OVERLOAD).into_builder(self)
    }

    fn implement_text(&mut self, text: &str, is_overload: bool) -> Begun {
        // The schema of an overload is looked at where it is defined.
        let name = if is_overload { text.split('(').next().unwrap_or_default() } else { text };
        let parsed = OperatorName::parse(name).or_else(|_| match Declaration::parse(text) {
            Ok(Declaration::Schema(_)) if !is_overload => {
                let message = "tried to parse an operator name but function schema was given";
                Err(format!("{message}: {text}; give the name alone"))
            }
            Ok(declaration) => Ok(declaration.name().clone()),
            Err(error) => Err(error.to_string()),
        });
        let name = match parsed {
            Ok(name) => name,
            Err(message) => {
                self.refuse(ErrorKind::Schema, message);
                return Begun::BROKEN;
            }
        };
        let given = name.namespace().map(str::to_owned);
        match (&self.namespace, given) {
            (Some(namespace), None) => {
                let name = name.with_namespace_if_missing(namespace);
                Begun { name: Some(name), defined: None }
            }
            (Some(namespace), Some(given)) if given == *namespace => {
                Begun { name: Some(name), defined: None }
            }
            (namespace, given) => {
                let block = namespace.as_deref().unwrap_or("_").to_owned();
                let given = given.unwrap_or_default();
                self.refuse(
                    ErrorKind::Registration,
                    format!(
                        "implement(\"{name}\"): explicitly provided namespace ({given}) in operator name does not match \
                         namespace of enclosing {} block ({block}); implement it in a block of that namespace \
                         (`Dispatcher::implementations`)",
                        self.kind.name()
                    ),
                );
                Begun::BROKEN
            }
        }
    }

    /// Adds a kernel to an operator, for its own key, else for the library's.
    pub(super) fn add_kernel(&mut self, operator: &Begun, kernel: Kernel, place: Place) {
        let Some(name) = &operator.name else { return };
        let kernel = kernel.placed(self.place_or(place));
        let key = match (kernel.key, self.key) {
            (Some(own), Some(block)) if own != block => {
                let message = format!(
                    "implement(\"{name}\"): explicitly provided dispatch key ({own}) is inconsistent with the dispatch \
                     key of the enclosing {} block ({block}); implement it in a separate block \
                     (`Dispatcher::implementations`)",
                    self.kind.name()
                );
                return self.refuse(ErrorKind::Registration, message);
            }
            (own, block) => own.or(block),
        };
        let (name, may_replace) = (name.clone(), self.may_replace);
        self.items.push(Item::Implement { name, key, kernel, may_replace });
    }

    /// Gives an operator a value of a column.
    #[inline(never)]
    pub(super) fn add_column<C: Column>(&mut self, operator: &Begun, value: C, place: Place) {
        let column = HeldColumn::new(value, Origin::at(self.place_or(place)), None);
        self.push_column(operator, column);
    }

    fn push_column(&mut self, operator: &Begun, column: HeldColumn) {
        if let Some(name) = operator.name.clone() {
            let may_replace = self.may_replace;
            self.items.push(Item::Column { name: Some(name), column, may_replace });
        }
    }

    /// Puts providers into an order.
    pub(super) fn add_order(&mut self, operator: &Begun, key: Option<DispatchKey>, names: &[&str]) {
        if let Some(name) = operator.name.clone() {
            self.items.push(Item::Order { name: Some(name), key, names: names_of(names) });
        }
    }

    /// The definition that `setting` is about. An operator that this library only implements has none here.
    pub(super) fn definition(&mut self, operator: &Begun, setting: &str) -> Option<&mut Definition> {
        let name = operator.name.as_ref()?;
        if operator.defined.is_none() {
            let message = format!(
                "implement(\"{name}\"): {setting} belongs to the definition, but the operator is only \
                 implemented here; set it where the operator is defined (`Library::define`), or on a \
                 kernel (`Kernel::describe`)"
            );
            self.refuse(ErrorKind::Registration, message);
        }
        match self.items.get_mut(operator.defined?) {
            Some(Item::Define(definition)) => Some(definition),
            _ => None,
        }
    }

    /// Says what the operator does, if this library defines it.
    pub(super) fn document(&mut self, operator: &Begun, text: Cow<'static, str>) {
        if let Some(Item::Define(definition)) = operator.defined.and_then(|index| self.items.get_mut(index)) {
            definition.documentation = text;
        }
    }

    /// Puts a condition on the kernel that was added last.
    pub(super) fn add_condition(&mut self, operator: &Begun, condition: Condition) {
        let last = self.items.last_mut();
        if let Some(Item::Implement { kernel, name, .. }) = last
            && Some(&*name) == operator.name.as_ref()
        {
            kernel.record.condition = Some(Box::new(condition));
        } else if operator.name.is_some() {
            let message =
                format!("when(\"{}\"): there is no kernel before it; add the kernel first", condition.text);
            self.refuse(ErrorKind::Registration, message);
        }
    }

    /// Registers a kernel for a key and every operator that has none for it.
    ///
    /// Only for [`implementations`](Dispatcher::implementations) of the namespace `_`; the key is the kernel's own
    /// ([`Kernel::at`]) or the library's. The kernel is boxed or a fallthrough, because it serves every signature.
    #[track_caller]
    pub fn fallback(&mut self, kernel: impl Into<Kernel>) -> &mut Self {
        let kernel = kernel.into().placed(self.place_or(Place::here()));
        if self.kind != LibraryKind::Implementations {
            let message = format!(
                "fallback(...): cannot define a fallback inside of a {} block; did you mean to call this inside \
                 `Dispatcher::implementations(\"_\", key)`?",
                self.kind.name()
            );
            self.refuse(ErrorKind::Registration, message);
            return self;
        }
        if let Some(signature) = kernel.record.signature {
            let message = format!(
                "fallback(...): a fallback serves operators of every signature, found a typed kernel ({}); make it with \
                 Kernel::boxed or Kernel::fallthrough",
                (signature.text)()
            );
            self.refuse(ErrorKind::Registration, message);
            return self;
        }
        let key = kernel.key.or(self.key);
        match (key, self.namespace.clone()) {
            (Some(key), Some(namespace)) => self.refuse(
                ErrorKind::Registration,
                format!(
                    "fallback(...): fallback functions which apply to only a single namespace (you specified \
                     {namespace}) are not supported; use `Dispatcher::implementations(\"_\", {key})`"
                ),
            ),
            (None, _) => self.refuse(
                ErrorKind::Registration,
                "fallback(...): a fallback needs a dispatch key; give the block one, or the kernel".into(),
            ),
            (Some(key), None) if !key.exists() => {
                self.refuse(
                    ErrorKind::Registration,
                    format!("fallback(...): {}", crate::keys::key::NOT_ALLOCATED),
                );
            }
            (Some(key), None) => {
                let kernel = kernel.for_fallback();
                self.items.push(Item::Fallback { keys: vec![key], kernel, may_replace: self.may_replace })
            }
        }
        self
    }

    /// Puts the providers of fallbacks of `key` into an order: those named come first, then the others as they were
    /// registered. Only for [`implementations`](Dispatcher::implementations) of the namespace `_`.
    pub fn fallback_order(&mut self, key: DispatchKey, names: &[&str]) -> &mut Self {
        if self.kind != LibraryKind::Implementations || self.namespace.is_some() {
            let message = "fallback_order(...): fallbacks belong to no namespace; use \
                 `Dispatcher::implementations(\"_\", key)`";
            self.refuse(ErrorKind::Registration, message.into());
        } else {
            self.items.push(Item::Order { name: None, key: Some(key), names: names_of(names) });
        }
        self
    }

    /// Registers a value of a column for all operators of a kind, those of the kinds under it included, unless they have
    /// a value of their own. Only for [`implementations`](Dispatcher::implementations) of the namespace `_`: kinds belong
    /// to no namespace.
    #[track_caller]
    pub fn kind_column<C: Column>(&mut self, kind: &Kind, value: C) -> &mut Self {
        let column = HeldColumn::new(value, Origin::at(self.place_or(Place::here())), Some(kind.clone()));
        if self.kind != LibraryKind::Implementations || self.namespace.is_some() {
            let message = format!(
                "kind_column(\"{kind}\", {}): kinds belong to no namespace; use `Dispatcher::implementations(\"_\", None)`",
                C::NAME
            );
            self.refuse(ErrorKind::Registration, message);
        } else {
            self.items.push(Item::Column { name: None, column, may_replace: self.may_replace });
        }
        self
    }

    /// Takes over what another library of the same dispatcher records, so that both are registered at once or not at all.
    /// The first mistake counts, this library's before the other's.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_core::{DispatchKey, Dispatcher, Kernel};
    ///
    /// let dispatcher = Dispatcher::new();
    /// let mut library = dispatcher.library("myops");
    /// library.define("half(int x) -> int");
    /// let mut everything = dispatcher.implementations("_", DispatchKey::Tracer);
    /// everything.fallback(Kernel::boxed(|call| call.below()));
    /// library.join(everything);
    /// let _registration = library.finish()?;
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    pub fn join(&mut self, mut other: Self) -> &mut Self {
        if !Arc::ptr_eq(&self.dispatcher.0, &other.dispatcher.0) {
            let message = "join(...): the libraries belong to different dispatchers; create both from one";
            self.refuse(ErrorKind::Registration, message.into());
        }
        self.items.append(&mut other.items);
        self.error = self.error.take().or(other.error.take());
        self
    }

    /// States operators that are registered when one of them is needed, in groups. From `finish` on they count as defined: who
    /// lists operators, listens, or looks a name up finds them, and a library that adds to one comes after its group. They go
    /// when the registration does.
    ///
    /// An error of a group is one of looking its operators up; [`Dispatcher::operators`] leaves them out.
    pub fn on_demand(&mut self, groups: &[&'static OnDemand]) -> &mut Self {
        let namespace = self.namespace.clone().unwrap_or_default();
        let is_here = |name: &&str| name.strip_prefix(&*namespace).is_some_and(|rest| rest.starts_with("::"));
        let found = groups.iter().find_map(|group| match group.names() {
            [] => Some("a group without operators".to_owned()),
            names => names.iter().find(|name| !is_here(name)).map(|name| format!("`{name}`")),
        });
        if self.kind == LibraryKind::Implementations || found.is_some() {
            let message = format!(
                "on_demand(...): expected operators that this {} block may define, of namespace {namespace}, found {}",
                self.kind.name(),
                found.as_deref().unwrap_or(
                    "a block that defines none; use `Dispatcher::library` or `Dispatcher::fragment`"
                )
            );
            self.refuse(ErrorKind::Registration, message);
        } else {
            self.items.push(Item::OnDemand(groups.into()));
        }
        self
    }

    /// What has been put together, and where.
    ///
    /// # Errors
    ///
    /// The first mistake.
    pub(super) fn into_items(mut self) -> Result<(Vec<Item>, Place)> {
        let items = std::mem::take(&mut self.items);
        match self.error.take() {
            Some(error) => Err(error),
            None => Ok((items, self.place)),
        }
    }

    /// The items so far.
    pub(super) fn items(&self) -> &[Item] {
        &self.items
    }

    /// Registers everything, or nothing.
    ///
    /// Calls that begin after this has returned see all of it. A call that begins meanwhile sees of each operator the
    /// state before or the one after, never a mixture; it may see one operator changed and another one not yet.
    ///
    /// # Errors
    ///
    /// The first mistake in the library, or what the registry refuses; then nothing has changed.
    pub fn finish(self) -> Result<Registration> {
        let dispatcher = self.dispatcher.clone();
        let (items, place) = self.into_items()?;
        dispatcher.0.apply(items, place)
    }

    /// Gives up what has been put together, where a library that goes without [`finish`](Self::finish) would warn.
    pub fn discard(mut self) {
        self.items.clear();
    }
}

impl Drop for Library {
    /// Warns of what was meant to be registered and is not. While a panic goes on, nothing is said.
    fn drop(&mut self) {
        if self.items.is_empty() || std::thread::panicking() {
            return;
        }
        let (kind, namespace, place) =
            (self.kind.name(), self.namespace.as_deref().unwrap_or("_"), self.place);
        let _ = writeln!(
            std::io::stderr(),
            "warning: {kind} `{namespace}` of {place} was dropped without `finish`, so that nothing in \
             it is registered; call `finish`, or `discard` if that is intended"
        );
    }
}

/// What a library registered; dropping it undoes that, at once and without waiting for calls. Calls that begin after it
/// was dropped see nothing of it; [`quiesce`](crate::quiesce) waits for those before.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DispatchKey, Dispatcher, Kernel, Registration, Value};
///
/// let dispatcher = Dispatcher::new();
/// let define = |name: &str| {
///     let mut library = dispatcher.fragment("docs");
///     let kernel = Kernel::function::<fn(i64) -> i64>(Ok).at(DispatchKey::CompositeExplicitAutograd);
///     library.define(&*format!("{name}(int x) -> int")).add(kernel);
///     library.finish()
/// };
/// let mut both = Registration::empty();
/// both.join(define("one")?);
/// both.join(define("two")?);
/// let one = dispatcher.find("docs::one")?;
/// assert_eq!(one.call_values(vec![Value::from(3)])?, [Value::from(3)]);
/// drop(both);
/// assert!(dispatcher.find("docs::two").is_err() && one.call_values(vec![Value::from(3)]).is_err());
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[must_use = "what was registered is undone when this is dropped"]
pub struct Registration {
    parts: Vec<(Weak<DispatcherState>, Vec<Change>)>,
}

/// The groups among changes.
pub(super) fn groups_in(changes: &[Change]) -> impl Iterator<Item = &Groups> {
    changes.iter().filter_map(|change| match change {
        Change::OnDemand(groups) => Some(groups),
        _ => None,
    })
}

impl Registration {
    pub(crate) fn new(dispatcher: Weak<DispatcherState>, changes: Vec<Change>) -> Self {
        Self { parts: vec![(dispatcher, changes)] }
    }

    /// A registration of nothing, to be [`joined`](Self::join) by others.
    pub const fn empty() -> Self {
        Self { parts: Vec::new() }
    }

    /// Takes over another registration: both are undone together, the later one first.
    pub fn join(&mut self, mut other: Self) {
        self.parts.append(&mut other.parts);
    }

    /// Keeps what was registered for as long as the dispatcher lives. A kernel that owns a handle of its dispatcher then
    /// keeps both forever.
    pub fn keep(mut self) {
        for (dispatcher, changes) in self.parts.drain(..) {
            if let Some(dispatcher) = dispatcher.upgrade() {
                dispatcher.keep(&changes);
            }
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut panics = Panics::default();
        for (dispatcher, changes) in self.parts.drain(..).rev() {
            // What one part frees may panic; the others are undone all the same.
            panics.catch(|| {
                if let Some(dispatcher) = dispatcher.upgrade() {
                    dispatcher.undo(changes);
                }
            });
        }
        panics.resume();
    }
}

impl std::fmt::Debug for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let changes: usize = self.parts.iter().map(|(_, changes)| changes.len()).sum();
        write!(f, "Registration({changes} changes)")
    }
}
