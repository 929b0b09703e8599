"""Failures of finding a model: the Hub, paths, its configuration and tokenizer."""

from collectors.reading.log.rules.failure import VAGUE, Failure

HUB = (
    Failure(
        "gated-model",
        ("gated repo", "is restricted", "GatedRepoError", "awaiting a review"),
        r"access (?:a )?gated repo|GatedRepoError|Access to model (?P<model>\S+) is restricted|awaiting a review",
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
        unless=r"^(?:httpx?\d*|httpcore\d*)\.|gaierror: \[Errno",
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
        "tokenizer",
        ("okenizer", "untagged enum", "SentencePiece and Tiktoken", "parse ModelProto"),
        r"(?P<what>Can't load tokenizer for '[^']+'|did not match any variant of untagged enum \w+"
        r"|Unsupported tokenizer type: \w+|could not parse ModelProto|Converting from SentencePiece and Tiktoken failed|Couldn't instantiate the backend tokenizer"
        r"|Tokenizer class \w+ does not exist|Failed to load the tokenizer|Unable to load tokenizer"
        r"|'\w{1,60}Tokenizer\w{0,40}' object has no attribute '\w{1,80}')",
        "The tokenizer cannot be loaded: {what}.",
        hint="check the tokenizer's files in the model's folder, and that the transformers version knows "
        "them "
        "(--tokenizer names another)",
        weight=80,
        examples=(
            "OSError: Can't load tokenizer for '/models/x'. If you were trying to load it from the Hub, "
            "make sure",
            "Exception: data did not match any variant of untagged enum ModelWrapper at line 1251003 column 3",
            "ValueError: Tokenizer class Foo does not exist or is not currently imported.",
            "AttributeError: 'Qwen2Tokenizer' object has no attribute 'all_special_tokens_extended'",
        ),
    ),
    Failure(
        "permission",
        ("Permission denied", "PermissionError", "Read-only file system"),
        r"(?:Permission denied|Read-only file system): ?['\"](?P<path>[^'\"\s]+)",
        "The server may not read or write {path}.",
        hint="check owner and mode of that path for the user that the server runs as (and how it is mounted)",
        weight=VAGUE + 1,
        examples=("PermissionError: [Errno 13] Permission denied: '/root/.cache/huggingface'",),
    ),
    Failure(
        "permission",
        ("Permission denied", "PermissionError", "Read-only file system"),
        r"Permission denied|PermissionError|Read-only file system",
        "The server's user may not do what it tried: a path that is not its own, or a port below 1024.",
        hint="the lines above name the call; check owners, mounts and the port",
        weight=VAGUE,
        examples=("PermissionError: [Errno 13] Permission denied",),
    ),
    Failure(
        "vocab-download",
        ("download or load vocab", "openaipublic"),
        r"failed to download or load vocab file|host='openaipublic",
        "The vocabulary file of gpt-oss (tiktoken) could not be fetched.",
        hint="fetch o200k_base.tiktoken and cl100k_base.tiktoken beforehand and set TIKTOKEN_ENCODINGS_BASE to their folder",
        weight=88,
        examples=(
            "openai_harmony.HarmonyError: error downloading or loading vocab file: failed to download or load vocab file",
        ),
    ),
)  # fmt: skip
