//! `Any` is a subtype of `Some`, and still what was checked for one is not seen as if it had been checked for the other.
use opgrid_core::{Next, OperatorBuilder, OperatorCell, Provider, TypedHandle};

type Some = fn(&'static str);
type Any = for<'a> fn(&'a str);

fn functions_are_subtypes(function: Any) -> Some {
    function
}

fn handle(handle: TypedHandle<Any>) -> TypedHandle<Some> {
    handle
}

fn handle_back(handle: TypedHandle<fn(Any)>) -> TypedHandle<fn(Some)> {
    handle
}

fn cell(cell: &'static OperatorCell<Any>) -> &'static OperatorCell<Some> {
    cell
}

fn cell_back(cell: &'static OperatorCell<fn(Any)>) -> &'static OperatorCell<fn(Some)> {
    cell
}

fn next<'n>(next: Next<'n, Any>) -> Next<'n, Some> {
    next
}

fn provider(provider: Provider<Any>) -> Provider<Some> {
    provider
}

fn builder<'l>(builder: OperatorBuilder<'l, Any>) -> OperatorBuilder<'l, Some> {
    builder
}

/// Each of the two is a subtype of the other.
type One = for<'a> fn(&'a str, &'a str);
type Two = for<'a, 'b> fn(&'a str, &'b str);

fn mutual_subtypes(handle: TypedHandle<One>) -> TypedHandle<Two> {
    handle
}

fn main() {}
