//! Runs the steps of a program over blocks of elements.
#![allow(unsafe_code)]

use std::ops::Range;

use opgrid_array::loops::parallel_for;

use crate::assembler::{BlockCode, LANES, Place};
use crate::element::{BLOCK, Block, with_lane};
use crate::expression::{Access, Expression, Node, Value};
use crate::interpret;
use crate::layout::{Layout, Loops};
use crate::operand::{Operand, Written};
use crate::plan::{Plan, Step};

const _: () = assert!(BLOCK.is_multiple_of(LANES), "code computes whole blocks");

/// Elements from which on a loop is split between threads, and how many one takes at a time.
const PARALLEL: usize = 1 << 16;
const GRAIN: usize = 1 << 15;

/// Computes all elements of a loop, which has some. `outputs` are the arrays that are written and their layouts.
pub(crate) fn run(
    expression: &Expression,
    plan: &Plan,
    loops: &Loops,
    (targets, layouts): (&[Box<dyn Written + '_>], &[Layout]),
    inputs: &[Operand<'_>],
) {
    let written =
        targets.iter().zip(layouts).map(|(target, layout)| Operand::write(&**target, layout, loops));
    let written: Vec<Operand<'_>> = written.collect();
    let arrays = Arrays { outputs: &written, inputs };
    if loops.numel < PARALLEL {
        Worker::new(expression, plan).range(arrays, 0..loops.numel);
    } else {
        parallel_for(loops.numel, GRAIN, &|range| Worker::new(expression, plan).range(arrays, range));
    }
    for target in targets {
        // SAFETY: the ranges above were all elements of the loop, and a plan stores to every output.
        unsafe { target.complete() };
    }
}

/// The arrays of a running loop, in the order of the expression's inputs and outputs.
#[derive(Clone, Copy)]
struct Arrays<'a> {
    outputs: &'a [Operand<'a>],
    inputs: &'a [Operand<'a>],
}

/// One thread's blocks.
struct Worker<'p> {
    expression: &'p Expression,
    plan: &'p Plan,
    /// The blocks of values between steps.
    blocks: Vec<Block>,
    /// Blocks for arrays that code cannot take where they lie, of inputs and of outputs.
    staged: [Vec<Option<Block>>; 2],
    addresses: Vec<*mut u8>,
}

impl<'p> Worker<'p> {
    fn new(expression: &'p Expression, plan: &'p Plan) -> Self {
        let block = |&(dtype, number): &(_, Option<u64>)| {
            let mut block = Block::new(dtype);
            if let Some(bits) = number {
                block.fill(dtype, bits);
            }
            block
        };
        let none = |count: usize| (0..count).map(|_| None).collect();
        Self {
            expression,
            plan,
            blocks: plan.blocks.iter().map(block).collect(),
            staged: [none(expression.inputs.len()), none(expression.outputs.len())],
            addresses: Vec::new(),
        }
    }

    /// Computes the elements of a range, which no other worker computes: `run` hands out each element once.
    fn range(mut self, arrays: Arrays<'_>, range: Range<usize>) {
        for first in range.clone().step_by(BLOCK) {
            self.block(arrays, first, BLOCK.min(range.end - first));
        }
    }

    fn block(&mut self, arrays: Arrays<'_>, first: usize, n: usize) {
        let (expression, plan) = (self.expression, self.plan);
        for step in &plan.steps {
            match step {
                Step::Load(value) => {
                    let Node::Load(input) = expression.node(*value) else {
                        unreachable!("inputs are loaded")
                    };
                    let block = &mut self.blocks[plan.slot(*value)];
                    with_lane!(expression.dtype(*value), T => arrays.inputs[*input].fetch::<T>(block, first, n));
                }
                Step::Evaluate(value) => self.evaluate(*value, n),
                Step::Run(code, places) => self.run(code.as_ref(), places, arrays, first, n),
                Step::Store(value, output) => {
                    let block = &self.blocks[plan.slot(*value)];
                    // SAFETY: no other worker computes these elements, as `range` says.
                    with_lane!(expression.dtype(*value), T => unsafe {
                        arrays.outputs[*output].store::<T>(block, first, n);
                    });
                }
            }
        }
    }

    fn evaluate(&mut self, value: Value, n: usize) {
        let slot = self.plan.slot(value);
        // No operand has this block: it is freed only after the step that reads it last.
        let mut out = std::mem::replace(&mut self.blocks[slot], Block::EMPTY);
        let block_of = |operand: Value| &self.blocks[self.plan.slot(operand)];
        interpret::evaluate(self.expression, value, &mut out, block_of, n);
        self.blocks[slot] = out;
    }

    /// Runs code for `n` elements: where arrays lie if code can take them there, else in blocks. Code computes a multiple of
    /// [`LANES`], so that the last elements of a loop are computed in blocks, too, which have room for more.
    fn run(&mut self, code: &dyn BlockCode, places: &[Place], arrays: Arrays<'_>, first: usize, n: usize) {
        let is_whole = n.is_multiple_of(LANES);
        self.addresses.clear();
        for place in places {
            let address = match *place {
                Place::Block(slot) => self.blocks[slot].start(),
                Place::Input(k) => {
                    let input = &arrays.inputs[k];
                    let dtype = self.expression.inputs[k].dtype;
                    input.code_address(self.expression.inputs[k].access, first, n, is_whole).unwrap_or_else(
                        || {
                            let block = self.staged[0][k].get_or_insert_with(|| Block::new(dtype));
                            with_lane!(dtype, T => input.fetch::<T>(block, first, n));
                            block.start()
                        },
                    )
                }
                Place::Output(k) => {
                    let dtype = self.expression.dtype(self.expression.outputs[k]);
                    arrays.outputs[k]
                        .code_address(Access::Elements, first, n, is_whole)
                        .unwrap_or_else(|| self.staged[1][k].get_or_insert_with(|| Block::new(dtype)).start())
                }
            };
            self.addresses.push(address);
        }
        // SAFETY:
        // - there is an address for each place. Blocks have room for `BLOCK` elements, a multiple of `LANES`, and are initialised;
        //   `code_address` has checked that arrays have `n` elements there, or one, and then `n` is a multiple of `LANES` already.
        // - outputs lie apart from inputs and each other, as the invariant of `Operand` says, and blocks are apart from arrays and
        //   each other. No other worker writes these elements, as the caller of `range` guarantees.
        unsafe { code.run(&self.addresses, n.next_multiple_of(LANES)) };
        for place in places {
            if let Place::Output(k) = *place
                && let Some(block) = &self.staged[1][k]
                && arrays.outputs[k].code_address(Access::Elements, first, n, is_whole).is_none()
            {
                let dtype = self.expression.dtype(self.expression.outputs[k]);
                // SAFETY: no other worker computes these elements, as `range` says.
                with_lane!(dtype, T => unsafe { arrays.outputs[k].store::<T>(block, first, n) });
            }
        }
    }
}
