//! The instructions of each operation.
//!
//! Every sequence gives the bits that the interpreter gives for any operands, except that NaN may be another NaN.

use iced_x86::code_asm::*;
use opgrid_core::DType;

use super::Vectors;
use super::generate::{Emitter, Result, XMM, YMM, ZMM, vector, width};
use crate::expression::{Access, Binary, Comparison, Node, Unary, Value};

/// Predicates of `vcmpps` and `vcmppd` by which NaN is only unequal, and whether any operand is NaN.
const LESS: i32 = 0x11;
const LESS_EQUAL: i32 = 0x12;
const EQUAL: i32 = 0x00;
const NOT_EQUAL: i32 = 0x04;
const UNORDERED: i32 = 0x03;

/// All bits of an element.
const ALL: u64 = u32::MAX as u64;
const ALL_WIDE: u64 = u64::MAX;

/// How a dtype is computed with in registers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Also the 16-bit floats, which are there as such.
    F32,
    F64,
    I32,
    I64,
    /// A mask of 32 bits for each element.
    Mask,
}

impl Kind {
    fn new(dtype: DType) -> Self {
        match dtype {
            DType::F32 | DType::BF16 | DType::F16 => Self::F32,
            DType::F64 => Self::F64,
            DType::I32 => Self::I32,
            DType::I64 => Self::I64,
            DType::Bool => Self::Mask,
            other => unreachable!("`has_code` refuses {other}"),
        }
    }

    fn is_wide(self) -> bool {
        matches!(self, Self::F64 | Self::I64)
    }
}

impl Emitter<'_> {
    fn is_wide_isa(&self) -> bool {
        self.vectors == Vectors::Avx512
    }

    /// Emits one copy of the computation of a value.
    pub(super) fn emit(&mut self, value: Value, copy: usize) -> Result {
        let expression = self.expression();
        let kind = Kind::new(expression.dtype(value));
        match expression.node(value) {
            Node::Load(_) | Node::Constant(_) | Node::Call(..) => unreachable!("code computes other nodes"),
            Node::Unary(function, a) => {
                for half in 0..self.width(value) {
                    let a = self.read(*a, copy, half)?;
                    let to = self.define(value, copy, half)?;
                    self.unary(kind, *function, to, a)?;
                    self.unpin();
                }
                Ok(())
            }
            Node::Binary(function, a, b) => {
                for half in 0..self.width(value) {
                    let operands = [self.read(*a, copy, half)?, self.read(*b, copy, half)?];
                    let to = self.define(value, copy, half)?;
                    self.binary(kind, *function, to, operands)?;
                    self.unpin();
                }
                Ok(())
            }
            Node::Compare(comparison, a, b) => {
                let kind = Kind::new(expression.dtype(*a));
                let to = self.define(value, copy, 0)?;
                if kind.is_wide() {
                    let low = [self.read(*a, copy, 0)?, self.read(*b, copy, 0)?];
                    let high = [self.read(*a, copy, 1)?, self.read(*b, copy, 1)?];
                    self.compare_wide(kind, *comparison, to, [low, high])
                } else {
                    let operands = [self.read(*a, copy, 0)?, self.read(*b, copy, 0)?];
                    self.compare(kind, *comparison, to, operands)
                }
            }
            Node::Select(condition, a, b) => {
                let condition = self.read(*condition, copy, 0)?;
                for half in 0..self.width(value) {
                    let operands = [self.read(*a, copy, half)?, self.read(*b, copy, half)?];
                    let to = self.define(value, copy, half)?;
                    if kind.is_wide() {
                        let mask = self.temporary()?;
                        self.widened_mask(mask, condition, half)?;
                        self.choose(to, mask, operands, true)?;
                    } else {
                        self.choose(to, condition, operands, false)?;
                    }
                }
                Ok(())
            }
            Node::Convert(a) => self.convert(value, *a, copy),
        }
    }

    fn unary(&mut self, kind: Kind, function: Unary, to: usize, a: usize) -> Result {
        let wide = self.is_wide_isa();
        match (function, kind) {
            (Unary::Negate, Kind::F32) => {
                let sign = self.number(1 << 31, false)?;
                vector!(self.vxorps(to, a, sign));
            }
            (Unary::Negate, Kind::F64) => {
                let sign = self.number(1 << 63, true)?;
                vector!(self.vxorps(to, a, sign));
            }
            (Unary::Negate, Kind::I32) => {
                let zero = self.number(0, false)?;
                vector!(self.vpsubd(to, zero, a));
            }
            (Unary::Negate, Kind::I64) => {
                let zero = self.number(0, false)?;
                vector!(self.vpsubq(to, zero, a));
            }
            (Unary::Absolute, Kind::F32) => {
                let magnitude = self.number(ALL >> 1, false)?;
                vector!(self.vandps(to, a, magnitude));
            }
            (Unary::Absolute, Kind::F64) => {
                let magnitude = self.number(ALL_WIDE >> 1, true)?;
                vector!(self.vandps(to, a, magnitude));
            }
            (Unary::Absolute, Kind::I32) => vector!(self.vpabsd(to, a)),
            (Unary::Absolute, Kind::I64) if wide => self.asm.vpabsq(ZMM[to], ZMM[a])?,
            (Unary::Absolute, Kind::I64) => {
                // The number with its bits inverted and one added, where it is negative.
                let (zero, sign) = (self.number(0, false)?, self.temporary()?);
                self.asm.vpcmpgtq(YMM[sign], YMM[zero], YMM[a])?;
                self.asm.vxorps(YMM[to], YMM[a], YMM[sign])?;
                self.asm.vpsubq(YMM[to], YMM[to], YMM[sign])?;
            }
            (Unary::SquareRoot, Kind::F64) => vector!(self.vsqrtpd(to, a)),
            (Unary::SquareRoot, _) => vector!(self.vsqrtps(to, a)),
            (Unary::Not, _) => {
                let all = self.number(ALL, false)?;
                vector!(self.vxorps(to, a, all));
            }
            (Unary::Round | Unary::Floor | Unary::Ceil | Unary::Trunc, _) => {
                // No exception for results that are not exact.
                let mode = 8 | match function {
                    Unary::Floor => 1,
                    Unary::Ceil => 2,
                    Unary::Trunc => 3,
                    _ => 0,
                };
                match (wide, kind) {
                    (true, Kind::F64) => self.asm.vrndscalepd(ZMM[to], ZMM[a], mode)?,
                    (true, _) => self.asm.vrndscaleps(ZMM[to], ZMM[a], mode)?,
                    (false, Kind::F64) => self.asm.vroundpd(YMM[to], YMM[a], mode)?,
                    (false, _) => self.asm.vroundps(YMM[to], YMM[a], mode)?,
                }
            }
            (Unary::Negate | Unary::Absolute, Kind::Mask) => unreachable!("bools have no sign"),
        }
        Ok(())
    }

    fn binary(&mut self, kind: Kind, function: Binary, to: usize, [a, b]: [usize; 2]) -> Result {
        match (function, kind) {
            (Binary::Add, Kind::F32) => vector!(self.vaddps(to, a, b)),
            (Binary::Add, Kind::F64) => vector!(self.vaddpd(to, a, b)),
            (Binary::Add, Kind::I32) => vector!(self.vpaddd(to, a, b)),
            (Binary::Add, Kind::I64) => vector!(self.vpaddq(to, a, b)),
            (Binary::Subtract, Kind::F32) => vector!(self.vsubps(to, a, b)),
            (Binary::Subtract, Kind::F64) => vector!(self.vsubpd(to, a, b)),
            (Binary::Subtract, Kind::I32) => vector!(self.vpsubd(to, a, b)),
            (Binary::Subtract, Kind::I64) => vector!(self.vpsubq(to, a, b)),
            (Binary::Multiply, Kind::F32) => vector!(self.vmulps(to, a, b)),
            (Binary::Multiply, Kind::F64) => vector!(self.vmulpd(to, a, b)),
            (Binary::Multiply, Kind::I32) => vector!(self.vpmulld(to, a, b)),
            (Binary::Multiply, Kind::I64) => self.asm.vpmullq(ZMM[to], ZMM[a], ZMM[b])?,
            (Binary::Divide, Kind::F64) => vector!(self.vdivpd(to, a, b)),
            (Binary::Divide, _) => vector!(self.vdivps(to, a, b)),
            (Binary::Larger | Binary::Smaller, Kind::F32 | Kind::F64) => {
                // The instructions give the second operand where one is NaN, and of equals.
                match (function, kind) {
                    (Binary::Larger, Kind::F32) => vector!(self.vmaxps(to, a, b)),
                    (Binary::Larger, _) => vector!(self.vmaxpd(to, a, b)),
                    (_, Kind::F32) => vector!(self.vminps(to, a, b)),
                    _ => vector!(self.vminpd(to, a, b)),
                }
                self.replace_by_nan(kind, to, a)?;
            }
            (Binary::Larger, Kind::I32) => vector!(self.vpmaxsd(to, a, b)),
            (Binary::Smaller, Kind::I32) => vector!(self.vpminsd(to, a, b)),
            (Binary::Larger | Binary::Smaller, Kind::I64) => match (self.is_wide_isa(), function) {
                (true, Binary::Larger) => self.asm.vpmaxsq(ZMM[to], ZMM[a], ZMM[b])?,
                (true, _) => self.asm.vpminsq(ZMM[to], ZMM[a], ZMM[b])?,
                (false, _) => {
                    let is_larger = self.temporary()?;
                    self.asm.vpcmpgtq(YMM[is_larger], YMM[a], YMM[b])?;
                    let operands = if function == Binary::Larger { [a, b] } else { [b, a] };
                    self.choose(to, is_larger, operands, true)?;
                }
            },
            (Binary::And, _) | (Binary::Multiply | Binary::Smaller, Kind::Mask) => {
                vector!(self.vandps(to, a, b))
            }
            (Binary::Or, _) | (Binary::Add | Binary::Larger, Kind::Mask) => vector!(self.vorps(to, a, b)),
            (Binary::Xor, _) | (Binary::Subtract, Kind::Mask) => vector!(self.vxorps(to, a, b)),
        }
        Ok(())
    }

    /// Replaces elements by those of `a` that are NaN.
    fn replace_by_nan(&mut self, kind: Kind, to: usize, a: usize) -> Result {
        match (self.vectors, kind) {
            (Vectors::Avx512, Kind::F64) => {
                self.asm.vcmppd(k1, ZMM[a], ZMM[a], UNORDERED)?;
                self.asm.vmovapd(ZMM[to].k1(), ZMM[a])?;
            }
            (Vectors::Avx512, _) => {
                self.asm.vcmpps(k1, ZMM[a], ZMM[a], UNORDERED)?;
                self.asm.vmovaps(ZMM[to].k1(), ZMM[a])?;
            }
            (Vectors::Avx2, Kind::F64) => {
                let mask = self.temporary()?;
                self.asm.vcmppd(YMM[mask], YMM[a], YMM[a], UNORDERED)?;
                self.asm.vblendvpd(YMM[to], YMM[to], YMM[a], YMM[mask])?;
            }
            (Vectors::Avx2, _) => {
                let mask = self.temporary()?;
                self.asm.vcmpps(YMM[mask], YMM[a], YMM[a], UNORDERED)?;
                self.asm.vblendvps(YMM[to], YMM[to], YMM[a], YMM[mask])?;
            }
        }
        Ok(())
    }

    /// `a` where a mask of the elements' size is set, else `b`.
    fn choose(&mut self, to: usize, mask: usize, [a, b]: [usize; 2], is_wide: bool) -> Result {
        match (self.vectors, is_wide) {
            (Vectors::Avx2, false) => self.asm.vblendvps(YMM[to], YMM[b], YMM[a], YMM[mask])?,
            (Vectors::Avx2, true) => self.asm.vblendvpd(YMM[to], YMM[b], YMM[a], YMM[mask])?,
            (Vectors::Avx512, false) => {
                self.asm.vpmovd2m(k1, ZMM[mask])?;
                self.asm.vblendmps(ZMM[to].k1(), ZMM[b], ZMM[a])?;
            }
            (Vectors::Avx512, true) => {
                self.asm.vpmovq2m(k1, ZMM[mask])?;
                self.asm.vblendmpd(ZMM[to].k1(), ZMM[b], ZMM[a])?;
            }
        }
        Ok(())
    }

    /// Half of a mask, with 64 bits for each element.
    fn widened_mask(&mut self, to: usize, mask: usize, half: usize) -> Result {
        if half == 1 {
            self.upper_half(to, mask)?;
        }
        let low = if half == 1 { to } else { mask };
        match self.vectors {
            Vectors::Avx2 => self.asm.vpmovsxdq(YMM[to], XMM[low])?,
            Vectors::Avx512 => self.asm.vpmovsxdq(ZMM[to], YMM[low])?,
        }
        Ok(())
    }

    /// Brings the upper half of a register to the lower half of another.
    fn upper_half(&mut self, to: usize, from: usize) -> Result {
        match self.vectors {
            Vectors::Avx2 => self.asm.vextractf128(XMM[to], YMM[from], 1)?,
            Vectors::Avx512 => self.asm.vextractf64x4(YMM[to], ZMM[from], 1)?,
        }
        Ok(())
    }

    /// Joins the lower halves of two registers.
    fn join_halves(&mut self, to: usize, low: usize, high: usize) -> Result {
        match self.vectors {
            Vectors::Avx2 => self.asm.vinsertf128(YMM[to], YMM[low], XMM[high], 1)?,
            Vectors::Avx512 => self.asm.vinsertf64x4(ZMM[to], ZMM[low], YMM[high], 1)?,
        }
        Ok(())
    }

    /// The lower 32 bits of each element of two registers with 64.
    fn narrow(&mut self, to: usize, [low, high]: [usize; 2]) -> Result {
        match self.vectors {
            Vectors::Avx2 => {
                // Elements 0 1 4 5 2 3 6 7, and then in their order.
                self.asm.vshufps(YMM[to], YMM[low], YMM[high], 0x88)?;
                self.asm.vpermq(YMM[to], YMM[to], 0xd8)?;
            }
            Vectors::Avx512 => {
                let upper = self.temporary()?;
                self.asm.vpmovqd(YMM[upper], ZMM[high])?;
                self.asm.vpmovqd(YMM[to], ZMM[low])?;
                self.join_halves(to, to, upper)?;
            }
        }
        Ok(())
    }

    fn compare(&mut self, kind: Kind, comparison: Comparison, to: usize, [a, b]: [usize; 2]) -> Result {
        match (kind, self.vectors) {
            (Kind::F32, Vectors::Avx2) => {
                self.asm.vcmpps(YMM[to], YMM[a], YMM[b], float_predicate(comparison))?
            }
            (Kind::F32, Vectors::Avx512) => {
                self.asm.vcmpps(k1, ZMM[a], ZMM[b], float_predicate(comparison))?;
                self.asm.vpmovm2d(ZMM[to], k1)?;
            }
            (Kind::I32, Vectors::Avx512) => {
                self.asm.vpcmpd(k1, ZMM[a], ZMM[b], integer_predicate(comparison))?;
                self.asm.vpmovm2d(ZMM[to], k1)?;
            }
            (Kind::I32, Vectors::Avx2) => {
                match comparison {
                    Comparison::Less => self.asm.vpcmpgtd(YMM[to], YMM[b], YMM[a])?,
                    Comparison::LessEqual => self.asm.vpcmpgtd(YMM[to], YMM[a], YMM[b])?,
                    Comparison::Equal | Comparison::NotEqual => self.asm.vpcmpeqd(YMM[to], YMM[a], YMM[b])?,
                }
                if matches!(comparison, Comparison::LessEqual | Comparison::NotEqual) {
                    self.invert(to)?;
                }
            }
            (Kind::Mask, _) => {
                match comparison {
                    // `vandnps` inverts its first operand.
                    Comparison::Less => vector!(self.vandnps(to, a, b)),
                    Comparison::LessEqual => vector!(self.vandnps(to, b, a)),
                    Comparison::Equal | Comparison::NotEqual => vector!(self.vxorps(to, a, b)),
                }
                if matches!(comparison, Comparison::LessEqual | Comparison::Equal) {
                    self.invert(to)?;
                }
            }
            (Kind::F64 | Kind::I64, _) => unreachable!("wide elements are compared by `compare_wide`"),
        }
        Ok(())
    }

    fn compare_wide(
        &mut self,
        kind: Kind,
        comparison: Comparison,
        to: usize,
        halves: [[usize; 2]; 2],
    ) -> Result {
        if self.vectors == Vectors::Avx512 {
            for (mask, [a, b]) in [k1, k2].into_iter().zip(halves) {
                match kind {
                    Kind::F64 => self.asm.vcmppd(mask, ZMM[a], ZMM[b], float_predicate(comparison))?,
                    _ => self.asm.vpcmpq(mask, ZMM[a], ZMM[b], integer_predicate(comparison))?,
                }
            }
            self.asm.kunpckbw(k1, k2, k1)?;
            self.asm.vpmovm2d(ZMM[to], k1)?;
            return Ok(());
        }
        let masks = [self.temporary()?, self.temporary()?];
        for (mask, [a, b]) in masks.into_iter().zip(halves) {
            match (kind, comparison) {
                (Kind::F64, _) => self.asm.vcmppd(YMM[mask], YMM[a], YMM[b], float_predicate(comparison))?,
                (_, Comparison::Less) => self.asm.vpcmpgtq(YMM[mask], YMM[b], YMM[a])?,
                (_, Comparison::LessEqual) => self.asm.vpcmpgtq(YMM[mask], YMM[a], YMM[b])?,
                (_, Comparison::Equal | Comparison::NotEqual) => {
                    self.asm.vpcmpeqq(YMM[mask], YMM[a], YMM[b])?;
                }
            }
        }
        self.narrow(to, masks)?;
        if kind == Kind::I64 && matches!(comparison, Comparison::LessEqual | Comparison::NotEqual) {
            self.invert(to)?;
        }
        Ok(())
    }

    fn invert(&mut self, to: usize) -> Result {
        let all = self.number(ALL, false)?;
        vector!(self.vxorps(to, to, all));
        Ok(())
    }

    fn convert(&mut self, value: Value, a: Value, copy: usize) -> Result {
        let expression = self.expression();
        let (from, to) = (expression.dtype(a), expression.dtype(value));
        match (Kind::new(from), Kind::new(to)) {
            (Kind::F32, Kind::F32) => {
                let (a, register) = (self.read(a, copy, 0)?, self.define(value, copy, 0)?);
                self.round_to(to, register, a)?;
            }
            (Kind::I32, Kind::F32) => {
                let (a, register) = (self.read(a, copy, 0)?, self.define(value, copy, 0)?);
                vector!(self.vcvtdq2ps(register, a));
            }
            (Kind::Mask, Kind::F32 | Kind::I32) => {
                let (a, register) = (self.read(a, copy, 0)?, self.define(value, copy, 0)?);
                let one = self.number(if to == DType::I32 { 1 } else { 1f32.to_bits().into() }, false)?;
                vector!(self.vandps(register, a, one));
            }
            (Kind::Mask, Kind::F64 | Kind::I64) => {
                let a = self.read(a, copy, 0)?;
                let one = self.number(if to == DType::I64 { 1 } else { 1f64.to_bits() }, true)?;
                for half in 0..2 {
                    let register = self.define(value, copy, half)?;
                    self.widened_mask(register, a, half)?;
                    vector!(self.vandps(register, register, one));
                }
            }
            (Kind::F32 | Kind::I32, Kind::F64 | Kind::I64) => {
                let a = self.read(a, copy, 0)?;
                for half in 0..2 {
                    let register = self.define(value, copy, half)?;
                    if half == 1 {
                        self.upper_half(register, a)?;
                    }
                    self.widen(from, to, register, if half == 1 { register } else { a })?;
                }
            }
            (Kind::F64 | Kind::I64, Kind::F32) => {
                let halves = [self.read(a, copy, 0)?, self.read(a, copy, 1)?];
                let (register, upper) = (self.define(value, copy, 0)?, self.temporary()?);
                for (to, half) in [register, upper].into_iter().zip(halves) {
                    match (self.vectors, from) {
                        (Vectors::Avx2, _) => self.asm.vcvtpd2ps(XMM[to], YMM[half])?,
                        (Vectors::Avx512, DType::F64) => self.asm.vcvtpd2ps(YMM[to], ZMM[half])?,
                        (Vectors::Avx512, _) => self.asm.vcvtqq2ps(YMM[to], ZMM[half])?,
                    }
                }
                self.join_halves(register, register, upper)?;
            }
            (Kind::I64, Kind::I32) => {
                let halves = [self.read(a, copy, 0)?, self.read(a, copy, 1)?];
                let register = self.define(value, copy, 0)?;
                self.narrow(register, halves)?;
            }
            (Kind::I64, Kind::F64) => {
                for half in 0..2 {
                    let (a, register) = (self.read(a, copy, half)?, self.define(value, copy, half)?);
                    self.asm.vcvtqq2pd(ZMM[register], ZMM[a])?;
                }
            }
            (kind, Kind::Mask) => {
                let register = self.define(value, copy, 0)?;
                let zero = self.number(0, false)?;
                if kind.is_wide() {
                    let halves = [[self.read(a, copy, 0)?, zero], [self.read(a, copy, 1)?, zero]];
                    self.compare_wide(kind, Comparison::NotEqual, register, halves)?;
                } else {
                    let a = self.read(a, copy, 0)?;
                    self.compare(kind, Comparison::NotEqual, register, [a, zero])?;
                }
            }
            _ => unreachable!("`has_conversion` refuses other conversions"),
        }
        Ok(())
    }

    /// Widens the elements of the lower half of a register.
    fn widen(&mut self, from: DType, to: DType, register: usize, low: usize) -> Result {
        match (self.vectors, Kind::new(from), to) {
            (Vectors::Avx2, Kind::F32, _) => self.asm.vcvtps2pd(YMM[register], XMM[low])?,
            (Vectors::Avx512, Kind::F32, _) => self.asm.vcvtps2pd(ZMM[register], YMM[low])?,
            (Vectors::Avx2, _, DType::F64) => self.asm.vcvtdq2pd(YMM[register], XMM[low])?,
            (Vectors::Avx512, _, DType::F64) => self.asm.vcvtdq2pd(ZMM[register], YMM[low])?,
            (Vectors::Avx2, ..) => self.asm.vpmovsxdq(YMM[register], XMM[low])?,
            (Vectors::Avx512, ..) => self.asm.vpmovsxdq(ZMM[register], YMM[low])?,
        }
        Ok(())
    }

    /// Rounds float32 to what a 16-bit float holds; ties to the even one.
    fn round_to(&mut self, dtype: DType, to: usize, a: usize) -> Result {
        match (dtype, self.vectors) {
            (DType::F16, Vectors::Avx2) => {
                self.asm.vcvtps2ph(XMM[to], YMM[a], 0)?;
                self.asm.vcvtph2ps(YMM[to], XMM[to])?;
            }
            (DType::F16, Vectors::Avx512) => {
                self.asm.vcvtps2ph(YMM[to], ZMM[a], 0)?;
                self.asm.vcvtph2ps(ZMM[to], YMM[to])?;
            }
            (DType::BF16, _) => {
                // Half of the lowest bit that stays, less one in the last place where that bit is even; cut off; NaN stays.
                let (below_half, one, upper) =
                    (self.number(0x7fff, false)?, self.number(1, false)?, self.number(0xffff_0000, false)?);
                vector!(self.vpsrld(to, a; 16));
                vector!(self.vandps(to, to, one));
                vector!(self.vpaddd(to, to, below_half));
                vector!(self.vpaddd(to, to, a));
                vector!(self.vandps(to, to, upper));
                self.replace_by_quiet_nan(to, a)?;
            }
            _ => vector!(self.vmovaps(to, a)),
        }
        Ok(())
    }

    /// Replaces elements by NaN whose upper 16 bits say so, where `a` is NaN.
    fn replace_by_quiet_nan(&mut self, to: usize, a: usize) -> Result {
        let nan = self.number(f32::NAN.to_bits().into(), false)?;
        match self.vectors {
            Vectors::Avx2 => {
                let mask = self.temporary()?;
                self.asm.vcmpps(YMM[mask], YMM[a], YMM[a], UNORDERED)?;
                self.asm.vblendvps(YMM[to], YMM[to], YMM[nan], YMM[mask])?;
            }
            Vectors::Avx512 => {
                self.asm.vcmpps(k1, ZMM[a], ZMM[a], UNORDERED)?;
                self.asm.vmovaps(ZMM[to].k1(), ZMM[nan])?;
            }
        }
        Ok(())
    }

    /// Loads a vector of elements, or one element into all places.
    pub(super) fn load(
        &mut self,
        dtype: DType,
        to: usize,
        (place, access): (usize, Access),
        copy: usize,
        half: usize,
    ) -> Result {
        if access == Access::Scalar {
            return self.load_scalar(dtype, to, place);
        }
        let from = self.address(dtype, place, copy, half)?;
        match (dtype, self.vectors) {
            (DType::Bool, Vectors::Avx2) => self.asm.vpmovzxbd(YMM[to], from)?,
            (DType::Bool, Vectors::Avx512) => self.asm.vpmovzxbd(ZMM[to], from)?,
            (DType::BF16, _) => {
                vector!(self.vpmovzxwd(to; from));
                vector!(self.vpslld(to, to; 16));
            }
            (DType::F16, _) => vector!(self.vcvtph2ps(to; from)),
            _ => vector!(self.vmovups(to; from)),
        }
        if dtype == DType::Bool { self.mask_from_bytes(to) } else { Ok(()) }
    }

    fn load_scalar(&mut self, dtype: DType, to: usize, place: usize) -> Result {
        let base = self.base(place)?;
        match dtype {
            DType::Bool => {
                match self.vectors {
                    Vectors::Avx2 => {
                        self.asm.vpbroadcastb(XMM[to], byte_ptr(base))?;
                        self.asm.vpmovzxbd(YMM[to], XMM[to])?;
                    }
                    Vectors::Avx512 => {
                        self.asm.evex().vpbroadcastb(XMM[to], byte_ptr(base))?;
                        self.asm.vpmovzxbd(ZMM[to], XMM[to])?;
                    }
                }
                self.mask_from_bytes(to)?;
            }
            DType::BF16 | DType::F16 => {
                match self.vectors {
                    Vectors::Avx2 => self.asm.vpbroadcastw(XMM[to], word_ptr(base))?,
                    Vectors::Avx512 => self.asm.evex().vpbroadcastw(YMM[to], word_ptr(base))?,
                }
                match (dtype, self.vectors) {
                    (DType::F16, Vectors::Avx2) => self.asm.vcvtph2ps(YMM[to], XMM[to])?,
                    (DType::F16, Vectors::Avx512) => self.asm.vcvtph2ps(ZMM[to], YMM[to])?,
                    (_, Vectors::Avx2) => self.asm.vpmovzxwd(YMM[to], XMM[to])?,
                    (_, Vectors::Avx512) => self.asm.vpmovzxwd(ZMM[to], YMM[to])?,
                }
                if dtype == DType::BF16 {
                    vector!(self.vpslld(to, to; 16));
                }
            }
            _ if width(dtype) == 2 => vector!(self.vbroadcastsd(to; qword_ptr(base))),
            _ => vector!(self.vbroadcastss(to; dword_ptr(base))),
        }
        Ok(())
    }

    /// A mask of the elements that are not zero.
    fn mask_from_bytes(&mut self, to: usize) -> Result {
        match self.vectors {
            Vectors::Avx2 => {
                let zero = self.number(0, false)?;
                self.asm.vpcmpgtd(YMM[to], YMM[to], YMM[zero])?;
            }
            Vectors::Avx512 => {
                self.asm.vptestmd(k1, ZMM[to], ZMM[to])?;
                self.asm.vpmovm2d(ZMM[to], k1)?;
            }
        }
        Ok(())
    }

    /// Writes a vector of elements.
    pub(super) fn write(
        &mut self,
        dtype: DType,
        from: usize,
        place: usize,
        copy: usize,
        half: usize,
    ) -> Result {
        if matches!(dtype, DType::Bool | DType::BF16) {
            return self.write_narrowed(dtype, from, place, copy);
        }
        let to = self.address(dtype, place, copy, half)?;
        match (dtype, self.vectors) {
            (DType::F16, Vectors::Avx2) => self.asm.vcvtps2ph(to, YMM[from], 0)?,
            (DType::F16, Vectors::Avx512) => self.asm.vcvtps2ph(to, ZMM[from], 0)?,
            (_, Vectors::Avx2) => self.asm.vmovups(to, YMM[from])?,
            (_, Vectors::Avx512) => self.asm.vmovups(to, ZMM[from])?,
        }
        Ok(())
    }

    fn write_narrowed(&mut self, dtype: DType, from: usize, place: usize, copy: usize) -> Result {
        let narrow = self.temporary()?;
        // One bit of a mask is one, the upper half of a float32 is the bfloat16.
        vector!(self.vpsrld(narrow, from; if dtype == DType::Bool { 31 } else { 16 }));
        match self.vectors {
            Vectors::Avx512 => {
                let to = self.address(dtype, place, copy, 0)?;
                match dtype {
                    DType::Bool => self.asm.vpmovdb(to, ZMM[narrow])?,
                    _ => self.asm.vpmovdw(to, ZMM[narrow])?,
                }
            }
            Vectors::Avx2 => {
                let upper = self.temporary()?;
                self.upper_half(upper, narrow)?;
                self.asm.vpackusdw(XMM[narrow], XMM[narrow], XMM[upper])?;
                let to = self.address(dtype, place, copy, 0)?;
                if dtype == DType::Bool {
                    self.asm.vpackuswb(XMM[narrow], XMM[narrow], XMM[narrow])?;
                    self.asm.vmovq(to, XMM[narrow])?;
                } else {
                    self.asm.vmovdqu(to, XMM[narrow])?;
                }
            }
        }
        Ok(())
    }
}

fn float_predicate(comparison: Comparison) -> i32 {
    match comparison {
        Comparison::Less => LESS,
        Comparison::LessEqual => LESS_EQUAL,
        Comparison::Equal => EQUAL,
        Comparison::NotEqual => NOT_EQUAL,
    }
}

fn integer_predicate(comparison: Comparison) -> i32 {
    match comparison {
        Comparison::Equal => 0,
        Comparison::Less => 1,
        Comparison::LessEqual => 2,
        Comparison::NotEqual => 4,
    }
}
