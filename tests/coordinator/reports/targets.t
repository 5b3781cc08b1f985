#!/usr/bin/perl
# `targets` lists the target of a running worker before any campaign exists: creating the first campaign needs the
# target's name.
use strict;
use warnings;
use Test::More;
use Time::HiRes qw(sleep time);
use lib 'tests/support';
use ScratchProgram qw($program $folder $patience run json_of);

(undef, my $errors, my $status) = run('worker', '--probe');
plan skip_all => "there is no device to work on: $errors" if $status != 0;
is_deeply json_of('targets'), [], 'at first no target is known';

my $worker = fork // die $!;
if (!$worker) {
    open STDOUT, '>', "$folder/worker.out";
    open STDERR, '>', "$folder/worker.err";
    exec $program, 'worker', '--embedded';
}
END { kill 'KILL', $worker if $worker; }

my ($listed, $deadline) = ([], time + $patience);
until (@$listed || time > $deadline) {
    sleep 0.2;
    my ($output) = run('targets', '--json');
    $listed = JSON::PP::decode_json($output || '[]');
}
is scalar(@$listed), 1, 'a running worker brings its target';
my $target = $listed->[0]{target};
is((run('campaign', 'create', '--target', $target, '--tag', 'none'))[2], 1, 'which a campaign may name')
    or diag $target;
unlike((run('campaign', 'create', '--target', $target, '--tag', 'none'))[1], qr/target/, 'it lacks problems alone');
kill 'TERM', $worker;
waitpid $worker, 0;
undef $worker;
is_deeply json_of('targets'), [], 'without worker and campaign there is none to choose';
done_testing;
