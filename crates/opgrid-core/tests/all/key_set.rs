//! Key sets: the reference's own vectors, its statements K1 to K38, and properties against a naive model.

use std::collections::BTreeSet;

use opgrid_core::{BackendComponent, DispatchKey, DispatchKeySet, Functionality};
use proptest::prelude::*;
use serde_json::Value;

fn bits(text: &Value) -> u64 {
    u64::from_str_radix(text.as_str().unwrap().strip_prefix("0x").unwrap(), 16).unwrap()
}

fn set_of(text: &Value) -> DispatchKeySet {
    DispatchKeySet::from_torch_bits(bits(text)).unwrap()
}

/// The set of the keys of these names.
fn set(names: &str) -> DispatchKeySet {
    names.split_whitespace().map(|name| name.parse::<DispatchKey>().unwrap()).collect()
}

fn printed(keys: impl IntoIterator<Item = DispatchKey>) -> String {
    keys.into_iter().map(|key| key.to_string()).collect::<Vec<_>>().join(" ")
}

/// 400 pairs of raw sets with a key, and what torch 2.15 computes from them.
#[test]
fn vectors_of_the_reference() {
    let file: Value = serde_json::from_str(include_str!("../vectors/keyset_vectors.json")).unwrap();
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
    assert_eq!(printed, 166);
}

/// K1 to K6: a dense key holds its functionality, its backend and itself.
#[test]
fn k1_to_k6_a_dense_key_holds_its_parts() {
    for backend in [BackendComponent::Cpu, BackendComponent::Lazy] {
        let key = DispatchKey::runtime(Functionality::Dense, backend);
        let set = key.key_set();
        assert!(set.contains(DispatchKey::Dense));
        assert!(set.has_backend(backend));
        assert!(set.contains(key));
    }
}

/// K7 to K13: a set is a product, so different lists of keys can make the same set.
#[test]
fn k7_to_k13_a_set_is_a_product() {
    let (cpu, cuda) = (BackendComponent::Cpu.into(), BackendComponent::Cuda.into());
    // K7, K8
    assert_eq!(set("Dense") | cpu, set("CPU"));
    let autograd = set("AutogradCUDA");
    assert!(autograd.contains(DispatchKey::AutogradFunctionality));
    assert!(autograd.has_backend(BackendComponent::Cuda));
    // K9, K10
    let product = set("AutogradFunctionality Dense") | cuda | cpu;
    for part in [set("AutogradFunctionality"), set("Dense"), cuda, cpu] {
        assert!(product.has_all(part), "{part:?}");
    }
    for key in product {
        assert!(product.contains(key), "{key}");
    }
    assert_eq!(product.len(), 4);
    // K11, K12, K13
    assert_eq!(product, set("AutogradCUDA AutogradCPU CUDA CPU"));
    assert_eq!(product, set("AutogradCUDA CPU"));
    assert_eq!(product, set("CUDA AutogradCPU"));
}

/// K14 to K17 and K37: the order of iteration.
#[test]
fn k14_to_k17_and_k37_iteration() {
    assert_eq!(DispatchKeySet::EMPTY.iter().next(), None);
    assert_eq!(DispatchKeySet::EMPTY.iter().count(), 0);
    assert_eq!(printed(set("CPU")), "CPU");
    assert_eq!(printed(set("CPU AutogradCUDA")), "CPU CUDA AutogradCPU AutogradCUDA");
    let mixed = set("FPGA Functionalize Dense") | BackendComponent::Cpu.into();
    assert_eq!(printed(mixed), "CPU FPGA Functionalize");
    let around = set("CPU AutogradCUDA FPGA");
    assert_eq!(printed(around), "CPU CUDA FPGA AutogradCPU AutogradCUDA");
}

/// K18 and K19: the empty set.
#[test]
fn k18_and_k19_the_empty_set() {
    let empty = DispatchKeySet::default();
    for key in DispatchKey::all().filter(|key| !key.is_alias() && *key != DispatchKey::Undefined) {
        assert!(!empty.contains(key), "{key}");
    }
    assert!(empty.is_empty());
    assert_eq!(empty, DispatchKeySet::EMPTY);
    assert_eq!(empty.highest_priority_key(), DispatchKey::Undefined);
    assert_eq!(empty.highest_functionality(), Functionality::Undefined);
    assert_eq!(empty.highest_backend(), None);
    assert_eq!(empty.to_string(), "DispatchKeySet()");
    // Vacuous, as in the reference: their sets are empty.
    assert!(empty.contains(DispatchKey::Undefined) && empty.contains(DispatchKey::Autograd));
}

/// K20 to K25: sets of one functionality or of one backend.
#[test]
fn k20_to_k25_singletons() {
    let functionalities = Functionality::all().skip(1).map(|it| DispatchKey::from(it).key_set());
    for single in functionalities.chain(BackendComponent::all().map(DispatchKeySet::from)) {
        assert!(!single.is_empty());
        assert_eq!(single.layers().count_ones() + single.backends().count_ones(), 1);
        assert_eq!(single | single, single);
        assert!(single.has_all(single) && single.has_any(single));
    }
    for functionality in Functionality::all().skip(1) {
        let key = DispatchKey::from(functionality);
        let single = DispatchKeySet::EMPTY.add(key);
        assert_eq!(single, key.key_set());
        assert_eq!(single, DispatchKeySet::from_iter([key, key]));
        assert_eq!(single.add(key), single);
        assert!(single.contains(key));
        assert_eq!(single.remove(key), DispatchKeySet::EMPTY);
        assert_eq!(single.highest_functionality(), functionality);
    }
    for backend in BackendComponent::all() {
        let single = DispatchKeySet::from_backend(backend);
        assert_eq!(single.highest_backend(), Some(backend));
        assert_eq!(single.highest_priority_key(), DispatchKey::Undefined);
        assert_eq!(single.remove_backend(backend), DispatchKeySet::EMPTY);
    }
}

/// Every instance of every functionality that has them.
fn instances() -> Vec<DispatchKey> {
    DispatchKey::all().filter(|key| key.backend().is_some()).collect()
}

/// K26 to K29: sets of one instance.
#[test]
fn k26_to_k29_single_instances() {
    assert_eq!(instances().len(), 96);
    for key in instances() {
        let single = key.key_set();
        let backend = DispatchKeySet::from(key.backend().unwrap());
        assert!(!single.is_empty() && single.contains(key));
        assert_eq!(single.add(key), single);
        assert_eq!(single | single, single);
        assert_eq!(single, DispatchKey::from(key.functionality()).key_set() | backend);
        assert_eq!(single.remove(key), backend);
        assert_eq!(single.highest_priority_key(), key);
        assert_eq!(printed(single), key.to_string());
    }
}

/// K30 to K33: pairs of instances give their cross product.
#[test]
fn k30_to_k33_pairs_of_instances() {
    for a in instances() {
        for b in instances() {
            let pair = DispatchKeySet::from_keys(&[a, b]);
            for key in [a, b] {
                assert!(pair.has_backend(key.backend().unwrap()));
                assert!(pair.contains(key.functionality().into()));
            }
            let functionalities = BTreeSet::from([a.functionality(), b.functionality()]);
            let backends = BTreeSet::from([a.backend().unwrap(), b.backend().unwrap()]);
            assert_eq!(pair.len(), functionalities.len() * backends.len());
            let product = functionalities.iter().flat_map(|functionality| {
                backends.iter().map(|backend| DispatchKey::runtime(*functionality, *backend))
            });
            assert!(pair.iter().eq(product), "{a} {b}");
        }
    }
}

/// K34: the full set has every functionality. The reference's mark behind the last functionality is no key here:
/// its name does not parse, and its bit belongs to no set.
#[test]
fn k34_the_full_set() {
    for functionality in Functionality::all().skip(1) {
        assert!(DispatchKeySet::FULL.contains(functionality.into()), "{functionality}");
    }
    assert!("EndOfFunctionalityKeys".parse::<DispatchKey>().is_err());
    for bit in [62, 63] {
        let error = DispatchKeySet::from_torch_bits(1 << bit).unwrap_err();
        assert!(error.message().contains("expected bits 0 to 61"), "{error}");
    }
    assert_eq!(DispatchKeySet::FULL.to_torch_bits(), (1 << 62) - 1);
    assert_eq!(DispatchKeySet::from_torch_bits((1 << 62) - 1).unwrap(), DispatchKeySet::FULL);
}

/// K35 and K38: iterators start at the first key, can be copied where they stand, and stay at the end. An
/// iterator beyond the end, which the reference refuses to make, cannot be written.
#[test]
fn k35_and_k38_iterators() {
    assert_eq!(DispatchKeySet::EMPTY.iter().next(), None);
    let mut single = set("Tracer").iter();
    assert_eq!(single.next(), Some(DispatchKey::Tracer));
    let (mut full, count) = (DispatchKeySet::FULL.iter(), DispatchKeySet::FULL.len());
    assert_eq!(count, opgrid_core::torch_columns().len() - 1);
    assert_eq!(full.next(), Some(DispatchKey::Cpu));
    let mut copy = full.clone();
    assert_eq!(full.next(), Some(DispatchKey::Cuda));
    assert_eq!(copy.next(), Some(DispatchKey::Cuda));
    assert_eq!(full.by_ref().count(), count - 2);
    for ended in [&mut single, &mut full] {
        assert_eq!(ended.next(), None);
        assert_eq!(ended.next(), None);
    }
}

/// K36: the key of the highest backend, layers left aside.
#[test]
fn k36_highest_backend_type() {
    assert_eq!(set("AutogradCPU CPU").highest_backend_type(), DispatchKey::Cpu);
    assert_eq!(set("Functionalize SparseCUDA").highest_backend_type(), DispatchKey::SparseCuda);
    assert_eq!(set("CUDA QuantizedCUDA").highest_backend_type(), DispatchKey::QuantizedCuda);
}

#[test]
fn legacy_extract_leaves_the_accompanying_layers_aside() {
    assert_eq!(set("CPU ADInplaceOrView AutogradCPU AutocastCPU").legacy_extract(), DispatchKey::Cpu);
    assert_eq!(
        set("SparseCUDA Functionalize Python FuncTorchBatched").legacy_extract(),
        DispatchKey::SparseCuda
    );
    assert_eq!(set("CPU Conjugate").legacy_extract(), DispatchKey::Conjugate);
    assert_eq!(set("ADInplaceOrView AutogradOther").legacy_extract(), DispatchKey::Undefined);
    let accompanying =
        set("ADInplaceOrView AutogradFunctionality AutogradOther AutogradNestedTensor Functionalize \
         Python PythonTLSSnapshot FuncTorchGradWrapper FuncTorchVmapMode FuncTorchBatched")
            | DispatchKeySet::AUTOCAST;
    for key in Functionality::all().skip(1).map(DispatchKey::from).filter(|key| key.is_runtime()) {
        let left_aside = key.key_set().legacy_extract() == DispatchKey::Undefined;
        assert_eq!(left_aside, accompanying.contains(key), "{key}");
    }
}

#[test]
fn minus_keeps_backends() {
    assert_eq!(set("CPU CUDA AutogradCUDA") - set("CUDA"), set("AutogradCPU AutogradCUDA"));
    assert_eq!(set("CPU AutogradCPU") - DispatchKeySet::AUTOGRAD, set("CPU"));
    assert_eq!(set("CPU CUDA").remove_backend(BackendComponent::Cuda), set("CPU"));
    // Not meant as a question, but defined: they share the backend.
    assert!(set("AutogradCPU").has_any(set("CPU")));
    assert!(!set("AutogradCPU").has_any(set("Dense")));
}

/// Masks let through what users may allocate later: the full set is torch's, `ALL` and `full_after` are not.
#[test]
fn masks_keep_the_positions_of_users() {
    let user = |position| DispatchKey::from(Functionality::at(position).unwrap());
    let (below, above) = (user(24), user(28));
    let backend = BackendComponent::at(20).unwrap();
    let set = DispatchKeySet::from_keys(&[below, above, DispatchKey::AutogradCpu]) | backend.into();
    assert_eq!(set.highest_priority_key(), above);
    assert_eq!((set & DispatchKeySet::full_after(above)).highest_priority_key().backend(), Some(backend));
    let after = set & DispatchKeySet::AFTER_AUTOGRAD;
    assert_eq!(after.highest_priority_key(), below);
    assert!(after.has_backend(backend));
    assert_eq!(set & DispatchKeySet::ALL, set);
    assert_eq!(set & DispatchKeySet::FULL, DispatchKey::AutogradCpu.key_set());
    assert!(DispatchKeySet::ALL.has_all(DispatchKeySet::FULL));

    // No key is there yet: neither printed, nor iterated, nor in torch's form.
    assert_eq!(set.to_string(), "DispatchKeySet(AutogradCPU)");
    assert_eq!(set.len(), 1);
    assert_eq!(set.to_torch_bits(), DispatchKey::AutogradCpu.key_set().to_torch_bits());
    assert_eq!(set.torch_column(), DispatchKey::AutogradCpu.torch_column().unwrap());

    let top = user(62);
    assert!(DispatchKeySet::full_after(top).has_all(DispatchKeySet::FULL));
    assert!(!DispatchKeySet::full_after(top).contains(top));
}

/// The bit of `Undefined` is in no set, and a word that has it nevertheless means the same.
#[test]
fn the_bit_of_undefined_is_never_seen() {
    for key in DispatchKey::all() {
        assert_eq!(key.key_set().layers() & 1, 0, "{key}");
        assert_eq!(DispatchKeySet::full_after(key).layers() & 1, 0, "{key}");
    }
    assert_eq!((DispatchKeySet::FULL | DispatchKeySet::ALL).layers() & 1, 0);
    for set in [DispatchKeySet::EMPTY, set("CPU AutogradCUDA Tracer")] {
        let marked = DispatchKeySet::from_parts(set.layers() | 1, set.backends());
        assert_eq!(marked.highest_priority_key(), set.highest_priority_key());
        assert_eq!(marked.to_string(), set.to_string());
        assert_eq!(marked.len(), set.len());
        assert_eq!(marked.to_torch_bits(), set.to_torch_bits());
        assert_eq!(marked.torch_column(), set.torch_column());
    }
}

#[test]
fn after_a_key_remain_backends_and_the_python_dispatcher() {
    let after = DispatchKeySet::full_after(DispatchKey::Cpu);
    assert_eq!(after, DispatchKeySet::ALL_BACKENDS.add(DispatchKey::PythonDispatcher));
    assert_eq!(after.to_torch_bits(), 0xffff | 1 << 61);
    // Nothing is below `Undefined`, nor below an alias, which is no functionality.
    assert_eq!(DispatchKeySet::full_after(DispatchKey::Undefined), after);
    assert_eq!(DispatchKeySet::full_after(DispatchKey::Autograd), after);
}

/// Sets are written as the keys they iterate; different words may read the same, which `Debug` shows.
#[test]
fn printing() {
    assert_eq!(set("AutogradCUDA CPU").to_string(), "DispatchKeySet(CPU, CUDA, AutogradCPU, AutogradCUDA)");
    assert_eq!(set("Dense Sparse").to_string(), "DispatchKeySet()");
    assert_eq!(format!("{:?}", set("Dense")), "DispatchKeySet() [0x2, 0x0]");
    assert!(!set("Dense").is_empty());
}

/// The naive model of a set: which functionalities and which backends.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    functionalities: BTreeSet<u32>,
    backends: BTreeSet<u32>,
}

impl Model {
    fn from_set(set: DispatchKeySet) -> Self {
        let functionalities = (0..64).filter(|bit| set.layers() >> bit & 1 != 0).collect();
        let backends = (0..32).filter(|bit| set.backends() >> bit & 1 != 0).collect();
        Self { functionalities, backends }
    }

    /// Every key of the product, functionality by functionality.
    fn keys(&self) -> Vec<DispatchKey> {
        let mut keys = Vec::new();
        for functionality in self.functionalities.iter().filter_map(|position| Functionality::at(*position)) {
            if !functionality.is_per_backend() {
                keys.extend(functionality.name().map(|_| DispatchKey::from(functionality)));
                continue;
            }
            for backend in self.backends.iter().filter_map(|position| BackendComponent::at(*position)) {
                keys.extend(backend.name().map(|_| DispatchKey::runtime(functionality, backend)));
            }
        }
        keys
    }

    fn combine(&self, other: &Self, choose: fn(&BTreeSet<u32>, &BTreeSet<u32>) -> BTreeSet<u32>) -> Self {
        Self {
            functionalities: choose(&self.functionalities, &other.functionalities),
            backends: choose(&self.backends, &other.backends),
        }
    }

    fn minus(&self, other: &Self) -> Self {
        let functionalities = &self.functionalities - &other.functionalities;
        Self { functionalities, backends: self.backends.clone() }
    }

    fn has_all(&self, other: &Self) -> bool {
        other.functionalities.is_subset(&self.functionalities) && other.backends.is_subset(&self.backends)
    }

    fn has_any(&self, other: &Self) -> bool {
        !self.functionalities.is_disjoint(&other.functionalities)
            || !self.backends.is_disjoint(&other.backends)
    }

    fn highest(&self) -> (u32, Option<u32>) {
        (self.functionalities.last().copied().unwrap_or(0), self.backends.last().copied())
    }
}

/// Words of all densities, free positions included, without the bit of `Undefined`.
fn any_set() -> impl Strategy<Value = DispatchKeySet> {
    let layers =
        prop_oneof![any::<u64>(), (any::<u64>(), any::<u64>(), any::<u64>()).prop_map(|(a, b, c)| a & b & c)];
    let backends = prop_oneof![Just(0), any::<u32>(), (0..32_u32).prop_map(|bit| 1 << bit)];
    (layers, backends).prop_map(|(layers, backends)| DispatchKeySet::from_parts(layers & !1, backends))
}

fn any_key() -> impl Strategy<Value = DispatchKey> {
    let instance = (0..64_u32, 0..32_u32).prop_map(|(functionality, backend)| {
        DispatchKey::runtime(
            Functionality::at(functionality).unwrap(),
            BackendComponent::at(backend).unwrap(),
        )
    });
    let functionality = (0..64_u32).prop_map(|position| Functionality::at(position).unwrap().into());
    prop_oneof![instance, functionality, proptest::sample::select(DispatchKey::all().collect::<Vec<_>>())]
}

proptest! {
    #[test]
    fn algebra_is_that_of_the_model(a in any_set(), b in any_set()) {
        let (left, right) = (Model::from_set(a), Model::from_set(b));
        prop_assert_eq!(Model::from_set(a | b), left.combine(&right, |x, y| x | y));
        prop_assert_eq!(Model::from_set(a & b), left.combine(&right, |x, y| x & y));
        prop_assert_eq!(Model::from_set(a ^ b), left.combine(&right, |x, y| x ^ y));
        prop_assert_eq!(Model::from_set(a - b), left.minus(&right));
        prop_assert_eq!(a.has_all(b), left.has_all(&right));
        prop_assert!((a | b).has_all(b) && a.has_all(a & b));
        prop_assert_eq!(a.has_any(b), left.has_any(&right));
        prop_assert_eq!(a.is_empty(), left == Model::default());
        prop_assert_eq!(a == b, left == right);
        let assigned = |mut set: DispatchKeySet, assign: fn(&mut DispatchKeySet, DispatchKeySet)| {
            assign(&mut set, b);
            set
        };
        prop_assert_eq!(assigned(a, |x, y| *x |= y), a | b);
        prop_assert_eq!(assigned(a, |x, y| *x &= y), a & b);
        prop_assert_eq!(assigned(a, |x, y| *x -= y), a - b);
    }

    #[test]
    fn keys_enter_and_leave_as_in_the_model(set in any_set(), key in any_key()) {
        let (model, single) = (Model::from_set(set), Model::from_set(key.key_set()));
        prop_assert_eq!(Model::from_set(set.add(key)), model.combine(&single, |x, y| x | y));
        prop_assert_eq!(Model::from_set(set.remove(key)), model.minus(&single));
        prop_assert_eq!(set.contains(key), model.has_all(&single));
        prop_assert!(set.add(key).contains(key));
        if let Some(backend) = key.backend() {
            prop_assert_eq!(set.has_backend(backend), model.backends.contains(&backend.position()));
            prop_assert!(!set.remove_backend(backend).has_backend(backend));
            prop_assert_eq!(set.remove_backend(backend) | backend.into(), set | backend.into());
        }
        let mut after = BTreeSet::from_iter(1..key.functionality().position().max(1));
        after.insert(Functionality::PythonDispatcher.position());
        let after = Model { functionalities: after, backends: (0..32).collect() };
        prop_assert_eq!(Model::from_set(DispatchKeySet::full_after(key)), after);
    }

    #[test]
    fn the_highest_key_is_that_of_the_model(set in any_set()) {
        let (functionality, backend) = Model::from_set(set).highest();
        prop_assert_eq!(set.highest_functionality().position(), functionality);
        prop_assert_eq!(set.highest_backend().map(BackendComponent::position), backend);
        prop_assert_eq!(set.backend_index() as u32, backend.unwrap_or(0));
        let key = set.highest_priority_key();
        prop_assert_eq!(key.functionality().position(), functionality);
        let has_instance = |position: &u32| {
            set.highest_functionality().has_instance_on(BackendComponent::at(*position).unwrap())
        };
        let expected = backend.filter(has_instance);
        prop_assert_eq!(key.backend().map(BackendComponent::position), expected);
    }

    #[test]
    fn iteration_is_that_of_the_model(set in any_set()) {
        let keys: Vec<_> = set.iter().collect();
        prop_assert_eq!(&keys, &Model::from_set(set).keys());
        prop_assert_eq!(keys.len(), set.len());
        prop_assert!(keys.iter().all(|key| set.contains(*key)));
        // Back together they are the set, apart from what no key holds.
        let again: DispatchKeySet = keys.iter().copied().collect();
        prop_assert!(set.has_all(again));
        prop_assert_eq!(again.iter().collect::<Vec<_>>(), keys);
    }

    #[test]
    fn what_is_printed_parses(set in any_set()) {
        let text = set.to_string();
        let names = text.strip_prefix("DispatchKeySet(").and_then(|text| text.strip_suffix(')')).unwrap();
        let keys: Vec<DispatchKey> =
            names.split(", ").filter(|name| !name.is_empty()).map(|name| name.parse().unwrap()).collect();
        prop_assert_eq!(keys, set.iter().collect::<Vec<_>>());
    }

    #[test]
    fn the_form_of_the_reference_round_trips(set in any_set(), bits in 0..1_u64 << 62) {
        prop_assert_eq!(DispatchKeySet::from_torch_bits(set.to_torch_bits()).unwrap(), set & DispatchKeySet::FULL);
        prop_assert_eq!(DispatchKeySet::from_torch_bits(bits).unwrap().to_torch_bits(), bits);
        prop_assert!(DispatchKeySet::from_torch_bits(bits | 1 << 62).is_err());
    }

    #[test]
    fn a_call_picks_the_column_of_its_highest_key(bits in 0..1_u64 << 62) {
        let set = DispatchKeySet::from_torch_bits(bits).unwrap();
        let key = set.highest_priority_key();
        // A placeholder has no column; the first instance's is picked.
        let key = if key.is_placeholder() {
            DispatchKey::runtime(key.functionality(), BackendComponent::Cpu)
        } else {
            key
        };
        prop_assert_eq!(Some(set.torch_column()), key.torch_column());
    }

    #[test]
    fn no_text_makes_parsing_panic(text in "\\PC{0,80}") {
        if let Ok(key) = text.parse::<DispatchKey>() {
            prop_assert_eq!(key.to_string(), text);
        }
    }
}
