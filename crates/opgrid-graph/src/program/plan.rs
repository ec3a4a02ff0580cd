//! A program ready to run: steps over numbered slots, each with what it calls, what it is given, and what nobody needs behind it.

use opgrid_core::schema::Type;
use opgrid_core::{Binder, DType, OperatorHandle, Value};

use super::fused::Fused;
use super::numbers::Function;
use super::reuse::Reuse;
use super::scan::Scan;

/// The plan of one block.
#[derive(Debug)]
pub(crate) struct Plan {
    /// How many values there are.
    pub(super) slots: usize,
    /// How many of them, from the first, are given.
    pub(super) parameters: usize,
    pub(super) steps: Vec<Step>,
    pub(super) results: Vec<Operand>,
}

/// One node.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) action: Action,
    pub(super) operands: Vec<Operand>,
    pub(super) results: Vec<Place>,
    /// The slots that nobody reads afterwards.
    pub(super) frees: Vec<usize>,
    /// What it is called in errors.
    pub(super) subject: String,
}

/// What a step does.
#[derive(Debug)]
pub(super) enum Action {
    Call {
        operator: OperatorHandle,
        binder: Binder,
        /// How the result can take the memory of an argument that nobody needs afterwards.
        reuse: Option<Box<Reuse>>,
    },
    Number(Function),
    Cond {
        truth: OperatorHandle,
        branches: Box<[Plan; 2]>,
    },
    Loop {
        truth: OperatorHandle,
        blocks: Box<[Plan; 2]>,
        carried: usize,
    },
    Scan(Box<Scan>),
    SetGradEnabled {
        on: bool,
        block: Box<Plan>,
    },
    /// Pointwise nodes, in one loop where that is possible.
    Fused(Box<Fused>),
    /// Autocast is switched, or left as it is where `on` says nothing.
    Autocast {
        on: Option<bool>,
        lower: DType,
        block: Box<Plan>,
    },
}

/// What a step is given.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    Constant(Value),
    Slot(usize),
    /// A list with values that are known only while the program runs.
    List(Type, Vec<Operand>),
}

/// Where a result goes.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Nowhere,
    Slot(usize),
    /// The elements of a list, each to its slot.
    Slots(Vec<usize>),
}

impl Place {
    /// The places of single values.
    pub(super) fn flat(self) -> Vec<Self> {
        match self {
            Self::Slots(slots) => slots.into_iter().map(Self::Slot).collect(),
            place => vec![place],
        }
    }

    pub(super) fn slots(&self) -> &[usize] {
        match self {
            Self::Nowhere => &[],
            Self::Slot(slot) => std::slice::from_ref(slot),
            Self::Slots(slots) => slots,
        }
    }
}

/// Shows every slot that an operand reads to `look`. Lists are nested no deeper than the compiler lets them be.
pub(super) fn each_slot(operand: &Operand, look: &mut impl FnMut(usize)) {
    match operand {
        Operand::Constant(_) => {}
        Operand::Slot(slot) => look(*slot),
        Operand::List(_, items) => items.iter().for_each(|item| each_slot(item, look)),
    }
}

/// Finds for each slot the last step that needs it, which frees it. What the block gives back is kept.
pub(super) fn last_uses(plan: &mut Plan) {
    let mut is_needed = vec![false; plan.slots];
    for result in &plan.results {
        each_slot(result, &mut |slot| is_needed[slot] = true);
    }
    for step in plan.steps.iter_mut().rev() {
        let mut frees = Vec::new();
        let mut look = |slot: usize| {
            if !std::mem::replace(&mut is_needed[slot], true) {
                frees.push(slot);
            }
        };
        step.results.iter().flat_map(Place::slots).for_each(|slot| look(*slot));
        step.operands.iter().for_each(|operand| each_slot(operand, &mut look));
        step.frees = frees;
    }
}
