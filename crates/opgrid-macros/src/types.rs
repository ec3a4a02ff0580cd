//! The Rust types that schema types become.

use opgrid_schema::Type;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

/// A schema type in Rust: the owned type, which signatures are written with, and the parameter of `call`.
pub(crate) struct RustType {
    pub(crate) owned: TokenStream,
    pub(crate) parameter: TokenStream,
}

impl RustType {
    fn by_value(owned: TokenStream) -> Self {
        RustType { parameter: owned.clone(), owned }
    }

    fn by_reference(owned: TokenStream) -> Self {
        RustType { parameter: quote!(&#owned), owned }
    }
}

/// Translates schema types, with the path of the core crate and the place that errors are shown at.
pub(crate) struct Types<'a> {
    pub(crate) core: &'a TokenStream,
    pub(crate) span: Span,
}

impl Types<'_> {
    /// The Rust type, or `None` for a type that only boxed kernels can have.
    pub(crate) fn rust(&self, schema_type: &Type) -> Option<RustType> {
        let rust_type = match schema_type {
            Type::Tensor => RustType::by_reference(self.in_scope("Tensor")),
            Type::Int | Type::SymInt => RustType::by_value(quote!(i64)),
            Type::Float => RustType::by_value(quote!(f64)),
            Type::Bool => RustType::by_value(quote!(bool)),
            Type::Str => RustType { owned: quote!(::std::string::String), parameter: quote!(&str) },
            Type::Complex => RustType::by_value(self.in_core("Complex64")),
            Type::Scalar => RustType::by_value(self.in_core("Scalar")),
            Type::ScalarType => RustType::by_value(self.in_core("DType")),
            Type::Layout => RustType::by_value(self.in_core("Layout")),
            Type::MemoryFormat => RustType::by_value(self.in_core("MemoryFormat")),
            Type::Device => RustType::by_value(self.in_core("Device")),
            Type::Generator => RustType::by_reference(self.in_core("Generator")),
            Type::Any => RustType::by_reference(self.in_core("Value")),
            Type::Optional(inner) => {
                let RustType { owned, parameter } = self.rust(inner)?;
                let option = quote!(::std::option::Option);
                RustType { owned: quote!(#option<#owned>), parameter: quote!(#option<#parameter>) }
            }
            Type::List(element) => {
                let element = self.rust(element)?.owned;
                RustType { owned: quote!(::std::vec::Vec<#element>), parameter: quote!(&[#element]) }
            }
            Type::Dict(key, value) => {
                let (key, value, dict) =
                    (self.rust(key)?.owned, self.rust(value)?.owned, self.in_core("Dict"));
                RustType::by_reference(quote!(#dict<#key, #value>))
            }
            _ => return None,
        };
        Some(rust_type)
    }

    /// A name as the user's module knows it.
    pub(crate) fn in_scope(&self, name: &str) -> TokenStream {
        let name = Ident::new(name, self.span);
        quote!(#name)
    }

    pub(crate) fn in_core(&self, name: &str) -> TokenStream {
        let (core, name) = (self.core, Ident::new(name, self.span));
        quote_spanned!(self.span=> #core::#name)
    }
}
