//! Generates the code of a loop: which values are in registers when, and the loop around their computation.
//!
//! ```text
//!        fetch numbers that stay in registers
//! main:  compute `copies` vectors of each value     while as many elements are left
//! rest:  compute one vector of each value           while elements are left
//! ```
//!
//! | register | holds |
//! |---|---|
//! | `rdi` | the addresses |
//! | `rsi` | memory for spilled values |
//! | `rdx` | the number of elements |
//! | `rcx` | the number of the element that is computed |
//! | `r8`, `r9`, `r10` | the first three addresses; others are read into `rax` |
//! | `r11` | the last element at which `copies` vectors are left |

use std::collections::HashMap;

use iced_x86::IcedError;
use iced_x86::code_asm::*;
use opgrid_core::DType;

use super::Vectors;
use super::registers::{Move, PARTS, Registers, Share};
use crate::assembler::{Body, Source};
use crate::expression::{Access, Expression, Value};

/// Vectors of a value that are computed together, at most.
const COPIES: usize = 4;

/// Registers that one instruction sequence needs for itself.
const TEMPORARIES: usize = 5;

pub(super) const XMM: [AsmRegisterXmm; 32] = [
    xmm0, xmm1, xmm2, xmm3, xmm4, xmm5, xmm6, xmm7, xmm8, xmm9, xmm10, xmm11, xmm12, xmm13, xmm14, xmm15,
    xmm16, xmm17, xmm18, xmm19, xmm20, xmm21, xmm22, xmm23, xmm24, xmm25, xmm26, xmm27, xmm28, xmm29, xmm30,
    xmm31,
];
pub(super) const YMM: [AsmRegisterYmm; 32] = [
    ymm0, ymm1, ymm2, ymm3, ymm4, ymm5, ymm6, ymm7, ymm8, ymm9, ymm10, ymm11, ymm12, ymm13, ymm14, ymm15,
    ymm16, ymm17, ymm18, ymm19, ymm20, ymm21, ymm22, ymm23, ymm24, ymm25, ymm26, ymm27, ymm28, ymm29, ymm30,
    ymm31,
];
pub(super) const ZMM: [AsmRegisterZmm; 32] = [
    zmm0, zmm1, zmm2, zmm3, zmm4, zmm5, zmm6, zmm7, zmm8, zmm9, zmm10, zmm11, zmm12, zmm13, zmm14, zmm15,
    zmm16, zmm17, zmm18, zmm19, zmm20, zmm21, zmm22, zmm23, zmm24, zmm25, zmm26, zmm27, zmm28, zmm29, zmm30,
    zmm31,
];

/// An instruction with registers of the vectors' size.
macro_rules! vector {
    ($self:ident.$op:ident($($register:expr),+ $(; $last:expr)?)) => {
        match $self.vectors {
            Vectors::Avx2 => $self.asm.$op($(YMM[$register]),+ $(, $last)?)?,
            Vectors::Avx512 => $self.asm.$op($(ZMM[$register]),+ $(, $last)?)?,
        }
    };
}
pub(super) use vector;

/// Why there is no code.
pub(super) enum Failure {
    /// An instruction cannot be encoded.
    Encoding(IcedError),
    /// More values are needed at a time than there is memory for.
    TooManyValues,
}

impl From<IcedError> for Failure {
    fn from(error: IcedError) -> Self {
        Self::Encoding(error)
    }
}

pub(super) type Result<T = ()> = std::result::Result<T, Failure>;

/// The code of a loop.
///
/// Invariant: it has the convention of `executable::Entry`, reads and writes as [`crate::assembler::BlockCode::run`] says, and uses
/// no more than `places` addresses.
pub(super) struct Generated {
    code: Vec<u8>,
    places: usize,
}

impl Generated {
    pub(super) fn code(&self) -> &[u8] {
        &self.code
    }

    pub(super) fn places(&self) -> usize {
        self.places
    }
}

/// The code for a body; `None` if that needs more values at a time than there is memory for.
///
/// # Errors
///
/// An instruction cannot be encoded.
pub(super) fn generate(
    vectors: Vectors,
    expression: &Expression,
    body: &Body,
) -> std::result::Result<Option<Generated>, IcedError> {
    let run = || -> Result<Generated> { Emitter::new(vectors, expression, body)?.generate() };
    match run() {
        Ok(generated) => Ok(Some(generated)),
        Err(Failure::TooManyValues) => Ok(None),
        Err(Failure::Encoding(error)) => Err(error),
    }
}

/// A number in memory behind the code.
struct Number {
    label: CodeLabel,
    bits: u64,
    is_wide: bool,
}

/// What emits the instructions of one loop.
pub(super) struct Emitter<'e> {
    pub(super) asm: CodeAssembler,
    pub(super) vectors: Vectors,
    expression: &'e Expression,
    body: &'e Body,
    registers: Registers,
    /// Values behind those of the expression, for numbers that instruction sequences need.
    numbers: HashMap<(u64, bool), Value>,
    /// Numbers behind the code, and which one each value is.
    pool: Vec<Number>,
    number_of: Vec<Option<usize>>,
    copies: usize,
    places: usize,
}

/// Numbers for instruction sequences: signs, ones and the like, narrow and wide.
const OWN_NUMBERS: usize = 16;

impl<'e> Emitter<'e> {
    fn new(vectors: Vectors, expression: &'e Expression, body: &'e Body) -> Result<Self> {
        let count = expression.nodes.len();
        let mut uses: Vec<Vec<u32>> = vec![Vec::new(); count + OWN_NUMBERS];
        for (step, value) in body.values.iter().enumerate() {
            expression.node(*value).operands().for_each(|operand| uses[operand.index()].push(step as u32));
            // It is stored in the step that computes it.
            uses[value.index()].push(step as u32);
        }
        for (value, _) in &body.stores {
            if body.sources[value.index()].is_some() {
                // A leaf that is an output is stored after all values.
                uses[value.index()].push(body.values.len() as u32);
            }
        }
        let is_fetched =
            (0..count + OWN_NUMBERS).map(|at| at >= count || body.sources[at].is_some()).collect();
        let of_source = |source: &Option<Source>| match source {
            Some(Source::Memory { place, .. }) => place + 1,
            _ => 0,
        };
        let read = body.sources.iter().map(of_source).max().unwrap_or(0);
        let places = body.stores.iter().map(|(_, place)| place + 1).max().unwrap_or(0).max(read);
        Ok(Self {
            asm: CodeAssembler::new(64)?,
            vectors,
            expression,
            body,
            registers: Registers::new(vectors.registers(), uses, is_fetched),
            numbers: HashMap::new(),
            pool: Vec::new(),
            number_of: vec![None; count + OWN_NUMBERS],
            copies: 1,
            places,
        })
    }

    fn generate(mut self) -> Result<Generated> {
        for (place, register) in [r8, r9, r10].into_iter().enumerate().take(self.places) {
            self.asm.mov(register, qword_ptr(rdi + place * 8))?;
        }
        self.asm.xor(ecx, ecx)?;
        let copies = self.hoist()?;
        let step = (copies * self.vectors.lanes()) as i32;
        let mut rest = self.asm.create_label();
        if copies > 1 {
            self.asm.mov(r11, rdx)?;
            self.asm.sub(r11, step)?;
            self.asm.jl(rest)?;
            let mut main = self.asm.create_label();
            self.asm.set_label(&mut main)?;
            self.compute(copies)?;
            self.asm.add(rcx, step)?;
            self.asm.cmp(rcx, r11)?;
            self.asm.jle(main)?;
        }
        self.asm.set_label(&mut rest)?;
        let mut end = self.asm.create_label();
        self.asm.cmp(rcx, rdx)?;
        self.asm.jae(end)?;
        let mut one = self.asm.create_label();
        self.asm.set_label(&mut one)?;
        self.compute(1)?;
        self.asm.add(rcx, self.vectors.lanes() as i32)?;
        self.asm.cmp(rcx, rdx)?;
        self.asm.jb(one)?;
        self.asm.set_label(&mut end)?;
        self.asm.vzeroupper()?;
        self.asm.ret()?;
        for number in &mut self.pool {
            self.asm.set_label(&mut number.label)?;
            let bytes = number.bits.to_le_bytes();
            self.asm.db(if number.is_wide { &bytes } else { &bytes[..4] })?;
        }
        Ok(Generated { code: self.asm.assemble(0)?, places: self.places })
    }

    /// Fetches what is the same for all elements before the loop, as far as there are registers, and tells how many copies of values
    /// fit into the others.
    fn hoist(&mut self) -> Result<usize> {
        let (peak, uniform) = self.pressure();
        let free = |copies: usize| (self.vectors.registers()).checked_sub(copies * peak + TEMPORARIES);
        let copies = [COPIES, COPIES / 2]
            .into_iter()
            .find(|copies| free(*copies).is_some_and(|left| left >= uniform.len().min(8)));
        let copies = copies.unwrap_or(1);
        let room = free(copies).unwrap_or(0);
        for value in uniform.into_iter().take(room) {
            self.read(value, 0, 0)?;
        }
        self.registers.hoist();
        Ok(copies)
    }

    /// The number of registers that one copy of all values needs at most, and the values that are the same for all elements.
    fn pressure(&self) -> (usize, Vec<Value>) {
        let count = self.expression.nodes.len();
        let mut last: Vec<Option<usize>> = vec![None; count];
        let mut uniform = Vec::new();
        for (step, value) in self.body.values.iter().enumerate() {
            for operand in self.expression.node(*value).operands() {
                if self.is_uniform(operand) {
                    if !uniform.contains(&operand) {
                        uniform.push(operand);
                    }
                } else {
                    last[operand.index()] = Some(step);
                }
            }
        }
        let (mut live, mut peak) = (0, 0);
        let mut is_live = vec![false; count];
        for (step, value) in self.body.values.iter().enumerate() {
            let touched = || self.expression.node(*value).operands().chain([*value]);
            for touched in touched().filter(|touched| !self.is_uniform(*touched)) {
                if !std::mem::replace(&mut is_live[touched.index()], true) {
                    live += self.width(touched);
                }
            }
            peak = peak.max(live);
            for touched in touched().filter(|touched| last[touched.index()].is_none_or(|last| last <= step)) {
                if std::mem::take(&mut is_live[touched.index()]) {
                    live -= self.width(touched);
                }
            }
        }
        (peak.max(1), uniform)
    }

    /// Emits the computation of so many vectors of each value.
    fn compute(&mut self, copies: usize) -> Result {
        const { assert!(COPIES * 2 <= PARTS) };
        self.copies = copies;
        self.registers.start_body();
        let body = self.body;
        for (step, &value) in body.values.iter().enumerate() {
            self.registers.step(step as u32);
            for copy in 0..copies {
                self.emit(value, copy)?;
                self.unpin();
                self.store(value, copy)?;
                for operand in self.expression.node(value).operands().chain([value]) {
                    if !self.is_uniform(operand) {
                        self.release(operand, copy);
                    }
                }
            }
            for operand in self.expression.node(value).operands() {
                if self.is_uniform(operand) {
                    self.registers.release(Share { value: operand, part: 0 });
                }
            }
        }
        self.registers.step(body.values.len() as u32);
        let mut leaves: Vec<Value> = body.stores.iter().map(|(value, _)| *value).collect();
        leaves.retain(|value| body.sources[value.index()].is_some());
        leaves.sort_unstable();
        leaves.dedup();
        for value in leaves {
            for copy in 0..copies {
                self.store(value, copy)?;
                if !self.is_uniform(value) {
                    self.release(value, copy);
                }
            }
        }
        Ok(())
    }

    fn release(&mut self, value: Value, copy: usize) {
        let width = self.width(value);
        for half in 0..width {
            self.registers.release(Share { value, part: (copy * width + half) as u8 });
        }
    }

    /// Writes a copy of a value to all places where it is stored.
    fn store(&mut self, value: Value, copy: usize) -> Result {
        let (body, dtype) = (self.body, self.expression.dtype(value));
        for &(_, place) in body.stores.iter().filter(|(stored, _)| *stored == value) {
            for half in 0..self.width(value) {
                let register = self.read(value, copy, half)?;
                self.write(dtype, register, place, copy, half)?;
                self.unpin();
            }
        }
        Ok(())
    }

    pub(super) fn expression(&self) -> &'e Expression {
        self.expression
    }

    /// The number of registers that a vector of a value takes.
    pub(super) fn width(&self, value: Value) -> usize {
        if value.index() >= self.expression.nodes.len() { 1 } else { width(self.expression.dtype(value)) }
    }

    /// Whether a value is the same for all elements: a number, or an input of one element.
    fn is_uniform(&self, value: Value) -> bool {
        value.index() >= self.expression.nodes.len()
            || matches!(
                self.body.sources[value.index()],
                Some(Source::Number(_) | Source::Memory { access: Access::Scalar, .. })
            )
    }

    fn share(&self, value: Value, copy: usize, half: usize) -> Share {
        let part = if self.is_uniform(value) { 0 } else { copy * self.width(value) + half };
        Share { value, part: part as u8 }
    }

    /// The register with a value, or with half of it.
    pub(super) fn read(&mut self, value: Value, copy: usize, half: usize) -> Result<usize> {
        let share = self.share(value, copy, half);
        if let Some(register) = self.registers.held(share) {
            return Ok(register);
        }
        let (register, moves) = self.registers.allocate(Some(share), true).ok_or(Failure::TooManyValues)?;
        for step in moves.into_iter().flatten() {
            match step {
                Move::Fetch { register } => self.fetch(value, register, copy, half)?,
                step => self.spill(step)?,
            }
        }
        Ok(register)
    }

    /// Ends an instruction sequence: temporary registers are free again.
    pub(super) fn unpin(&mut self) {
        self.registers.unpin();
    }

    /// A register for a value that is computed now, or for half of it.
    pub(super) fn define(&mut self, value: Value, copy: usize, half: usize) -> Result<usize> {
        let share = self.share(value, copy, half);
        self.take(Some(share))
    }

    /// A register for the current instruction sequence.
    pub(super) fn temporary(&mut self) -> Result<usize> {
        self.take(None)
    }

    fn take(&mut self, share: Option<Share>) -> Result<usize> {
        let (register, moves) = self.registers.allocate(share, false).ok_or(Failure::TooManyValues)?;
        moves.into_iter().flatten().try_for_each(|step| self.spill(step))?;
        Ok(register)
    }

    fn spill(&mut self, step: Move) -> Result {
        match step {
            Move::Spill { register, place } => match self.vectors {
                Vectors::Avx2 => self.asm.vmovups(ymmword_ptr(rsi + place * 64), YMM[register])?,
                Vectors::Avx512 => self.asm.vmovups(zmmword_ptr(rsi + place * 64), ZMM[register])?,
            },
            Move::Reload { register, place } => vector!(self.vmovups(register; ptr(rsi + place * 64))),
            Move::Fetch { .. } => {}
        }
        Ok(())
    }

    /// A register with a number for the current instruction sequence: 32 bits for each element, or 64.
    pub(super) fn number(&mut self, bits: u64, is_wide: bool) -> Result<usize> {
        let next = Value((self.expression.nodes.len() + self.numbers.len()) as u32);
        let value = *self.numbers.entry((bits, is_wide)).or_insert(next);
        assert!(self.numbers.len() <= OWN_NUMBERS, "instruction sequences need few numbers");
        if self.number_of[value.index()].is_none() {
            self.number_of[value.index()] = Some(self.pooled(bits, is_wide));
        }
        self.read(value, 0, 0)
    }

    /// Puts a number behind the code.
    fn pooled(&mut self, bits: u64, is_wide: bool) -> usize {
        let label = self.asm.create_label();
        self.pool.push(Number { label, bits, is_wide });
        self.pool.len() - 1
    }

    /// Reads a value from where it comes from.
    fn fetch(&mut self, value: Value, register: usize, copy: usize, half: usize) -> Result {
        if value.index() >= self.expression.nodes.len() {
            return self.fetch_number(value, register);
        }
        let dtype = self.expression.dtype(value);
        match self.body.sources[value.index()] {
            Some(Source::Number(bits)) => {
                if self.number_of[value.index()].is_none() {
                    self.number_of[value.index()] =
                        Some(self.pooled(in_register(dtype, bits), width(dtype) == 2));
                }
                self.fetch_number(value, register)
            }
            Some(Source::Memory { place, access }) => self.load(dtype, register, (place, access), copy, half),
            None => unreachable!("a value that is computed is in a register or spilled"),
        }
    }

    fn fetch_number(&mut self, value: Value, register: usize) -> Result {
        let number =
            &self.pool[self.number_of[value.index()].expect("the caller has put the number behind the code")];
        let (label, is_wide) = (number.label, number.is_wide);
        if is_wide {
            vector!(self.vbroadcastsd(register; qword_ptr(label)));
        } else {
            vector!(self.vbroadcastss(register; dword_ptr(label)));
        }
        Ok(())
    }

    /// The address of the elements that are computed, in a copy and half.
    pub(super) fn address(
        &mut self,
        dtype: DType,
        place: usize,
        copy: usize,
        half: usize,
    ) -> Result<AsmMemoryOperand> {
        let base = self.base(place)?;
        let size = dtype.size_in_bytes();
        let displacement = copy * self.vectors.lanes() * size + half * self.vectors.bytes();
        Ok(match size {
            1 => base + rcx + displacement,
            _ => base + rcx * size as i32 + displacement,
        })
    }

    /// A register with an address that the code was called with.
    pub(super) fn base(&mut self, place: usize) -> Result<AsmRegister64> {
        match [r8, r9, r10].get(place) {
            Some(register) => Ok(*register),
            None => {
                self.asm.mov(rax, qword_ptr(rdi + place * 8))?;
                Ok(rax)
            }
        }
    }
}

/// The number of registers that a vector of values of a dtype takes.
pub(super) fn width(dtype: DType) -> usize {
    match dtype {
        DType::F64 | DType::I64 => 2,
        _ => 1,
    }
}

/// The bits of a number as registers hold it.
fn in_register(dtype: DType, bits: u64) -> u64 {
    match dtype {
        DType::Bool => {
            if bits == 0 {
                0
            } else {
                u64::from(u32::MAX)
            }
        }
        DType::BF16 => u64::from(opgrid_array::bf16::from_bits(bits as u16).to_f32().to_bits()),
        DType::F16 => u64::from(opgrid_array::f16::from_bits(bits as u16).to_f32().to_bits()),
        _ => bits,
    }
}
