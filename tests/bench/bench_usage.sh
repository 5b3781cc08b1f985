#!/bin/sh
# Ten million results in a scratch PostgreSQL, and the seconds of every question of `usage` on them (schema/LOAD.md).
# The results are made in SQL: three targets, 40 campaigns of very different sizes, every solver of the program, the
# networks that come with it, and other problems. BENCH_USAGE_RESULTS=1000000 makes fewer; BENCH_USAGE_KEEP=DIR keeps the
# database in that folder, and takes it from there if it is complete.
set -eu
program=${SKIPJACK:-build/skipjack}
results=${BENCH_USAGE_RESULTS:-10000000}
home=${BENCH_USAGE_KEEP:-$(mktemp -d /tmp/skipjack-bench-XXXXXX)}
mkdir -p "$home"
chmod 0755 "$home"
export SKIPJACK_HOME="$home/home"
export SKIPJACK_DB_SETTINGS="${SKIPJACK_DB_SETTINGS:-shared_buffers=2GB work_mem=64MB max_wal_size=8GB}"
unset SKIPJACK_DB
output="$home/output"

clean_up() {
    "$program" db stop >/dev/null 2>&1 || :
    [ -n "${BENCH_USAGE_KEEP:-}" ] || rm -rf "$home"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

ask() {
    "$program" db psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"
}

# The CPU seconds of this script's commands and of the server's sessions that have ended.
cpu() {
    postmaster=$(head -1 "$SKIPJACK_HOME/postgres/data/postmaster.pid")
    awk '{ ticks += $16 + $17 } END { print ticks / '"$(getconf CLK_TCK)"' }' "/proc/$$/stat" "/proc/$postmaster/stat"
}

# Runs a command and prints how long it took, and the CPU seconds of the command and the server together.
timed() {
    name=$1
    shift
    cpu_begin=$(cpu)
    begin=$(date +%s.%N)
    "$@" >"$output" 2>&1 || { echo "failed: $*"; tail -5 "$output"; exit 1; }
    end=$(date +%s.%N)
    sleep 0.3 # the session ends
    echo "$begin $end $cpu_begin $(cpu)" | awk -v name="$name" '{ printf "%8.2f  %6.2f  %s\n", $2 - $1, $4 - $3, name }'
}

make_results() {
    "$program" import coordinator/networks/*.csv --batch 1,16,64,256 --dtype FP32,FP16,BF16 -q >/dev/null
    "$program" solvers --json >"$home/solvers.json"
    chmod 0644 "$home/solvers.json"
    "$program" solvers --json | tr -d '\n' >"$home/solvers.line"
    ask -v solvers="$(cat "$home/solvers.line")" -v wanted="$results" -f - <<'SQL'
SET search_path = skipjack;
INSERT INTO solvers (provider, name, revision, hash, algorithm, dynamic, tunable)
SELECT s->>'provider', s->>'solver', (s->>'revision')::integer, s->>'hash', s->>'algorithm', (s->>'dynamic')::boolean,
       (s->>'tunable')::boolean
FROM jsonb_array_elements(:'solvers'::jsonb) AS s ON CONFLICT DO NOTHING;
INSERT INTO targets (id, vendor, arch, features, compute_units, memory_gib, local_bytes, max_workgroup, wave_size,
                     vector_bytes, peak_flops, peak_bytes)
SELECT id, 'amd', split_part(id, '_', 1), '', 100, 0, 65536, 1024, 64, 0, 1e13, 1e12
FROM unnest(ARRAY['gfx942_130', 'gfx90a_110', 'gfx1030_36']) AS id ON CONFLICT DO NOTHING;
-- Problems beside the networks': the same layers with other batch sizes and channels.
INSERT INTO problems (kind, direction, spatial_dim, n, c, k, groups, in_size, fil, out_size, pad, stride, dilation, types,
                      casts, layouts, bias, epilogue)
SELECT p.kind, (ARRAY['F', 'B', 'W'])[1 + v % 3], p.spatial_dim, p.n + v, p.c, p.k, p.groups, p.in_size, p.fil,
       p.out_size, p.pad, p.stride, p.dilation, p.types, p.casts,
       CASE WHEN v % 2 = 0 THEN ARRAY['NHWC', 'NHWC', 'NHWC'] ELSE p.layouts END, p.bias, p.epilogue
FROM problems p CROSS JOIN generate_series(1, 24) AS v WHERE p.spatial_dim = 2
ON CONFLICT DO NOTHING;
ANALYZE problems;

CREATE TEMP TABLE shape AS
SELECT (SELECT count(*) FROM problems) AS problems, (SELECT count(*) FROM solvers) AS solvers;

-- A number from 0 to 1 that depends on its arguments alone.
CREATE FUNCTION pg_temp.noise(a bigint, b bigint) RETURNS double precision
LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended(a, b) & 1048575)::double precision / 1048576 $$;

-- The time of a problem with a solver: the problem's work, the solver's strength, and how both suit each other.
CREATE FUNCTION pg_temp.made_ms(problem bigint, solver bigint) RETURNS double precision
LANGUAGE sql IMMUTABLE AS $$
    SELECT 0.02 * exp(5 * pg_temp.noise(problem, 1)) * (1 + 2 * pg_temp.noise(solver, 2))
           * exp(1.2 * pg_temp.noise(problem * 131 + solver, 3)) $$;

-- Campaign number i of 40 has a share of the results that falls as 1 / i; every campaign holds the networks' problems.
CREATE TEMP TABLE wish AS
SELECT i, (:wanted / (SELECT sum(1.0 / (3 + g)) FROM generate_series(1, 40) AS g) / (3 + i))::bigint AS results
FROM generate_series(1, 40) AS i;
DO $do$
DECLARE
    w record;
    made bigint;
    network bigint[] := ARRAY(SELECT DISTINCT problem_id FROM network_layers ORDER BY 1);
BEGIN
    FOR w IN SELECT * FROM wish ORDER BY i LOOP
        INSERT INTO campaigns (name, identity, target, stack, state, strategy, seed, configs_limit, round_configs,
                               budget_seconds, build_only)
        VALUES ('night ' || w.i, 'bench ' || w.i, (ARRAY['gfx942_130', 'gfx90a_110', 'gfx1030_36'])[1 + (w.i - 1) % 3], '', 'active', 'local', 1, 64,
                4, 0, false)
        RETURNING id INTO made;
        PERFORM add_partitions(made);
        -- A third of the solvers serves a problem; about three configs of a job are kept.
        INSERT INTO jobs (campaign_id, problem_id, solver_id, position, priority, multiplicity)
        SELECT made, p.id, s.id, row_number() OVER (), 1, 1
        FROM ((SELECT unnest(network) AS id LIMIT w.results / 20)
              UNION (SELECT q.id FROM problems q ORDER BY pg_temp.noise(q.id, w.i)
                     LIMIT greatest(0, w.results / (SELECT 3 * solvers / 3 FROM shape) - cardinality(network)))) AS p
        CROSS JOIN solvers s
        WHERE pg_temp.noise(p.id, s.id) < 0.33;
        INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, fence)
        SELECT made, j.id, 'done', 4, 0, 0 FROM jobs j WHERE j.campaign_id = made;
        INSERT INTO results
        SELECT made, j.id, r.rank, ARRAY[16, 4, 2], '16,4,2', md5(j.solver_id || ' ' || CASE WHEN s.dynamic THEN 0 ELSE j.problem_id % 20000 END)
               || md5('of'), 'clang 15; driver 6.1', 20, t.ms * 0.98, t.ms, 0.02, 1e-6, 0.4, 0.2, 0, 1e9, r.rank = 1
        FROM jobs j JOIN solvers s ON s.id = j.solver_id
        CROSS JOIN LATERAL generate_series(0, 1 + (j.id % 4)::integer) AS r(rank)
        CROSS JOIN LATERAL (SELECT pg_temp.made_ms(j.problem_id, j.solver_id) * (1 + 0.04 * r.rank)
                            * (0.98 + 0.04 * pg_temp.noise(made, j.problem_id)) AS ms) AS t
        WHERE j.campaign_id = made;
        UPDATE campaigns SET state = 'done' WHERE id = made AND w.i < 40; -- the last one is still worked on
        EXECUTE format('ANALYZE jobs_%s', made);
        EXECUTE format('ANALYZE results_%s', made);
        COMMIT;
    END LOOP;
END $do$;
INSERT INTO kernels (key, file, entry, options, arch, toolchain, toolchain_version, failure, log, seconds, code, code_sha256,
                     built_by, code_place, code_bytes)
SELECT DISTINCT ON (1) md5(s.id || ' ' || CASE WHEN s.dynamic THEN 0 ELSE p END) || md5('of'), 'conv.cl', 'conv', '', 'gfx942',
       'clang', '15', 0, '', 0.2 + 4 * pg_temp.noise(s.id, p), '\x00', '', 0, 0, 8192 + s.id * 512
FROM solvers s CROSS JOIN generate_series(0, 19999) AS p WHERE pg_temp.noise(s.id, p) < 0.5;
INSERT INTO golden_versions (target, version, kind, base, campaign_id, asked, counts, note, proposed_by, approved_by, approved_at)
SELECT c.target, 1, 'propose', 0, c.id, '', '{}', '', 'bench', 'bench', now() FROM campaigns c WHERE c.name = 'night 1';
INSERT INTO golden_rows
SELECT c.target, j.problem_id, s.name, r.rank, 1, NULL, s.id, 1, c.id, j.id, 'new problem', r.config, r.config_text, r.kernel_keys,
       r.stack, r.n, r.min_ms, r.median_ms, r.spread, r.error, r.build_seconds, r.eval_seconds, r.workspace_bytes, r.flops, r.is_default
FROM campaigns c JOIN jobs j ON j.campaign_id = c.id JOIN solvers s ON s.id = j.solver_id
JOIN results r ON r.campaign_id = c.id AND r.job_id = j.id
WHERE c.name = 'night 1' AND r.rank < 2;
VACUUM ANALYZE;
SQL
}

"$program" db start >/dev/null
if [ ! -e "$home/complete" ]; then
    timed "making the results" make_results
    timed "sums of all ended campaigns (once, by upkeep)" ask -c "
        DO \$do\$ BEGIN WHILE skipjack.sum_usage() IS NOT NULL LOOP COMMIT; END LOOP; END \$do\$" \
        -c "VACUUM ANALYZE skipjack.usage_sums"
    touch "$home/complete"
fi
ask -c "SET search_path = skipjack" -c "
    SELECT format('%s results, %s campaigns, %s problems, %s networks, %s solvers', (SELECT count(*) FROM results),
        (SELECT count(*) FROM campaigns), (SELECT count(*) FROM problems), (SELECT count(*) FROM networks),
        (SELECT count(*) FROM solvers))"
largest=$(ask -c "SELECT min(id) FROM skipjack.campaigns")
running=$(ask -c "SELECT max(id) FROM skipjack.campaigns")

echo "load average $(cut -d ' ' -f 1 /proc/loadavg) on $(nproc) cores"
echo " seconds     CPU  question"
# A question of the golden version over all networks.
golden() {
    "$program" usage --golden gfx942_130 --all-networks "$@"
}
timed "golden version, all networks" golden
timed "... by direction, type, layout, revision" golden --by direction,type,layout,revision
timed "... without one solver" golden --without ConvImplicitGemm
timed "... without each solver" golden --without each
timed "... smallest set within 5 %" golden --smallest 5
timed "... never used, naive best" golden --unused --naive
timed "... narrower applicability, conversions" golden --narrow --convert
timed "... cold starts" golden --cold
timed "largest campaign, all networks" "$program" usage --campaign "$largest" --all-networks
timed "... cold starts" "$program" usage --campaign "$largest" --all-networks --cold
timed "largest campaign, its own problems" "$program" usage --campaign "$largest"
timed "... without each solver, smallest set" "$program" usage --campaign "$largest" --without each --smallest 5
timed "... narrower applicability, conversions" "$program" usage --campaign "$largest" --narrow --convert
timed "a running campaign, all networks" "$program" usage --campaign "$running" --all-networks
timed "all campaigns of a target, all networks" "$program" usage --target gfx942_130 --all-networks
timed "... without each solver, smallest set" "$program" usage --target gfx942_130 --all-networks --without each --smallest 5
timed "three campaigns beside golden, by source" "$program" usage --campaign "$largest,$((largest + 3)),$((largest + 6))" \
    --golden gfx942_130 --all-networks --by source
timed "SQL: wins of solvers by type over all campaigns" ask -c "SET jit = off" -c "
    SELECT solver, data_type, count(*), sum(time_ms) FROM skipjack.usage_winners GROUP BY 1, 2 ORDER BY 4 DESC"
