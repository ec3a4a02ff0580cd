//! Groups of parameters, with what an optimizer remembers of each parameter.

use opgrid_core::{DType, Device, Result, Scalar};
use opgrid_tensor::{Tensor, ops};

use crate::error::argument;
use crate::state::StateDict;

/// Parameters with the same settings.
#[derive(Debug)]
pub struct Group<S> {
    /// The settings, which may be changed between steps.
    pub settings: S,
    pub(super) slots: Vec<Slot>,
}

impl<S> Group<S> {
    /// The parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &Tensor> {
        self.slots.iter().map(|slot| &slot.parameter)
    }
}

/// A parameter and what is remembered of it: nothing before its first step.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) parameter: Tensor,
    /// How many steps there were.
    pub(super) steps: u64,
    /// Tensors of the parameter's shape and dtype, in the order of their [names](Settings::NAMES).
    pub(super) kept: Vec<Tensor>,
}

impl Slot {
    /// Converts what is remembered to the parameter's dtype, after its module was converted.
    ///
    /// # Errors
    ///
    /// Those of `aten::to`.
    pub(super) fn follow_dtype(&mut self) -> Result<()> {
        let dtype = self.parameter.dtype();
        for kept in self.kept.iter_mut().filter(|kept| kept.dtype() != dtype) {
            *kept = kept.to_dtype(dtype)?;
        }
        Ok(())
    }
}

/// The tensor, a complex one as pairs of real numbers on the same memory.
pub(super) fn real(tensor: &Tensor) -> Result<Tensor> {
    if tensor.dtype().is_complex() { opgrid_tensor::ops::ViewAsReal.call(tensor) } else { Ok(tensor.clone()) }
}

/// The settings of an optimizer's groups.
pub(super) trait Settings {
    /// What its errors call the optimizer.
    const OPTIMIZER: &'static str;
    /// The names of the tensors that it may keep of each parameter, in an order.
    const NAMES: &'static [&'static str];
    /// Whether it needs the number of steps.
    const COUNTS_STEPS: bool;

    fn lr(&self) -> f64;
    fn set_lr(&mut self, lr: f64);
    /// How many of the tensors these settings keep.
    fn keeps(&self) -> usize;
    /// Whether all settings are within their range.
    fn check(&self) -> Result<()>;
}

/// The groups of an optimizer.
#[derive(Debug)]
pub struct Groups<S> {
    pub(super) list: Vec<Group<S>>,
}

impl<S: Settings> Groups<S> {
    pub(super) fn new(parameters: Vec<Tensor>, settings: S) -> Result<Self> {
        let mut groups = Self { list: Vec::new() };
        groups.add(parameters, settings)?;
        Ok(groups)
    }

    pub(super) fn add(&mut self, parameters: Vec<Tensor>, settings: S) -> Result<()> {
        settings.check()?;
        self.check(&parameters)?;
        let slot = |parameter| Slot { parameter, steps: 0, kept: Vec::new() };
        self.list.push(Group { settings, slots: parameters.into_iter().map(slot).collect() });
        Ok(())
    }

    fn check(&self, parameters: &[Tensor]) -> Result<()> {
        let name = S::OPTIMIZER;
        if parameters.is_empty() {
            return Err(argument(format!(
                "{name}: found no parameters, expected some; pass those of a module, as \
                 `model.parameters()`"
            )));
        }
        for (place, parameter) in parameters.iter().enumerate() {
            if !parameter.is_leaf() {
                return Err(argument(format!(
                    "{name}: parameter {place} is not a leaf tensor, expected one that no recorded \
                     operator computed"
                )));
            }
            let in_other_groups = self.list.iter().flat_map(Group::parameters);
            if parameters[..place].iter().chain(in_other_groups).any(|other| other.is_same(parameter)) {
                return Err(argument(format!(
                    "{name}: parameter {place} is given twice, expected each once"
                )));
            }
        }
        Ok(())
    }

    pub(super) fn zero_grad(&self) -> Result<()> {
        self.list.iter().flat_map(Group::parameters).try_for_each(|parameter| parameter.set_grad(None))
    }

    pub(super) fn rates(&self) -> Vec<f64> {
        self.list.iter().map(|group| group.settings.lr()).collect()
    }

    pub(super) fn set_rates(&mut self, rates: &[f64]) {
        for (group, rate) in self.list.iter_mut().zip(rates) {
            group.settings.set_lr(*rate);
        }
    }

    pub(super) fn state_dict(&self) -> Result<StateDict> {
        let mut state = StateDict::new();
        for (place, slot) in self.slots().enumerate() {
            if S::COUNTS_STEPS && slot.steps > 0 {
                state.insert(format!("state.{place}.step"), number(slot.steps as f64)?);
            }
            for (name, tensor) in S::NAMES.iter().zip(&slot.kept) {
                state.insert(format!("state.{place}.{name}"), tensor.detach()?);
            }
        }
        for (place, rate) in self.rates().into_iter().enumerate() {
            state.insert(format!("groups.{place}.lr"), number(rate)?);
        }
        Ok(state)
    }

    pub(super) fn load_state_dict(&mut self, state: &StateDict) -> Result<()> {
        let mut reader = Reader { state, used: 0, problems: Vec::new() };
        let mut loaded = Vec::new();
        for group in &self.list {
            for slot in &group.slots {
                let prefix = format!("state.{}.", loaded.len());
                let is_there = state.names().any(|name| name.starts_with(&prefix));
                let names = if is_there { &S::NAMES[..group.settings.keeps()] } else { &[] };
                let step = (S::COUNTS_STEPS && is_there).then(|| reader.take(&format!("{prefix}step"), &[]));
                let sizes = slot.parameter.sizes();
                let kept: Vec<_> =
                    names.iter().map(|name| reader.take(&format!("{prefix}{name}"), sizes)).collect();
                loaded.push((step.flatten(), kept));
            }
        }
        let rates: Vec<_> =
            (0..self.list.len()).map(|place| reader.take(&format!("groups.{place}.lr"), &[])).collect();
        reader.finish(S::OPTIMIZER)?;
        let rates =
            rates.into_iter().flatten().map(|rate| rate.item()?.to_f64()).collect::<Result<Vec<_>>>()?;
        let mut copies = Vec::with_capacity(loaded.len());
        for (slot, (step, kept)) in self.slots().zip(loaded) {
            let steps = step.map_or(Ok(0), |step| Ok(step.item()?.to_f64()? as u64))?;
            let copy = |tensor: &Tensor| {
                let (dtype, device) = (Some(slot.parameter.dtype()), Some(slot.parameter.device()));
                ops::ToCopy.call(tensor, dtype, None, device, None, false, None)
            };
            copies.push((steps, kept.into_iter().flatten().map(copy).collect::<Result<Vec<_>>>()?));
        }
        for (slot, (steps, kept)) in self.list.iter_mut().flat_map(|group| &mut group.slots).zip(copies) {
            (slot.steps, slot.kept) = (steps, kept);
        }
        self.set_rates(&rates);
        Ok(())
    }

    fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.list.iter().flat_map(|group| &group.slots)
    }
}

/// A number as a tensor that keeps all of it.
fn number(value: f64) -> Result<Tensor> {
    Tensor::full((), Scalar::Float(value), Some(DType::F64), Device::CPU)
}

/// Takes tensors out of a state dict and notes what is wrong.
struct Reader<'s> {
    state: &'s StateDict,
    used: usize,
    problems: Vec<String>,
}

impl<'s> Reader<'s> {
    fn take(&mut self, name: &str, sizes: &[i64]) -> Option<&'s Tensor> {
        let Some(tensor) = self.state.get(name) else {
            self.problems.push(format!("missing: {name}"));
            return None;
        };
        self.used += 1;
        if tensor.sizes() != sizes {
            self.problems.push(format!("{name}: found shape {:?}, expected {sizes:?}", tensor.sizes()));
        }
        Some(tensor)
    }

    fn finish(mut self, optimizer: &str) -> Result<()> {
        if self.problems.is_empty() && self.used < self.state.len() {
            let (found, expected) = (self.state.len(), self.used);
            self.problems.push(format!(
                "found {found} tensors, expected {expected}: the optimizer has fewer parameters, groups or settings"
            ));
        }
        if self.problems.is_empty() {
            Ok(())
        } else {
            Err(argument(format!(
                "the state dict does not fit {optimizer}:\n  {}",
                self.problems.join("\n  ")
            )))
        }
    }
}

/// Refuses a setting that is out of range.
pub(super) fn expect(holds: bool, optimizer: &str, name: &str, found: f64, expected: &str) -> Result<()> {
    if holds {
        Ok(())
    } else {
        Err(argument(format!("{optimizer}: found {name} {found}, expected {expected}")))
    }
}

/// Gives an optimizer the functions that all have, by its field `groups`.
macro_rules! optimizer {
    ($name:ident, $settings:ident) => {
        impl $name {
            /// An optimizer of these parameters.
            ///
            /// # Errors
            ///
            /// No parameters, one that is given twice or was computed of others, or settings out of range.
            pub fn new(
                parameters: Vec<opgrid_tensor::Tensor>,
                settings: impl Into<$settings>,
            ) -> opgrid_core::Result<Self> {
                Ok(Self { groups: Groups::new(parameters, settings.into())? })
            }

            /// Adds parameters with settings of their own.
            ///
            /// # Errors
            ///
            /// As [`new`](Self::new), and a parameter that another group has.
            pub fn add_group(
                &mut self,
                parameters: Vec<opgrid_tensor::Tensor>,
                settings: impl Into<$settings>,
            ) -> opgrid_core::Result<()> {
                self.groups.add(parameters, settings.into())
            }

            /// The groups of parameters, in the order in which they were added.
            pub fn groups(&self) -> &[Group<$settings>] {
                &self.groups.list
            }

            /// Returns the parameter groups, to change settings between steps.
            pub fn groups_mut(&mut self) -> &mut [Group<$settings>] {
                &mut self.groups.list
            }

            /// Updates each parameter that has a gradient.
            ///
            /// # Errors
            ///
            /// Those of the operators that it calls, and settings that were changed to be out of range.
            pub fn step(&mut self) -> opgrid_core::Result<()> {
                opgrid_tensor::layers::autograd::no_grad(|| {
                    for group in &mut self.groups.list {
                        group.settings.check()?;
                        group.slots.iter_mut().try_for_each(|slot| slot.follow_dtype())?;
                        update(group)?;
                    }
                    Ok(())
                })
            }

            /// Removes the gradients of all parameters.
            ///
            /// # Errors
            ///
            /// None today; a backend may have some.
            pub fn zero_grad(&self) -> opgrid_core::Result<()> {
                self.groups.zero_grad()
            }

            /// What a run needs to go on later; see [`Optimizer::state_dict`](crate::optim::Optimizer::state_dict).
            ///
            /// # Errors
            ///
            /// Those of `aten::detach`.
            pub fn state_dict(&self) -> opgrid_core::Result<crate::StateDict> {
                self.groups.state_dict()
            }

            /// Copies the state of an optimizer that has as many parameters, of the same shapes.
            ///
            /// # Errors
            ///
            /// Names that are unexpected or missing, and tensors of other shapes. Then nothing has changed.
            pub fn load_state_dict(&mut self, state: &crate::StateDict) -> opgrid_core::Result<()> {
                self.groups.load_state_dict(state)
            }
        }

        impl crate::optim::Optimizer for $name {
            fn step(&mut self) -> opgrid_core::Result<()> {
                self.step()
            }

            fn zero_grad(&self) -> opgrid_core::Result<()> {
                self.zero_grad()
            }

            fn rates(&self) -> Vec<f64> {
                self.groups.rates()
            }

            fn set_rates(&mut self, rates: &[f64]) {
                self.groups.set_rates(rates);
            }

            fn state_dict(&self) -> opgrid_core::Result<crate::StateDict> {
                self.state_dict()
            }

            fn load_state_dict(&mut self, state: &crate::StateDict) -> opgrid_core::Result<()> {
                self.load_state_dict(state)
            }
        }
    };
}
pub(super) use optimizer;
