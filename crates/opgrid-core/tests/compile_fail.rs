//! What the compiler must refuse, and what it says then.

#[test]
fn mistakes_are_refused_where_they_stand() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
