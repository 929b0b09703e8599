"""What the demo serves: argv and environment of its two servers, which differ in nothing but the drafter."""

import os
import socket

import msgspec

from launch.demo import HERE
from launch.demo.engines import Engine
from launch.demo.models import Pair

WATCH_S = 20.0  # how long the target's shards take when the load is to be watched
K = 3  # tokens drafted a step
KV_BYTES = 256 << 20  # a CPU server without it takes 92 % of the box, or dies where others use it


def argv(engine: Engine, pair: Pair, port: int, *, speculate: bool) -> list[str]:
    """`vllm serve …` on loopback."""
    command = [
        str(engine.vllm), "serve", str(pair.target),
        "--served-model-name", "tiny",
        "--host", "127.0.0.1", "--port", str(port),
        "--max-model-len", "2048", "--max-num-seqs", "16",
        "--kv-cache-memory-bytes", str(KV_BYTES),
        "--load-format", "slowload",
        "--enforce-eager",
    ]  # fmt: skip
    # bfloat16 on such CPUs brings acceptance from 65 % down to 10 %; a GPU's attention has no float32.
    command += ["--dtype", "bfloat16" if engine.gpu else "float32"]
    if speculate:
        spec = {"method": "eagle3", "model": str(pair.drafter), "num_speculative_tokens": K}
        command += ["--speculative-config", msgspec.json.encode(spec).decode()]
    return command


def environment(pair: Pair, base: dict[str, str], *, slow: bool) -> dict[str, str]:
    """The user's environment as the demo's server gets it; `slow`: the shards take WATCH_S to load."""
    plugin = str(HERE / "plugin-slowload")
    # Set, it makes each of the server's processes compile all its imports anew: 70–100 s a start.
    kept = {name: value for name, value in base.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {
        "PYTHONPATH": os.pathsep.join(filter(None, (plugin, base.get("PYTHONPATH")))),
        "SLOWLOAD_MBPS": f"{pair.target_bytes / 1e6 / WATCH_S:.3f}" if slow else "1000",
        "HF_HUB_OFFLINE": "1",  # nothing is to be fetched; a hub that cannot be reached costs seconds
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
    }


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
