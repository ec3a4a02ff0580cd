//! The tests that need no process of their own, as one program, so that there is one to link.

use opgrid_operators as _;

use std::sync::{Arc, Mutex, OnceLock};

use opgrid_plugin::{Level, on_message};

#[path = "../common/mod.rs"]
mod common;

mod attacks;
mod fuzz;
mod plugins;
mod table;
mod threads;

/// What plugins said.
type Heard = Arc<Mutex<Vec<(Level, String)>>>;

/// What plugins of all tests say, from the first call on.
fn heard() -> Heard {
    static HEARD: OnceLock<Heard> = OnceLock::new();
    let heard = HEARD.get_or_init(|| {
        let heard = Heard::default();
        let keep = heard.clone();
        on_message(move |message| keep.lock().unwrap().push((message.level, message.to_string())));
        heard
    });
    heard.clone()
}
