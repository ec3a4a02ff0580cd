//! Sums products of bfloat16 in the tile registers of AMX, which hold 16 rows of 64 bytes each.
//!
//! ```text
//!                  tmm6         tmm7           b: 16 pairs of steps by 16 columns
//! a: 16 rows  tmm4 ┌ tmm0 ┐     ┌ tmm1 ┐
//! by 32 steps tmm5 └ tmm2 ┘     └ tmm3 ┘       sums: 16 rows by 16 columns
//! ```
//!
//! The system keeps these registers for a process that has asked for them, and their sizes are set by each thread. Every call
//! sets them and gives the registers back, so that a thread has none when other code runs. As the instructions for pairs do,
//! those of AMX take subnormal numbers for zero.
#![allow(unsafe_code)]

use std::arch::asm;
use std::arch::x86_64::__cpuid_count;
use std::sync::LazyLock;

use half::bf16;

use super::tile::Work;
use opgrid_array::loops::isa::{Isa, isa};

/// Rows of the tiles there are.
pub(super) const HEIGHTS: [usize; 4] = [8, 16, 24, 32];
/// Columns of each.
pub(super) const WIDTH: usize = 32;
/// Steps that are taken at a time.
pub(super) const STEPS: usize = 32;
/// Rows of a register.
const ROWS: usize = 16;
/// With fewer rows, columns or steps most of a tile is zeros.
const FEWEST_LANES: usize = 5;
const FEWEST_STEPS: usize = 16;
/// With fewer products the registers take longer to set up than other tiles to sum.
const FEWEST_PRODUCTS: usize = 32 * 32 * 32;

/// Whether a product of so many rows, steps and columns takes less time by AMX.
#[inline]
pub(super) fn is_worth([rows, steps, columns]: [usize; 3]) -> bool {
    let products = rows.saturating_mul(steps).saturating_mul(columns);
    rows.min(columns) >= FEWEST_LANES && steps >= FEWEST_STEPS && products >= FEWEST_PRODUCTS
}

/// Whether the processor has AMX with products of bfloat16, the system lets this process use it, and `OPGRID_ISA` does.
pub(super) fn is_available() -> bool {
    static AVAILABLE: LazyLock<bool> =
        LazyLock::new(|| isa() == Isa::V4 && has_instructions() && is_permitted());
    *AVAILABLE
}

/// Whether the processor has the instructions.
pub(super) fn has_instructions() -> bool {
    const BF16: u32 = 1 << 22;
    const TILE: u32 = 1 << 24;
    let leaves = __cpuid_count(0, 0).eax;
    leaves >= 7 && __cpuid_count(7, 0).edx & (BF16 | TILE) == BF16 | TILE
}

/// Asks Linux for the registers, once for the process and all of its threads. It refuses where a thread's stack for signals
/// is too small to hold them.
#[cfg(target_os = "linux")]
fn is_permitted() -> bool {
    /// `ARCH_REQ_XCOMP_PERM` of `arch_prctl`.
    const REQUEST: libc::c_long = 0x1023;
    /// The data of tiles, by its number in the state of a processor.
    const TILE_DATA: libc::c_long = 18;
    // SAFETY: the call takes two numbers and touches no memory of the process.
    unsafe { libc::syscall(libc::SYS_arch_prctl, REQUEST, TILE_DATA) == 0 }
}

/// Other systems are not asked.
#[cfg(not(target_os = "linux"))]
fn is_permitted() -> bool {
    false
}

/// What `ldtilecfg` reads: how many rows each register has, and of how many bytes.
#[repr(C, align(64))]
struct Sizes {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

impl Sizes {
    /// Creates the sizes of a tile with `height` rows, up to 32.
    const fn new(height: usize) -> Self {
        let upper = if height < ROWS { height } else { ROWS } as u8;
        let lower = (height - upper as usize) as u8;
        let mut rows = [0; 16];
        let mut row_bytes = [0; 16];
        let all = [upper, upper, lower, lower, upper, lower, ROWS as u8, ROWS as u8];
        let mut register = 0;
        while register < all.len() {
            rows[register] = all[register];
            // A register that is not there has neither rows nor bytes.
            row_bytes[register] = if all[register] > 0 { 64 } else { 0 };
            register += 1;
        }
        Self { palette: 1, start_row: 0, reserved: [0; 14], row_bytes, rows }
    }
}

/// Sums some tiles of `HEIGHT` rows and [`WIDTH`] columns. Steps of `work` are [`STEPS`] steps along the inner dimension: on
/// the left all of a row beside each other, on the right in pairs.
///
/// # Safety
///
/// As [`Kernel::tile`](super::tile::Kernel::tile); [`is_available`] says yes.
pub(super) unsafe fn tile<const HEIGHT: usize>(work: &Work<bf16, f32>) {
    let sizes = const { &Sizes::new(HEIGHT) };
    // SAFETY: the sizes are such as registers have; the caller vouches for the instruction and the permission.
    unsafe { asm!("ldtilecfg [{}]", in(reg) sizes, options(nostack, preserves_flags, readonly)) };
    for number in 0..work.tiles {
        let b = work.b.wrapping_add(number * work.b_tile);
        let out = work.out.wrapping_add(number * WIDTH);
        if work.scale == 1.0 {
            // SAFETY: the caller's promise; the sizes of the registers are set.
            unsafe { sum::<HEIGHT>(work, b, out, work.out_row, work.add) };
            continue;
        }
        let mut sums = [0.0; HEIGHTS[3] * WIDTH];
        // SAFETY: the caller's promise; the sizes of the registers are set, and the sums have room for the tallest tile.
        unsafe { sum::<HEIGHT>(work, b, sums.as_mut_ptr(), WIDTH, false) };
        for (place, sum) in sums[..HEIGHT * WIDTH].iter().enumerate() {
            let at = out.wrapping_add((place / WIDTH).wrapping_mul(work.out_row) + place % WIDTH);
            // SAFETY: the caller promises that `out` can be read if it is added to.
            let before = if work.add { unsafe { at.read() } } else { 0.0 };
            // SAFETY: and that it can be written.
            unsafe { at.write(before + work.scale * sum) };
        }
    }
    // SAFETY: the caller vouches for the instruction.
    unsafe { asm!("tilerelease", options(nostack, nomem, preserves_flags)) };
}

/// Sums one tile.
///
/// # Safety
///
/// As [`tile`]; the sizes of the registers are those of the height.
#[inline(always)]
unsafe fn sum<const HEIGHT: usize>(
    work: &Work<bf16, f32>,
    b: *const bf16,
    out: *mut f32,
    out_row: usize,
    add: bool,
) {
    let low = |row: usize| ROWS.wrapping_mul(row);
    // SAFETY:
    // - the caller vouches for the instructions, and that the registers have their sizes.
    // - `a`, `b` and `out` are touched where the caller promises that they may be: rows of 64 bytes, from row to row and step
    //   to step.
    // - nothing else uses the registers between `ldtilecfg` and `tilerelease`.
    unsafe {
        asm!(
            "test {add:e}, {add:e}",
            "jz 2f",
            "tileloadd tmm0, [{out} + {out_row}]",
            "tileloadd tmm1, [{out} + {out_row} + 64]",
            ".if {is_tall}",
            "tileloadd tmm2, [{out_low} + {out_row}]",
            "tileloadd tmm3, [{out_low} + {out_row} + 64]",
            ".endif",
            "jmp 3f",
            "2:",
            "tilezero tmm0",
            "tilezero tmm1",
            ".if {is_tall}",
            "tilezero tmm2",
            "tilezero tmm3",
            ".endif",
            "3:",
            "test {steps}, {steps}",
            "jz 5f",
            "4:",
            "tileloadd tmm6, [{b} + {b_row}]",
            "tileloadd tmm4, [{a} + {a_row}]",
            "tdpbf16ps tmm0, tmm4, tmm6",
            "tileloadd tmm7, [{b} + {b_row} + 64]",
            "tdpbf16ps tmm1, tmm4, tmm7",
            ".if {is_tall}",
            "tileloadd tmm5, [{a_low} + {a_row}]",
            "tdpbf16ps tmm2, tmm5, tmm6",
            "tdpbf16ps tmm3, tmm5, tmm7",
            "add {a_low}, {a_step}",
            ".endif",
            "add {a}, {a_step}",
            "add {b}, {b_step}",
            "dec {steps}",
            "jnz 4b",
            "5:",
            "tilestored [{out} + {out_row}], tmm0",
            "tilestored [{out} + {out_row} + 64], tmm1",
            ".if {is_tall}",
            "tilestored [{out_low} + {out_row}], tmm2",
            "tilestored [{out_low} + {out_row} + 64], tmm3",
            ".endif",
            is_tall = const (HEIGHT > ROWS) as i32,
            add = in(reg) i32::from(add),
            out = in(reg) out,
            out_low = in(reg) out.wrapping_add(low(out_row)),
            out_row = in(reg) out_row.wrapping_mul(size_of::<f32>()),
            a = inout(reg) work.a => _,
            a_low = inout(reg) work.a.wrapping_add(low(work.a_row)) => _,
            a_row = in(reg) work.a_row.wrapping_mul(size_of::<bf16>()),
            a_step = in(reg) work.a_step.wrapping_mul(size_of::<bf16>()),
            b = inout(reg) b => _,
            // Pairs of a step.
            b_row = in(reg) work.b_step.wrapping_mul(size_of::<bf16>()) / (STEPS / 2),
            b_step = in(reg) work.b_step.wrapping_mul(size_of::<bf16>()),
            steps = inout(reg) work.steps => _,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
}
