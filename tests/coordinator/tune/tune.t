#!/usr/bin/perl
# A real tune of two tiny layers on this machine's own device, with an embedded database: its output files, a second run
# that measures nothing anew, and a tune that goes on after Ctrl-C and after being killed.
use strict;
use warnings;
use JSON::PP qw(decode_json);
use POSIX qw(setpgid :sys_wait_h);
use lib 'tests/support';
use ScratchProgram qw($program $folder $patience finish write_file read_file);
use Test::More;
use Time::HiRes qw(sleep time);

my $quick_pocl = delete $ENV{POCL_EXTRA_BUILD_FLAGS}; # the first tune compiles as users do, unlike most tests

sub start {
    my ($name, @arguments) = @_;
    my $pid = fork // die $!;
    if ($pid == 0) {
        open STDOUT, '>', "$folder/$name.out";
        open STDERR, '>', "$folder/$name.err";
        setpgid(0, 0);
        exec $program, @arguments;
        exit 127;
    }
    return $pid;
}

sub run {
    my ($name, @arguments) = @_;
    my $status = finish(start($name, @arguments));
    diag read_file("$folder/$name.err") if $status != 0;
    return $status;
}

# Waits until the file's content matches the pattern.
sub wait_for {
    my ($path, $pattern) = @_;
    my $deadline = time + $patience;
    until (read_file($path) =~ $pattern) {
        return 0 if time > $deadline;
        sleep 0.05;
    }
    return 1;
}

# Three solvers are enough for this test; the kernels of all would take minutes to compile.
my @solvers = ('--solvers', 'ConvDirectNaive,ConvCpuDirect,ConvImplicitGemm');
my $head = './bin/MIOpenDriver conv -n 1 -H 8 -W 8 -p 1 -q 1 -y 3 -x 3 -F 1';
write_file("$folder/tiny.txt", "$head -c 8 -k 8\n$head -c 16 -k 16\n$head -c 8 -k 8\n");
# --allow-drift: the machine may be busy with other work.
my @tune = ('tune', "$folder/tiny.txt", '--configs', '3', @solvers, '--allow-drift', '-o', "$folder/tiny");

# The report compares the network's times unless noise left some problem's default config without a time.
my $whole_network = qr/^The whole network \(2 problems, 3 layers\):/m;

is run('first', @tune), 0, 'a tune of two layers ends with 0';
$ENV{POCL_EXTRA_BUILD_FLAGS} = $quick_pocl if $quick_pocl;
my $report = read_file("$folder/first.out");
like $report, qr/^ *2 +F 8x8x8 k8 3x3 p1 n1 +Conv/m, 'the report has the layer that runs twice';
like $report, qr/^ *1 +F 16x8x8 k16 3x3 p1 n1 +Conv/m, 'and the other';
like $report, $whole_network, 'and the whole network';
my @next = $report =~ /^  (SKIPJACK_HOME=\S+ \S+ .*?)   # /mg;
is scalar(@next), 3, 'and the next three commands';
like $next[2], qr/--configs 12 /, 'more configs where all of 3 were tried';
$next[2] .= ' --budget 1';
for my $line (@next) {
    is system("$line >'$folder/next.out' 2>&1"), 0, "'$line' works as pasted";
}
like read_file("$folder/first.err"), qr/this takes about \d/, 'it foretells how long it takes';
my ($planned) = read_file("$folder/first.err") =~ /^about \d.* left: jobs 0 of (\d+), kernels 0,/m;
is run('shown', 'campaign', 'show', '1', '--json'), 0, 'its campaign can be shown';
my $jobs = 0;
$jobs += $_->{jobs} for @{decode_json(read_file("$folder/shown.out"))->{jobs}};
is $planned, $jobs, 'and how far it is, of all its jobs';
like read_file("$folder/tiny/report.txt"), $whole_network, 'the report is also a file';
for my $ending ('.HIP.fdb.txt', '.db', '.db.txt') {
    my @files = glob "$folder/tiny/*$ending";
    cmp_ok scalar(@files), '>=', 1, "a file *$ending is there";
}

# A job keeps the code of its four best configs and of the default: of nine configs, four lose their code. This solver
# has more than nine configs for any CPU; solvers whose tiles are vector registers have fewer on CPUs with short
# vectors.
my @many = ('tune', "$folder/tiny.txt", '--configs', '9', '--solvers', 'ConvDirectTiled', '--budget', '0',
    '--allow-drift', '-o', "$folder/many");
is run('many', @many), 0, 'a tune with more configs than are kept';
like read_file("$folder/many.out"), qr/^Dropped [1-9]\d* code objects \(.* that no kept result needs/m,
    'code of configs that lost is dropped';
is run('check', 'export', '--campaign', '1', '--kernels', '--allow-drift', '-o', "$folder/kernels"), 0,
    'and all that was kept can still be exported';

# Changes a result so that it no longer equals what its round verified: export refuses it by name, and exports the rest.
sub claims_runs {
    return system $program, 'db', 'psql', '-qc', "UPDATE results SET n = n $_[0] WHERE job_id ="
        . ' (SELECT min(job_id) FROM results WHERE campaign_id = 1)';
}
is claims_runs('+ 1'), 0, 'a result says that it was run once more';
is run('refused', 'export', '--campaign', '1', '--allow-drift', '-o', "$folder/refused", '--json'), 1, 'to export it ends with 1';
my $exported = decode_json(read_file("$folder/refused.out"));
is_deeply $exported->{refused_by}, {'no verified outcome' => 1}, 'it is counted by its reason';
is $exported->{refused}[0]{why}, 'no verified outcome', 'and named';
cmp_ok $exported->{find_entries}, '>', 0, 'the others are exported';
like read_file("$folder/refused.err"),
    qr/^refused by check: no verified outcome: job \d+, \S+, Conv\w+: no stored round .*^refused for no verified outcome: 1$/ms,
    'as for whoever reads the messages';
is claims_runs('- 1'), 0, 'it says the truth again';

is run('again', @tune), 0, 'the same again ends with 0';
like read_file("$folder/again.err"), qr/is done already/, 'says that it is done';
like read_file("$folder/again.out"), qr/nothing was compiled or measured again/, 'and cost nothing';
is run('json', @tune[0 .. 6], '-o', "$folder/caf\xe9", '--json'), 0, 'and as JSON';
my $json = decode_json(read_file("$folder/json.out"));
like $json->{folder}, qr/caf\x{fffd}$/, 'JSON names the folder, whatever bytes its name has';
is $json->{this_run}{configs_done}, 0, 'JSON says that nothing was measured';
is $json->{totals}{without_winner}, 0, 'each problem has a winner';
is scalar(@{$json->{problems}}), 2, 'two problems are reported';

# A folder with another campaign's files is refused before any work, and replaced when asked.
write_file("$folder/other.txt", "$head -c 8 -k 8\n");
my @other = ('tune', "$folder/other.txt", '--configs', '3', @solvers, '--allow-drift', '-o', "$folder/tiny");
my $before = read_file("$folder/tiny/report.txt");
is run('other', @other), 1, 'a folder with the files of another campaign is refused';
like read_file("$folder/other.err"),
    qr/holds files of another release of \S+, of the campaign 'tiny': .*--replace/, 'the message says whose';
is run('campaigns', 'campaign', 'list', '--json'), 0, 'and no campaign was made';
is scalar(grep { $_->{name} eq 'other' } @{decode_json(read_file("$folder/campaigns.out"))}), 0, 'for nothing';
is read_file("$folder/tiny/report.txt"), $before, 'what is in the folder stays';
is run('replaced', @other, '--replace'), 0, 'with --replace it is taken';
is run('released', 'check', "$folder/tiny"), 0, 'and what lies there then is whole';

# If the output folder cannot be written, tune prints its results and exits with 1.
write_file("$folder/blocked", '');
is run('blocked', @tune[0 .. 6], '-o', "$folder/blocked"), 1, 'a file in the folder\'s place ends with 1';
like read_file("$folder/blocked.err"), qr/blocked': .*name another one with -o/, 'says what to do';
mkdir "$folder/full";
mkdir "$folder/full/report.txt";
is run('full', @tune[0 .. 6], '-o', "$folder/full"), 1, 'a report that cannot be written ends with 1';
like read_file("$folder/full.out"), $whole_network, 'but is shown';
like read_file("$folder/full.err"), qr/kept in the database.*\n  .*skipjack tune/, 'and may be had again';

# A larger campaign, stopped at two points of its work.
write_file("$folder/more.txt", join '', map { "$head -c $_ -k 24\n" } 24, 32, 40);
my @more = ('tune', "$folder/more.txt", '--configs', '4', @solvers, '--allow-drift', '-o', "$folder/more");
my $pid = start('stopped', @more);
ok wait_for("$folder/stopped.err", qr/worked/), 'a longer tune shows progress';
kill 'INT', $pid;
is finish($pid), 130, 'Ctrl-C ends it with 130';
like read_file("$folder/stopped.err"), qr/To go on:\n  SKIPJACK_HOME=\S+ \S*skipjack tune /, 'it says how to go on';

# A closing terminal sends SIGHUP, sometimes twice. tune ends after its worker has ended.
$pid = start('hangup', @more);
ok wait_for("$folder/hangup.err", qr/goes on.*worked/s), 'started again it goes on';
kill 'HUP', $pid;
kill 'HUP', $pid;
is finish($pid), 130, 'SIGHUP ends it with 130';
like read_file("$folder/hangup.err"), qr/stopping: .*To go on:\n/s, 'as Ctrl-C does';
unlike read_file("$folder/hangup.err"), qr/stopping at once/, 'and a second one changes nothing';

# Under nohup tune goes on: it prints another line of progress or its results.
{
    local $SIG{HUP} = 'IGNORE';
    $pid = start('killed', @more);
}
ok wait_for("$folder/killed.err", qr/goes on.*worked/s), 'started by nohup it goes on';
kill 'HUP', $pid;
my $lines = () = read_file("$folder/killed.err") =~ /worked/g;
ok wait_for("$folder/killed.err", qr/(?:worked.*?){@{[$lines + 1]}}|^campaign \d+ is done|^wrote /sm),
    'SIGHUP does not stop it';
unlike read_file("$folder/killed.err"), qr/stopping/, 'and it does not say so';
kill 'KILL', $pid;
waitpid $pid, 0;

is run('last', @more), 0, 'after being killed it goes on to the end';
like read_file("$folder/last.err"), qr/campaign \d+ (goes on|is done)/, 'with the same campaign';
like read_file("$folder/last.out"), qr/^The whole network \(3 problems, 3 layers\):/m, 'and reports';

# A tune that completes its campaign measures once more the configs whose device drifted. Whether the device drifts
# again depends on the machine.
sub psql { return qx('$program' db psql -qAtc "SET search_path = skipjack; $_[0]" 2>/dev/null) =~ s/\n\z//r; }
my ($drifted) = read_file("$folder/many.err") =~ /^campaign (\d+): /m;
psql("UPDATE outcomes SET drift = 1.5 WHERE campaign_id = $drifted");
psql("UPDATE campaigns SET state = 'active' WHERE id = $drifted");
my $rounds = psql("SELECT count(*) FROM outcomes WHERE campaign_id = $drifted");
my $status = finish(start('drifted', grep { $_ ne '--allow-drift' } @many));
ok $status == 0 || $status == 1, 'a tune whose device drifted goes on to the end';
like read_file("$folder/drifted.err"), qr/^\d+ configs in \d+ jobs? .*measured once more/m, 'says that it measures again';
cmp_ok psql("SELECT count(*) FROM outcomes WHERE campaign_id = $drifted"), '>', $rounds, 'and does so';

# A worker that dies is started again. --seed makes this another campaign.
$pid = start('restart', (map { $_ eq '4' ? '2' : $_ } @more), '--seed', '5');
ok wait_for("$folder/restart.err", qr/worked/), 'another tune has its worker';
my ($worker) = split ' ', read_file("/proc/$pid/task/$pid/children");
kill 'KILL', $worker;
is finish($pid), 0, 'a tune whose worker was killed ends with 0';
like read_file("$folder/restart.err"), qr/worker was killed by signal 9 .* \(1 of 5\)/,
    'it says why it started another';

# Watching a campaign without any worker reports that; Ctrl-C ends the watching, not the campaign.
is run('create', 'campaign', 'create', '--target', 'local', '--problems', "$folder/tiny.txt",
    '--configs', '2', '--seed', '9'), 0, 'campaign create ends with 0';
my ($id) = read_file("$folder/create.out") =~ /^(\d+)$/;
$pid = start('watch', 'campaign', 'watch', $id);
ok wait_for("$folder/watch.err", qr/no worker is running.*about .* left: jobs \d+ of/s),
    'watch says that no worker is running';
kill 'INT', $pid;
is finish($pid), 130, 'Ctrl-C ends it with 130';
like read_file("$folder/watch.err"), qr/goes on\..*\n  .*skipjack campaign watch $id$/m,
    'and it says how to watch again';

for my $command (['status'], ['campaign', 'list'], ['campaign', 'show', '1'], ['problems'],
    ['networks'], ['networks', 'tiny'], ['targets'], ['quarantine', 'list'], ['report'],
    ['report', '--rejected'], ['report', '--kernels'], ['report', '--time'], ['report', '--dynamic']) {
    my ($name) = join '-', 'json', @$command;
    is run($name, @$command, '--json'), 0, "'@$command --json' ends with 0";
    my $parsed = eval { decode_json(read_file("$folder/$name.out")) };
    ok $parsed, "'@$command --json' is JSON";
    is run("$name-text", @$command), 0, "'@$command' ends with 0";
}

# The error for an unknown name suggests the command that lists the known ones.
for my $case (
    [qr/no network 'nope'.*skipjack networks/, 'problems', '--network', 'nope'],
    [qr/no campaign 99.*skipjack campaign list/, 'problems', '--campaign', '99'],
    [qr/no problem has the tag 'nope'/, 'problems', '--tag', 'nope'],
    [qr/no campaign 99.*skipjack campaign list/, 'campaign', 'pause', '99'],
    [qr/no campaign 99.*skipjack campaign list/, 'report', '--campaign', '99'],
    [qr/no campaign 99.*skipjack campaign list/, 'report', '--kernels', '--campaign', '99'],
    [qr/no campaign 99.*skipjack campaign list/, 'report', '--rejected', '--campaign', '99'],
    [qr/no campaign 99.*skipjack campaign list/, 'report', '--dynamic', '--campaign', '99'],
    [qr/no network 'nope'.*skipjack networks/, 'report', '--dynamic', '--network', 'nope']) {
    my ($expected, @command) = @$case;
    my $status = finish(start('absent', @command));
    is $status, 1, "'@command' ends with 1";
    like read_file("$folder/absent.err"), $expected, "'@command' says what is missing";
}

done_testing;
