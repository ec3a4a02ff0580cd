//! The tests that need no process of their own, as one program, so that there is one to link.

use std::sync::Once;

use opgrid::layers::modes;

mod functional;
mod transforms;

/// The layers, for the whole process.
fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let dispatcher = opgrid::dispatcher().unwrap();
        opgrid_transforms::install(dispatcher).unwrap().keep();
        modes::install(dispatcher).unwrap().keep();
    });
}
