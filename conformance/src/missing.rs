//! The page of PyTorch's operators that are not registered, in groups.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use opgrid_core::{Dispatcher, Result};

/// The page as it is in the repository, below the root.
pub const PAGE: &str = "docs/reference/missing-operators.md";

/// The schemas of PyTorch 2.15 that have a tensor among their arguments or results.
const SCHEMAS: &str = include_str!("../../crates/opgrid-operators/tests/vectors/schemas.txt");

/// A group of operators on the page.
struct Group {
    title: &'static str,
    /// What a name of the group begins with.
    prefixes: &'static [&'static str],
    /// What a name of the group contains.
    infixes: &'static [&'static str],
    /// Names of the group that neither tells.
    names: &'static [&'static str],
}

/// The groups; a name belongs to the first that has it.
const GROUPS: &[Group] = &[
    Group {
        title: "Libraries and devices other than the CPU",
        prefixes: &["cuda"],
        infixes: &["cudnn", "miopen", "mkldnn", "_mps", "mps_", "nnpack", "cslt", "triton", "xla", "vulkan"],
        names: &["record_stream"],
    },
    Group {
        title: "Sparse, nested and ragged tensors",
        prefixes: &["_nested", "_jagged", "_padded"],
        infixes: &["sparse", "nested", "coalesce", "col_indices", "row_indices", "coo", "padded", "packed"],
        names: &[
            "_dimI",
            "_dimV",
            "_indices",
            "_indices_copy",
            "_nnz",
            "_pack_sequence",
            "_spdiags",
            "_spsolve",
            "_to_dense",
            "_values",
            "_values_copy",
            "dense_dim",
            "hspmm",
            "indices",
            "indices_copy",
            "pad_sequence",
            "segment_reduce",
            "smm",
            "sspaddmm",
            "to_dense",
            "values",
            "values_copy",
        ],
    },
    Group {
        title: "Signals, histograms and statistics",
        prefixes: &["stft", "istft", "histogram", "_histogram"],
        infixes: &["_window", "quantile", "trapez", "sobol"],
        names: &["trapz"],
    },
    Group {
        title: "Quantization",
        prefixes: &["q_", "qscheme", "fbgemm"],
        infixes: &["quant", "qparams", "int4pack", "fq_helper"],
        names: &["int_repr"],
    },
    Group {
        title: "Linear algebra",
        prefixes: &["linalg_", "_linalg_", "cholesky", "_cholesky", "lu_", "_lu_"],
        infixes: &["matrix_exp"],
        names: &[
            "det",
            "frobenius_norm",
            "geqrf",
            "inverse",
            "logdet",
            "nuclear_norm",
            "orgqr",
            "ormqr",
            "pinverse",
            "slogdet",
            "svd",
            "triangular_solve",
        ],
    },
    Group {
        title: "Updates of many tensors in one call",
        prefixes: &["_foreach_", "_fused_ada", "_fused_sgd", "_amp_"],
        infixes: &[],
        names: &["_chunk_cat"],
    },
    Group { title: "Special functions", prefixes: &["special_"], infixes: &["gamma"], names: &["i0"] },
    Group {
        title: "TorchScript's containers and conversions",
        prefixes: &[],
        infixes: &["Implicit", "_list", "getitem", "contains"],
        names: &[
            "Bool",
            "Complex",
            "Delete",
            "Float",
            "Int",
            "_set_item",
            "clear",
            "count",
            "dict",
            "get",
            "items",
            "keys",
            "len",
            "list",
            "pop",
            "popitem",
            "remove",
            "setdefault",
            "sorted",
            "tensor",
            "update",
        ],
    },
    Group {
        title: "Backward functions, which are formulas here",
        prefixes: &[],
        infixes: &["_backward"],
        names: &["glu_jvp"],
    },
    Group { title: "Views as copies", prefixes: &[], infixes: &["_copy"], names: &[] },
];

/// The titles of what belongs to no group, with and without an underscore in front.
const INTERNAL: &str = "Other internal names";
const PUBLIC: &str = "Other public names";

impl Group {
    fn has(&self, name: &str) -> bool {
        self.prefixes.iter().any(|prefix| name.starts_with(prefix))
            || self.infixes.iter().any(|infix| name.contains(infix))
            || self.names.contains(&name)
    }
}

/// The title of the group of a name.
fn title_of(name: &str) -> &'static str {
    let rest = if name.starts_with('_') { INTERNAL } else { PUBLIC };
    GROUPS.iter().find(|group| group.has(name)).map_or(rest, |group| group.title)
}

/// The operators in PyTorch's namespace `aten`, without their overloads.
fn torch_operators() -> BTreeSet<&'static str> {
    let names = SCHEMAS.lines().filter_map(|schema| schema.strip_prefix("aten::"));
    names.filter_map(|rest| rest.split(['.', '(']).next()).collect()
}

/// The operators of which no overload is registered.
fn missing() -> Result<BTreeSet<&'static str>> {
    let dispatcher = Dispatcher::new();
    let _operators = opgrid_operators::ops::register(&dispatcher)?;
    let operators = dispatcher.operators();
    let registered: BTreeSet<&str> = operators.iter().map(|operator| operator.name().base()).collect();
    Ok(torch_operators().into_iter().filter(|name| !registered.contains(name)).collect())
}

/// The whole page.
///
/// # Errors
///
/// The operators cannot be registered.
pub fn page() -> Result<String> {
    let (missing, all) = (missing()?, torch_operators().len());
    let is_form = |name: &str| name.strip_suffix('_').is_some_and(|name| missing.contains(name));
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for name in missing.iter().filter(|name| !is_form(name)) {
        groups.entry(title_of(name)).or_default().push(name);
    }
    let mut page = format!(
        "# Missing operators\n\nPyTorch 2.15 has {all} operators in the namespace `aten` that take or return tensors. Of these, {} have no \
         overload here. A name that ends in `_`, an in-place form, is left out if its functional form is on the list. `cargo xtask \
         conformance missing-operators` writes this page from the registry.\n",
        missing.len(),
    );
    for title in GROUPS.iter().map(|group| group.title).chain([PUBLIC, INTERNAL]) {
        let Some(names) = groups.get(title) else { continue };
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let _ = write!(page, "\n## {title}\n\n{}\n", names.join(", "));
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_listed_only_if_no_overload_is_registered() {
        let missing = missing().unwrap();
        for registered in ["add", "add_", "softmax", "scaled_dot_product_attention"] {
            assert!(torch_operators().contains(registered) && !missing.contains(registered), "{registered}");
        }
        assert!(missing.iter().all(|name| torch_operators().contains(name)));
    }

    #[test]
    fn names_are_in_the_first_group_that_has_them() {
        for (name, title) in [
            ("linalg_qr", "Linear algebra"),
            ("_linalg_svd", "Linear algebra"),
            ("quantized_lstm", "Quantization"),
            ("sparse_coo_tensor", "Sparse, nested and ragged tensors"),
            ("quantile", "Signals, histograms and statistics"),
            ("gather_backward", "Backward functions, which are formulas here"),
            ("slow_conv3d", "Other public names"),
            ("_foobar", "Other internal names"),
        ] {
            assert_eq!(title_of(name), title, "{name}");
        }
    }
}
