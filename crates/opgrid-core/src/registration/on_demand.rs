//! Operators that are registered when somebody needs one of them.
//!
//! A library of a thousand operators takes milliseconds to register, and a program calls a dozen. Such a library states its
//! operators by name, in groups ([`Library::on_demand`]), and a group is registered when one of its names is looked up, when an
//! overload of it is called, or when somebody wants to see every operator. Nobody can tell the difference but by a clock: whoever
//! lists, listens or looks a name up finds the operators as if they had been registered with the library, and a library that adds
//! to such an operator comes after the group.

use std::cell::RefCell;
use std::hash::BuildHasher;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::{HashSet, HashTable};

use crate::registration::library::Library;
use crate::registration::transaction::Change;

/// Operators that are registered together when one of them is needed: their names, and what defines them.
///
/// `register` is called with a library that may define operators and implement them: once for each dispatcher, and again where two
/// threads need the group at the same moment, where it failed, and where a library states the group anew. It defines the operators that are named, all of them and no others, which is
/// checked. It calls no operator: while it runs, its own are not there yet.
///
/// # Examples
///
/// ```
/// use opgrid_core::{Dispatcher, DispatchKey, Library, OnDemand, operator};
///
/// operator! {
///     Half = "docs::half(int x) -> int";
/// }
///
/// fn register(library: &mut Library) {
///     library.define(Half).kernel(DispatchKey::CompositeExplicitAutograd, |x| Ok(x / 2));
/// }
///
/// static HALF: OnDemand = OnDemand::new(&["docs::half"], register);
///
/// let dispatcher = Dispatcher::new();
/// let mut library = dispatcher.library("docs");
/// library.on_demand(&[&HALF]);
/// let registration = library.finish()?;
/// assert_eq!(dispatcher.names()[0].to_string(), "docs::half");
/// assert_eq!(dispatcher.call(Half, (8,))?, 4);
///
/// drop(registration);
/// assert!(dispatcher.find("docs::half").is_err());
/// # Ok::<(), opgrid_core::Error>(())
/// ```
#[derive(Debug)]
pub struct OnDemand {
    names: &'static [&'static str],
    pub(super) register: fn(&mut Library),
}

impl OnDemand {
    /// Operators by their names, as in `aten::add.Tensor`, and what registers them. All are of one namespace.
    pub const fn new(names: &'static [&'static str], register: fn(&mut Library)) -> Self {
        Self { names, register }
    }

    /// The names of the operators.
    pub fn names(&self) -> &'static [&'static str] {
        self.names
    }

    /// The namespace of the operators.
    pub(super) fn namespace(&self) -> &'static str {
        let first = self.names.first().copied().unwrap_or_default();
        first.split_once("::").map_or("", |(namespace, _)| namespace)
    }

    /// What tells one group from another.
    fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

/// Groups as a library names them.
pub type Groups = Arc<[&'static OnDemand]>;

/// The groups of one library.
struct Catalogue {
    groups: Groups,
    /// Whether the library's registration was kept, so that nothing of it is ever undone.
    is_kept: bool,
    /// The groups that were registered for it, and what they did.
    registered: Vec<usize>,
    changes: Vec<Change>,
}

/// Where a name stands: the catalogue, the group, the name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position(u32, u32, u32);

/// What a dispatcher knows of operators that may wait to be needed.
#[derive(Default)]
pub(crate) struct Demand {
    /// The groups that are registered.
    there: HashSet<usize, RandomState>,
    catalogues: Vec<Catalogue>,
    /// How many groups of the catalogues are not registered.
    waiting: usize,
    /// Every name of the catalogues by its part before the dot, made when it is first needed.
    index: Option<HashTable<Position>>,
    hasher: RandomState,
}

impl Demand {
    /// Whether some group waits.
    pub(super) fn has_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Whether there are groups at all.
    pub(super) fn is_known(&self) -> bool {
        !self.catalogues.is_empty()
    }

    /// Whether a group may be registered: it is not there, and belongs to a catalogue if `catalogued` says that it has to.
    pub(super) fn waits(&self, group: &OnDemand, catalogued: bool) -> bool {
        !self.is_there(group) && (!catalogued || self.catalogue_of(group).is_some())
    }

    fn is_there(&self, group: &OnDemand) -> bool {
        self.there.contains(&group.id())
    }

    pub(super) fn catalogue_of(&self, group: &OnDemand) -> Option<usize> {
        self.catalogues.iter().position(|it| it.groups.iter().any(|known| known.id() == group.id()))
    }

    /// The groups of each library that are not registered.
    pub(super) fn waiting(&self) -> impl Iterator<Item = Vec<&'static OnDemand>> {
        let catalogues = self.catalogues.iter().filter(|_| self.has_waiting());
        catalogues.map(|it| it.groups.iter().copied().filter(|group| !self.is_there(group)).collect())
    }

    fn count_waiting(&mut self) {
        let all = self.catalogues.iter().flat_map(|catalogue| &*catalogue.groups);
        self.waiting = all.filter(|group| !self.is_there(group)).count();
    }

    /// The names of the groups that are not registered.
    pub(super) fn waiting_names(&self) -> impl Iterator<Item = &'static str> {
        self.waiting().flatten().flat_map(|group| group.names.iter().copied())
    }

    /// Takes the groups of a library.
    ///
    /// # Errors
    ///
    /// A name of a group that a library has stated already, this one too.
    pub(super) fn add(&mut self, groups: Groups) -> Result<(), &'static str> {
        let is_repeated = |at: usize| groups[..at].iter().any(|known| known.id() == groups[at].id());
        let known = (0..groups.len()).find(|at| self.catalogue_of(groups[*at]).is_some() || is_repeated(*at));
        if let Some(at) = known {
            return Err(groups[at].names.first().copied().unwrap_or_default());
        }
        self.catalogues.push(Catalogue {
            groups,
            is_kept: false,
            registered: Vec::new(),
            changes: Vec::new(),
        });
        self.count_waiting();
        self.index = None;
        Ok(())
    }

    /// Gives a library's groups up, with what they did.
    pub(super) fn remove(&mut self, groups: &Groups) -> Vec<Change> {
        let Some(index) = self.catalogues.iter().position(|it| Arc::ptr_eq(&it.groups, groups)) else {
            return Vec::new();
        };
        let catalogue = self.catalogues.remove(index);
        for group in catalogue.registered {
            self.there.remove(&group);
        }
        self.count_waiting();
        self.index = None;
        catalogue.changes
    }

    /// Says that what groups of a library do will not be undone. What they have done so far comes back, to be forgotten.
    pub(super) fn keep(&mut self, groups: &Groups) -> Vec<Change> {
        let is_it = |it: &&mut Catalogue| Arc::ptr_eq(&it.groups, groups);
        let Some(catalogue) = self.catalogues.iter_mut().find(is_it) else { return Vec::new() };
        catalogue.is_kept = true;
        std::mem::take(&mut catalogue.changes)
    }

    /// Takes what a group did that is registered now. What will never be undone comes back, to be forgotten.
    pub(super) fn registered(&mut self, group: &'static OnDemand, changes: Vec<Change>) -> Vec<Change> {
        self.there.insert(group.id());
        let Some(index) = self.catalogue_of(group) else { return changes };
        self.waiting -= 1;
        let catalogue = &mut self.catalogues[index];
        catalogue.registered.push(group.id());
        if catalogue.is_kept {
            return changes;
        }
        catalogue.changes.extend(changes);
        Vec::new()
    }

    fn name_at(&self, Position(catalogue, group, name): Position) -> (&'static str, &'static str) {
        parts(self.catalogues[catalogue as usize].groups[group as usize].names[name as usize])
    }

    /// Every position of a name without its overload.
    fn positions(&mut self, base: &str) -> Vec<Position> {
        let catalogues = &self.catalogues;
        let hasher = &self.hasher;
        let index = self.index.get_or_insert_with(|| indexed(catalogues, hasher));
        index.iter_hash(hasher.hash_one(base)).copied().collect()
    }

    /// The group of a name, unless it is registered.
    pub(super) fn group_of(&mut self, base: &str, overload: &str) -> Option<&'static OnDemand> {
        if !self.has_waiting() {
            return None;
        }
        let found = self.position(base, overload)?;
        let group = self.catalogues[found.0 as usize].groups[found.1 as usize];
        (!self.is_there(group)).then_some(group)
    }

    /// The groups of all overloads of a name that are not registered.
    pub(super) fn groups_of(&mut self, base: &str) -> Vec<&'static OnDemand> {
        if !self.has_waiting() {
            return Vec::new();
        }
        let mut positions = self.positions(base);
        positions.retain(|position| self.name_at(*position).0 == base);
        positions.sort();
        positions.dedup_by_key(|position| (position.0, position.1));
        let groups = positions.iter().map(|at| self.catalogues[at.0 as usize].groups[at.1 as usize]);
        groups.filter(|group| !self.is_there(group)).collect()
    }

    /// Where a name stands among those of all groups, registered or not.
    pub(super) fn position(&mut self, base: &str, overload: &str) -> Option<Position> {
        let positions = self.positions(base);
        positions.into_iter().find(|position| self.name_at(*position) == (base, overload))
    }
}

/// Base and overload of a name.
pub(super) fn parts(name: &str) -> (&str, &str) {
    name.split_once('.').unwrap_or((name, ""))
}

fn indexed(catalogues: &[Catalogue], hasher: &RandomState) -> HashTable<Position> {
    let groups = || catalogues.iter().flat_map(|catalogue| &*catalogue.groups);
    let mut index = HashTable::with_capacity(groups().map(|group| group.names.len()).sum());
    let hash = |Position(catalogue, group, name): &Position| {
        let text = catalogues[*catalogue as usize].groups[*group as usize].names[*name as usize];
        hasher.hash_one(parts(text).0)
    };
    for (number, catalogue) in (0..).zip(catalogues) {
        for (group_index, group) in (0..).zip(&*catalogue.groups) {
            for name in 0..group.names.len() as u32 {
                let position = Position(number, group_index, name);
                index.insert_unique(hash(&position), position, hash);
            }
        }
    }
    index
}

thread_local! {
    /// The groups whose `register` runs on this thread, each with the address of the dispatcher that asked for it. Without a
    /// destructor, so that a thread that ends can still ask for groups; the list is empty then, and takes no memory.
    static BEGUN: ManuallyDrop<RefCell<Vec<(usize, usize)>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Marks that this thread runs the `register` function of a group.
pub(super) struct Begun((usize, usize));

impl Begun {
    /// `None` where it does so already: the group asks for itself. The dispatcher is told by its address.
    pub(super) fn with(dispatcher: usize, group: &OnDemand) -> Option<Self> {
        let begun = (dispatcher, group.id());
        BEGUN.with(|all| {
            let mut all = all.borrow_mut();
            (!all.contains(&begun)).then(|| {
                all.push(begun);
                Self(begun)
            })
        })
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        BEGUN.with(|all| {
            let mut all = all.borrow_mut();
            all.retain(|begun| *begun != self.0);
            if all.is_empty() {
                *all = Vec::new();
            }
        });
    }
}
