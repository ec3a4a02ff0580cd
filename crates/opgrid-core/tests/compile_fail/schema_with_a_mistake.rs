//! A mistake in a schema is shown at the text.
use opgrid_core::operator;

operator! {
    pub Broken = "t::broken(Tensor self, -> Tensor";
}

fn main() {}
