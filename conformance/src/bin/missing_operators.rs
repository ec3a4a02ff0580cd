//! Prints PyTorch's operators that are not registered; `cargo xtask conformance missing-operators` starts this.
#![forbid(unsafe_code)]

fn main() -> opgrid_core::Result<()> {
    print!("{}", opgrid_conformance::missing::page()?);
    Ok(())
}
