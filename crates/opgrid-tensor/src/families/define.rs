//! Registers families: definitions, links, columns, and the kernels of all forms.

use opgrid_core::operator::{KernelOf, OutputOf};
use opgrid_core::schema::OperatorName;
use opgrid_core::{
    Alias, Column, DispatchKey, Error, Forms, Kernel, Kind, Library, Operator, OperatorBuilder, Result,
    Signature, TensorType, ValueRef, operator,
};

use super::forms::{FormKernels, Loop, OutRule, Shape, copied_into_outputs, name_in, named};
use super::signature::{FamilySignature, InPlaceSignature, TakesNumber, TakesNumberFirst, ViewSignature};
use super::view::{GeometriesOf, Views};
use super::{Family, ShapeRule, ViewFamily, ViewRule, kind};
use crate::error::argument;
use crate::tensor::{Array, Tensor, TensorSpec};

/// Defines and implements families in a library.
pub trait DefineFamily {
    /// Defines the overloads of a family, with their columns and the kernels for meta tensors, and their other names.
    #[track_caller]
    fn family<O: Operator<Signature: FamilySignature>>(&mut self, family: &Family<O>)
    -> FamilyBuilder<'_, O>;

    /// Defines an overload that belongs to no [`Family`], and the forms and other names that `operator!` declares for it. All
    /// of them get the kind and the links to each other; the kernels of the forms are added by `implement`.
    #[track_caller]
    fn define_with_forms<O: Operator>(&mut self, operator: O, kind: &Kind) -> OperatorBuilder<'_, O>;

    /// Defines an operator that calls others, whose derivatives it inherits, and the forms that `operator!` declares for it:
    /// outputs get what the functional overload gives, in its dtype, and stay as they are where that is undefined.
    #[track_caller]
    fn implicit<O: Operator<Signature: FamilySignature>>(
        &mut self,
        operator: O,
        kind: &Kind,
        kernel: KernelOf<O>,
    ) -> &mut Self;

    /// Adds the kernels of all forms for a backend: [`Backend::kernels`].
    #[track_caller]
    fn implement_family<S: FamilySignature>(&mut self, kernels: FamilyKernels<S>) -> &mut Self;

    /// Defines an operator that gives a view, or a list of views, for every backend.
    #[track_caller]
    fn view<O: Operator<Signature: ViewSignature>>(
        &mut self,
        operator: O,
        family: &ViewFamily<O>,
    ) -> OperatorBuilder<'_, O>;

    /// Defines an operator that gives row-major copies of what a view shows, and its `out` form: a composite of the view, which
    /// has what layers ask for.
    #[track_caller]
    fn copy_of_view<C, V>(&mut self, copy: C, view: V)
    where
        V: Operator<Signature: ViewSignature> + Default,
        C: Operator<Signature = V::Signature>;

    /// Defines an operator that makes its first argument that view of itself.
    #[track_caller]
    fn view_in_place<F: Operator<Signature: FamilySignature + Signature<Output = Tensor>>, O>(
        &mut self,
        operator: O,
        family: &ViewFamily<F>,
    ) -> OperatorBuilder<'_, O>
    where
        O: Operator<Signature = <F::Signature as FamilySignature>::InPlace>;
}

impl DefineFamily for Library {
    #[track_caller]
    fn family<O: Operator<Signature: FamilySignature>>(
        &mut self,
        family: &Family<O>,
    ) -> FamilyBuilder<'_, O> {
        let family = Family { ..*family };
        let schemas = Schemas::for_operator::<O>();
        define_meta(self, schemas, family.kind, &family.kernels(None));
        define_aliases(self, O::ALIASES, family.kind);
        FamilyBuilder { library: self, schemas, family, defined: Vec::new() }
    }

    #[track_caller]
    fn define_with_forms<O: Operator>(&mut self, operator: O, kind: &Kind) -> OperatorBuilder<'_, O> {
        define_linked(self, Schemas::for_operator::<O>(), kind);
        define_aliases(self, O::ALIASES, kind);
        self.implement(operator)
    }

    #[track_caller]
    fn implicit<O: Operator<Signature: FamilySignature>>(
        &mut self,
        operator: O,
        kind: &Kind,
        kernel: KernelOf<O>,
    ) -> &mut Self {
        let _ = self.define_with_forms(operator, kind).implicit(kernel);
        if let Some(schema) = O::OUT {
            let kernel = copied_into_outputs::<O::Signature>(schema, kernel);
            add_form(self, schema, kernel, DispatchKey::CompositeImplicitAutograd);
        }
        self
    }

    #[track_caller]
    fn implement_family<S: FamilySignature>(&mut self, kernels: FamilyKernels<S>) -> &mut Self {
        let FamilyKernels { schemas, backend, kernels, name, condition } = kernels;
        let Backend { key, allocate } = backend;
        let array = move |spec| allocate(spec)?.array().cloned();
        let tensor = move |spec: &TensorSpec| allocate(spec.clone());
        for (schema, kernel) in schemas.kernels(&kernels, tensor, array) {
            let mut kernel = kernel.at(key);
            if let Some(name) = name {
                kernel = kernel.named(name);
            }
            if let Some(condition) = condition {
                kernel = kernel.when(condition.text, move |values| condition.holds(values));
            }
            let _ = self.implement(name_in(schema)).add(kernel);
        }
        self
    }

    #[track_caller]
    fn view<O: Operator<Signature: ViewSignature>>(
        &mut self,
        operator: O,
        family: &ViewFamily<O>,
    ) -> OperatorBuilder<'_, O> {
        let kernel = view_kernel::<O::Signature>(O::SCHEMA, family.geometry, family.has_history);
        self.define(operator)
            .add(kernel.at(DispatchKey::CompositeExplicitAutograd))
            .column(kind::VIEW.clone())
            .column(view_shape::<O::Signature>(family.geometry))
            .column(ViewRule::typed::<O::Signature>(family.geometry).absolute(family.is_absolute))
    }

    #[track_caller]
    fn copy_of_view<C, V>(&mut self, _copy: C, _view: V)
    where
        V: Operator<Signature: ViewSignature> + Default,
        C: Operator<Signature = V::Signature>,
    {
        let schemas = Schemas::for_operator::<C>();
        define_linked(self, schemas, &kind::COPY);
        add_copies::<V::Signature>(self, schemas, |args| operator::call(V::default(), args));
    }

    #[track_caller]
    fn view_in_place<F: Operator<Signature: FamilySignature + Signature<Output = Tensor>>, O>(
        &mut self,
        operator: O,
        family: &ViewFamily<F>,
    ) -> OperatorBuilder<'_, O>
    where
        O: Operator<Signature = <F::Signature as FamilySignature>::InPlace>,
    {
        let geometry = family.geometry;
        let kernel = Kernel::closure::<O::Signature>(move |args| {
            let args = <F::Signature as FamilySignature>::of_in_place(args);
            let changed = || match <F::Signature as FamilySignature>::first(args) {
                Some(base) => {
                    let geometry = <F::Signature as Signature>::apply(geometry, args)?;
                    base.become_array(base.array()?.view(geometry)?)
                }
                None => Err(argument("the first argument is not a tensor")),
            };
            changed().map_err(|error: Error| named(error, O::SCHEMA))
        });
        let rule = ViewRule::typed::<F::Signature>(geometry).absolute(family.is_absolute);
        self.define(operator)
            .add(kernel.at(DispatchKey::CompositeExplicitAutograd))
            .column(kind::VIEW.clone())
            .column(rule)
    }
}

fn tensor_of<'a>(value: &ValueRef<'a>) -> Option<&'a Tensor> {
    value.as_tensor().and_then(Tensor::from_any_ref)
}

#[track_caller]
fn view_kernel<S: ViewSignature>(
    schema: &'static str,
    geometry: GeometriesOf<S>,
    has_history: bool,
) -> Kernel {
    let take = if has_history { S::Output::from_base } else { S::Output::without_history };
    Kernel::closure::<S>(move |args| {
        let made = || match S::base(args) {
            Some(base) => take(base, S::apply(geometry, args)?),
            None => Err(argument("the first argument is not a tensor")),
        };
        made().map_err(|error: Error| named(error, schema))
    })
}

/// Adds the kernels of an operator that copies what a view shows, and of its `out` form, which has no derivative.
#[inline(never)]
#[track_caller]
fn add_copies<S: ViewSignature>(
    library: &mut Library,
    schemas: Schemas,
    view: for<'a> fn(S::Args<'a>) -> Result<S::Output>,
) {
    let schema = schemas.functional;
    let copies = Kernel::closure::<S>(move |args| {
        view(args).and_then(|views| views.copied()).map_err(|error| named(error, schema))
    });
    add_form(library, schema, copies, DispatchKey::CompositeImplicitAutograd);
    if let Some(schema) = schemas.out {
        let written = Kernel::closure::<S::CopiesOut>(move |all| {
            let (args, outputs) = S::split_outputs(all);
            // What the views show may be written, so that it is copied before.
            let written = view(args).and_then(|views| views.copied()?.written_to(outputs));
            written.map_err(|error| named(error, schema))
        });
        add_form(library, schema, written, DispatchKey::CompositeExplicitAutograd);
    }
}

fn view_shape<S: ViewSignature>(geometry: GeometriesOf<S>) -> ShapeRule {
    ShapeRule::of_several(move |values| {
        let geometries = S::Output::list(S::unpack(values, |args| S::apply(geometry, args))??);
        let base = values
            .first()
            .and_then(tensor_of)
            .ok_or_else(|| argument("the first argument is not a tensor"))?;
        let spec = base.spec()?;
        Ok(geometries.into_iter().map(|geometry| spec.with_geometry(geometry)).collect())
    })
}

/// The schemas of a family's overloads.
#[derive(Clone, Copy)]
struct Schemas {
    functional: &'static str,
    in_place: Option<&'static str>,
    out: Option<&'static str>,
    /// What they do.
    documentation: &'static str,
}

impl Schemas {
    fn for_operator<O: Operator>() -> Self {
        Self { functional: O::SCHEMA, in_place: O::IN_PLACE, out: O::OUT, documentation: O::DOCUMENTATION }
    }

    fn of_alias(alias: &Alias) -> Self {
        Self {
            functional: alias.schema,
            in_place: alias.in_place,
            out: alias.out,
            documentation: alias.documentation,
        }
    }

    fn all(self) -> impl Iterator<Item = &'static str> {
        [Some(self.functional), self.in_place, self.out].into_iter().flatten()
    }

    /// The kernels of all forms, each with its schema. `allocate` makes results, `array` makes
    /// memory for outputs without elements.
    fn kernels<S: FamilySignature>(
        self,
        kernels: &FormKernels<S>,
        allocate: impl Fn(&TensorSpec) -> Result<Tensor> + Send + Sync + 'static,
        array: impl Fn(TensorSpec) -> Result<Array> + Send + Sync + 'static,
    ) -> impl Iterator<Item = (&'static str, Kernel)> {
        let functional = kernels.functional(self.functional, allocate);
        let in_place = self.in_place.map(|schema| (schema, kernels.in_place(schema)));
        let out = self.out.map(|schema| (schema, kernels.into_outputs(schema, array)));
        [Some((self.functional, functional)), in_place, out].into_iter().flatten()
    }

    fn forms(self) -> Forms {
        let name = |schema| {
            let name = name_in(schema);
            name.parse().unwrap_or_else(|_| OperatorName::new(name, ""))
        };
        Forms {
            functional: name(self.functional),
            in_place: self.in_place.map(name),
            out: self.out.map(name),
        }
    }
}

/// Defines the overloads, with their kind and the links between them.
#[track_caller]
fn define_linked(library: &mut Library, schemas: Schemas, kind: &Kind) {
    let forms = schemas.forms();
    for schema in schemas.all() {
        let operator = library.define(schema).document(schemas.documentation);
        let _ = operator.column(kind.clone()).column(forms.clone());
    }
}

/// Adds the kernel of an overload that calls others, and defines it with its forms unless it is a form of one in `defined`.
#[track_caller]
fn define_composite(
    library: &mut Library,
    kind: &Kind,
    defined: &mut Vec<&'static str>,
    schemas: Schemas,
    kernel: Kernel,
) {
    if !defined.contains(&schemas.functional) {
        define_linked(library, schemas, kind);
        defined.extend(schemas.all());
    }
    let kernel = kernel.at(DispatchKey::CompositeImplicitAutograd);
    let _ = library.implement(name_in(schemas.functional)).add(kernel);
}

/// Defines the other names that `operator!` declares for an overload and its forms: composites that call them, so that
/// layers see one operator for both.
#[track_caller]
fn define_aliases(library: &mut Library, aliases: &[Alias], kind: &Kind) {
    let mut defined = Vec::new();
    for alias in aliases {
        define_composite(library, kind, &mut defined, Schemas::of_alias(alias), alias.kernel());
    }
}

/// Defines the forms of a family, with their shape rules and the kernels for meta tensors.
#[inline(never)]
#[track_caller]
fn define_meta<S: FamilySignature>(
    library: &mut Library,
    schemas: Schemas,
    kind: &Kind,
    kernels: &FormKernels<S>,
) {
    define_linked(library, schemas, kind);
    carry_rule(library, schemas.functional, ShapeRule::typed::<S>(kernels.shape));
    if let Some(in_place) = schemas.in_place {
        carry_rule(library, in_place, ShapeRule::typed::<S>(kernels.in_place_shape));
    }
    add_forms(library, schemas, kernels, DispatchKey::Meta);
}

#[track_caller]
fn carry_rule(library: &mut Library, schema: &'static str, rule: ShapeRule) {
    let _ = library.implement(name_in(schema)).column(rule);
}

/// Adds the kernels of all forms, whose results are made where their specs say.
#[inline(never)]
#[track_caller]
fn add_forms<S: FamilySignature>(
    library: &mut Library,
    schemas: Schemas,
    kernels: &FormKernels<S>,
    key: DispatchKey,
) {
    let functional = kernels.functional(schemas.functional, Tensor::allocate_like);
    add_form(library, schemas.functional, functional, key);
    if let Some(schema) = schemas.in_place {
        add_form(library, schema, kernels.in_place(schema), key);
    }
    if let Some(schema) = schemas.out {
        add_form(library, schema, kernels.into_outputs(schema, Array::empty), key);
    }
}

#[track_caller]
fn add_form(library: &mut Library, schema: &'static str, kernel: Kernel, key: DispatchKey) {
    let _ = library.implement(name_in(schema)).add(kernel.at(key));
}

impl<O: Operator<Signature: FamilySignature>> Family<O> {
    fn kernels(&self, fill: Option<Loop<O::Signature>>) -> FormKernels<O::Signature> {
        FormKernels { shape: self.shape, in_place_shape: self.in_place, out: self.out, fill }
    }
}

/// A family while it is registered.
pub struct FamilyBuilder<'l, O: Operator<Signature: FamilySignature>> {
    library: &'l mut Library,
    schemas: Schemas,
    family: Family<O>,
    /// The schemas of overloads that call others, as far as they are defined.
    defined: Vec<&'static str>,
}

impl<O: Operator<Signature: FamilySignature>> FamilyBuilder<'_, O> {
    /// Adds a loop for the CPU, from which all forms follow. It is called with the arguments and an output of the
    /// result's shape, which may be of any dtype that the family admits.
    #[track_caller]
    pub fn cpu(self, fill: Loop<O::Signature>) -> Self {
        add_forms(self.library, self.schemas, &self.family.kernels(Some(fill)), DispatchKey::Cpu);
        self
    }

    /// Gives the functional overload a value of a column; the other forms are linked to it.
    #[track_caller]
    pub fn column<C: Column>(self, value: C) -> Self {
        let _ = self.library.implement(name_in(self.schemas.functional)).column(value);
        self
    }

    /// Defines an overload that takes a number where `tensor` takes its second tensor: a composite, so that layers see
    /// one operator for both. The forms that `operator!` declares for `number` are defined with it, and get their kernels
    /// by calls for them, after the one for the functional overload.
    #[track_caller]
    pub fn number<N, T>(mut self, _number: N, tensor: T) -> Self
    where
        T: Operator<Signature: TakesNumber<Number = N::Signature>>,
        N: Operator<Signature: Signature<Output = OutputOf<T>>>,
    {
        self.overload::<N>(Kernel::closure::<N::Signature>(move |args| {
            <T::Signature as TakesNumber>::with_number(args, |args| operator::call(tensor, args))
        }));
        self
    }

    /// Implements an overload that takes a number where `tensor` takes its first tensor.
    #[track_caller]
    pub fn number_first<N, T>(mut self, _number: N, tensor: T) -> Self
    where
        T: Operator<Signature: TakesNumberFirst<NumberFirst = N::Signature>>,
        N: Operator<Signature: Signature<Output = OutputOf<T>>>,
    {
        self.overload::<N>(Kernel::closure::<N::Signature>(move |args| {
            <T::Signature as TakesNumberFirst>::with_number_first(args, |args| operator::call(tensor, args))
        }));
        self
    }

    /// Defines another name of an overload that does not follow from its own, as `__and__` of `bitwise_and`: a composite
    /// that calls it, so that layers see one operator for both. Names that do are stated by `alias` in
    /// [`operator!`](macro@opgrid_core::operator) and defined with the overload. The forms that `operator!` declares for
    /// `alias` are defined with it, and get their kernels by calls for them, after the one for the functional overload.
    #[track_caller]
    pub fn alias<A, T>(mut self, _alias: A, overload: T) -> Self
    where
        A: Operator<Signature = T::Signature>,
        T: Operator,
    {
        self.overload::<A>(Kernel::closure::<T::Signature>(move |args| operator::call(overload, args)));
        self
    }

    /// Adds the composite kernel of an overload, and defines it with its forms if it is the functional one.
    #[track_caller]
    fn overload<N: Operator>(&mut self, kernel: Kernel) {
        define_composite(
            self.library,
            self.family.kind,
            &mut self.defined,
            Schemas::for_operator::<N>(),
            kernel,
        );
        define_aliases(self.library, N::ALIASES, self.family.kind);
    }
}

/// What takes columns for an operator while it is registered: builders of operators and of families. Layers give their
/// columns methods on it.
pub trait Carries: Sized {
    /// The operator.
    type Operator: Operator;

    /// Gives the operator a value of a column.
    #[track_caller]
    fn carry<C: Column>(self, value: C) -> Self;

    /// Gives the operator a kernel for a layer, at the key that the kernel names.
    #[track_caller]
    fn carry_kernel(self, kernel: Kernel) -> Self;
}

impl<O: Operator> Carries for OperatorBuilder<'_, O> {
    type Operator = O;

    #[track_caller]
    fn carry<C: Column>(self, value: C) -> Self {
        self.column(value)
    }

    #[track_caller]
    fn carry_kernel(self, kernel: Kernel) -> Self {
        self.add(kernel)
    }
}

impl<O: Operator<Signature: FamilySignature>> Carries for FamilyBuilder<'_, O> {
    type Operator = O;

    #[track_caller]
    fn carry<C: Column>(self, value: C) -> Self {
        self.column(value)
    }

    #[track_caller]
    fn carry_kernel(self, kernel: Kernel) -> Self {
        let _ = self.library.implement(name_in(self.schemas.functional)).add(kernel);
        self
    }
}

/// A backend as families see it: its key, and how it makes tensors.
#[derive(Clone, Copy, Debug)]
pub struct Backend {
    key: DispatchKey,
    allocate: fn(TensorSpec) -> Result<Tensor>,
}

impl Backend {
    /// A backend by its key and what makes a tensor of a spec on it, with any content.
    pub const fn new(key: DispatchKey, allocate: fn(TensorSpec) -> Result<Tensor>) -> Self {
        Self { key, allocate }
    }

    /// The kernels of a family's forms on this backend, made of a loop, for [`DefineFamily::implement_family`].
    pub fn kernels<O: Operator<Signature: FamilySignature>>(
        &self,
        family: &Family<O>,
        fill: Loop<O::Signature>,
    ) -> FamilyKernels<O::Signature> {
        FamilyKernels {
            schemas: Schemas::for_operator::<O>(),
            backend: *self,
            kernels: family.kernels(Some(fill)),
            name: None,
            condition: None,
        }
    }
}

/// The kernels of a family's forms on a backend.
#[must_use = "kernels do nothing until they are registered by `implement_family`"]
pub struct FamilyKernels<S: FamilySignature> {
    schemas: Schemas,
    backend: Backend,
    kernels: FormKernels<S>,
    name: Option<&'static str>,
    condition: Option<FormCondition<S>>,
}

/// For which arguments and outputs the kernels of all forms run.
struct FormCondition<S: FamilySignature> {
    text: &'static str,
    arguments: S::Returning<bool>,
    output: fn(&Tensor) -> Result<bool>,
}

impl<S: FamilySignature> Clone for FormCondition<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: FamilySignature> Copy for FormCondition<S> {}

impl<S: FamilySignature> FormCondition<S> {
    /// Whether the kernel of a form runs for these values, behind which an `out` form has its output.
    fn holds(&self, values: &[ValueRef<'_>]) -> Result<bool> {
        let (arguments, outputs) = values.split_at(S::ARITY.min(values.len()));
        if !S::unpack(arguments, |args| S::apply(self.arguments, args))?? {
            return Ok(false);
        }
        outputs.iter().filter_map(tensor_of).try_fold(true, |fits, out| Ok(fits && (self.output)(out)?))
    }
}

impl<S: FamilySignature> FamilyKernels<S> {
    /// Gives the kernels a name, by which they join others in their cells.
    pub fn named(mut self, name: &'static str) -> Self {
        self.name = Some(name);
        self
    }

    /// Lets the kernels run only where `arguments` holds of the arguments and, in the `out` form, `output` of the output;
    /// `text` completes "runs when …". Other calls go on as if there were no kernel, usually to the backend's fallback.
    pub fn when(
        mut self,
        text: &'static str,
        arguments: S::Returning<bool>,
        output: fn(&Tensor) -> Result<bool>,
    ) -> Self {
        self.condition = Some(FormCondition { text, arguments, output });
        self
    }
}

/// Says what an operator is that belongs to no [`Family`].
pub trait DefineKind<O: Operator>: Sized {
    /// The operator's kind.
    #[track_caller]
    fn kind(self, kind: &'static Kind) -> Self;

    /// Registers a kernel for CPU and meta tensors, if there is nothing to compute or it checks the device itself.
    #[track_caller]
    fn on_cpu_and_meta(self, kernel: KernelOf<O>) -> Self;

    /// Registers a kernel for every backend, for operators that check arguments before they call others.
    #[track_caller]
    fn on_every_backend(self, kernel: KernelOf<O>) -> Self;

    /// For every backend, made of other operators only, whose errors have names.
    #[track_caller]
    fn composite(self, kernel: KernelOf<O>) -> Self;

    /// For every key, made of other operators whose derivatives it inherits.
    #[track_caller]
    fn implicit(self, kernel: KernelOf<O>) -> Self;

    /// The first argument as the output of a loop, for operators that only write it.
    #[track_caller]
    fn in_place(
        self,
        shape: Shape<<O::Signature as InPlaceSignature>::Functional>,
        cpu: Loop<<O::Signature as InPlaceSignature>::Functional>,
    ) -> Self
    where
        O::Signature: InPlaceSignature;
}

impl<O: Operator> DefineKind<O> for OperatorBuilder<'_, O> {
    #[track_caller]
    fn kind(self, kind: &'static Kind) -> Self {
        self.column(kind.clone())
    }

    #[track_caller]
    fn on_cpu_and_meta(self, kernel: KernelOf<O>) -> Self {
        let named = |key| named_kernel::<O::Signature>(O::SCHEMA, kernel).at(key);
        self.add(named(DispatchKey::Cpu)).add(named(DispatchKey::Meta))
    }

    #[track_caller]
    fn on_every_backend(self, kernel: KernelOf<O>) -> Self {
        self.add(named_kernel::<O::Signature>(O::SCHEMA, kernel).at(DispatchKey::CompositeExplicitAutograd))
    }

    #[track_caller]
    fn composite(self, kernel: KernelOf<O>) -> Self {
        self.kernel(DispatchKey::CompositeExplicitAutograd, kernel)
    }

    #[track_caller]
    fn implicit(self, kernel: KernelOf<O>) -> Self {
        self.add(named_kernel::<O::Signature>(O::SCHEMA, kernel).at(DispatchKey::CompositeImplicitAutograd))
    }

    #[track_caller]
    fn in_place(
        self,
        shape: Shape<<O::Signature as InPlaceSignature>::Functional>,
        cpu: Loop<<O::Signature as InPlaceSignature>::Functional>,
    ) -> Self
    where
        O::Signature: InPlaceSignature,
    {
        let kernel = |fill| {
            let out = OutRule::Converted;
            let kernels = FormKernels::<<O::Signature as InPlaceSignature>::Functional> {
                shape,
                in_place_shape: shape,
                out,
                fill,
            };
            kernels.in_place(O::SCHEMA)
        };
        let rule = ShapeRule::typed::<<O::Signature as InPlaceSignature>::Functional>(shape);
        self.add(kernel(Some(cpu)).at(DispatchKey::Cpu)).add(kernel(None).at(DispatchKey::Meta)).column(rule)
    }
}

/// The function as a kernel, with the overload's name in front of its errors.
#[inline(never)]
#[track_caller]
fn named_kernel<S: Signature>(schema: &'static str, kernel: S::Returning<S::Output>) -> Kernel {
    Kernel::closure::<S>(move |args| S::apply(kernel, args).map_err(|error| named(error, schema)))
}
