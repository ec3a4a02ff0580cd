//! Where the boxes of a drawn graph lie: the unit tests of a file that needs nothing of its crate.

#[path = "../../../opgrid-tensor/src/layers/autograd/graph/layout.rs"]
mod layout;
