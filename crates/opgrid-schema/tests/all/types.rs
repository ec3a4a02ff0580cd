//! Checks which types fit which, fake types, and the names in Python's notation.

use opgrid_schema::{FunctionSchema, Type, check_signature};

const TYPES: &[&str] = &[
    "Tensor",
    "int",
    "SymInt",
    "SymBool",
    "float",
    "complex",
    "bool",
    "str",
    "Scalar",
    "ScalarType",
    "Device",
    "Any",
    "AnyClassType",
    "AnyEnumType",
    "NoneType",
    "Tensor[]",
    "Tensor?[]",
    "Tensor?",
    "Tensor[]?",
    "int[]",
    "SymInt[]",
    "int?",
    "Scalar?",
    "Scalar[]",
    "(int, Tensor)",
    "(Scalar, Any)",
    "(int, Tensor?)",
    "Dict(str, int)",
    "Dict(str, Any)",
    "Future(int)",
    "Future(Scalar)",
    "Await(int)",
    "Await(Scalar)",
    "RRef(int)",
    "RRef(Scalar)",
    "Union(int, Tensor)",
    "Union(int, Tensor, str)",
    "t",
    "__torch__.torch.classes.my.C",
    "Any?",
    "()",
];

/// Every pair that fits, besides a type itself, `Any` and `Any?`.
const FITS: &[(&str, &[&str])] = &[
    ("Tensor", &["Tensor?", "Union(int, Tensor)", "Union(int, Tensor, str)"]),
    ("int", &["SymInt", "Scalar", "int?", "Scalar?", "Union(int, Tensor)", "Union(int, Tensor, str)"]),
    ("SymInt", &["int", "Scalar", "int?", "Scalar?", "Union(int, Tensor)", "Union(int, Tensor, str)"]),
    ("float", &["Scalar", "Scalar?"]),
    ("complex", &["Scalar", "Scalar?"]),
    ("str", &["Union(int, Tensor, str)"]),
    ("Scalar", &["Scalar?"]),
    ("NoneType", &["Tensor?", "Tensor[]?", "int?", "Scalar?"]),
    ("Tensor[]", &["Tensor[]?"]),
    ("int[]", &["SymInt[]"]),
    ("SymInt[]", &["int[]"]),
    ("int?", &["Scalar?"]),
    ("(int, Tensor)", &["(Scalar, Any)", "(int, Tensor?)"]),
    ("(int, Tensor?)", &["(Scalar, Any)"]),
    ("Future(int)", &["Future(Scalar)"]),
    ("Await(int)", &["Await(Scalar)"]),
    ("RRef(int)", &["RRef(Scalar)"]),
    ("Union(int, Tensor)", &["Union(int, Tensor, str)"]),
    ("__torch__.torch.classes.my.C", &["AnyClassType"]),
];

fn parse(text: &str) -> Type {
    Type::parse(text).expect(text)
}

#[test]
fn the_subtype_table() {
    for from in TYPES {
        let listed = FITS.iter().find(|(name, _)| name == from).map_or(&[][..], |(_, fits)| *fits);
        for to in TYPES {
            let expected = from == to || matches!(*to, "Any" | "Any?") || listed.contains(to);
            assert_eq!(parse(from).is_subtype_of(&parse(to)), expected, "{from} for {to}");
        }
    }
}

#[test]
fn unions_compare_as_sets() {
    assert!(parse("Union(str, int)").is_subtype_of(&parse("Union(int, str)")));
    assert!(!parse("Union(str, int, Tensor)").is_subtype_of(&parse("Union(int, str)")));
    assert!(parse("int?").is_subtype_of(&parse("Union(int, str, None)")));
    assert!(!parse("int?").is_subtype_of(&parse("Union(int, str)")));
}

#[test]
fn python_names() {
    for (text, name) in [
        ("Scalar", "number"),
        ("SymInt", "int"),
        ("SymBool", "bool"),
        ("int[]", "List[int]"),
        ("Tensor?[]", "List[Optional[Tensor]]"),
        ("Dict(str, Any)", "Dict[str, Any]"),
        ("(int, Tensor)", "Tuple[int, Tensor]"),
        ("()", "Tuple[()]"),
        ("Future(int)", "Future[int]"),
        ("Await(int)", "Await[int]"),
        ("RRef(Scalar)", "RRef[number]"),
        ("Union(int, Tensor)", "Union[int, Tensor]"),
        ("None", "NoneType"),
        ("t", "t"),
        ("ScalarType", "ScalarType"),
    ] {
        assert_eq!(parse(text).python_name(), name);
    }
}

#[test]
fn fake_types_are_integers() {
    for (text, fake) in [
        ("ScalarType", "int"),
        ("Layout?", "int?"),
        ("MemoryFormat[]", "int[]"),
        ("SymInt?[]", "int?[]"),
        ("Device", "Device"),
        ("SymBool", "SymBool"),
    ] {
        assert_eq!(parse(text).fake(), parse(fake), "{text}");
    }
}

#[test]
fn types_are_read_alone() {
    assert!(Type::parse("Tensor(a)").is_err());
    assert!(Type::parse("Tensor x").is_err());
    assert!(Type::parse("int[2]").is_err());
    assert_eq!("int[]".parse(), Ok(parse("int[]")));
}

fn reason(expected: &str, inferred: &str, symint: bool) -> Result<(), String> {
    let parse = |text| FunctionSchema::parse(text).expect(text);
    check_signature(&parse(expected), &parse(inferred), symint).map_err(|mismatch| mismatch.to_string())
}

#[test]
fn signatures() {
    let expected = "f(Tensor self, SymInt[2] n=1, *, ScalarType? d=None) -> (Tensor(a) x, int)";
    assert_eq!(
        reason(expected, "_(Tensor _0, int[] _1, ScalarType? _2) -> (Tensor _0, int _1)", false),
        Ok(())
    );
    assert_eq!(
        reason(expected, "_(Tensor _0, SymInt[] _1, ScalarType? _2) -> (Tensor _0, int _1)", true),
        Ok(())
    );
    for (inferred, symint, message) in [
        ("_(Tensor _0) -> ()", false, "The number of arguments is different. 3 vs 1."),
        ("_(Tensor a, int[] b, ScalarType? c) -> ()", false, "The number of returns is different. 2 vs 0."),
        (
            "_(Tensor a, SymInt[] b, ScalarType? c) -> (Tensor, int)",
            false,
            "Type mismatch in argument 2: int[] vs SymInt[].",
        ),
        (
            "_(Tensor a, int[] b, ScalarType? c) -> (Tensor, int)",
            true,
            "Type mismatch in argument 2: SymInt[] vs int[].",
        ),
        (
            "_(Tensor a, int[] b, int? c) -> (Tensor, int)",
            false,
            "Type mismatch in argument 3: ScalarType? vs int?.",
        ),
        (
            "_(Tensor a, int[] b, ScalarType? c) -> (Tensor, Tensor)",
            false,
            "Type mismatch in return 2: int vs Tensor.",
        ),
    ] {
        assert_eq!(reason(expected, inferred, symint), Err(message.to_owned()));
    }
    // A kernel of symbolic integers does not fit a schema of plain ones.
    let message = "Type mismatch in argument 1: int vs SymInt.".to_owned();
    assert_eq!(reason("f(int n) -> ()", "_(SymInt _0) -> ()", true), Err(message));
}

#[test]
fn real_types_with_and_without_symbolic_integers() {
    let schema = FunctionSchema::parse("f(SymInt?[] n) -> SymInt").expect("a schema");
    assert_eq!(schema.clone().with_real_types(true), schema);
    assert_eq!(schema.with_real_types(false).to_string(), "f(int?[] n) -> int");
}
