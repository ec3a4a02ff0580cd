//! Backends of users: each brings its keys and a type of device.

use crate::error::{Error, ErrorKind, Result};
use crate::keys::parts::{BackendComponent, Functionality};
use crate::keys::user_keys::{Allocation, check_identifier, check_new, existing_backends, place_of, refused};
use crate::place::Place;
use crate::values::device::DeviceType;

/// Checks that a new backend can have this name.
fn check_backend_name(name: &str) -> Result<()> {
    check_identifier("backend", name)?;
    let subject = format!("backend `{name}`");
    let lower = name.to_ascii_lowercase();
    let prefixes = Functionality::all().filter_map(Functionality::instance_prefix);
    let prefixes: Vec<_> = prefixes.collect();
    let begins = |prefix: &&&str| !prefix.is_empty() && lower.starts_with(&prefix.to_ascii_lowercase());
    if let Some(prefix) = prefixes.iter().find(begins) {
        return Err(refused(format!(
            "{subject}: names that begin with `{prefix}` are those of a backend's further keys; choose a name without it"
        )));
    }
    check_new(&subject, &prefixes.iter().map(|prefix| format!("{prefix}{name}")).collect::<Vec<_>>())?;
    if let Some(device) = DeviceType::all().find(|device| device.name() == lower) {
        let message = format!(
            "{subject}: its type of device would be `{device}`, which there is already; choose another name"
        );
        return Err(Error::new(ErrorKind::Duplicate, message));
    }
    Ok(())
}

impl BackendComponent {
    /// The backend of that name, allocated at run time if it is new.
    ///
    /// It ranks above torch's backends and those that were allocated before, but below Meta. From `Toy` it gets the
    /// keys `Toy`, `QuantizedToy`, `SparseToy`, `SparseCsrToy`, `NestedTensorToy`, `AutogradToy` and `AutocastToy`
    /// and the type of device `toy`. It belongs to the aliases to which PrivateUse1 belongs, and to the process: it
    /// cannot be given back.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Registration`] where the name is no identifier or begins as the names of such keys do, and for a
    /// seventeenth backend; [`ErrorKind::Duplicate`] where a built-in backend or another key or type of device
    /// has the name, be it in another case.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_core::{BackendComponent, Device, DispatchKey, compute_dispatch_key};
    ///
    /// let toy = BackendComponent::register("Toy")?;
    /// assert_eq!(BackendComponent::register("Toy")?, toy);
    /// assert_eq!("AutogradToy".parse::<DispatchKey>()?.backend(), Some(toy));
    ///
    /// let device: Device = "toy:1".parse()?;
    /// assert_eq!(compute_dispatch_key(None, None, Some(device))?, toy.key());
    /// # Ok::<(), opgrid_core::Error>(())
    /// ```
    #[track_caller]
    pub fn register(name: &str) -> Result<Self> {
        let place = Place::here();
        let allocation = Allocation::begin();
        if let Some(known) = Self::named(name).filter(|known| known.is_run_time()) {
            return Ok(known);
        }
        check_backend_name(name)?;
        let free = !existing_backends();
        if free == 0 {
            return Err(no_place_for_backend(name));
        }
        allocation.add_backend(free.trailing_zeros(), name, place);
        Ok(Self::named(name).expect("the name was just given to a free position"))
    }
}

#[cold]
fn no_place_for_backend(name: &str) -> Error {
    let held: Vec<_> = BackendComponent::all().filter(|backend| backend.is_run_time()).collect();
    let holders: Vec<_> = held
        .iter()
        .map(|backend| match (backend.name(), place_of(backend.key())) {
            (Some(name), Some(place)) => format!("{name} ({place})"),
            (name, _) => name.unwrap_or_default().into(),
        })
        .collect();
    refused(format!(
        "backend `{name}`: no place is free; all {} backends that a process can allocate are taken: {}; let two of \
         them share a backend, or take PrivateUse1, PrivateUse2 or PrivateUse3",
        held.len(),
        holders.join(", ")
    ))
}
