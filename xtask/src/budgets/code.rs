//! How much machine code a library holds, by its archive of object files.

use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

/// The machine code of a library.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Code {
    pub functions: u64,
    /// Bytes of instructions. Names, constants and metadata do not count: they hold paths of the machine.
    pub text: u64,
}

impl Code {
    /// Measures all object files in an archive.
    ///
    /// # Errors
    /// The archive or an object file in it has another format.
    pub fn from_archive(archive: &[u8]) -> Result<Self, object::Error> {
        let mut code = Self::default();
        for member in ArchiveFile::parse(archive)?.members() {
            let member = member?;
            if !member.name().ends_with(b".o") {
                continue;
            }
            let file = object::File::parse(member.data(archive)?)?;
            let sections = file.sections().filter(|section| section.kind() == SectionKind::Text);
            code.text += sections.map(|section| section.size()).sum::<u64>();
            let functions =
                file.symbols().filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Text);
            code.functions += functions.count() as u64;
        }
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::Command;

    const SOURCE: &str = "
        #[inline(never)] pub fn sum(x: &[u32]) -> u32 { x.iter().sum() }
        pub fn last(x: &[u32]) -> u32 { x[x.len() - 1] + sum(x) }
        #[inline(never)] fn text<T: std::fmt::Debug>(x: T) -> String { format!(\"{x:?}\") }
        pub fn texts() -> String { text(1u8) + &text('a') }
    ";

    /// What the compiler makes of the source in a folder.
    fn compiled(folder: &Path) -> Code {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("source.rs"), SOURCE).unwrap();
        let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        command.args([
            "--crate-type",
            "rlib",
            "--crate-name",
            "source",
            "-Copt-level=1",
            "-Ccodegen-units=8",
        ]);
        command.arg("-Cmetadata=source").arg(folder.join("source.rs")).arg("-o").arg(folder.join("it.rlib"));
        assert!(command.status().unwrap().success());
        Code::from_archive(&std::fs::read(folder.join("it.rlib")).unwrap()).unwrap()
    }

    #[test]
    fn code_does_not_depend_on_where_it_was_compiled() {
        let folder = std::env::temp_dir().join(format!("xtask-code-{}", std::process::id()));
        let here = compiled(&folder.join("a"));
        let there = compiled(&folder.join("a folder with a longer name/and another one in it"));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(here.functions >= 5 && here.text > 100, "{here:?}");
        assert_eq!(here, there);
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        assert!(Code::from_archive(b"something else").is_err());
    }
}
