//! Checks that megabytes of nonsense give an error in linear time and without deep recursion.

use std::time::{Duration, Instant};

use opgrid_schema::{FunctionSchema, ParseErrorKind, Type};

const LONG: usize = 1 << 20;

/// Far more than linear time needs, far less than quadratic time takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn kind(text: &str) -> Option<ParseErrorKind> {
    let start = Instant::now();
    // A small stack, so that recursion along the text would be noticed.
    let outcome = std::thread::scope(|scope| {
        let parse = || FunctionSchema::parse(text).err().map(|error| (error.kind(), error.to_string().len()));
        let thread = std::thread::Builder::new().stack_size(256 * 1024).spawn_scoped(scope, parse);
        thread.expect("a thread starts").join().expect("parsing does not panic")
    });
    assert!(start.elapsed() < PATIENCE);
    outcome.map(|(kind, length)| {
        assert!(length < 5_000, "the message has {length} bytes");
        kind
    })
}

#[test]
fn deep_nesting_is_an_error() {
    for open in ["(", "Future(", "Dict(str, ", "Union(int, ", "(Tensor, "] {
        assert_eq!(kind(&format!("f({}", open.repeat(LONG))), Some(ParseErrorKind::TooDeep), "{open}");
    }
    assert_eq!(kind(&format!("f(int{} x) -> ()", "[]".repeat(LONG))), Some(ParseErrorKind::TooDeep));
    assert_eq!(kind(&format!("f(int{} x) -> ()", "[]?".repeat(LONG))), Some(ParseErrorKind::TooDeep));
}

#[test]
fn long_texts_without_nesting() {
    for (text, expected) in [
        ("(".repeat(LONG), Some(ParseErrorKind::UnexpectedToken)),
        (format!("f(int{} x) -> ()", "[".repeat(LONG)), Some(ParseErrorKind::UnexpectedToken)),
        (format!("f(int{} x) -> ()", "?".repeat(LONG)), None),
        (format!("f({}) -> ()", vec!["int x"; LONG / 4].join(", ")), None),
        (format!("f(Tensor({}) x) -> ()", names("|")), None),
        (format!("f(({}) x) -> ()", names(", ")), None),
        (format!("f(Union({}) x) -> ()", names(", ")), Some(ParseErrorKind::InvalidType)),
        (format!("f(int[] x=[{}]) -> ()", vec!["1"; LONG].join(",")), None),
        (format!("f(str x='{}') -> ()", r"\n".repeat(LONG)), None),
        (format!("f(str x='{}) -> ()", "a".repeat(LONG)), Some(ParseErrorKind::UnexpectedToken)),
        (format!("f(float x={}) -> ()", "1".repeat(LONG)), Some(ParseErrorKind::InvalidDefault)),
        (format!("f(float x=0x{}) -> ()", "1".repeat(LONG)), Some(ParseErrorKind::InvalidDefault)),
        ("\n".repeat(LONG), Some(ParseErrorKind::UnexpectedToken)),
        ("'".repeat(LONG), Some(ParseErrorKind::UnexpectedToken)),
        ("é".repeat(LONG), Some(ParseErrorKind::UnexpectedToken)),
        ("*".repeat(LONG), Some(ParseErrorKind::UnexpectedToken)),
        (format!("f({}) -> ()", "*,".repeat(LONG)), Some(ParseErrorKind::UnexpectedToken)),
    ] {
        assert_eq!(kind(&text), expected, "{}…", text.chars().take(30).collect::<String>());
    }
}

fn names(separator: &str) -> String {
    let names: Vec<_> = (0..LONG / 8).map(|number| format!("n{number}")).collect();
    names.join(separator)
}

#[test]
fn the_limit_is_64_levels() {
    let lists = |levels: usize| Type::parse(&format!("int{}", "[]".repeat(levels)));
    assert!(lists(64).is_ok());
    assert_eq!(lists(65).map_err(|error| error.kind()), Err(ParseErrorKind::TooDeep));
    let tuples = |levels: usize| Type::parse(&format!("{}int{}", "(".repeat(levels), ")".repeat(levels)));
    assert!(tuples(64).is_ok());
    assert_eq!(tuples(65).map_err(|error| error.kind()), Err(ParseErrorKind::TooDeep));
    let sized = |levels: usize| FunctionSchema::parse(&format!("f(int{}[2] x) -> ()", "[]".repeat(levels)));
    assert!(sized(63).is_ok());
    assert_eq!(sized(64).map_err(|error| error.kind()), Err(ParseErrorKind::TooDeep));
    let mixed = format!("{}int{}", "(".repeat(40), "[])".repeat(40));
    assert_eq!(Type::parse(&mixed).map_err(|error| error.kind()), Err(ParseErrorKind::TooDeep));
}

#[test]
fn every_prefix_of_a_schema_is_handled() {
    let text = "ns::f.o(Tensor(a! -> b|*)[2](c)? x=None, str s='\\101é', *, Dict(str, (int, Any?)) d) -> (int[] r, ...)";
    for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
        let error = FunctionSchema::parse(&text[..end]).expect_err("a prefix is no schema");
        assert!(error.span().end <= end && error.line() == 1 && !error.to_string().is_empty());
    }
    assert!(FunctionSchema::parse(text).is_ok());
}
