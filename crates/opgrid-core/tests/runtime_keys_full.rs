//! What happens when a process has no place left for backends and layers. The keys fill this process, so that the tests
//! of other keys stand in `runtime_keys.rs`.

use opgrid_core::{BackendComponent, DispatchKey, DispatchKeySet, ErrorKind, Functionality};

#[test]
fn the_seventeenth_backend_is_told_who_holds_the_places() {
    let names: Vec<_> = (1..=16).map(|number| format!("Full{number}")).collect();
    let backends: Vec<_> = names.iter().map(|name| BackendComponent::register(name).unwrap()).collect();
    assert!(backends.is_sorted());
    assert_eq!(BackendComponent::all().count(), BackendComponent::COUNT);
    let error = BackendComponent::register("Full17").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Registration);
    let text = error.to_string();
    assert!(
        text.starts_with("backend `Full17`: no place is free; all 16 backends that a process can allocate"),
        "{text}"
    );
    assert!(names.iter().all(|name| text.contains(&format!("{name} ("))), "{text}");
    assert!(
        text.contains("runtime_keys_full.rs:") && text.ends_with("PrivateUse1, PrivateUse2 or PrivateUse3"),
        "{text}"
    );
    assert!(!BackendComponent::all().any(|backend| backend.name() == Some("Full17")));
    // Those who have a place keep it.
    assert_eq!(BackendComponent::register("Full9").unwrap(), backends[8]);
    let per_backend = Functionality::all().filter(|it| it.is_per_backend()).count();
    let every = DispatchKeySet::ALL;
    assert_eq!(every.iter().filter(|key| key.backend().is_some()).count(), per_backend * 32 + 16);
    assert_eq!(every.len(), every.iter().count());
}

#[test]
fn every_gap_can_be_filled_and_then_says_so() {
    use DispatchKey as Key;
    let gaps = [
        (Key::NestedTensor, Key::BackendSelect, 1),
        (Key::BackendSelect, Key::Fake, 1),
        (Key::Python, Key::FuncTorchDynamicLayerBackMode, 1),
        (Key::Functionalize, Key::Conjugate, 1),
        (Key::AdInplaceOrView, Key::Autograd, 1),
        (Key::Autograd, Key::Tracer, 4),
        (Key::Tracer, Key::AutocastCpu, 2),
        (Key::AutocastPrivateUse1, Key::FuncTorchBatched, 2),
        (Key::FuncTorchBatched, Key::BatchedNestedTensor, 2),
    ];
    let place = |key: Key| key.functionality().position();
    let mut layers = Vec::new();
    for (number, (above, below, places)) in gaps.into_iter().enumerate() {
        for nth in 0..places {
            let layer =
                Key::layer(format!("Gap{number}_{nth}")).above(above).below(below).register().unwrap();
            assert!(layers.iter().all(|known| *known != layer));
            let highest = above.runtime_set().unwrap().layers().ilog2();
            let lowest = below.runtime_set().unwrap().layers().trailing_zeros();
            assert!((highest..lowest).contains(&place(layer)));
            layers.push(layer);
        }
        let error = Key::layer("OneMore").above(above).below(below).register().unwrap_err().to_string();
        assert!(error.contains(&format!("no position is free above {above} and below {below}: ")), "{error}");
        assert!(error.contains(&format!("Gap{number}_0 (allocated at ")), "{error}");
    }
    let top = |name| Key::layer(name).above(Key::PythonDispatcher).register();
    // A layer with a lower bound alone gets the nearest gap that has a place.
    assert_eq!(place(Key::layer("High").above(Key::Fake).register().unwrap()), 62);
    assert_eq!(place(top("Higher").unwrap()), 63);
    assert_eq!(Functionality::all().count(), Functionality::COUNT);
    let error = top("Highest").unwrap_err().to_string();
    assert!(
        error.contains("above PythonDispatcher: High (")
            && error.ends_with("all positions of the process are taken"),
        "{error}"
    );
    let above = Key::layer("Beyond").above(Key::from(Functionality::at(63).unwrap())).register().unwrap_err();
    assert!(above.to_string().contains("no position is free above Higher: nothing fits between"), "{above}");
    assert_eq!(top("High").unwrap(), Key::from(Functionality::at(62).unwrap()));
}
