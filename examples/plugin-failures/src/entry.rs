//! The two symbols by which hosts find the plugin.

opgrid_plugin_sdk::plugin! {
    name: "failures",
    version: "0.1.0",
    namespaces: "rusty forms",
    keys: "CPU CompositeImplicitAutograd CompositeExplicitAutograd TESTING_ONLY_GenericMode",
    register: crate::register,
}
