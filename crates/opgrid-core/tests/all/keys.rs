//! Dispatch keys against the facts that torch 2.15 printed: every key, alias, named set, column and device.

use std::collections::BTreeSet;

use opgrid_core::{
    BackendComponent, DType, Device, DeviceType, DispatchKey, DispatchKeySet, ErrorKind, Functionality,
    KeyKind, Layout, NAMED_SETS, alias_backends, autocast_related, autograd_key, autograd_related,
    compute_dispatch_key, device_key, inference_tensor_key_set, key_to_options, tensor_key_set,
    torch_columns,
};
use serde_json::Value;

fn facts() -> Value {
    serde_json::from_str(include_str!("../vectors/keys.json")).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(text).collect()
}

fn bits(value: &Value) -> u64 {
    u64::from_str_radix(text(value).strip_prefix("0x").unwrap(), 16).unwrap()
}

fn key(name: &str) -> DispatchKey {
    name.parse().unwrap()
}

fn names(keys: impl IntoIterator<Item = DispatchKey>) -> Vec<String> {
    keys.into_iter().map(|key| key.to_string()).collect()
}

/// A backend that no built-in key is for.
fn run_time_backend() -> BackendComponent {
    BackendComponent::at(20).unwrap()
}

#[test]
fn counts() {
    let facts = facts();
    assert_eq!(BackendComponent::all().count() as u64, facts["num_backends"]);
    assert_eq!(Functionality::all().count() as u64, facts["num_functionality_keys"]);
    let per_backend = Functionality::all().filter(|it| it.is_per_backend()).count();
    assert_eq!(per_backend as u64, facts["num_per_backend_functionality_keys"]);
    assert_eq!(torch_columns().len() as u64, facts["num_runtime_entries"]);
    assert_eq!(size_of::<DispatchKey>() as u64, facts["sizeof"]["DispatchKey"]);
    assert_eq!(size_of::<BackendComponent>() as u64, facts["sizeof"]["BackendComponent"]);
    // A difference on purpose: two words, to have room for keys of users.
    assert_eq!(size_of::<DispatchKeySet>(), 16);
    assert_eq!(DispatchKeySet::FULL.to_torch_bits(), bits(&facts["full"]));
    assert_eq!(DispatchKeySet::ALL_BACKENDS.to_torch_bits(), facts["full_backend_mask"]);
}

#[test]
fn every_key() {
    let facts = facts();
    let rows = || facts["keys"].as_array().unwrap().iter().filter(|row| row["placeholder"] == false);
    assert_eq!(names(DispatchKey::all()), rows().map(|row| text(&row["name"])).collect::<Vec<_>>());
    for row in rows() {
        let name = text(&row["name"]);
        let key = key(name);
        assert_eq!(key.to_string(), name);
        assert_eq!(key.torch_value().map(u64::from), row["value"].as_u64(), "{key}");
        assert_eq!(key.key_set().to_torch_bits(), bits(&row["repr"]), "{key}");
        let column = row["table_index"].as_u64();
        assert_eq!(key.torch_column().map(|column| column as u64), column, "{key}");
        assert_eq!(key.is_runtime(), column.is_some(), "{key}");
        assert_eq!(key.functionality().to_string(), text(&row["functionality"]), "{key}");
        let backend = key.backend().map_or("InvalidBit".to_owned(), |backend| backend.to_string());
        assert_eq!(backend, text(&row["backend"]), "{key}");
        assert_eq!(key.is_backend_key(), row["is_backend_dispatch_key"] == true, "{key}");
        assert_eq!(
            key.runtime_set().map(|set| set.to_torch_bits()),
            row.get("runtime_set").map(bits),
            "{key}"
        );
        assert_eq!(key.backends_of_autograd().to_torch_bits(), bits(&row["backends_from_autograd"]), "{key}");
        let kinds: &[KeyKind] = match text(&row["kind"]) {
            "undefined" => &[KeyKind::Undefined],
            "per_backend_functionality" => &[KeyKind::BuildingBlock],
            "runtime_functionality" => &[KeyKind::Backend, KeyKind::Layer],
            "runtime_per_backend" => &[KeyKind::Instance],
            "alias" => &[KeyKind::Alias],
            other => panic!("{other}"),
        };
        assert!(kinds.contains(&key.kind()), "{key} is a {}", key.kind());
        assert_eq!(key.is_alias(), key.kind() == KeyKind::Alias);
        assert_eq!(key.is_building_block(), key.kind() == KeyKind::BuildingBlock);
    }
    let whole = DispatchKey::all().filter(|key| key.kind() == KeyKind::Backend);
    assert_eq!(names(whole), ["FPGA", "Vulkan", "Metal", "CustomRNGKeyId", "MkldnnCPU"]);
}

#[test]
fn keys_compare_in_the_order_of_the_reference() {
    let mut keys: Vec<_> = DispatchKey::all().collect();
    let placeholder = |it: Functionality| DispatchKeySet::from_keys(&[it.into()]).highest_priority_key();
    keys.extend(Functionality::all().filter(|it| it.is_per_backend()).map(placeholder));
    keys.sort();
    let values: Vec<_> = keys.iter().map(|key| key.torch_value().unwrap()).collect();
    let expected: Vec<_> = (0..=155).filter(|value| *value != 47).collect();
    assert_eq!(values, expected);
}

/// The reference names the value before each group of instances, and prints it as prefix and `Undefined`.
#[test]
fn placeholders() {
    let facts = facts();
    let rows = facts["keys"].as_array().unwrap().iter();
    let rows: Vec<_> = rows.filter(|row| text(&row["name"]).starts_with("StartOf")).collect();
    assert_eq!(rows.len(), 6);
    for (row, functionality) in rows.into_iter().zip(Functionality::all().filter(|it| it.is_per_backend())) {
        let key = DispatchKeySet::from_keys(&[functionality.into()]).highest_priority_key();
        assert_eq!(key.kind(), KeyKind::Placeholder);
        assert_eq!(text(&row["name"]), format!("StartOf{functionality}Backends"));
        assert_eq!(key.to_string(), format!("{}Undefined", functionality.instance_prefix().unwrap()));
        assert_eq!(key.torch_value().map(u64::from), row["value"].as_u64());
        assert_eq!(key.key_set().to_torch_bits(), bits(&row["repr"]));
        assert_eq!(key.torch_column(), None);
        assert!(!key.is_runtime());
        assert_ne!(key, DispatchKey::Undefined);
        assert_eq!(key.functionality(), functionality);
        assert_eq!(key.backend(), None);
    }
}

#[test]
fn functionalities() {
    let facts = facts();
    for (row, functionality) in facts["functionalities"].as_array().unwrap().iter().zip(Functionality::all())
    {
        assert_eq!(functionality.to_string(), text(&row["name"]));
        assert_eq!(Functionality::named(text(&row["name"])), Some(functionality));
        assert_eq!(functionality.torch_value().map(u64::from), row["value"].as_u64());
        assert_eq!(functionality.is_per_backend(), row["per_backend"] == true);
        let own = DispatchKey::from(functionality);
        assert_eq!(own.is_runtime(), row["runtime_key"] == true);
        let first = if functionality.is_per_backend() {
            DispatchKey::runtime(functionality, BackendComponent::Cpu)
        } else {
            assert_eq!(DispatchKey::runtime(functionality, BackendComponent::Cpu), DispatchKey::Undefined);
            own
        };
        assert_eq!(first.torch_column().map(|column| column as u64), row["table_offset"].as_u64());
        let bit = own.key_set().to_torch_bits().checked_ilog2().map_or(-1, i64::from);
        assert_eq!(bit, row["bit"].as_i64().unwrap());
    }
}

#[test]
fn backends() {
    let facts = facts();
    let rows = facts["backend_components"].as_array().unwrap();
    let backends = std::iter::once(None).chain(BackendComponent::all().map(Some));
    assert_eq!(rows.len(), 1 + BackendComponent::all().count());
    for (row, backend) in rows.iter().zip(backends) {
        assert_eq!(autograd_key(backend).to_string(), text(&row["autograd_key"]));
        assert_eq!(autograd_related(backend).to_string(), text(&row["autograd_related"]));
        assert_eq!(autocast_related(backend).to_string(), text(&row["autocast_related"]));
        let Some(backend) = backend else { continue };
        assert_eq!(backend.to_string(), text(&row["name"]));
        assert_eq!(backend.torch_index().map(|index| u64::from(index) + 1), row["value"].as_u64());
        assert_eq!(DispatchKeySet::from_backend(backend).to_torch_bits(), bits(&row["repr"]));
        assert_eq!(BackendComponent::named(backend.name().unwrap()), Some(backend));
    }
}

#[test]
fn aliases_expand_as_in_the_reference() {
    let facts = facts();
    assert_eq!(facts["alias_expansion"].as_object().unwrap().len(), DispatchKey::aliases().count());
    for (name, row) in facts["alias_expansion"].as_object().unwrap() {
        let alias = key(name);
        let set = alias.runtime_set().unwrap();
        assert_eq!(set.to_torch_bits(), bits(&row["repr"]), "{alias}");
        assert_eq!(set.to_string(), text(&row["print"]), "{alias}");
        assert_eq!(set.len() as u64, row["count"], "{alias}");
        assert_eq!(names(set), texts(&row["keys"]), "{alias}");

        let placeholders = Functionality::all().filter(|it| it.is_per_backend());
        let placeholders =
            placeholders.map(|it| DispatchKeySet::from_keys(&[it.into()]).highest_priority_key());
        let candidates = DispatchKey::all().filter(|key| *key != DispatchKey::Undefined).chain(placeholders);
        let included: BTreeSet<_> =
            names(candidates.filter(|key| key.is_included_in(alias))).into_iter().collect();
        let expected: BTreeSet<_> = texts(&row["included_by_value"]).into_iter().map(String::from).collect();
        assert_eq!(included, expected, "{alias}");
        assert!(!DispatchKey::Undefined.is_included_in(alias));
        for other in DispatchKey::aliases() {
            assert!(!other.is_included_in(alias), "{other} in {alias}");
        }
    }
    assert_eq!(DispatchKey::Undefined.runtime_set(), None);
    assert!(!DispatchKey::Cpu.is_included_in(DispatchKey::Undefined));
    assert!(DispatchKey::Cpu.is_included_in(DispatchKey::Cpu));
    assert!(!DispatchKey::Cpu.is_included_in(DispatchKey::Cuda));
}

#[test]
fn alias_backends_agree_with_membership() {
    for alias in DispatchKey::aliases() {
        for functionality in Functionality::all() {
            let mask = alias_backends(alias, functionality);
            for position in 0..BackendComponent::COUNT as u32 {
                let backend = BackendComponent::at(position).unwrap();
                let key = if functionality.is_per_backend() {
                    DispatchKey::runtime(functionality, backend)
                } else {
                    functionality.into()
                };
                assert_eq!(mask >> position & 1 != 0, key.is_included_in(alias), "{alias} {key}");
            }
        }
    }
    assert_eq!(alias_backends(DispatchKey::Undefined, Functionality::Dense), 0);
    assert_eq!(alias_backends(DispatchKey::AutogradCuda, Functionality::AutogradFunctionality), 0b10);
}

#[test]
fn named_sets() {
    let facts = facts();
    assert_eq!(facts["named_sets"].as_object().unwrap().len(), NAMED_SETS.len());
    for (name, set) in NAMED_SETS {
        let row = &facts["named_sets"][name];
        assert_eq!(set.to_torch_bits(), bits(&row["repr"]), "{name}");
        assert_eq!(set.to_string(), text(&row["print"]), "{name}");
    }
    let backend_keys = DispatchKey::all().filter(|key| key.is_backend_key());
    let expected = DispatchKeySet::AUTOGRAD_OTHER_BACKENDS.add(DispatchKey::Dense);
    assert_eq!(backend_keys.collect::<DispatchKeySet>(), expected & DispatchKeySet::FULL);
    assert_eq!(DispatchKeySet::BACKEND_KEYS, expected);
    assert_eq!(DispatchKeySet::MATH.to_torch_bits(), 0x0000_0038_03ff_ffff);
}

#[test]
fn columns_and_iteration_of_the_full_set() {
    let facts = facts();
    let columns = torch_columns();
    assert_eq!(names(columns.clone()), texts(&facts["table_index_to_key"]));
    assert_eq!(names(DispatchKeySet::FULL), texts(&facts["full_iteration_order"]));
    for (column, key) in columns.into_iter().enumerate() {
        assert_eq!(key.torch_column(), Some(column), "{key}");
        assert_eq!(key.key_set().torch_column(), column, "{key}");
    }
    // Without backends the first instance's column is picked; backends alone pick none.
    assert_eq!(DispatchKeySet::from_keys(&[DispatchKey::Dense]).torch_column(), 1);
    assert_eq!(DispatchKeySet::from_backend(BackendComponent::Meta).torch_column(), 0);
}

#[test]
fn every_name_parses_and_nothing_else() {
    for key in DispatchKey::all() {
        assert_eq!(key.to_string().parse::<DispatchKey>().unwrap(), key);
    }
    // The reference does not read 42 of its own names; opgrid reads every one.
    let facts = facts();
    let forgotten = facts["keys"].as_array().unwrap().iter().filter(|row| row["parses"] == false);
    let forgotten: Vec<_> = forgotten.map(|row| key(text(&row["name"]))).collect();
    assert_eq!(forgotten.len(), 42);
    for name in facts["bc_aliases"].as_object().unwrap().keys() {
        assert!(name.parse::<DispatchKey>().is_err(), "{name}");
    }
    for name in
        ["", "CPUBit", "QuantizedUndefined", "AutogradUndefined", "EndOfFunctionalityKeys", "CPU ", "cpu"]
    {
        let error = name.parse::<DispatchKey>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unknown);
        assert!(error.message().starts_with(&format!("could not parse dispatch key: {name}")), "{error}");
    }
    let error = "Banana".parse::<DispatchKey>().unwrap_err();
    assert_eq!(error.message(), "could not parse dispatch key: Banana");
    let error = "AutogradCudda".parse::<DispatchKey>().unwrap_err();
    assert_eq!(error.message(), "could not parse dispatch key: AutogradCudda, did you mean `AutogradCUDA`?");
}

#[test]
fn other_names_of_keys() {
    assert_eq!(DispatchKey::CatchAll, DispatchKey::Undefined);
    assert_eq!(DispatchKey::Undefined.to_string(), "Undefined");
    assert_eq!(format!("{:>6}|{:?}", DispatchKey::Cpu, DispatchKey::SparseCuda), "   CPU|SparseCUDA");
}

/// K39: the names of backends are unique and none is unknown.
#[test]
fn k39_names_of_backends() {
    let names: BTreeSet<_> = BackendComponent::all().map(|backend| backend.to_string()).collect();
    assert_eq!(names.len(), BackendComponent::all().count());
    assert!(names.iter().all(|name| !name.contains("Unknown")));
}

/// K40: the names of keys are unique and none is unknown. Placeholders are not keys that exist here, so there
/// is nothing to except. The last instance is the autograd key of the last backend.
#[test]
fn k40_names_of_keys() {
    let names: BTreeSet<_> = DispatchKey::all().map(|key| key.to_string()).collect();
    assert_eq!(names.len(), DispatchKey::all().count());
    assert!(names.iter().all(|name| !name.contains("Unknown")));
    let last = DispatchKey::all().filter(|key| key.is_runtime()).last().unwrap();
    assert_eq!(last, DispatchKey::AutogradMeta);
    assert_eq!(last, DispatchKey::all().filter(|key| !key.is_alias()).max().unwrap());
}

fn layout(name: &str) -> Layout {
    match name {
        "Strided" => Layout::Strided,
        "Sparse" => Layout::SparseCoo,
        "SparseCsr" => Layout::SparseCsr,
        "SparseCsc" => Layout::SparseCsc,
        "SparseBsr" => Layout::SparseBsr,
        "SparseBsc" => Layout::SparseBsc,
        "Mkldnn" => Layout::Mkldnn,
        "Jagged" => Layout::Jagged,
        other => panic!("{other}"),
    }
}

#[test]
fn keys_of_dtype_layout_and_device() {
    let facts = facts();
    let rows = facts["compute_dispatch_key"].as_array().unwrap();
    assert_eq!(rows.len(), 21 * 8 * 2);
    for row in rows {
        let device = Device::from_type(text(&row["device"]).parse().unwrap());
        let layout = layout(text(&row["layout"]));
        let quantized = row["quantized_dtype"] == true;
        for dtype in DType::all().filter(|dtype| dtype.is_quantized() == quantized) {
            let found = compute_dispatch_key(Some(dtype), Some(layout), Some(device));
            match row["key"].as_str() {
                Some(name) => assert_eq!(found.unwrap(), key(name), "{row}"),
                None => assert_eq!(found.unwrap_err().kind(), ErrorKind::NotImplemented, "{row}"),
            }
        }
    }
    assert_eq!(compute_dispatch_key(None, None, None).unwrap(), DispatchKey::Cpu);
}

#[test]
fn errors_of_keys_of_devices() {
    let message = |layout, device| {
        compute_dispatch_key(None, Some(layout), Some(Device::from_type(device)))
            .unwrap_err()
            .message()
            .to_owned()
    };
    let text = message(Layout::SparseCoo, DeviceType::Maia);
    assert!(
        text.starts_with("unsupported device type for sparse layout: maia, expected one of cpu, cuda"),
        "{text}"
    );
    let text = message(Layout::SparseBsr, DeviceType::Vulkan);
    assert!(text.starts_with("unsupported device type for sparse_bsr layout: vulkan, "), "{text}");
    let text = message(Layout::Mkldnn, DeviceType::Cuda);
    assert_eq!(text, "unsupported device type for mkldnn layout: cuda, expected one of cpu");
    let text = message(Layout::Strided, DeviceType::OpenGl);
    assert!(text.starts_with("unsupported device type for dense layout: opengl, "), "{text}");
    let text = message(Layout::Strided, DeviceType::Mkldnn);
    assert!(text.contains("mkldnn device is deprecated for dense tensors"), "{text}");
}

#[test]
fn keys_for_registration_by_device() {
    for kind in DeviceType::all() {
        let expected = match kind.name() {
            "cpu" => Some(DispatchKey::Cpu),
            "cuda" => Some(DispatchKey::Cuda),
            "ipu" => Some(DispatchKey::Ipu),
            "xla" => Some(DispatchKey::Xla),
            "lazy" => Some(DispatchKey::Lazy),
            "xpu" => Some(DispatchKey::Xpu),
            "mps" => Some(DispatchKey::Mps),
            "meta" => Some(DispatchKey::Meta),
            "hip" => Some(DispatchKey::Hip),
            "maia" => Some(DispatchKey::Maia),
            "hpu" => Some(DispatchKey::Hpu),
            "mtia" => Some(DispatchKey::Mtia),
            "privateuseone" => Some(DispatchKey::PrivateUse1),
            _ => None,
        };
        assert_eq!(device_key(kind).ok(), expected, "{kind}");
    }
    let error = device_key(DeviceType::Ve).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown);
    assert!(error.message().starts_with("device type ve cannot be overloaded at dispatch time"), "{error}");
}

#[test]
fn options_of_keys() {
    let options = |name: &str| key_to_options(key(name)).unwrap();
    assert_eq!(options("CPU"), (Layout::Strided, DeviceType::Cpu));
    assert_eq!(options("AutogradXLA"), (Layout::Strided, DeviceType::Xla));
    assert_eq!(options("SparseCUDA"), (Layout::SparseCoo, DeviceType::Cuda));
    assert_eq!(options("MkldnnCPU"), (Layout::Mkldnn, DeviceType::Cpu));
    assert_eq!(options("Vulkan"), (Layout::Strided, DeviceType::Vulkan));
    assert_eq!(options("MAIA"), (Layout::Strided, DeviceType::Maia));
    for name in ["SparseCsrCPU", "FPGA", "PrivateUse2", "Undefined", "Tracer", "Sparse", "Autograd"] {
        let error = key_to_options(key(name)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unknown, "{name}");
        assert!(error.message().starts_with(&format!("dispatch key {name} doesn't ")), "{error}");
    }
    // Where both directions exist they are inverse to each other.
    for (layout, kind) in [Layout::Strided, Layout::SparseCoo, Layout::Mkldnn]
        .into_iter()
        .flat_map(|layout| DeviceType::all().map(move |kind| (layout, kind)))
    {
        let Ok(key) = compute_dispatch_key(None, Some(layout), Some(Device::from_type(kind))) else {
            continue;
        };
        if let Ok(options) = key_to_options(key) {
            assert_eq!(options, (layout, kind));
        }
    }
}

#[test]
fn what_a_new_tensor_carries() {
    let cases = [
        ("CPU", "CPU, ADInplaceOrView, AutogradCPU, AutocastCPU"),
        ("SparseCPU", "SparseCPU, ADInplaceOrView, AutogradCPU, AutocastCPU"),
        ("QuantizedCPU", "QuantizedCPU, ADInplaceOrView, AutogradCPU, AutocastCPU"),
        ("NestedTensorCPU", "NestedTensorCPU, ADInplaceOrView, AutogradCPU, AutocastCPU"),
        ("HIP", "HIP, ADInplaceOrView, AutogradOther"),
        ("VE", "VE, ADInplaceOrView, AutogradOther"),
        ("FPGA", "FPGA, ADInplaceOrView, AutogradOther"),
        ("MkldnnCPU", "MkldnnCPU, ADInplaceOrView, AutogradOther"),
        ("Meta", "Meta, ADInplaceOrView, AutogradMeta"),
        ("MTIA", "MTIA, ADInplaceOrView, AutogradMTIA, AutocastMTIA"),
        ("PrivateUse2", "PrivateUse2, ADInplaceOrView, AutogradPrivateUse2"),
        ("Undefined", "ADInplaceOrView, AutogradOther"),
    ];
    for (name, expected) in cases {
        assert_eq!(tensor_key_set(key(name)).to_string(), format!("DispatchKeySet({expected})"));
    }
    assert_eq!(inference_tensor_key_set(DispatchKey::Cpu).to_string(), "DispatchKeySet(CPU, AutocastCPU)");
}

/// Positions that no built-in key holds behave as keys of users will: they have an order, join the aliases, and
/// have no place in the reference's sets and tables.
#[test]
fn positions_of_run_time_backends() {
    let backend = run_time_backend();
    assert!(BackendComponent::PrivateUse3 < backend && backend < BackendComponent::Meta);
    let dense = DispatchKey::runtime(Functionality::Dense, backend);
    let autograd = DispatchKey::runtime(Functionality::AutogradFunctionality, backend);
    assert_eq!(autograd_key(backend), autograd);
    assert_eq!(autograd.backends_of_autograd(), dense.key_set());
    let autocast = DispatchKey::runtime(Functionality::AutocastPrivateUse1, backend);
    assert_eq!(autocast_related(backend), autocast.key_set());
    for alias in DispatchKey::aliases() {
        let as_private_use_1 = DispatchKey::PrivateUse1.is_included_in(alias);
        assert_eq!(dense.is_included_in(alias), as_private_use_1, "{alias}");
        assert_eq!(
            autograd.is_included_in(alias),
            DispatchKey::AutogradPrivateUse1.is_included_in(alias),
            "{alias}"
        );
    }
    assert!(dense.is_runtime() && dense.is_backend_key());
    assert_eq!((dense.torch_value(), dense.torch_column()), (None, None));
    assert_eq!(DispatchKey::all().find(|key| key.backend() == Some(backend)), None);

    let set = tensor_key_set(dense);
    assert_eq!(set.highest_backend(), Some(backend));
    assert_eq!(set.highest_priority_key(), autocast);
    assert_eq!((set - DispatchKeySet::AUTOCAST).highest_priority_key(), autograd);
    assert_eq!(set.highest_backend_type(), dense);
    assert_eq!((set | DispatchKey::Meta.key_set()).highest_backend(), Some(BackendComponent::Meta));
}

#[test]
fn positions_beyond_the_words() {
    assert_eq!(Functionality::at(64), None);
    assert_eq!(BackendComponent::at(32), None);
    assert_eq!(Functionality::at(63).unwrap().name(), None);
    assert_eq!(BackendComponent::at(31), Some(BackendComponent::Meta));
    let free = DispatchKey::from(Functionality::at(28).unwrap());
    assert_eq!((free.torch_value(), free.torch_column()), (None, None));
    assert_eq!(free.to_string(), "UnknownUnknown");
}
