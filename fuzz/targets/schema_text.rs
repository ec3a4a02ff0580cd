//! Any text: reading it gives a schema or an error with a place, and what is written reads back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use opgrid_schema::{Declaration, FunctionSchema, OperatorName, ParseOptions, Type};

fuzz_target!(|text: &str| {
    check_type(text);
    if let Ok(name) = OperatorName::parse(text) {
        assert_eq!(OperatorName::parse(&name.to_string()), Ok(name));
    }
    match Declaration::parse(text) {
        Ok(Declaration::Schema(schema)) => check_schema(text, &schema),
        Ok(Declaration::Name(_)) => {}
        Err(error) => {
            assert!(text.get(error.span()).is_some(), "the place of an error lies outside of the text");
            assert!(error.line() >= 1 && error.column() >= 1 && !error.to_string().is_empty());
        }
    }
    let strict = ParseOptions { strict: true, ..ParseOptions::default() };
    if let Ok(schema) = FunctionSchema::parse_with(text, &strict) {
        assert_eq!(FunctionSchema::parse(text), Ok(schema), "strictness changes what is read");
    }
});

fn check_schema(text: &str, schema: &FunctionSchema) {
    let alternate = format!("{schema:#}");
    let again = FunctionSchema::parse(&alternate);
    assert_eq!(again.as_ref(), Ok(schema), "{text:?} was written {alternate:?}");
    // The canonical form leaves out what torch leaves out; where it reads back it is a fixed point.
    let canonical = schema.to_string();
    if let Ok(again) = FunctionSchema::parse(&canonical) {
        assert_eq!(again.to_string(), canonical);
    }
    assert_eq!(schema.is_backward_compatible_with(schema), Ok(()));
    assert_eq!(schema.is_forward_compatible_with(schema), Ok(()));
}

fn check_type(text: &str) {
    let Ok(read) = Type::parse(text) else { return };
    assert_eq!(Type::parse(&read.to_string()).as_ref(), Ok(&read), "{text:?}");
    assert!(read.is_subtype_of(&read) && read.is_subtype_of(&Type::Any));
    assert_eq!(read.fake().fake(), read.fake());
    assert!(!read.python_name().is_empty());
}
