//! The macro that turns schema strings into typed overloads.
//!
//! [`operator_items!`](operator_items) is what `operator!` of the core crate expands to; nobody else calls it.
//! The schema is read by `opgrid-schema` while the program is compiled, so that a wrong schema is a compile error
//! at the text, and the types of kernels and calls follow from it.
//!
//! ```text
//! operator! {
//!     /// Sum of two tensors.
//!     pub AddTensor = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
//! }
//! ```
//!
//! gives, with `K` for the core crate,
//!
//! ```text
//! /// Sum of two tensors.
//! #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
//! pub struct AddTensor;
//!
//! impl K::Operator for AddTensor {
//!     const SCHEMA: &'static str =
//!         "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
//!     type Signature = fn(Tensor, Tensor, K::Scalar) -> Tensor;
//!     fn cell() -> &'static K::OperatorCell<Self::Signature> {
//!         static CELL: K::OperatorCell<fn(Tensor, Tensor, K::Scalar) -> Tensor> = K::OperatorCell::new();
//!         &CELL
//!     }
//! }
//!
//! impl AddTensor {
//!     /// Calls `aten::add.Tensor`. (…)
//!     pub fn call(self, input: &Tensor, other: &Tensor, alpha: K::Scalar) -> K::Result<Tensor> {
//!         K::operator::call(self, (input, other, alpha,))
//!     }
//! }
//! ```
//!
//! # Forms
//!
//! `, in_place` and `, out` behind a schema declare the overloads that compute the same and write the result: in their
//! first argument, and in an argument `out` behind the others. Their schemas follow from the functional one as torch's do
//! (`add_.Tensor`; `exp.out`, `ge.Tensor_out`); where torch calls an overload otherwise, its name stands in parentheses, as in
//! `, out("IntList_out")`, with the names of the outputs behind it if they have others than the results:
//! `, out("dim_max", max, max_values)`. Their types are named after the operator and the overload, `AddInplaceTensor`
//! and `SumIntListOut`, and `Operator::IN_PLACE` and `Operator::OUT` of the functional overload hold their schemas. A form
//! that is not as the rule says is declared as an overload of its own.
//!
//! # Other names
//!
//! `, alias("absolute")` behind the schema of `aten::abs` declares the same operator under another name, with everything else
//! that stands there: `Absolute`, its forms and its methods. Where only some of it is to be there, the clauses are named:
//! `, alias("subtract", in_place)`. There may be several. `Operator::ALIASES` of the overload tells how each calls the overload
//! that it is another name of, so that who registers one registers all.
//!
//! ```text
//! pub AddTensor = "myops::add.Tensor(Tensor self, Tensor other) -> Tensor", in_place, alias("plus");
//! ```
//!
//! gives, besides `AddTensor` and `AddInplaceTensor`, the overloads `PlusTensor` and `PlusInplaceTensor`, and in
//! `impl K::Operator for AddTensor`
//!
//! ```text
//! const ALIASES: &'static [K::Alias] = &[
//!     K::Alias::new::<PlusTensor, AddTensor>(),
//!     K::Alias::new::<PlusInplaceTensor, AddInplaceTensor>(),
//! ];
//! ```
//!
//! # Methods
//!
//! `, method` behind a schema makes the overload a method of `Tensor`, which is then a type of the same crate; its name is
//! the operator's, or the one in parentheses, as in `, method(sum_dim)`. With `, in_place` there is another method with `_`
//! behind the name. The argument `Tensor self` is what the method is called on. What writes its first argument gives `&Self`.
//!
//! A method takes what people write: any integer where the schema has one, a tuple or an array for a list of them
//! (`K::conversions` has the whole table). It leaves arguments that are passed by name and have a default at that default.
//! `, arguments(dim)` lists what it takes instead, and leaves the others at their defaults. Wherever something is left
//! out, a second method with `_with` in its name takes all arguments, in the order of the schema. `, or_number(AddScalar)` makes the
//! last tensor `K::conversions::TensorOrNumber` and calls that overload for a number, for the method that writes `AddInplaceScalar`, or
//! the overload that is named behind it.
//!
//! ```text
//! /// The sum.
//! pub AddTensor = "myops::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
//!     in_place, method, or_number(AddScalar);
//! ```
//!
//! gives, besides the overloads `AddTensor` and `AddInplaceTensor`, the methods `add`, `add_with`, `add_` and `add_with_`:
//!
//! ```text
//! impl Tensor {
//!     /// The sum. (…)
//!     pub fn add<'a>(&self, other: impl Into<K::conversions::TensorOrNumber<'a, Tensor>>) -> K::Result<Tensor> {
//!         let other = other.into();
//!         match other {
//!             K::conversions::TensorOrNumber::Tensor(other) => AddTensor.call(self, other, K::Scalar::Int(1)),
//!             K::conversions::TensorOrNumber::Number(other) => AddScalar.call(self, other, K::Scalar::Int(1)),
//!         }
//!     }
//! }
//! ```
//!
//! # Registration on first use
//!
//! The first item may be `register_with = path;`, the path of a `fn() -> K::Result<()>`. Each overload then has
//! `fn ensure_registered() -> K::Result<()> { path() }`, which the dispatcher calls where the overload is not registered yet.
//!
//! With `register_with = path(register);` the overloads are also a group that is registered when one of them is needed:
//!
//! ```text
//! pub(crate) static OPERATORS: K::OnDemand = K::OnDemand::new(&["aten::add.Tensor"], register);
//! ```
//!
//! and `ensure_registered` calls `path(&OPERATORS)`, of a `fn(&'static K::OnDemand) -> K::Result<()>`. `register` is a `fn(&mut K::Library)`. What it
//! defines by schema strings is named behind it, as in `register_with = path(register, "aten::sym_is_contiguous");`.
//!
//! # Types
//!
//! `Tensor` is whatever type of that name is in scope.
//!
//! | schema | in the signature | parameter of `call` |
//! |---|---|---|
//! | `Tensor` | `Tensor` | `&Tensor` |
//! | `int`, `SymInt` | `i64` | `i64` |
//! | `float`, `bool` | `f64`, `bool` | the same |
//! | `complex` | `K::Complex64` | the same |
//! | `str` | `String` | `&str` |
//! | `Scalar`, `ScalarType`, `Layout`, `MemoryFormat`, `Device` | `K::Scalar`, `K::DType`, `K::Layout`, … | the same |
//! | `Generator`, `Any` | `K::Generator`, `K::Value` | by reference |
//! | `Dict(A, B)` | `K::Dict<A, B>` | by reference |
//! | `T?` | `Option<T>` | `Option` of the parameter of `T` |
//! | `T[]`, `T[N]` | `Vec<T>` | `&[T]` |
//!
//! An operator with any other type is registered boxed, by its schema text.
//!
//! # Returns
//!
//! One return is its type, several are a tuple, none is `()`. Returns that are written arguments become markers,
//! and `call` gives `()`: `K::WritesFirst` for the first argument (in-place), `K::WritesLast` or `K::WritesLast<N>` for the last one
//! or N (out). Views such as `-> Tensor(a)` are plain types.
//!
//! # Names
//!
//! `self` becomes `input`; an argument whose name is a Rust keyword gets an underscore at the end (`type_`).
//!
//! # Attributes
//!
//! Attributes go to the type; `cfg` and `allow` also to the implementations. Without a doc comment, the schema is
//! the documentation.
#![forbid(unsafe_code)]

mod aliases;
mod expand;
mod forms;
mod items;
mod literal;
mod methods;
mod parameters;
mod returns;
mod schemas;
mod types;

/// Turns `(core crate) attributes visibility Name = "schema"; …` into typed overloads; see the crate's
/// documentation.
#[proc_macro]
pub fn operator_items(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand::operator_items(input.into()).into()
}

/// As [`operator_items!`](operator_items) without methods.
#[proc_macro]
pub fn operator_types(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand::operator_types(input.into()).into()
}

/// The methods of overloads in one block: `(core crate) attributes impl Tensor; items`.
#[proc_macro]
pub fn operator_methods(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand::operator_methods(input.into()).into()
}
