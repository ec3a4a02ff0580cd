//! One file of operators, compiled with the host's `operator!` here and with that of the SDK in the plugin, does the same on both.
//!
//! A program of its own, which the recipe of a dtype runs by its name.

mod common;
#[path = "../src/forms.rs"]
mod forms;

use common::{file, subject};
use opgrid::array::TensorSpec;
use opgrid::dispatch::{AnyTensor, Complex64, Layout, SlowPath, TensorData, including};
use opgrid::plugin::{Load, Plugin};
use opgrid::prelude as api;
use opgrid::tensor::Wrapper;
use opgrid::{
    DType, Device, DispatchKey, Dispatcher, ErrorKind, MemoryFormat, Registration, Result, Scalar, Tensor,
    Value,
};

/// The operators of the file as the host's own, and those of the plugin.
struct Both {
    here: Dispatcher,
    there: Dispatcher,
    _registrations: (Registration, Registration, Registration, Plugin),
}

impl Both {
    fn new(name: &str) -> Self {
        let ((here, ours), (there, others)) = (subject(), subject());
        let forms = forms::register(&here).unwrap();
        let plugin = there.load(file(name)).unwrap();
        Self { here, there, _registrations: (ours, others, forms, plugin) }
    }

    /// What a call gives on each.
    fn call(&self, operator: &str, arguments: &[Value]) -> [Result<Vec<Value>>; 2] {
        [&self.here, &self.there]
            .map(|dispatcher| dispatcher.find(&format!("forms::{operator}"))?.call_values(arguments.to_vec()))
    }

    /// The results of a call, which are the same on both.
    fn same(&self, operator: &str, arguments: &[Value]) -> String {
        let shown = |results: Result<Vec<Value>>| {
            let results = results.unwrap_or_else(|error| panic!("{operator}: {error}"));
            results.iter().map(|value| format!("{value}; ")).collect::<String>()
        };
        let [here, there] = self.call(operator, arguments).map(shown);
        assert_eq!(here, there, "{operator}");
        here
    }
}

fn floats(elements: &[f32]) -> Tensor {
    Tensor::from_slice(elements, &[elements.len() as i64]).unwrap()
}

fn call(dispatcher: &Dispatcher, operator: &str, arguments: &[Value]) -> Vec<Value> {
    dispatcher.find(operator).unwrap().call_values(arguments.to_vec()).unwrap()
}

#[test]
fn the_operators_and_their_schemas_are_the_same() {
    let both = Both::new("schemas");
    let schemas = |dispatcher: &Dispatcher| {
        let own =
            dispatcher.operators().into_iter().filter(|operator| operator.name().name.starts_with("forms::"));
        own.map(|operator| format!("{} {:?}", operator.schema().unwrap(), operator.tags()))
            .collect::<Vec<_>>()
    };
    let found = schemas(&both.here);
    assert_eq!(found, schemas(&both.there));
    assert_eq!(found.len(), 21, "{found:?}");
}

#[test]
fn values_of_every_kind_cross_in_both_directions() {
    let both = Both::new("values");
    let complex = Complex64::new(1.5, -2.0);
    for scalar in [Scalar::from(3), Scalar::from(0.5), Scalar::from(true), Scalar::from(complex)] {
        let arguments =
            [7.into(), 0.25.into(), true.into(), complex.into(), Value::from(scalar), "größer".into()];
        both.same("plain", &arguments);
    }
    let x = Value::from(&floats(&[1.0, 2.0, 3.0]));
    let all = [x.clone(), 7.into(), "n".into(), vec![1, 2].into(), 2.5.into(), 4.5.into()];
    let shown = both.same("optional", &all);
    assert_eq!(shown, "Some([3]) Some(7) Some(\"n\") Some([1, 2]) Some(\"float 2.5\") Some(4.5); ");
    assert_eq!(both.same("optional", &vec![Value::None; 6]), "None None None None None None; ");
    let list = |items: &[&Tensor]| Value::from(items.iter().map(|x| (*x).clone()).collect::<Vec<_>>());
    let tensors = [floats(&[1.0, 2.0]), floats(&[4.0])];
    let gaps = vec![Some(tensors[0].clone().into()), None];
    let gaps = Value::from(opgrid::dispatch::value::List::OptionalTensors(gaps));
    let arguments = [
        vec![1, 2].into(),
        vec![0.5].into(),
        vec![true, false].into(),
        list(&[&tensors[0], &tensors[1]]),
        gaps,
    ];
    assert_eq!(both.same("lists", &arguments), "[1, 2] [0.5] [true, false] [3.0, 4.0] [Some(2), None]; ");
    let properties = [
        DType::BF16.into(),
        Layout::SparseCsr.into(),
        MemoryFormat::ChannelsLast.into(),
        Device::META.into(),
    ];
    both.same("properties", &properties);
    let matrix = Tensor::from_slice(&[1.0f32, 5.0, 3.0, 2.0], &[2, 2]).unwrap();
    for n in [0, 2] {
        both.same("several", &[Value::from(&matrix), n.into()]);
    }
    assert_eq!(both.same("nothing", &[1.into()]), "");
    assert_eq!(both.same("captured", &[1.into()]), "17; ");
    assert_eq!(both.same("keys", std::slice::from_ref(&x)), "True; ");
    for value in [x.clone(), 1.into(), "text".into(), vec![1, 2].into(), Value::None] {
        both.same("shown", &[value]);
    }
    let more = list(&[&tensors[1]]);
    both.same("through", &[x.clone(), more.clone(), 3.into()]);
    both.same("through", &[x, more, Value::None]);
}

#[test]
fn generators_are_handed_on() {
    let both = Both::new("generators");
    let drawn = |dispatcher: &Dispatcher, generator: Value| {
        let results = call(dispatcher, "forms::drawn", &[Value::from(&floats(&[0.0; 4])), generator]);
        results[0].to_string()
    };
    let seeded = || Value::from(opgrid::devices::generator(Device::CPU, 7).unwrap());
    assert_eq!(drawn(&both.here, seeded()), drawn(&both.there, seeded()));
    // Without one, both draw from the process's.
    assert_ne!(drawn(&both.here, Value::None), drawn(&both.there, Value::None));
}

#[test]
fn forms_write_where_they_should() {
    let both = Both::new("forms");
    let x = floats(&[1.0, -2.0]);
    assert_eq!(both.same("scale", &[Value::from(&x), 3.0.into()]), "tensor([ 3., -6.]); ");
    for dispatcher in [&both.here, &both.there] {
        let (written, out) = (floats(&[1.0, -2.0]), floats(&[0.0, 0.0]));
        let results = call(dispatcher, "forms::scale_", &[Value::from(&written), 3.0.into()]);
        assert_eq!(
            (results[0].to_string(), written.to_vec::<f32>().unwrap()),
            ("tensor([ 3., -6.])".into(), vec![3.0, -6.0])
        );
        let results = call(dispatcher, "forms::scale.out", &[Value::from(&x), 5.0.into(), Value::from(&out)]);
        assert_eq!((results.len(), out.to_vec::<f32>().unwrap()), (1, vec![5.0, -10.0]));
    }
}

#[test]
fn layers_call_on_and_providers_are_chosen() {
    let both = Both::new("layers");
    let x = Value::from(&floats(&[1.0, -2.0]));
    let layered = |operator: &str, arguments: &[Value]| {
        including(DispatchKey::TestingOnlyGenericMode, || both.same(operator, arguments))
    };
    assert_eq!(layered("scale", &[x.clone(), 3.0.into()]), "tensor([  6., -12.]); ");
    assert_eq!(
        layered("scale.out", &[x, 3.0.into(), Value::from(&floats(&[0.0; 2]))]),
        "tensor([ 30., -60.]); "
    );
    assert_eq!(both.same("chosen", &[Value::from(&floats(&[1.0, 2.0]))]), "[2] is even; ");
    assert_eq!(both.same("chosen", &[Value::from(&floats(&[1.0]))]), "[1] is odd; ");
}

/// A tensor that a layer wraps.
struct Wrapped(Tensor);

impl Wrapper for Wrapped {
    fn layer(&self) -> &str {
        "wrapped"
    }

    fn spec(&self) -> &TensorSpec {
        self.0.spec().expect("it is defined")
    }
}

/// A tensor of another library.
struct Foreign;

impl TensorData for Foreign {
    fn describe(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a foreign tensor")
    }
}

#[test]
fn tensors_of_every_kind_say_what_they_are_like() {
    let both = Both::new("kinds");
    let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap();
    let views = [
        x.clone(),
        x.transpose(0, 1).unwrap(),
        x.select(1, 2).unwrap(),
        x.narrow(0, 1, 1).unwrap(),
        x.narrow(0, 0, 0).unwrap(),
        x.select(1, 1).unwrap().unsqueeze(1).unwrap().expand(&[2, 4]).unwrap(),
        Tensor::from_slice(&[7.0f32], ()).unwrap(),
    ];
    for view in views.iter().map(Value::from) {
        both.same("described", std::slice::from_ref(&view));
        both.same("read", &[view]);
    }
    assert_eq!(both.same("read", &[Value::from(&views[1])]), "[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]; ");
    let wrapped = Value::from(Tensor::wrap(DispatchKey::Cpu.key_set(), Wrapped(views[1].clone())));
    assert_eq!(both.same("described", std::slice::from_ref(&wrapped)), "[3, 2] [1, 3] 2 6 false; ");
    for result in both.call("read", &[wrapped]) {
        assert!(result.unwrap_err().to_string().contains("has no memory of its own"));
    }
    let foreign = Value::from(AnyTensor::new(DispatchKey::Cpu.key_set(), Foreign));
    let [here, there] = both.call("described", &[foreign]).map(|result| result.unwrap_err().to_string());
    assert!(here.contains("a foreign tensor"), "{here}");
    assert!(
        there.contains("a foreign tensor is a tensor of another library, expected one of opgrid"),
        "{there}"
    );
}

#[test]
fn what_does_not_fit_is_an_error_of_the_call_on_both() {
    let both = Both::new("misfits");
    let x = Value::from(&floats(&[1.0]));
    let unwanted = [
        ("refuses", vec![x.clone()], ErrorKind::Argument, "1 dimensions are too many"),
        ("calls_missing", vec![1.into()], ErrorKind::Unknown, "missing::operator"),
        ("unknown", vec![], ErrorKind::MissingKernel, "forms::unknown"),
        ("nothing", vec![], ErrorKind::Value, "forms::nothing"),
        ("nothing", vec!["1".into()], ErrorKind::Value, "forms::nothing"),
        ("plain", vec![x.clone(); 6], ErrorKind::Value, "forms::plain"),
        (
            "lists",
            vec![vec![1, 2].into(), x.clone(), 1.into(), 1.into(), 1.into()],
            ErrorKind::Value,
            "forms::lists",
        ),
    ];
    for (operator, arguments, kind, part) in unwanted {
        for result in both.call(operator, &arguments) {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), kind, "{operator}: {error}");
            assert!(error.to_string().contains(part), "{operator}: {error}");
        }
    }
    // A declaration that is not the operator's: here it is refused by its types, there by the number of values.
    let [here, there] = both.call("calls_too_few", &[x]).map(|result| result.unwrap_err());
    assert_eq!((here.kind(), there.kind()), (ErrorKind::Signature, ErrorKind::Value), "{here} / {there}");
    assert!(there.to_string().contains("aten::mul"), "{there}");
}

#[test]
fn kernels_of_a_plugin_are_boxed_and_counted_as_nothing() {
    let both = Both::new("counts");
    both.same("scale", &[Value::from(&floats(&[1.0])), 2.0.into()]);
    assert_eq!(both.there.stats().count(SlowPath::FALLBACK, "forms::scale"), 0);
}

const _: () = assert!(
    opgrid_plugin_sdk::DType::ALL.len() == DType::ALL.len(),
    "a dtype of opgrid-core has no constant in crates/opgrid-plugin-sdk/src/plain.rs"
);

/// Generators have no constants to compare; everything that has is the host's.
#[test]
fn constants_are_those_of_the_host() {
    use opgrid_plugin_sdk as sdk;
    for key in sdk::DispatchKey::constants() {
        let ours: DispatchKey = key.name().parse().unwrap_or_else(|error| panic!("{key}: {error}"));
        assert_eq!(ours.to_string(), key.to_string());
    }
    let backends = opgrid::dispatch::BackendComponent::all().filter(|backend| !backend.is_run_time());
    for ours in backends.map(|backend| backend.key()) {
        assert!(sdk::DispatchKey::constants().any(|key| key.name() == ours.to_string()), "{ours}");
    }
    for alias in DispatchKey::aliases() {
        assert!(sdk::DispatchKey::constants().any(|key| key.name() == alias.to_string()), "{alias}");
    }
    assert!(DType::all().map(DType::number).eq(sdk::DType::constants().map(sdk::DType::number)));
    assert!(Layout::all().map(Layout::number).eq(sdk::Layout::constants().map(sdk::Layout::number)));
    let formats = sdk::MemoryFormat::constants().map(sdk::MemoryFormat::number);
    assert!(MemoryFormat::all().map(MemoryFormat::number).eq(formats));
}
