//! Prints every decided difference from PyTorch; `cargo xtask conformance differences` starts this.
#![forbid(unsafe_code)]

fn main() {
    print!("{}", opgrid_conformance::differences::page());
}
