//! What a dispatcher knows of one operator: its definition, its kernels by key, the signature they agreed on, its table.

use std::sync::Arc;

use opgrid_schema::check_signature;

use crate::calling::columns::{Columns, HeldColumn};
use crate::calling::kernel::{KernelRecord, Origin, SignatureOf};
use crate::calling::operator::{Definition, OperatorHandle, SignatureCell};
use crate::calling::retirement::Published;
use crate::calling::table::{Base, Subject, Table};
use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::DispatchKey;
use crate::registration::chain::Chain;
use crate::registration::provider::Orders;
use crate::registration::resolve::{Kernels, Rules, draft_of};

/// The signature that the kernels of an operator agreed on. It outlives the kernel that it came with, as in torch.
pub(crate) struct Pinned {
    pub(crate) signature: &'static SignatureOf,
    pub(crate) key: Option<DispatchKey>,
    pub(crate) origin: Origin,
    /// Whether it fits the definition, where there is one: a definition may come when the kernel is gone.
    pub(crate) fits: bool,
}

/// Where callers of a signature read the operator's table.
struct CallersCell {
    signature: &'static SignatureOf,
    of: CellOf,
}

enum CellOf {
    /// The cell of an overload, on the global dispatcher.
    Overload(&'static Published),
    /// The cell of typed handles.
    Handles(Arc<SignatureCell>),
}

impl CallersCell {
    fn publish(&self, pointer: *mut u8) {
        match &self.of {
            CellOf::Overload(cell) => cell.publish(pointer),
            CellOf::Handles(cell) => cell.table.publish(pointer),
        }
    }
}

/// One operator in the registry.
pub(crate) struct OperatorRecord {
    pub(crate) handle: OperatorHandle,
    pub(crate) definition: Option<Arc<Definition>>,
    pub(crate) kernels: Vec<(DispatchKey, Chain)>,
    /// Which providers come first.
    pub(crate) orders: Orders,
    pub(crate) typed: Option<Pinned>,
    pub(crate) symbolic: Option<Pinned>,
    cells: Vec<CallersCell>,
    /// What the operator carries beside kernels, in the order in which it was registered.
    pub(crate) columns: Vec<HeldColumn>,
    pub(crate) table: Option<Table>,
}

impl Kernels for OperatorRecord {
    fn cell(&self, key: DispatchKey) -> Option<&Chain> {
        let index = self.kernels.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        Some(&self.kernels[index].1)
    }

    fn order(&self, key: DispatchKey) -> &[Arc<str>] {
        self.orders.for_key(key)
    }

    fn keys(&self) -> impl Iterator<Item = DispatchKey> {
        self.kernels.iter().map(|(key, _)| *key)
    }
}

impl OperatorRecord {
    pub(crate) fn new(handle: OperatorHandle) -> Self {
        let (typed, symbolic) = (None, None);
        Self {
            handle,
            definition: None,
            kernels: Vec::new(),
            orders: Orders::default(),
            typed,
            symbolic,
            cells: Vec::new(),
            columns: Vec::new(),
            table: None,
        }
    }

    pub(crate) fn chain_mut(&mut self, key: DispatchKey) -> &mut Chain {
        let index = match self.kernels.binary_search_by_key(&key, |(key, _)| *key) {
            Ok(index) => index,
            Err(index) => {
                // Most operators have one kernel, and there are many operators.
                self.kernels.reserve_exact(1);
                self.kernels.insert(index, (key, Chain::default()));
                index
            }
        };
        &mut self.kernels[index].1
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.definition.is_none()
            && self.kernels.is_empty()
            && self.orders.is_empty()
            && self.columns.is_empty()
    }

    /// The schema, or the name alone, as errors print it.
    pub(crate) fn title(&self) -> String {
        match &self.definition {
            Some(definition) => definition.schema.to_string(),
            None => self.handle.name().to_string(),
        }
    }

    pub(crate) fn definition_debug(&self) -> String {
        self.definition
            .as_ref()
            .map_or_else(|| "no debug info".into(), |definition| definition.origin.to_string())
    }

    pub(crate) fn pinned(&mut self, symbolic: bool) -> &mut Option<Pinned> {
        if symbolic { &mut self.symbolic } else { &mut self.typed }
    }

    /// Checks that cells of aliases keep one kernel for all arguments: what an alias stands for is chosen by rules that
    /// look at keys alone.
    pub(crate) fn admit_to_alias(&self, column: DispatchKey, kernel: &KernelRecord) -> Result<()> {
        let another = self
            .cell(column)
            .filter(|cell| cell.would_be_joined_by(kernel.name.as_ref()))
            .and_then(|cell| cell.all().next());
        if !column.is_alias() || kernel.condition.is_none() && another.is_none() {
            return Ok(());
        }
        let found = match another {
            Some(first) => format!("there is another one already ({})", first.debug()),
            None => "the kernel has a condition".to_owned(),
        };
        let message = format!(
            "{}: {column} is an alias, and aliases take one kernel for all arguments, but {found}; register providers \
             for the keys that {column} stands for ({})",
            self.handle.name(),
            kernel.debug()
        );
        Err(Error::new(ErrorKind::Registration, message))
    }

    /// Checks a kernel's signature against the first one of its kind, and keeps it if it is the first.
    pub(crate) fn pin(&mut self, kernel: &KernelRecord, key: Option<DispatchKey>) -> Result<bool> {
        let Some(signature) = kernel.signature else { return Ok(false) };
        match self.pinned(signature.is_symbolic()) {
            pinned @ None => {
                *pinned = Some(Pinned { signature, key, origin: kernel.origin.clone(), fits: true });
                Ok(true)
            }
            Some(first) if first.signature.id == signature.id => {
                first.fits = true;
                Ok(false)
            }
            Some(_) => Err(self.mismatch(kernel, signature, key)),
        }
    }

    #[cold]
    fn mismatch(
        &mut self,
        kernel: &KernelRecord,
        signature: &SignatureOf,
        key: Option<DispatchKey>,
    ) -> Error {
        let (title, definition) = (self.title(), self.definition_debug());
        let Some(first) = self.pinned(signature.is_symbolic()) else {
            return Error::new(ErrorKind::Internal, "a mismatch with no signature");
        };
        let key_name = |key: Option<DispatchKey>| key.map_or("(catch all)".into(), |key| key.to_string());
        let message = format!(
            "mismatch in kernel signatures\n  operator: {title}\n    {definition}\n  kernel 1: {}\n    dispatch key: \
             {}\n    {}\n  kernel 2: {}\n    dispatch key: {}\n    {}",
            (first.signature.text)(),
            key_name(first.key),
            first.origin,
            (signature.text)(),
            key_name(key),
            kernel.origin,
        );
        Error::new(ErrorKind::Signature, message)
    }

    /// Notes which of the operator's signatures fit a new definition.
    pub(crate) fn compare_signatures(&mut self, definition: &Definition) {
        for pinned in [&mut self.typed, &mut self.symbolic].into_iter().flatten() {
            pinned.fits = pinned.signature.fits(&definition.schema);
        }
    }

    /// Checks that the schema inferred from a kernel fits the definition.
    pub(crate) fn check_schema(
        &self,
        definition: &Definition,
        signature: &SignatureOf,
        origin: &Origin,
    ) -> Result<()> {
        check_signature(&definition.schema, &signature.schema, signature.is_symbolic()).map_err(|reason| {
            let inferred = signature.schema_named(definition.schema.name.clone());
            let message = format!(
                "inferred operator schema for a kernel function doesn't match the expected function schema\n  \
                 operator: {}\n  expected schema: {}\n    {}\n  inferred schema: {}\n    {origin}\n  reason: {reason}",
                definition.schema.name, definition.schema, definition.origin, inferred,
            );
            Error::new(ErrorKind::Signature, message).caused_by(reason)
        })
    }

    /// Swaps the table that calls read; the old one comes back.
    pub(crate) fn publish(&mut self, table: Option<Table>) -> Option<Table> {
        let pointer = table.as_ref().map_or(std::ptr::null_mut(), Table::as_ptr);
        self.handle.0.table.publish(pointer);
        for cell in &self.cells {
            cell.publish(if self.admits(cell.signature) { pointer } else { std::ptr::null_mut() });
        }
        std::mem::replace(&mut self.table, table)
    }

    /// Whether callers of that signature may enter the operator's typed kernels: those of its kind are of it, or there
    /// have been none yet.
    fn admits(&self, signature: &SignatureOf) -> bool {
        let kernels = if signature.is_symbolic() { &self.symbolic } else { &self.typed };
        kernels.as_ref().is_none_or(|pinned| pinned.signature.id == signature.id)
    }

    /// What a new cell for callers of that signature points to.
    fn pointer_for(&self, signature: &SignatureOf) -> *mut u8 {
        if self.admits(signature) {
            self.table.as_ref().map_or(std::ptr::null_mut(), Table::as_ptr)
        } else {
            std::ptr::null_mut()
        }
    }

    /// Checks that callers may use a signature: it is that of the kernels, or fits the schema where there are none.
    pub(crate) fn check_callers(&mut self, asked: &'static SignatureOf, origin: &Origin) -> Result<()> {
        let other_fits = match (asked.is_symbolic(), &self.typed, &self.symbolic) {
            (true, Some(typed), _) => typed.signature.id == asked.concrete,
            (false, _, Some(symbolic)) => symbolic.signature.concrete == asked.id,
            _ => true,
        };
        if !other_fits || !self.admits(asked) {
            return Err(self.wrong_signature(asked));
        }
        if self.pinned(asked.is_symbolic()).as_ref().is_some_and(|pinned| pinned.fits) {
            return Ok(());
        }
        if let Some(definition) = &self.definition {
            self.check_schema(definition, asked, origin)?;
        }
        if let Some(pinned) = self.pinned(asked.is_symbolic()) {
            pinned.fits = true;
        }
        Ok(())
    }

    /// The cell of the typed handles of a signature, made for the first of them.
    pub(crate) fn shared_cell(&mut self, signature: &'static SignatureOf) -> Arc<SignatureCell> {
        let known = self.cells.iter().find_map(|cell| match &cell.of {
            CellOf::Handles(shared) if cell.signature.id == signature.id => Some(shared),
            _ => None,
        });
        if let Some(known) = known {
            return known.clone();
        }
        let table = Published::new();
        table.publish(self.pointer_for(signature));
        let (foreign, operator) = (self.handle.0.foreign, self.handle.clone());
        let cell = Arc::new(SignatureCell { table, foreign, signature: signature.id, operator });
        self.cells.push(CallersCell { signature, of: CellOf::Handles(cell.clone()) });
        cell
    }

    /// Whether an overload's cell is one of the operator's.
    pub(crate) fn has_bound(&self, cell: &'static Published) -> bool {
        let is_it =
            |known: &CallersCell| matches!(known.of, CellOf::Overload(known) if std::ptr::eq(known, cell));
        self.cells.iter().any(is_it)
    }

    /// Makes an overload's cell one of the operator's.
    ///
    /// `signature` is that of the cell's type, which [`Overload`](crate::registration::overload::Overload) keeps together.
    pub(crate) fn bind(&mut self, cell: &'static Published, signature: &'static SignatureOf) {
        if !self.has_bound(cell) {
            self.cells.push(CallersCell { signature, of: CellOf::Overload(cell) });
        }
        cell.publish(self.pointer_for(signature));
    }

    #[cold]
    pub(crate) fn wrong_signature(&self, asked: &SignatureOf) -> Error {
        let pinned = self.typed.as_ref().or(self.symbolic.as_ref());
        let (correct, debug) = match pinned {
            Some(pinned) => ((pinned.signature.text)(), pinned.origin.to_string()),
            None => ("unknown", String::new()),
        };
        let message = format!(
            "tried to access or call an operator with a wrong signature\n  operator: {}\n    {}\n  correct signature: \
             {correct}\n    {debug}\n  accessed/called as: {}",
            self.title(),
            self.definition_debug(),
            (asked.text)(),
        );
        Error::new(ErrorKind::Signature, message)
    }

    /// The table that the rules give for the operator over a base, with the columns that its kind gives it.
    pub(crate) fn table_over(&self, rules: Rules, base: &Arc<Base>, defaults: &[HeldColumn]) -> Table {
        let columns = Columns::merge(&self.columns, defaults);
        let (operator, definition) = (self.handle.clone(), self.definition.clone());
        draft_of(rules, self, base).publish(Subject { operator, definition, columns })
    }

    pub(crate) fn handle(&self) -> OperatorHandle {
        self.handle.clone()
    }
}
