#!/usr/bin/perl
# `report --dynamic`: the run time that dynamic kernels cost, for two tiny layers that are tuned and started cold on
# this machine's own device.
use strict;
use warnings;
use JSON::PP qw(decode_json);
use POSIX qw(setpgid :sys_wait_h);
use lib 'tests/support';
use ScratchProgram qw($program $folder run json_of);
use Test::More;
use Time::HiRes qw(sleep time);

my (undef, $errors, $status) = run('report', '--dynamic');
is $status, 1, 'without a campaign it ends with 1';
like $errors, qr/no campaign of this farm's own yet; skipjack tune/, 'and says what to do';

my $head = './bin/MIOpenDriver conv -n 1 -H 8 -W 8 -p 1 -q 1 -y 3 -x 3 -F 1';
open my $file, '>', "$folder/net.txt" or die $!;
print $file "$head -c 8 -k 8\n$head -c 16 -k 16\n$head -c 8 -k 8\n";
close $file;
my @tune = ('tune', "$folder/net.txt", '--configs', '2', '--final-seconds', '0', '--allow-drift', '-o', "$folder/out");

run(@tune, '--solvers', 'ConvDirectNaive');
my $report = json_of('report', '--dynamic');
is_deeply $report->{forms}, {static => 0, dynamic => 2, partial => 0}, 'the naive solver is dynamic';
is_deeply [grep { /static solver was measured.*--solvers \S*ConvCpuDirect/ } @{$report->{notes}}],
    [$report->{notes}[0]], 'a form without results is named, with what measures it';

run(@tune, '--solvers', 'ConvCpuDirect');
$report = json_of('report', '--dynamic', '--cold');
is scalar(@{$report->{campaigns}}), 2, 'campaigns of one target are taken together';
is scalar(@{$report->{networks}}), 1, 'a network of the file';
my $net = $report->{networks}[0];
is "$net->{problems} $net->{layers}", '2 3', 'with its problems and layers';
my %policies = %{$net->{policies}};
is join(' ', sort keys %policies), 'dynamic mixed partial static', 'and the four policies';
is $policies{static}{covered}, 2, 'all problems have a static config';
is $policies{partial}{covered}, 0, 'and none a partly specialised one';
cmp_ok $policies{static}{kernels}, '>=', 2, 'a static kernel serves one problem';
cmp_ok $policies{mixed}{run_ms}, '<=', $policies{dynamic}{run_ms} * 1.000001,
    'mixed is no slower than dynamic';
for my $name (sort keys %policies) {
    my ($policy, $cold) = ($policies{$name}, $policies{$name}{cold});
    cmp_ok $policy->{bytes}, '>', 1000, "$name: kernels have bytes";
    cmp_ok $policy->{compile_seconds}, '>', 0, "$name: and took time to compile";
    is $cold->{kernels}, $policy->{kernels}, "$name: all were compiled for the cold start";
    cmp_ok $cold->{bytes}, '>', 1000, "$name: to code";
    cmp_ok $cold->{$_}, '>', 0, "$name: $_ were measured"
        for qw(compile_seconds load_seconds first_seconds second_seconds);
}
my %parameters = map { $_->{parameter} => $_ } @{$report->{parameters}};
is $parameters{channels}{values}, 2, 'two values of channels';
is $parameters{filter}{compilations}, 1, 'one of the filter';
is $report->{kinds}, 1, 'one kernel would do with nothing compiled in';

# The space's last parameters vary fastest, and they decide what is compiled in: its first configs differ in that.
run('tune', "$folder/net.txt", '--configs', '5', '--final-seconds', '0', '--allow-drift', '--strategy', 'exhaustive', '-o', "$folder/out",
    '--solvers', 'ConvImplicitGemmPartial');
$report = json_of('report', '--dynamic');
is $report->{networks}[0]{policies}{partial}{covered}, 2, 'a partly specialised config for each';
%parameters = map { $_->{parameter} => $_ } @{$report->{parameters}};
ok $parameters{$_}{choice}, "$_ is a choice" for qw(filter conv channels image batch);
for my $name (qw(image batch)) {
    is $parameters{$name}{problems}, 2, "$name: the gain of both problems";
    is $parameters{$name}{pairs}, 4, 'from the pairs among them';
    cmp_ok $parameters{$name}{gain}, '>', 0, 'is a factor';
}

my ($output) = run('report', '--dynamic', '--within', '1e9');
like $output, qr/^net\S* +mixed +2 of 2 +0 +2 +0 /m, 'whatever is close, the dynamic kernels stay';
is scalar(grep { length > 120 } split /\n/, $output), 0, 'lines are short';

for my $case (
    [qr/reports of their own/, '--kernels', '--rejected'],
    [qr/reports of their own/, '--dynamic', '--rejected'],
    [qr/belong to --dynamic/, '--cold'],
    [qr/belong to --dynamic/, '--within', '10'],
    [qr/belong to --dynamic/, '--compile-share', '0.5'],
    [qr/--within takes a percentage/, '--dynamic', '--within', '-1'],
    [qr/--within takes a percentage/, '--dynamic', '--within', 'nan'],
    [qr/--compile-share is a part/, '--dynamic', '--compile-share', '2']) {
    my ($expected, @arguments) = @$case;
    (undef, $errors, $status) = run('report', @arguments);
    is $status, 2, "'report @arguments' is wrong usage";
    like $errors, $expected, 'and says why';
}

# ---- campaigns whose results are added up

sub forms { return json_of('report', '--dynamic', map { ('--campaign', $_) } @_)->{forms} }

run(@tune, '--solvers', 'ConvDirectNaive', '--seed', '7');
is_deeply forms(1, 4), forms(1), 'results that a campaign took over count once';
$report = json_of('report', '--dynamic', '--campaign', '1', '--campaign', '1');
is_deeply $report->{campaigns}, [1], 'as does a campaign that is named twice';
is_deeply $report->{forms}, forms(1), 'and its results';

run('campaign', 'create', '--target', 'gfx90a68', '--problems', "$folder/net.txt", '--build-only');
run('campaign', 'create', '--target', 'gfx90a68', '--problems', "$folder/net.txt");
$report = json_of('report', '--dynamic');
like $report->{target}, qr/^cpu-/, 'a campaign without results does not choose the target';

sub sql { system $program, 'db', 'psql', '-qc', $_[0] and die "'$_[0]' failed" }

sql("UPDATE campaigns SET stack = 'another' WHERE id = 2");
(undef, $errors, $status) = run('report', '--dynamic', '--campaign', '1', '--campaign', '2');
is $status, 2, 'campaigns of two stacks are refused';
like $errors, qr/campaign 2 is for cpu-\S+ \(another\), others for/, 'and both are named';

# ---- a cold start (compiling included) that is stopped early

# Stops the program with Ctrl-C when its output matches the pattern. Returns standard output and exit status.
sub stopped_at {
    my ($pattern, @arguments) = @_;
    my $pid = fork // die $!;
    if ($pid == 0) {
        open STDOUT, '>', "$folder/stopped.out";
        open STDERR, '>', "$folder/errors";
        setpgid(0, 0);
        exec $program, @arguments;
        exit 127;
    }
    my ($deadline, $words, $ended) = (time + 300, '', 0);
    until ($words =~ $pattern || time > $deadline) {
        open my $file, '<', "$folder/errors";
        $words = join '', <$file> if $file;
        sleep 0.02;
    }
    kill 'INT', $pid;
    sleep 0.05 until ($ended = waitpid $pid, WNOHANG) || time > $deadline;
    my $status = $? >> 8;
    kill 'KILL', $pid if !$ended;
    open my $file, '<', "$folder/stopped.out" or die $!;
    return (join('', <$file>), $status);
}

mkdir "$folder/tmp";
sql("UPDATE campaigns SET stack = (SELECT stack FROM campaigns WHERE id = 1) WHERE id = 2");
{
    local $ENV{TMPDIR} = "$folder/tmp";
    my ($text, $ended) =
        stopped_at(qr/cold start of \S+, dynamic/, 'report', '--dynamic', '--cold', '--json');
    is $ended, 130, 'Ctrl-C during the cold starts ends with 130';
    my %of = %{decode_json($text)->{networks}[0]{policies}};
    cmp_ok $of{static}{cold}{first_seconds}, '>', 0, 'what was measured is shown';
    is $of{mixed}{cold}, undef, 'and what was not, is not';
    is_deeply [glob "$folder/tmp/*"], [], 'no file is left behind';
}

sql("UPDATE results SET config_text = '0,0' WHERE job_id IN (SELECT j.id FROM jobs j JOIN solvers s"
    . " ON s.id = j.solver_id WHERE s.name = 'ConvCpuDirect')");
my ($text);
($text, $errors, $status) = run('report', '--dynamic', '--cold', '--json');
is $status, 1, 'a cold start that fails ends with 1';
$report = decode_json($text);
%policies = %{$report->{networks}[0]{policies}};
is $policies{static}{cold}, undef, 'without its times';
cmp_ok $policies{dynamic}{cold}{first_seconds}, '>', 0, 'and with those of the others';
is scalar(grep { /static: no cold start: / } @{$report->{notes}}), 1, 'a note says so';
like $errors, qr/^worker: cannot use .*layer \d: .*ConvCpuDirect/m, 'and the worker says why';

# ---- solvers of another program

sql("UPDATE solvers SET name = 'ConvElsewhere' WHERE name = 'ConvCpuDirect'");
cmp_ok json_of('report', '--dynamic')->{forms}{static}, '>', 0,
    'results of solvers that are not here count';
$report = json_of('report', '--dynamic', '--cold');
is $report->{forms}{static}, 0, 'but not where they have to be compiled';
is scalar(grep { /solvers that this program does not carry are left out/ } @{$report->{notes}}), 1,
    'which is said';
sql("UPDATE solvers SET revision = revision + 100 WHERE name <> 'ConvElsewhere'");
(undef, $errors, $status) = run('report', '--dynamic', '--campaign', '1');
is $status, 1, 'where all is of other revisions there is nothing to report';
like $errors, qr/not this program's: 2 results are of other revisions.*skipjack tune/, 'and why';

# ---- a damaged problem

sql("UPDATE problems SET direction = 'X'");
(undef, $errors, $status) = run('networks', 'net');
is $status, 1, 'a network whose layers cannot be read is no success';
like $errors, qr/direction/, 'and it is said why';

done_testing;
