"""Failures of the installation: packages that do not fit each other, what a library or a command lacks."""

from collectors.reading.log.rules.failure import VAGUE, Failure

INSTALL = (
    Failure(
        "torchvision-mismatch",
        "torchvision::nms",
        r"operator torchvision::nms does not exist",
        "torchvision was built for another torch (CPU against CUDA, or another version).",
        hint="install torch and torchvision of the same version from the same index",
        weight=90,
        examples=("RuntimeError: operator torchvision::nms does not exist",),
    ),
    Failure(
        "packages-do-not-fit",
        (
            "'_OpNamespace'",
            "module 'torch' has no attribute",
            "Tried to register an operator",
            "is already used by a Transformers config",
            "Numpy is not available",
            "numpy.dtype size changed",
            "Numba needs NumPy",
            "Unexpected keyword argument 'use_dict'",
            "module 'transformers",
            "module 'triton",
        ),
        r"(?P<what>'_OpNamespace' '\w{1,40}' object has no attribute '\w{1,80}'|module 'torch' has no attribute '\w{1,80}'"
        r"|Tried to register an operator|'\w{1,60}' is already used by a Transformers config|Numpy is not available"
        r"|numpy\.dtype size changed|Numba needs NumPy [\w. ]{1,20}"
        r"|Unexpected keyword argument 'use_dict'|module '(?:transformers|triton)[\w.]{0,80}' has no attribute '\w{1,80}')",
        "Packages of versions that do not fit each other are installed: {what}.",
        hint="install vLLM into a fresh environment and let it bring its own torch, transformers and numpy, or use its image; "
        "a build from source must be repeated after each change of torch",
        weight=70,
        examples=(
            "AttributeError: '_OpNamespace' '_C' object has no attribute 'silu_and_mul'",
            "AttributeError: module 'torch' has no attribute 'float4_e2m1fn_x2'",
            "ValueError: 'aimv2' is already used by a Transformers config, pick another name.",
            "RuntimeError: Numpy is not available",
            "ImportError: Numba needs NumPy 2.2 or less. Got NumPy 2.3.",
        ),
    ),
    Failure(
        "broken-install",
        (
            "ImportError",
            "ModuleNotFoundError",
            "undefined symbol",
            "cannot open shared object",
            "cannot import name",
            "Error while finding module",
        ),
        r"(?:ImportError|ModuleNotFoundError|OSError): (?P<what>[^\n]{3,200})",
        "The installation is broken: {what}",
        hint="install vLLM with its own torch in a fresh environment; undefined symbols mean a torch of another version",
        weight=70,
        unless=r"OSError: (?!.*(?:shared object|undefined symbol))|pip install|[Pp]lease install",
        examples=(
            "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
            "ModuleNotFoundError: No module named 'flash_attn'",
            "ImportError: /site-packages/vllm/_C.abi3.so: undefined symbol: _ZN3c106detail23torchInternalAssertFailE",
            "/usr/bin/python3: Error while finding module specification for 'vllm.entrypoints.openai.api_server' "
            "(ModuleNotFoundError: No module named 'vllm')",
        ),
    ),
    Failure(
        "package-missing",
        ("pip install", "lease install"),
        r"(?:ImportError|ModuleNotFoundError|ValueError|RuntimeError): (?P<what>[^\n]{0,160}(?:pip install|[Pp]lease install)"
        r"[^\n]{0,120})",
        "A package is missing that this model or option needs: {what}",
        hint="install it as the line says, into the environment that the server runs in, and launch again",
        weight=70,
        examples=(
            "ImportError: Please install bitsandbytes>=0.46.1 via `pip install bitsandbytes>=0.46.1` to use "
            "bitsandbytes quantizer.",
            "ImportError: This modeling file requires the following packages that were not found in your environment: "
            "einops. Run `pip install einops`",
        ),
    ),
    Failure(
        "windows",
        ("support Windows", "named 'resource'", "named 'fcntl'"),
        r"does not support Windows|No module named '(?:resource|fcntl)'",
        "vLLM does not run on Windows itself.",
        hint="run it under WSL 2 or in a Linux container",
        weight=88,
        examples=(
            "RuntimeError: uvloop does not support Windows at the moment",
            "ModuleNotFoundError: No module named 'resource'",
        ),
    ),
    Failure(
        "no-command",
        ("vllm: command not found", "vllm: not found"),
        r"vllm: (?:command )?not found",
        "There is no command `vllm` here.",
        hint="activate the environment that vLLM is installed in, or give the command's whole path",
        weight=88,
        examples=("bash: vllm: command not found", "/entrypoint.sh: 3: exec: vllm: not found"),
    ),
    Failure(
        "container-gpu",
        ("Error response from daemon", "nvidia-container-cli"),
        r"(?P<what>could not select device driver|unsatisfied condition: [^,\n]{1,60}|nvidia-container-cli: [^\n]{1,160}"
        r"|unknown or invalid runtime name: \w+)",
        "Docker could not give the container its GPU: {what}.",
        hint="install the NVIDIA container toolkit (`nvidia-ctk runtime configure`); a cuda condition means that the driver "
        "is older than the image's CUDA",
        weight=88,
        examples=(
            'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
            "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update your driver",
        ),
    ),
    Failure(
        "container-refused",
        "Error response from daemon: ",
        r"Error response from daemon: (?P<what>[^\n]{3,200})",
        "Docker did not start the container: {what}",
        hint="correct what the line names (a name or port in use, a path, an image), and start again",
        weight=VAGUE + 4,
        examples=(
            'docker: Error response from daemon: Conflict. The container name "/vllm" is already in use by container "1f".',
        ),
    ),
    Failure(
        "remote-code-module",
        "transformers_modules",
        r"No module named 'transformers_modules[\w.-]{0,120}'|Can't pickle <class 'transformers_modules",
        "The model's own code could not be imported by a worker process.",
        hint="add --trust-remote-code; give the model's folder a name without dots and dashes, or a newer vLLM and transformers",
        weight=82,
        examples=(
            "ModuleNotFoundError: No module named 'transformers_modules.GLM-4'",
            "_pickle.PicklingError: Can't pickle <class 'transformers_modules.x.configuration_x.XConfig'>: it's not the same",
        ),
    ),
    Failure(
        "unexpected-argument",
        "got an unexpected keyword argument",
        r"(?P<call>[\w.]{1,80})\(\) got an unexpected keyword argument '(?P<name>\w{1,80})'",
        "{call} does not know the argument {name}: two packages, or an option and this version, do not fit.",
        hint="use the versions that the model's card or the plug-in names (pip show vllm transformers torch)",
        weight=VAGUE - 8,
        examples=("TypeError: LLMEngine.__init__() got an unexpected keyword argument 'use_v2_block_manager'",),
    ),
    Failure(
        "torch-without-gpu",
        "Torch not compiled with",
        r"Torch not compiled with (?P<what>\w+) enabled",
        "The installed torch is a build without {what}.",
        hint="install vLLM's build for this machine (pip's default is for CUDA; ROCm, XPU, TPU and CPU have images of their own)",
        weight=86,
        examples=("AssertionError: Torch not compiled with CUDA enabled",),
    ),
)  # fmt: skip
