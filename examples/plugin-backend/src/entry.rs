//! The two symbols by which hosts find the plugin.

opgrid_plugin_sdk::plugin! {
    name: "vault",
    version: "0.1.0",
    namespaces: "aten",
    keys: "Vault",
    register: crate::register,
}
