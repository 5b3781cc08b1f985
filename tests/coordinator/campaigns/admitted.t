#!/usr/bin/perl
# `campaign watch` and `campaign show` say so when a campaign admits none of the running workers.
use strict;
use warnings;
use lib 'tests/support';
use ScratchProgram qw($program $folder run json_of);
use Test::More;

open my $file, '>', "$folder/problems.txt" or die $!;
print $file "8-6-6-1x1-16-6-6-1-0x0-1x1-1x1-0-NCHW-FP32-F\n";
close $file;

sub create {
    my ($output, $errors, $status) = run('campaign', 'create', '--target', 'gfx90a68', '--problems',
        "$folder/problems.txt", '--configs', 1, '--solvers', 'ConvDirectNaive', '--stack', "'$_[0]'");
    is $status, 0, "a campaign for $_[0]" or diag $errors;
    chomp $output;
    return $output;
}

my ($newer, $any) = (create('clang >= 99'), create('clang >= 1'));
my $none = 'no worker is running, so nothing happens until one is started: skipjack worker --embedded';
is json_of('campaign', 'show', $newer)->{nobody_works}, $none, 'without a worker that is said';

# Registers an idle worker that builds, with the row that a node's agent would store.
run('db', 'psql', '-qc', "\"INSERT INTO workers (node, process, target, stack, builds, beat_at)
    VALUES ('builder', 'p', '', 'clang 15.0.6; nvrtc 13.0', true, now())\"");
my $reason = 'none of the running workers (1) is admitted, so nothing happens until another one is started;'
    . ' of the one on builder: its clang is 15.0.6, asked for is "clang >= 99"';
is json_of('campaign', 'show', $newer)->{nobody_works}, $reason, 'why nobody is admitted, in JSON';
my ($shown) = run('campaign', 'show', $newer);
like $shown, qr/^\Q$reason\E$/m, 'and in words';
my $watched = `timeout -s INT 3 '$program' campaign watch $newer 2>&1`;
like $watched, qr/^\Q$reason\E$/m, 'who watches it reads it first';
is json_of('campaign', 'show', $any)->{nobody_works}, undef, 'a campaign that admits the worker waits for nobody';
run('campaign', 'pause', $newer);
is json_of('campaign', 'show', $newer)->{nobody_works}, undef, 'neither does one that is paused';

done_testing;
