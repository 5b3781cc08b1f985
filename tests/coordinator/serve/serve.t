#!/usr/bin/perl
# An operator's view of a farm: `status` and `serve` show a lost worker, one that failed, one that no campaign admits,
# quarantined configs and failed jobs. `serve`'s health check follows the database as it stops and starts, and only one
# of several `serve`s does the upkeep.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use JSON::PP;
use Test::More;
use lib 'tests/support';
use Exposition qw(get faults samples told documented wait_for);

my $program = abs_path($ENV{SKIPJACK} // 'build/skipjack');
-x $program or plan skip_all => "$program is not built";
my $folder = tempdir('skipjack-serve-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $folder;
$ENV{SKIPJACK_HOME} = "$folder/home";
delete @ENV{qw(SKIPJACK_DB SKIPJACK_LOG SKIPJACK_LOG_LEVEL SKIPJACK_NODE)};
my @serves;
END {
    kill 'KILL', @serves if @serves;
    delete $ENV{SKIPJACK_DB};
    system "'$program' db stop >/dev/null 2>&1" if $folder;
}

sub read_file {
    my ($path) = @_;
    open my $file, '<', $path or return '';
    local $/;
    return <$file>;
}

sub sql {
    my ($statement) = @_;
    open my $file, '>', "$folder/statement.sql" or die $!;
    print $file $statement;
    close $file;
    return system "'$program' db psql -q -v ON_ERROR_STOP=1 -f '$folder/statement.sql' >'$folder/psql.log' 2>&1";
}

sub start_serve {
    my ($number, @words) = @_;
    my $pid = fork // die $!;
    return $pid if $pid;
    open STDERR, '>', "$folder/serve-$number.log" or die $!;
    exec $program, 'serve', '--listen', '0', @words;
}

# ---- A farm.

open my $file, '>', "$folder/problems.txt" or die $!;
print $file "8-$_-10-1x1-24-$_-10-1-0x0-1x1-1x1-0-NCHW-FP32-F\n" for 10 .. 15;
close $file;
my $create = "'$program' campaign create --target cpu-znver4_2 --problems '$folder/problems.txt' --configs 4";
is system("$create --solvers ConvCpuDirect >'$folder/create.log' 2>&1"), 0, 'a campaign'
    or diag read_file("$folder/create.log");
is system("$create --solvers ConvCpuGemm --pool night >'$folder/create.log' 2>&1"), 0, 'and one for a pool';
is sql(<<'END'), 0, 'workers, and what became of jobs' or diag read_file("$folder/psql.log");
SET search_path = skipjack;
INSERT INTO workers (node, process, target, stack, labels, beat_at, drain, counts)
VALUES ('busy', 'a', 'cpu-znver4_2', 's', '{big}', now(), false, '{"failures": {"9": 2, "0": 30}}'),
       ('lost', 'b', 'cpu-znver4_2', 's', '{}', now() - interval '1 hour', false, '{}'),
       ('draining', 'c', 'cpu-znver4_2', 's', '{}', now(), true, '{}'),
       ('ended', 'd', 'cpu-znver4_2', 's', '{}', now() - interval '1 day', false, '{}');
UPDATE workers SET ended_at = now() WHERE node = 'ended';
INSERT INTO events (kind, worker_id, detail) SELECT 'worker failed', id, 'cannot open device 0' FROM workers, generate_series(1, 3) WHERE node = 'ended';
INSERT INTO worker_devices (worker_id, place, device, name, target, uuid, address, partition, out_since, out_reason)
SELECT id, 0, '0', 'Card', 'gfx90a68', 'GPU-1', '', '', now() - interval '1 minute', 'it failed 5 times in a row' FROM workers WHERE node = 'busy';
UPDATE bundles SET state = 'building', worker_id = 1, claim_token = 1, fence = nextval('fences'), claimed_at = now(),
    progress_at = now(), lease_seconds = 60 WHERE id = (SELECT min(id) FROM bundles WHERE campaign_id = 1);
WITH gone AS (DELETE FROM bundles WHERE id IN (SELECT id FROM bundles WHERE campaign_id = 1 AND state = 'ready' ORDER BY id LIMIT 3)
              RETURNING job_ids[1] AS job),
     numbered AS (SELECT job, row_number() OVER (ORDER BY job) AS n FROM gone)
INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, fence)
SELECT 1, job, CASE n WHEN 1 THEN 'done' ELSE 'failed' END::job_state, 1, CASE n WHEN 1 THEN 0 ELSE 7 END, 1 FROM numbered;
SELECT add_spent(1, 30);
INSERT INTO quarantine (solver_id, problem_id, target, config, failure, detail)
SELECT DISTINCT ON (solver_id) solver_id, problem_id, 'cpu-znver4_2', '{1}', 7, 'it crashed' FROM jobs WHERE campaign_id = 1;
INSERT INTO nights (name, night, description, deadline, ended_at, findings)
VALUES ('nightly', '2026-01-01', '{}', now(), now(), 2), ('nightly', '2025-12-31', '{}', now(), now(), 9);
INSERT INTO farm_samples VALUES (now() - interval '100 seconds', 10, 100, 20), (now() - interval '200 seconds', 4, 40, 8);
END

# ---- status

my $status = JSON::PP->new->utf8->decode(scalar qx('$program' status --json 2>'$folder/errors.log'));
is join(' ', map { "$_->{node} $_->{state}" } @{$status->{workers}}), 'busy working draining draining lost lost',
    'workers with their state, and none that ended';
is $status->{workers}[0]{campaigns}, '1', 'what each works on';
is $status->{workers}[0]{labels}, 'big', 'and for which pools';
my ($campaign) = grep { $_->{id} == 1 } @{$status->{campaigns}};
is "@$campaign{qw(jobs jobs_done jobs_failed jobs_open workers)}", '6 1 2 3 1', 'a campaign counts its jobs';
cmp_ok $campaign->{eta_seconds}, '>', 0, 'and tells what is left';
my %failures = map { $_->{reason} => "$_->{jobs} $_->{configs}" } @{$status->{failures}};
is_deeply \%failures, {'device fault' => '2 0', 'wrong result' => '0 2'}, 'failures by reason';
is join('; ', map { "$_->{what} $_->{which} $_->{count}" } @{$status->{out_of_service}}),
    'device busy: 0 Card GPU-1 1; quarantined configs ConvCpuDirect 1; worker failed ended 3; worker lost lost 1', 'what is out of service';
ok scalar(grep { $_->{campaign} == 2 && $_->{reason} =~ /no label night/ } @{$status->{refused}}), 'who is refused, and why';
my %rates = map { $_->{what} => $_->{per_minute} } @{$status->{rates}};
cmp_ok abs($rates{jobs} - 6 / 200 * 60), '<', 0.3, 'rates over the last minutes';
cmp_ok $status->{health}{bytes}, '>', 1e6, 'the database has a size';
is $status->{health}{upkeep_age_seconds}, undef, 'and had no upkeep yet';
my $text = qx('$program' status);
like $text, qr/^At least .* left: 1 of 2 campaigns have no forecast yet\.$/m, 'for people too';
like $text, qr/^$_:$/m, "... $_" for 'Campaigns', 'Failures', 'Workers', 'Refused', 'Out of service', 'Database';
chomp($ENV{SKIPJACK_DB} = qx('$program' db url));
{
    local $ENV{SKIPJACK_DB} = "$ENV{SKIPJACK_DB}&application_name=caf\xe9&password=geheim";
    like qx('$program' status), qr/^Database: (?!.*geheim).*caf%E9/, 'it says of which database, without the password';
    local $ENV{SKIPJACK_DB} = $ENV{SKIPJACK_DB} =~ s/&password.*//r;
    like qx('$program' status --json), qr/^ +"database": ".*caf\xef\xbf\xbd",$/m, 'whatever its name has';
}

# ---- serve

@serves = map { start_serve($_, '--upkeep', '600') } 1, 2;
my @at = map { my $n = $_; wait_for(sub { read_file("$folder/serve-$n.log") =~ m{(http://127\.0\.0\.1:\d+)} && $1 }) } 1, 2;
ok $at[0] && $at[1], 'they say where they listen' or BAIL_OUT read_file("$folder/serve-1.log");
for my $at (@at) {
    is wait_for(sub { ((get($at, '/health'))[0] // 0) == 200 }), 1, 'it is well when the database has answered';
}
(my $code, $text) = get($at[0], '/metrics');
is $code, 200, 'metrics are served';
is join('; ', faults($text)), '', 'in the format, line by line';
my $now = samples($text);
my %expected = (
    'skipjack_jobs{campaign="1",state="failed"}' => 2,
    'skipjack_jobs{campaign="1",state="building"}' => 1,
    'skipjack_jobs_failed{campaign="1",reason="device fault"}' => 2,
    'skipjack_workers{state="lost"}' => 1,
    'skipjack_workers{state="working"}' => 1,
    'skipjack_workers_failed' => 3,
    'skipjack_quarantined_configs{solver="ConvCpuDirect"}' => 1,
    'skipjack_campaign_spent_seconds{campaign="1"}' => 30,
    'skipjack_database_up' => 1,
    'skipjack_night_findings{night="nightly"}' => 2,
    'skipjack_outbox_waiting' => 0,
);
is_deeply {map { $_ => $now->{$_} } keys %expected}, \%expected, 'and say what is';
cmp_ok $now->{'skipjack_workers_refused{campaign="2"}'}, '==', 2, 'who runs and is not admitted is counted';

my $once = wait_for(sub {
    my @runs = map { samples((get($_, '/metrics'))[1] // '')->{skipjack_upkeep_runs_total} // 0 } @at;
    my $last = samples((get($at[0], '/metrics'))[1])->{skipjack_upkeep_last_seconds};
    defined $last && "@runs";
});
like $once // '', qr/^(1 0|0 1)$/, 'upkeep was done once, by one of them';
like read_file("$folder/serve-1.log") . read_file("$folder/serve-2.log"), qr/"event":"upkeep".*in \d/, 'which says what it did';
($code, $text) = get($at[0], '/metrics');
is_deeply told($text), documented('The coordinator'), 'deploy/metrics.md lists just these, with type and labels';

# ---- Without a database.

my $url = delete $ENV{SKIPJACK_DB};
system "'$program' db stop >/dev/null 2>&1";
my $answer = wait_for(sub { my @answer = get($at[0], '/health'); ($answer[0] // 0) == 503 && $answer[1] });
like $answer, qr/\A.*database.*\n\z/, 'it is not well without it, and says why in one line';
my $stale = samples((get($at[0], '/metrics'))[1]);
is "$stale->{skipjack_database_up} " . $stale->{'skipjack_workers{state="lost"}'}, '0 1', 'and tells what it knew last';
system "'$program' db start >/dev/null 2>&1";
ok wait_for(sub { ((get($at[0], '/health'))[0] // 0) == 200 }), 'it is well again with it';
kill 'TERM', @serves;
for my $pid (splice @serves) {
    waitpid $pid, 0;
    is $?, 0, 'it ends in order';
}
my @lines = split /\n/, read_file("$folder/serve-1.log");
is scalar(grep { eval { JSON::PP->new->utf8->decode($_)->{event} } } @lines), scalar(@lines), 'its log is JSON';
unlike read_file("$folder/serve-1.log"), qr/\bpassword=/, 'without passwords';
like qx('$program' serve --upkeep -1 2>&1), qr/--upkeep takes/, 'a period that is none';
is $? >> 8, 2, 'is wrong usage';
like qx('$program' serve --upkeep $_ 2>&1), qr/--upkeep takes/, "and so is $_" for 'nan', '1e300';
like qx('$program' serve --listen here --log text 2>&1), qr/^serve: cannot listen on 'here'/m, 'nor a place';
done_testing;
