"""Failures of quantised weights: methods and kernels that do not exist here, blocks that cannot be shared out."""

from collectors.reading.log.rules.failure import Failure

QUANTISATION = (
    Failure(
        "gguf",
        ("GGUF", "gguf", "'blk."),
        r"GGUF model with architecture (?P<arch>\w+) is not supported|[Uu]nknown gguf model_type: (?P<type>\w+)"
        r"|GGUF file .*not found|No (?:gguf|GGUF) file|KeyError: '(?P<key>blk\.\d+\.[\w.]+)'",
        "This GGUF file cannot be loaded: {arch}{type}{key} is not known.",
        hint="use the model's safetensors weights, or an engine version that knows this GGUF architecture",
        weight=85,
        examples=(
            "ValueError: GGUF model with architecture qwen3vlmoe is not supported yet.",
            "KeyError: 'blk.0.attn_qkv.weight'",
        ),
    ),
    Failure(
        "quantisation",
        ("uantization", "quant_method", "Marlin", "group_size", "Unknown quantization"),
        r"(?P<what>[Uu]nknown quantization method[^.\n]*|[Qq]uantization method specified in the model config[^.\n]*"
        r"|The quantization method \S+ is not supported[^.\n]*|quantization[^.\n]{0,80}not supported[^.\n]*"
        r"|is not divisible by weight quantization block_n[^.\n]*)",
        "The weights' quantisation does not work here: {what}.",
        hint="leave --quantization out (it is read from config.json), or use other weights for this GPU or "
        "tensor-parallel size",
        weight=80,
        examples=(
            "ValueError: Quantization method specified in the model config (gptq) does not match the quantization "
            "method specified in the `quantization` argument (awq).",
            "ValueError: The quantization method fp8 is not supported for the current GPU. Minimum capability: 89.",
        ),
    ),
    Failure(
        "quantisation-kernel",
        (
            "Failed to find a kernel",
            "MoE backend supports",
            "MoE kernels",
            "nvfp4 quantization kernel",
            "MXFP4 are not supported",
            "compressed-tensors compatible scheme",
            "supported for GPTQMarlin",
            "fp8e4nv not supported",
            "No compiled cutlass_scaled_mm",
            "MoE kernel does not support",
        ),
        r"Failed to find a kernel that can implement the (?P<layer>\w+) linear layer"
        r"|No (?P<moe>\w+) MoE backend supports|not supported by (?P<kernels>\w+) MoE kernels"
        r"|No compiled (?P<fp4>\w+) quantization kernel|(?P<mx>MXFP4) are not supported"
        r"|No (?P<ct>compressed-tensors) compatible scheme|supported for (?P<marlin>GPTQMarlin) but got"
        r"|No compiled (?P<mm>cutlass_scaled_mm)|(?P<m>[\w-]{3,60}) MoE kernel does not support"
        r"|type (?P<fp8>fp8e4nv) not supported in this architecture",
        "There is no kernel for weights quantised so ({layer}{moe}{kernels}{fp4}{mx}{ct}{marlin}{fp8}{mm}{m}) on this GPU, or "
        "not in this build.",
        hint="use weights quantised for this GPU (FP8 takes compute capability 8.9, NVFP4 10.0; AWQ and GPTQ of 4 bits "
        "run from 7.5 on), or a newer vLLM",
        weight=82,
        examples=(
            "ValueError: Failed to find a kernel that can implement the WNA16 linear layer. Reasons:",
            "NotImplementedError: No NvFp4 MoE backend supports the deployment configuration.",
            "NotImplementedError: Current vLLM config is not supported by MXFP4 MoE kernels on this device",
            "NotImplementedError: No compiled nvfp4 quantization kernel",
            "AssertionError: MXFP4 are not supported on this GPU, capability 75",
            "NotImplementedError: No compressed-tensors compatible scheme was found.",
            "ValueError: Currently, only 4/8 bits are supported for GPTQMarlin but got 3 bits.",
            "RuntimeError: FlashInfer-CUTLASS MoE kernel does not support current device sm_120",
            "ValueError: type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e5',)",
        ),
    ),
    Failure(
        "quantisation-dtype",
        "is not supported for quantization method",
        r"torch\.(?P<dtype>\w+) is not supported for quantization method (?P<method>[\w-]+)\.?"
        r"(?: Supported dtypes: \[(?:torch\.)?(?P<has>\w+))?",
        "Weights quantised with {method} cannot compute in {dtype}.",
        hint="add --dtype half (or what the line lists)",
        weight=88,
        examples=(
            "  Value error, torch.bfloat16 is not supported for quantization method gptq. Supported dtypes: "
            "[torch.float16] [type=value_error, input",
        ),
    ),
    Failure(
        "quantisation-split",
        ("quantized weight shape", "min_thread_", "weight_block_size_n=", "weight quantization block", "block_n = "),
        r"(?P<what>[\w ]{3,40}) = (?P<size>\d+) is not divisible by weight quantization block_[nk] = (?P<block>\d+)"
        r"|% weight_block_size_n=|not aligned with the quantized weight shape"
        r"|\w{3,40} = (?P<part>\d+) is not divisible by {1,3}min_thread_[nk] = (?P<thread>\d+)",
        "The weights are quantised in blocks that this many GPUs cannot share ({size}{part} by {block}{thread}).",
        hint="lower --tensor-parallel-size, or add --enable-expert-parallel (SGLang: lower --tp or raise --ep), so that each "
        "GPU holds whole blocks",
        weight=86,
        examples=(
            "ValueError: Weight output_partition_size = 192 is not divisible by weight quantization block_n = 128.",
            "ValueError: The input size is not aligned with the quantized weight shape. This can be caused by too large",
            "ValueError: Weight output_size_per_partition = 5400 is not divisible by  min_thread_n = 64. Consider",
        ),
    ),
    Failure(
        "kv-cache-dtype",
        ("kv-cache", "kv_cache_dtype", "KV cache dtype", "kv cache dtype"),
        r"(?P<what>\S{0,40}kv[-_]cache(?:_dtype)?[^\n.]{0,60} is not supported[^\n.]{0,80}"
        r"|(?:KV|kv) cache dtype[^\n.]{0,60}not supported[^\n.]{0,60})",
        "This KV-cache type does not go with this model, GPU or backend: {what}.",
        hint="--kv-cache-dtype auto",
        weight=82,
        examples=("ValueError: fp8_e5m2 kv-cache is not supported with fp8 checkpoints.",),
    ),
)  # fmt: skip
