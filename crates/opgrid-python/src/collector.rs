//! What Rust holds of Python's objects, shown to Python's garbage collector.
//!
//! A hook, a formula or a checkpointed function in Python is held by a closure in Rust, which a tensor or a node of the graph
//! owns. The object of a tensor shows what the tensor alone keeps alive ([`visit_tensor`]), so that a cycle through it is
//! found: a hook that closes over its tensor, a context that keeps its result. The walk is that of
//! [`opgrid::layers::autograd`]; what is shown are [`Holder`]s and the attributes of wrapper subclasses.
//!
//! The collector asks several times and has to get the same answers, because it takes what was counted once and not found
//! again for garbage. It holds the interpreter's lock meanwhile, so only other threads change something that run operators without
//! the lock. These count themselves ([`detached`]), except while they call Python ([`attached`]); while there are any, tensors
//! show nothing, and what is garbage waits for another collection.

use std::any::Any;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use opgrid::Tensor;
use opgrid::dispatch::TensorType;
use opgrid::layers::autograd::{KeptByBinding, Node, OwnershipMap, held_by_node, held_by_tensor};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyType};

use crate::autograd::NodeObject;
use crate::drop_attached::{DropAttached, drop_waiting};
use crate::once::OncePlace;
use crate::tensor::dispatching::OfClass;
use crate::tensor::object::TensorBase;

/// Whether anything is held that a tensor could show. Most programs have nothing.
static IS_IN_USE: AtomicBool = AtomicBool::new(false);

/// How many objects are held in Rust.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// How many threads run something without the interpreter's lock.
static DETACHED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// How many of these are this thread's.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

/// How many nodes and tensors a walk looks at in the collection that is under way.
static LIMIT: AtomicUsize = AtomicUsize::new(ALL);

const ALL: usize = usize::MAX;

/// The number of nodes and tensors that a collection of young objects looks at. Such collections are frequent, and would
/// otherwise walk a growing graph each time.
const OF_YOUNG: usize = 1000;

/// An object that a closure in Rust holds, until the collector takes it away.
pub(crate) struct Holder(Mutex<Option<DropAttached<Py<PyAny>>>>, Counted);

/// Counts something that is held as long as it is there.
pub(crate) struct Counted(());

impl Counted {
    pub(crate) fn new() -> Self {
        HELD.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        HELD.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What another object of a tensor needs to be like the first one, which may be gone.
#[derive(Default)]
pub(crate) struct Left {
    /// The attributes of an object that is gone.
    attributes: Mutex<Option<(DropAttached<Py<PyDict>>, Counted)>>,
    /// The class of the user's, and the dictionary of attributes that its object has.
    class: OnceLock<DropAttached<UserClass>>,
}

/// A class of the user's, and the dictionary of attributes that an object of it has.
struct UserClass {
    class: Py<PyType>,
    attributes: Option<Py<PyDict>>,
    _counted: Counted,
}

impl Left {
    /// What the binding keeps with a tensor.
    pub(crate) fn for_tensor(tensor: &Tensor) -> Option<&Self> {
        tensor.attached::<KeptByBinding>()?.0.downcast_ref()
    }

    /// Returns what the binding keeps with a tensor, creating it if needed.
    pub(crate) fn of_or_new(tensor: &Tensor) -> Option<&Self> {
        tensor.attach(KeptByBinding(Arc::<Self>::default())).0.downcast_ref()
    }

    /// Notes of which class the tensor's object is.
    pub(crate) fn note_class(&self, class: &Bound<'_, PyType>, attributes: Option<Bound<'_, PyDict>>) {
        let (class, attributes) = (class.clone().unbind(), attributes.map(Bound::unbind));
        let _ = self.class.set(DropAttached::new(UserClass { class, attributes, _counted: Counted::new() }));
    }

    /// The class of the tensor's object, if it is a user's, and its attributes.
    pub(crate) fn class(&self) -> Option<(&Py<PyType>, Option<&Py<PyDict>>)> {
        let kept = self.class.get()?;
        Some((&kept.class, kept.attributes.as_ref()))
    }

    pub(crate) fn put(&self, attributes: Py<PyDict>) {
        let left = Some((DropAttached::new(attributes), Counted::new()));
        let before =
            std::mem::replace(&mut *self.attributes.lock().unwrap_or_else(PoisonError::into_inner), left);
        drop(before);
        if !IS_IN_USE.load(Ordering::Relaxed) {
            // Without it the attributes stay as long as the tensor, which is what most want.
            let _ = Python::try_attach(begin);
        }
    }

    pub(crate) fn take(&self) -> Option<Py<PyDict>> {
        let (attributes, _) = self.attributes.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(attributes.into_inner())
    }

    fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Some((class, attributes)) = self.class() {
            visit.call(class)?;
            visit.call(attributes)?;
        }
        match self.attributes.try_lock() {
            Ok(left) => visit.call(left.as_ref().map(|(attributes, _)| &**attributes)),
            Err(_) => Ok(()),
        }
    }
}

impl Holder {
    pub(crate) fn new(py: Python<'_>, object: Py<PyAny>) -> PyResult<Arc<Self>> {
        begin(py)?;
        Ok(Arc::new(Self(Mutex::new(Some(DropAttached::new(object))), Counted::new())))
    }

    /// The object; `None` after the collector found nobody who could ask for it.
    pub(crate) fn get<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let object = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        object.as_ref().map(|object| object.bind(py).clone())
    }

    fn visit(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Nobody has the lock who has not the interpreter's.
        match self.0.try_lock() {
            Ok(object) => visit.call(object.as_deref()),
            Err(_) => Ok(()),
        }
    }

    fn take(&self) -> Option<Py<PyAny>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().map(DropAttached::into_inner)
    }
}

/// Begins to show what tensors hold.
pub(crate) fn begin(py: Python<'_>) -> PyResult<()> {
    if !IS_IN_USE.swap(true, Ordering::Relaxed) {
        let gc = py.import("gc")?;
        let functions = Functions {
            get_objects: gc.getattr("get_objects")?.unbind(),
            reference: py.import("weakref")?.getattr("ref")?.unbind(),
            decided: wrap_pyfunction!(_decided, py)?.into_any().unbind(),
        };
        let _ = FUNCTIONS.set(py, functions);
        let callbacks = gc.getattr("callbacks")?;
        callbacks.call_method1("append", (wrap_pyfunction!(_collection, py)?,))?;
    }
    Ok(())
}

/// What a collection needs of Python, which may be gone when the last ones run.
struct Functions {
    get_objects: Py<PyAny>,
    reference: Py<PyAny>,
    decided: Py<PyAny>,
}

static FUNCTIONS: OncePlace<Functions> = OncePlace::new();

/// Told of when collections begin and end.
#[pyfunction]
fn _collection(py: Python<'_>, phase: &str, info: &Bound<'_, PyDict>) -> PyResult<()> {
    let before = take_shared();
    drop(before);
    let generation = info.get_item("generation")?.map_or(Ok(2), |number| number.extract::<u8>())?;
    let limit = if phase == "start" && generation < 2 { OF_YOUNG } else { ALL };
    LIMIT.store(limit, Ordering::Relaxed);
    if phase == "start" && is_shown() && HELD.load(Ordering::Relaxed) > 0 {
        // Where there is no memory for the map, what is garbage waits for another collection.
        let shared = Shared::survey(py, generation, limit).ok().flatten();
        *SHARED.lock().unwrap_or_else(PoisonError::into_inner) = shared.map(Box::new);
    }
    Ok(())
}

/// What objects of tensors and nodes own in the collection that is under way, if it sees enough of them.
static SHARED: Mutex<Option<Box<Shared>>> = Mutex::new(None);

fn take_shared() -> Option<Box<Shared>> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// What the objects of tensors and nodes that are collected own, alone or together, as it was when the collection began.
///
/// A value in Rust with several owners gets an object for the time of the collection, a [`Stand`], of which there are as many references
/// as there are to the value. Each owner shows one, so that the collector sees whether all owners are garbage. References
/// that no object shows, such as those of other threads, keep the stand in use.
struct Shared {
    map: OwnershipMap,
    /// The place in the map of what an object owns, by the address of its content.
    roots: HashMap<usize, usize>,
    stands: HashMap<usize, Vec<Py<Stand>>>,
    /// Told when the collector has decided for the first time.
    _signal: Py<PyAny>,
    /// Code in Python has run since.
    is_to_be_checked: AtomicBool,
    /// It has changed something.
    is_outdated: AtomicBool,
}

/// The object of a shared value.
#[pyclass(module = "opgrid", frozen)]
pub(crate) struct Stand(usize);

#[pymethods]
impl Stand {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        with_shared(|shared| shared.visit_parts(self.0, &visit)).unwrap_or(Ok(()))
    }

    fn __clear__(&self) {
        let taken = with_shared(|shared| shared.taken_from(self.0));
        drop(taken);
    }
}

/// An object that is garbage from the beginning: weak references to it tell that the collector has decided.
#[pyclass(module = "opgrid", frozen, weakref)]
struct Doomed(Mutex<Option<Py<Self>>>);

#[pymethods]
impl Doomed {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.0.try_lock() {
            Ok(own) => visit.call(own.as_ref()),
            Err(_) => Ok(()),
        }
    }

    fn __clear__(&self) {
        let own = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(own);
    }
}

/// The collector has decided what is garbage, and finalizers run before it decides again.
#[pyfunction]
fn _decided(_reference: &Bound<'_, PyAny>) {
    let _ = with_shared(|shared| shared.is_to_be_checked.store(true, Ordering::Relaxed));
}

/// Looks at what is owned in the collection that is under way; `None` where there is no such, or things have changed.
fn with_shared<X>(look: impl FnOnce(&Shared) -> X) -> Option<X> {
    // Nobody has the lock who has not the interpreter's, and nobody runs Python's code with it.
    let shared = SHARED.try_lock().ok()?;
    shared.as_ref().map(|shared| look(shared))
}

impl Shared {
    /// Looks at the objects of a generation and of younger ones; `None` where they own more than the limit.
    fn survey(py: Python<'_>, generation: u8, limit: usize) -> PyResult<Option<Self>> {
        let (mut map, mut roots) = (OwnershipMap::new(limit), HashMap::new());
        let Some(functions) = FUNCTIONS.get(py) else { return Ok(None) };
        let get_objects = functions.get_objects.bind(py);
        let lists = match generation {
            0 | 1 => (0..=generation).map(|generation| get_objects.call1((generation,))).collect(),
            _ => get_objects.call0().map(|all| vec![all]),
        };
        let lists: Vec<Bound<'_, PyAny>> = lists?;
        for object in lists.iter().filter_map(|list| list.cast::<PyList>().ok()).flat_map(|list| list.iter())
        {
            if let Ok(base) = object.cast::<TensorBase>() {
                let (address, tensor) = base.get().content();
                roots.extend(map.add_tensor(tensor).map(|place| (address, place)));
            } else if let Ok(node) = object.cast::<NodeObject>() {
                let (address, node) = node.get().content();
                roots.insert(address, map.add_node(node));
            }
            if !map.is_complete() {
                return Ok(None);
            }
        }
        let mut stands = HashMap::new();
        for place in leading_to_holders(&map) {
            if map.count(place) > 1 {
                let stand = Py::new(py, Stand(place))?;
                stands.insert(place, (0..map.count(place)).map(|_| stand.clone_ref(py)).collect());
            }
        }
        let doomed = Py::new(py, Doomed(Mutex::new(None)))?;
        *doomed.get().0.lock().unwrap_or_else(PoisonError::into_inner) = Some(doomed.clone_ref(py));
        let signal = functions.reference.call1(py, (doomed, &functions.decided))?;
        Ok(Some(Self {
            map,
            roots,
            stands,
            _signal: signal,
            // Others may be told of the collection after this.
            is_to_be_checked: AtomicBool::new(true),
            is_outdated: AtomicBool::new(false),
        }))
    }

    /// Whether the map still tells the truth. Finalizers may have changed what there is, and then all of it counts as in use.
    fn is_current(&self) -> bool {
        if self.is_to_be_checked.swap(false, Ordering::Relaxed) && !(is_shown() && self.map.is_current()) {
            self.is_outdated.store(true, Ordering::Relaxed);
        }
        !self.is_outdated.load(Ordering::Relaxed)
    }

    /// Shows what the object with this content owns.
    fn visit_root(&self, address: usize, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.roots.get(&address) {
            Some(place) if self.is_current() => self.visit_value(*place, visit),
            _ => Ok(()),
        }
    }

    fn visit_parts(&self, place: usize, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        if !self.is_current() {
            return Ok(());
        }
        self.each_alone(place, &mut |place| {
            visiting(visit, |see| self.map.show(place, see))?;
            self.map.parts(place).try_for_each(|part| visit.call(self.stand(part)))
        })
    }

    /// Shows a reference to a value.
    fn visit_value(&self, place: usize, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.stand(place) {
            Some(stand) => visit.call(stand),
            None if self.map.count(place) == 1 => self.visit_parts(place, visit),
            // It leads to nothing that is held.
            None => Ok(()),
        }
    }

    fn stand(&self, place: usize) -> Option<&Py<Stand>> {
        self.stands.get(&place)?.first()
    }

    /// Goes through a value and those that belong to it alone.
    fn each_alone(
        &self,
        place: usize,
        see: &mut dyn FnMut(usize) -> Result<(), PyTraverseError>,
    ) -> Result<(), PyTraverseError> {
        let mut waiting = vec![place];
        while let Some(place) = waiting.pop() {
            see(place)?;
            waiting.extend(self.map.parts(place).filter(|part| self.map.count(*part) == 1));
        }
        Ok(())
    }

    /// What a value and those that belong to it alone held, which they do not any more.
    fn taken_from(&self, place: usize) -> Vec<Py<PyAny>> {
        let mut taken = Vec::new();
        if !self.is_outdated.load(Ordering::Relaxed) {
            let _ = self.each_alone(place, &mut |place| {
                self.map.show(place, &mut |held| {
                    taken.extend(held.downcast_ref::<Holder>().and_then(Holder::take))
                });
                Ok(())
            });
        }
        taken
    }
}

/// The places of values that hold something, or lead to one that does.
fn leading_to_holders(map: &OwnershipMap) -> Vec<usize> {
    let mut owners = vec![Vec::new(); map.len()];
    for place in 0..map.len() {
        map.parts(place).for_each(|part| owners[part].push(place));
    }
    let mut waiting: Vec<usize> = (0..map.len()).filter(|place| map.is_holder(*place)).collect();
    let mut leads = vec![false; map.len()];
    waiting.iter().for_each(|place| leads[*place] = true);
    while let Some(place) = waiting.pop() {
        for owner in &owners[place] {
            if !std::mem::replace(&mut leads[*owner], true) {
                waiting.push(*owner);
            }
        }
    }
    (0..map.len()).filter(|place| leads[*place]).collect()
}

/// Runs something without the interpreter's lock.
pub(crate) fn detached<T: Send>(py: Python<'_>, run: impl FnOnce() -> T + Send) -> T {
    struct Running;

    impl Drop for Running {
        fn drop(&mut self) {
            DETACHED.fetch_sub(1, Ordering::Release);
            OWN.set(OWN.get() - 1);
        }
    }

    DETACHED.fetch_add(1, Ordering::Relaxed);
    OWN.set(OWN.get() + 1);
    let running = Running;
    let result = py.detach(move || {
        // Counted until there is nothing left to do but to wait for the lock.
        let _running = running;
        run()
    });
    drop_waiting(py);
    result
}

/// Runs something in Python for what may run without the interpreter's lock. The thread changes nothing while it waits for the
/// lock and while it has it, so it is not counted meanwhile.
#[inline]
pub(crate) fn attached<T>(run: impl FnOnce(Python<'_>) -> T) -> T {
    /// Counts the thread again, before it lets go of the lock.
    struct Back(usize);

    impl Drop for Back {
        fn drop(&mut self) {
            DETACHED.fetch_add(self.0, Ordering::Relaxed);
            OWN.set(self.0);
        }
    }

    let own = OWN.replace(0);
    let run = |py: Python<'_>| {
        drop_waiting(py);
        run(py)
    };
    if own == 0 {
        return Python::attach(run);
    }
    DETACHED.fetch_sub(own, Ordering::Release);
    Python::attach(|py| {
        let _back = Back(own);
        run(py)
    })
}

/// Whether tensors show what they hold now. What this thread has begun waits for the collector, like a backward pass
/// in one of whose hooks it collects.
fn is_shown() -> bool {
    IS_IN_USE.load(Ordering::Relaxed) && DETACHED.load(Ordering::Acquire) == OWN.get()
}

/// Shows the collector what the tensor of an object holds. The address is that of the object's content.
pub(crate) fn visit_tensor(
    address: usize,
    tensor: &Tensor,
    visit: &PyVisit<'_>,
) -> Result<(), PyTraverseError> {
    if !is_shown() {
        return Ok(());
    }
    if let Some(shown) = with_shared(|shared| shared.visit_root(address, visit)) {
        return shown;
    }
    if tensor.as_any().handle_count() != 1 {
        return Ok(());
    }
    visiting(visit, |see| held_by_tensor(tensor, LIMIT.load(Ordering::Relaxed), see))
}

/// Visits the Python objects that a node holds.
pub(crate) fn visit_node(
    address: usize,
    node: &Arc<Node>,
    visit: &PyVisit<'_>,
) -> Result<(), PyTraverseError> {
    if !is_shown() {
        return Ok(());
    }
    if let Some(shown) = with_shared(|shared| shared.visit_root(address, visit)) {
        return shown;
    }
    if Arc::strong_count(node) != 1 {
        return Ok(());
    }
    visiting(visit, |see| held_by_node(node, LIMIT.load(Ordering::Relaxed), see))
}

fn visiting(visit: &PyVisit<'_>, walk: impl FnOnce(&mut dyn FnMut(&dyn Any))) -> Result<(), PyTraverseError> {
    let mut shown = Ok(());
    walk(&mut |held| {
        if shown.is_ok() {
            shown = if let Some(holder) = held.downcast_ref::<Holder>() {
                holder.visit(visit)
            } else if let Some(own) = held.downcast_ref::<OfClass>() {
                own.visit(visit)
            } else if let Some(left) = held.downcast_ref::<Left>() {
                left.visit(visit)
            } else {
                Ok(())
            };
        }
    });
    shown
}

/// Takes away what the tensor of an object holds that nobody else does: nobody reaches the object any more.
pub(crate) fn clear_tensor(address: usize, tensor: &Tensor) {
    if !clear_shared(address) && is_shown() && tensor.as_any().handle_count() == 1 {
        clearing(|see| held_by_tensor(tensor, ALL, see));
    }
}

/// Clears the Python objects that a node holds.
pub(crate) fn clear_node(address: usize, node: &Arc<Node>) {
    if !clear_shared(address) && is_shown() && Arc::strong_count(node) == 1 {
        clearing(|see| held_by_node(node, ALL, see));
    }
}

/// Clears a shared value by the map of the collection, if there is one.
fn clear_shared(address: usize) -> bool {
    let taken = with_shared(|shared| match shared.roots.get(&address) {
        // What has a stand is taken away there.
        Some(place) if shared.map.count(*place) == 1 => shared.taken_from(*place),
        _ => Vec::new(),
    });
    taken.is_some()
}

fn clearing(walk: impl FnOnce(&mut dyn FnMut(&dyn Any))) {
    let mut taken = Vec::new();
    walk(&mut |held| taken.extend(held.downcast_ref::<Holder>().and_then(Holder::take)));
    // After the walk: it is users' code that runs.
    drop(taken);
}
