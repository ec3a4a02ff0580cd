//! Finds the instructions of an object file that lock the memory bus.
//!
//! On x86-64 these are instructions with the `lock` prefix, exchanges with memory (which lock without it) and the
//! full fence, which costs the same.

use crate::failure::Failure;
use crate::workspace::output;
use std::collections::BTreeMap;
use std::process::Command;

/// A locked instruction of an object file.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// As the assembler writes it.
    pub text: String,
    /// The symbol in front of it.
    pub function: String,
}

/// A locked instruction that was executed.
#[derive(Debug)]
pub struct Locked {
    /// Which one.
    pub instruction: Instruction,
    /// How often it ran, per call.
    pub per_call: f64,
}

/// The locked instructions of an object file, by address.
///
/// # Errors
/// `objdump` is missing or cannot read the file.
pub fn locked_instructions(object: &str) -> Result<BTreeMap<u64, Instruction>, Failure> {
    let mut command = Command::new("objdump");
    command.args(["--disassemble", "--demangle", "--no-show-raw-insn", "-M", "att", object]);
    let listing = output(&mut command).map_err(|failure| {
        Failure::new(format!("{failure}; objdump belongs to the package binutils, install it"))
    })?;
    Ok(parse(&listing))
}

/// Reads a listing of `ADDRESS <SYMBOL>:` headings and `ADDRESS:\tINSTRUCTION` lines.
fn parse(listing: &str) -> BTreeMap<u64, Instruction> {
    let mut found = BTreeMap::new();
    let mut function = "";
    for line in listing.lines() {
        if let Some(symbol) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
            function = symbol.1;
        } else if let Some((address, text)) = line.split_once(":\t") {
            let text = text.split(['#', '<']).next().unwrap_or(text).trim();
            let address = u64::from_str_radix(address.trim(), 16);
            if let (Ok(address), true) = (address, is_locked(text)) {
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                found.insert(address, Instruction { text, function: function.to_string() });
            }
        }
    }
    found
}

fn is_locked(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let mnemonic = words.next().unwrap_or_default();
    let operands = words.collect::<Vec<_>>().join(" ");
    // A second word `lock` follows the hint prefixes `xacquire` and `xrelease`.
    let has_prefix = mnemonic == "lock" || operands.starts_with("lock ");
    // Registers begin with `%`; everything else an exchange can name is in memory.
    let exchanges_memory = mnemonic.starts_with("xchg") && operands.contains(['(', ':']);
    has_prefix || exchanges_memory || mnemonic == "mfence"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locked_instructions_are_told_from_others() {
        for text in [
            "lock incq (%rsi)",
            "lock orl $0x0,-0x40(%rsp)",
            "xacquire lock cmpxchg %rcx,(%rdi)",
            "xchg   %rax,0x432a7(%rip)",
            "xchg   %eax,(%rbx)",
            "xchg   %eax,%fs:0x10",
            "mfence",
        ] {
            assert!(is_locked(text), "{text}");
        }
        for text in
            ["xchg   %ax,%ax", "xchg   %r8,%rax", "mov    (%rax),%rbx", "lfence", "cmpxchg %rcx,(%rdi)", ""]
        {
            assert!(!is_locked(text), "{text}");
        }
    }

    #[test]
    fn a_listing_gives_address_text_and_function() {
        let listing = "\na.out:     file format elf64-x86-64\n\nDisassembly of section .text:\n\n\
            0000000000014e00 <a::clone>:\n   14e00:\tlock add %r14,0x432e8(%rip)        # 580f0 <a::A>\n   14e08:\tret\n\n\
            0000000000014e10 <a::swap<T>>:\n   14e10:\txchg   %rax,(%rbx)\n";
        let found = parse(listing);
        let instruction =
            |text: &str, function: &str| Instruction { text: text.into(), function: function.into() };
        let expected = [
            (0x14e00, instruction("lock add %r14,0x432e8(%rip)", "a::clone")),
            (0x14e10, instruction("xchg %rax,(%rbx)", "a::swap<T>")),
        ];
        assert_eq!(found, BTreeMap::from(expected));
    }
}
