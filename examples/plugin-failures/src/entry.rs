//! The two symbols by which hosts find the plugin.

opgrid_plugin_sdk::plugin! {
    name: "failures",
    version: "0.1.0",
    namespaces: "rusty",
    keys: "CPU",
    register: crate::register,
}
