//! Where the values of a program lie: those share memory that do not live at the same time.
//!
//! What is planned are the results of the program's own nodes that are larger than what the cache of memory serves at once, and that
//! leave neither the program nor share memory with what does. Their sizes follow from the graph and the sizes of the inputs. A plan
//! promises nothing: [`Arena`] gives a place only if it is free, and a kernel that asks for other sizes gets its memory elsewhere.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;

use opgrid_array::{Arena, SMALLEST_IN_ARENA};
use opgrid_core::{Dispatcher, Result};

use super::effects::effects;
use super::plan::{Action, Operand, Place, Plan, each_slot};
use crate::graph::Block;
use crate::graph::types::{Size, TensorType, ValueType};
use crate::sets::Sets;

/// The alignment of places in bytes.
const ALIGNMENT: usize = opgrid_array::storage::ALIGNMENT;

/// The values that are planned, and the arenas that no run uses now.
#[derive(Debug)]
pub(super) struct MemoryPlan {
    values: Vec<PlannedValue>,
    /// For each step the values that it makes.
    by_step: Vec<Vec<usize>>,
    idle: Mutex<Vec<PreparedArena>>,
}

/// A value that gets a place.
#[derive(Debug)]
struct PlannedValue {
    kind: TensorType,
    /// The steps from the one that makes it to the last one that needs it.
    life: Range<usize>,
}

/// An arena for inputs of certain sizes.
#[derive(Debug)]
pub(super) struct PreparedArena {
    symbols: BTreeMap<String, i64>,
    /// `None` where nothing is large enough.
    arena: Option<Arena>,
    /// For each value its place; values without one are too small, or of unknown size.
    places: Vec<Option<usize>>,
    offers: Vec<Vec<usize>>,
}

impl MemoryPlan {
    /// Finds the values that can get a place.
    pub(super) fn new(block: &Block, plan: &Plan, dispatcher: &Dispatcher) -> Self {
        let mut groups = Sets::new(plan.slots);
        let mut makers: Vec<(usize, usize)> = Vec::new();
        let mut last = vec![0; plan.slots];
        for (index, (node, step)) in block.nodes.iter().zip(&plan.steps).enumerate() {
            let mut args = Vec::new();
            step.operands.iter().for_each(|operand| each_slot(operand, &mut |slot| args.push(slot)));
            let results: Vec<usize> = step.results.iter().flat_map(Place::slots).copied().collect();
            for slot in args.iter().chain(&results) {
                last[*slot] = index;
            }
            // A result in the place of an argument takes no memory of its own.
            let reused = match &step.action {
                Action::Call { reuse: Some(_), .. } => step.operands.first(),
                _ => None,
            };
            if effects(dispatcher, node).map_or(true, |effects| effects.may_alias) {
                args.iter().for_each(|arg| results.iter().for_each(|result| groups.join(*arg, *result)));
            } else if let (Some(Operand::Slot(arg)), [result]) = (reused, results.as_slice()) {
                groups.join(*arg, *result);
            } else {
                makers.extend(results.iter().map(|slot| (index, *slot)));
            }
        }
        let mut leaves = vec![false; plan.slots];
        let mut ends = vec![0; plan.slots];
        for (slot, last) in last.into_iter().enumerate() {
            let root = groups.root(slot);
            ends[root] = ends[root].max(last);
            leaves[root] |= slot < plan.parameters;
        }
        for result in &plan.results {
            each_slot(result, &mut |slot| leaves[groups.root(slot)] = true);
        }
        let kinds = kinds(block, plan);
        let mut memory =
            Self { values: Vec::new(), by_step: vec![Vec::new(); plan.steps.len()], idle: Mutex::default() };
        for (step, slot) in makers {
            let root = groups.root(slot);
            if let (false, Some(kind)) = (leaves[root], kinds[slot]) {
                memory.by_step[step].push(memory.values.len());
                memory.values.push(PlannedValue { kind: kind.clone(), life: step..ends[root] + 1 });
            }
        }
        memory
    }

    /// Whether there is nothing to plan.
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// An arena for inputs with these sizes: one that no other run uses, or a new one.
    ///
    /// # Errors
    ///
    /// There is no memory for it.
    pub(super) fn take(&self, symbols: &BTreeMap<String, i64>) -> Result<PreparedArena> {
        // Who cannot have the list, as after a fork from another thread, makes an arena.
        let idle = self.idle.try_lock().ok().and_then(|mut idle| {
            let place = idle.iter().position(|ready| ready.symbols == *symbols);
            // One for other sizes is given up, so that they do not add up.
            place.map(|place| idle.swap_remove(place)).or_else(|| {
                idle.pop();
                None
            })
        });
        idle.map_or_else(|| self.prepare(symbols), Ok)
    }

    /// Keeps an arena for the next run.
    pub(super) fn keep(&self, ready: PreparedArena) {
        if let Ok(mut idle) = self.idle.try_lock() {
            idle.push(ready);
        }
    }

    fn prepare(&self, symbols: &BTreeMap<String, i64>) -> Result<PreparedArena> {
        let sizes: Vec<usize> = self.values.iter().map(|value| bytes(&value.kind, symbols)).collect();
        let (mut places, mut ranges) = (vec![None; sizes.len()], Vec::new());
        for (value, range) in placed(&self.values, &sizes) {
            places[value] = Some(ranges.len());
            ranges.push(range);
        }
        let offers =
            self.by_step.iter().map(|values| values.iter().filter_map(|value| places[*value]).collect());
        let offers = offers.collect();
        let arena = if ranges.is_empty() { None } else { Some(Arena::new(ranges)?) };
        Ok(PreparedArena { symbols: symbols.clone(), arena, places, offers })
    }
}

impl PreparedArena {
    /// The arena, and the places for the results of a step, where there are any.
    pub(super) fn offers(&self, step: usize) -> Option<(&Arena, &[usize])> {
        let places = self.offers.get(step).filter(|places| !places.is_empty())?;
        Some((self.arena.as_ref()?, places))
    }

    /// The bytes of the arena, and how many values lie in it.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.arena.as_ref().map_or(0, Arena::bytes), self.places.iter().flatten().count())
    }
}

/// The types of the slots, as far as they are tensors.
fn kinds<'b>(block: &'b Block, plan: &Plan) -> Vec<Option<&'b TensorType>> {
    let mut kinds = vec![None; plan.slots];
    for (node, step) in block.nodes.iter().zip(&plan.steps) {
        let slots = step.results.iter().flat_map(Place::slots);
        for (slot, variable) in slots.zip(node.variables()) {
            if let ValueType::Tensor(kind) = &variable.kind {
                kinds[*slot] = Some(kind);
            }
        }
    }
    kinds
}

/// The bytes of a contiguous tensor; 0 where the size is not known.
fn bytes(kind: &TensorType, symbols: &BTreeMap<String, i64>) -> usize {
    let size = |size: &Size| usize::try_from(size.evaluate(symbols)?).ok();
    let factors = kind.sizes.iter().map(size);
    let mut factors = factors.chain([Some(kind.dtype.size_in_bytes())]);
    factors.try_fold(1_usize, |product, factor| product.checked_mul(factor?)).unwrap_or(0)
}

/// Places for the values that are large enough, the largest first: each in the smallest gap that it fits into between those which
/// live at the same time.
fn placed(values: &[PlannedValue], sizes: &[usize]) -> Vec<(usize, Range<usize>)> {
    let mut order: Vec<usize> = (0..values.len()).filter(|value| sizes[*value] > SMALLEST_IN_ARENA).collect();
    order.sort_by_key(|value| std::cmp::Reverse(sizes[*value]));
    let mut done: Vec<(usize, Range<usize>)> = Vec::new();
    for value in order {
        let life = &values[value].life;
        let lives_along = |other: &usize| {
            let other = &values[*other].life;
            other.start < life.end && life.start < other.end
        };
        let mut taken: Vec<Range<usize>> =
            done.iter().filter(|(other, _)| lives_along(other)).map(|(_, range)| range.clone()).collect();
        taken.sort_by_key(|range| range.start);
        let (mut best, mut from) = (None::<Range<usize>>, 0);
        for range in taken {
            let fits = range.start >= from && range.start - from >= sizes[value];
            if fits && best.as_ref().is_none_or(|gap| range.start - from < gap.len()) {
                best = Some(from..range.start);
            }
            from = from.max(range.end.next_multiple_of(ALIGNMENT));
        }
        let start = best.map_or(from, |gap| gap.start);
        done.push((value, start..start + sizes[value]));
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use opgrid_core::DType;

    fn value(life: Range<usize>) -> PlannedValue {
        PlannedValue { kind: TensorType { dtype: DType::U8, sizes: Vec::new() }, life }
    }

    #[test]
    fn values_that_live_at_the_same_time_share_no_byte() {
        // A seeded sequence is enough: what matters are many different lives and sizes.
        let mut state = 7_usize;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let values: Vec<PlannedValue> = (0..30)
                .map(|_| {
                    let start = next(40);
                    value(start..start + 1 + next(10))
                })
                .collect();
            let sizes: Vec<usize> = values.iter().map(|_| next(8) * SMALLEST_IN_ARENA + next(100)).collect();
            let placed = placed(&values, &sizes);
            assert_eq!(placed.len(), sizes.iter().filter(|size| **size > SMALLEST_IN_ARENA).count());
            for (one, first) in &placed {
                assert_eq!(first.len(), sizes[*one]);
                assert!(first.start.is_multiple_of(ALIGNMENT));
                for (two, second) in &placed {
                    let (a, b) = (&values[*one].life, &values[*two].life);
                    let meet = a.start < b.end && b.start < a.end;
                    assert!(one == two || !meet || first.end <= second.start || second.end <= first.start);
                }
            }
            let end = placed.iter().map(|(_, range)| range.end).max().unwrap_or(0);
            let most = (0..50).map(|step| {
                let live = placed.iter().filter(|(value, _)| values[*value].life.contains(&step));
                live.map(|(_, range)| range.len()).sum::<usize>()
            });
            assert!(end >= most.clone().max().unwrap() && end <= 2 * most.max().unwrap());
        }
    }

    #[test]
    fn a_value_lies_where_one_was_that_is_dead() {
        let values = [value(0..2), value(1..3), value(2..4)];
        let sizes = [100 * 1024; 3];
        let mut placed = placed(&values, &sizes);
        placed.sort_by_key(|(value, _)| *value);
        assert_eq!(placed[0].1, placed[2].1);
        assert_eq!(placed[1].1.start, 100 * 1024);
    }
}
