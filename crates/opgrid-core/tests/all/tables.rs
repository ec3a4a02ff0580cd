//! The recorded tables and calls of torch 2.15: every column of 2,625 operators, and 600 calls.

use crate::common::{define, implement, nothing};
use opgrid_core::{
    DispatchKey, DispatchKeySet, Dispatcher, ForceGuard, Kernel, LocalKeys, Reason, Registration,
};
use serde_json::Value as Json;

fn vectors(text: &str) -> Vec<Json> {
    let Ok(Json::Object(mut file)) = serde_json::from_str(text) else { panic!("the vectors are one object") };
    serde_json::from_value(file["vectors"].take()).expect("the vectors are a list")
}

fn key(json: &Json) -> DispatchKey {
    json.as_str().expect("a key is a text").parse().expect("every recorded key parses")
}

fn keys(json: &Json) -> DispatchKeySet {
    let text = json.as_str().expect("a set is a text").trim_start_matches("0x");
    DispatchKeySet::from_torch_bits(u64::from_str_radix(text, 16).unwrap()).unwrap()
}

/// The character by which the vectors name what fills a column.
fn code(reason: Reason, fallthrough: bool) -> char {
    match reason {
        Reason::Missing | Reason::SteppedOver => '.',
        Reason::Direct => 'k',
        Reason::Ambiguous => 'x',
        Reason::Fallback if fallthrough => 'f',
        Reason::Fallback => 'F',
        Reason::Alias(DispatchKey::CompositeExplicitAutogradNonFunctional) => 'n',
        Reason::Alias(DispatchKey::CompositeExplicitAutograd) => 'e',
        Reason::Alias(DispatchKey::CompositeImplicitAutograd) => 'm',
        Reason::Alias(DispatchKey::CompositeImplicitAutogradNestedTensor) => 't',
        Reason::Alias(DispatchKey::FuncTorchBatchedDecomposition) => 'b',
        Reason::Alias(_) => 'a',
    }
}

#[test]
fn every_column_of_2625_operators_is_filled_as_torch_fills_it() {
    let dispatcher = Dispatcher::with_reference_fallbacks();
    let vectors = vectors(include_str!("../vectors/table_vectors.json"));
    assert_eq!(vectors.len(), 2625);
    let _defined = define(&dispatcher, "op(Tensor a) -> ()").unwrap();
    let operator = dispatcher.find("test::op").unwrap();
    for vector in &vectors {
        let registrations: Vec<Registration> = vector["regs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|json| implement(&dispatcher, "op", key(json), nothing()).unwrap())
            .collect();
        let columns = operator.table().unwrap();
        let found: String = columns.iter().map(|column| code(column.reason, column.fallthrough)).collect();
        assert_eq!(found, vector["table"].as_str().unwrap(), "{vector}");
        drop(registrations);
    }
    operator.check_invariants().unwrap();
}

#[test]
fn six_hundred_calls_reach_the_keys_and_the_column_that_torch_reaches() {
    let dispatcher = Dispatcher::with_reference_fallbacks();
    let vectors = vectors(include_str!("../vectors/call_vectors.json"));
    assert_eq!(vectors.len(), 600);
    let _defined = define(&dispatcher, "op(Tensor a, Tensor b) -> ()").unwrap();
    let operator = dispatcher.find("test::op").unwrap();
    for vector in &vectors {
        let register = |pair: &Json| {
            let kernel = if pair[1] == "f" { Kernel::fallthrough() } else { nothing() };
            implement(&dispatcher, "op", key(&pair[0]), kernel).unwrap()
        };
        let registrations: Vec<_> = vector["regs"].as_array().unwrap().iter().map(register).collect();
        let local = LocalKeys { included: keys(&vector["inc"]), excluded: keys(&vector["exc"]) };
        let guard = ForceGuard::new(local);
        let effective = operator.effective_keys(keys(&vector["a"]) | keys(&vector["b"])).unwrap();
        drop(guard);
        assert_eq!(effective, keys(&vector["effective"]), "{vector}");
        assert_eq!(effective.torch_column() as u64, vector["column"].as_u64().unwrap(), "{vector}");
        assert_eq!(
            effective.highest_priority_key().to_string(),
            vector["highest"].as_str().unwrap(),
            "{vector}"
        );
        drop(registrations);
    }
}
