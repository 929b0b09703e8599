"""Failures of reading weights: files, names, shapes, quantisation."""

from collectors.reading.log.rules.failure import VAGUE, Failure

WEIGHTS = (
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
        r"'(?P<key>(?!blk\.)[A-Za-z_]\w{0,60}(?:\.\w{1,60}){2,16}|lm_head\.\w+|(?:model|layers|visual)\.[\w.]+)'",
        "The checkpoint does not fit the model class: {name}{first}{key} has no counterpart.",
        hint="the checkpoint is of another architecture, quantised in a way that this version does not load, or newer than "
        "the engine; for a drafter run `doctor`",
        weight=78,
        examples=(
            "ValueError: Following weights were not initialized from checkpoint: "
            "{'model.layers.0.fc.weight'}",
            "KeyError: 'model.layers.0.self_attn.qkv_proj.weight_scale'",
            "KeyError: 'blocks.0.attn.qkv.weight'",
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
        "weight-shape",
        ("loaded_weight", "param_data"),
        r"AssertionError: assert [^\n]{0,80}(?:loaded_weight|param_data)\.(?:shape|size)",
        "A tensor of the checkpoint has another shape than the model expects.",
        hint="config.json and weights do not belong together, or the sizes cannot be split over so many GPUs (lower "
        "--tensor-parallel-size)",
        weight=81,
        examples=("AssertionError: assert param_data.shape == loaded_weight.shape",),
    ),
    Failure(
        "sizes-differ",
        "must match the size of tensor",
        r"The size of tensor a \((?P<a>\d+)\) must match the size of tensor b \((?P<b>\d+)\)",
        "Two tensors of different sizes met{where}: {a} and {b}.",
        hint="a defect of the engine with this model or these options, or inputs that it does not expect; a newer version may "
        "have it mended",
        hints={
            "load": "config.json and weights do not belong together, or the sizes cannot be split over so many GPUs (lower "
            "--tensor-parallel-size)"
        },
        weight=VAGUE,
        examples=(
            "RuntimeError: The size of tensor a (3584) must match the size of tensor b (1792) at non-singleton dimension 1",
        ),
    ),
    Failure(
        "storage-error",
        ("os error 19", "Errno 5]", "Errno 116]", "os error 5)", "os error 116", "Errno 107]", "os error 107"),
        r"No such device \(os error 19\)|(?:\[Errno 5\]|\(os error 5\))|(?:Errno|os error) (?:116|107)\b",
        "The file system that holds the model failed while it was read (or cannot map files into memory).",
        hint="copy the model to a local disk; for a network or FUSE mount --safetensors-load-strategy eager reads without "
        "mapping; see dmesg and the mount",
        weight=86,
        examples=(
            "safetensors_rust.SafetensorError: No such device (os error 19)",
            "OSError: [Errno 116] Stale file handle: '/mnt/models/x/model-00001-of-00004.safetensors'",
            "OSError: [Errno 5] Input/output error",
        ),
    ),
    Failure(
        "bucket-credentials",
        ("Unable to locate credentials", "NoCredentialsError", "NoSuchBucket", "AccessDenied"),
        r"Unable to locate credentials|NoCredentialsError|NoSuchBucket|AccessDenied",
        "The bucket that holds the model refused, or there are no credentials for it.",
        hint="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_ENDPOINT_URL for another than AWS), and check its name",
        weight=84,
        examples=("botocore.exceptions.NoCredentialsError: Unable to locate credentials",),
    ),
)  # fmt: skip
