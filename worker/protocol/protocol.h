/*
 * What the agent and its children say to each other. A frame is a JSON object
 * and an optional blob; frames.h has their bytes. Children are this program
 * again (`skipjack child build|eval|probe`), read requests from stdin, answer on
 * stdout, and log on stderr. A probe is an eval child that says hello alone.
 *
 * To a build child:
 *   {"op":"compile","id":N,"toolchain":"opencl","version":"..","file":..,"hash":SHA256,"entry":..,
 *    "options":..,"target":{..}}       not answered where the version or the file is another one
 * From it:
 *   {"op":"compiled","id":N,"failure":"ok","seconds":S,"log":"..",
 *    "registers":R,"accumulation_registers":A,"scalar_registers":C,"spills":P,"scratch_bytes":B,
 *    "local_bytes":L,"instructions":"ds_read_b128 8, total 412"}    blob: the code object
 *   {"op":"compiled","id":N,"failure":"compile error","seconds":S,"log":".."}
 *     or "compiler crash" of one in a process of its own, which is asked for once more; or "load
 *     error" of a code object that is damaged or not what it should be
 * registers to local_bytes are what the compiler says of the kernel, -1 where it does not; instructions
 * (kernels/objects/instructions.h) are absent where they were not counted; of its log the first 64 KiB are told.
 * Before the first compilation for a target, since a kernel's key holds the toolchain and its version:
 *   {"op":"version","target":{..},
 *    "toolchains":["clang"]}      only these; left out: any. The first that serves the target answers
 *   {"op":"version","toolchain":"clang","version":"..","error":".."}    error is "" where one serves it
 * What a node that only builds says of its software, "clang 19.1.7 Debian, 15.0.6 Debian; opencl PoCL 3.1":
 *   {"op":"stack"}                                  answered by {"op":"stack","stack":".."}
 *
 * To an eval child:
 *   {"op":"kernel","key":HEX}                             blob: the code object; kept until "forget"
 *   {"op":"forget","key":HEX}
 *   {"op":"evaluate","id":N,"problem":KEY,"solver":NAME,"target":{..},"seed":S,
 *    "configs":[{"index":I,"values":[..],"kernels":[KEY a launch, in order]}, ...],
 *    "default":I or -1,        "index" of the default config: measured first and again at the end;
 *                              -1: the first config with a time takes its place
 *    "best_ms":MS,             0 when none: a config clearly slower is dropped early
 *    "sample_seconds":S,       time a config's repeats may take
 *    "keep":false,             true: no config is dropped early
 *    "limits":{..},            of the campaign (target_json.h); left out: none
 *    "judge":KEY}              judge.cl for the target, sent before; left out: the host verifies
 *   {"op":"cold","target":{..},     load the kernels, run all layers twice (cold_run.h)
 *    "layers":[{"index":0,"problem":KEY,"solver":NAME,"values":[..],"kernels":[..],"runs":N,
 *               "workspace_bytes":B}, ...]}     that the config's result needs; left out: as it is
 *   {"op":"stop"}              finish nothing more, answer "evaluated" for what is asked for
 * "kernel" and "forget" are also taken between the configs of a request under way; a further
 * "evaluate" waits its turn.
 * From it:
 *   {"op":"hello","target":{..},"stack":"..","device":"..",   once, when its device is open
 *    "identity":{"uuid":"..","address":"..","partition":".."},
 *    "unwatched":".."}       why nothing tells its clocks and heat; of a GPU alone
 *   {"op":"begin","id":N,"index":I}      the config that is now in flight
 *   {"op":"outcome","id":N,"index":I,"failure":"ok","n":..,"min_ms":..,"median_ms":..,"spread":..,
 *    "error":..,"eval_seconds":..,"detail":"..",
 *    "busy_seconds":..,      that a GPU had work since it was told last
 *    "conditions":{..}}      the device's at that time (schema/store/conditions.h), where they are known
 *   {"op":"evaluated","id":N,"drift":D,"stopped":false,"repeated":false,"busy_seconds":..,
 *    "by_device":true,         results were verified on the device; else "refusal" says why not, "" where
 *    "doubted":false,          no judge was sent; doubted: the device's own reference was wrong
 *    "refusal":".."}
 *   {"op":"failed","id":N,"failure":"..","detail":".."}       the whole request cannot be served
 *   {"op":"cold","load_seconds":S,"first_seconds":S,"second_seconds":S}     or the child ends
 * "begin" and "outcome" of an index come again where it is measured again: the default at the end,
 * and all with a time when the default drifted ("repeated"). The last outcome of an index counts.
 * drift is the default's last median over the one before it, 0 where not measured. "slow" outcomes
 * carry the times they were dropped with. After the outcome "device fault" the child ends by
 * itself, with status 3; configs without an outcome were not touched.
 * A target travels as the object that target_json.h writes.
 */
#ifndef WORKER_PROTOCOL_H
#define WORKER_PROTOCOL_H

#define CHILD_COMMAND       "child" /* hidden first argument */
/* The environment's wish for an eval child: MHz that its GPU's clock is locked at. */
#define LOCK_CLOCKS_SETTING "SKIPJACK_LOCK_CLOCKS"
#define LOCK_CLOCKS_MOST    20000
#define COLD_RUNS_MAX       1000000 /* "runs" of a layer of "cold" */

#endif
