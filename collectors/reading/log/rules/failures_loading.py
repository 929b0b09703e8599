"""Failures of finding and reading a model: Hub, files, weights, tokenizer, quantisation."""

from collectors.reading.log.rules.failure import VAGUE, Failure

LOADING = (
    Failure(
        "gated-model",
        ("gated repo", "is restricted", "GatedRepoError", "awaiting a review"),
        r"gated repo|GatedRepoError|Access to model (?P<model>\S+) is restricted|awaiting a review",
        "The model is gated on the Hugging Face Hub, and this server has no access to it.",
        hint="accept the model's licence on its Hub page with your account and set HF_TOKEN",
        weight=88,
        examples=(
            "OSError: You are trying to access a gated repo.",
            "Access to model meta-llama/Llama-3.2-1B-Instruct is restricted. You must have access to it and "
            "be "
            "authenticated to access it. Please log in.",
        ),
    ),
    Failure(
        "no-such-path",
        (
            "Repo id must be in the form",
            "Repo id must use alphanumeric",
            "Invalid repository ID or local directory",
        ),
        r"(?:Repo id must (?:be in the form|use alphanumeric)[^/]*(?:/[^']*')?: |Invalid repository ID or "
        r"local directory"
        r" specified: )'(?P<model>[^']+)'",
        "There is no model at {model}: the path does not exist here, and it is no Hub id either.",
        hint="check the path (inside a container: is it mounted?)",
        weight=86,
        examples=(
            "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or "
            "'namespace/repo_name': '/nonexistent/model'. Use `repo_type` argument if needed.",
            "  Value error, Invalid repository ID or local directory specified: '/nonexistent/drafter'.",
        ),
    ),
    Failure(
        "no-such-model",
        ("is not a local folder", "RepositoryNotFoundError", "Repository Not Found"),
        r"(?P<model>\S+) is not a local folder and is not a valid model identifier|Repository ?Not ?Found",
        "There is no model {model}: neither a folder here nor a repository of the Hugging Face Hub.",
        hint="check the name for typing errors; a private repository needs HF_TOKEN",
        weight=86,
        examples=(
            "OSError: foo/bar is not a local folder and is not a valid model identifier listed on "
            "'https://huggingface.co/models'",
        ),
    ),
    Failure(
        "hub-offline",
        (
            "outgoing traffic has been disabled",
            "LocalEntryNotFoundError",
            "OfflineModeIsEnabled",
            "offline mode",
        ),
        r"outgoing traffic has been disabled|LocalEntryNotFoundError|OfflineModeIsEnabled|offline mode is "
        r"enabled",
        "The model is not in the local cache, and downloads are switched off or fail.",
        hint="check the model's name or path; to allow downloads unset HF_HUB_OFFLINE and "
        "TRANSFORMERS_OFFLINE",
        weight=78,
        examples=(
            "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find an appropriate cached snapshot "
            "folder for the "
            "specified revision on the local disk and outgoing traffic has been disabled.",
        ),
    ),
    Failure(
        "hub-unreachable",
        ("We couldn't connect to", "Max retries exceeded", "Name or service not known", "ConnectTimeout"),
        r"We couldn't connect to '(?P<url>[^']+)'|Max retries exceeded with url|Name or service not known",
        "The Hugging Face Hub could not be reached, and the model is not in the local cache.",
        hint="check the model's name or path, then the network and proxy; download it beforehand and give "
        "its path",
        weight=84,
        unless=r"^(?:httpx?\d*|httpcore\d*)\.",
        examples=(
            "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find "
            "them in "
            "the cached files.",
        ),
    ),
    Failure(
        "hub-download",
        (
            "CAS service error",
            "econstruction",
            "Data processing error",
            "429 Client Error",
            "Consistency check",
        ),
        r"(?P<what>CAS service error|[Ff]ile [Rr]econstruction [Ee]rror|Data processing error"
        r"|429 Client Error|Consistency check failed)",
        "A download from the Hugging Face Hub broke off: {what}.",
        hint="start again (it resumes), set HF_TOKEN against rate limits, or try HF_HUB_DISABLE_XET=1",
        weight=84,
        examples=(
            "RuntimeError: Data processing error: CAS service error : Reqwest Error: HTTP status server error",
            "OSError: Consistency check failed: file should be of size 4977222960 but has size 1234",
        ),
    ),
    Failure(
        "bad-config-json",
        ("is not a valid JSON file", "JSONDecodeError"),
        r"config file at '(?P<file>[^']+)' is not a valid JSON file",
        "{file} is not valid JSON.",
        hint="fetch the file again: the copy is damaged or was edited by hand",
        weight=88,
        examples=(
            "OSError: It looks like the config file at 'models/broken/badconfig/config.json' is not a valid "
            "JSON file.",
        ),
    ),
    Failure(
        "no-config",
        (
            "Unrecognized model in",
            "does not appear to have a file named",
            "No such file or directory",
            "Can't load the configuration",
            "Should have a `model_type`",
        ),
        r"Unrecognized model in (?P<model>\S+?)\.? Should have a|does not appear to have a file named "
        r"(?P<file>\S+)"
        r"|Can't load the configuration of '(?P<m>[^']+)'|No such file or directory: "
        r"'(?P<p>[^']*config\.json)'",
        "The model's folder lacks a usable configuration: {model}{file}{m}{p}.",
        hint="check the path: config.json with a `model_type` must lie in that folder",
        weight=84,
        examples=(
            "ValueError: Unrecognized model in /models/x. Should have a `model_type` key in its config.json",
            "OSError: /models/x does not appear to have a file named config.json.",
        ),
    ),
    Failure(
        "shard-missing",
        ("Weight files referenced in index but missing", "No such file or directory", "does not exist"),
        r"Weight files referenced in index but missing: \{?'?(?P<file>[^'}\s]+)"
        r"|No such file or directory: \"?'?(?P<path>[^'\"\s]+\.(?:safetensors|bin|pt))",
        "A weight file is missing: {file}{path}.",
        hint="fetch the model again: the download is not complete",
        weight=90,
        examples=(
            "FileNotFoundError: Weight files referenced in index but missing: "
            "{'models/broken/missing/model-00007-of-00032.safetensors'}",
            'FileNotFoundError: No such file or directory: "/models/x/model-00003-of-00064.safetensors"',
        ),
    ),
    Failure(
        "shard-truncated",
        ("incomplete metadata", "MetadataIncompleteBuffer", "PytorchStreamReader failed", "unexpected EOF"),
        r"incomplete metadata, file not fully covered|MetadataIncompleteBuffer"
        r"|PytorchStreamReader failed|unexpected EOF, expected \d+ more bytes",
        "A weight file is shorter than its header says: the download or copy broke off.",
        hint="fetch the model again; `doctor` checks each file's length against its header",
        weight=88,
        examples=(
            "safetensors._safetensors_rust.SafetensorError: Error while deserializing header: incomplete "
            "metadata, "
            "file not fully covered",
            "safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer",
        ),
    ),
    Failure(
        "shard-garbled",
        ("deserializing header", "SafetensorError", "invalid load key", "UnpicklingError", "git-lfs"),
        r"Error while deserializing header: ?(?P<what>.*)|invalid load key|UnpicklingError",
        "A weight file is no valid weight file{where}: damaged, or a Git LFS pointer instead of the weights.",
        hint="fetch the model again (git lfs pull); `doctor` names the file whose header is broken",
        weight=85,
        examples=(
            "safetensors._safetensors_rust.SafetensorError: Error while deserializing header: header too "
            "large",
            "safetensors_rust.SafetensorError: Error while deserializing header: "
            "InvalidHeaderDeserialization",
            "_pickle.UnpicklingError: invalid load key, 'v'.",
        ),
    ),
    Failure(
        "no-weights",
        ("Cannot find any model weights", "Cannot find any safetensors model weights", "no file named"),
        r"Cannot find any (?:safetensors )?model weights with `(?P<model>[^`]+)`|no file named (?P<file>\S+)",
        "The folder {model} holds no weights that can be loaded.",
        hint="check that *.safetensors (or *.bin) lie in it, and that --load-format fits them",
        weight=88,
        examples=("RuntimeError: Cannot find any model weights with `models/broken/noweights`",),
    ),
    Failure(
        "weight-names",
        (
            "There is no module or parameter named",
            "were not initialized from checkpoint",
            "Missing key",
            "KeyError",
        ),
        r"There is no module or parameter named '?(?P<name>[\w.]+)|Following weights were not initialized "
        r"from"
        r" checkpoint: \{?'?(?P<first>[\w.]+)|KeyError: "
        r"'(?P<key>(?:model\.|layers\.|lm_head|visual\.)[\w.]+)'",
        "The checkpoint does not fit the model class: {name}{first}{key} has no counterpart.",
        hint="the checkpoint is of another architecture or newer than this engine; for a drafter run "
        "`doctor`",
        weight=78,
        examples=(
            "ValueError: Following weights were not initialized from checkpoint: "
            "{'model.layers.0.fc.weight'}",
            "KeyError: 'model.layers.0.self_attn.qkv_proj.weight_scale'",
        ),
    ),
    Failure(
        "weight-shape",
        (
            "exceeds dimension size",
            "size mismatch for",
            "Attempted to load weight",
            "must match the size of tensor",
            "does not match the weight",
        ),
        r"start \((?P<start>\d+)\) \+ length \((?P<len>\d+)\) exceeds dimension size \((?P<dim>\d+)\)"
        r"|size mismatch for (?P<name>[\w.]+)|Attempted to load weight \((?P<a>.{1,80}?)\) into parameter "
        r"\((?P<b>[^)]*)\)",
        "A tensor of the checkpoint has another shape than the model expects.",
        hint="config.json and weights do not belong together (for a drafter: hidden size or head counts of "
        "another "
        "target; `doctor TARGET DRAFTER` names the tensor)",
        weight=82,
        examples=(
            "RuntimeError: start (0) + length (768) exceeds dimension size (512).",
            "AssertionError: Attempted to load weight (torch.Size([32000, 4096])) into parameter "
            "(torch.Size([32064, 4096]))",
        ),
    ),
    Failure(
        "shapes-at-run",
        ("shapes cannot be multiplied", "CHECK_EQ(mat1"),
        r"mat1 and mat2 shapes cannot be multiplied \((?P<a>\d+x\d+) and (?P<b>\d+x\d+)\)"
        r"|CHECK_EQ\(mat1\.size\(ndim - 1\), K\) failed\. (?P<x>\d+) vs (?P<y>\d+)",
        "Two layers do not fit: {a}{x} meets {b}{y}. With a drafter: it was made for another hidden size, "
        "or gets "
        "another number of hidden states than its fc layer takes.",
        hint="run `doctor TARGET DRAFTER`: it compares hidden sizes and the fc layer",
        weight=80,
        examples=(
            "RuntimeError: mat1 and mat2 shapes cannot be multiplied (25x512 and 768x256)",
            "RuntimeError: CHECK_EQ(mat1.size(ndim - 1), K) failed. 768 vs 384",
        ),
    ),
    Failure(
        "gguf",
        ("GGUF", "gguf"),
        r"GGUF model with architecture (?P<arch>\w+) is not supported|[Uu]nknown gguf model_type: "
        r"(?P<type>\w+)"
        r"|GGUF file .*not found|No (?:gguf|GGUF) file",
        "This GGUF file cannot be loaded: architecture {arch}{type}.",
        hint="use the model's safetensors weights, or an engine version that knows this GGUF architecture",
        weight=85,
        examples=("ValueError: GGUF model with architecture qwen3vlmoe is not supported yet.",),
    ),
    Failure(
        "quantisation",
        ("uantization", "quant_method", "Marlin", "group_size", "Unknown quantization"),
        r"(?P<what>[Uu]nknown quantization method[^.\n]*|[Qq]uantization method specified in the model "
        r"config[^.\n]*"
        r"|The quantization method \S+ is not supported[^.\n]*|quantization[^.\n]{0,80}not supported[^.\n]*"
        r"|is not divisible by weight quantization block_n[^.\n]*)",
        "The weights' quantisation does not work here: {what}.",
        hint="leave --quantization out (it is read from config.json), or use other weights for this GPU or "
        "tensor-parallel size",
        weight=80,
        examples=(
            "ValueError: Quantization method specified in the model config (gptq) does not match the "
            "quantization "
            "method specified in the `quantization` argument (awq).",
            "ValueError: The quantization method fp8 is not supported for the current GPU. Minimum "
            "capability: 89.",
        ),
    ),
    Failure(
        "tokenizer",
        ("okenizer", "chat template"),
        r"(?P<what>Can't load tokenizer for '[^']+'|Couldn't instantiate the backend tokenizer"
        r"|Tokenizer class \w+ does not exist|Failed to load the tokenizer|Unable to load tokenizer"
        r"|'?\w*Tokenizer\w*'? object has no attribute '\w+')",
        "The tokenizer cannot be loaded: {what}.",
        hint="check the tokenizer's files in the model's folder, and that the transformers version knows "
        "them "
        "(--tokenizer names another)",
        weight=80,
        examples=(
            "OSError: Can't load tokenizer for '/models/x'. If you were trying to load it from the Hub, "
            "make sure",
            "ValueError: Tokenizer class Foo does not exist or is not currently imported.",
            "AttributeError: 'Qwen2Tokenizer' object has no attribute 'all_special_tokens_extended'",
        ),
    ),
    Failure(
        "permission",
        ("Permission denied", "PermissionError"),
        r"Permission denied:? ?'?(?P<path>[^'\s]*)",
        "The server may not read or write {path}.",
        hint="check owner and mode of that path for the user that the server runs as",
        weight=VAGUE,
        examples=("PermissionError: [Errno 13] Permission denied: '/root/.cache/huggingface'",),
    ),
)
