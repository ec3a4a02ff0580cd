//! The samples of operators, as operator files add them and the suite reads them.

use std::fmt;
use std::sync::Arc;

use num_complex::Complex64;
use opgrid_core::schema::OperatorName;
use opgrid_core::{
    Alias, DType, Dispatcher, Operator, Result, Return, Returns, Scalar, Signature, Value, ValueRef,
};
use opgrid_tensor::tensor::choose::ANY;

use crate::departures::access::READ_AFTER_WRITTEN;
use crate::differences::{self, Difference};
use crate::inputs::Inputs;
use crate::lists::Lists;
use crate::naive::DTypeRule;
use crate::rounding::{Rounding, Roundings};
use crate::sample::{Expected, Sample};
use crate::{generate, number};

/// How a typed call of an operator is made from values, as the suite has them.
type TypedCall = fn(&Dispatcher, &str, &[ValueRef<'_>]) -> Result<Vec<Value>>;

/// The samples of an operator for a dtype.
type InputsOf = dyn Fn(DType) -> Vec<Sample> + Send + Sync;

/// What an operator has to answer.
type Reference = dyn Fn(&Inputs) -> Result<Expected> + Send + Sync;

/// The samples of some operators, and how they differ from torch.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    operators: Vec<OperatorSamples>,
    differences: Vec<(String, Difference)>,
    take_numbers: Vec<String>,
    /// Other names that `operator!` declares for operators, each before the operator's own, as far as they have no samples yet.
    aliases: Vec<[String; 2]>,
    roundings: Vec<(String, Roundings)>,
}

impl Samples {
    /// No samples.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what an operator file says of its operators, and the same for the other names that `operator!` declares for them.
    pub fn collect(&mut self, file: fn(&mut Self)) {
        file(self);
        for [alias, own] in std::mem::take(&mut self.aliases) {
            self.rename(&alias, &own);
        }
    }

    /// Adds samples of an operator: the dtypes that it declares, the samples for each dtype, and what it answers.
    ///
    /// `inputs` is asked for every dtype. For those that are not declared each sample has to be refused.
    pub fn operator<O: Operator>(
        &mut self,
        operator: O,
        dtypes: &[DType],
        inputs: fn(DType) -> Vec<Sample>,
        reference: fn(&Inputs) -> Result<Expected>,
    ) -> &mut OperatorSamples {
        self.operator_with(operator, dtypes, inputs, reference)
    }

    /// Adds samples of an operator with a reference that captures values, for operators that share one.
    pub fn operator_with<O: Operator>(
        &mut self,
        _operator: O,
        dtypes: &[DType],
        inputs: fn(DType) -> Vec<Sample>,
        reference: impl Fn(&Inputs) -> Result<Expected> + Send + Sync + 'static,
    ) -> &mut OperatorSamples {
        self.overload(O::name(), O::ALIASES, typed::<O::Signature>, dtypes, inputs, Arc::new(reference))
    }

    /// [`operator_with`](Self::operator_with), compiled once for all operators.
    fn overload(
        &mut self,
        overload: OperatorName,
        aliases: &[Alias],
        typed: TypedCall,
        dtypes: &[DType],
        inputs: fn(DType) -> Vec<Sample>,
        reference: Arc<Reference>,
    ) -> &mut OperatorSamples {
        let name = overload.to_string();
        for alias in aliases.iter().filter(|alias| alias.overload() == overload) {
            let pair = [alias.name().to_string(), name.clone()];
            if !self.aliases.contains(&pair) {
                self.aliases.push(pair);
            }
        }
        self.add(name, Some(typed), dtypes, Arc::new(inputs), reference)
    }

    /// Adds samples of an operator that does for each tensor of a list what another one does for one, whose samples are there
    /// already: their tensors and answers, in lists. It differs from torch as the other one does.
    ///
    /// # Panics
    ///
    /// The other operator has no samples yet.
    pub fn each<L: Operator, O: Operator>(&mut self, _list: L, _single: O) {
        let single = O::name().to_string();
        let same = self.operators.iter().filter(|operator| operator.name == single);
        let listed: Vec<_> = same
            .map(|operator| {
                let lists = Arc::new(Lists::new(L::SCHEMA, O::SCHEMA));
                let (of_inputs, inputs) = (lists.clone(), operator.inputs.clone());
                let reference = operator.reference.clone();
                OperatorSamples {
                    name: L::name().to_string(),
                    typed: Some(typed::<L::Signature>),
                    inputs: Arc::new(move |dtype| of_inputs.samples(dtype, &inputs(dtype))),
                    reference: Arc::new(move |it| lists.expected(it, &*reference)),
                    refusals: Vec::new(),
                    ..operator.clone()
                }
            })
            .collect();
        assert!(!listed.is_empty(), "the samples of {single} come before those of lists");
        self.operators.extend(listed);
        self.differ_alike(family_of(&L::name()), differences::family(&single));
    }

    /// The samples that an operator has, for what else is to be said of it.
    ///
    /// # Panics
    ///
    /// It has none.
    pub fn added<O: Operator>(&mut self, _operator: O) -> &mut OperatorSamples {
        let name = O::name().to_string();
        let own = self.operators.iter_mut().rfind(|operator| operator.name == name);
        own.unwrap_or_else(|| panic!("{name} has no samples yet"))
    }

    /// Adds samples of an element-wise operator of one tensor, by its function of an element.
    pub fn unary<O: Operator>(
        &mut self,
        operator: O,
        dtypes: &[DType],
        rule: DTypeRule,
        function: impl Fn(Scalar) -> Scalar + Send + Sync + 'static,
    ) -> &mut OperatorSamples {
        self.operator_with(operator, dtypes, generate::unary, move |it| it.unary(rule, &function))
    }

    /// Adds samples of an elementwise operator on floats and complex numbers; integers and bools are converted to
    /// floats first.
    pub fn inexact<O: Operator>(
        &mut self,
        operator: O,
        floats: fn(f64) -> f64,
        complex: fn(Complex64) -> Complex64,
    ) -> &mut OperatorSamples {
        self.unary(operator, ANY, DTypeRule::Inexact, move |x| number::inexact(x, floats, complex))
    }

    /// Adds samples of an element-wise operator of two tensors, by its function of two elements.
    pub fn binary<O: Operator>(
        &mut self,
        operator: O,
        dtypes: &[DType],
        rule: DTypeRule,
        function: impl Fn(Scalar, Scalar) -> Scalar + Send + Sync + 'static,
    ) -> &mut OperatorSamples {
        self.operator_with(operator, dtypes, generate::pairs, move |it| it.binary(rule, &function))
    }

    /// Adds samples of an elementwise operator of a tensor and a number.
    pub fn beside_number<O: Operator>(
        &mut self,
        operator: O,
        dtypes: &[DType],
        rule: DTypeRule,
        function: impl Fn(Scalar, Scalar) -> Scalar + Send + Sync + 'static,
    ) -> &mut OperatorSamples {
        self.operator_with(operator, dtypes, generate::with_scalar, move |it| it.binary(rule, &function))
    }

    /// Adds samples of an operator without a Rust type: typed calls are not compared.
    pub fn named(
        &mut self,
        name: impl Into<String>,
        dtypes: &[DType],
        inputs: fn(DType) -> Vec<Sample>,
        reference: fn(&Inputs) -> Result<Expected>,
    ) -> &mut OperatorSamples {
        self.add(name.into(), None, dtypes, Arc::new(inputs), Arc::new(reference))
    }

    fn add(
        &mut self,
        name: String,
        typed: Option<TypedCall>,
        dtypes: &[DType],
        inputs: Arc<InputsOf>,
        reference: Arc<Reference>,
    ) -> &mut OperatorSamples {
        self.operators.push_mut(OperatorSamples {
            name,
            typed,
            dtypes: dtypes.to_vec(),
            inputs,
            reference,
            tolerance: 1.0,
            is_view: false,
            constants: &[],
            not_on_meta: false,
            needs_contiguous: false,
            needs_distinct: false,
            needs_cpu: false,
            output_decides: false,
            in_place_refuses: Vec::new(),
            refusals: Vec::new(),
        })
    }

    /// Adds the samples of an operator, as far as they are there, once more for another name that
    /// [`FamilyBuilder::alias`](opgrid_tensor::families::FamilyBuilder::alias) gives it, with its roundings and differences.
    pub fn alias<A, O>(&mut self, _alias: A, _operator: O)
    where
        A: Operator<Signature = O::Signature>,
        O: Operator,
    {
        self.rename(&A::name().to_string(), &O::name().to_string());
    }

    /// Adds the samples of a view once more for the operator that gives copies of what it shows, and differs from torch as it does.
    pub fn copy_of_view<C, V>(&mut self, copy: C, _view: V)
    where
        C: Operator<Signature = V::Signature>,
        V: Operator,
    {
        let (name, own) = (C::name().to_string(), V::name().to_string());
        let same = self.operators.iter().filter(|operator| operator.name == own).cloned();
        let copies: Vec<_> =
            same.map(|operator| OperatorSamples { name: name.clone(), is_view: false, ..operator }).collect();
        self.operators.extend(copies);
        let family = family_of(&C::name());
        self.differ_alike(family.clone(), differences::family(&own));
        let is_read =
            |(known, there): &(String, Difference)| *known == family && there.id == READ_AFTER_WRITTEN.id;
        if !self.differences.iter().any(is_read) {
            self.differs(copy, READ_AFTER_WRITTEN);
        }
    }

    /// Adds what there is for one name for another one.
    fn rename(&mut self, alias: &str, own: &str) {
        let same = self.operators.iter().filter(|operator| operator.name == own).cloned();
        let renamed: Vec<_> =
            same.map(|operator| OperatorSamples { name: alias.to_owned(), ..operator }).collect();
        self.operators.extend(renamed);
        let (family, own) = (differences::family(alias).to_owned(), differences::family(own));
        self.differ_alike(family.clone(), own);
        if self.take_numbers.iter().any(|known| known == own) && !self.take_numbers.contains(&family) {
            self.take_numbers.push(family);
        }
    }

    /// Adds the roundings and differences that there are for the operators of one family for those of another one.
    fn differ_alike(&mut self, family: String, own: &str) {
        // A name may stand for operators of several files, and for several overloads of one.
        if !self.roundings.iter().any(|(known, _)| *known == family) {
            let roundings =
                self.roundings.iter().find(|(known, _)| known == own).map(|(_, roundings)| *roundings);
            self.roundings.extend(roundings.map(|roundings| (family.clone(), roundings)));
        }
        let has = |id: &str| self.differences.iter().any(|(known, there)| *known == family && there.id == id);
        let differs = self.differences.iter().filter(|(known, there)| known == own && !has(there.id));
        let differs: Vec<_> = differs.map(|(_, difference)| (family.clone(), *difference)).collect();
        self.differences.extend(differs);
    }

    /// Adds a difference from torch of an operator, in all its overloads.
    pub fn differs<O: Operator>(&mut self, _operator: O, difference: Difference) {
        self.differences.push((family_of(&O::name()), difference));
    }

    /// Adds differences that several operators have.
    pub fn differs_as<O: Operator>(&mut self, operator: O, shared: &[Difference]) {
        shared.iter().for_each(|difference| self.differs(operator, *difference));
    }

    /// Says that torch takes a number where an operator asks for a tensor, in all its overloads.
    pub fn number_for_tensor<O: Operator>(&mut self, _operator: O) {
        self.take_numbers.push(family_of(&O::name()));
    }

    /// Says how far results of an operator may lie from torch's, in all its overloads; they are exact unless it is said.
    pub fn rounds<O: Operator>(&mut self, _operator: O, roundings: Roundings) {
        self.roundings.push((family_of(&O::name()), roundings));
    }

    /// How far results of the overload of that name may lie from torch's.
    pub fn roundings(&self, overload: &str) -> Roundings {
        let own = self.roundings.iter().find(|(family, _)| family == differences::family(overload));
        own.map_or(Roundings::all(Rounding::Exact), |(_, roundings)| *roundings)
    }

    /// Whether torch takes a number where the overload of that name asks for a tensor.
    pub fn takes_numbers(&self, overload: &str) -> bool {
        self.take_numbers.iter().any(|family| family == differences::family(overload))
    }

    /// The differences from torch, each with the family of the operator that it belongs to, as `add` of
    /// `aten::add_.Tensor`.
    pub fn differences(&self) -> impl Iterator<Item = (&str, &Difference)> {
        self.differences.iter().map(|(family, difference)| (family.as_str(), difference))
    }

    /// The operators, in the order in which they were added. One may stand there several times.
    pub fn operators(&self) -> &[OperatorSamples] {
        &self.operators
    }

    /// Keeps the samples of operators whose names satisfy a condition.
    pub fn only(mut self, wanted: impl Fn(&str) -> bool) -> Self {
        self.operators.retain(|operator| wanted(&operator.name));
        self
    }
}

/// The name that all overloads of an operator have.
fn family_of(overload: &OperatorName) -> String {
    differences::family(&overload.to_string()).to_owned()
}

/// Calls an operator of that signature typed, and gives its results as values.
fn typed<S: Signature>(
    dispatcher: &Dispatcher,
    name: &str,
    arguments: &[ValueRef<'_>],
) -> Result<Vec<Value>> {
    let handle = dispatcher.find(name)?.typed::<S>()?;
    let output = S::unpack(arguments, |arguments| handle.call(arguments))??;
    let mut returns = Returns::new();
    S::Return::push(output, arguments, &mut returns);
    Ok(returns.into_vec())
}

/// The samples of one operator.
#[derive(Clone)]
pub struct OperatorSamples {
    name: String,
    typed: Option<TypedCall>,
    dtypes: Vec<DType>,
    inputs: Arc<InputsOf>,
    reference: Arc<Reference>,
    tolerance: f64,
    is_view: bool,
    /// The arguments that gradients do not lead to.
    constants: &'static [&'static str],
    not_on_meta: bool,
    needs_contiguous: bool,
    needs_distinct: bool,
    needs_cpu: bool,
    output_decides: bool,
    in_place_refuses: Vec<DType>,
    refusals: Vec<Refusal>,
}

/// Arguments that an operator has to refuse.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The arguments.
    pub sample: Sample,
    /// What the message of the error contains.
    pub message: String,
    /// Whether the elements are the reason, so that a meta tensor is not refused.
    pub by_data: bool,
}

impl OperatorSamples {
    /// How far a result may be from the expected one: in units of the dtype's `eps`, times the expected magnitude or
    /// 1 if that is more. It is 1 unless it is set.
    pub fn tolerance(&mut self, tolerance: f64) -> &mut Self {
        self.tolerance = tolerance;
        self
    }

    /// Names arguments that gradients do not lead to, though they could move results: statistics, and what torch calls not
    /// differentiable. Results that have no gradients are named as well.
    pub fn constant(&mut self, arguments: &'static [&'static str]) -> &mut Self {
        self.constants = arguments;
        self
    }

    /// The result shares the memory of the first argument.
    pub fn view(&mut self) -> &mut Self {
        self.is_view = true;
        self
    }

    /// There is no answer on meta tensors: it depends on elements, or the operator has no kernel there.
    pub fn not_on_meta(&mut self) -> &mut Self {
        self.not_on_meta = true;
        self
    }

    /// What the operator answers depends on strides, or it refuses some: the samples say it for row-major tensors.
    pub fn needs_contiguous(&mut self) -> &mut Self {
        self.needs_contiguous = true;
        self
    }

    /// What is repeated in memory makes arguments for which the answer is not defined, such as singular matrices.
    pub fn needs_distinct(&mut self) -> &mut Self {
        self.needs_distinct = true;
        self
    }

    /// The CPU has to address the memory of arguments: there is no way for other devices, not even by copies.
    pub fn needs_cpu(&mut self) -> &mut Self {
        self.needs_cpu = true;
        self
    }

    /// The dtype of an output says in which dtype is computed, so that none is too low.
    pub fn output_decides(&mut self) -> &mut Self {
        self.output_decides = true;
        self
    }

    /// Dtypes that the in-place overload refuses, though its result could be written to them.
    pub fn in_place_refuses(&mut self, dtypes: &[DType]) -> &mut Self {
        self.in_place_refuses = dtypes.to_vec();
        self
    }

    /// Arguments that are refused with a message that contains `message`.
    pub fn refuses(&mut self, message: &str, sample: Sample) -> &mut Self {
        self.refusals.push(Refusal { sample, message: message.to_owned(), by_data: false });
        self
    }

    /// Adds arguments that are refused because of their elements, with a message that contains `message`.
    pub fn refuses_data(&mut self, message: &str, sample: Sample) -> &mut Self {
        self.refusals.push(Refusal { sample, message: message.to_owned(), by_data: true });
        self
    }

    /// The operator's name with its overload.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The dtypes that it takes.
    pub fn dtypes(&self) -> &[DType] {
        &self.dtypes
    }

    /// The samples for a dtype.
    pub fn samples(&self, dtype: DType) -> Vec<Sample> {
        (self.inputs)(dtype)
    }

    /// What the operator has to answer.
    ///
    /// # Errors
    ///
    /// The sample lacks an argument that the reference asks for, or has one of another kind.
    pub fn expected(&self, inputs: &Inputs) -> Result<Expected> {
        (self.reference)(inputs)
    }

    /// Arguments that have to be refused.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// How far results may be off, as [`tolerance`](Self::tolerance) says.
    pub fn eps_count(&self) -> f64 {
        self.tolerance
    }

    /// The names of arguments that gradients do not lead to.
    pub fn constants(&self) -> &[&'static str] {
        self.constants
    }

    /// Whether the result shares the memory of the first argument.
    pub fn is_view(&self) -> bool {
        self.is_view
    }

    /// Whether there is an answer on meta tensors.
    pub fn is_on_meta(&self) -> bool {
        !self.not_on_meta
    }

    /// Whether elements may be repeated in memory.
    pub fn takes_repeated(&self) -> bool {
        !self.needs_distinct
    }

    /// Whether the answer is the same for all strides.
    pub fn takes_strides(&self) -> bool {
        !self.needs_contiguous
    }

    /// Whether there is a way for devices whose memory the CPU does not address.
    pub fn is_for_devices(&self) -> bool {
        !self.needs_cpu
    }

    /// Whether an output of a lower kind of dtype than the result is refused.
    pub fn refuses_low_outputs(&self) -> bool {
        !self.output_decides
    }

    /// Whether the in-place overload takes a dtype to which its result could be written.
    pub fn in_place_takes(&self, dtype: DType) -> bool {
        !self.in_place_refuses.contains(&dtype)
    }

    /// Calls the operator typed, with values in the order of its schema; `None` where it has no Rust type.
    pub fn call_typed(
        &self,
        dispatcher: &Dispatcher,
        arguments: &[ValueRef<'_>],
    ) -> Option<Result<Vec<Value>>> {
        self.typed.map(|typed| typed(dispatcher, &self.name, arguments))
    }
}

impl fmt::Debug for OperatorSamples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("OperatorSamples");
        text.field("name", &self.name).field("dtypes", &self.dtypes).finish_non_exhaustive()
    }
}
