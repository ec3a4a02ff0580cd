//! Schemas of the forms that write, derived from functional ones.

use opgrid_schema::FunctionSchema;

fn parse(text: &str) -> FunctionSchema {
    FunctionSchema::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Functional schemas, and torch's in-place and `out` forms of them.
#[test]
fn forms_are_those_of_torch() {
    for (functional, in_place, overload, out) in [
        (
            "aten::exp(Tensor self) -> Tensor",
            "aten::exp_(Tensor(a!) self) -> Tensor(a!)",
            None,
            "aten::exp.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        ),
        (
            "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
            "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
            Some("out"),
            "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
        ),
        (
            "aten::ge.Scalar(Tensor self, Scalar other) -> Tensor",
            "aten::ge_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
            None,
            "aten::ge.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)",
        ),
        (
            "aten::_foreach_add.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]",
            "aten::_foreach_add_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()",
            None,
            "aten::_foreach_add.List_out(Tensor[] self, Tensor[] other, *, Scalar alpha=1, Tensor(a!)[] out) -> ()",
        ),
        (
            "aten::_foreach_zero(Tensor[] self) -> Tensor[] self_out",
            "aten::_foreach_zero_(Tensor(a!)[] self) -> ()",
            None,
            "aten::_foreach_zero.out(Tensor[] self, *, Tensor(a!)[] out) -> ()",
        ),
    ] {
        let functional = parse(functional);
        let found = [functional.in_place_form(None).unwrap(), functional.out_form(overload, &[]).unwrap()];
        assert_eq!(found.each_ref().map(ToString::to_string), [in_place, out]);
        assert_eq!(found, [parse(in_place), parse(out)]);
    }
}

/// An output says of itself what a new tensor is told; what is said about the computation stays.
#[test]
fn outputs_take_the_place_of_the_options_of_new_tensors() {
    let options = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None";
    for (functional, out) in [
        (
            format!("aten::zeros(SymInt[] size, *, {options}) -> Tensor"),
            "aten::zeros.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
        ),
        (
            format!("aten::f(int n, *, {options}, MemoryFormat? memory_format=None) -> Tensor"),
            "aten::f.out(int n, *, MemoryFormat? memory_format=None, Tensor(a!) out) -> Tensor(a!)",
        ),
        (
            "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor".to_owned(),
            "aten::sum.out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
        ),
    ] {
        assert_eq!(parse(&functional).out_form(None, &[]).unwrap().to_string(), out);
    }
}

/// Each result has an output, named after it where nobody says otherwise.
#[test]
fn several_results_have_several_outputs() {
    for (functional, overload, outputs, out) in [
        (
            "aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
            None,
            &[][..],
            "aten::aminmax.out(Tensor self, *, int? dim=None, bool keepdim=False, Tensor(a!) min, Tensor(b!) max) -> \
             (Tensor(a!) min, Tensor(b!) max)",
        ),
        (
            "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
            Some("dim_max"),
            &["max", "max_values"],
            "aten::max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, Tensor(b!) max_values) -> \
             (Tensor(a!) values, Tensor(b!) indices)",
        ),
        (
            "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
            None,
            &[],
            "aten::native_dropout.out(Tensor input, float p, bool? train, *, Tensor(a!) out0, Tensor(b!) out1) -> \
             (Tensor(a!), Tensor(b!))",
        ),
    ] {
        let form = parse(functional).out_form(overload, outputs).unwrap();
        assert_eq!((form.to_string().as_str(), &form), (out, &parse(out)));
        let in_place = parse(functional).in_place_form(None).unwrap_err();
        assert!(in_place.contains("one result"), "{in_place}");
    }
    let wrong = parse("t::f(Tensor x) -> (Tensor, Tensor)").out_form(None, &["a"]).unwrap_err();
    assert!(wrong.contains("each of the 2 results, found 1"), "{wrong}");
}

#[test]
fn schemas_without_such_forms_say_why() {
    let no_tensor = parse("t::f(int n) -> Tensor").in_place_form(None).unwrap_err();
    assert!(no_tensor.contains("t::f") && no_tensor.contains("first argument is a tensor"), "{no_tensor}");
    let no_list = parse("t::split(Tensor x, int size) -> Tensor[]").in_place_form(None).unwrap_err();
    assert!(no_list.contains("first argument is a list of tensors"), "{no_list}");
    for text in [
        "t::f(Tensor(a) x) -> Tensor(a)",
        "t::f(Tensor(a!) x) -> Tensor(a!)",
        "t::f(Tensor x) -> (Tensor, int)",
        "t::f(Tensor x) -> Tensor(a)[]",
        "t::f(Tensor x) -> int[]",
        "t::f(Tensor x) -> int",
        "t::f(Tensor x) -> ()",
    ] {
        let errors =
            [parse(text).in_place_form(None).unwrap_err(), parse(text).out_form(None, &[]).unwrap_err()];
        assert!(
            errors.iter().all(|error| error.contains("writes nothing and returns new tensors")),
            "{errors:?}"
        );
    }
    let twice = parse("t::f(Tensor x, Tensor out) -> Tensor").out_form(None, &[]).unwrap_err();
    assert!(twice.contains("an argument `out` already"), "{twice}");
}
