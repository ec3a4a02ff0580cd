//! Plans the steps in which a block of elements is computed.
//!
//! Nodes that an assembler can express become machine code, the others are computed by the interpreter. Both alternate in stages:
//!
//! ```text
//! stage 0   machine code of what depends on inputs and numbers only, then calls and other nodes that depend on its results
//! stage 1   machine code of what depends on those as well, and so on
//! ```
//!
//! Values that pass from one to another lie in blocks, which are used again once a value is not needed any more.

use opgrid_core::{DType, Result};

use crate::assembler::{Assemble, BlockCode, Body, Place, Source};
use crate::expression::{Access, Expression, Node, Value};

/// What is done with one block of elements.
#[derive(Debug)]
pub(crate) enum Step {
    /// Elements of an input are brought into the value's block.
    Load(Value),
    /// The interpreter computes a node.
    Evaluate(Value),
    /// Machine code computes several nodes.
    Run(Box<dyn BlockCode>, Vec<Place>),
    /// A value's block goes to an output.
    Store(Value, usize),
}

/// The steps, and the blocks for the values between them.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub steps: Vec<Step>,
    /// The number of the block of each value that has one.
    pub slots: Vec<Option<usize>>,
    /// The dtype of each block, and the bits of the number that it holds all the time.
    pub blocks: Vec<(DType, Option<u64>)>,
}

impl Plan {
    /// A plan for the interpreter alone.
    pub(crate) fn interpreted(expression: &Expression) -> Self {
        let drafts = draft(expression, &|_| false);
        assign(expression, &drafts, |_| unreachable!("there are no nodes for machine code"))
            .expect("only assemblers fail")
            .expect("there was nothing to assemble")
    }

    /// A plan with machine code; `None` if the assembler has none.
    ///
    /// # Errors
    ///
    /// Instructions that cannot be encoded, which is an error of the assembler.
    pub(crate) fn assembled(expression: &Expression, assembler: &dyn Assemble) -> Result<Option<Self>> {
        let drafts = draft(expression, &|value| assembler.has_code(expression, value));
        assign(expression, &drafts, |body| assembler.assemble(expression, body))
    }

    /// Bytes of machine code.
    pub(crate) fn code_bytes(&self) -> usize {
        let bytes = |step: &Step| if let Step::Run(code, _) = step { code.bytes() } else { 0 };
        self.steps.iter().map(bytes).sum()
    }
}

/// A step whose blocks are not chosen yet.
enum Draft {
    Load(Value),
    Evaluate(Value),
    /// Machine code for values, and those of them whose blocks others need.
    Code {
        values: Vec<Value>,
        kept: Vec<Value>,
        outputs: Vec<usize>,
    },
    Store(Value, usize),
}

impl Draft {
    /// Calls `f` with the values whose blocks the step reads.
    fn for_each_read(&self, expression: &Expression, mut f: impl FnMut(Value)) {
        match self {
            Self::Load(_) => {}
            Self::Evaluate(value) => expression.node(*value).operands().for_each(f),
            Self::Store(value, _) => f(*value),
            Self::Code { values, .. } => {
                let operands = values.iter().flat_map(|value| expression.node(*value).operands());
                operands.filter(|value| !expression.node(*value).is_leaf()).for_each(f);
            }
        }
    }

    /// The values whose blocks the step writes.
    fn written(&self) -> &[Value] {
        match self {
            Self::Load(value) | Self::Evaluate(value) => std::slice::from_ref(value),
            Self::Code { kept, .. } => kept,
            Self::Store(..) => &[],
        }
    }
}

/// What is known of a value before steps are drafted.
#[derive(Clone, Copy, Default)]
struct Use {
    /// Whether an output depends on it.
    is_alive: bool,
    /// Whether machine code reads or computes it.
    is_coded: bool,
    /// In which stage it is computed.
    stage: usize,
    /// Whether the interpreter reads it.
    is_evaluated: bool,
    /// The last stage whose machine code reads it.
    last_stage: usize,
}

fn uses(expression: &Expression, has_code: &dyn Fn(Value) -> bool) -> Vec<Use> {
    let mut uses = vec![Use::default(); expression.nodes.len()];
    for output in &expression.outputs {
        uses[output.index()].is_alive = true;
    }
    for value in expression.values().rev().filter(|value| has_code(*value)) {
        uses[value.index()].is_coded = true;
    }
    for value in expression.values().rev() {
        if uses[value.index()].is_alive {
            expression.node(value).operands().for_each(|operand| uses[operand.index()].is_alive = true);
        }
    }
    for value in expression.values().filter(|value| !expression.node(*value).is_leaf()) {
        let is_coded = uses[value.index()].is_coded;
        let stage = |operand: Value| {
            let used = uses[operand.index()];
            let waits = is_coded && !used.is_coded && !expression.node(operand).is_leaf();
            used.stage + usize::from(waits)
        };
        let stage = expression.node(value).operands().map(stage).max().unwrap_or(0);
        uses[value.index()].stage = stage;
        if uses[value.index()].is_alive {
            for operand in expression.node(value).operands() {
                let used = &mut uses[operand.index()];
                used.is_evaluated |= !is_coded;
                used.last_stage = used.last_stage.max(if is_coded { stage } else { 0 });
            }
        }
    }
    uses
}

/// The order of steps. `has_code` says which values machine code can read or compute.
fn draft(expression: &Expression, has_code: &dyn Fn(Value) -> bool) -> Vec<Draft> {
    let uses = uses(expression, has_code);
    let of = |value: Value| uses[value.index()];
    let is_leaf = |value: Value| expression.node(value).is_leaf();
    let alive: Vec<Value> = expression.values().filter(|value| of(*value).is_alive).collect();
    let stored = |by_code: bool| {
        let outputs = expression.outputs.iter().copied().enumerate();
        outputs.filter(move |(_, value)| of(*value).is_coded == by_code)
    };
    let mut drafts: Vec<Draft> = Vec::new();
    let is_stored = |value: Value| !of(value).is_coded && expression.outputs.contains(&value);
    let loaded = alive.iter().copied().filter(|value| is_leaf(*value));
    drafts.extend(loaded.filter(|value| of(*value).is_evaluated || is_stored(*value)).map(Draft::Load));
    let computed = || alive.iter().copied().filter(|value| !is_leaf(*value));
    for stage in 0..=alive.iter().map(|value| of(*value).stage).max().unwrap_or(0) {
        let at_stage = |by_code: bool| {
            computed().filter(move |value| of(*value).stage == stage && of(*value).is_coded == by_code)
        };
        let values: Vec<Value> = at_stage(true).collect();
        let outputs: Vec<usize> =
            stored(true).filter(|(_, value)| of(*value).stage == stage).map(|(k, _)| k).collect();
        let is_kept = |value: &Value| of(*value).is_evaluated || of(*value).last_stage > stage;
        if !values.is_empty() || !outputs.is_empty() {
            let kept = values.iter().copied().filter(is_kept).collect();
            drafts.push(Draft::Code { values, kept, outputs });
        }
        drafts.extend(at_stage(false).map(Draft::Evaluate));
    }
    drafts.extend(stored(false).map(|(k, value)| Draft::Store(value, k)));
    drafts
}

/// Chooses blocks and assembles code; `None` if the assembler has none.
fn assign(
    expression: &Expression,
    drafts: &[Draft],
    assemble: impl Fn(&Body) -> Result<Option<Box<dyn BlockCode>>>,
) -> Result<Option<Plan>> {
    let mut plan = Plan { slots: vec![None; expression.nodes.len()], ..Plan::default() };
    let mut last_read = vec![0; expression.nodes.len()];
    for (at, draft) in drafts.iter().enumerate() {
        draft.for_each_read(expression, |value| last_read[value.index()] = at);
    }
    let mut free: Vec<usize> = Vec::new();
    for (at, draft) in drafts.iter().enumerate() {
        for &value in draft.written() {
            let dtype = expression.dtype(value);
            // A number's block keeps it from one block of elements to the next.
            let number = match expression.node(value) {
                Node::Constant(bits) => Some(*bits),
                _ => None,
            };
            let reused = free.iter().position(|slot| number.is_none() && plan.blocks[*slot].0 == dtype);
            let slot = reused.map(|place| free.swap_remove(place)).unwrap_or_else(|| {
                plan.blocks.push((dtype, number));
                plan.blocks.len() - 1
            });
            plan.slots[value.index()] = Some(slot);
        }
        match draft {
            Draft::Load(value) if matches!(expression.node(*value), Node::Constant(_)) => {}
            Draft::Load(value) => plan.steps.push(Step::Load(*value)),
            Draft::Evaluate(value) => plan.steps.push(Step::Evaluate(*value)),
            Draft::Store(value, output) => plan.steps.push(Step::Store(*value, *output)),
            Draft::Code { values, kept, outputs } => {
                let (body, places) = plan.body(expression, values, kept, outputs);
                let Some(code) = assemble(&body)? else { return Ok(None) };
                plan.steps.push(Step::Run(code, places));
            }
        }
        draft.for_each_read(expression, |value| {
            if last_read[value.index()] == at
                && let Some(slot) = plan.slots[value.index()]
                && plan.blocks[slot].1.is_none()
                && !free.contains(&slot)
            {
                free.push(slot);
            }
        });
    }
    Ok(Some(plan))
}

impl Plan {
    /// The number of a value's block.
    pub(crate) fn slot(&self, value: Value) -> usize {
        self.slots[value.index()].expect("a step that writes the value comes first")
    }

    /// What an assembler makes code of, and where that code finds and puts elements.
    fn body(
        &self,
        expression: &Expression,
        values: &[Value],
        kept: &[Value],
        outputs: &[usize],
    ) -> (Body, Vec<Place>) {
        let mut is_computed = vec![false; expression.nodes.len()];
        values.iter().for_each(|value| is_computed[value.index()] = true);
        let mut places: Vec<Place> = Vec::new();
        let mut sources: Vec<Option<Source>> = vec![None; expression.nodes.len()];
        let stored = outputs.iter().map(|k| expression.outputs[*k]);
        let read = values.iter().flat_map(|value| expression.node(*value).operands()).chain(stored);
        for leaf in read {
            if is_computed[leaf.index()] || sources[leaf.index()].is_some() {
                continue;
            }
            let (place, access) = match expression.node(leaf) {
                Node::Constant(bits) => {
                    sources[leaf.index()] = Some(Source::Number(*bits));
                    continue;
                }
                Node::Load(k) => (Place::Input(*k), expression.inputs[*k].access),
                _ => (Place::Block(self.slot(leaf)), Access::Elements),
            };
            sources[leaf.index()] = Some(Source::Memory { place: places.len(), access });
            places.push(place);
        }
        let mut stores: Vec<(Value, usize)> = Vec::new();
        let mut store = |value: Value, place: Place| {
            stores.push((value, places.len()));
            places.push(place);
        };
        kept.iter().for_each(|value| store(*value, Place::Block(self.slot(*value))));
        outputs.iter().for_each(|k| store(expression.outputs[*k], Place::Output(*k)));
        (Body { values: values.to_vec(), sources, stores }, places)
    }
}
