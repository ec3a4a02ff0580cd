//! What a tensor or a node alone keeps alive, shown to the garbage collector of a language binding.
//!
//! Hooks, formulas and checkpointed functions of a binding own objects of its language. A collector that does not see
//! these takes a cycle through them for something that is in use: a hook that closes over its tensor, a context that
//! keeps its result. Whoever registers such a closure therefore hands over, beside it, what it holds ([`Foreign`]), and the
//! binding's object of a tensor shows what the tensor holds in turn ([`held_by_tensor`]).
//!
//! A value that several own is shown by none of them: the collector subtracts the references that it is shown from the
//! count of each object, and would take one that is shown twice for garbage. So the walk follows a reference only where it
//! has met as many as there are. It begins at one owner, so what belongs to two of them together stays. A collector that looks at
//! all owners at once can do better with an [`OwnershipMap`], which has the counts of all values in between.
//!
//! The caller makes sure that nothing changes while the collector works: no thread runs operators meanwhile.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use opgrid_core::TensorType;

use super::checkpoint::Segment;
use super::node::{Node, NodeKind};
use super::variable::known;
use crate::tensor::Tensor;

/// What a closure holds of another language. The closure has one handle of it, whoever registered the closure for it
/// another one.
pub type Foreign = Arc<dyn Any + Send + Sync>;

/// What a binding keeps with a tensor ([`Tensor::attach`]) and wants to be shown.
pub struct KeptByBinding(pub Foreign);

/// Shows what a tensor keeps alive that nobody else does: the holdings of closures, and what is behind handles of tensors
/// that layers implement. It looks at about `limit` nodes and tensors at most.
///
/// The tensor has to be the only handle, or there is nothing that it owns alone.
pub fn held_by_tensor(tensor: &Tensor, limit: usize, see: &mut dyn FnMut(&dyn Any)) {
    if tensor.any_wrapper().is_none() && !tensor.may_have_metadata() {
        return;
    }
    let mut walk = Walk::new(limit);
    walk.tensor(tensor);
    walk.finish(see);
}

/// As [`held_by_tensor`], of a node to which nothing but this handle leads.
pub fn held_by_node(node: &Arc<Node>, limit: usize, see: &mut dyn FnMut(&dyn Any)) {
    let mut walk = Walk::new(limit);
    walk.node(node);
    walk.finish(see);
}

/// What several owners own together, for a collector that looks at all of them at once: nodes, tensors and checkpoints, with
/// how many references there are to each, and which of these are within.
///
/// The map has a handle of each value, which its counts leave out.
pub struct OwnershipMap {
    entries: Vec<Entry>,
    places: HashMap<usize, usize>,
    limit: usize,
}

/// A value in an [`OwnershipMap`].
struct Entry {
    value: Owned,
    count: usize,
    parts: Parts,
}

/// What a value leads to.
#[derive(Default, PartialEq)]
struct Parts {
    /// The addresses of other values, one for each reference.
    values: Vec<usize>,
    /// The addresses of what closures hold, and of what is behind handles.
    holdings: Vec<usize>,
}

impl OwnershipMap {
    /// An empty map, for about as many values.
    pub fn new(limit: usize) -> Self {
        Self { entries: Vec::new(), places: HashMap::new(), limit }
    }

    /// Whether all values are in the map that those in it lead to: there were no more than the limit.
    pub fn is_complete(&self) -> bool {
        self.entries.len() <= self.limit
    }

    /// Takes in a tensor and all that it leads to; gives its place, if it leads to anything.
    pub fn add_tensor(&mut self, tensor: &Tensor) -> Option<usize> {
        let owns_something = tensor.any_wrapper().is_some() || tensor.may_have_metadata();
        // Asked before the map has a handle, too.
        let count = tensor.as_any().handle_count();
        owns_something.then(|| self.add(Owned::Tensor(tensor.clone()), count))
    }

    /// Takes in a node and all that it leads to; gives its place.
    pub fn add_node(&mut self, node: &Arc<Node>) -> usize {
        let count = Arc::strong_count(node);
        self.add(Owned::Node(node.clone()), count)
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many references there are to a value.
    pub fn count(&self, place: usize) -> usize {
        self.entries[place].count
    }

    /// The places that a value leads to, one for each reference, in a map that is complete.
    pub fn parts(&self, place: usize) -> impl Iterator<Item = usize> {
        self.entries[place].parts.values.iter().filter_map(|address| self.places.get(address).copied())
    }

    /// Whether a value itself holds anything for the binding.
    pub fn is_holder(&self, place: usize) -> bool {
        !self.entries[place].parts.holdings.is_empty()
    }

    /// Shows what a value itself holds.
    pub fn show(&self, place: usize, see: &mut dyn FnMut(&dyn Any)) {
        self.entries[place].value.visit(&mut Holdings { see, handles: HANDLES });
    }

    /// Whether all values are as they were when they were taken in.
    pub fn is_current(&self) -> bool {
        self.entries.iter().all(|entry| {
            let mut found = Survey::default();
            entry.value.visit(&mut found);
            entry.count + 1 == entry.value.count() && found.parts == entry.parts
        })
    }

    fn add(&mut self, value: Owned, count: usize) -> usize {
        if let Some(place) = self.places.get(&value.address()) {
            return *place;
        }
        let first = self.entries.len();
        self.take(value, count);
        let mut next = first;
        while next < self.entries.len() && self.is_complete() {
            let mut survey = Survey::default();
            self.entries[next].value.visit(&mut survey);
            self.entries[next].parts = survey.parts;
            for (value, count) in survey.found {
                if !self.places.contains_key(&value.address()) {
                    self.take(value, count);
                }
            }
            next += 1;
        }
        first
    }

    fn take(&mut self, value: Owned, count: usize) {
        self.places.insert(value.address(), self.entries.len());
        self.entries.push(Entry { value, count, parts: Parts::default() });
    }
}

/// Looks at the parts of one value.
#[derive(Default)]
struct Survey {
    parts: Parts,
    /// Each of the values once, with its count of references.
    found: Vec<(Owned, usize)>,
}

impl Survey {
    fn meet(&mut self, count: usize, address: usize, value: impl FnOnce() -> Owned) {
        if !self.parts.values.contains(&address) {
            self.found.push((value(), count));
        }
        self.parts.values.push(address);
    }
}

impl Visitor for Survey {
    fn node(&mut self, node: &Arc<Node>) {
        self.meet(Arc::strong_count(node), Arc::as_ptr(node).addr(), || Owned::Node(node.clone()));
    }

    fn tensor(&mut self, tensor: &Tensor) {
        if tensor.any_wrapper().is_some() || tensor.may_have_metadata() {
            let handle = tensor.as_any();
            let address = handle.as_raw().addr().get();
            self.meet(handle.handle_count(), address, || Owned::Tensor(tensor.clone()));
        }
    }

    fn segment(&mut self, segment: &Arc<Segment>) {
        self.meet(Arc::strong_count(segment), Arc::as_ptr(segment).addr(), || {
            Owned::Segment(segment.clone())
        });
    }

    fn held(&mut self, held: &Foreign) {
        self.parts.holdings.push(Arc::as_ptr(held).addr());
    }

    fn wrapper(&mut self, wrapper: &dyn Any) {
        self.parts.holdings.push(std::ptr::from_ref(wrapper).addr());
    }
}

/// A walk over what one owner owns.
#[derive(Clone)]
pub(super) struct Walk {
    /// Counts of shared values: references that were met, and references that exist.
    met: HashMap<usize, (usize, usize)>,
    /// What is owned; what comes after the first `entered` was not looked into yet.
    owned: Vec<Owned>,
    entered: usize,
    /// Leaves with a gradient, of which not all references were met.
    shared_leaves: Vec<Arc<Node>>,
    limit: usize,
}

/// A value of which every reference was met.
#[derive(Clone)]
enum Owned {
    Node(Arc<Node>),
    Tensor(Tensor),
    Segment(Arc<Segment>),
}

/// What looks at the parts of an owned value.
pub(super) trait Visitor {
    /// Meets a reference to a node.
    fn node(&mut self, _node: &Arc<Node>) {}

    /// Meets a handle of a tensor.
    fn tensor(&mut self, _tensor: &Tensor) {}

    /// Meets a reference to a checkpoint.
    fn segment(&mut self, _segment: &Arc<Segment>) {}

    /// Meets what a closure holds, by the handle beside the closure.
    fn held(&mut self, _held: &Foreign) {}

    /// Meets what is behind the handle of a tensor that a layer implements, or what a binding keeps with it.
    fn wrapper(&mut self, _wrapper: &dyn Any) {}
}

impl Visitor for Walk {
    fn node(&mut self, node: &Arc<Node>) {
        let (address, count) = (Arc::as_ptr(node).addr(), Arc::strong_count(node));
        match self.meet(address, count) {
            Met::All => self.owned.push(Owned::Node(node.clone())),
            Met::First if node.leads_back() => self.shared_leaves.push(node.clone()),
            Met::First | Met::Some => {}
        }
    }

    fn tensor(&mut self, tensor: &Tensor) {
        let handle = tensor.as_any();
        let owns_something = tensor.any_wrapper().is_some() || tensor.may_have_metadata();
        if owns_something && let Met::All = self.meet(handle.as_raw().addr().get(), handle.handle_count()) {
            self.owned.push(Owned::Tensor(tensor.clone()));
        }
    }

    fn segment(&mut self, segment: &Arc<Segment>) {
        if let Met::All = self.meet(Arc::as_ptr(segment).addr(), Arc::strong_count(segment)) {
            self.owned.push(Owned::Segment(segment.clone()));
        }
    }
}

/// How many references to a value were met.
enum Met {
    First,
    Some,
    All,
}

impl Walk {
    fn new(limit: usize) -> Self {
        Self { met: HashMap::new(), owned: Vec::new(), entered: 0, shared_leaves: Vec::new(), limit }
    }

    /// Counts a reference. How many there are is asked once, because the walk takes handles itself.
    fn meet(&mut self, address: usize, count: usize) -> Met {
        if count == 1 {
            return Met::All;
        }
        let (met, count) = self.met.entry(address).or_insert((0, count));
        *met += 1;
        match *met {
            met if met == *count => Met::All,
            1 => Met::First,
            _ => Met::Some,
        }
    }

    fn run(&mut self) {
        while self.entered < self.owned.len().min(self.limit) {
            let owned = self.owned[self.entered].clone();
            self.entered += 1;
            owned.visit(self);
        }
    }

    /// A gradient that has a graph leads back to its leaf, of which not all references can be met from outside. Whether
    /// the others are all behind the leaf, the walk finds out by looking.
    fn run_through_leaves(&mut self) {
        for leaf in std::mem::take(&mut self.shared_leaves) {
            let address = Arc::as_ptr(&leaf).addr();
            let is_complete = |walk: &Self| walk.met.get(&address).is_some_and(|(met, count)| met == count);
            if is_complete(self) {
                continue;
            }
            let mut tried = self.clone();
            tried.owned.push(Owned::Node(leaf));
            // The last reference would add the leaf another time.
            tried.met.entry(address).and_modify(|(_, count)| *count += 1);
            tried.run();
            let found = tried.met.get(&address).is_some_and(|(met, count)| met + 1 == *count);
            if found {
                *self = tried;
            }
        }
    }

    fn finish(mut self, see: &mut dyn FnMut(&dyn Any)) {
        self.run();
        if !self.shared_leaves.is_empty() {
            self.run_through_leaves();
        }
        let mut holdings = Holdings { see, handles: HANDLES };
        self.owned.iter().for_each(|owned| owned.visit(&mut holdings));
    }
}

impl Owned {
    /// What no other value has as long as this is there.
    fn address(&self) -> usize {
        match self {
            Self::Node(node) => Arc::as_ptr(node).addr(),
            Self::Tensor(tensor) => tensor.as_any().as_raw().addr().get(),
            Self::Segment(segment) => Arc::as_ptr(segment).addr(),
        }
    }

    /// How many references there are, this one among them.
    fn count(&self) -> usize {
        match self {
            Self::Node(node) => Arc::strong_count(node),
            Self::Tensor(tensor) => tensor.as_any().handle_count(),
            Self::Segment(segment) => Arc::strong_count(segment),
        }
    }

    fn visit(&self, visitor: &mut dyn Visitor) {
        match self {
            Self::Node(node) => {
                node.hooks.reach(visitor);
                match &node.kind {
                    NodeKind::Leaf(sink) => sink.reach(visitor),
                    NodeKind::Call(call) => call.reach(visitor),
                }
            }
            Self::Tensor(tensor) => {
                if let Some(wrapper) = tensor.any_wrapper() {
                    visitor.wrapper(wrapper);
                }
                if let Some(kept) = tensor.attached::<KeptByBinding>() {
                    visitor.wrapper(&*kept.0);
                }
                if let Some(base) = tensor.base() {
                    visitor.tensor(base);
                }
                if let Some(variable) = known(tensor) {
                    variable.reach(visitor);
                }
            }
            Self::Segment(segment) => segment.reach(visitor),
        }
    }
}

/// Shows the holdings of owned values.
struct Holdings<'a> {
    see: &'a mut dyn FnMut(&dyn Any),
    handles: usize,
}

impl Visitor for Holdings<'_> {
    fn held(&mut self, held: &Foreign) {
        // A backward pass that runs the closure just now has handles, too.
        if Arc::strong_count(held) <= self.handles {
            (self.see)(&**held);
        }
    }

    fn wrapper(&mut self, wrapper: &dyn Any) {
        (self.see)(wrapper);
    }
}

/// The handles of what a closure holds: the closure's, and the one beside it.
const HANDLES: usize = 2;
