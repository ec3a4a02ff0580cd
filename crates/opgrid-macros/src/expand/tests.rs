//! Expansions as strings: types, names, returns, forms, methods, and the errors of items.

use super::*;

/// Expands items for the core crate `core`.
fn expanded(items: TokenStream) -> String {
    operator_items(quote!((core) #items)).to_string()
}

/// The signature and the `call` function of one schema.
fn typed(schema: &str) -> (String, String) {
    let text = expanded(quote!(F = #schema;));
    let between = |start: &str, end: &str| {
        let from = text.find(start).map(|at| at + start.len()).unwrap_or_else(|| panic!("{text}"));
        text[from..from + text[from..].find(end).expect("the end follows")].to_owned()
    };
    (without_blanks(&between("type Signature =", ";")), without_blanks(&between("pub fn call", "{")))
}

fn error(schema: &str) -> String {
    let text = expanded(quote!(F = #schema;));
    assert!(text.starts_with(":: core :: compile_error !"), "{text}");
    text
}

/// The text without blanks: `>>` may be one token or two.
fn tokens(expected: TokenStream) -> String {
    without_blanks(&expected.to_string())
}

fn without_blanks(text: &str) -> String {
    text.replace(' ', "")
}

#[test]
fn the_whole_expansion() {
    let found = expanded(quote! {
        /// Sum.
        #[cfg(all())]
        pub(crate) AddTensor = "aten::add.Tensor(Tensor self,Tensor other,*,Scalar alpha=1)->Tensor";
    });
    let doc = " Calls `aten::add.Tensor` on the global dispatcher.\n\n```text\naten::add.Tensor(Tensor self, \
               Tensor other, *, Scalar alpha=1) -> Tensor\n```\n\n- `input`: `Tensor`\n- `other`: `Tensor`\n- \
               `alpha`: `Scalar`, `1` by default\n\n# Errors\n\nWhen no kernel takes the call, or the kernel \
               fails.";
    let expected = quote! {
        /// Sum.
        #[cfg(all())]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct AddTensor;

        #[cfg(all())]
        impl core::Operator for AddTensor {
            const SCHEMA: &'static str =
                "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
            const DOCUMENTATION: &'static str = "Sum.";
            type Signature = fn(Tensor, Tensor, core::Scalar) -> Tensor;

            fn cell() -> &'static core::OperatorCell<Self::Signature> {
                static CELL: core::OperatorCell<fn(Tensor, Tensor, core::Scalar) -> Tensor> = core::OperatorCell::new();
                &CELL
            }
        }

        #[cfg(all())]
        impl AddTensor {
            #[doc = #doc]
            #[allow(non_snake_case, clippy::too_many_arguments)]
            pub fn call(self, input: &Tensor, other: &Tensor, alpha: core::Scalar) -> core::Result<Tensor> {
                core::operator::call(self, (input, other, alpha,))
            }

            /// Calls the kernel for exactly these keys: neither the thread's keys nor fallthroughs change them.
            #[inline]
            #[allow(non_snake_case, clippy::too_many_arguments)]
            pub fn redispatch(
                self,
                __keys: core::DispatchKeySet,
                input: &Tensor,
                other: &Tensor,
                alpha: core::Scalar
            ) -> core::Result<Tensor> {
                core::operator::redispatch(self, __keys, (input, other, alpha,))
            }
        }
    };
    assert_eq!(without_blanks(&found), tokens(expected));
}

#[test]
fn every_overload_calls_the_registration_function() {
    let found = without_blanks(&expanded(
        quote!(register_with = crate::library::register_all; F = "t::f() -> ()"; G = "t::g() -> ()";),
    ));
    let function = tokens(quote!(
        fn ensure_registered() -> core::Result<()> {
            crate::library::register_all()
        }
    ));
    assert_eq!(found.matches(&function).count(), 2, "{found}");
    assert!(!expanded(quote!(F = "t::f() -> ()";)).contains("ensure_registered"));
    // A string makes it an overload that happens to have this name.
    assert!(expanded(quote!(register_with = "t::f() -> ()";)).contains("struct register_with ;"));
    for (items, part) in [
        (quote!(register_with = f), "expected the path of a function and `;` but the input ends here"),
        (
            quote!(register_with = f(); F = "t::f() -> ()"),
            "expected the path of a function and `;` but found `()`",
        ),
        (quote!(F = "t::f() -> ()"; register_with = f;), "expected the schema as a string but found `f`"),
    ] {
        let text = expanded(items);
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn overloads_with_a_registration_are_a_group() {
    let found = without_blanks(&expanded(quote!(
        register_with = crate::ensure_group_registered(self::register, "t::boxed", "t::boxed.out");
        F = "t::f(Tensor self) -> Tensor", out;
        #[cfg(unix)]
        G = "t::g.int(int x) -> ()";
    )));
    // In braces, which are left as they are: what is generated has no comma behind the last one.
    let group = tokens(quote! {
        pub(crate) static OPERATORS: core::OnDemand = core::OnDemand::new(
            &["t::f", "t::f.out", #[cfg(unix)] "t::g.int", "t::boxed", "t::boxed.out"],
            self::register
        );
    });
    let register_with = tokens(quote!(
        fn ensure_registered() -> core::Result<()> {
            crate::ensure_group_registered(&OPERATORS)
        }
    ));
    assert!(found.contains(&group), "{found}");
    assert_eq!(found.matches(&register_with).count(), 3, "{found}");
    assert!(!expanded(quote!(register_with = f; F = "t::f() -> ()";)).contains("OPERATORS"));
    for (items, part) in [
        (quote!(register_with = f(g) F = "t::f() -> ()"), "expected `;` but found `F`"),
        (
            quote!(register_with = f("g"); F = "t::f() -> ()"),
            "expected the path of a function that registers the operators",
        ),
        (
            quote!(register_with = f(g, h); F = "t::f() -> ()"),
            "optionally followed by the names of others but found `h`",
        ),
        (
            quote!(register_with = f[g]; F = "t::f() -> ()"),
            "expected the path of a function and `;` but found",
        ),
    ] {
        let text = expanded(items);
        assert!(text.contains(part), "{text}");
    }
}

/// The names and schemas of the overloads, each with the constants that hold the schemas of its forms.
fn overloads(items: TokenStream) -> Vec<(String, String)> {
    overloads_in(&expanded(items))
}

fn overloads_in(text: &str) -> Vec<(String, String)> {
    let parts = text.split("impl core :: Operator for ").skip(1);
    parts
        .map(|part| {
            let (name, rest) = part.split_once(" {").expect("a name");
            let constants = rest.split_once("type Signature").expect("a signature").0;
            (name.to_owned(), constants.replace("const ", "").trim().to_owned())
        })
        .collect()
}

#[test]
fn forms_are_overloads_that_the_functional_one_knows() {
    let found = overloads(quote!(
        pub GeTensor = "t::ge.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out;
    ));
    let in_place = "\"t::ge_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)\"";
    let out = "\"t::ge.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\"";
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["GeTensor", "GeInplaceTensor", "GeTensorOut"]);
    let known = without_blanks(&found[0].1);
    let of_form = |name: &str, schema: &str| {
        without_blanks(&format!(
            "{name}: ::core::option::Option<&'static str> = ::core::option::Option::Some({schema});"
        ))
    };
    assert!(known.contains(&of_form("IN_PLACE", in_place)), "{known}");
    assert!(known.contains(&of_form("OUT", out)), "{known}");
    for ((_, constants), schema) in found[1..].iter().zip([in_place, out]) {
        assert!(constants.contains(schema) && !constants.contains("IN_PLACE"), "{constants}");
    }
}

#[test]
fn forms_may_be_named() {
    let found = overloads(quote!(
        PowScalar = "t::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", in_place("Scalar"), out("result");
    ));
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["PowScalar", "PowInplaceScalar", "PowResult"]);
    assert!(found[1].1.contains("\"t::pow_.Scalar("), "{}", found[1].1);
    assert!(found[2].1.contains("\"t::pow.result("), "{}", found[2].1);
}

#[test]
fn mistakes_in_clauses() {
    let exp = "t::exp(Tensor self) -> Tensor";
    for (items, part) in [
        (
            quote!(Exp = #exp, inplace;),
            "expected `in_place`, `out`, `method`, `arguments`, `or_number` or `alias` but found `inplace`",
        ),
        (
            quote!(Exp = #exp,),
            "expected `in_place`, `out`, `method`, `arguments`, `or_number` or `alias` but the input ends here",
        ),
        (quote!(Exp = #exp, in_place, out, in_place;), "`in_place` occurs twice here"),
        (quote!(Exp = #exp, out, out("other");), "`out` occurs twice here"),
        (quote!(Exp = #exp, method, method(other);), "`method` occurs twice here"),
        (quote!(Exp = #exp, out(other);), "expected the overload's name as a string in parentheses"),
        (quote!(Exp = #exp, out(1);), "expected the overload's name as a string but found `1`"),
        (quote!(Exp = #exp, in_place();), "expected the overload's name as a string in parentheses"),
        (quote!(Exp = #exp, method("other");), "expected the method's name in parentheses but found"),
        (quote!(Power = #exp, in_place;), "`Power` does not begin with `Exp`"),
        (
            quote!(ExpInplace = "t::e() -> ()"; Exp = #exp, in_place;),
            "two operators here are named `ExpInplace`",
        ),
        (
            quote!(Size = "t::size(Tensor self) -> int", out;),
            "only an operator that writes nothing and returns new",
        ),
        (
            quote!(View = "t::view(Tensor(a) self) -> Tensor(a)", in_place;),
            "only an operator that writes nothing",
        ),
        (
            quote!(Ones = "t::ones(int n) -> Tensor", in_place;),
            "only an operator whose first argument is a tensor",
        ),
        (
            quote!(Ones = "t::ones(int n) -> Tensor", method;),
            "the argument `Tensor self`, which `t::ones` does not have",
        ),
        (
            quote!(F = "t::f(int self) -> Tensor", method;),
            "the argument `Tensor self`, which `t::f` does not have",
        ),
    ] {
        let text = expanded(items);
        assert!(text.contains("compile_error") && text.contains(part), "{part}: {text}");
    }
}

#[test]
fn other_names_have_what_the_overload_has() {
    let text = expanded(quote!(
        #[cfg(a)]
        /// The difference.
        pub SubTensor = "t::sub.Tensor(Tensor self, Tensor other) -> Tensor", in_place, out("out"), method, alias("take_away");
    ));
    let found = overloads_in(&text);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    let own = ["SubTensor", "SubInplaceTensor", "SubOut"];
    let other = ["TakeAwayTensor", "TakeAwayInplaceTensor", "TakeAwayOut"];
    assert_eq!(names, [own, other].concat());
    let known = without_blanks(&found[0].1);
    let calls = std::iter::zip(other, own).map(|(alias, own)| format!("core::Alias::new::<{alias},{own}>()"));
    let expected = format!("ALIASES:&'static[core::Alias]=&[{}];", calls.collect::<Vec<_>>().join(","));
    assert!(known.contains(&expected), "{known}");
    for ((_, constants), schema) in found[3..].iter().zip([
        "t::take_away.Tensor(Tensor self, Tensor other) -> Tensor",
        "t::take_away_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
        "t::take_away.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
    ]) {
        assert!(constants.contains(schema) && !constants.contains("ALIASES"), "{constants}");
    }
    let text = without_blanks(&text);
    for method in ["sub", "sub_", "take_away", "take_away_"] {
        assert!(text.contains(&format!("pubfn{method}(&self,other:&Tensor")), "{method}: {text}");
    }
    // Of the type and of the method.
    assert_eq!(text.matches("#[doc=\"Analiasfor`t::sub.Tensor`.\"]").count(), 2, "{text}");
}

#[test]
fn other_names_may_have_less() {
    let found = overloads(quote!(
        AddTensor = "t::add.Tensor(Tensor self) -> Tensor", in_place, out, method(plus), alias("sum", in_place), alias("total", out);
    ));
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    let others = ["SumTensor", "SumInplaceTensor", "TotalTensor", "TotalTensorOut"];
    assert_eq!(names, [&["AddTensor", "AddInplaceTensor", "AddTensorOut"][..], &others].concat());
}

#[test]
fn other_names_belong_to_the_group() {
    let text = without_blanks(&expanded(quote!(
        register_with = crate::ensure_group_registered(register);
        Abs = "t::abs(Tensor self) -> Tensor", in_place, alias("absolute");
    )));
    assert!(text.contains(r#"&["t::abs","t::abs_","t::absolute","t::absolute_"],register"#), "{text}");
}

#[test]
fn mistakes_in_other_names() {
    let exp = "t::exp(Tensor self) -> Tensor";
    for (items, part) in [
        (quote!(Exp = #exp, alias;), "expected the operator's other name as a string in parentheses"),
        (quote!(Exp = #exp, alias(power);), "expected the operator's other name as a string in parentheses"),
        (quote!(Exp = #exp, alias("power", "out");), "expected the operator's other name as a string"),
        (quote!(Exp = #exp, alias("exp");), "two operators here are named `Exp`"),
        (quote!(Exp = #exp, alias("power"), alias("power");), "two operators here are named `Power`"),
        (quote!(Exp = #exp, out, alias("power", in_place);), "`in_place` is not declared for `Exp`"),
        (quote!(Exp = #exp, alias("power", other);), "`other` is not declared for `Exp`"),
        (quote!(Power = #exp, alias("exponential");), "`Power` does not begin with `Exp`"),
        (quote!(Exp = #exp, method(e_to), alias("power");), "the method is called `e_to`, which does not"),
    ] {
        let text = expanded(items);
        assert!(text.contains("compile_error") && text.contains(part), "{part}: {text}");
    }
    for name in [
        quote!(1),
        quote!("t::power"),
        quote!("power.out"),
        quote!("a b"),
        quote!(""),
        quote!("_2"),
        quote!("__"),
    ] {
        let text = expanded(quote!(Exp = #exp, alias(#name);));
        assert!(text.contains("expected another name of `t::exp` as a string, without namespace"), "{text}");
    }
}

#[test]
fn methods_call_their_overloads() {
    let found = without_blanks(&expanded(quote! {
        /// The sum.
        #[cfg(all())]
        pub AddTensor = "t::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", in_place, method;
    }));
    let expected = quote! {
        #[cfg(all())]
        impl Tensor {
            /// The sum.
            #[doc = "\n Not taken here: `Scalar alpha=1`. [`add_with`](Self::add_with) takes all arguments."]
            #[doc = "\n # Errors\n\n Those of [`AddTensor`]."]
            #[cfg(all())]
            #[allow(clippy::too_many_arguments)]
            pub fn add(&self, other: &Tensor) -> core::Result<Tensor> {
                AddTensor.call(self, other, core::Scalar::Int(1i64))
            }

            #[doc = " Calls [`add`](Self::add) with all arguments of the schema."]
            #[doc = "\n # Errors\n\n Those of [`AddTensor`]."]
            #[cfg(all())]
            #[allow(clippy::too_many_arguments)]
            pub fn add_with(
                &self,
                other: &Tensor,
                alpha: impl ::core::convert::Into<core::Scalar>
            ) -> core::Result<Tensor> {
                let alpha = ::core::convert::Into::into(alpha);
                AddTensor.call(self, other, alpha)
            }

            #[doc = " Writes the result of [`add`](Self::add) to this tensor."]
            #[doc = "\n Not taken here: `Scalar alpha=1`. [`add_with_`](Self::add_with_) takes all arguments."]
            #[doc = "\n # Errors\n\n Those of [`AddInplaceTensor`]."]
            #[cfg(all())]
            #[allow(clippy::too_many_arguments)]
            pub fn add_(&self, other: &Tensor) -> core::Result<&Self> {
                AddInplaceTensor.call(self, other, core::Scalar::Int(1i64)).map(|()| self)
            }

            #[doc = " Calls [`add_`](Self::add_) with all arguments of the schema."]
            #[doc = "\n # Errors\n\n Those of [`AddInplaceTensor`]."]
            #[cfg(all())]
            #[allow(clippy::too_many_arguments)]
            pub fn add_with_(
                &self,
                other: &Tensor,
                alpha: impl ::core::convert::Into<core::Scalar>
            ) -> core::Result<&Self> {
                let alpha = ::core::convert::Into::into(alpha);
                AddInplaceTensor.call(self, other, alpha).map(|()| self)
            }
        }
    };
    assert!(found.ends_with(&tokens(expected)), "{found}");
}

#[test]
fn methods_take_what_people_write() {
    for (item, method) in [
        (
            quote!(F = "t::f(Tensor condition, Tensor self, int? dim, int[] sizes) -> bool", method(f_of);),
            quote!(
                fn f_of(
                    &self,
                    condition: &Tensor,
                    dim: impl core::conversions::OptionalInteger,
                    sizes: impl core::conversions::IntList,
                ) -> core::Result<bool> {
                    let dim = core::conversions::OptionalInteger::to_option(dim);
                    let sizes = core::conversions::IntList::into_list(sizes);
                    F.call(condition, self, dim, ::core::convert::AsRef::<[i64]>::as_ref(&sizes))
                }
            ),
        ),
        (
            quote!(FillInplace = "t::fill_(Tensor(a!) self, int type) -> Tensor(a!)", method;),
            quote!(
                fn fill_(&self, type_: impl core::conversions::Integer) -> core::Result<&Self> {
                    let type_ = core::conversions::Integer::to_i64(type_);
                    FillInplace.call(self, type_).map(|()| self)
                }
            ),
        ),
        (
            quote!(MulTensor = "t::mul.Tensor(Tensor self, Tensor other) -> Tensor", in_place, method, or_number(MulScalar);),
            quote!(
                fn mul_<'a>(
                    &self,
                    other: impl ::core::convert::Into<core::conversions::TensorOrNumber<'a, Tensor>>,
                ) -> core::Result<&Self> {
                    let other = ::core::convert::Into::into(other);
                    match other {
                        core::conversions::TensorOrNumber::Tensor(other) => {
                            MulInplaceTensor.call(self, other).map(|()| self)
                        }
                        core::conversions::TensorOrNumber::Number(other) => {
                            MulInplaceScalar.call(self, other).map(|()| self)
                        }
                    }
                }
            ),
        ),
        (
            quote!(Topk = "t::topk(Tensor self, int k, int dim=-1, bool largest=True) -> Tensor", method, arguments(k);),
            quote!(
                fn topk(&self, k: impl core::conversions::Integer) -> core::Result<Tensor> {
                    let k = core::conversions::Integer::to_i64(k);
                    Topk.call(self, k, -1i64, true)
                }
            ),
        ),
    ] {
        // The formatter may put commas behind last parameters, and braces around arms.
        let plain = |text: String| text.replace(['{', '}', ','], "");
        let (found, method) = (plain(without_blanks(&expanded(item))), plain(tokens(method)));
        assert!(found.contains(&method), "{method} is not in {found}");
    }
}

#[test]
fn methods_of_several_operators_stand_in_one_block() {
    let block = quote! {
        (core)
        /// # Group
        impl Tensor;
        Abs = "t::abs(Tensor self) -> Tensor", method, alias("absolute");
        Cell = "t::cell(int size) -> Tensor";
        Neg = "t::neg(Tensor self) -> Tensor", method;
    };
    let found = super::operator_methods(block).to_string();
    assert_eq!(found.matches("impl Tensor").count(), 1, "{found}");
    for name in ["fn abs", "fn absolute", "fn neg"] {
        assert!(found.contains(name), "{found}");
    }
    assert!(found.contains("# Group") && !found.contains("struct"), "{found}");
    let none = quote!((core) impl Tensor; Cell = "t::cell(int size) -> Tensor";);
    assert!(super::operator_methods(none).is_empty());
    let wrong = super::operator_methods(quote!((core) impl Array;)).to_string();
    assert!(wrong.contains("expected `impl Tensor;`"), "{wrong}");
}

#[test]
fn mistakes_in_methods() {
    let add = "t::add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
    let abs = "t::abs(Tensor self) -> Tensor";
    for (items, part) in [
        (quote!(Add = #add, arguments(other);), "write `method` before it"),
        (
            quote!(Add = #add, method, arguments;),
            "expected the names of the method's arguments in parentheses",
        ),
        (quote!(Add = #add, method, arguments(beta);), "has no argument `beta`"),
        (quote!(Add = #add, method, arguments(alpha);), "argument `other` has no default"),
        (quote!(Add = #add, method, arguments(other), arguments(other);), "`arguments` occurs twice here"),
        (quote!(Add = #add, method, or_number();), "expected the overload that takes a number"),
        (quote!(Add = #add, method, or_number("AddScalar");), "expected the overload that takes a number"),
        (quote!(Add = #add, in_place, method, or_number(Plus);), "`Plus` does not begin with `Add`"),
        (quote!(Abs = #abs, method, or_number(AbsScalar);), "has no second tensor"),
    ] {
        let text = expanded(items);
        assert!(text.contains("compile_error") && text.contains(part), "{part}: {text}");
    }
}

#[test]
fn every_type() {
    for (schema_type, owned, parameter) in [
        ("Tensor", quote!(Tensor), quote!(&Tensor)),
        ("int", quote!(i64), quote!(i64)),
        ("SymInt", quote!(i64), quote!(i64)),
        ("DeviceIndex", quote!(i64), quote!(i64)),
        ("float", quote!(f64), quote!(f64)),
        ("bool", quote!(bool), quote!(bool)),
        ("complex", quote!(core::Complex64), quote!(core::Complex64)),
        ("str", quote!(::std::string::String), quote!(&str)),
        ("Scalar", quote!(core::Scalar), quote!(core::Scalar)),
        ("ScalarType", quote!(core::DType), quote!(core::DType)),
        ("Layout", quote!(core::Layout), quote!(core::Layout)),
        ("MemoryFormat", quote!(core::MemoryFormat), quote!(core::MemoryFormat)),
        ("Device", quote!(core::Device), quote!(core::Device)),
        ("Generator", quote!(core::Generator), quote!(&core::Generator)),
        ("Any", quote!(core::Value), quote!(&core::Value)),
        ("Tensor?", quote!(::std::option::Option<Tensor>), quote!(::std::option::Option<&Tensor>)),
        ("str?", quote!(::std::option::Option<::std::string::String>), quote!(::std::option::Option<&str>)),
        ("Tensor[]", quote!(::std::vec::Vec<Tensor>), quote!(&[Tensor])),
        ("SymInt[2]", quote!(::std::vec::Vec<i64>), quote!(&[i64])),
        (
            "int[]?",
            quote!(::std::option::Option<::std::vec::Vec<i64>>),
            quote!(::std::option::Option<&[i64]>),
        ),
        (
            "Tensor?[]",
            quote!(::std::vec::Vec<::std::option::Option<Tensor>>),
            quote!(&[::std::option::Option<Tensor>]),
        ),
        (
            "Dict(str, Tensor[])",
            quote!(core::Dict<::std::string::String, ::std::vec::Vec<Tensor>>),
            quote!(&core::Dict<::std::string::String, ::std::vec::Vec<Tensor>>),
        ),
    ] {
        let (signature, call) = typed(&format!("t::f({schema_type} x) -> ()"));
        assert_eq!(signature, tokens(quote!(fn(#owned) -> ())), "{schema_type}");
        assert_eq!(call, tokens(quote!((self, x: #parameter) -> core::Result<()>)), "{schema_type}");
    }
}

#[test]
fn types_without_a_rust_type() {
    for schema_type in [
        "(int, int)",
        "Storage",
        "Stream",
        "QScheme",
        "Future(int)",
        "SymBool",
        "Union(int, str)",
        "None[]",
        "__torch__.torch.classes.my.C",
        "Dict(str, Capsule)",
        "(int, int)?[]",
    ] {
        let printed = opgrid_schema::Type::parse(schema_type).expect("a type");
        let remedy = "which has no Rust type here; register this operator boxed, by its schema text";
        let message = error(&format!("t::f({schema_type} x) -> ()"));
        assert!(message.contains(&format!("argument `x` has the type `{printed}`, {remedy}")), "{message}");
        let message = error(&format!("t::f() -> (int, {schema_type})"));
        assert!(message.contains(&format!("return 1 has the type `{printed}`, {remedy}")), "{message}");
    }
}

#[test]
fn plain_returns() {
    for (returns, expected) in [
        ("()", quote!(())),
        ("int", quote!(i64)),
        ("(int, Tensor)", quote!((i64, Tensor))),
        ("Tensor(a)", quote!(Tensor)),
        ("Tensor(a)[]", quote!(::std::vec::Vec<Tensor>)),
        ("(Tensor(a), Tensor?)", quote!((Tensor, ::std::option::Option<Tensor>))),
        ("str", quote!(::std::string::String)),
    ] {
        let (signature, call) = typed(&format!("t::f(Tensor(a) x) -> {returns}"));
        assert_eq!(signature, tokens(quote!(fn(Tensor) -> #expected)), "{returns}");
        assert_eq!(call, tokens(quote!((self, x: &Tensor) -> core::Result<#expected>)), "{returns}");
    }
}

#[test]
fn written_returns_are_markers() {
    for (schema, marker) in [
        ("t::f(Tensor(a!) self) -> Tensor(a!)", quote!(core::WritesFirst)),
        ("t::f(Tensor(a!) self, int n) -> Tensor(a!)", quote!(core::WritesFirst)),
        ("t::f(Tensor(a!)[] self, int n) -> Tensor(a!)[]", quote!(core::WritesFirst)),
        ("t::f(int n, *, Tensor(a!) out) -> Tensor(a!)", quote!(core::WritesLast)),
        (
            "t::f(int n, *, Tensor(a!) x, Tensor(b!) y) -> (Tensor(a!), Tensor(b!))",
            quote!(core::WritesLast<2>),
        ),
        ("t::f(*, Tensor(a!) x, Tensor(b!) y) -> (Tensor(a!), Tensor(b!))", quote!(core::WritesLast<2>)),
        ("t::f(Tensor(a!) x) -> ()", quote!(())),
    ] {
        let (signature, call) = typed(schema);
        assert!(signature.ends_with(&tokens(quote!(-> #marker))), "{schema}: {signature}");
        assert!(call.ends_with(&tokens(quote!(-> core::Result<()>))), "{schema}: {call}");
    }
}

#[test]
fn other_written_returns_are_errors() {
    for (schema, index) in [
        ("t::f(int n, Tensor(a!) x, int m) -> Tensor(a!)", 0),
        ("t::f(int n, *, Tensor(a!) x, Tensor(b!) y) -> (Tensor(b!), Tensor(a!))", 0),
        ("t::f(Tensor(a!) x, int n) -> (Tensor, Tensor(a!))", 1),
        ("t::f() -> Tensor(a!)", 0),
    ] {
        let message = error(schema);
        assert!(message.contains(&format!("return {index} is `")), "{message}");
        assert!(message.contains("register this operator boxed, by its schema text"), "{message}");
    }
}

#[test]
fn names_in_rust() {
    let (_, call) = typed("t::f(int self, int type, int _, int A, int _0, int from) -> ()");
    let expected = quote!(
        (self, input: i64, type_: i64, __: i64, A: i64, _0: i64, from: i64) -> core::Result<()>
    );
    assert_eq!(call, tokens(expected));
    for schema in ["t::f(int self, int input) -> ()", "t::f(int type, int type_) -> ()"] {
        let message = error(schema);
        assert!(message.contains("in Rust, one of them"), "{message}");
    }
}

#[test]
fn mistakes_in_schemas_are_shown_with_their_place() {
    let message = error("t::f(Tensor x,) -> ()");
    let caret = "expected ident but found ')' here:\\nt::f(Tensor x,) -> ()\\n              ~ <--- HERE";
    assert!(message.contains(caret), "{message}");
    for (schema, part) in [
        ("t::f(tensor x) -> ()", "unknown type specifier"),
        ("t::f(int x, int x) -> ()", "two arguments are named `x`"),
        ("t::f(int x=1.5) -> ()", "the default is a value of type float, which is not a int"),
        ("t::f(int x, ...) -> ()", "an operator with `...` has no fixed signature"),
        ("f", "only the operator name was given"),
    ] {
        assert!(error(schema).contains(part), "{schema}");
    }
}

#[test]
fn mistakes_in_items() {
    let form = "an operator is written `pub Name = \\\"ns::name(…) -> …\\\";`";
    for (items, part) in [
        (quote!(F "t::f() -> ()";), "expected `=` but found"),
        (quote!(F = 1;), "expected the schema as a string but found `1`"),
        (quote!(F = f;), "expected the schema as a string but found `f`"),
        (quote!(F = "t::f() -> ()" G = "t::g() -> ()";), "expected `;` but found `G`"),
        (quote!(F), "expected `=` but the input ends here"),
        (quote!(#[doc]), "expected the name of the type but the input ends here"),
        ("# F".parse().expect("tokens"), "expected an attribute in brackets but found `F`"),
        (quote!(pub = "t::f() -> ()";), "expected the name of the type but found `=`"),
    ] {
        let text = expanded(items);
        assert!(text.starts_with(":: core :: compile_error !") && text.contains(part), "{text}");
        let names_form = !part.contains("ends here") && !part.contains("`1`");
        assert_eq!(text.contains(form), names_form, "{text}");
    }
    let text = operator_items(quote!(F = "t::f() -> ()";)).to_string();
    assert!(text.contains("expected the path of the core crate in parentheses but found `F`"), "{text}");
}

#[test]
fn a_repeated_name_is_an_error_and_the_rest_expands() {
    let text = expanded(quote!(F = "t::f() -> ()"; F = "t::g() -> ()"; H = "t::h() -> ()"));
    assert!(text.contains("two operators here are named `F`; each needs a name of its own"), "{text}");
    assert!(text.contains("struct F ;") && text.contains("struct H ;"), "{text}");
    assert_eq!(text.matches("compile_error").count(), 1);
}

#[test]
fn conditions_hold_for_mistakes_too() {
    let text = expanded(quote!(#[cfg(a)] F = "t::f(" ; #[cfg(b)] F = "t::g() -> ()"));
    assert!(text.starts_with("# [cfg (a)] :: core :: compile_error !"), "{text}");
    assert_eq!((text.matches("compile_error").count(), text.matches("cfg (b)").count()), (1, 3));
}

#[test]
fn nothing_expands_to_nothing() {
    assert_eq!(expanded(quote!()), "");
}

#[test]
fn types_without_documentation_show_their_schema() {
    let text = expanded(quote!(pub F = "t::f(int x) -> ()";));
    assert!(text.contains("# [doc = \" The operator `t::f(int x) -> ()`.\"]"), "{text}");
    let text = expanded(quote!(#[deprecated] pub F = "t::f(int x) -> ()";));
    assert_eq!(text.matches("deprecated").count(), 1, "{text}");
}

#[test]
fn the_text_reads_back_even_where_the_canonical_form_does_not() {
    let text = expanded(quote!(F = "t::f(Device d='cpu', int[3] x=[1, 1]) -> ()";));
    let literal = quote!("t::f(Device d=\"cpu\", int[3] x=[1, 1]) -> ()").to_string();
    assert!(text.contains(&format!("SCHEMA : & 'static str = {literal}")), "{text}");
}
