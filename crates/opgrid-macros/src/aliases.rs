//! The other names of an overload: an item for each, as if it were declared by itself.

use opgrid_schema::{FunctionSchema, OperatorName};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use crate::forms::{self, FormOf};
use crate::items::{Alias, Attribute, Error, Item, Result};
use crate::literal::string_value;
use crate::schemas::parse_schema;

/// Another name, with what follows from the overload that it stands behind.
pub(crate) struct AliasOf {
    pub(crate) item: Item,
    forms: Vec<FormOf>,
}

/// The other names that stand behind an item's schema.
pub(crate) fn from_item(item: &Item, schema: &FunctionSchema) -> Result<Vec<AliasOf>> {
    let one = |alias| {
        let item = item_of(item, schema, alias)?;
        let forms = forms::from_item(&item, &parse_schema(&item)?)?;
        Ok(AliasOf { item, forms })
    };
    item.aliases.iter().map(one).collect()
}

/// The constant of an overload that holds its other names and those of its forms.
pub(crate) fn constant(
    core: &TokenStream,
    item: &Item,
    forms: &[FormOf],
    aliases: &[AliasOf],
) -> TokenStream {
    if aliases.is_empty() {
        return TokenStream::new();
    }
    let calls = |alias: &Ident, overload: &Ident| quote!(#core::Alias::new::<#alias, #overload>());
    let each = aliases.iter().flat_map(|alias| {
        let of_form = |form: &FormOf| {
            let same = forms.iter().find(|own| own.is_in_place == form.is_in_place)?;
            Some(calls(&form.name, &same.name))
        };
        [calls(&alias.item.name, &item.name)].into_iter().chain(alias.forms.iter().filter_map(of_form))
    });
    quote!(const ALIASES: &'static [#core::Alias] = &[#(#each),*];)
}

fn item_of(item: &Item, schema: &FunctionSchema, alias: &Alias) -> Result<Item> {
    let at_name = |message: String| Error::new(alias.name.span(), message);
    let name = string_value(&alias.name).filter(|name| is_operator_name(name));
    let Some(name) = name else {
        let message = format!(
            "expected another name of `{}` as a string, without namespace and overload, but found `{}`",
            schema.name, alias.name
        );
        return Err(at_name(message));
    };
    let type_name = forms::renamed(&item.name, schema, &name).map_err(at_name)?;
    let namespace = schema.name.namespace().unwrap_or_default();
    let operator = OperatorName::new(format!("{namespace}::{name}"), &schema.name.overload);
    let (own, operator_name) = (schema.name.to_string(), schema.name.base().to_owned());
    let schema = FunctionSchema { name: operator, ..schema.clone() };
    let mut text = Literal::string(&format!("{schema:#}"));
    text.set_span(alias.name.span());
    let mut attributes: Vec<_> =
        item.attributes.iter().filter(|attribute| !attribute.is("doc")).cloned().collect();
    attributes.push(Attribute::documentation(&format!(" An alias for `{own}`.")));
    let mut renamed = Item {
        attributes,
        visibility: item.visibility.clone(),
        name: Ident::new(&type_name, item.name.span()),
        schema: text,
        forms: item.forms.clone(),
        method: item.method.clone(),
        aliases: Vec::new(),
        alias_of: Some(operator_name),
    };
    if let Some(clauses) = &alias.clauses {
        let has = |word: &str| clauses.iter().any(|clause| clause == word);
        let words = item.forms.iter().map(|form| form.word()).chain(item.method.as_ref().map(|_| "method"));
        if let Some(other) = clauses.iter().find(|clause| words.clone().all(|word| *clause != word)) {
            let message =
                format!("`{other}` is not declared for `{}`, so `{name}` cannot have it", item.name);
            return Err(Error::new(other.span(), message));
        }
        renamed.forms.retain(|form| has(form.word()));
        renamed.method = renamed.method.filter(|_| has("method"));
    }
    if let Some(own) = renamed.method.as_ref().and_then(|method| method.name.as_ref()) {
        let message = format!(
            "the method is called `{own}`, which does not say what that of `{name}` is called; name the other clauses that \
             `{name}` has, as in `alias(\"{name}\", in_place)`"
        );
        return Err(at_name(message));
    }
    Ok(renamed)
}

/// Whether a type can be named after it.
fn is_operator_name(name: &str) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    name.chars().all(is_part)
        && name.trim_start_matches('_').starts_with(|first: char| first.is_ascii_alphabetic())
}
