#!/usr/bin/perl
# Too short times are replaced, with a real worker on this machine's own device. `campaign remeasure` measures them
# again, also if a worker dies meanwhile. A golden version with such a time gets the time measured again beside the
# campaign's winner. The test divides times by 50 in the database, as if a measurement had been wrong.
use strict;
use warnings;
use JSON::PP qw(decode_json);
use lib 'tests/support';
use ScratchProgram qw($program $folder $patience sql);
use Test::More;
use Time::HiRes qw(sleep time);


# Returns standard output; asserts the exit status.
sub run {
    my ($expected, @words) = @_;
    my $output = qx(timeout $patience '$program' @words 2>'$folder/errors');
    is $? >> 8, $expected, "'@words[0, 1]' ends with $expected" or diag $output, qx(cat '$folder/errors');
    return $output;
}

my @worker = ('worker', '--embedded', '--until-empty', '--sample-seconds', '0.05');

# On a busy machine the times' spread can be so wide that any two times agree within it, so it is limited to 10 %.
sub work {
    run(0, @worker);
    sql("UPDATE results SET spread = 0.1 WHERE spread > 0.1");
}

sub make_campaign {
    my ($solvers, $seed) = @_;
    my $id = decode_json(run(0, 'campaign', 'create', '--target', 'local', '--problems', "$folder/one.txt",
                             '--solvers', $solvers, '--configs', 3, '--seed', $seed, '--json'))->{id};
    work();
    return $id;
}

# Divides the naive solver's times by 50. Other solvers are so fast that a fiftieth of their times would be refused as
# impossible.
sub make_lucky {
    my ($id) = @_;
    my $where = "WHERE campaign_id = $id AND job_id IN (SELECT j.id FROM jobs j JOIN solvers s"
        . " ON s.id = j.solver_id AND s.name = 'ConvDirectNaive')";
    sql("UPDATE outcomes SET min_ms = ARRAY(SELECT t / 50 FROM unnest(min_ms) AS t),"
        . " median_ms = ARRAY(SELECT t / 50 FROM unnest(median_ms) AS t) $where");
    sql("UPDATE results SET min_ms = min_ms / 50, median_ms = median_ms / 50 $where");
    return sql("SELECT median_ms FROM results $where");
}

open my $file, '>', "$folder/one.txt" or die $!;
print $file "./bin/MIOpenDriver conv -n 1 -c 16 -k 16 -H 14 -W 14 -p 1 -q 1 -y 3 -x 3 -F 1\n";
close $file;

# ---- a campaign is measured again ----

my $id = make_campaign('ConvDirectNaive,ConvCpuDirect', 1);
my $lucky = make_lucky($id);
run(0, 'db', 'collect', '--keep-code', 0);
sql("UPDATE kernels SET code = NULL, code_place = NULL WHERE file <> 'judge.cl'"); # all code is lost
my $configs = sql("SELECT count(*) FROM results WHERE campaign_id = $id");
my $told = decode_json(run(0, 'campaign', 'remeasure', $id, '--dry-run', '--json'));
is "$told->{asked} $told->{jobs}", '0 2', 'a dry run says how many jobs, and asks for nothing';
is $told->{winners} + $told->{defaults}, $configs, 'and how many configs';
is sql("SELECT state FROM campaigns WHERE id = $id"), 'done', 'nothing has changed';
like run(0, 'campaign', 'remeasure', $id), qr/measures 2 jobs again: \d+ configs of winners/, 'it is asked for';
like run(0, 'campaign', 'remeasure', $id), qr/already: nothing more is asked for/, 'once';
like run(0, 'campaign', 'remeasure', $id, '--dry-run'), qr/measures 2 jobs again already/, 'and a dry run says so';

# The first worker is killed while it measures.
my $pid = fork // die $!;
if ($pid == 0) {
    open STDERR, '>', "$folder/worker.log";
    exec $program, @worker[0 .. 2], '--sample-seconds', '5';
    exit 127;
}
my $deadline = time + $patience;
sleep 0.05 until time > $deadline
    || sql("SELECT count(*) FROM bundles WHERE state = 'evaluating'") > 0;
kill 'KILL', $pid;
waitpid $pid, 0;
is sql("SELECT count(*) FROM job_ends WHERE state = 'done'"), 2, 'when its worker dies a job stays as it ended';
run(0, @worker);
is sql("SELECT state FROM campaigns WHERE id = $id"), 'done', 'another worker goes on to the end';
is sql("SELECT count(*) FROM outcomes WHERE campaign_id = $id AND number = 1 AND NOT is_open"), 2,
    'each job had one more round';
is sql("SELECT count(*) FROM outcomes WHERE campaign_id = $id AND number = 0"), 2, 'the old outcomes stay';
cmp_ok sql("SELECT min(median_ms) FROM results r JOIN jobs j ON j.id = r.job_id JOIN solvers s ON s.id = j.solver_id"
    . " WHERE s.name = 'ConvDirectNaive'"), '>', 5 * $lucky, 'the naive solver has a true time again';
run(2, 'campaign', 'remeasure', $id, '--what', 'losers');
run(1, 'campaign', 'remeasure', 99);

# ---- golden ----

sub propose {
    my ($expected, $id, @more) = @_;
    return decode_json(run($expected, 'golden', 'propose', '--campaign', $id, '--allow-drift', '--json', @more));
}

make_lucky($id);
is propose(0, $id)->{version}, 1, 'a campaign with lucky times becomes golden';
run(0, 'golden', 'approve');
run(0, 'campaign', 'drop', $id);
$id = make_campaign('ConvDirectNaive', 2);
my $proposal = propose(1, $id);
is $proposal->{version}, undef, 'a later one disagrees, and nothing can be approved';
is $proposal->{not_taken}{unconfirmed}, 1, 'it is unconfirmed';
cmp_ok $proposal->{to_remeasure}, '>=', 1, 'and to be measured again';
run(1, 'golden', 'approve');
run(2, 'golden', 'propose', '--campaign', $id, '--remeasure', '--allow-unconfirmed');
cmp_ok propose(0, $id, '--remeasure')->{remeasure}{asked}, '>=', 1, 'workers are asked to';
work();
$proposal = propose(0, $id);
is $proposal->{version}, 2, 'then it is proposed';
is $proposal->{taken}{confirmed}, 1, 'as confirmed';
my ($row) = grep { $_->{solver} eq 'ConvDirectNaive' } @{$proposal->{rows}};
cmp_ok $row->{new_ms}, '>', 5 * $row->{old_ms}, 'the truth wins, although it is slower';
run(0, 'golden', 'approve');
is propose(0, $id)->{version}, undef, 'and there is nothing more to say';

done_testing;
