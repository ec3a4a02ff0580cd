//! The registry and the rules of resolution once more, naive: one column at a time, every rule as it is written down.

use std::collections::BTreeMap;

use opgrid_core::{DispatchKey as Key, DispatchKeySet, ErrorKind, Reason};

/// What sort of kernel it is; the last two are typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Boxed,
    Fallthrough,
    /// The signature that the operators' schema has.
    Int,
    /// Another signature.
    Float,
}

impl Sort {
    fn is_typed(self) -> bool {
        matches!(self, Self::Int | Self::Float)
    }
}

/// A kernel, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    pub number: u32,
    pub name: Option<&'static str>,
    pub sort: Sort,
}

/// A cell's kernels: providers in order, each with the name that it was opened by and its stack.
type Cell = Vec<(Option<&'static str>, Vec<Kernel>)>;

fn add(cell: &mut Cell, kernel: Kernel, may_replace: bool) -> Result<(), ErrorKind> {
    let place = match kernel.name {
        None => (!cell.is_empty()).then_some(0),
        Some(_) => cell.iter().position(|(name, _)| *name == kernel.name),
    };
    match place {
        None => cell.push((kernel.name, vec![kernel])),
        Some(_) if !may_replace => return Err(ErrorKind::Duplicate),
        Some(place) => cell[place].1.push(kernel),
    }
    Ok(())
}

fn remove(cell: &mut Cell, number: u32) {
    cell.iter_mut().for_each(|(_, stack)| stack.retain(|kernel| kernel.number != number));
    cell.retain(|(_, stack)| !stack.is_empty());
}

fn active(cells: &BTreeMap<Key, Cell>, key: Key) -> Option<Kernel> {
    cells.get(&key)?.first()?.1.last().copied()
}

/// One operator.
#[derive(Clone, Debug)]
pub struct Operator {
    /// Which of the operators of this name it is.
    pub incarnation: u32,
    pub is_defined: bool,
    cells: BTreeMap<Key, Cell>,
    /// The signature that the first typed kernel fixed.
    pinned: Option<Sort>,
}

/// What fills a column, with the kernel where one was registered.
pub type Found = (Reason, Option<Kernel>);

type Rule<'r> = &'r dyn Fn() -> Option<Found>;

/// What a library asks for.
#[derive(Clone, Copy, Debug)]
pub enum Item {
    Claim,
    Define(usize),
    Implement(usize, Option<Key>, Kernel),
    Fallback(Option<Key>, Kernel),
}

/// What was done.
#[derive(Clone, Debug)]
pub enum Change {
    Claimed,
    Defined(usize),
    Implemented(usize, Key, u32),
    FellBack(u32),
}

/// Everything that is registered.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub operators: BTreeMap<usize, Operator>,
    fallbacks: BTreeMap<Key, Cell>,
    is_claimed: bool,
    incarnations: u32,
    /// What fills the columns that no rule fills.
    base: BTreeMap<Key, Reason>,
}

impl Model {
    /// Nothing, where `base` fills the columns of operators without kernels.
    pub fn new(base: BTreeMap<Key, Reason>) -> Self {
        Self { base, ..Self::default() }
    }

    /// Applies all items or none.
    pub fn apply(&mut self, items: &[Item], may_replace: bool) -> Result<Vec<Change>, ErrorKind> {
        let before = self.clone();
        let changes = items.iter().map(|item| self.apply_one(*item, may_replace)).collect();
        if let Err(kind) = &changes {
            let kind = *kind;
            *self = Self { incarnations: self.incarnations, ..before };
            return Err(kind);
        }
        changes
    }

    fn operator(&mut self, place: usize) -> &mut Operator {
        let incarnations = &mut self.incarnations;
        self.operators.entry(place).or_insert_with(|| {
            *incarnations += 1;
            Operator { incarnation: *incarnations, is_defined: false, cells: BTreeMap::new(), pinned: None }
        })
    }

    fn apply_one(&mut self, item: Item, may_replace: bool) -> Result<Change, ErrorKind> {
        match item {
            Item::Claim => {
                if std::mem::replace(&mut self.is_claimed, true) {
                    Err(ErrorKind::Duplicate)
                } else {
                    Ok(Change::Claimed)
                }
            }
            Item::Define(place) => {
                let operator = self.operator(place);
                if operator.is_defined {
                    return Err(ErrorKind::Duplicate);
                }
                let mut kernels = operator.cells.values().flatten().flat_map(|(_, stack)| stack);
                if kernels.any(|kernel| kernel.sort == Sort::Float) {
                    return Err(ErrorKind::Signature);
                }
                operator.is_defined = true;
                Ok(Change::Defined(place))
            }
            Item::Implement(place, key, kernel) => {
                let key = key.unwrap_or(Key::CompositeImplicitAutograd);
                if key.is_building_block() || key.is_placeholder() {
                    return Err(ErrorKind::Registration);
                }
                let is_another =
                    |cell: &Cell| !cell.is_empty() && cell.iter().all(|(name, _)| *name != kernel.name);
                let cell = self.operator(place).cells.get(&key);
                // Cells of aliases have one provider.
                if key.is_alias() && kernel.name.is_some() && cell.is_some_and(is_another) {
                    return Err(ErrorKind::Registration);
                }
                self.pin(place, kernel.sort)?;
                add(self.operator(place).cells.entry(key).or_default(), kernel, may_replace)?;
                Ok(Change::Implemented(place, key, kernel.number))
            }
            Item::Fallback(key, kernel) => {
                let columns: Vec<_> =
                    key.and_then(Key::runtime_set).map(|set| set.iter().collect()).unwrap_or_default();
                if columns.is_empty() {
                    return Err(ErrorKind::Registration);
                }
                for column in &columns {
                    add(self.fallbacks.entry(*column).or_default(), kernel, may_replace)?;
                }
                Ok(Change::FellBack(kernel.number))
            }
        }
    }

    /// Whether callers may use the signature of `sort`. Asking fixes nothing.
    pub fn may_call(&self, place: usize, sort: Sort) -> Result<(), ErrorKind> {
        let operator = &self.operators[&place];
        let is_another = operator.pinned.is_some_and(|first| first != sort);
        if operator.is_defined && sort == Sort::Float || is_another {
            Err(ErrorKind::Signature)
        } else {
            Ok(())
        }
    }

    /// Fixes the operator's signature, if `sort` has one.
    pub fn pin(&mut self, place: usize, sort: Sort) -> Result<(), ErrorKind> {
        let operator = self.operator(place);
        if !sort.is_typed() {
            return Ok(());
        }
        if operator.is_defined && sort == Sort::Float || operator.pinned.is_some_and(|first| first != sort) {
            return Err(ErrorKind::Signature);
        }
        operator.pinned = Some(sort);
        Ok(())
    }

    /// Undoes what one registration did.
    pub fn undo(&mut self, changes: Vec<Change>) {
        for change in changes {
            match change {
                Change::Claimed => self.is_claimed = false,
                Change::Defined(place) => self.operator(place).is_defined = false,
                Change::Implemented(place, key, number) => {
                    let cells = &mut self.operator(place).cells;
                    cells.values_mut().for_each(|cell| remove(cell, number));
                    if cells.get(&key).is_some_and(Vec::is_empty) {
                        cells.remove(&key);
                    }
                }
                Change::FellBack(number) => {
                    self.fallbacks.values_mut().for_each(|cell| remove(cell, number));
                }
            }
        }
        self.operators.retain(|_, operator| operator.is_defined || !operator.cells.is_empty());
    }

    /// What fills a column of an operator: the rules in their order.
    pub fn resolve(&self, operator: &Operator, column: Key) -> Found {
        let direct = |key: Key| active(&operator.cells, key);
        let alias = |key: Key| direct(key).map(|kernel| (Reason::Alias(key), Some(kernel)));
        let covers = |alias: Key| column.is_included_in(alias);
        let is_undefined = column == Key::Undefined;
        let has_own_in =
            |set: DispatchKeySet| operator.cells.keys().any(|key| !key.is_alias() && set.contains(*key));
        let has_backend =
            has_own_in(column.backends_of_autograd()) || direct(Key::CompositeExplicitAutograd).is_some();
        let rules: [Rule<'_>; 8] = [
            &|| direct(column).map(|kernel| (Reason::Direct, Some(kernel))),
            &|| {
                let key = Key::CompositeExplicitAutogradNonFunctional;
                if is_undefined || covers(key) { alias(key) } else { None }
            },
            &|| {
                let key = Key::CompositeExplicitAutograd;
                if is_undefined || covers(key) { alias(key) } else { None }
            },
            &|| {
                let key = Key::CompositeImplicitAutogradNestedTensor;
                if covers(key) { alias(key) } else { None }
            },
            &|| {
                let key = Key::CompositeImplicitAutograd;
                let found = if is_undefined || covers(key) { alias(key)? } else { return None };
                if column == Key::AutogradOther && has_own_in(DispatchKeySet::AUTOGRAD_OTHER_BACKENDS) {
                    return Some((Reason::Ambiguous, None));
                }
                (!has_backend).then_some(found)
            },
            &|| if covers(Key::Autograd) { alias(Key::Autograd) } else { None },
            &|| {
                let key = Key::FuncTorchBatchedDecomposition;
                if covers(key) { alias(key) } else { None }
            },
            &|| active(&self.fallbacks, column).map(|kernel| (Reason::Fallback, Some(kernel))),
        ];
        rules.iter().find_map(|rule| rule()).unwrap_or((self.base[&column], None))
    }

    /// Whether calls step over a column.
    fn falls_through(&self, operator: &Operator, column: Key) -> bool {
        match self.resolve(operator, column) {
            (_, Some(kernel)) => kernel.sort == Sort::Fallthrough,
            (reason, None) => reason == Reason::SteppedOver,
        }
    }

    /// `keys` without the layers that the operator falls through on their highest backend.
    pub fn effective(&self, operator: &Operator, keys: DispatchKeySet) -> DispatchKeySet {
        let backend = keys.highest_backend().unwrap_or(opgrid_core::BackendComponent::Cpu);
        let falls_through = |layer: &opgrid_core::Functionality| {
            let column = if layer.is_per_backend() {
                Key::runtime(*layer, backend)
            } else {
                Key::of_functionality(*layer)
            };
            self.falls_through(operator, column)
        };
        let stepped_over = opgrid_core::Functionality::all()
            .filter(|layer| keys.layers() >> layer.position() & 1 == 1)
            .filter(falls_through)
            .fold(0, |mask, layer| mask | 1 << layer.position());
        DispatchKeySet::from_parts(keys.layers() & !stepped_over, keys.backends())
    }
}
