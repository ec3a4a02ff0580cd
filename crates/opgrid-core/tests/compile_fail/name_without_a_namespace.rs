//! An overload belongs to a namespace: no library could define it otherwise.
use opgrid_core::operator;

operator! {
    pub WithoutNamespace = "without_namespace(Tensor self) -> Tensor";
}

fn main() {}
