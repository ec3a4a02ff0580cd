//! Checks the compatibility table: each pair of schemas with what PyTorch 2.15 says in both directions.

use opgrid_schema::{Difference, FunctionSchema, Reason};

fn parse(text: &str) -> FunctionSchema {
    let text = if text.contains("->") { text.to_owned() } else { format!("{text} -> ()") };
    FunctionSchema::parse(&text).expect("a schema")
}

/// Newer, older, backward compatible, forward compatible.
const TABLE: &[(&str, &str, bool, bool)] = &[
    ("f(Tensor a)", "f(Tensor a)", true, true),
    ("f(Tensor a, int b=1)", "f(Tensor a)", true, true),
    ("f(Tensor a, int b)", "f(Tensor a)", false, false),
    ("f(Tensor a)", "f(Tensor a, int b=1)", false, true),
    ("f(Tensor? a)", "f(Tensor a)", true, false),
    ("f(Tensor a)", "f(Tensor? a)", false, true),
    ("f(int a) -> Tensor?", "f(int a) -> Tensor", false, true),
    ("f(int a) -> Tensor", "f(int a) -> Tensor?", true, true),
    ("f(Tensor a, int b)", "f(Tensor a, *, int b)", true, true),
    ("f(Tensor a, *, int b)", "f(Tensor a, int b)", false, false),
    ("f(int a=1)", "f(int a)", true, false),
    ("f(int a=2)", "f(int a=1)", false, false),
    ("f(int a)", "f(int a=1)", false, false),
    ("f(Tensor(a) a)", "f(Tensor a)", false, false),
    ("f(Tensor(a) a)", "f(Tensor(b) a)", false, false),
    ("f(int[2] a)", "f(int[] a)", false, false),
    ("f(int[] a)", "f(int[2] a)", false, false),
    ("f(Scalar a)", "f(int a)", true, false),
    ("f(SymInt a)", "f(int a)", true, true),
    ("f(int[] a)", "f(SymInt[] a)", true, true),
    ("f(ScalarType a)", "f(int a)", true, true),
    ("f(SymBool a)", "f(bool a)", false, false),
    ("f(*, int a, int b)", "f(*, int b, int a)", false, false),
    ("f(Tensor a, int b=1, *, Tensor(x!) o)", "f(Tensor a, *, Tensor(x!) o)", true, true),
    ("f(Tensor a, int[] b=[], *, Tensor(x!) o)", "f(Tensor a, *, Tensor(x!) o)", true, false),
    ("f(Tensor a, *, Tensor(x!) o)", "f(Tensor a, *, Tensor(y!) o)", false, false),
    ("f(Tensor a, *, Tensor(x!) o)", "f(Tensor a)", true, false),
    ("f(Tensor a)", "f(Tensor a, *, Tensor(x!) o)", false, false),
    ("f(Tensor a, int b=1)", "f(Tensor a, *, Tensor(x!) o)", false, false),
    ("g(int a)", "f(int a)", false, false),
    ("f.x(int a)", "f(int a)", false, false),
    ("f(int a, ...)", "f(int a)", false, false),
    ("f(int a) -> ...", "f(int a)", false, false),
    ("f(int a) -> (int, int)", "f(int a) -> int", false, false),
    ("f(int a) -> int b", "f(int a) -> int c", false, true),
    ("f(int a) -> int[2]", "f(int a) -> int[]", false, true),
    ("f(int a) -> Tensor(a)", "f(int a) -> Tensor", false, true),
];

#[test]
fn the_table() {
    for (new, old, backward, forward) in TABLE {
        let (new_schema, old_schema) = (parse(new), parse(old));
        assert_eq!(
            new_schema.is_backward_compatible_with(&old_schema).is_ok(),
            *backward,
            "{new} after {old}, backward"
        );
        assert_eq!(
            new_schema.is_forward_compatible_with(&old_schema).is_ok(),
            *forward,
            "{new} after {old}, forward"
        );
    }
}

fn backward(new: &str, old: &str) -> String {
    parse(new).is_backward_compatible_with(&parse(old)).expect_err("incompatible").to_string()
}

fn forward(new: &str, old: &str) -> String {
    parse(new).is_forward_compatible_with(&parse(old)).expect_err("incompatible").to_string()
}

#[test]
fn reasons_as_text() {
    assert_eq!(
        backward("f(Tensor a, int b)", "f(Tensor a)"),
        "Function schema not backward compatible since the new argument 'b' of type int did not provide a \
         default value."
    );
    assert_eq!(
        forward("f(Tensor a, int b)", "f(Tensor a)"),
        "Function schema is not forward compatible since the new argument 'b' of type int did not provide a \
         default value."
    );
    assert_eq!(
        forward("f(int[] b=[])", "f()"),
        "Function schema is not forward compatible since the new argument 'b' of type int[] has a container type \
         as its default value."
    );
    assert_eq!(
        forward("f(Tensor? b)", "f(Tensor b)"),
        "'b' is not forward compatible with the older version of the schema: it was of type Tensor and is now of \
         type Tensor?"
    );
    assert_eq!(
        forward("f(*, Tensor(a!) o)", "f(*, Tensor(b!) o)"),
        "Out argument 'o' is not forward compatible with the older version of the schema: its alias annotation \
         changed"
    );
    assert_eq!(
        forward("f(*, Tensor(a!) o)", "f()"),
        "Function schema should have the same number of out arguments: the older one has 0, the newer one 1"
    );
    for (new, old, text) in [
        ("g()", "f()", "the operator was named f and is now named g"),
        ("f(...)", "f()", "only one of the schemas has further arguments (...)"),
        ("f()->...", "f()", "only one of the schemas has further returns (...)"),
        ("f()->int", "f()", "the older schema has 0 return(s), the newer one 1"),
        ("f()", "f(int a)", "the older schema has 1 argument(s), the newer one only 0"),
        (
            "f()->int?",
            "f()->int",
            "return 0 is not backward compatible: it was of type int and is now of type int?",
        ),
    ] {
        assert_eq!(backward(new, old), text);
    }
    for (new, old, text) in [
        ("f(int b)", "f(int a)", "it was named 'a' and is now named 'b'"),
        ("f(int[2] b)", "f(int[] b)", "it had no size and has now size 2"),
        ("f(*, int b)", "f(int b)", "it was positional and is now keyword-only"),
        ("f(int b)", "f(int b=1)", "its default was 1 and is now none"),
        ("f(int b=2)", "f(int b=1)", "its default was 1 and is now 2"),
    ] {
        let full = format!("'b' is not backward compatible with the older version of the schema: {text}");
        assert_eq!(backward(new, old), full);
    }
}

#[test]
fn all_reasons_are_given_as_data() {
    let (new, old) = (parse("f(int a, float b=2.0, *, int c)"), parse("f(Tensor a, float b=1.0)"));
    let incompatibility = new.is_backward_compatible_with(&old).expect_err("incompatible");
    let reasons = incompatibility.reasons();
    assert_eq!(reasons.len(), 3);
    assert!(
        matches!(&reasons[0], Reason::BackwardArgument { name, difference: Difference::Type(..) } if name == "a")
    );
    assert!(
        matches!(&reasons[1], Reason::BackwardArgument { name, difference: Difference::Default(..) } if name == "b")
    );
    assert!(matches!(&reasons[2], Reason::BackwardNoDefault { name, .. } if name == "c"));
    assert_eq!(incompatibility.to_string().lines().count(), 3);
}
