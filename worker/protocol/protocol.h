/*
 * The messages between the agent and its children. A frame is a JSON object and an optional blob (frames.h). Children
 * are processes of this program (`skipjack child build|eval|probe`); they read requests from stdin, answer on stdout,
 * and log on stderr. A probe is an eval child that only says hello.
 *
 * To a build child:
 *   {"op":"compile","id":N,"toolchain":"opencl","version":"..","file":..,"hash":SHA256,"entry":..,
 *    "options":..,"target":{..}}       the child ends if it has another version or another file
 * From it:
 *   {"op":"compiled","id":N,"failure":"ok","seconds":S,"log":"..",
 *    "registers":R,"accumulation_registers":A,"scalar_registers":C,"spills":P,"scratch_bytes":B,
 *    "local_bytes":L,"instructions":"ds_read_b128 8, total 412"}    blob: the code object
 *   {"op":"compiled","id":N,"failure":"compile error","seconds":S,"log":".."}
 *     or "compiler crash" if a compiler in its own process crashed: the agent asks once more; or "load
 *     error" if the code object is damaged or has a wrong format
 * The compiler reports registers to local_bytes; -1 is unknown. instructions (kernels/objects/instructions.h) is absent
 * if they were not counted. log has at most 64 KiB of the compiler's output.
 * The agent asks before the first compilation for a target, since a kernel's key holds the toolchain's version:
 *   {"op":"version","target":{..},
 *    "toolchains":["clang"]}      only these; absent: any. The first one that serves the target answers
 *   {"op":"version","toolchain":"clang","version":"..","error":".."}    error is "" if one serves the target
 * The agent asks on a node that only builds; stack is like "clang 19.1.7 Debian, 15.0.6 Debian; opencl PoCL 3.1":
 *   {"op":"stack"}                                  answered by {"op":"stack","stack":".."}
 *
 * To an eval child:
 *   {"op":"kernel","key":HEX}                             blob: the code object; kept until "forget"
 *   {"op":"forget","key":HEX}
 *   {"op":"evaluate","id":N,"problem":KEY,"solver":NAME,"target":{..},"seed":S,
 *    "configs":[{"index":I,"values":[..],"kernels":[KEY a launch, in order],
 *                "timed":false}, ...],      verified alone: equal code was timed; absent: it is timed, too
 *    "default":I or -1,        "index" of the default config: measured first and again at the end;
 *                              -1: the first config with a time takes its place
 *    "best_ms":MS,             the fastest so far: slower configs are dropped early; 0: none known
 *    "sample_seconds":S,       device time for a config's readings
 *    "keep":false,             true: no config is dropped early
 *    "proof_runs":N,           runs compared of every config that is right (eval/proof.h); absent or 0: only the
 *                              fastest is proved, when all are measured, if it is faster than best_ms
 *    "together_seconds":S,     the configs, each with its "solver", are measured in turns (measure/together.h) in this
 *                              device time; outcomes come at the end. Absent or 0: one after the other
 *    "limits":{..},            of the campaign (target_json.h); absent: none
 *    "judge":KEY}              judge.cl for the target, sent before; absent: the host verifies
 *   {"op":"cold","target":{..},     load the kernels, pack filters, run all layers twice (cold_run.h)
 *    "layers":[{"index":0,"problem":KEY,"solver":NAME,"values":[..],"kernels":[..],"runs":N,
 *               "workspace_bytes":B}, ...]}     of the config's result: the solver's limit; absent: no limit
 *   {"op":"pipeline","target":{..},"plan":PATH,     run a whole network (pipeline/pipeline_run.h)
 *    "steps":[{"index":I,"solver":NAME,"values":[..],"kernels":[..],"workspace_bytes":B}, ...],  one a step
 *    "input":PATH,             samples as FP32 (coordinator/network/plan/PLAN.md); absent: random ones of "seed"
 *    "output":PATH,            where the outputs go as FP32; absent: nowhere
 *    "sample_seconds":S,       device time for the readings; 0: no times
 *    "verify":true}            each step's result is compared with its reference; absent: none is
 *   {"op":"pipelines","target":{..},"sample_seconds":S,"verify":true,   run several networks, timed in turns
 *    "pipelines":[{"plan","steps","input","output","seed"}, ...]}
 *   {"op":"stop"}              begin no further config; answer "evaluated" for every request received
 * The child takes "kernel" and "forget" between the configs of a request, too; another "evaluate" is queued.
 * From it:
 *   {"op":"hello","target":{..},"stack":"..","device":"..",   once, when its device is open
 *    "identity":{"uuid":"..","address":"..","partition":".."},
 *    "unwatched":".."}       GPUs only: why clocks and temperature are unknown
 *   {"op":"begin","id":N,"index":I}      the config that is now in flight
 *   {"op":"outcome","id":N,"index":I,"failure":"ok","n":..,"min_ms":..,"median_ms":..,"spread":..,
 *    "error":..,"eval_seconds":..,
 *    "proof_runs":N,         runs that were compared to prove the config; 0: it was not proved
 *    "proof_kinds":N,        the number of kinds of inputs that they had (verify/random.h)
 *    "detail":"..",          why it failed, or what was compared
 *    "pack_ms":MS,           of packing the filter once, which is no part of a run; 0: the solution does not pack
 *    "cold":true,            timed runs found their operands out of the last-level cache
 *    "verified_share":SHARE, of the output's elements that were compared; 1: all, 0: it was not verified now
 *    "low_ms":..,"high_ms":..,   interval of the median, of configs measured together only
 *    "busy_seconds":..,      time in which a GPU had work, since the last report
 *    "conditions":{..}}      of the device at that time (schema/results/conditions.h); absent: unknown
 *   {"op":"evaluated","id":N,"drift":D,"stopped":false,"repeated":false,"busy_seconds":..,
 *    "by_device":true,         results were verified on the device
 *    "doubted":false,          the device's own verifying failed its proof (verify/judge.h)
 *    "refusal":".."}           why the host verified although a judge was sent; else ""
 *   {"op":"failed","id":N,"failure":"..","detail":".."}       the whole request cannot be served
 *   {"op":"cold","load_seconds":S,"pack_seconds":S,"first_seconds":S,"second_seconds":S}   or the child ends
 *   {"op":"pipeline","network":"..","arena":{"bytes","sum_bytes","bound_bytes"},"input_bytes":B,
 *    "weight_bytes":B,"packed_bytes":B,"workspace_bytes":B,"load_seconds":S,"pack_ms":MS,
 *    "launches":{"n","min_ms","median_ms","spread","unstable"},     all launches, one by one
 *    "graph":{..},             the same as one graph launch; null where the device has none
 *    "host_ms":MS,             of one run, by the host's clock
 *    "stray":"..",             where a step wrote that it must not; null; no times then
 *    "verified":true,"wrong":N,     whether results were compared, and how many are wrong; no times then
 *    "steps":[{"name","verdict":"ok","error":E,"detail":"..","median_ms","flops","bytes","launches","packed_bytes","workspace_bytes"}, ...]}
 *   {"op":"pipelines","no_room":null,    or why they were not in memory at once: then none has turns
 *    "order":[I, ...],         whose turn it was: indexes of "pipelines"
 *    "pipelines":[{..}, ...]}   answers as above; "launches", "graph" and each of "steps" have "turns_ms":[..], too
 * "begin" and "outcome" of an index come again if it is measured again: the default at the end, every config with a
 * time if the default drifted ("repeated"), and what was dropped by the time of a config that was found wrong. The last
 * outcome of an index counts. "begin" comes again for a proof. Outcomes of configs faster than best_ms come when the
 * fastest one was proved. drift is the default's last median
 * over the one before it, 0 if it was measured once. "slow" outcomes carry the times at which they were dropped. After
 * the outcome "device fault" the child ends with status 3; configs without an outcome are to be measured again.
 * Targets are objects of target_json.h.
 */
#ifndef WORKER_PROTOCOL_PROTOCOL_H
#define WORKER_PROTOCOL_PROTOCOL_H

#define CHILD_COMMAND       "child" /* hidden command of this program that starts a child */
/* Environment variable of an eval child: the frequency in MHz at which it locks its GPU's clock. */
#define LOCK_CLOCKS_SETTING "SKIPJACK_LOCK_CLOCKS"
#define LOCK_CLOCKS_MOST    20000
/* Runs that a proof compares (eval/proof.h). A race of 1 run in 50 escapes 0.8 % of such proofs. */
#define PROOF_RUNS          240
/* A proof begins nothing more after this many times "sample_seconds": of the fastest config of a round, and of
 * each config of a request with "proof_runs". */
#define PROOF_SHARE         4
#define PROOF_ASKED_SHARE   16
#define COLD_RUNS_MAX       1000000 /* the largest "runs" of a layer of a "cold" request */

#endif
