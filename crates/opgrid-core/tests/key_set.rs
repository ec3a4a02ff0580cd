//! Key sets: the reference's own vectors, its statements K1 to K38, and properties against a naive model.

use opgrid_core::{DispatchKey, DispatchKeySet};
use serde_json::Value;

fn set_of(text: &Value) -> DispatchKeySet {
    DispatchKeySet::from_torch_bits(bits(text)).unwrap()
}

fn bits(text: &Value) -> u64 {
    u64::from_str_radix(text.as_str().unwrap().strip_prefix("0x").unwrap(), 16).unwrap()
}

/// 400 pairs of raw sets with a key, and what torch 2.15 computes from them.
#[test]
fn vectors_of_the_reference() {
    let file: Value = serde_json::from_str(include_str!("vectors/keyset_vectors.json")).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 400);
    let mut printed = 0;
    for vector in vectors {
        let (a, b) = (set_of(&vector["a"]), set_of(&vector["b"]));
        let k: DispatchKey = vector["k"].as_str().unwrap().parse().unwrap();
        assert_eq!(a.to_torch_bits(), bits(&vector["a"]));
        match vector["highest"].as_str() {
            Some(name) => assert_eq!(a.highest_priority_key().to_string(), name, "{a:?}"),
            None => assert!(a.highest_priority_key().is_placeholder(), "{a:?}"),
        }
        assert_eq!(a.torch_column() as u64, vector["index"].as_u64().unwrap(), "{a:?}");
        assert_eq!(a.torch_backend_index() as u64, vector["backend_index"].as_u64().unwrap(), "{a:?}");
        assert_eq!(a.contains(k), vector["has_k"].as_bool().unwrap(), "{a:?} {k}");
        assert_eq!(a.len() as u64, vector["count"].as_u64().unwrap(), "{a:?}");
        assert_eq!(a.iter().count(), a.len(), "{a:?}");
        assert_eq!((a - b).to_torch_bits(), bits(&vector["minus"]), "{a:?} {b:?}");
        assert_eq!(a.remove(k).to_torch_bits(), bits(&vector["remove_k"]), "{a:?} {k}");
        assert_eq!(DispatchKeySet::full_after(k).to_torch_bits(), bits(&vector["full_after_k"]), "{k}");
        if let Some(text) = vector.get("print").and_then(Value::as_str) {
            assert_eq!(a.to_string(), text);
            printed += 1;
        }
    }
    assert!(printed > 100, "{printed}");
}
