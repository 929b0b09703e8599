"""vLLM once it answers: throughput, speculation, access lines, the orderly end."""

from collectors.reading.log.effects import advise, both, serve, stop
from collectors.reading.log.figures import answered, speculative, speculative_v0, stats
from collectors.reading.log.rules.rule import Rule

_V = ("vllm", "json")

SERVING = (
    Rule("stats", "Avg prompt throughput", r"Avg prompt throughput: (?P<pp>[\d.]+) tokens/s, Avg generation throughput", stats,
         ("INFO 05-01 10:00:00 [loggers.py:111] Engine 000: Avg prompt throughput: 108.0 tokens/s, Avg generation "
          "throughput: 138.7 tokens/s, Running: 128 reqs, Waiting: 0 reqs, GPU KV cache usage: 19.8%",
          "(APIServer pid=1) INFO 12-01 10:00:00 [loggers.py:257] 8 Engines Aggregated: Avg prompt throughput: 1.0 tokens/s,"
          " Avg generation throughput: 2.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs")),
    Rule("spec", "SpecDecoding metrics: ", r"^SpecDecoding metrics: ", speculative,
         ("(APIServer pid=1) INFO 03-02 11:00:00 [metrics.py:100] SpecDecoding metrics: Mean acceptance length: 2.25, "
          "Accepted throughput: 76.61 tokens/s, Accepted: 766 tokens, Drafted: 1830 tokens, Per-position acceptance rate: "
          "0.640, 0.380, 0.230, Avg Draft acceptance rate: 41.9%",)),
    Rule("spec-v0", "Speculative metrics: ", r"^Speculative metrics: Draft", speculative_v0,
         ("INFO 10-16 19:05:47 metrics.py:367] Speculative metrics: Draft acceptance rate: 0.642, System efficiency: 0.598, "
          "Number of speculative tokens: 3, Number of accepted tokens: 8547, Number of draft tokens: 13311, Number of "
          "emitted tokens: 10616.",)),
    Rule("access", ' HTTP/1', r'^\S{3,60} - "(?P<method>[A-Z]{3,7}) (?P<path>\S{1,1000}) HTTP/[\d.]+" (?P<status>\d{3})',
         answered, ('(APIServer pid=48) INFO:     10.246.48.66:50163 - "POST /v1/messages HTTP/1.1" 200 OK',), ("uvicorn",)),
    Rule("finished", "Finished request ", r"^Finished request \S+\.$", serve,
         ("INFO 10-01 10:00:00 async_llm_engine.py:141] Finished request cmpl-1.",), ("vllm",)),
    Rule("sigterm", "SIGTERM", r"^(?:Received SIGTERM|SIGTERM received|Got signal SIGTERM)", stop,
         ("[2026-08-02 00:17:43] SIGTERM received. signum=None frame=None. Draining requests and shutting down...",
          "(APIServer pid=5) INFO 08-02 10:04:48 [launcher.py:9] Received SIGTERM, shutting down")),
    Rule("shutdown", "[shutdown] ", r"^\[shutdown\] (?:API server: (?:shutdown triggered|signal)|.*trigger received signal)",
         stop, ("(APIServer pid=37727) INFO 08-02 10:04:48 [launcher.py:120] [shutdown] API server: shutdown triggered",), _V),
    Rule("shutdown-http", "Shutting down FastAPI HTTP server", r"^Shutting down FastAPI HTTP server", stop,
         ("(APIServer pid=1) INFO 02-05 00:11:38 [launcher.py:110] Shutting down FastAPI HTTP server.",), _V),
    Rule("shutdown-uvicorn", "Shutting down", r"^Shutting down$", stop, ("(APIServer pid=1) INFO:     Shutting down",),
         ("uvicorn",)),
    Rule("shutdown-waits", "pplication shutdown", r"^(?:Waiting for application shutdown|Application shutdown complete)\.$", stop,
         ("(APIServer pid=1) INFO:     Waiting for application shutdown.",), ("uvicorn",)),
    Rule("finished-process", "Finished server process", r"^Finished server process \[", stop,
         ("(APIServer pid=1) INFO:     Finished server process [1]",), ("uvicorn",)),
    Rule("shell-terminated", "Terminated", r"^(?:\S{1,200}: line \d{1,9}: +\d{1,9} )?Terminated(?: {2,}\S.{0,2000})?$", stop,
         ("./serve.sh: line 3: 12345 Terminated              vllm serve m",), ("",)),
    Rule("container-ended", " exited with code ", r"^\S{1,80} exited with code (?:0|143)$", stop, ("vllm-1 exited with code 0",), ("",)),
    Rule("unit-stopped", ".service", r"^(?:Stopping|Stopped) \S{1,80}\.service|^\S{1,80}\.service: (?:Deactivated successfully|Succeeded)\.$",
         stop, ("Oct 21 09:13:14 gpu01 systemd[1]: Stopping vllm.service - vLLM server...",), ("",)),
    Rule("slurm-cancelled", "slurmstepd: error: ", r"^slurmstepd: error: \*\*\* (?:STEP|JOB) \S{1,40} ON \S{1,80} CANCELLED AT \S+"
         r"(?: DUE TO (?P<why>[A-Z ]{1,40}))?", both(stop, advise("slurm-cancelled", "Slurm ended the job: {why}.")),
         ("0: slurmstepd: error: *** STEP 123.0 ON node1 CANCELLED AT 2026-12-01T10:05:00 DUE TO TIME LIMIT ***",)),
    Rule("graceful", "racefully stopping http server", r"^Gracefully stopping http server", stop,
         ("INFO 07-21 10:00:00 server.py:53] Gracefully stopping http server",), _V),
    Rule("client-stop", "Received signal 15", r"Received signal 15", stop,
         ("(APIServer pid=1) INFO 07-21 10:00:00 [serve.py:53] Received signal 15, shutting down",), _V),
    Rule("graphs-limited", "setting cudagraph_mode", r"^CUDAGraphMode\.(?P<mode>\w+) is not supported with .*setting cudagraph_mode"
         r"=(?P<now>\w+)", advise("graphs-limited", "Decoding runs with {now} CUDA graphs instead of {mode}: this attention "
                                  "backend cannot do more."),
         ("(EngineCore pid=3) WARNING 03-02 10:00:00 [gpu_model_runner.py:4731] CUDAGraphMode.FULL_AND_PIECEWISE is not "
          "supported with FlashMLA backend; setting cudagraph_mode=PIECEWISE",), _V),
    Rule("drafter-text-only", "Draft model does not support multimodal", r"^Draft model does not support multimodal inputs",
         advise("drafter-text-only", "Requests with images are not drafted for; text is."),
         ("(Worker_TP0 pid=1) WARNING 05-06 20:59:59 [eagle.py:1345] Draft model does not support multimodal inputs, falling "
          "back to text-only mode",), _V),
)  # fmt: skip
