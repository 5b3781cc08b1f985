#!/usr/bin/perl
# The program works although its parent (a container, a supervisor) left it ignored or blocked signals, or a limit of
# the size of files.
use strict;
use warnings;
use POSIX qw(:signal_h :sys_wait_h);
use Test::More;
use Time::HiRes qw(sleep time);
use lib 'tests/support';
use ScratchProgram qw($program $folder run finish read_file $patience);

# Starts the program with the signals $ignored ignored and the signals $blocked blocked.
sub start {
    my ($name, $ignored, $blocked, @arguments) = @_;
    my $pid = fork // die $!;
    return $pid if $pid;
    open STDOUT, '>', "$folder/$name.out";
    open STDERR, '>', "$folder/$name.err";
    $SIG{$_} = 'IGNORE' for @$ignored;
    sigprocmask(SIG_BLOCK, POSIX::SigSet->new(@$blocked)) or die $!;
    exec $program, @arguments;
}

sub wait_for {
    my ($path, $pattern) = @_;
    my $deadline = time + $patience;
    until (read_file($path) =~ $pattern) {
        return 0 if time > $deadline;
        sleep 0.05;
    }
    return 1;
}

# ---- Signals.

my $pid = start('chld', ['CHLD'], [], 'db', 'start');
is finish($pid), 0, 'PostgreSQL is found and started where SIGCHLD is ignored'
    or diag read_file("$folder/chld.err");
is read_file("$folder/chld.err"), '', 'without a word';

my @all = grep { $_ != SIGKILL && $_ != SIGSTOP } 1 .. 31;
for (['blocked', [], \@all], ['ignored', ['TERM', 'CHLD', 'USR1'], []]) {
    my ($name, $ignored, $blocked) = @$_;
    $pid = start($name, $ignored, $blocked, qw(worker --embedded --build 1 --eval none --log json));
    ok wait_for("$folder/$name.err", qr/"registered"/), "a worker whose signals are $name starts";
    kill 'TERM', $pid;
    is finish($pid), 0, 'and SIGTERM ends it';
    like read_file("$folder/$name.err"), qr/"drain".*stopping/, 'in order';
}

# ---- A limit of files' size has the effect of a full disk. The database's server does not inherit it.

sub limited {
    my ($kilobytes, $command) = @_;
    system 'bash', '-c', "ulimit -S -f $kilobytes; exec $command";
    return $? & 127 ? 128 + ($? & 127) : $? >> 8;
}

sub write_lines {
    my ($path, $format) = @_;
    open my $file, '>', $path or die $!;
    printf $file "$format\n", $_, $_ for 1 .. 200;
    close $file;
}
write_lines("$folder/find.fdb.txt", '8-%d-10-1x1-24-%d-10-1-0x0-1x1-1x1-0-NCHW-FP32-F='
    . 'ConvDirectNaiveConvFwd:0.1,0,miopenConvolutionFwdAlgoDirect');
write_lines("$folder/perf.db.txt", '2x%dx8x8x1x1x1x1x%dx1x0x0x0x1x1x0x1x1x0x0x1xNCHWxFP32xF=ConvCpuDirect:8,1,8');
is limited(2, "'$program' solvers >'$folder/limited.out' 2>'$folder/limited.err'"), 1,
    'standard output that reaches the limit ends with 1';
like read_file("$folder/limited.err"), qr/cannot write to standard output: File too large/, 'and is named';
for (['find.fdb.txt', 'less.fdb.txt', 'File too large'], ['find.fdb.txt', 'less.sjdb', 'File too large'],
    ['perf.db.txt', 'less.db', 'files may grow to 2 KiB only, ulimit -f']) {
    my ($in, $out, $why) = @$_;
    is limited(2, "'$program' merge '$folder/$in' -o '$folder/$out' 2>'$folder/limited.err'"), 1,
        "$out that reaches the limit ends with 1";
    like read_file("$folder/limited.err"), qr{cannot \w+ .*'\Q$folder\E/\Q$out\E.*\Q$why\E}, 'and is named';
}
is_deeply [glob "$folder/less*"], [], 'nothing is left of them';
is limited(1024, "'$program' worker --probe >'$folder/limited.out' 2>'$folder/limited.err'"), 1,
    'a worker that compilers cannot work for does not start';
like read_file("$folder/limited.err"), qr/1024 KiB only \(ulimit -f\).*raise the limit/, 'and says so';
run('db', 'stop');
is limited(1024, "'$program' db start >'$folder/limited.out' 2>'$folder/limited.err'"), 0,
    'the database starts under a limit' or diag read_file("$folder/limited.err");

done_testing;
