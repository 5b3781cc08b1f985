#!/usr/bin/perl
# Nights go on after anything: a process that is killed at any step, a second one beside it, a deadline, a signal, a step
# that fails. Solvers and workers are those of the simulated year (tests/year).
use strict;
use warnings;
use lib 'tests/support';
use IO::Socket::INET;
use JSON::PP qw(decode_json encode_json);
use Test::More;
use Time::HiRes qw(sleep time);

BEGIN { $ENV{SKIPJACK} = $ENV{SKIPJACK_YEARS} // 'build/skipjack-year' }
use ScratchProgram qw($program $folder $patience run json_of write_file read_file finish);

(my $worker = $program) =~ s/skipjack-year$/year-worker/;
-x $worker or plan skip_all => "$worker is not built";
my $problems = 3;
my %pids;
END { my $status = $?; kill 'KILL', keys %pids; waitpid $_, 0 for keys %pids; $? = $status }

sub sql {
    my ($statement) = @_;
    my ($output, $errors, $status) = run('db', 'psql', '-At', '-c', "\"SET search_path = skipjack; $statement\"");
    die $errors if $status;
    $output =~ s/^SET\n//;
    chomp $output;
    return $output;
}

# Waits until the statement gives the value. Returns what it gave last.
sub await {
    my ($statement, $value) = @_;
    my ($deadline, $given) = (time + $patience, '');
    sleep 0.02 while ($given = sql($statement)) ne $value && time < $deadline;
    return $given;
}

sub begin_process {
    my ($log, @command) = @_;
    my $pid = fork // die $!;
    if (!$pid) {
        %pids = ();
        open STDOUT, '>', $log or die $!;
        open STDERR, '>&', \*STDOUT or die $!;
        exec @command or die $!;
    }
    $pids{$pid} = 1;
    return $pid;
}

sub kill_process {
    my ($pid, $signal) = @_;
    kill $signal, $pid;
    my $status = finish($pid);
    delete $pids{$pid};
    return $status;
}

# ---- the farm

my @workers;
sub stop_workers {
    kill_process($_, 'KILL') for splice @workers;
    sql('UPDATE workers SET ended_at = now() WHERE ended_at IS NULL');
}
sub start_workers {
    my ($revision, $factor, $late) = @_;
    stop_workers() if @workers;
    $ENV{SKIPJACK_YEAR} = "ConvRising=$revision ConvLate=" . ($late ? 1 : 0);
    write_file("$folder/model", "night $revision\nsolver ConvRising $factor\nsolver ConvLate " . ($late // 1) . "\n");
    chomp(my $url = (run('db', 'url'))[0]);
    @workers = map { begin_process("$folder/$_.out", $worker, $url, $_, 'clang 15.0.6', 'hip 6.2; driver 6.10.5',
            "$folder/model") } qw(node1 node2);
    my $deadline = time + $patience;
    sleep 0.02 while time < $deadline && grep { read_file("$folder/$_.out") eq '' } qw(node1 node2);
}

my $inbox = "$folder/inbox";
my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 8) or die "no socket: $!";
my $receiver = fork // die $!;
if (!$receiver) {
    %pids = ();
    while (my $client = $listener->accept) {
        my $length = 0;
        while (defined(my $line = <$client>)) {
            $length = $1 if $line =~ /^content-length: *([0-9]+)/i;
            last if $line =~ /^\r?\n$/;
        }
        read($client, my $body, $length);
        open my $file, '>>', $inbox or die $!;
        print $file "$body\n";
        close $file;
        print $client "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        close $client;
    }
    POSIX::_exit(0);
}
$pids{$receiver} = 1;

my $description = {
    name => 'kept',
    targets => ['gfx90a68'],
    problems => [{network => 'net'}],
    solvers => ['ConvRising', 'ConvFalling', 'ConvSteady'],
    search => {strategy => 'exhaustive', configs => 0, final_seconds => 0}, # its workers make no second measurements
    again => {older_than_days => 0, sample => 0},
    golden => {propose => JSON::PP::true, approve => JSON::PP::true},
    export => {folder => "$folder/releases"},
    report => {folder => "$folder/reports"},
    tell => [{webhook => 'http://127.0.0.1:' . $listener->sockport . '/hooks/s3cret', on => ['regression', 'failure']}],
};
sub describe { write_file("$folder/nightly.json", encode_json({%$description, @_})) }
sub night { my ($date, @more) = @_; return run('run', "$folder/nightly.json", '--night', $date, @more) }
sub begin_night {
    my ($date, $log) = @_;
    return begin_process($log, $program, 'run', "$folder/nightly.json", '--night', $date);
}
sub of_night { my ($date, $what) = @_; return sql("SELECT $what FROM night_rows WHERE night = '$date'") }
# The deadline of the newest night passes: nights and campaigns have whole seconds.
sub end_time {
    my ($date) = @_;
    sql("UPDATE nights SET deadline = date_trunc('second', now()) WHERE night = '$date';"
        . " UPDATE campaigns SET deadline = date_trunc('second', now()) WHERE id = (SELECT max(id) FROM campaigns)");
}
sub steps {
    my ($date) = @_;
    return join ' ', split /\n/, sql("SELECT s.step FROM night_steps s JOIN nights n ON n.id = s.night_id"
        . " WHERE n.night = '$date' ORDER BY s.step");
}

describe();
write_file("$folder/list.txt", join '',
    map { "./bin/MIOpenDriver conv -n 1 -c @{[8 * $_]} -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1\n" } 1 .. $problems);
is((run('import', "$folder/list.txt", '--network', 'net'))[2], 0, 'a network is known');

# ---- night one, followed by a second process that takes over when the first is killed

$ENV{SKIPJACK_YEAR} = 'ConvRising=1 ConvLate=0';
my $first = begin_night('2027-01-10', "$folder/first");
is await("SELECT count(*) FROM campaigns", 1), 1, 'without workers the night waits for its campaign';
is await("SELECT state FROM nights", 'tuning'), 'tuning', 'and tunes';
my $second = begin_night('2027-01-10', "$folder/second");
my $deadline = time + $patience;
sleep 0.05 while time < $deadline && read_file("$folder/second") !~ /follows it/;
like read_file("$folder/second"), qr/process $first works on night kept of 2027-01-10: tuning/,
    'a second process follows the first one';
kill_process($first, 'KILL');
start_workers(1, 1);
is finish($second), 0, 'and takes over when that is killed' or diag read_file("$folder/second");
delete $pids{$second};
is of_night('2027-01-10', "state || ' ' || findings"), 'done 0', 'the night is done';
is sql("SELECT count(*) FROM campaigns"), 1, 'with one campaign';
is sql("SELECT sum(jobs_done) FROM night_rows"), 3 * $problems, 'whose jobs are done';
ok -s "$folder/releases/latest/gfx90a68.HIP.fdb.txt", 'and released';
ok -s "$folder/reports/kept-2027-01-10/report.html", 'and reported';
is sql("SELECT count(*) FROM golden_versions"), 1, 'one golden version is approved';
my ($output, $errors, $status) = night('2027-01-10');
is $status, 0, 'the same night again ends at once';
is sql("SELECT sum(tries) FROM night_steps WHERE step = 'tuning'"), 2, 'and does no step again';

# ---- an empty night

(undef, $errors, $status) = night('2027-01-11');
is $status, 0, 'a night without a reason to work ends well' or diag $errors;
is steps('2027-01-11'), 'planning reporting telling', 'after it has reported that';
is of_night('2027-01-11', 'empty'), 't', 'and is called empty';

# ---- killed at each step, before it begins and before it ends

sql(<<'SQL' =~ s/\n/ /gr);
CREATE TABLE hold (step text, is_end boolean);
CREATE TABLE held (step text, is_end boolean);
CREATE FUNCTION hold_step() RETURNS trigger LANGUAGE plpgsql SET search_path = skipjack, pg_temp AS \$\$
BEGIN
  WHILE EXISTS (SELECT FROM hold h WHERE h.step = NEW.step::text AND h.is_end = (NEW.ended_at IS NOT NULL))
  LOOP PERFORM pg_sleep(0.02); END LOOP;
  RETURN NEW;
END \$\$;
CREATE TRIGGER hold_step BEFORE INSERT OR UPDATE ON night_steps FOR EACH ROW EXECUTE FUNCTION hold_step();
SQL
start_workers(2, 1.4);
my $date = '2027-01-12';
my @missed;
for my $step (qw(planning tuning gathering judging confirming settling proposing exporting reporting telling)) {
    for my $is_end ('false', 'true') {
        sql("INSERT INTO hold VALUES ('$step', $is_end)");
        my $pid = begin_night($date, "$folder/killed");
        # The server is in the trigger: the step begins, or has done its work.
        my $there = await("SELECT count(*) FROM pg_stat_activity WHERE state = 'active'"
            . " AND query LIKE '%" . ($is_end eq 'true' ? 'end' : 'begin') . "_night_step%'"
            . " AND query NOT LIKE '%pg_stat_activity%'"
            . " AND EXISTS (SELECT FROM night_rows WHERE night = '$date' AND state = '$step')", 1);
        my $state = of_night($date, 'state');
        push @missed, "$step $is_end: $there $state" if $there ne 1 || $state ne $step;
        kill_process($pid, 'KILL');
        sql('DELETE FROM hold');
        next if "$step $is_end" ne 'planning true';
        # The jobs end and upkeep gathers their times while no process works on the night.
        is await("SELECT count(*) FROM campaigns WHERE state = 'active'", 0), 0, 'workers go on without it';
        is((run('db', 'collect'))[2], 0, 'and upkeep gathers the history');
    }
}
is "@missed", '', 'a night is killed twice at each of its ten steps';
($output, $errors, $status) = night($date, '--json');
is $status, 1, 'and still ends, red' or diag $errors;
my $shown = decode_json($output);
is "$shown->{state} $shown->{findings}", 'done ' . 2 * $problems,
    'with the slow-downs that it found, against the golden version and against the last night';
is steps($date), 'planning tuning gathering judging confirming settling proposing exporting reporting telling',
    'after all steps';
is sql("SELECT count(*) FROM night_campaigns c JOIN nights n ON n.id = c.night_id WHERE n.night = '$date'"), 1,
    'it made one campaign';
is sql("SELECT count(*) FROM jobs WHERE campaign_id = (SELECT max(id) FROM campaigns)"), $problems,
    'of the jobs of the changed solver';
is sql("SELECT max(n) FROM (SELECT count(*) AS n FROM remeasures WHERE places_until IS NOT NULL GROUP BY job_id) AS r"), 2,
    'each suspect is measured again once on its node and once on another';
is sql("SELECT count(*) FROM golden_versions"), 2, 'there is one more golden version' or diag sql('SELECT * FROM golden_versions');
my @dates = glob "$folder/releases/2027-*";
is scalar(@dates), 2, 'and one more release' or diag "@dates";
my @messages = map { decode_json($_) } split /\n/, read_file($inbox);
my %ids = map { $_->{id} => 1 } @messages;
is scalar(keys %ids), 1, 'one message is sent' or diag read_file($inbox);

is sql("SELECT count(*) FROM nights WHERE description::text LIKE '%s3cret%' OR summary::text LIKE '%s3cret%'"), 0,
    'the secret path of a webhook is not in the rows of nights, which everybody may read';
is scalar(grep { read_file($_) =~ /s3cret/ } glob("$folder/reports/*/* $folder/killed")), 0, 'nor in reports, nor in the log';

# ---- a step that fails is reported, and begins again

describe(export => {folder => "$folder/list.txt/releases"});
start_workers(3, 1.4);
(undef, $errors, $status) = night('2027-01-13');
is $status, 1, 'a night that cannot export ends red';
like $errors, qr/exporting failed: cannot make the folder/, 'and says why';
is of_night('2027-01-13', "state || ' ' || findings"), 'done 1', 'after it was reported';
(undef, $errors, $status) = night('2027-01-13');
is $status, 1, 'the same again fails again';
describe();
(undef, $errors, $status) = night('2027-01-13');
like $errors, qr/ended with exporting failed: it begins again there/, 'once the cause is gone, it begins there again';
is $status, 0, 'and ends well' or diag $errors;
is of_night('2027-01-13', "state || ' ' || findings"), 'done 0', 'with nothing left to find';

# ---- a signal, and a deadline

stop_workers();
$ENV{SKIPJACK_YEAR} = 'ConvRising=4 ConvLate=0';
my $stopped = begin_night('2027-01-14', "$folder/stopped");
await("SELECT state FROM nights WHERE night = '2027-01-14'", 'tuning');
is kill_process($stopped, 'INT'), 130, 'Ctrl-C stops a night';
like read_file("$folder/stopped"), qr/is tuning.*To go on with it:\n.*run .*nightly.json --night 2027-01-14/s,
    'which says how it goes on';
end_time('2027-01-14');
describe(priority => 3);
(undef, $errors, $status) = night('2027-01-14');
is $status, 0, 'after its deadline it goes on with what is there' or diag $errors;
like $errors, qr/the night began with another .*nightly.json': the jobs that it has planned stay/,
    'and says that its description was changed meanwhile';
describe();
like $errors, qr/the deadline has passed/, 'and says so';
is of_night('2027-01-14', 'jobs_unfinished'), $problems, 'its jobs are unfinished';
start_workers(4, 1.4);
my $plan = json_of('run', "$folder/nightly.json", '--night', '2027-01-15', '--dry-run');
is join(' ', map { "$_->{reason}: $_->{pairs}" } grep { $_->{action} ne 'nothing' } @{$plan->{targets}[0]{reasons}}),
    "solver revision: $problems", 'the next night has them again';
(undef, $errors, $status) = night('2027-01-15');
is $status, 0, 'and does them' or diag $errors;
is of_night('2027-01-15', 'jobs_done'), $problems, 'all of them';
is sql("SELECT count(*) FROM campaigns WHERE state = 'cancelled'"), 1, 'the campaign that was cut short has ended';

# ---- lists

my $list = json_of('nights', 'list', '--name', 'kept');
is join(' ', map { $_->{night} } @$list), '2027-01-15 2027-01-14 2027-01-13 2027-01-12 2027-01-11 2027-01-10',
    'nights are listed, the newest first';
my $jobs = json_of('nights', 'jobs', '2027-01-12');
is join(' ', map { "$_->{solver} $_->{reason} $_->{state}" } @$jobs),
    join(' ', ('ConvRising solver revision done') x $problems), 'the jobs of one, with their reasons';
is scalar(@{json_of('nights', 'jobs', 'latest', '--state', 'failed')}), 0, 'those in a state';
is json_of('nights', 'show', 'latest')->{night}, '2027-01-15', 'the latest one is shown';
like((run('nights', 'show', '2027-01-12'))[0], qr/telling .*\n.*golden: version/, 'so is one of a date');
is((run('nights', 'show', '2020-01-01'))[2], 1, 'a night that never was is not found');
like((run('nights', 'show', 'nobody'))[1], qr/NIGHT is an id, a date .*, or latest, not 'nobody'/, 'the forms of NIGHT are named');
is((run('nights', 'jobs', 'latest', '--target', 'gfx90'))[2], 2, 'jobs of a target that none can be are wrong usage');
is((run('nights', 'jobs', 'latest', '--reason', 'boredom'))[2], 2, 'an unknown reason is wrong usage');

{
    local $ENV{SKIPJACK_DB} = 'postgresql://127.0.0.1:1/none';
    is((night('2027-01-16'))[2], 3, 'a night without its database is not done: timers start it again');
    is((night('2027-01-16', '--dry-run'))[2], 1, 'a plan without it fails');
}

# ---- a slow-down that the deadline leaves unconfirmed is found by the next night, though the golden version has it by now

start_workers(5, 2.5);
sql("INSERT INTO hold VALUES ('confirming', false)");
my $late = begin_night('2027-01-16', "$folder/late");
is await("SELECT state FROM nights WHERE night = '2027-01-16'", 'confirming'), 'confirming', 'a night has suspects';
end_time('2027-01-16');
kill_process($late, 'KILL');
sql('DELETE FROM hold');
is((night('2027-01-16'))[2], 0, 'which it cannot measure again before its deadline');
$plan = json_of('run', "$folder/nightly.json", '--night', '2027-01-18', '--dry-run');
is join(' ', map { "$_->{reason}: $_->{pairs}" } grep { $_->{action} ne 'nothing' } @{$plan->{targets}[0]{reasons}}),
    "suspect: $problems", 'the next night measures them again';
describe(report => {folder => "$folder/list.txt/reports"}, problems => [{file => 'missing.txt'}]);
is((night('2027-01-17'))[2], 1, 'even if a night between them fails');
is of_night('2027-01-17', "state || ' ' || findings"), 'done 2', 'one that can neither plan nor report ends red';
describe();
(undef, $errors, $status) = night('2027-01-18');
is $status, 1, 'and confirms them' or diag $errors;
is of_night('2027-01-18', 'findings'), $problems, 'all of them';

# ---- a gain in the backfill is measured again, too

describe(solvers => ['ConvRising', 'ConvFalling', 'ConvSteady', 'ConvLate'], tell => []);
start_workers(5, 2.5, 0.3);
(undef, $errors, $status) = night('2027-01-19');
is $status, 0, 'a night with a new solver ends well' or diag $errors;
my $found = decode_json(sql("SELECT t.judged FROM night_targets t JOIN nights n ON n.id = t.night_id WHERE n.night = '2027-01-19'"));
is join(' ', sort map { "$_->{solver} $_->{kind} $_->{state}" } grep { $_->{against} eq 'last night' } @{$found->{findings}}),
    join(' ', ('ConvLate faster confirmed') x $problems), 'whose gain is confirmed' or diag $errors;

done_testing;
