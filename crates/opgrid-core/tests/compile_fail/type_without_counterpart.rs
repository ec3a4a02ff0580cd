//! Types that have no Rust counterpart are refused by name.
use opgrid_core::operator;

operator! {
    pub Wait = "t::wait(Future(int) value) -> ()";
}

fn main() {}
