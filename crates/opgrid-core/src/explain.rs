//! Why a call runs the kernel that it runs: explanations, the errors of missing kernels, dumps and the invariant check.
//!
//! Everything here prints the slots of the published tables; nothing decides a second time.

use std::fmt::{self, Write};

use serde_json::{Value as Json, json};

use crate::call::BoxedCall;
use crate::kernel::{KernelRecord, Place, Role};
use crate::observe::{CallKind, Refusal, Step, record};
use crate::provider::{Condition, Settled, holds_of_values, settle};
use crate::resolve::Reason;
use crate::table::{SlotRef, TableRef};
use crate::user_keys::excluded_below;
use crate::{Boxed, DispatchKey, DispatchKeySet, Dispatcher, Error, ErrorKind, Functionality, LocalKeys};
use crate::{KeyKind, OperatorHandle, Result, Returns, columns};

/// A kernel, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelInfo {
    /// The name by which it joined its chain.
    pub name: Option<String>,
    /// The author's text.
    pub description: Option<String>,
    /// What has to hold of the arguments for it to run.
    pub condition: Option<String>,
    /// File and line of the registration.
    pub place: String,
    /// Whether it is a function of typed arguments.
    pub typed: bool,
}

impl KernelInfo {
    pub(crate) fn of(kernel: &KernelRecord) -> Self {
        Self {
            name: kernel.name.as_deref().map(str::to_owned).or_else(|| names_of_chain(kernel)),
            description: kernel.origin.description.as_deref().map(str::to_owned),
            place: Place(kernel.origin.place).to_string(),
            condition: kernel.condition.as_ref().map(|condition| condition.text.to_string()),
            typed: kernel.role == Role::Typed || !kernel.typed.entry.is_null(),
        }
    }

    /// What a listing calls the kernel: its name, else its author's text, else its sort.
    pub fn title(&self) -> &str {
        let plain = if self.typed { "typed kernel" } else { "boxed kernel" };
        self.name.as_deref().or(self.description.as_deref()).unwrap_or(plain)
    }

    /// The kernel as JSON.
    pub fn to_json(&self) -> Json {
        json!({
            "name": self.name,
            "description": self.description,
            "condition": self.condition,
            "typed": self.typed,
            "place": self.place,
        })
    }
}

/// The providers of a chain, in their order.
fn names_of_chain(kernel: &KernelRecord) -> Option<String> {
    let links = kernel.links.as_ref()?;
    let names = links.providers.iter().map(|provider| provider.name.as_deref().unwrap_or("(unnamed)"));
    Some(names.collect::<Vec<_>>().join(", "))
}

/// One hop of an explained call.
#[derive(Clone, Debug)]
pub struct Hop {
    /// How many hops are around this one.
    pub depth: u32,
    /// The operator.
    pub operator: String,
    /// How the kernel was reached.
    pub kind: CallKind,
    /// The keys that the kernel gets.
    pub keys: DispatchKeySet,
    /// The layers that the operator falls through.
    pub fallen_through: DispatchKeySet,
    /// The column.
    pub key: DispatchKey,
    /// The kernel; `None` where there is none.
    pub kernel: Option<KernelInfo>,
    /// The rule that chose it.
    pub reason: Reason,
    /// The providers that were asked before and refused; where the arguments are not known, those that may refuse.
    pub refused: Vec<Refusal>,
}

/// Why a call runs the kernels that it runs.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The operator's schema, or its name.
    pub operator: String,
    /// What each argument contributes.
    pub arguments: Vec<(String, DispatchKeySet)>,
    /// The thread's keys.
    pub local: LocalKeys,
    /// The hops, outermost first. Of a described call: what follows if every layer calls on.
    pub hops: Vec<Hop>,
}

impl Explanation {
    /// The explanation as JSON.
    pub fn to_json(&self) -> Json {
        let names = |keys: DispatchKeySet| keys.iter().map(|key| key.to_string()).collect::<Vec<_>>();
        let argument = |(name, keys): &(String, DispatchKeySet)| json!({"name": name, "keys": names(*keys)});
        let refusal =
            |refusal: &Refusal| json!({"provider": refusal.provider, "condition": refusal.condition});
        let hop = |hop: &Hop| {
            json!({
                "operator": hop.operator,
                "depth": hop.depth,
                "kind": hop.kind.name(),
                "key": hop.key.to_string(),
                "keys": names(hop.keys),
                "fallthrough": names(layers_with_backends(hop.fallen_through, hop.keys)),
                "kernel": hop.kernel.as_ref().map(KernelInfo::to_json),
                "reason": hop.reason.to_string(),
                "provenance": hop.reason.provenance(),
                "refused": hop.refused.iter().map(refusal).collect::<Vec<_>>(),
            })
        };
        json!({
            "operator": self.operator,
            "arguments": self.arguments.iter().map(argument).collect::<Vec<_>>(),
            "included": names(self.local.included),
            "excluded": names(self.local.excluded),
            "hops": self.hops.iter().map(hop).collect::<Vec<_>>(),
        })
    }
}

/// Layers as runtime keys of the backends at hand, for printing.
fn layers_with_backends(layers: DispatchKeySet, keys: DispatchKeySet) -> DispatchKeySet {
    DispatchKeySet::from_parts(layers.layers(), keys.backends().max(1))
}

/// Writes a set as `{CPU, AutogradCPU}`.
struct Braces(DispatchKeySet);

impl fmt::Display for Braces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(|key| key.to_string()).collect();
        write!(f, "{{{}}}", names.join(", "))
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.operator)?;
        f.write_str("keys")?;
        for (name, keys) in &self.arguments {
            write!(f, "  {name} {}", Braces(*keys))?;
        }
        let beside = |set: DispatchKeySet, default: DispatchKeySet| match set == default {
            true => "default".to_owned(),
            false => Braces(set).to_string(),
        };
        let included = beside(self.local.included, LocalKeys::DEFAULT.included);
        let excluded = beside(self.local.excluded, LocalKeys::DEFAULT.excluded);
        writeln!(f, "  included {included}  excluded {excluded}")?;
        let width = |text: &dyn Fn(&Hop) -> usize| self.hops.iter().map(text).max().unwrap_or(0);
        let title = |hop: &Hop| match &hop.kernel {
            Some(kernel) => kernel.title().to_owned(),
            None => "no kernel".to_owned(),
        };
        let keys = width(&|hop| hop.key.to_string().len() + 2 * hop.depth as usize);
        let operators = width(&|hop| hop.operator.len());
        let titles = width(&|hop| title(hop).len());
        let reasons = width(&|hop| hop.reason.to_string().len());
        for (place, hop) in self.hops.iter().enumerate() {
            let key = format!("{}{}", "  ".repeat(hop.depth as usize), hop.key);
            write!(
                f,
                "{:>2}  {key:keys$}  {:operators$}  {:titles$}  ",
                place + 1,
                hop.operator,
                title(hop)
            )?;
            let site = hop.kernel.as_ref().map_or("", |kernel| kernel.place.as_str());
            writeln!(f, "{}", format!("{:reasons$}  {site}", hop.reason.to_string()).trim_end())?;
            for refusal in &hop.refused {
                writeln!(f, "    refused by {refusal}")?;
            }
        }
        let skipped = self
            .hops
            .first()
            .map_or(DispatchKeySet::EMPTY, |hop| layers_with_backends(hop.fallen_through, hop.keys));
        if skipped.iter().next().is_some() {
            let names: Vec<_> = skipped.iter().map(|key| format!("{key} (fallthrough)")).collect();
            writeln!(f, "skipped: {}", names.join(", "))?;
        }
        Ok(())
    }
}

/// What answers the conditions of chains in a prediction: the arguments, where they are known.
type Asked<'a> = Option<&'a [Boxed<'a>]>;

fn hop_of(
    table: TableRef<'_>,
    kind: CallKind,
    all: DispatchKeySet,
    keys: DispatchKeySet,
    args: Asked<'_>,
) -> Result<Hop> {
    let slot = table.slot(keys);
    let mut refused = Vec::new();
    let mut now = Settled::first(slot.kernel, slot.reason, keys);
    match (slot.kernel.links.as_deref(), args) {
        (None, _) => {}
        (Some(links), None) => {
            let conditional = links.providers.iter().filter(|provider| provider.condition.is_some());
            refused.extend(conditional.map(|provider| Refusal::of(provider)));
        }
        (Some(_), Some(args)) => {
            let mut holds = |condition: &Condition| holds_of_values(condition, args);
            match settle(now, table, &mut holds, &mut |provider| refused.push(Refusal::of(provider))) {
                Ok(settled) => now = settled,
                Err(error) if error.kind() == ErrorKind::MissingKernel => {
                    now = Settled::first(slot.kernel, Reason::Missing, keys);
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(Hop {
        depth: 0,
        operator: table.operator().name().to_string(),
        kind,
        keys: now.keys,
        fallen_through: DispatchKeySet::from_parts(all.layers() & !keys.layers(), 0),
        key: now.keys.highest_priority_key(),
        kernel: now.reason.is_registered().then(|| KernelInfo::of(now.kernel)),
        reason: now.reason,
        refused,
    })
}

/// The hops of a call whose layers all call on: each to the keys below its own, down to a backend or a composite.
fn predicted(table: TableRef<'_>, all: DispatchKeySet, args: Asked<'_>) -> Result<Vec<Hop>> {
    let mut keys = table.mask(all);
    let mut hops = vec![hop_of(table, CallKind::Call, all, keys, args)?];
    while let Some(hop) = hops.last() {
        let ends = match hop.reason {
            Reason::Missing | Reason::SteppedOver | Reason::Ambiguous => true,
            Reason::Alias(alias) => alias != DispatchKey::Autograd,
            Reason::Direct | Reason::Fallback => false,
        };
        let layer = keys.highest_functionality();
        let backend = DispatchKeySet::BACKEND_KEYS.layers() | DispatchKey::NestedTensorCpu.key_set().layers();
        let chooses = layer == Functionality::BackendSelect || layer == Functionality::Undefined;
        if ends || chooses || backend >> layer.position() & 1 != 0 {
            break;
        }
        let below = ((1 << layer.position()) - 1) & !excluded_below(layer.position());
        keys = DispatchKeySet::from_parts(keys.layers() & below, keys.backends());
        hops.push(hop_of(table, CallKind::Redispatch, keys, keys, args)?);
    }
    Ok(hops)
}

fn hop_of_step(step: Step) -> Hop {
    let missing = !step.reason.is_registered();
    Hop {
        depth: step.depth,
        operator: step.operator.name().to_string(),
        kind: step.kind,
        keys: step.keys,
        fallen_through: step.fallen_through,
        key: step.key,
        kernel: (!missing).then_some(step.kernel),
        reason: step.reason,
        refused: step.refused,
    }
}

impl OperatorHandle {
    /// The names of the arguments with the keys that each brings into a boxed call.
    fn contributions(&self, args: &[Boxed<'_>]) -> Result<Vec<(String, DispatchKeySet)>> {
        self.look(|table| {
            let definition = table.definition();
            let named = |(place, value): (usize, &Boxed<'_>)| {
                let declared = definition.and_then(|definition| definition.schema.arguments.get(place));
                let brings =
                    definition.is_none_or(|definition| definition.dispatch_arguments >> place & 1 != 0);
                let name = declared.map_or_else(|| format!("_{place}"), |argument| argument.name.clone());
                brings.then(|| (name, value.tensor_keys()))
            };
            args.iter().enumerate().filter_map(named).collect()
        })
    }

    fn title(&self) -> String {
        self.find_schema().map_or_else(|| self.name().to_string(), |schema| schema.to_string())
    }

    /// Explains a call with these arguments without making it: what follows if every layer calls on.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone.
    pub fn explain(&self, args: &[Boxed<'_>]) -> Result<Explanation> {
        self.explain_call(self.contributions(args)?, Some(args))
    }

    /// Explains a call that is only described, by the keys that each argument would bring.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone.
    pub fn explain_keys(&self, arguments: Vec<(String, DispatchKeySet)>) -> Result<Explanation> {
        self.explain_call(arguments, None)
    }

    fn explain_call(&self, arguments: Vec<(String, DispatchKeySet)>, args: Asked<'_>) -> Result<Explanation> {
        let local = LocalKeys::current();
        let all = arguments.iter().fold(DispatchKeySet::EMPTY, |keys, (_, own)| keys | *own);
        let hops = self.look(|table| predicted(table, local.apply(all), args))??;
        Ok(Explanation { operator: self.title(), arguments, local, hops })
    }

    /// Makes a call and explains it: every hop that it took, those of other operators within it too.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone; the error of the call itself stands beside the explanation.
    pub fn call_explained(
        &self,
        args: &[Boxed<'_>],
        returns: &mut Returns,
    ) -> Result<(Result<()>, Explanation)> {
        let (arguments, local) = (self.contributions(args)?, LocalKeys::current());
        let (result, steps) = record(|| self.call_boxed(args, returns));
        let hops = steps.into_iter().map(hop_of_step).collect();
        Ok((result, Explanation { operator: self.title(), arguments, local, hops }))
    }

    /// The kernels as they were registered: source of truth of the table, in torch's format.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone.
    pub fn dump_state(&self) -> Result<String> {
        self.with_record(dump_record).ok_or_else(|| self.stale())
    }

    /// The table, one line per column that has a kernel, in torch's format.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone.
    pub fn dump_computed_table(&self) -> Result<String> {
        self.look(dump_table)
    }

    /// The columns that have a kernel, as `[K1, K2]`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone.
    pub fn list_dispatch_keys(&self) -> Result<String> {
        self.look(list_columns)
    }

    /// Every column with what fills it, in torch's order; those of users' keys come last.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone.
    pub fn table(&self) -> Result<Vec<Column>> {
        self.look(|table| {
            let column = |key: DispatchKey| {
                let slot = table.slot_of(key);
                Column {
                    key,
                    reason: slot.reason,
                    fallthrough: slot.kernel.is_fallthrough(),
                    kernel: slot.reason.is_registered().then(|| KernelInfo::of(slot.kernel)),
                }
            };
            columns().into_iter().map(column).collect()
        })
    }

    /// The keys and the column that a call with these arguments' keys reaches, on this thread.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone.
    pub fn effective_keys(&self, arguments: DispatchKeySet) -> Result<DispatchKeySet> {
        self.look(|table| table.mask(LocalKeys::current().apply(arguments)))
    }

    /// The state of the key extractor as torch prints it: the reversed position mask and the keys not fallen through.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone.
    pub fn dump_extractor(&self) -> Result<String> {
        self.look(|table| {
            let mask = table.definition().map_or(0, |definition| definition.reversed_dispatch_arguments());
            let bits: String = (0..64).map(|bit| if mask >> bit & 1 == 1 { '1' } else { '0' }).collect();
            let kept = table.kept_layers(DispatchKeySet::EMPTY);
            let kept = DispatchKeySet::FULL & DispatchKeySet::from_parts(kept, u32::MAX);
            format!("{bits} {kept}\n")
        })
    }

    /// Whether the column of a runtime key has a kernel.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Registration`] for an alias key, which has no column.
    pub fn has_computed_kernel_for(&self, key: DispatchKey) -> Result<bool> {
        if key.is_alias() {
            let message = format!("{key}: alias keys do not have runtime kernel registrations");
            return Err(Error::new(ErrorKind::Registration, message));
        }
        self.look(|table| table.slot_of(key).reason.is_registered())
    }

    /// How many bytes the operator's table takes.
    pub fn table_bytes(&self) -> usize {
        let size = self.with_record(|record| record.table.as_ref().map(crate::table::Table::size_in_bytes));
        size.flatten().unwrap_or(0)
    }

    /// Compares what is published with what the rules give now, and the rest of what must hold.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Internal`] with both dumps where something does not hold.
    pub fn check_invariants(&self) -> Result<()> {
        let broken = self.with_registry(|registry| {
            let Some(record) = registry.operators.of(self) else {
                return Err(self.stale());
            };
            let named =
                record.definition.as_ref().is_none_or(|definition| definition.schema.name == *self.name());
            let filled =
                record.kernels.iter().all(|(key, chain)| *key != DispatchKey::Undefined && !chain.is_empty());
            let fresh = registry.recompute(record);
            let same = |published: &crate::table::Table| {
                let slots = |key: DispatchKey| (published.as_ref().slot_of(key), fresh.as_ref().slot_of(key));
                columns().into_iter().all(|key| {
                    let (a, b) = slots(key);
                    a.reason == b.reason && same_kernel(a, b)
                })
            };
            Ok(!(named && filled && record.table.as_ref().is_some_and(same)))
        })??;
        if !broken {
            return Ok(());
        }
        let message = format!(
            "{}: invariants do not hold\n{}\n{}",
            self.name(),
            self.dump_state()?,
            self.dump_computed_table()?
        );
        Err(Error::new(ErrorKind::Internal, message))
    }
}

fn same_kernel(a: SlotRef<'_>, b: SlotRef<'_>) -> bool {
    // Kernels that nobody registered belong to the base, which is built anew.
    let of_base = |slot: SlotRef<'_>| !matches!(slot.kernel.role, Role::Typed | Role::Boxed);
    let providers = |slot: SlotRef<'_>| {
        let links = slot.kernel.links.iter().flat_map(|links| links.providers.iter());
        links.map(std::sync::Arc::as_ptr).collect::<Vec<_>>()
    };
    std::ptr::eq(a.kernel, b.kernel)
        || a.kernel.role == b.kernel.role && of_base(a) && providers(a) == providers(b)
}

/// One column of an operator's table.
#[derive(Clone, Debug)]
pub struct Column {
    /// The runtime key.
    pub key: DispatchKey,
    /// The rule that filled the slot.
    pub reason: Reason,
    /// Whether calls step over the key.
    pub fallthrough: bool,
    /// The kernel, if there is one.
    pub kernel: Option<KernelInfo>,
}

impl Dispatcher {
    /// Checks the invariants of every operator.
    ///
    /// # Errors
    ///
    /// As [`OperatorHandle::check_invariants`], for the first operator that breaks one.
    pub fn check_invariants(&self) -> Result<()> {
        self.registrations_for(None).iter().try_for_each(OperatorHandle::check_invariants)
    }
}

fn dump_record(record: &crate::record::Record) -> String {
    let name = record.handle.name();
    let mut text = format!("name: {name}\n");
    match &record.definition {
        None => text.push_str("schema: (none)\n"),
        Some(definition) => {
            let _ = write!(
                text,
                "schema: {}\ndebug: {}\nalias analysis kind: {}\n",
                definition.schema,
                definition.origin,
                definition.alias_analysis_text()
            );
        }
    }
    for (key, chain) in &record.kernels {
        for (place, kernel) in chain.all_placed() {
            let inferred = match &kernel.signature {
                // Torch leaves the name of inferred schemas empty.
                Some(signature) => signature.schema.to_string(),
                None => "(none)".into(),
            };
            let state = match kernel.role {
                Role::Fallthrough => "fallthrough boxed",
                Role::Typed if kernel.signature.is_some_and(|signature| !signature.is_symbolic()) => {
                    "boxed unboxed"
                }
                _ => "boxed",
            };
            let alias = if key.is_alias() { "[alias]" } else { "" };
            let inactive = if place > 0 { " (inactive)" } else { "" };
            let provider = if chain.single().is_some() { String::new() } else { provider_of(kernel) };
            let _ = writeln!(
                text,
                "{key}{alias}{inactive}{provider}: {} :: {inferred} [ {state} ]",
                kernel.debug()
            );
        }
    }
    text
}

/// What a dump says of a kernel that is not the only one of its cell.
fn provider_of(kernel: &KernelRecord) -> String {
    let name = kernel.name.as_deref().unwrap_or("(unnamed)");
    match &kernel.condition {
        Some(condition) => format!(" (provider {name}, when {})", condition.text),
        None => format!(" (provider {name})"),
    }
}

fn dump_table(table: TableRef<'_>) -> String {
    let mut text = String::new();
    for key in columns() {
        let slot = table.slot_of(key);
        if slot.reason.is_registered() {
            let skip = if slot.kernel.is_fallthrough() { "fallthrough " } else { "" };
            let _ = writeln!(text, "{key}: {skip}{} [{}]", slot.kernel.debug(), slot.reason.provenance());
        }
    }
    text
}

fn list_columns(table: TableRef<'_>) -> String {
    let filled =
        |key: &DispatchKey| *key != DispatchKey::Undefined && table.slot_of(*key).reason.is_registered();
    let names: Vec<_> = columns().into_iter().filter(filled).map(|key| key.to_string()).collect();
    format!("[{}]", names.join(", "))
}

/// The error of a call that reached a slot without a kernel.
#[cold]
pub(crate) fn missing_kernel(call: &BoxedCall<'_>) -> Error {
    let (table, key) = (call.table(), call.key());
    let operator = call.operator().name();
    let start = if key == DispatchKey::Undefined {
        format!(
            "there were no tensor arguments to this function (e.g., you passed an empty list of tensors), but no \
             fallback function is registered for schema {operator}. This usually means that this function requires a \
             non-empty list of tensors, or that you (the operator writer) forgot to register a fallback function. \
             Available functions are {}",
            list_columns(table)
        )
    } else {
        format!(
            "could not run '{operator}' with arguments from the '{key}' backend: the operator has no kernel for this \
             backend, or the library that brings it was not registered{}. '{operator}' is only available for these \
             backends: {}",
            if is_layer(key) {
                "; the key is a layer: register a fallthrough or another fallback for it, or exclude it on the thread"
            } else {
                ""
            },
            list_columns(table)
        )
    };
    Error::new(ErrorKind::MissingKernel, format!("{start}\n\n{}", dump_table(table)))
}

/// Whether a key stands above the data of tensors, so that calls may step over it.
fn is_layer(key: DispatchKey) -> bool {
    key.kind() == KeyKind::Layer || key.is_included_in(DispatchKey::Autograd)
}

/// The error of a call that reached AutogradOther where no rule chooses.
#[cold]
pub(crate) fn ambiguous_kernel(call: &BoxedCall<'_>) -> Error {
    let operator = call.operator();
    let message = format!(
        "{} has kernels registered to both CompositeImplicitAutograd and a backend mapped to AutogradOther. This makes \
         the backend kernel unreachable; the dispatcher will always prefer the CompositeImplicitAutograd lowering. \
         Request a dedicated Autograd dispatch key for the backend, or run inference only, in inference mode\n\n\
         canonical state\n{}",
        operator.name(),
        operator.dump_state().unwrap_or_default(),
    );
    Error::new(ErrorKind::AmbiguousKernel, message)
}

/// The error of a call that every provider of its cell refused, with no other rule to go on with.
#[cold]
#[inline(never)]
pub(crate) fn no_provider(table: TableRef<'_>, chain: &KernelRecord, keys: DispatchKeySet) -> Error {
    let links = chain.links.iter().flat_map(|links| links.providers.iter());
    let refused: Vec<_> = links.map(|provider| Refusal::of(provider).to_string()).collect();
    let message = format!(
        "{}: no provider accepts these arguments for {}; refused by {}. Register one without a condition, a fallback \
         for the key or a composite",
        table.operator().name(),
        keys.highest_priority_key(),
        refused.join(", ")
    );
    Error::new(ErrorKind::MissingKernel, message)
}
