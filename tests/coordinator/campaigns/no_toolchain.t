#!/usr/bin/perl
# Workers on a machine without clang for AMD's GPUs: they build the targets that HIPRTC serves. Without any toolchain,
# the worker's exit status and `status` report it.
use strict;
use warnings;
use lib 'tests/support';
use ScratchProgram qw($folder run json_of);
use Test::More;

open my $file, '>', "$folder/net.txt" or die $!;
print $file "./bin/MIOpenDriver conv -n 1 -c 8 -H 8 -W 8 -k 16 -y 1 -x 1 -F 1\n";
close $file;
$ENV{SKIPJACK_CLANG} = '/nowhere/clang';

my @worker = ('worker', '--eval', 'none', '--embedded', '--until-empty', '--log', 'text');

sub create {
    my ($target) = shift;
    my ($output, $errors, $status) = run('campaign', 'create', '--target', $target, '--problems',
        "$folder/net.txt", '--build-only', '--configs', '2', '--solvers', @_);
    is $status, 0, "a campaign for $target" or diag $errors;
    chomp $output;
    return $output;
}

sub out_of_service {
    return [map { "$_->{what}: $_->{why}" } @{json_of('status')->{out_of_service}}];
}

my $id = create('gfx90a68', 'ConvDirectNaive');
my $job_state = sub { return json_of('campaign', 'show', $id)->{state} };
{
    local $ENV{SKIPJACK_HIPRTC} = '/nowhere/libhiprtc.so';
    my (undef, $errors, $status) = run(@worker);
    is $status, 1, 'a worker that could build nothing for lack of a toolchain fails';
    like $errors, qr/cannot build for gfx90a68 here: clang: .*; hiprtc: /, 'and names what is missing';
    like $errors, qr/no toolchain of this node serves gfx90a68: clang: .*; hiprtc: .*\n\z/,
        'also in its last line, which tune shows';
    my $trouble = out_of_service();
    is scalar(grep { /^no toolchain: cannot build for gfx90a68 here: clang: / } @$trouble), 1,
        'status shows it' or diag explain $trouble;
    is $job_state->(), 'active', 'its job waits for another worker';

    # A worker that could also measure on this machine's own device reports the same, since that device has no job.
    (undef, $errors, $status) = run('worker', '--embedded', '--until-empty', '--log', 'text');
    is $status, 1, 'so does one that could measure on its own device' or diag $errors;
    like $errors, qr/nothing was built or measured: no toolchain of this node serves gfx90a68/,
        'and says why';
}

SKIP: {
    my (undef, $errors, $status) = run(@worker);
    skip 'HIPRTC is not on this machine', 10 unless $errors =~ /stack (?:.*; )?hiprtc HIPRTC/;
    is $status, 0, 'HIPRTC builds for the target that clang is missing for' or diag $errors;
    is $job_state->(), 'done', 'all of its jobs';
    is scalar(grep { /^no toolchain/ } @{out_of_service()}), 0, 'and status shows no lack any more';

    $id = create('gfx90a68', 'ConvDirectNaive,ConvAsm1x1');
    (undef, $errors, $status) = run(@worker);
    my %jobs = map { $_->{state} => $_->{jobs} } @{json_of('campaign', 'show', $id)->{jobs}};
    is "$jobs{done} done, $jobs{ready} ready, $jobs{failed} failed", '1 done, 1 ready, 0 failed',
        'assembly is left to a worker with an assembler' or diag $errors;
    (undef, $errors, $status) = run(@worker);
    is $status, 1, 'a worker that could do nothing but that fails';
    like $errors, qr/no toolchain of this node builds for campaign $id: it has no assembler, and the kernels of ConvAsm1x1 /,
        'and says what it lacks';
    run('campaign', 'cancel', $id, '--yes');
}

# ---- Campaigns that require a certain compiler.

{
    local $ENV{SKIPJACK_HIPRTC} = '/nowhere/libhiprtc.so';
    run('campaign', 'cancel', $id, '--yes');
    $id = create('gfx90a68', 'ConvDirectNaive', '--stack', q('clang >= 15'));
    my (undef, $errors, $status) = run(@worker);
    is $status, 1, 'a worker without the compiler that a campaign asks for fails';
    like $errors, qr/nothing was built or measured: no toolchain of this node builds for campaign $id: its stack has no clang/,
        'and says which campaign it could not build for';
    is scalar(grep { /^worker failed: nothing was built or measured: no toolchain .* campaign $id:/ } @{out_of_service()}), 1,
        'status shows it';
    run(@worker);
    my @failed = grep { $_->{what} eq 'worker failed' && $_->{why} =~ /campaign $id:/ }
        @{json_of('status')->{out_of_service}};
    is join(' ', map { $_->{count} } @failed), '2', 'once for all that fail so on a node';
    run('campaign', 'pause', $id);
    (undef, $errors, $status) = run(@worker);
    is $status, 0, 'with nothing to build it ends in peace' or diag $errors;
    run('campaign', 'resume', $id);
    (undef, $errors, $status) = run('worker', '--build', 0, '--embedded', '--until-empty');
    is $status, 0, 'so does one that builds nothing' or diag $errors;
}

# ---- Several clangs: clang 15 meets the campaign's requirement, but only clang 19 knows the target.

SKIP: {
    skip 'clang-15 and clang-19 are not both on this machine', 5
        if system 'clang-15 --version >/dev/null 2>&1 && clang-19 --version >/dev/null 2>&1';
    local $ENV{SKIPJACK_CLANG} = 'clang-15,clang-19';
    local $ENV{SKIPJACK_HIPRTC} = '/nowhere/libhiprtc.so';
    run('campaign', 'cancel', $id, '--yes');
    $id = create('gfx120164', 'ConvDirectNaive', '--stack', q('clang >= 15 < 16'));
    my (undef, $errors, $status) = run(@worker);
    is $status, 1, 'a clang that the campaign does not allow builds nothing for it';
    like $errors, qr/cannot build for gfx120164 here: clang 19\S* .*compiles for it, asked for is "clang >= 15 < 16"/,
        'and is named';
    is $job_state->(), 'active', 'the job waits';
}

done_testing;
