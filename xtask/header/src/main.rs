//! Writes the C header of the plugin interface from the types of `opgrid-abi`, to standard output.
//!
//! The header names the fingerprint of the files that it was made from, by which a test finds one that is out of date.

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

/// The files whose types the header has.
const SOURCES: [&str; 3] = ["values.rs", "descriptions.rs", "table.rs"];

const HEAD: &str = "\
/* The C interface of opgrid, version 1: for plugins, and for programs that embed opgrid (`opgrid_open`).
 *
 * A plugin is a shared library with a manifest (OPGRID_PLUGIN) and an entry:
 *
 *     OPGRID_EXPORT int32_t opgrid_plugin_init(const OpgridApi *api, OpgridLibrary *library);
 *
 * Everything is reached through the table that the entry gets; a plugin links nothing of opgrid. The documentation of the
 * crate opgrid-abi says who owns what. No exception may leave a kernel.
 *
 * Written by `cargo xtask header`; do not edit. Fingerprint of the sources: ";

const TAIL: &str = r#"
/* What a plugin exports. */
#define OPGRID_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
#define OPGRID_EXTERN_C extern "C"
#else
#define OPGRID_EXTERN_C extern
#endif

#define OPGRID_TEXT_OF_(number) #number
#define OPGRID_TEXT_OF(number) OPGRID_TEXT_OF_(number)

/* The manifest, which hosts read without running anything: texts with the name and the version of the plugin, the
 * namespaces to which it adds something and the dispatch keys for which it has kernels, each separated by spaces. Once, at
 * the top level of a file. */
#define OPGRID_PLUGIN(name, version, namespaces, keys)                                                       \
    OPGRID_EXTERN_C OPGRID_EXPORT const char opgrid_plugin_manifest[];                                       \
    const char opgrid_plugin_manifest[] =                                                                    \
        "opgrid plugin\nabi " OPGRID_TEXT_OF(OPGRID_ABI_MAJOR) "." OPGRID_TEXT_OF(OPGRID_ABI_MINOR)          \
        "\nname " name "\nversion " version "\nnamespaces " namespaces "\nkeys " keys "\n"

#ifdef __cplusplus
extern "C" {
#endif

/* The entry of a plugin, which the plugin defines. */
OPGRID_EXPORT int32_t opgrid_plugin_init(const OpgridApi *api, OpgridLibrary *library);

/* What a program that is no plugin begins with: the table, and a library by which its functions find the operators of the
 * process. It is the one function of libopgrid_c, which plugins do not link. The table is written even where it fails. */
int32_t opgrid_open(const OpgridApi **api, OpgridLibrary **library, OpgridError **error);

#ifdef __cplusplus
}
#endif

#endif
"#;

fn main() -> ExitCode {
    let Some(folder) = env::args().nth(1) else {
        eprintln!("usage: header FOLDER, where FOLDER has the sources of opgrid-abi");
        return ExitCode::FAILURE;
    };
    match header(Path::new(&folder)) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn header(folder: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    for file in SOURCES {
        bytes.extend(fs::read(folder.join(file)).map_err(|error| format!("{file}: {error}"))?);
    }
    let config = cbindgen::Config {
        language: cbindgen::Language::C,
        cpp_compat: true,
        usize_is_size_t: true,
        documentation_style: cbindgen::DocumentationStyle::C99,
        line_length: 110,
        tab_width: 4,
        header: Some(format!("{HEAD}{:016x} */\n\n#ifndef OPGRID_H\n#define OPGRID_H", fingerprint(&bytes))),
        trailer: Some(TAIL.into()),
        sys_includes: Vec::new(),
        defines: HashMap::new(),
        export: cbindgen::ExportConfig {
            include: [
                "OpgridApi",
                "OpgridDefinition",
                "OpgridKernel",
                "OpgridLayer",
                "OpgridDeviceMemory",
                "OpgridInitFn",
            ]
            .map(String::from)
            .to_vec(),
            ..Default::default()
        },
        ..Default::default()
    };
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in SOURCES {
        builder = builder.with_src(folder.join(file));
    }
    let mut written = Vec::new();
    builder.generate().map_err(|error| error.to_string())?.write(&mut written);
    String::from_utf8(written).map_err(|error| error.to_string())
}

/// FNV-1a, 64 bits.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
