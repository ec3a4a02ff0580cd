//! Which generator of machine code there is on this machine.

use crate::assembler::Assemble;
use crate::level::Level;

impl Level {
    /// The best level of the processor, within the instructions that [`opgrid_array::loops::isa()`] allows; the interpreter in builds
    /// without the feature `machine-code`, on other systems than Linux, and where the system refuses executable memory.
    pub fn best() -> Self {
        #[cfg(all(feature = "machine-code", target_arch = "x86_64", target_os = "linux"))]
        return crate::x86::best_level();
        #[cfg(not(all(feature = "machine-code", target_arch = "x86_64", target_os = "linux")))]
        Self::Interpreter
    }
}

/// The generator for a level that is not above the best one.
pub(crate) fn for_level(level: Level) -> Option<Box<dyn Assemble>> {
    #[cfg(all(feature = "machine-code", target_arch = "x86_64", target_os = "linux"))]
    return crate::x86::assembler(level);
    #[cfg(not(all(feature = "machine-code", target_arch = "x86_64", target_os = "linux")))]
    {
        let _ = level;
        None
    }
}
