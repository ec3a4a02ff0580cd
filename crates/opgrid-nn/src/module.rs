//! What a module is: something that names its parts.
//!
//! Everything else follows from the names: lists of parameters and buffers, state dicts, files, the training mode.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opgrid_core::{DType, Device, Result};
use opgrid_tensor::Tensor;
use opgrid_tensor::layers::autograd::{convert_in_place, no_grad};

use crate::error::argument;
use crate::state::StateDict;

/// A part of a network: parameters, buffers, and modules below it.
///
/// Tensors are handles, so that the lists which a module gives out hold its own parameters, not copies of them.
///
/// # Examples
///
/// ```
/// use opgrid_core::{DType, Device, Result};
/// use opgrid_nn::{LayerNorm, Linear, Module, Parts};
/// use opgrid::Tensor;
///
/// struct Scaled {
///     scale: Tensor,
///     norm: Option<LayerNorm>,
///     layers: Vec<Linear>,
/// }
///
/// impl Module for Scaled {
///     fn parts(&self, parts: &mut Parts) {
///         parts.parameter("scale", &self.scale).module("norm", &self.norm).module("layers", &self.layers);
///     }
/// }
///
/// let scale = Tensor::ones(&[4], DType::F32, Device::CPU)?;
/// scale.requires_grad_(true)?;
/// let layers = vec![Linear::new(4, 4)?, Linear::new(4, 4)?];
/// let model = Scaled { scale, norm: None, layers };
/// let names: Vec<String> = model.named_parameters().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["scale", "layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub trait Module {
    /// Names parameters, buffers and modules below this one, in the order in which they are listed and saved.
    ///
    /// A tensor that belongs to no file, such as a mask, need not be named.
    fn parts(&self, parts: &mut Parts);

    /// The parameters of this module and of all below it with their names, such as `layers.0.weight`.
    ///
    /// A parameter in several places is listed once, under its first name.
    fn named_parameters(&self) -> Vec<(String, Tensor)> {
        all_parts(&|parts| self.parts(parts)).distinct(Kind::Parameter)
    }

    /// The parameters of this module and of all below it, each once.
    fn parameters(&self) -> Vec<Tensor> {
        self.named_parameters().into_iter().map(|(_, tensor)| tensor).collect()
    }

    /// The tensors that are saved and not learned, such as running statistics, with their names.
    fn named_buffers(&self) -> Vec<(String, Tensor)> {
        all_parts(&|parts| self.parts(parts)).distinct(Kind::Buffer)
    }

    /// Says whether the module and all below it train: dropout drops, and batch normalization uses the batch's statistics.
    ///
    /// A new module trains.
    fn train(&self, on: bool) {
        for mode in all_parts(&|parts| self.parts(parts)).modes {
            mode.set(on);
        }
    }

    /// Switches the module and its parts to evaluation, as `train(false)` does.
    fn eval(&self) {
        self.train(false);
    }

    /// Removes the gradients of all parameters.
    ///
    /// # Errors
    ///
    /// None today; a backend may have some.
    fn zero_grad(&self) -> Result<()> {
        self.parameters().iter().try_for_each(|parameter| parameter.set_grad(None))
    }

    /// Asks for gradients by all parameters, or no more: a module without does not learn.
    ///
    /// # Errors
    ///
    /// A parameter that was computed of others.
    fn requires_grad_(&self, on: bool) -> Result<()> {
        self.parameters().iter().try_for_each(|parameter| parameter.requires_grad_(on).map(drop))
    }

    /// Converts parameters and buffers of floating-point dtypes to a dtype, with their gradients, or checks that all are on a device.
    /// They stay the same tensors: optimizers that hold them go on with them, and tied ones stay tied. What optimizers remember
    /// follows in their next step.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point; those of `aten::to`; a device other than that of a parameter, because a tensor stays on its
    /// device: create the module there by [`ModuleOptions::device`](crate::ModuleOptions::device), and load the state into it.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_core::DType;
    /// use opgrid_nn::optim::SGD;
    /// use opgrid_nn::{Linear, Module};
    ///
    /// let layer = Linear::new(2, 1)?;
    /// let optimizer = SGD::new(layer.parameters(), 0.1)?;
    /// layer.to(DType::F64)?;
    /// assert_eq!(layer.weight.dtype(), DType::F64);
    /// assert!(optimizer.groups()[0].parameters().next().unwrap().is_same(&layer.weight));
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    fn to(&self, to: impl Into<DTypeOrDevice>) -> Result<()>
    where
        Self: Sized,
    {
        convert(self, to.into())
    }

    /// Parameters and buffers by name, as torch's `state_dict`. The tensors share the module's memory.
    ///
    /// # Errors
    ///
    /// Two parts of one name.
    fn state_dict(&self) -> Result<StateDict> {
        all_parts(&|parts| self.parts(parts)).state_dict()
    }

    /// Copies values into parameters and buffers.
    ///
    /// # Errors
    ///
    /// Names that are missing or unexpected and tensors of other shapes, all of them in one message. Then nothing has
    /// changed.
    fn load_state_dict(&self, state: &StateDict) -> Result<()> {
        all_parts(&|parts| self.parts(parts)).load(state, true).map(drop)
    }

    /// Copies the values whose names the module has, and says which names were left over on either side.
    ///
    /// # Errors
    ///
    /// Tensors of other shapes. Then nothing has changed.
    fn load_matching(&self, state: &StateDict) -> Result<Unmatched> {
        all_parts(&|parts| self.parts(parts)).load(state, false)
    }

    /// Writes the state dict to a `.safetensors` file, whole or not at all; torch reads it. Of a `dyn Module` it is
    /// `module.state_dict()?.write(path)`.
    ///
    /// # Errors
    ///
    /// Those of [`state_dict`](Self::state_dict) and [`StateDict::write`].
    fn save(&self, path: impl AsRef<Path>) -> Result<()>
    where
        Self: Sized,
    {
        self.state_dict()?.write(path.as_ref())
    }

    /// Reads a `.safetensors` file, such as one of torch.
    ///
    /// # Errors
    ///
    /// Those of [`StateDict::read`] and [`load_state_dict`](Self::load_state_dict), with the file's name.
    fn load(&self, path: impl AsRef<Path>) -> Result<()>
    where
        Self: Sized,
    {
        let path = path.as_ref();
        let state = StateDict::read(path)?;
        self.load_state_dict(&state).map_err(|error| error.within(path.display()))
    }
}

/// What a module is converted [to](Module::to).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DTypeOrDevice {
    /// Another dtype.
    DType(DType),
    /// Another device.
    Device(Device),
}

impl From<DType> for DTypeOrDevice {
    fn from(dtype: DType) -> Self {
        Self::DType(dtype)
    }
}

impl From<Device> for DTypeOrDevice {
    fn from(device: Device) -> Self {
        Self::Device(device)
    }
}

fn convert(module: &impl Module, to: DTypeOrDevice) -> Result<()> {
    let mut tensors = [module.named_parameters(), module.named_buffers()].into_iter().flatten();
    match to {
        DTypeOrDevice::DType(dtype) if !dtype.is_floating_point() => {
            Err(argument(format!("modules take floating-point dtypes only, found {dtype}")))
        }
        DTypeOrDevice::DType(dtype) => {
            let mut floating = tensors.filter(|(_, tensor)| tensor.dtype().is_floating_point());
            floating.try_for_each(|(name, tensor)| {
                convert_in_place(&tensor, dtype).map_err(|error| error.within(&name))
            })
        }
        DTypeOrDevice::Device(device) => match tensors.find(|(_, tensor)| tensor.device() != device) {
            None => Ok(()),
            Some((name, tensor)) => Err(argument(format!(
                "{name}: found a tensor on {}, expected {device}; a tensor stays on its device: create the module there by \
                 `ModuleOptions::device`, and load the state into it",
                tensor.device()
            ))),
        },
    }
}

/// A module that makes one tensor of another, as [`Sequential`](crate::Sequential) holds them.
///
/// Modules of this crate have a function `forward` of the same meaning, so that calling it needs no import.
///
/// # Examples
///
/// ```
/// use opgrid_core::Result;
/// use opgrid_nn::{Forward, Linear, Module, Parts, ReLU, Sequential};
/// use opgrid::{Device, Tensor};
///
/// /// What goes in is added to what comes out.
/// struct Residual(Sequential);
///
/// impl Module for Residual {
///     fn parts(&self, parts: &mut Parts) {
///         self.0.parts(parts);
///     }
/// }
///
/// impl Forward for Residual {
///     fn forward(&self, input: &Tensor) -> Result<Tensor> {
///         input.add(&self.0.forward(input)?)
///     }
/// }
///
/// let block = Residual(Sequential::new().then(Linear::new(4, 4)?).then(ReLU));
/// let model = Sequential::new().then(block).then(Linear::new(4, 2)?);
/// assert_eq!(model.named_parameters()[0].0, "0.0.weight");
/// assert_eq!(model.forward(&Tensor::new(&[[1.0f32, 2.0, 3.0, 4.0]], Device::CPU)?)?.sizes(), [1, 2]);
/// # Ok::<(), opgrid_core::Error>(())
/// ```
pub trait Forward: Module {
    /// What the module makes of its input.
    ///
    /// # Errors
    ///
    /// Those of the operators that it calls.
    fn forward(&self, input: &Tensor) -> Result<Tensor>;
}

/// Gives types the trait [`Forward`] by their own function of that name.
macro_rules! forward {
    ($($module:ty),* $(,)?) => {
        $(impl $crate::Forward for $module {
            fn forward(&self, input: &opgrid_tensor::Tensor) -> opgrid_core::Result<opgrid_tensor::Tensor> {
                <$module>::forward(self, input)
            }
        })*
    };
}
pub(crate) use forward;

/// Whether a module trains. Clones are the same switch.
#[derive(Clone, Debug)]
pub struct Mode(Arc<AtomicBool>);

impl Default for Mode {
    /// A module that trains.
    fn default() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }
}

impl Mode {
    /// Whether the module trains.
    pub fn is_training(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Says whether the module trains.
    pub fn set(&self, training: bool) {
        self.0.store(training, Ordering::Relaxed);
    }
}

/// Takes the names of a module's parts; see [`Module::parts`].
#[derive(Debug, Default)]
pub struct Parts {
    /// The names of the modules around, each with a dot behind it.
    path: String,
    tensors: Vec<Part>,
    modes: Vec<Mode>,
}

#[derive(Debug)]
struct Part {
    name: String,
    kind: Kind,
    tensor: Tensor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Parameter,
    Buffer,
}

impl Parts {
    /// A tensor that is learned; `None` is passed over.
    pub fn parameter<'t>(&mut self, name: &str, tensor: impl Into<Option<&'t Tensor>>) -> &mut Self {
        self.tensor(name, Kind::Parameter, tensor.into())
    }

    /// A tensor that is saved and not learned; `None` is passed over.
    pub fn buffer<'t>(&mut self, name: &str, tensor: impl Into<Option<&'t Tensor>>) -> &mut Self {
        self.tensor(name, Kind::Buffer, tensor.into())
    }

    /// A module below this one: a module, or `Option` or `Vec` of modules.
    pub fn module(&mut self, name: &str, module: &dyn Module) -> &mut Self {
        let before = self.path.len();
        self.path.push_str(name);
        self.path.push('.');
        module.parts(self);
        self.path.truncate(before);
        self
    }

    /// The switch of a module that does something else while it trains.
    pub fn mode(&mut self, mode: &Mode) -> &mut Self {
        self.modes.push(mode.clone());
        self
    }

    fn tensor(&mut self, name: &str, kind: Kind, tensor: Option<&Tensor>) -> &mut Self {
        if let Some(tensor) = tensor {
            self.tensors.push(Part { name: format!("{}{name}", self.path), kind, tensor: tensor.clone() });
        }
        self
    }

    /// The tensors of a kind, each once.
    fn distinct(self, kind: Kind) -> Vec<(String, Tensor)> {
        let mut found: Vec<(String, Tensor)> = Vec::new();
        for part in self.tensors.into_iter().filter(|part| part.kind == kind) {
            if !found.iter().any(|(_, tensor)| tensor.is_same(&part.tensor)) {
                found.push((part.name, part.tensor));
            }
        }
        found
    }

    fn state_dict(self) -> Result<StateDict> {
        self.expect_distinct_names()?;
        self.tensors.into_iter().map(|part| Ok((part.name, part.tensor.detach()?))).collect()
    }

    fn load(self, state: &StateDict, strict: bool) -> Result<Unmatched> {
        self.expect_distinct_names()?;
        let values: HashMap<&str, &Tensor> = state.iter().collect();
        let own: HashSet<&str> = self.tensors.iter().map(|part| part.name.as_str()).collect();
        let missing = self.tensors.iter().filter(|part| !values.contains_key(part.name.as_str()));
        let missing: Vec<String> = missing.map(|part| part.name.clone()).collect();
        let unexpected: Vec<String> =
            state.iter().filter(|(name, _)| !own.contains(name)).map(|(name, _)| name.to_owned()).collect();
        let mut problems = Vec::new();
        if strict && !missing.is_empty() {
            problems.push(format!("missing: {}", missing.join(", ")));
        }
        if strict && !unexpected.is_empty() {
            problems.push(format!("unexpected: {}", unexpected.join(", ")));
        }
        for part in &self.tensors {
            if let Some(value) = values.get(part.name.as_str()).filter(|it| it.sizes() != part.tensor.sizes())
            {
                let (found, expected) = (value.sizes(), part.tensor.sizes());
                problems.push(format!("{}: found shape {found:?}, expected {expected:?}", part.name));
            }
        }
        if !problems.is_empty() {
            let remedy = if strict && !(missing.is_empty() && unexpected.is_empty()) {
                "; `load_matching` leaves out missing and unexpected names"
            } else {
                ""
            };
            return Err(argument(format!(
                "the state dict does not fit the module:\n  {}{remedy}",
                problems.join("\n  ")
            )));
        }
        no_grad(|| {
            for part in &self.tensors {
                if let Some(value) = values.get(part.name.as_str()) {
                    part.tensor.copy_(value)?;
                }
            }
            Ok(())
        })?;
        Ok(Unmatched { missing, unexpected })
    }

    fn expect_distinct_names(&self) -> Result<()> {
        let mut seen = HashSet::new();
        match self.tensors.iter().find(|part| !seen.insert(part.name.as_str())) {
            None => Ok(()),
            Some(part) => Err(argument(format!(
                "found two parts of the module named `{}`, expected one; see what its `parts` names",
                part.name
            ))),
        }
    }
}

/// The parts that a module names.
fn all_parts(named: &dyn Fn(&mut Parts)) -> Parts {
    let mut parts = Parts::default();
    named(&mut parts);
    parts
}

/// The names that [`Module::load_matching`] left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unmatched {
    /// Names of the module that the state dict lacks.
    pub missing: Vec<String>,
    /// Names of the state dict that the module lacks.
    pub unexpected: Vec<String>,
}

impl<M: Module + ?Sized> Module for &M {
    fn parts(&self, parts: &mut Parts) {
        (**self).parts(parts);
    }
}

impl<M: Module + ?Sized> Module for Box<M> {
    fn parts(&self, parts: &mut Parts) {
        (**self).parts(parts);
    }
}

impl<M: Module> Module for Option<M> {
    fn parts(&self, parts: &mut Parts) {
        if let Some(module) = self {
            module.parts(parts);
        }
    }
}

impl<M: Module> Module for Vec<M> {
    /// Names the modules `0`, `1` and so on.
    fn parts(&self, parts: &mut Parts) {
        for (place, module) in self.iter().enumerate() {
            parts.module(&place.to_string(), module);
        }
    }
}
