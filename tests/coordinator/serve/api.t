#!/usr/bin/perl
# The API of `serve`: each operation of openapi.json is called on a farm that has measured, and its answer fits its schema.
# Then tokens, changes, refusals of the HTTP server, conditional requests, ranges, paging, and events.
use strict;
use warnings;
use Cwd qw(abs_path);
use Digest::SHA qw(sha256_hex);
use File::Temp qw(tempdir);
use IO::Select;
use IO::Socket::INET;
use JSON::PP;
use Sys::Hostname ();
use Test::More;
use Time::HiRes qw(sleep time);
use lib 'tests/support';
use Exposition qw(samples wait_for);
use OpenApi qw(call misfits operations resolve);
use Patience qw($patience);

my $program = abs_path($ENV{SKIPJACK} // 'build/skipjack');
-x $program or plan skip_all => "$program is not built";
my $folder = tempdir('skipjack-api-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $folder;
$ENV{SKIPJACK_HOME} = "$folder/home";
delete @ENV{qw(SKIPJACK_DB SKIPJACK_LOG SKIPJACK_LOG_LEVEL SKIPJACK_NODE)};
my $json = JSON::PP->new->utf8;
my @serves;
END {
    kill 'KILL', @serves if @serves;
    system "'$program' db stop >/dev/null 2>&1" if $folder;
}

sub read_file {
    my ($path) = @_;
    open my $file, '<', $path or return '';
    local $/;
    return <$file>;
}

sub write_file {
    my ($path, $text) = @_;
    open my $file, '>', $path or die "$path: $!";
    print $file $text;
    close $file;
}

sub run {
    my ($words) = @_;
    is(system("'$program' $words >'$folder/run.out' 2>'$folder/run.err'"), 0, "skipjack $words")
        or diag read_file("$folder/run.err");
}

sub start_serve {
    my ($number, @words) = @_;
    my $pid = fork // die $!;
    if (!$pid) {
        open STDERR, '>', "$folder/serve-$number.log" or die $!;
        exec $program, 'serve', '--listen', '0', @words;
    }
    push @serves, $pid;
    my $at = wait_for(sub { read_file("$folder/serve-$number.log") =~ m{(http://(?:127\.0\.0\.1|0\.0\.0\.0):\d+)} && $1 });
    $at =~ s/0\.0\.0\.0/127.0.0.1/;
    wait_for(sub { my $answer = call($at, 'GET', '/health'); $answer && $answer->{status} == 200 });
    return $at;
}

# ---- A farm that has measured.

my $key = '8-4-10-1x1-24-4-10-1-0x0-1x1-1x1-0-NCHW-FP32-F';
my ($target) = qx('$program' worker --probe --eval local 2>/dev/null) =~ /"id":"([^"]+)"/
    or plan skip_all => 'no device here (PoCL is missing)';
write_file("$folder/problems.txt", "$key\n" . join('', map { "8-$_-10-1x1-24-$_-10-1-0x0-1x1-1x1-0-NCHW-FP32-F\n" } 5 .. 9));
write_file("$folder/one.txt", "$key\n");
write_file("$folder/net.csv", "network,layer,repeat,n,c,h,w,k,r,s\nnet,first,3,1,8,4,10,24,1,1\n");
run("import --network net '$folder/one.txt'");
run("campaign create --final-seconds 0 --target $target --problems '$folder/one.txt' --configs 3 --solvers ConvCpuDirect --name first");
run("worker --embedded --eval local --until-empty --campaign 1 --sample-seconds 0.02");
run("campaign create --final-seconds 0 --target $target --problems '$folder/problems.txt' --configs 4 --solvers ConvCpuGemm --name second");
run("campaign create --final-seconds 0 --target $target --problems '$folder/problems.txt' --configs 4 --solvers ConvCpuBlocked --name third");
run('golden propose --campaign 1 --by ann --allow-drift');
run("golden approve --target $target --by ann 1");
run('db collect');
write_file("$folder/farm.sql", <<"END");
SET search_path = skipjack;
INSERT INTO workers (node, process, target, stack, labels, counts)
VALUES ('busy', 'a', '$target', 's', '{big}', '{"failures": {"9": 2, "0": 30}}'), ('idle', 'b', '$target', 's', '{}', '{}');
INSERT INTO worker_devices (worker_id, place, device, name, target, uuid, address, partition, out_since, out_reason)
SELECT id, 0, '0', 'Card', '$target', 'GPU-1', '', '', now() - interval '1 minute', 'it failed 5 times' FROM workers WHERE node = 'busy';
INSERT INTO workers (node, process, target, stack, beat_at)
SELECT n, 'c', '$target', 's', CASE n WHEN 'silent' THEN now() - interval '1 hour' ELSE now() END FROM unnest('{pair,compiles,full,silent}'::text[]) AS n;
INSERT INTO worker_devices (worker_id, place, device, name, target, uuid, address, partition)
SELECT id, p, p, 'Card', '$target', CASE WHEN node = 'pair' AND p = 1 THEN 'GPU-1' ELSE node || p END, '', '' FROM workers, generate_series(0, 1) AS p WHERE process = 'c';
CREATE TABLE round_conditions_of_1 PARTITION OF round_conditions FOR VALUES IN (1);
INSERT INTO round_conditions SELECT campaign_id, job_id, number, 'GPU-1', 3, 1200, 1410, 877, 877, 63, 210.5, 3, NULL FROM rounds WHERE campaign_id = 1;
WITH best AS (SELECT job_id, (SELECT i FROM results r, unnest(o.median_ms) WITH ORDINALITY AS m(ms, i)
                              WHERE r.campaign_id = 1 AND r.job_id = o.job_id AND r.rank = 0 ORDER BY abs(ms - r.median_ms) LIMIT 1) AS at
              FROM outcomes o WHERE campaign_id = 1)
UPDATE outcomes o SET failures = ARRAY(SELECT CASE WHEN i = b.at THEN 0 WHEN i = b.at % 3 + 1 THEN 9 ELSE 16 END FROM generate_series(1, 3) AS i ORDER BY i),
    details[b.at % 3 + 1] = 'element 7 differs', median_ms[b.at % 3 + 1] = 0 FROM best b WHERE o.campaign_id = 1 AND b.job_id = o.job_id;
INSERT INTO job_faults (campaign_id, job_id, device) SELECT 1, min(id), 'GPU-1' FROM jobs WHERE campaign_id = 1;
UPDATE bundles SET state = 'building', worker_id = (SELECT min(id) FROM workers WHERE node = 'busy'), claim_token = 1,
    fence = nextval('fences'), claimed_at = now(), progress_at = now(), lease_seconds = 600 WHERE id = (SELECT min(id) FROM bundles);
CREATE TEMP TABLE held AS SELECT r.id, w.id AS worker, w.node FROM workers w
JOIN unnest('{pair,compiles,full}'::text[]) WITH ORDINALITY AS n(node, at) ON n.node = w.node
JOIN (SELECT id, row_number() OVER (ORDER BY id) AS at FROM bundles WHERE campaign_id = 3 AND state = 'ready') AS r ON r.at = n.at;
ALTER TABLE bundles DISABLE TRIGGER check_move;
UPDATE bundles b SET state = CASE node WHEN 'compiles' THEN 'building' ELSE 'evaluating' END::job_state, worker_id = worker, claim_token = 1, fence = nextval('fences'),
    claimed_at = now(), progress_at = now(), lease_seconds = 600, job_ids = CASE node WHEN 'full' THEN job_ids || job_ids[1] ELSE job_ids[1:1] END FROM held h WHERE b.id = h.id;
ALTER TABLE bundles ENABLE TRIGGER check_move;
WITH gone AS (DELETE FROM bundles WHERE id IN (SELECT id FROM bundles WHERE state = 'ready' ORDER BY id LIMIT 1) RETURNING campaign_id, job_ids[1] AS job)
INSERT INTO job_ends (campaign_id, job_id, state, rounds, failure, detail, fence) SELECT campaign_id, job, 'failed', 1, 7, 'it hung', 1 FROM gone;
INSERT INTO quarantine (solver_id, problem_id, target, config, failure, detail)
SELECT DISTINCT ON (solver_id) solver_id, problem_id, '$target', '{1}', 7, 'it crashed' FROM jobs;
INSERT INTO events (kind, campaign_id, detail) SELECT 'test line', 1, 'line ' || n FROM generate_series(1, 30) AS n;
INSERT INTO farm_samples SELECT now() - n * interval '30 seconds', 60 * (80 - n), 600 * (80 - n), 0 FROM generate_series(1, 80) AS n;
INSERT INTO nights (name, night, description, deadline, findings) VALUES ('nightly', '2026-01-01', '{}', now() + interval '1 hour', 1);
INSERT INTO night_targets (night_id, target, stack, baseline, plan, judged)
SELECT 1, '$target', '', 1, '{}', jsonb_build_object('findings', jsonb_build_array(jsonb_build_object('problem_id', min(p.id), 'key', 'k',
    'solver', 'ConvCpuDirect', 'kind', 'slower', 'state', 'confirmed', 'against', 'golden', 'scope', 'entry', 'percent', 12.5, 'low', 10,
    'high', 15, 'then_ms', 1.5, 'weight', 3.25, 'now', '{"median_ms": 1.7, "node": "busy"}'::jsonb,
    'causes', '[{"cause": "driver", "evidence": "535 -> 550"}]'::jsonb, 'networks', '[{"network": "net\@1", "ms": 0.2, "percent": 3}]'::jsonb)))
FROM problems p;
INSERT INTO night_campaigns VALUES (1, '$target', false, 1);
INSERT INTO night_jobs (night_id, target, problem_id, solver_id, campaign_id, job_id, reason, fresh, again, detail)
SELECT 1, '$target', problem_id, solver_id, 1, id, 4, false, false, 'ConvCpuDirect r1 -> r2' FROM jobs WHERE campaign_id = 1;
INSERT INTO night_steps (night_id, step, detail) VALUES (1, 'planning', '1 job');
END
run("db psql -q -v ON_ERROR_STOP=1 -f '$folder/farm.sql'");
mkdir "$folder/exports";
mkdir "$folder/exports/v1";
write_file("$folder/exports/v1/a.db", join '', map { chr(33 + $_ % 90) } 0 .. 9999);
write_file("$folder/exports/.hidden", 'secret');
write_file("$folder/secret", 'secret');
symlink "$folder/secret", "$folder/exports/link";
symlink $folder, "$folder/exports/up";
chomp(my $coordinator = qx('$program' db token create ops --role coordinator --days 2 2>/dev/null));
chomp(my $reader = qx('$program' db token create eyes --role reader 2>'$folder/notice'));
like $coordinator, qr/^skipjack_\d+_[-\w]{43}$/, 'a token is printed';
like read_file("$folder/notice"), qr/shown once.*\n\z/, 'its notice is a line of its own';
like qx('$program' db token create ops --role reader 2>&1), qr/there is a token named ops/, 'a name is given once';
is $? >> 8, 1, '... with status 1';
like qx('$program' db token create ops --role boss 2>&1), qr/--role takes reader or coordinator/, 'a role is one of two';
is $? >> 8, 2, '... with status 2';
my $tokens = $json->decode(scalar qx('$program' db token list --json 2>/dev/null));
is join(' ', map { "$_->{name} $_->{role}" } @$tokens), 'eyes reader ops coordinator', 'tokens are listed';
unlike read_file("$folder/home/server.log") . $json->encode($tokens), qr/\Q@{[substr $coordinator, -40]}/, 'without secrets';

my $at = start_serve(1, '--exports', "$folder/exports", '--upkeep', '0', '--host', 'other.example', '--host', 'skipjack.example');
my %bearer = (Authorization => "Bearer $coordinator");

# ---- Each operation fits the description.

my $job = qx('$program' db psql -Atc 'SELECT min(id) FROM jobs WHERE campaign_id = 1');
chomp $job;
my %values = ('/campaigns/{id}/golden' => '', '/golden/{target}/diff' => '?from=0&to=1', '/exports/file' => '?path=v1/a.db', '/usage' => "?target=$target");
my %in_path = (id => 1, job => $job, key => $key, name => 'net', target => $target, night => 1, node => 'busy');
my %body = (campaign_set => '{"priority": 3}', quarantine_clear => '{"target": "none"}');
my %answers;
# Changes come last, and of them the end of a campaign.
sub place {
    my ($operation) = @_;
    return ($operation->[0] ne 'GET') + ($operation->[1] =~ /cancel/);
}
for my $operation (sort { place($a) <=> place($b) } operations()) {
    my ($method, $template, $object) = @$operation;
    my $id = $object->{operationId};
    next if $id eq 'events';
    my %own = $method eq 'GET' ? %in_path : (%in_path, id => $id =~ /^campaign_(cancel|retry)$/ ? 3 : 2);
    my $path = '/api/v1' . ($template =~ s/\{(\w+)\}/$own{$1}/gr) . ($values{$template} // '');
    my $answer = call($at, $method, $path, $method eq 'GET' ? {} : \%bearer, $method eq 'GET' ? undef : $body{$id});
    my ($type) = keys %{$object->{responses}{200}{content}};
    is $answer->{status}, 200, "$id is answered" or diag $answer->{body};
    is $answer->{headers}{'content-type'}, $type, '... with its type';
    next if $type ne 'application/json';
    is join('; ', misfits($object->{responses}{200}{content}{$type}{schema}, $answer->{json})), '', '... and as its schema says' or diag $answer->{body};
    $answers{$id} = $answer->{json};
    next if $method ne 'GET';
    my $wrong = call($at, $method, '/api/v1' . ($template =~ s/\{(\w+)\}/$own{$1}/gr) . '?nonsense=1');
    is "$wrong->{status} $wrong->{headers}{'content-type'}", '400 application/problem+json', '... an unknown parameter is refused';
    is join('; ', misfits(resolve({'$ref' => '#/components/schemas/Problem'}), $wrong->{json})), '', '... with a problem';
}
is_deeply $answers{openapi}, OpenApi::document(), 'the description is served as it is in the tree';

# ---- The answers say what is.

my $first = $answers{campaign};
is "@$first{qw(name state jobs jobs_done)}", 'first done 1 1', 'a campaign';
is_deeply [map { "$_->{reason} $_->{configs}" } @{$first->{outcomes}}], ['ok 1', 'wrong result 1', 'slow 1'], '... with its configs by outcome'
    or diag explain $first->{outcomes};
my ($config) = grep { $_->{failure} eq 'wrong result' } @{$answers{job}{rounds_of}[0]{configs}};
is $config->{detail}, 'element 7 differs', 'a config has its log';
like $config->{replay}, qr/worker --eval local --cold/, '... and the command that repeats it';
(my $replay = $config->{replay}) =~ s/skipjack worker/'$program' worker/;
my $repeated = $json->decode(scalar qx($replay 2>/dev/null) || '{}');
is $? >> 8, 0, '... which runs' or diag $replay;
is $answers{rejections}{items}[0]{config}, $config->{config}, 'it is among the rejected';
my ($busy) = grep { $_->{node} eq 'busy' } @{$answers{nodes}{items}};
is "$busy->{devices}[0]{state}: $busy->{devices}[0]{out_reason}", 'out of service: it failed 5 times', 'a device out of service';
is "@{$busy->{devices}[0]{conditions}{throttle}}", 'heat power cap', '... with its clocks and heat';
my @past = grep { $_->{at_unix} < time - 600 } @{$answers{rates}{points}};
cmp_ok scalar(@past), '>=', 30, 'rates of the time before serve was started are known';
is scalar(grep { abs($_->{jobs} - 2) > 0.5 } @past), 0, '... and right' or diag explain \@past;
my %states = map { $_->{node} => join ', ', map { $_->{state} } @{$_->{devices}} } @{$answers{nodes}{items}};
is_deeply [@states{qw(pair compiles full silent)}], ['idle, busy', 'idle, idle', 'busy, busy', 'lost, lost'],
    'of a worker with less to measure than devices, only the device that handed in is busy';
my ($winner) = grep { $_->{is_winner} } @{$answers{problem}{solvers}};
is $winner->{solver}, 'ConvCpuDirect', 'a problem has its winner';
is $answers{problem}{golden}[0]{solver}, 'ConvCpuDirect', '... and golden\'s';
is scalar(grep { $_->{is_winner} } @{$answers{problem_configs}{items}}), 1, 'one of its configs won' or diag explain $answers{problem_configs};
is scalar(grep { $_->{why} } @{$answers{problem_configs}{items}}), 2, '... the others say why they lost';
is $answers{problem_history}{items}[0]{solver}, 'ConvCpuDirect', 'it has a history';
is "@{$answers{campaign_golden}{counts}}{qw(equal gained lost)}", '1 0 0', 'a campaign against golden';
is $answers{golden_diff}{total}, 1, 'the first golden version is a difference to none';
is $answers{night}{reasons}[0]{reason}, 'solver revision', 'a night has its reasons';
is $answers{night_findings}{items}[0]{detail}, 'driver: 535 -> 550', '... and findings';
is $answers{exports}{items}[0]{path}, 'v1/a.db', 'exports are listed, without links and hidden files';
is scalar(@{$answers{exports}{items}}), 1, '... alone';
is $answers{exports}{items}[0]{sha256}, sha256_hex(read_file("$folder/exports/v1/a.db")), '... with their hash';
is $answers{usage}{solvers}[0]{solver}, 'ConvCpuDirect', 'usage of the golden version';
my $lost = call($at, 'GET', "/api/v1/usage?target=$target&without=each&smallest=5&all_networks=true")->{json};
is "$lost->{without}{rows}[0]{solver} @{$lost->{smallest}{solvers}}", 'ConvCpuDirect ConvCpuDirect', '... and what networks would lose, and the smallest set';
is join(' ', map { $_->{network} } @{$lost->{networks}}), 'net', '... of imported networks' or diag explain $lost->{networks};
is join('; ', misfits(resolve({'$ref' => '#/components/schemas/Usage'}), $lost)), '', '... as the schema says';
is call($at, 'GET', "/api/v1/usage?campaign=1&without=ConvCpuDirect")->{json}{without}{rows}[0]{left}, 1, '... and without one solver';
is $answers{campaign_pause}{done}, 'campaign 2: pause', 'changes say what they did';

# A login that submits work may name a solver as it likes, and people paste the command into a shell.
my $odd = q(a'; echo harm; ');
sub name_solver {
    my ($name, $wanted) = @_;
    write_file("$folder/name.sql", "UPDATE skipjack.solvers SET name = '" . $wanted =~ s/'/''/gr . "' WHERE name = '" . $name =~ s/'/''/gr . "'");
    run("db psql -q -f '$folder/name.sql'");
}
name_solver('ConvCpuDirect', $odd);
my $named = wait_for(sub { sleep 0.2; my $answer = call($at, 'GET', "/api/v1/campaigns/1/jobs/$job")->{json}; $answer->{solver} eq $odd && $answer });
my ($echo) = $named->{rounds_of}[0]{configs}[0]{replay} =~ /^(echo .*) \| skipjack worker/s;
is $json->decode(scalar qx($echo))->{layers}[0]{solver}, $odd, 'a name with quotes stays a part of one word of the command';
name_solver($odd, 'ConvCpuDirect');

# ---- Paging and filters.

my (@lines, $next);
do {
    my $page = call($at, 'GET', '/api/v1/log?kind=test%20line&limit=7' . (defined $next ? "&after=$next" : ''))->{json};
    push @lines, map { $_->{detail} } @{$page->{items}};
    $next = $page->{next};
} while (defined $next);
is_deeply \@lines, [map { "line $_" } reverse 1 .. 30], 'pages are all lines, each once';
is scalar(@{call($at, 'GET', '/api/v1/problems?search=8-7-10')->{json}{items}}), 1, 'a search by a part of the key';
is scalar(@{call($at, 'GET', '/api/v1/problems?network=net')->{json}{items}}), 1, '... by network';
my $jobs = call($at, 'GET', '/api/v1/campaigns/2/jobs?failure=device%20fault')->{json}{items};
is join(' ', map { "$_->{state} $_->{detail}" } @$jobs), 'failed it hung', 'jobs by failure' or diag explain $jobs;
for my $wrong (['/campaigns/0', 400], ['/campaigns/99', 404], ['/campaigns/x', 400], ['/campaigns/1/jobs/99999', 404],
    ['/campaigns?limit=0', 400], ['/campaigns?limit=1001', 400], ['/campaigns?limit=1&limit=2', 400], ['/campaigns?state=gone', 400],
    ['/campaigns/1/jobs?failure=bad%20luck', 400], ['/log?after=x', 400], ['/log?after=1.2', 400],
    ['/log?after=9999999999999999999', 400], ['/campaigns/1/rejections?after=...', 400], ['/campaigns/1/rejections?after=1', 400], ['/problems/nokey', 400],
    ['/problems/8-99-10-1x1-24-99-10-1-0x0-1x1-1x1-0-NCHW-FP32-F', 404], ['/networks/none', 404], ['/nights/9', 404],
    ['/usage', 400], ['/usage?target=gfx90a68', 404], ['/events?topics=all', 400], ['/none', 404], ['/farm/', 404], ['/%zz', 400],
    ['/%00', 400], ['/..%2f..%2fetc', 404], ['/log?kind=%ff', 400], ['/' . 'x' x 5000, 414]) {
    my ($path, $status) = @$wrong;
    my $answer = call($at, 'GET', "/api/v1$path");
    is $answer->{status}, $status, substr "$path is refused with $status", 0, 80;
    ok length($answer->{json}{detail} // '') > 5, '... in words';
}

# ---- The server.

my $index = call($at, 'GET', '/');
is "$index->{status} $index->{headers}{'content-type'}", '200 text/html; charset=utf-8', 'the page is served';
like $index->{headers}{'content-security-policy'}, qr/default-src 'none'.*frame-ancestors 'none'/, 'a browser runs and embeds nothing else';
unlike $index->{headers}{'content-security-policy'}, qr/unsafe|https?:/, '... no inline script, no other host';
is "@{$index->{headers}}{qw(x-content-type-options referrer-policy)}", 'nosniff no-referrer', '... and guesses no type';
ok !exists $index->{headers}{'access-control-allow-origin'}, '... nor may another page read it';
is call($at, 'GET', '/', {'If-None-Match' => $index->{headers}{etag}})->{status}, 304, 'an unchanged file is not sent again';
like call($at, 'GET', '/page/app.js', {'Accept-Encoding' => 'gzip'})->{body}, qr/\A\x1f\x8b/, 'files are sent packed';
my $head = call($at, 'HEAD', '/api/v1/targets');
is "$head->{status} " . length $head->{body}, '200 0', 'HEAD has no body';
my $list = call($at, 'GET', '/api/v1/targets');
is call($at, 'GET', '/api/v1/targets', {'If-None-Match' => "\"x\", $list->{headers}{etag}"})->{status}, 304, 'neither is an unchanged answer';
for my $host ('evil.example', 'evil.example:80', 'localhost.evil.example', '127.0.0.1.evil.example', '[::1', '') {
    is call($at, 'GET', '/api/v1/farm', {Host => $host})->{status}, 421, "a page cannot name the server '$host'";
}
for my $host ('LOCALHOST:9465', '127.0.0.1:1', '10.1.2.3', '[::1]:80', Sys::Hostname::hostname(), 'skipjack.example:443') {
    is call($at, 'GET', '/api/v1/targets', {Host => $host})->{status}, 200, "but it is known as '$host'";
}
my $method = call($at, 'DELETE', '/api/v1/farm');
is "$method->{status} $method->{headers}{allow}", '405 GET, HEAD', 'another method is refused';
is call($at, 'POST', '/api/v1/quarantine/clear', \%bearer, '{"target": "' . 'x' x 20000 . '"}')->{status}, 413, 'so is a long body';
is call($at, 'GET', '/api/v1/farm', {X => 'y' x 9000})->{status}, 431, '... and long headers';
for my $body ('', '{', '[]', '{"a": 1}', '{"target": 1}', '{"target": "a", "target": "b"}', '{"target": "\ud800"}') {
    is call($at, 'POST', '/api/v1/quarantine/clear', \%bearer, $body)->{status}, 400, "the body '$body' is refused";
}
my $file = call($at, 'GET', '/api/v1/exports/file?path=v1/a.db', {Range => 'bytes=100-199'});
is "$file->{status} $file->{headers}{'content-range'}", '206 bytes 100-199/10000', 'a range of a file';
is $file->{body}, substr(read_file("$folder/exports/v1/a.db"), 100, 100), '... has these bytes';
is call($at, 'GET', '/api/v1/exports/file?path=v1/a.db', {Range => 'bytes=-5'})->{body}, substr(read_file("$folder/exports/v1/a.db"), -5), 'its end';
is call($at, 'GET', '/api/v1/exports/file?path=v1/a.db', {Range => 'bytes=10000-'})->{status}, 416, 'none beyond it';
is call($at, 'GET', '/api/v1/exports/file?path=v1/a.db', {Range => 'bytes=0-9', 'If-Range' => '"old"'})->{status}, 200, 'and all of another version';
for my $path ('../secret', '/etc/passwd', 'v1/../../secret', 'link', 'up/secret', '.hidden', 'v1', '', 'v1//a.db', 'v1/a.db/', './v1/a.db') {
    is call($at, 'GET', "/api/v1/exports/file?path=$path")->{status}, 404, "'$path' is no export";
}

# ---- Tokens.

my $change = '/api/v1/campaigns/2/resume';
is call($at, 'POST', $change)->{status}, 401, 'a change needs a token';
is call($at, 'POST', $change, {Authorization => "Bearer $reader"})->{status}, 403, '... of a coordinator';
is call($at, 'POST', $change, {Authorization => 'Basic eDp5'})->{status}, 401, '... as a bearer';
is call($at, 'POST', '/api/v1/campaigns/1/pause', \%bearer)->{status}, 409, 'a state may forbid it';
is call($at, 'GET', '/api/v1/session', {Authorization => "Bearer $reader"})->{json}{role}, 'reader', 'a session has its role';
my $wrong = $coordinator =~ s/.$/substr($coordinator, -1) eq 'A' ? 'B' : 'A'/er;
my @status = map { call($at, 'GET', '/api/v1/session', {Authorization => "Bearer $wrong"})->{status} } 1 .. 8;
is_deeply \@status, [(401) x 5, (429) x 3], 'a wrong token is refused, and soon unread';
is call($at, 'POST', $change, \%bearer)->{status}, 429, '... as is any from there';
is call($at, 'GET', '/api/v1/farm')->{status}, 200, '... but not its reading without one';
like read_file("$folder/serve-1.log"), qr/"token_refused".*127\.0\.0\.1/, 'refusals are logged with the address';
unlike read_file("$folder/serve-1.log"), qr/\Q@{[substr $wrong, -40]}/, '... without the token';
my ($event) = grep { $_->{kind} eq 'changed by API' } @{call($at, 'GET', '/api/v1/log?limit=50')->{json}{items}};
like $event->{detail}, qr/token ops, from 127\.0\.0\.1/, 'changes are in the event log, with who made them';

# ---- Events.

sub listen_to {
    my ($path, $headers) = @_;
    my $socket = IO::Socket::INET->new(PeerAddr => $at =~ s{http://}{}r, Timeout => $patience) or die $!;
    syswrite $socket, "GET $path HTTP/1.1\r\nHost: localhost\r\n" . join('', map { "$_: $headers->{$_}\r\n" } keys %{$headers // {}}) . "\r\n";
    return {socket => $socket, text => ''};
}

# Reads until the text has the pattern.
sub hear {
    my ($listener, $pattern) = @_;
    my $select = IO::Select->new($listener->{socket});
    for (my $end = time + $patience; time < $end;) {
        return $listener->{text} if $listener->{text} =~ $pattern;
        next if !$select->can_read(1);
        sysread($listener->{socket}, $listener->{text}, 65536, length $listener->{text}) or last;
    }
    return;
}

my $listener = listen_to('/api/v1/events');
ok hear($listener, qr/^Content-Type: text\/event-stream\r$/m), 'events are a stream';
ok hear($listener, qr/^event: hello\ndata: \{.*\}\n\n/m), 'which begins with a greeting';
run("db psql -qc \"INSERT INTO skipjack.events (kind, detail) VALUES ('test', 'a new line')\"");
ok hear($listener, qr/^event: log\ndata: .*a new line.*\n\n/m), 'a line of the event log comes';
my ($data) = $listener->{text} =~ /^event: log\ndata: (.*a new line.*)\n\n/m;
is join('; ', misfits(resolve({'$ref' => '#/components/schemas/LogLine'}), $json->decode($data))), '', '... as its schema says';
run('campaign set 2 --priority 9');
ok hear($listener, qr/^event: campaign\ndata: .*"priority":9.*\n\n/m), 'a change of a campaign comes';
($data) = $listener->{text} =~ /^event: campaign\ndata: (.*"priority":9.*)\n\n/m;
is join('; ', misfits(resolve({'$ref' => '#/components/schemas/Campaign'}), $json->decode($data))), '', '... as its schema says';
run("db psql -qc \"INSERT INTO skipjack.workers (node, process, target, stack) VALUES ('late', 'z', '$target', 's')\"");
ok hear($listener, qr/^event: node\ndata: .*"late".*\n\n/m), 'a new node comes';
my ($id) = $listener->{text} =~ /^id: (\S+)\nevent: log/m;
close $listener->{socket};
my $again = listen_to('/api/v1/events?topics=node', {'Last-Event-ID' => $id});
ok hear($again, qr/^event: node\ndata: .*"late".*\n\n/m), 'who comes back gets what was missed';
unlike $again->{text}, qr/^event: (campaign|log|farm|reset)$/m, '... and only the topics asked for';
close $again->{socket};
my $old = listen_to('/api/v1/events', {'Last-Event-ID' => '123-4'});
ok hear($old, qr/^event: reset\ndata: \{\}\n\n/m), 'and is told to read anew where that is not known';
close $old->{socket};

# ---- Limits of an address and of listeners; reading with a token; other machines.

my $tight = start_serve(2, '--rate', '2', '--listeners', '2', '--require-token', '--upkeep', '0');

# An answer that is not about the rate: nobody knows how often serve was asked until it had started.
sub answer_in_time {
    my @request = @_;
    return wait_for(sub { my $answer = call($tight, 'GET', @request); return $answer if $answer->{status} != 429; sleep 0.5; 0 });
}

is answer_in_time('/api/v1/farm')->{status}, 401, 'reading needs a token where serve says so';
is answer_in_time('/')->{status}, 200, '... but not the page';
is answer_in_time('/api/v1/farm', {Authorization => "Bearer $reader"})->{status}, 200, '... a reader\'s will do';

# Listens; nothing where the address asked too often until now.
sub held_listener {
    my $held = IO::Socket::INET->new(PeerAddr => $tight =~ s{http://}{}r) or die $!;
    syswrite $held, "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer $reader\r\n\r\n";
    my $text = '';
    IO::Select->new($held)->can_read($patience) && sysread $held, $text, 65536;
    return $text =~ m{^HTTP/1\.1 200 } && $held;
}

my @held = map { wait_for(sub { sleep 0.3; held_listener() }) } 1 .. 2;
ok wait_for(sub { my $answer = answer_in_time('/metrics'); $answer && $answer->{body} =~ /^skipjack_serve_listeners 2$/m }), 'two listeners';
my $third = answer_in_time('/api/v1/events', {Authorization => "Bearer $reader"});
is $third->{status}, 503, 'a third one is refused';
my @answers = map { call($tight, 'GET', '/health') } 1 .. 30;
ok scalar(grep { $_->{status} == 429 } @answers), 'an address that asks too often is refused';
is scalar(grep { $_->{status} == 200 || $_->{status} == 429 } @answers), 30, '... and nothing else happens to it';
is((grep { $_->{status} == 429 } @answers)[0]{headers}{'retry-after'}, 1, '... with the time to wait');
close $_ for @held;
my $open = start_serve(3, '--listen', '0.0.0.0:0', '--upkeep', '0');
is call($open, 'GET', '/api/v1/session', {Authorization => "Bearer $reader"})->{status}, 403, 'a token is not taken in the clear from other machines';
like read_file("$folder/serve-3.log"), qr/"plain_http".*without TLS/, '... and serve warns';
my $plain = start_serve(4, '--listen', '0.0.0.0:0', '--allow-plain', '--upkeep', '0');
is call($plain, 'GET', '/api/v1/session', {Authorization => "Bearer $reader"})->{status}, 200, '... but where it is allowed';
run('db token remove eyes --yes');
ok wait_for(sub { sleep 0.5; my $answer = call($plain, 'GET', '/api/v1/session', {Authorization => "Bearer $reader"}); $answer->{status} == 401 }),
    'a removed token is refused';
like qx('$program' db token remove eyes --yes 2>&1), qr/there is no token named 'eyes'/, 'and is gone';
like qx('$program' serve --exports '$folder/none' 2>&1), qr/cannot serve exports from/, 'exports that are none';
is $? >> 8, 2, '... are wrong usage';

kill 'TERM', @serves;
for my $pid (splice @serves) {
    waitpid $pid, 0;
    is $?, 0, 'serve ends in order';
}
done_testing;
