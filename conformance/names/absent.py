"""Why names of torch are not there, by patterns of names."""

from __future__ import annotations

QUANTIZED = "there are no quantized tensors"
SPARSE = "there are no sparse tensors"
SCRIPT = "it is a part of TorchScript, which there is not"
LIBRARY = "it calls a library of kernels that opgrid does not use; the operator without the library's name does the same"
MODULE = "the module is not there"
INTERNAL = "it is internal to torch, which lists it by accident"
DTYPE = "no operator computes in the dtype"
GPU = "it is a step of an operator on a GPU"

_SCRIPT_NAMES = """
AliasDb AnyType Argument ArgumentSpec AwaitType BenchmarkConfig BenchmarkExecutionStats Block BoolType BufferDict CallStack Capsule ClassType
Code CompilationUnit CompleteArgumentSpec ComplexType ConcreteModuleType* DeepCopyMemoTable DeserializationStorageContext DeviceObjType DictType
EnumType ErrorReport ExecutionPlan FileCheck FloatType FutureType Gradient Graph GraphExecutorState IODescriptor InferredType IntType InterfaceType
ListType LiteScriptModule LockingLogger LoggerBase ModuleDict Node NoneType NoopLogger NumberType OperatorInfo OptionalType ParameterDict
PyObjectType PyTorchFile* RRefType Script* SerializationStorageContext StaticModule StreamObjType StringType SymBoolType SymIntType TensorType
ThroughputBenchmark TracingState TupleType Type UnionType Use Value AggregationType AVG SUM import_ir_module* merge_type_from_type_comment parse_ir
parse_schema parse_type_comment unify_type_list classes
""".split()

REASONS: dict[str, dict[str, str]] = {
    "torch": {
        **dict.fromkeys(_SCRIPT_NAMES, SCRIPT),
        **dict.fromkeys(["quantize*", "q_*", "QInt*", "QUInt*", "per_*", "qscheme", "quint[24]x*", "empty_quantized", "int_repr"], QUANTIZED),
        **dict.fromkeys(["fake_quantize_*", "fused_moving_avg_obs_fake_quant", "choose_qparams_optimized", "fbgemm_*"], QUANTIZED),
        **dict.fromkeys(["sparse_*_tensor", "*col_indices_copy", "*row_indices_copy", "indices_copy", "values_copy"], SPARSE),
        **dict.fromkeys(["hsmm", "hspmm", "saddmm", "smm", "sspaddmm", "resize_as_sparse_"], SPARSE),
        **dict.fromkeys(["cudnn_*", "miopen_*", "mkldnn_*"], LIBRARY),
        **dict.fromkeys(["batch_norm_*"], GPU),
        **dict.fromkeys(["bcomplex32", "bit", "bits*", "chalf", "complex32", "float4_*", "float8_*fnuz", "float8_e8m0fnu", "int[1-7]", "uint[1-7]"], DTYPE),
        **dict.fromkeys(
            ["ao", "cpp", "foreach", "fx", "hub", "masked", "monitor", "nested", "package", "quantization"], MODULE
        ),
        **dict.fromkeys(["quasirandom", "serialization", "sparse", "torch_version"], MODULE),
        **dict.fromkeys(["PRIVATE_OPS", "USE_*", "classproperty", "StorageBase", "ExcludeDispatchKeyGuard", "FatalError"], INTERNAL),
        "profiler_allow_cudagraph_cupti_lazy_reinit_cuda12": INTERNAL,
        "SymBool": "conditions on sizes are plain bools, which a trace records",
        "SymFloat": "quotients of sizes are plain floats",
        "sym_fresh_size": "sizes come from the tensors of a trace",
        "Tag": "operators have kinds and columns in place of tags",
        "hash_tensor": "there is no operator for it",
        "native_norm": "torch has no kernel for it on the CPU",
        "slice_inverse": "it is a step of functionalization in torch",
    },
    "Tensor": {
        **dict.fromkeys(["q_*", "qscheme", "int_repr"], QUANTIZED),
        **dict.fromkeys(["*col_indices", "*row_indices", "indices", "values", "coalesce", "is_coalesced", "smm", "sspaddmm"], SPARSE),
        **dict.fromkeys(["sparse_mask", "sparse_resize*", "resize_as_sparse_", "to_sparse*"], SPARSE),
        "chalf": DTYPE,
        "hash_tensor": "there is no operator for it",
        "output_nr": "a tensor does not say which result of its call it is",
        "register_post_accumulate_grad_hook": "hooks run before gradients are added up, not after",
        "slice_inverse": "it is a step of functionalization in torch",
        "to_mkldnn": LIBRARY,
        "to_padded_tensor": "there are no nested tensors",
    },
}
"""The reason for each pattern; the first one that fits a name counts."""

DIFFERENT: dict[str, dict[str, str]] = {
    "torch": {},
    "Tensor": {"index": "torch has it for first-class dimensions, opgrid for the operator `aten::index`"},
}
"""Names that are something else on purpose, with the reason. They do not count."""
