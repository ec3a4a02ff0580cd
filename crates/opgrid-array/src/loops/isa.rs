//! Which instructions loops and products are run with: those of the processor, or fewer.

use std::fmt;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// The levels of instructions that loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isa {
    /// What every processor of the target has; where the target is x86-64, vectors of 128 bits.
    Any,
    /// x86-64-v3: vectors of 256 bits and fused multiplication (AVX2).
    V3,
    /// x86-64-v4: vectors of 512 bits (AVX-512), for loops that gain by them.
    V4,
}

impl Isa {
    /// By the name that `OPGRID_ISA` has for it.
    fn named(name: &str) -> Option<Self> {
        match name {
            "v2" => Some(Self::Any),
            "v3" => Some(Self::V3),
            "v4" => Some(Self::V4),
            _ => None,
        }
    }

    /// What the processor has.
    #[cfg(target_arch = "x86_64")]
    fn of_processor() -> Self {
        let v3 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("movbe")
            && is_x86_feature_detected!("popcnt");
        let v4 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        match (v3, v4) {
            (true, true) => Self::V4,
            (true, false) => Self::V3,
            (false, _) => Self::Any,
        }
    }

    /// What the processor has.
    #[cfg(not(target_arch = "x86_64"))]
    fn of_processor() -> Self {
        Self::Any
    }

    /// What is used: at most what the processor has, and no more than `asked`, with what to say of a wish that cannot be
    /// granted.
    fn chosen(has: Self, asked: Option<&str>) -> (Self, Option<String>) {
        let Some(asked) = asked else { return (has, None) };
        let refused = match Self::named(asked) {
            Some(level) if level <= has => return (level, None),
            Some(_) => "more than the processor has",
            None => "expected v2, v3 or v4",
        };
        (has, Some(format!("OPGRID_ISA: found `{asked}`, {refused}; {has} is used")))
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any if cfg!(target_arch = "x86_64") => "x86-64-v2",
            Self::Any => std::env::consts::ARCH,
            Self::V3 => "x86-64-v3",
            Self::V4 => "x86-64-v4",
        })
    }
}

/// Which instructions loops are run with. The environment variable `OPGRID_ISA` (`v2`, `v3`, `v4`), read at the first call,
/// chooses fewer than the processor has; one that cannot be granted is told on standard error once.
///
/// # Examples
///
/// ```
/// use opgrid_array::loops::{Isa, isa};
///
/// assert!(isa() >= Isa::Any);
/// assert_eq!(Isa::V3.to_string(), "x86-64-v3");
/// ```
#[inline]
pub fn isa() -> Isa {
    /// 0 until the processor was asked.
    static KNOWN: AtomicU8 = AtomicU8::new(0);

    #[cold]
    fn ask() -> Isa {
        let asked = std::env::var("OPGRID_ISA").ok();
        let (chosen, refusal) = Isa::chosen(Isa::of_processor(), asked.as_deref());
        let is_first = KNOWN.swap(chosen as u8 + 1, Relaxed) == 0;
        if let Some(refusal) = refusal.filter(|_| is_first) {
            eprintln!("{refusal}");
        }
        chosen
    }

    match KNOWN.load(Relaxed) {
        0 => ask(),
        1 => Isa::Any,
        2 => Isa::V3,
        _ => Isa::V4,
    }
}

/// Bytes of the second-level cache of a core; a megabyte where the processor does not say, or says what is unlikely.
pub fn second_cache() -> usize {
    const USUAL: usize = 1 << 20;
    static BYTES: LazyLock<usize> = LazyLock::new(|| {
        #[cfg(target_arch = "x86_64")]
        let said =
            caches().find(|(level, holds_data, _)| *level == 2 && *holds_data).map(|(.., bytes)| bytes);
        #[cfg(not(target_arch = "x86_64"))]
        let said = None;
        said.filter(|bytes| (128 << 10..=16 << 20).contains(bytes)).unwrap_or(USUAL)
    });
    *BYTES
}

/// The processor's caches: level, whether they hold data, and bytes.
///
/// Source: Intel, Software Developer's Manual, volume 2, `CPUID`, leaf 4; AMD, Architecture Programmer's Manual, volume 3, leaf
/// 8000001D, which is in the same form.
#[cfg(target_arch = "x86_64")]
fn caches() -> impl Iterator<Item = (u32, bool, usize)> {
    use std::arch::x86_64::{__cpuid, __cpuid_count};

    let has_amd_leaf = __cpuid(0x8000_0000).eax >= 0x8000_001d && __cpuid(0x8000_0001).ecx >> 22 & 1 == 1;
    let leaf = if has_amd_leaf { Some(0x8000_001d) } else { (__cpuid(0).eax >= 4).then_some(4) };
    let parts = (0..8).map_while(move |number| leaf.map(|leaf| __cpuid_count(leaf, number)));
    parts.take_while(|part| part.eax & 0x1f != 0).map(|part| {
        let (kind, level) = (part.eax & 0x1f, part.eax >> 5 & 7);
        let [line, partitions, ways] = [part.ebx & 0xfff, part.ebx >> 12 & 0x3ff, part.ebx >> 22];
        let bytes =
            [line, partitions, ways, part.ecx].into_iter().map(|less_one| less_one as usize + 1).product();
        // Data, instructions, both.
        (level, kind != 2, bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_what_the_system_says() {
        let second = second_cache();
        assert!((128 << 10..=16 << 20).contains(&second), "{second}");
        // Cores may differ.
        let of_core = |core: usize| -> Option<usize> {
            let path = format!("/sys/devices/system/cpu/cpu{core}/cache/index2/size");
            let kibibytes =
                std::fs::read_to_string(path).ok()?.trim().strip_suffix('K')?.parse::<usize>().ok()?;
            Some(kibibytes << 10)
        };
        let said: Vec<usize> = (0..64).filter_map(of_core).collect();
        assert!(said.is_empty() || said.contains(&second), "{second}, said {said:?}");
    }

    #[test]
    fn fewer_instructions_can_be_asked_for() {
        assert_eq!(Isa::chosen(Isa::V4, None), (Isa::V4, None));
        assert_eq!(Isa::chosen(Isa::V4, Some("v2")), (Isa::Any, None));
        assert_eq!(Isa::chosen(Isa::V3, Some("v3")), (Isa::V3, None));
        let (chosen, refusal) = Isa::chosen(Isa::V3, Some("v4"));
        assert_eq!(
            (chosen, refusal.is_some_and(|text| text.contains("than the processor has"))),
            (Isa::V3, true)
        );
        let (chosen, refusal) = Isa::chosen(Isa::V3, Some("avx2"));
        assert_eq!(
            (chosen, refusal.is_some_and(|text| text.contains("expected v2, v3 or v4"))),
            (Isa::V3, true)
        );
    }
}
