//! Names that nobody registered, however long and strange.

use std::time::{Duration, Instant};

use opgrid_core::{Dispatcher, ErrorKind};

#[test]
fn names_that_nobody_registered_are_errors_and_take_no_time() {
    let dispatcher = Dispatcher::new();
    let mut library = dispatcher.library("b");
    for place in 0..2_000 {
        library.define(&*format!("function_number_{place}(int x) -> int"));
    }
    let _registration = library.finish().unwrap();
    let long = ["é", "x"].map(|letter| format!("b::{}", letter.repeat(20_000)));
    let start = Instant::now();
    let texts = [
        "",
        ".",
        "::",
        "a::",
        "::a",
        "a::b::c",
        "a::b.",
        "\0",
        "a::b c",
        "é::é",
        "a::b\n",
        "b::function_numbe",
        &long[0],
        &long[1],
    ];
    for text in texts {
        let error = dispatcher.find(text).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Schema | ErrorKind::Unknown), "{text:.40?}: {error:.200}");
        assert!(!error.to_string().is_empty());
    }
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    let error = dispatcher.find("b::function_numbe").unwrap_err().to_string();
    assert!(error.contains("did you mean b::function_number_"), "{error}");
}
