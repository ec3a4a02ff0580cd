//! Samples of operators over lists, made of those of the operator that they call for each tensor.

use opgrid_core::schema::{FunctionSchema, Type};
use opgrid_core::{Binder, DType, List, Result, Value};

use crate::inputs::Inputs;
use crate::plain::strange;
use crate::sample::{Expected, Given, Sample};

/// The dtypes of samples: a list is treated as its tensors are, so that few say enough.
const DTYPES: [DType; 4] = [DType::F32, DType::F64, DType::I64, DType::Complex128];

/// How many tensors the lists have.
const LONGEST: usize = 3;

/// An operator over lists, and the one that it calls for each tensor.
pub(crate) struct Lists {
    list: FunctionSchema,
    single: Binder,
}

impl Lists {
    /// # Panics
    ///
    /// A schema is wrong, which the overloads of `operator!` are not.
    pub(crate) fn new(list: &str, single: &str) -> Self {
        let parse = |text| FunctionSchema::parse(text).expect("`operator!` has read it");
        Self { list: parse(list), single: Binder::new(parse(single)) }
    }

    /// Samples with as many tensors as there are in a row that go together.
    pub(crate) fn samples(&self, dtype: DType, singles: &[Sample]) -> Vec<Sample> {
        if !DTYPES.contains(&dtype) {
            return Vec::new();
        }
        let mut groups: Vec<Vec<Vec<Option<Given>>>> = Vec::new();
        for given in singles.iter().filter_map(|sample| self.arguments(sample)) {
            match groups.last_mut().filter(|group| group.len() < LONGEST && self.is_alike(&group[0], &given))
            {
                Some(group) => group.push(given),
                None => groups.push(vec![given]),
            }
        }
        groups.iter().map(|group| self.joined(group)).collect()
    }

    /// The arguments of a sample for one tensor in the order of the operator over lists; nothing where that lacks one of them.
    fn arguments(&self, sample: &Sample) -> Option<Vec<Option<Given>>> {
        let single = self.single.schema();
        let mut given: Vec<Option<Given>> = vec![None; single.arguments.len()];
        for (place, argument) in sample.positional.iter().enumerate() {
            given[place] = Some(argument.clone());
        }
        for (name, argument) in &sample.keyword {
            given[single.argument_index(name)?] = Some(argument.clone());
        }
        let mut arguments = Vec::with_capacity(self.list.arguments.len());
        for place in 0..self.list.arguments.len() {
            let source = self.in_single(place)?;
            let default = || Given::Value(self.single.default(source).clone());
            let argument = given[source].take().or_else(|| self.is_list(place).then(default));
            // What is one tensor for all is one number.
            let is_number =
                |given: &Given| matches!(given, Given::Tensor(tensor) if tensor.sizes().is_empty());
            let is_one = self.list.arguments[place].real_type == Type::Tensor;
            if is_one && !argument.as_ref().is_some_and(is_number) {
                return None;
            }
            arguments.push(argument);
        }
        given.iter().all(Option::is_none).then_some(arguments)
    }

    /// Which argument for one tensor is that of the lists: the one of the same name, or at the same place.
    fn in_single(&self, place: usize) -> Option<usize> {
        let single = self.single.schema();
        single.argument_index(&self.list.arguments[place].name).or_else(|| {
            let at_place = single.arguments.get(place)?;
            self.list.argument_index(&at_place.name).is_none().then_some(place)
        })
    }

    fn is_list(&self, place: usize) -> bool {
        matches!(self.list.arguments[place].real_type, Type::List(_))
    }

    /// Whether what is no list is the same in both.
    fn is_alike(&self, one: &[Option<Given>], other: &[Option<Given>]) -> bool {
        let text = |given: &Option<Given>| given.as_ref().map(Given::to_string);
        let mut pairs = one.iter().zip(other).enumerate();
        pairs.all(|(place, (one, other))| self.is_list(place) || text(one) == text(other))
    }

    fn joined(&self, group: &[Vec<Option<Given>>]) -> Sample {
        let mut sample = Sample::default();
        for (place, declared) in self.list.arguments.iter().enumerate() {
            let each = || group.iter().filter_map(|given| given[place].clone());
            let argument = if self.is_list(place) { Some(list_of(each().collect())) } else { each().next() };
            let Some(argument) = argument else { continue };
            sample = if sample.positional.len() == place && !declared.kwarg_only {
                sample.and(argument)
            } else {
                sample.named(&declared.name, argument)
            };
        }
        sample
    }

    /// What is expected for each tensor, in their order.
    ///
    /// # Errors
    ///
    /// Those of the reference for one tensor.
    pub(crate) fn expected(
        &self,
        it: &Inputs,
        reference: &dyn Fn(&Inputs) -> Result<Expected>,
    ) -> Result<Expected> {
        let count = it.arguments().iter().find_map(|(_, given)| length(given));
        let count = count.ok_or_else(|| strange("there is no list".to_owned()))?;
        let one = |index: usize| {
            let arguments = self.single.schema().arguments.iter().enumerate().map(|(place, declared)| {
                let own = (0..self.list.arguments.len()).find(|own| self.in_single(*own) == Some(place));
                let given = match own.map(|own| &it.arguments()[own].1) {
                    Some(given) => item(given, index),
                    None => Given::Value(self.single.default(place).clone()),
                };
                (declared.name.clone(), given)
            });
            reference(&Inputs::new(arguments.collect()))
        };
        (0..count).map(one).collect::<Result<Vec<_>>>().map(Expected::Several)
    }
}

/// Tensors or numbers as a list.
fn list_of(each: Vec<Given>) -> Given {
    let (mut tensors, mut values) = (Vec::new(), Vec::new());
    for given in each {
        match given {
            Given::Tensor(tensor) => tensors.push(tensor),
            Given::Value(value) => values.push(value),
            other => unreachable!("{other} is the argument of an operator for one tensor"),
        }
    }
    if values.is_empty() {
        return Given::Tensors(tensors);
    }
    Given::Value(List::from_values(Type::Scalar, values).expect("they are numbers").into())
}

fn length(given: &Given) -> Option<usize> {
    match given {
        Given::Tensors(tensors) => Some(tensors.len()),
        _ => None,
    }
}

/// The element of a list; of anything else it is the argument itself.
fn item(given: &Given, index: usize) -> Given {
    match given {
        Given::Tensors(tensors) => Given::Tensor(tensors[index].clone()),
        Given::Value(Value::List(list)) => Given::Value(list.values()[index].clone()),
        other => other.clone(),
    }
}
