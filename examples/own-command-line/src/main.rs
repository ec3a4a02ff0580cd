//! A command line with operators of one's own: every command of `opgrid` sees them beside those that are there.
//!
//! ```text
//! $ cargo run -p own-command-line -- call mine::hypot [3,4]:f32 [4,3]:f32
//! tensor([5., 5.])
//! $ cargo run -p own-command-line -- explain mine::hypot cpu+grad cpu
//! $ cargo run -p own-command-line -- lint --namespace mine
//! $ cargo run -p own-command-line -- grid --namespace mine --out grid.html
//! ```

use std::process::ExitCode;

use opgrid::prelude::*;

operator! {
    /// The length of the third side of right triangles.
    pub Hypot = "mine::hypot(Tensor self, Tensor other) -> Tensor";
}

/// `sqrt(self * self + other * other)`: made of operators that are there, it has their derivatives and runs on every backend.
fn hypot(input: &Tensor, other: &Tensor) -> Result<Tensor> {
    input.mul(input)?.add(&other.mul(other)?)?.sqrt()
}

fn main() -> ExitCode {
    opgrid_cli::run(|dispatcher| {
        let mut library = dispatcher.library("mine");
        library.define(Hypot).kernel(DispatchKey::CompositeImplicitAutograd, hypot);
        library.finish()
    })
}
