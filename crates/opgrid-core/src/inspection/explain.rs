//! Why a call runs the kernel that it runs, said before or after the call.
//!
//! Everything here prints the slots of the published tables; nothing decides a second time.

use std::fmt;

use serde_json::{Value as Json, json};

use crate::calling::conditions::{Condition, Settled, holds_of_values, settle};
use crate::calling::kernel_info::KernelInfo;
use crate::calling::observe::{CallKind, Refusal, Step, record_calls};
use crate::calling::operator::OperatorHandle;
use crate::calling::reason::Reason;
use crate::calling::table::TableRef;
use crate::calling::thread::LocalKeys;
use crate::error::{ErrorKind, Result};
use crate::keys::key::DispatchKey;
use crate::keys::parts::Functionality;
use crate::keys::set::DispatchKeySet;
use crate::keys::user_keys::excluded_below;
use crate::signatures::stack::Returns;
use crate::values::borrowed::ValueRef;

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
    /// What the error of the call says, where every provider refuses and no other rule gives a kernel.
    pub error: Option<String>,
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
    /// The explanation of the same call as it was made: with the steps that were recorded, in place of the hops that were predicted.
    pub fn with_steps(mut self, steps: Vec<Step>) -> Self {
        self.hops = steps.into_iter().map(hop_of_step).collect();
        self
    }

    /// The explanation as JSON.
    pub fn to_json(&self) -> Json {
        let names = |keys: DispatchKeySet| keys.iter().map(|key| key.to_string()).collect::<Vec<_>>();
        let argument = |(name, keys): &(String, DispatchKeySet)| json!({"name": name, "keys": names(*keys)});
        let refusal =
            |refusal: &Refusal| json!({"provider": refusal.provider, "condition": refusal.condition});
        let hop = |hop: &Hop| {
            let mut described = json!({
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
            });
            if let Some(error) = &hop.error {
                described["error"] = json!(error);
            }
            described
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
        let beside = |set: DispatchKeySet, default: DispatchKeySet| {
            if set == default { "default".to_owned() } else { Braces(set).to_string() }
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
        for (index, hop) in self.hops.iter().enumerate() {
            let key = format!("{}{}", "  ".repeat(hop.depth as usize), hop.key);
            write!(
                f,
                "{:>2}  {key:keys$}  {:operators$}  {:titles$}  ",
                index + 1,
                hop.operator,
                title(hop)
            )?;
            let site = hop.kernel.as_ref().map_or("", |kernel| kernel.place.as_str());
            writeln!(f, "{}", format!("{:reasons$}  {site}", hop.reason.to_string()).trim_end())?;
            for refusal in &hop.refused {
                writeln!(f, "    refused by {refusal}")?;
            }
            if let Some(error) = &hop.error {
                writeln!(f, "    error: {error}")?;
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

/// What answers the conditions of kernels in a prediction: the keys that the arguments bring, and the arguments, where they
/// are known.
#[derive(Clone, Copy)]
struct Asked<'a> {
    carried: DispatchKeySet,
    args: Option<&'a [ValueRef<'a>]>,
}

fn hop_of(
    table: TableRef<'_>,
    kind: CallKind,
    all: DispatchKeySet,
    keys: DispatchKeySet,
    asked: Asked<'_>,
) -> Result<Hop> {
    let slot = table.slot(keys);
    let (mut refused, mut failure) = (Vec::new(), None);
    let mut now = Settled::first(slot.kernel, slot.reason, keys);
    match (slot.kernel.links.as_deref(), asked.args) {
        _ if now.is_settled() => {}
        (Some(links), None) => {
            let conditional = links.providers.iter().filter(|provider| provider.condition.is_some());
            refused.extend(conditional.map(|provider| Refusal::from_provider(provider)));
        }
        (_, args) => {
            let mut holds = |condition: &Condition| holds_of_values(condition, args.unwrap_or_default());
            let mut refuses = |provider: &_| refused.push(Refusal::from_provider(provider));
            match settle(now, table, asked.carried, &mut holds, &mut refuses) {
                Ok(settled) => now = settled,
                Err(error) if error.kind() == ErrorKind::MissingKernel => {
                    failure = Some(error.message().to_owned());
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
        fallen_through: DispatchKeySet::from_parts(all.layers() & !now.keys.layers(), 0),
        key: now.keys.highest_priority_key(),
        kernel: now.reason.is_registered().then(|| KernelInfo::from_record(now.kernel)),
        reason: now.reason,
        refused,
        error: failure,
    })
}

/// The hops of a call whose layers all call on: each to the keys below its own, down to a backend or a composite.
fn predicted(table: TableRef<'_>, asked: Asked<'_>) -> Result<Vec<Hop>> {
    let all = asked.carried;
    let mut keys = table.mask(all);
    let mut hops = vec![hop_of(table, CallKind::Call, all, keys, asked)?];
    while let Some(hop) = hops.last() {
        keys = hop.keys;
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
        hops.push(hop_of(table, CallKind::Redispatch, keys, keys, asked)?);
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
        error: None,
    }
}

impl OperatorHandle {
    /// The names of the arguments with the keys that each brings into a boxed call.
    fn contributions(&self, args: &[ValueRef<'_>]) -> Result<Vec<(String, DispatchKeySet)>> {
        self.look(|table| {
            let definition = table.definition();
            let named = |(index, value): (usize, &ValueRef<'_>)| {
                let declared = definition.and_then(|definition| definition.schema.arguments.get(index));
                let brings =
                    definition.is_none_or(|definition| definition.dispatch_arguments >> index & 1 != 0);
                let name = declared.map_or_else(|| format!("_{index}"), |argument| argument.name.clone());
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
    pub fn explain(&self, args: &[ValueRef<'_>]) -> Result<Explanation> {
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

    fn explain_call(
        &self,
        arguments: Vec<(String, DispatchKeySet)>,
        args: Option<&[ValueRef<'_>]>,
    ) -> Result<Explanation> {
        let local = LocalKeys::current();
        let all = arguments.iter().fold(DispatchKeySet::EMPTY, |keys, (_, own)| keys | *own);
        let asked = Asked { carried: local.apply(all), args };
        let hops = self.look(|table| predicted(table, asked))??;
        Ok(Explanation { operator: self.title(), arguments, local, hops })
    }

    /// Makes a call and explains it: every hop that it took, those of other operators within it too.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] where the operator is gone; the error of the call itself stands beside the explanation.
    pub fn call_explained(
        &self,
        args: &[ValueRef<'_>],
        returns: &mut Returns,
    ) -> Result<(Result<()>, Explanation)> {
        let (arguments, local) = (self.contributions(args)?, LocalKeys::current());
        let explanation = Explanation { operator: self.title(), arguments, local, hops: Vec::new() };
        let (result, steps) = record_calls(|| self.call_boxed(args, returns));
        Ok((result, explanation.with_steps(steps)))
    }
}
