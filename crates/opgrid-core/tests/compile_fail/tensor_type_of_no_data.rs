//! What stands behind a tensor type has to describe itself.

use opgrid_core::tensor_type;

struct Mine;

tensor_type! {
    pub struct Handle(Mine);
}

fn main() {}
