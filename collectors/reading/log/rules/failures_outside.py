"""Ends that others tell of: the kernel, systemd, Slurm, docker compose, Kubernetes."""

from collectors.reading.log.rules.failure import DEATH, Failure

OUTSIDE = (
    Failure(
        "oom-killer",
        (
            "OOM killer.",
            "'oom-kill'",
            "emory: Killed process",
            "oom_kill event",
            ": Out Of Memory",
            "OOMKilled",
        ),
        r"killed by the OOM killer|result 'oom-kill'|emory: Killed process|oom_kill event|task \d+: Out Of Memory"
        r"|OOMKilled",
        "The OOM killer ended a process of the server: the host, or its container, ran out of memory.",
        hint="raise the memory limit (container, unit, `#SBATCH --mem`), and see that nothing else needs it; a load with "
        "--safetensors-load-strategy lazy holds less",
        weight=77,
        examples=(
            "vllm.service: A process of this unit has been killed by the OOM killer.",
            "vllm.service: Failed with result 'oom-kill'.",
            "[12345.678] Out of memory: Killed process 1234 (VLLM::EngineCor) total-vm:123kB",
            "Memory cgroup out of memory: Killed process 1234 (python3)",
            "slurmstepd: error: Detected 1 oom_kill event in StepId=123.0. Some of the step tasks have been OOM Killed.",
            "srun: error: node1: task 0: Out Of Memory",
            "    Last State: Terminated Reason: OOMKilled Exit Code: 137",
        ),
    ),
    Failure(
        "container-killed",
        (" exited with code 1", "code=dumped"),
        r" exited with code 13[79]\b|code=dumped, status=\d+",
        "The server's container or unit was ended by a signal, and the log does not say by whom.",
        hint="137 is SIGKILL, most often the OOM killer's (`docker inspect` says OOMKilled; dmesg); 139 a crash in native "
        "code",
        weight=DEATH,
        examples=(
            "vllm-1 exited with code 137",
            "vllm.service: Main process exited, code=dumped, status=6/ABRT",
        ),
    ),
)
