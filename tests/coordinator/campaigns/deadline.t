#!/usr/bin/perl
# Deadlines of campaigns: what `tune` does when a deadline passes, what `campaign set` changes, and that a worker begins
# no job after the deadline and gives back the jobs that it holds.
use strict;
use warnings;
use lib 'tests/support';
use ScratchProgram qw($folder run json_of);
use Test::More;
use Time::HiRes qw(sleep);

open my $file, '>', "$folder/net.txt" or die $!;
print $file "./bin/MIOpenDriver conv -n 1 -c $_ -H 16 -W 16 -k 16 -y 3 -x 3 -p 1 -q 1 -F 1\n"
    for 8, 16, 24, 32;
close $file;

# ---- tune: it ends at the deadline with the results so far, and a later run goes on

my ($output, $errors, $status) =
    run('tune', "$folder/net.txt", '--deadline', '2s', '--json', '-o', "$folder/out");
is $status, 1, 'tune past its deadline fails where problems have no winner' or diag $errors;
like $errors, qr/the deadline has passed and \d+ of \d+ jobs are not done/, 'and says why it ends';
my $report = JSON::PP::decode_json($output);
is $report->{state}, 'overdue', 'so does the state of the campaign';
is $report->{totals}{problems}, 4, 'the report names all problems';
ok -s "$folder/out/report.txt", 'and is written';
like $errors, qr/To go on:\n.*tune (?!.*--deadline)/, 'the command to go on has no deadline';
my $id = $report->{campaign};

sub shown { return json_of('campaign', 'show', $id) }

# ---- campaign set

for my $case (['--deadline', 'yesterday'], ['--deadline', '2020-01-01T00:00'], ['--budget', '-1'],
    ['--budget', 'nan'], ['--name', "''"], ['--share', '0'], []) {
    (undef, $errors, $status) = run('campaign', 'set', $id, @$case);
    is $status, 2, "campaign set @$case: wrong usage" or diag $errors;
}
(undef, $errors, $status) =
    run('campaign', 'set', $id, '--deadline', '1h', '--budget', '700', '--name', 'night');
is $status, 0, 'its deadline, budget and name are set' or diag $errors;
my $now = shown();
is "$now->{state} $now->{name} $now->{budget_seconds}", 'active night 700', 'so that it goes on';
cmp_ok $now->{deadline_unix}, '>', time + 3000, 'until then';
run('campaign', 'set', $id, '--deadline', 'none');
ok !shown()->{deadline_unix}, 'a deadline may be removed';

# ---- watch and resume

run('campaign', 'pause', $id);
run('campaign', 'set', $id, '--deadline', '1s');
sleep 1.2 while (json_of('campaign', 'list')->[0]{deadline_unix} > time);
(undef, $errors) = run('campaign', 'resume', $id);
like $errors, qr/its deadline has passed, so nothing of it is begun/, 'resume says what else it needs';
(undef, $errors, $status) = run('campaign', 'watch', $id);
is $status, 1, 'watching an overdue campaign ends';
like $errors, qr/its deadline has passed, and \d+ of \d+ jobs are not done/, 'with what is not done';
run('campaign', 'cancel', $id);

# ---- a budget that the first rounds would overrun is reported before the work begins

(undef, $errors) = run('campaign', 'create', '--target', 'gfx90a68', '--problems', "$folder/net.txt", '--budget', '1');
like $errors, qr/the budget is 1 s, and the first rounds of \d+ jobs take about \d+/, 'a small budget is said to be overrun';
like $errors, qr/^  --budget \d+ /m, 'with one that would do';
(undef, $errors) = run('campaign', 'create', '--target', 'gfx90a68', '--problems', "$folder/net.txt", '--budget', '90000');
unlike $errors, qr/first rounds/, 'a large one is not';

# ---- a campaign from a description, with a worker: jobs that the worker holds are given back at the deadline

open $file, '>', "$folder/campaign.json" or die $!;
print $file '{"target": "local", "problems": "net.txt", "deadline": "soon"}';
close $file;
(undef, $errors, $status) = run('run', "$folder/campaign.json");
is $status, 2, 'a description with a deadline that is none is refused';
like $errors, qr/--deadline takes 07:00 .* not 'soon'/, 'with what it takes';

($id) = run('campaign', 'create', '--target', 'local', '--problems', "$folder/net.txt", '--all-solvers',
    '--configs', '40', '--strategy', 'random', '--seed', '9', '--deadline', '3s', '--build-only');
chomp $id;
(undef, $errors, $status) =
    run('worker', '--embedded', '--until-empty', '--campaign', $id, '--eval', 'none', '--build', '1', '--batch', '1000');
is $status, 0, 'a worker ends in good order' or diag $errors;
my %jobs = map { $_->{state} => $_->{jobs} } @{shown()->{jobs}};
cmp_ok $jobs{ready}, '>', 0, 'with jobs that it gave back';
is $jobs{building}, 0, 'all that it held';
is shown()->{state}, 'overdue', 'the campaign waits for a later deadline';

done_testing;
