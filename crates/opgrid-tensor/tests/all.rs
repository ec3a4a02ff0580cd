//! The tests that need no process of their own, as one program, so that there is one to link.
//!
//! Whatever changes what holds for the process (the default dtype, seeds, options of printing), or counts what happens in
//! it, has a program of its own, with an entry in `Cargo.toml`.

mod autograd;
mod casts;
mod device_memory;
mod differences;
mod dlpack;
mod drawing;
mod ends_of_ranges;
mod engine;
mod files;
mod graph;
mod handles;
mod images;
mod kernels;
mod layers;
mod losses;
mod modes;
mod networks;
mod optimizers;
mod products;
mod safetensors;
mod strides;
mod tensor;
mod views;

/// Cargo does not look for tests by itself here.
#[test]
fn no_file_is_forgotten() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let (manifest, modules) = (include_str!("../Cargo.toml"), include_str!("all.rs"));
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let module = name.strip_suffix(".rs");
        if module.is_none() && !entry.path().join("main.rs").exists() {
            continue;
        }
        let module = module.unwrap_or(&name);
        let is_listed = modules.contains(&format!("\nmod {module};"))
            || manifest.contains(&format!("name = \"{module}\""));
        assert!(is_listed, "tests/{name} is neither a module of tests/all.rs nor a test in Cargo.toml");
    }
}
