#!/usr/bin/perl
# A problem's best configs are measured once more by a real worker on this machine's own device, also if a worker dies
# meanwhile; report and export take that result.
use strict;
use warnings;
use JSON::PP qw(decode_json);
use lib 'tests/support';
use ScratchProgram qw($program $folder $patience finish sql);
use Test::More;
use Time::HiRes qw(sleep time);

# Returns standard output; asserts the exit status.
sub run {
    my ($expected, @words) = @_;
    my $output = qx(timeout $patience '$program' @words 2>'$folder/errors');
    is $? >> 8, $expected, "'@words[0, 1]' ends with $expected" or diag $output, qx(cat '$folder/errors');
    return $output;
}

my @worker = ('worker', '--embedded', '--sample-seconds', '0.05');

open my $file, '>', "$folder/one.txt" or die $!;
print $file "./bin/MIOpenDriver conv -n 1 -c 16 -k 16 -H 14 -W 14 -p 1 -q 1 -y 3 -x 3 -F 1\n";
close $file;

run(2, 'campaign', 'create', '--target', 'local', '--problems', "$folder/one.txt", '--final-seconds', '-1');
my $id = decode_json(run(0, 'campaign', 'create', '--target', 'local', '--problems', "$folder/one.txt", '--solvers',
                         'ConvDirectNaive,ConvCpuDirect', '--configs', 3, '--final-seconds', 0.5, '--json'))->{id};

# Starts a worker, and waits until it has the second measurement. Returns its id.
sub worker_of_it {
    my (@options) = @_;
    my $began = time;
    my $pid = fork // die $!;
    if ($pid == 0) {
        open STDOUT, '>', "$folder/worker.log" or die $!;
        open STDERR, '>&', \*STDOUT or die $!;
        exec $program, @worker, @options or die $!;
    }
    my $until = time + $patience;
    sleep 0.01 until time > $until || sql("SELECT count(*) FROM finals f WHERE state = 'stored' OR EXISTS (SELECT FROM bundles b"
            . " WHERE b.job_ids[1] = f.job_id AND b.state = 'evaluating' AND b.claimed_at > to_timestamp($began))") > 0;
    return $pid;
}

# A worker is killed while the second measurement is under way: another one goes on. Then the process that measures is.
my $pid = worker_of_it('--lease', 1);
kill 'KILL', $pid;
waitpid $pid, 0;
is sql("SELECT state FROM finals"), 'asked', 'the killed worker stored nothing of it';

$pid = worker_of_it('--until-empty');
my $until = time + $patience;
my @children;
sleep 0.01 until time > $until || (@children = split ' ', qx(pgrep -P $pid -f 'child eval'))
    || sql("SELECT state FROM finals") eq 'stored';
kill 'KILL', @children;
is finish($pid), 0, 'a worker whose measuring process is killed goes on';
is sql("SELECT state FROM finals"), 'stored', 'another worker measured it';
is sql("SELECT state FROM campaigns"), 'done', 'the campaign is done';
is sql("SELECT count(*) FROM results WHERE wins AND low_ms <= median_ms AND median_ms <= high_ms"), 1,
    'one result wins, with an interval around its median';

my $report = decode_json(run(0, 'report', '--campaign', $id, '--json'));
my $row = $report->{problems}[0];
my ($solver, $config) = split /\|/, sql("SELECT s.name, r.config_text FROM results r JOIN jobs j ON j.id = r.job_id"
                                        . " JOIN solvers s ON s.id = j.solver_id WHERE r.wins");
is "$row->{solver} $row->{config}", "$solver $config", 'the report has the winner';
ok $row->{low_ms} <= $row->{time_ms} && $row->{time_ms} <= $row->{high_ms}, 'and the interval';

# The manifest has it, as it is the only winner; so do the history and the page of the problem.
run(0, 'export', '--campaign', $id, '-o', "$folder/first", '--allow-drift');
my ($manifest) = map { decode_json(scalar qx(cat '$_')) } glob "$folder/first/*.export.json";
my $second = $manifest->{second_measurements}[0];
is scalar @{$manifest->{second_measurements}}, 1, 'the manifest lists one second measurement';
is "$second->{solver} $second->{config}", "$solver $config", "the winner's";
ok $second->{low_ms} <= $second->{time_ms} && $second->{time_ms} <= $second->{high_ms}, 'with its interval';
my $sjdb = qx(cat $folder/first/*.sjdb);
like $sjdb, qr/"second_measurements":1/, 'the .sjdb says that its winner was measured a second time';

# The .sjdb has it, too, and so has the library, which lookup asks; also for another config that was measured a second time.
sub entries {
    my ($from) = @_;
    return decode_json(run(0, 'lookup', '--json', glob("$folder/$from/*.sjdb"), "'$second->{problem}'"))->{entries};
}
my %entry = map { $_->{solver} => $_ } @{entries('first')};
is_deeply [map { sprintf '%.6g', $_ } @{$entry{$solver}}{qw(time_ms low_ms high_ms)}],
    [map { sprintf '%.6g', $_ } @{$second}{qw(time_ms low_ms high_ms)}], 'lookup has the interval of the manifest';
is scalar(grep { defined $_->{low_ms} } values %entry),
    sql("SELECT count(DISTINCT job_id) FROM results WHERE low_ms IS NOT NULL"), 'an interval for each that was measured so';
like run(0, 'lookup', glob("$folder/first/*.sjdb"), "'$second->{problem}'"),
    qr/^\* \Q$solver\E .*\n +measured a second time: [0-9.e-]+ to [0-9.e-]+ ms$/m, 'in words, too';
my ($chosen) = @{decode_json(run(0, 'lookup', '--choose', '--json', glob("$folder/first/*.sjdb"),
                                 "'$second->{problem}'"))->{answers}};
is "$chosen->{solver} $chosen->{low_ms}", "$solver $entry{$solver}{low_ms}", 'and so has the answer of --choose';

sql("SELECT gather_history($id, 0, 100)");
my ($night) = @{decode_json(run(0, 'history', "'$second->{problem}'", '--json'))};
is "$night->{solver} $night->{config}", "$solver $config", 'the winner of the night is the same';
ok $night->{second}, 'with the interval of the second measurement' or diag explain $night;
cmp_ok abs($night->{low_ms} / $row->{low_ms} - 1), '<', 1e-3, 'which is the one of the report';

# The other solver seems faster in the stored time, though it lost: the export states the winner's time for it.
sql("UPDATE results SET wins = NOT wins WHERE rank = 0");
run(0, 'export', '--campaign', $id, '-o', "$folder/out", '--allow-drift');
my ($line) = map { chomp; $_ } grep { /=/ } map { qx(cat '$_') } glob "$folder/out/*.fdb.txt";
my @times = $line =~ /:([0-9.e+-]+),/g;
is $times[0], $times[1], "the file names no time in front of the winner's" or diag $line;
unlike $line, qr/=\Q$solver\E:/, 'and the winner first';

# Finals in a row share a process, but not with the searches before them.
open my $list, '>', "$folder/three.txt" or die $!;
print $list "./bin/MIOpenDriver conv -n 1 -c $_ -k 8 -H 6 -W 6 -p 1 -q 1 -y 3 -x 3 -F 1\n" for 3, 4, 5;
close $list;
run(0, 'campaign', 'create', '--target', 'local', '--problems', "$folder/three.txt", '--solvers', 'ConvDirectNaive',
    '--final-seconds', 0.05);
qx('$program' @worker --until-empty --log json --log-level debug 2>'$folder/debug.log');
is $? >> 8, 0, 'a worker does three searches and three finals';
is sql("SELECT count(*) FROM finals WHERE state = 'stored'"), 4, 'all of them';
my @starts = grep { /child_starts/ } split /\n/, qx(cat '$folder/debug.log');
is scalar @starts, 2, 'in two processes' or diag @starts;

done_testing;
