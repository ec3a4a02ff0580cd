//! Checks every recorded schema text against PyTorch's printed form or error.

use opgrid_schema::{FunctionSchema, ParseOptions};
use serde_json::Value;

/// Where opgrid differs on purpose, with what it does instead.
const DIFFERENCES: &[(&str, Outcome)] = &[
    // DIFFERENCE: alias sets print in the order written, not in hash order.
    ("foo(Tensor(a! -> a|b) x) -> Tensor(a|b)", Ok("foo(Tensor(a! -> a|b) x) -> Tensor(a|b)")),
    ("foo(Tensor(a|b) x)->()", Ok("foo(Tensor(a|b) x) -> ()")),
    ("foo(Tensor(a|b!) x)->()", Ok("foo(Tensor(a|b!) x) -> ()")),
    // DIFFERENCE: a real default of a complex argument keeps its value.
    ("foo(complex x=1.5)->()", Ok("foo(complex x=1.5+0.j) -> ()")),
    // DIFFERENCE: the members of a union keep their order.
    ("foo(Union(int, Tensor) x)->()", Ok("foo(Union(int, Tensor) x) -> ()")),
    // DIFFERENCE: numbers out of range are an error that says so and where.
    (
        "foo(int x=9223372036854775808)->()",
        Err("the number 9223372036854775808 is too large or too close to zero for 64 bits"),
    ),
    // DIFFERENCE: defaults that are no finite number, lists of strings, and lists for optional ones are read.
    ("foo(float x=inf)->()", Ok("foo(float x=inf) -> ()")),
    ("foo(float x=-inf)->()", Ok("foo(float x=-inf) -> ()")),
    ("foo(float x=nan)->()", Ok("foo(float x=nan) -> ()")),
    ("foo(str[] x=['a','b'])->()", Ok("foo(str[] x=[\"a\", \"b\"]) -> ()")),
    ("foo(Tensor[] x=[])->()", Ok("foo(Tensor[] x=[]) -> ()")),
    ("foo(int[2]? x=[1,2])->()", Ok("foo(int[2]? x=[1, 2]) -> ()")),
    ("foo(float x=1e-320)->()", Err("the number 1e-320 is too large or too close to zero for 64 bits")),
];

type Outcome = Result<&'static str, &'static str>;

fn cases() -> Vec<Value> {
    let text = include_str!("../vectors/schema_cases.json");
    let document: Value = serde_json::from_str(text).expect("the vectors are JSON");
    document["cases"].as_array().expect("the vectors have a list of cases").clone()
}

fn parse(text: &str) -> Result<FunctionSchema, String> {
    let options = ParseOptions { custom_class: Some(&|_| false), ..ParseOptions::default() };
    FunctionSchema::parse_with(text, &options).map_err(|error| error.to_string())
}

/// The part of a recorded message that is not about the reference's own sources.
fn essential(message: &str) -> &str {
    if message.contains("INTERNAL ASSERT") {
        return "Non-default positional argument follows default argument. Parameter ";
    }
    message.split(';').next().unwrap_or(message)
}

#[test]
fn all_recorded_cases() {
    let cases = cases();
    assert_eq!(cases.len(), 244);
    let mut wrong = Vec::new();
    for case in &cases {
        let text = case["schema"].as_str().expect("a case has a schema");
        let found = parse(text);
        let found_text = found.as_ref().map(ToString::to_string).map_err(String::clone);
        let expected = match DIFFERENCES.iter().find(|(known, _)| *known == text) {
            Some((_, outcome)) => outcome.map(str::to_owned).map_err(str::to_owned),
            None if case["ok"] == true => Ok(case["printed"].as_str().expect("printed").to_owned()),
            None => Err(essential(case["error"].as_str().expect("error")).to_owned()),
        };
        let agrees = match (&found_text, &expected) {
            (Ok(found), Ok(expected)) => found == expected,
            (Err(found), Err(expected)) => found.starts_with(expected.as_str()),
            _ => false,
        };
        if !agrees {
            wrong.push(format!("{text:?}\n  found    {found_text:?}\n  expected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn every_difference_is_a_recorded_case() {
    let cases = cases();
    for (text, _) in DIFFERENCES {
        assert!(cases.iter().any(|case| case["schema"] == *text), "{text:?} is not among the cases");
    }
}

#[test]
fn accepted_cases_read_back_from_their_alternate_form() {
    for case in cases() {
        let text = case["schema"].as_str().expect("a case has a schema");
        let Ok(schema) = parse(text) else { continue };
        let alternate = format!("{schema:#}");
        assert_eq!(parse(&alternate).as_ref(), Ok(&schema), "{text:?} is written {alternate:?}");
    }
}
