"""Stand-ins for nsys, ncu and compute-sanitizer, and for the packages nvtx and ncu_report.

The programs note how they were called and leave what the real ones would, but for what the variable
FAKE says.
"""

from __future__ import annotations

import sys

NSYS = """
base = option("--output")
if sys.argv[1] == "profile":
    if "empty" not in os.environ["FAKE"]:
        open(base + ".nsys-rep", "w").close()
else:
    assert sys.argv[-1] == base + ".nsys-rep" and os.path.exists(sys.argv[-1])
    head = "Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns)"
    tables = {
        "cuda_gpu_kern_sum": f"Time (%),Total Time (ns),Instances,{head},Name\\n"
            "60.0,1200,12,100.0,101.0,90,111,1.5,ck_gather_rows\\n",
        "nvtx_kern_sum": f"NVTX Range,Style,PID,TID,NVTX Inst,Kern Inst,Total Time (ns),{head},"
            'Kernel Name\\n"cudakern:G-1 [2^12] f32, random",PushPop,7,7,1,12,1200,100.0,101.0,90,'
            "111,1.5,ck_gather_rows\\n",
    }
    assert [a for p, a in zip(sys.argv, sys.argv[1:]) if p == "--report"] == [
        *tables, "nvtx_gpu_proj_sum", "cuda_gpu_mem_size_sum"]
    for name, text in tables.items():
        if "no kernels" not in os.environ["FAKE"]:
            open(f"{base}_{name}.csv", "w").write(text)
    print("SKIPPED: the report has no such data")
"""
NCU = """
print("==PROF== Connected to process 7")
if "refused" in os.environ["FAKE"]:
    print("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access counters")
    sys.exit(1)
if "empty" not in os.environ["FAKE"]:
    open(option("--export") + ".ncu-rep", "w").close()
"""
SANITIZER = """
tool = option("--tool")
state, _, of = os.environ["FAKE"].partition(" ")
state = state if of == tool else "clean"
clean = "ERROR SUMMARY: 0 errors"
if tool == "racecheck":
    clean = "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"
found = "Invalid __global__ read of size 4 bytes\\n========= ERROR SUMMARY: 2 errors"
warned = "RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)"
print("========= COMPUTE-SANITIZER")
if state != "silent":
    print("=========", {"found": found, "warned": warned}.get(state, clean))
error = int(option("--error-exitcode"))
sys.exit({"found": error, "denied": error, "failed": 1}.get(state, 0))
"""
PROGRAM = """#!{python}
import json, os, sys

def option(name):
    return sys.argv[sys.argv.index(name) + 1]

with open({log!r}, "a") as file:
    file.write(json.dumps([sys.argv[1:], os.environ.get("CUDAKERN_LINEINFO"), os.getcwd()]) + "\\n")
{body}"""

NCU_REPORT = '''
"""A stand-in for ncu_report: two kernels, the second without most of its counters."""

from types import SimpleNamespace as Fake

def metric(value, unit):
    given = value is not None
    return Fake(has_value=lambda: given, as_double=lambda: float(value or 0), unit=lambda: unit)

def domain(name, *names):
    return Fake(name=lambda: name, push_pop_ranges=lambda: names)

def action(name, state, pairs):
    metrics = {key: metric(*pair) for key, pair in pairs.items()}
    return Fake(name=lambda: name, nvtx_state=lambda: state,
                metric_names=lambda: tuple(metrics), metric_by_name=metrics.get)

DOMAINS = {3: domain("other", "a step"), 5: domain("cudakern", "cudakern:gather", "G-1 [2^12] f32")}
STATE = Fake(domains=lambda: tuple(DOMAINS), domain_by_id=DOMAINS.__getitem__)
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
FULL = {
    **{f"launch__grid_dim_{a}": (n, "") for a, n in zip("xyz", (264, 2, 1))},
    **{f"launch__block_dim_{a}": (n, "") for a, n in zip("xyz", (512, 1, 1))},
    "gpu__time_duration.sum": (123456, "ns"),
    "dram__bytes_read.sum": (2500000, "byte"),
    "dram__bytes_write.sum": (1.75, "Mbyte"),
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": (87.25, "%"),
    "lts__t_sector_hit_rate.pct": (31.5, "%"),
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio": (4.125, ""),
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio": (16.0, ""),
    "launch__registers_per_thread": (40, "register/thread"),
    "sm__warps_active.avg.pct_of_peak_sustained_active": (62.5, "%"),
    STALL.format("selected"): (99.0, "inst"),
    STALL.format("long_scoreboard"): (12.34, "inst"),
    STALL.format("barrier"): (3.0, "inst"),
}

def load_report(path):
    assert isinstance(path, str) and path.endswith(".ncu-rep")
    few = {"gpu__time_duration.sum": (None, "ns")}
    return [[action("ck_gather_rows", STATE, FULL), action("ck_bare", None, few)]]
'''


def install(folder, site):
    """Write the programs and the packages into new folders; return the programs' log."""
    log = folder / "log"
    for path in (folder, site):
        path.mkdir()
    log.touch()
    for name, body in (("nsys", NSYS), ("ncu", NCU), ("compute-sanitizer", SANITIZER)):
        path = folder / name
        path.write_text(PROGRAM.format(python=sys.executable, log=str(log), body=body))
        path.chmod(0o755)
    (site / "ncu_report.py").write_text(NCU_REPORT)
    (site / "nvtx.py").write_text("")
    return log
