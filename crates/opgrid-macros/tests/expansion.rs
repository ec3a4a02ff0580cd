//! Compiles expansions against a small stand-in for the core crate.

use opgrid_macros::operator_items;

/// The names that the expansion uses, as simple as they can be.
mod core_crate {
    pub type Result<T> = std::result::Result<T, String>;

    pub struct OperatorCell<S>(std::marker::PhantomData<fn() -> S>);

    impl<S> OperatorCell<S> {
        pub const fn new() -> Self {
            OperatorCell(std::marker::PhantomData)
        }
    }

    pub trait Operator: Copy + 'static {
        const SCHEMA: &'static str;
        const DOCUMENTATION: &'static str = "";
        const ALIASES: &'static [Alias] = &[];
        type Signature: 'static;
        fn cell() -> &'static OperatorCell<Self::Signature>;
        fn ensure_registered() -> Result<()> {
            Ok(())
        }
    }

    /// The schemas of an alias and of the overload that it calls.
    #[derive(Debug, PartialEq)]
    pub struct Alias(pub &'static str, pub &'static str);

    impl Alias {
        pub const fn new<A: Operator<Signature = O::Signature>, O: Operator>() -> Self {
            Self(A::SCHEMA, O::SCHEMA)
        }
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Scalar(pub f64);

    #[derive(Clone, Copy, Debug)]
    pub struct DispatchKeySet(pub u8);

    pub struct WritesFirst;
    pub struct WritesLast<const N: usize = 1>;

    pub mod operator {
        use std::fmt::Debug;

        use super::{DispatchKeySet, Operator, Result};

        /// A result made of what was passed.
        pub trait Output {
            fn from_text(text: String) -> Self;
        }

        impl Output for String {
            fn from_text(text: String) -> Self {
                text
            }
        }

        impl Output for () {
            fn from_text(_: String) -> Self {}
        }

        pub fn call<O: Operator, A: Debug, T: Output>(_: O, arguments: A) -> Result<T> {
            let _cell = O::cell();
            Ok(T::from_text(format!("{} {arguments:?}", O::SCHEMA)))
        }

        pub fn redispatch<O: Operator, A: Debug, T: Output>(
            _: O,
            keys: DispatchKeySet,
            arguments: A,
        ) -> Result<T> {
            Ok(T::from_text(format!("{keys:?} {} {arguments:?}", O::SCHEMA)))
        }
    }
}

#[derive(Clone, Debug)]
#[allow(dead_code, reason = "the number is only shown by Debug")]
struct Tensor(i32);

/// Does what the core crate's macro does.
macro_rules! operator {
    ($($item:tt)*) => { operator_items! { (crate::core_crate) $($item)* } };
}

operator! {
    /// Documented.
    Join = "my::join(Tensor self, str by, Tensor?[] rest, int[]? n=None, *, Scalar type=1) -> str";
    Fill = "my::fill_(Tensor(a!) self, float value) -> Tensor(a!)";
    FillOut = r"my::fill.out(float value, *, Tensor(a!) out, Tensor(b!) A) -> (Tensor(a!), Tensor(b!))";
    pub(crate) Nothing = "my::nothing() -> ()";
    Half = "my::half(float x) -> str", alias("halve"), alias("halved");
    #[cfg(any())]
    Absent = "my::absent(Storage? x) -> ()";
}

/// Captures the parts of an item, which then arrive in invisible groups.
macro_rules! captured {
    ($vis:vis $name:ident $schema:literal) => {
        operator! { $vis $name = $schema; }
    };
}

captured!(pub Captured "my::captured(int x) -> ()");

use core_crate::{Operator, Scalar, WritesFirst, WritesLast};

fn is_signature<O: Operator<Signature = S>, S>(_: O) -> bool {
    true
}

#[test]
fn calls_pass_the_arguments() {
    let joined = Join.call(&Tensor(1), "x", &[None, Some(Tensor(2))], Some(&[3]), Scalar(4.0));
    let expected = "my::join(Tensor self, str by, Tensor?[] rest, int[]? n=None, *, Scalar type=1) -> str \
                    (Tensor(1), \"x\", [None, Some(Tensor(2))], Some([3]), Scalar(4.0))";
    assert_eq!(joined.as_deref(), Ok(expected));
    assert_eq!(Fill.call(&Tensor(1), 2.0), Ok(()));
    assert_eq!(FillOut.call(2.0, &Tensor(1), &Tensor(2)), Ok(()));
    assert_eq!(Nothing.call(), Ok(()));
    assert_eq!(Captured.call(1), Ok(()));
    let joined = Join.redispatch(core_crate::DispatchKeySet(5), &Tensor(1), "x", &[], None, Scalar(4.0));
    assert!(joined.unwrap().starts_with("DispatchKeySet(5) my::join("));
}

#[test]
fn signatures_are_owned_types_and_markers() {
    assert!(is_signature::<_, fn(Tensor, f64) -> WritesFirst>(Fill));
    assert!(is_signature::<_, fn(f64, Tensor, Tensor) -> WritesLast<2>>(FillOut));
    assert!(is_signature::<_, fn()>(Nothing));
    type Joined = fn(Tensor, String, Vec<Option<Tensor>>, Option<Vec<i64>>, Scalar) -> String;
    assert!(is_signature::<_, Joined>(Join));
}

fn refusing_registration() -> core_crate::Result<()> {
    Err("no registration".into())
}

operator! {
    register_with = crate::refusing_registration;
    Registered = "my::housed() -> ()";
}

#[test]
fn ensure_registered_calls_the_given_function() {
    assert_eq!(Registered::ensure_registered(), Err("no registration".into()));
    assert_eq!(Nothing::ensure_registered(), Ok(()));
}

#[test]
fn other_names_are_overloads_that_the_first_one_knows() {
    assert_eq!(Halve.call(2.0).as_deref(), Ok("my::halve(float x) -> str (2.0,)"));
    let expected = ["my::halve(float x) -> str", "my::halved(float x) -> str"];
    assert_eq!(Half::ALIASES, expected.map(|alias| core_crate::Alias(alias, Half::SCHEMA)));
    assert_eq!((Halved::SCHEMA, Halved::ALIASES), (expected[1], &[][..]));
    assert_eq!(Halved::DOCUMENTATION, "An alias for `my::half`.");
}

#[test]
fn cells_are_one_per_operator() {
    assert!(std::ptr::eq(Join::cell(), Join::cell()));
}

#[test]
fn types_are_plain_values() {
    fn default<T: Default>() -> T {
        T::default()
    }
    assert_eq!(format!("{:?}", default::<Join>()), "Join");
    let copy = Nothing;
    assert_eq!(copy, Nothing);
}

#[test]
fn doc_comments_are_texts() {
    use core_crate::Operator;

    assert_eq!((Join::DOCUMENTATION, Fill::DOCUMENTATION), ("Documented.", ""));
}
