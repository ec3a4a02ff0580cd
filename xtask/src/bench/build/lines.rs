//! Reads what `cargo llvm-lines` prints: how much the compiler gives to LLVM, and whose it is.

use crate::failure::Failure;

/// Lines of LLVM's language.
#[derive(Debug, PartialEq)]
pub struct Lines {
    pub all: u64,
    /// Lines of functions of `opgrid-core`: its generics, which are compiled in the crates that use them.
    pub core: u64,
}

impl Lines {
    /// Adds up the lines of a report: a number of lines and one of copies, then the function.
    ///
    /// # Errors
    /// There is no line with the total.
    pub fn read(printed: &str) -> Result<Self, Failure> {
        let mut lines = Self { all: 0, core: 0 };
        let mut has_total = false;
        for (count, function) in printed.lines().filter_map(row) {
            match function {
                "(TOTAL)" => (lines.all, has_total) = (count, true),
                function if is_of_core(function) => lines.core += count,
                _ => {}
            }
        }
        // A crate of types and constants has no functions: its total is 0.
        if !has_total {
            return Err(Failure::new("cargo llvm-lines printed no total"));
        }
        Ok(lines)
    }
}

/// The lines and the name of one row; shares stand in parentheses behind each number.
fn row(line: &str) -> Option<(u64, &str)> {
    let (count, rest) = line.trim_start().split_once(' ')?;
    let count = count.parse().ok()?;
    let function = if rest.trim_start().starts_with('(') {
        rest.splitn(3, ") ").nth(2)?
    } else {
        rest.trim_start().split_once(' ')?.1
    };
    Some((count, function.trim()))
}

/// Whether a function is written in `opgrid-core`: it stands in one of its modules, or is that of a trait from there.
fn is_of_core(function: &str) -> bool {
    function.trim_start_matches(['<', '&']).starts_with("opgrid_core::")
        || function.contains(" as opgrid_core::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_and_the_share_of_the_core_are_read() {
        let printed = "\
  Lines                  Copies               Function name
  -----                  ------               -------------
  1000                   50                   (TOTAL)
   300 (30.0%, 30.0%)     4 (8.0%,  8.0%)  opgrid_core::calling::call::watch
   200 (20.0%, 50.0%)     3 (6.0%, 14.0%)  <fn(A) -> B as opgrid_core::signatures::signature::Signature>::pack
   100 (10.0%, 60.0%)     3 (6.0%, 20.0%)  <opgrid_core::values::value::Value as core::clone::Clone>::clone
    50 (5.0%, 65.0%)      1 (2.0%, 22.0%)  opgrid_tensor::kernels::iter::walk
";
        assert_eq!(Lines::read(printed).unwrap(), Lines { all: 1000, core: 600 });
    }

    #[test]
    fn a_report_without_a_total_is_refused() {
        assert!(Lines::read("error: nothing\n").is_err());
    }
}
