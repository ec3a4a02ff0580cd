//! The forms of an overload that write the result: their names and schemas.

use opgrid_schema::FunctionSchema;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::items::{Error, Form, FormKind, Item, Result};
use crate::literal::string_value;

/// A form with what follows from the functional overload.
pub(crate) struct FormOf {
    pub(crate) name: Ident,
    pub(crate) schema: FunctionSchema,
    pub(crate) is_in_place: bool,
}

impl FormOf {
    /// The constant of the functional overload that holds the form's schema.
    pub(crate) fn constant(&self) -> TokenStream {
        let text = format!("{:#}", self.schema);
        let name = if self.is_in_place { quote!(IN_PLACE) } else { quote!(OUT) };
        quote!(const #name: ::core::option::Option<&'static str> = ::core::option::Option::Some(#text);)
    }
}

/// The forms that stand behind an item's schema.
pub(crate) fn from_item(item: &Item, schema: &FunctionSchema) -> Result<Vec<FormOf>> {
    item.forms.iter().map(|form| of_one(item, schema, form)).collect()
}

fn of_one(item: &Item, functional: &FunctionSchema, form: &Form) -> Result<FormOf> {
    let at_form = |message: String| Error::new(form.span, message);
    let own = item.name.to_string();
    let operator = camel_case(functional.name.base());
    let rest = behind_operator(&own, &operator).map_err(at_form)?;
    let given = match &form.kind {
        FormKind::InPlace(Some(literal)) | FormKind::Out(Some(literal), _) => {
            let unexpected =
                || at_form(format!("expected the overload's name as a string but found `{literal}`"));
            Some(string_value(literal).ok_or_else(unexpected)?)
        }
        FormKind::InPlace(None) | FormKind::Out(None, _) => None,
    };
    let is_in_place = matches!(form.kind, FormKind::InPlace(_));
    let schema = match &form.kind {
        FormKind::InPlace(_) => functional.in_place_form(given.as_deref()),
        FormKind::Out(_, outputs) => {
            let outputs: Vec<String> = outputs.iter().map(Ident::to_string).collect();
            let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
            functional.out_form(given.as_deref(), &outputs)
        }
    };
    let schema = schema.map_err(at_form)?;
    let overload = camel_case(&schema.name.overload);
    let name = match (is_in_place, given) {
        (true, None) => format!("{operator}Inplace{rest}"),
        (true, Some(_)) => format!("{operator}Inplace{overload}"),
        // What stands behind the operator's name, where the overload has none, tells it from another operator.
        (false, _) if functional.name.overload.is_empty() => format!("{own}{overload}"),
        (false, _) => format!("{operator}{overload}"),
    };
    Ok(FormOf { name: Ident::new(&name, item.name.span()), schema, is_in_place })
}

/// The type of an overload that has another operator's name: `SubtractTensor` beside `SubTensor`.
pub(crate) fn renamed(
    own: &Ident,
    functional: &FunctionSchema,
    name: &str,
) -> std::result::Result<String, String> {
    let own = own.to_string();
    let rest = behind_operator(&own, &camel_case(functional.name.base()))?;
    Ok(camel_case(name) + rest)
}

/// The type of the in-place form of an overload, named as usual.
pub(crate) fn in_place_name(own: &Ident, base: &str) -> std::result::Result<Ident, String> {
    let operator = camel_case(base);
    let rest = behind_operator(&own.to_string(), &operator)?.to_owned();
    Ok(Ident::new(&format!("{operator}Inplace{rest}"), own.span()))
}

/// What stands behind the operator's name in that of a type.
fn behind_operator<'a>(own: &'a str, operator: &str) -> std::result::Result<&'a str, String> {
    own.strip_prefix(operator).ok_or_else(|| {
        format!(
            "the types of forms and other names are named after the operator, but `{own}` does not begin with `{operator}`; \
             rename it, or declare the overload by itself"
        )
    })
}

/// `logical_not` as `LogicalNot`.
fn camel_case(name: &str) -> String {
    let words = name.split('_').filter(|word| !word.is_empty());
    words
        .map(|word| {
            let mut letters = word.chars();
            letters
                .next()
                .map(|first| first.to_uppercase().chain(letters).collect::<String>())
                .unwrap_or_default()
        })
        .collect()
}
