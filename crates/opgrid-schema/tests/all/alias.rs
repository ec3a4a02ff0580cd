//! Checks what alias annotations say about arguments and returns.

use opgrid_schema::{AliasAnalysis, AliasInfo, FunctionSchema, SchemaValue};

use SchemaValue::{Argument, Return};

fn parse(text: &str) -> FunctionSchema {
    FunctionSchema::parse(text).expect(text)
}

#[test]
fn writes() {
    let schema = parse("f(Tensor(a!) x, Tensor(b) y, Tensor z, *, Tensor(c!)[] out) -> Tensor(a!)");
    assert!(schema.is_mutable() && schema.has_any_alias_info());
    let writes: Vec<_> = (0..5).map(|index| schema.is_mutable_at(index)).collect();
    assert_eq!(writes, [true, false, false, true, false]);
    assert_eq!((schema.is_mutable_named("x"), schema.is_mutable_named("y")), (Ok(true), Ok(false)));
    let unknown = schema.is_mutable_named("w").expect_err("no such argument");
    assert_eq!(unknown.to_string(), format!("no argument is named `w`; the schema is {schema}"));
    let outs: Vec<_> = schema.arguments.iter().map(opgrid_schema::Argument::is_out).collect();
    assert_eq!(outs, [false, false, false, true]);
    assert!(
        schema.is_aliasing(Argument(1)) && !schema.is_aliasing(Argument(2)) && !schema.is_aliasing(Return(9))
    );
    let plain = parse("f(Tensor x) -> Tensor(a!)");
    assert!(!plain.is_mutable() && plain.has_any_alias_info());
}

#[test]
fn sets_before_and_after() {
    let schema = parse("f(Tensor(a! -> b|*) x, Tensor! y, Tensor(c)[](d) z) -> ()");
    let alias = |index: usize| schema.arguments[index].alias.clone().expect("annotated");
    assert_eq!(
        (alias(0).before, alias(0).after),
        (vec!["a".to_owned()], vec!["b".to_owned(), "*".to_owned()])
    );
    assert!(!alias(0).is_wildcard_before() && alias(0).is_wildcard_after() && alias(0).is_write);
    assert_eq!((alias(1).before, alias(1).after), (vec!["$0".to_owned()], vec![]));
    assert_eq!(
        alias(2),
        AliasInfo { contained: vec![AliasInfo::new("c", false)], ..AliasInfo::new("d", false) }
    );
}

/// Annotations inside of tuples are not kept, and the sets of those that are kept are numbered as if the others were not
/// there.
#[test]
fn unnamed_sets_are_numbered_by_what_is_kept() {
    let schema = parse("f((Tensor!, int) x, Tensor! y) -> ((Tensor!), Tensor!)");
    assert_eq!(
        schema.arguments[1].alias.as_ref().map(|alias| alias.before.clone()),
        Some(vec!["$0".to_owned()])
    );
    assert_eq!(
        schema.returns[1].alias.as_ref().map(|alias| alias.before.clone()),
        Some(vec!["$1".to_owned()])
    );
    assert_eq!(parse(&format!("{schema:#}")), schema);
}

#[test]
fn a_list_of_written_elements_is_written() {
    let schema = parse("f(Tensor(a!)[] x, Tensor(a!)[](b) y) -> ()");
    assert!(schema.is_mutable_at(0) && !schema.is_mutable_at(1));
}

#[test]
fn equality_ignores_the_order_of_sets_and_the_analysis() {
    let (one, other) = (parse("f(Tensor(a|b) x) -> ()"), parse("f(Tensor(b|a) x) -> ()"));
    assert_eq!(one, other);
    assert_ne!(one, parse("f(Tensor(a|c) x) -> ()"));
    assert_ne!(one, parse("f(Tensor(a|b!) x) -> ()"));
    let analysed = FunctionSchema { alias_analysis: Some(AliasAnalysis::PureFunction), ..one.clone() };
    assert_eq!(one, analysed);
    assert_eq!(one.alias_analysis_or_default(), AliasAnalysis::Conservative);
    assert_eq!(analysed.alias_analysis_or_default(), AliasAnalysis::PureFunction);
    let names = [
        (AliasAnalysis::InternalSpecialCase, "INTERNAL_SPECIAL_CASE"),
        (AliasAnalysis::Conservative, "CONSERVATIVE"),
        (AliasAnalysis::FromSchema, "FROM_SCHEMA"),
        (AliasAnalysis::PureFunction, "PURE_FUNCTION"),
    ];
    names.iter().for_each(|(analysis, name)| assert_eq!(analysis.to_string(), *name));
}

#[test]
fn may_alias_needs_a_common_set_and_types_that_share() {
    let schema =
        parse("f(Tensor(a) x, Tensor(b -> a) y, int(a) n, Tensor(a)? o, Tensor[](a) l) -> Tensor(a)");
    for (argument, expected) in [(0, true), (1, true), (2, false), (3, true), (4, false)] {
        assert_eq!(schema.may_alias(Argument(argument), Return(0)), expected, "argument {argument}");
    }
    // DIFFERENCE: PyTorch compares list types by identity, so that two equal ones never share.
    let lists = parse("f(Tensor[](a) x) -> Tensor[](a)");
    assert!(lists.may_alias(Argument(0), Return(0)));
    let plain = parse("f(Tensor x, Tensor(b) y) -> Tensor(a)");
    assert!(!plain.may_alias(Argument(0), Return(0)) && !plain.may_alias(Argument(1), Return(0)));
    assert!(!plain.may_alias(Argument(7), Return(0)));
}

#[test]
fn may_contain_alias_looks_into_containers() {
    let schema =
        parse("f(Tensor(a -> *) x, Tensor(b) y, int n) -> (Tensor[], Dict(str, int), (Tensor, int))");
    assert!(schema.may_contain_alias(Argument(0), Return(0)));
    assert!(schema.may_contain_alias(Return(0), Argument(0)));
    assert!(!schema.may_contain_alias(Argument(0), Return(1)));
    assert!(schema.may_contain_alias(Argument(0), Return(2)));
    assert!(!schema.may_contain_alias(Argument(1), Return(0)));
    assert!(!schema.may_contain_alias(Argument(2), Return(0)));
    // Two lists of tensors may hold the same tensor.
    assert!(schema.may_contain_alias(Return(0), Return(2)));
}
