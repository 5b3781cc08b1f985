#!/usr/bin/perl
# `worker --cold` and `--probe` on this machine's own device: wrong requests are refused with a reason, and a signal
# leaves no files behind.
use strict;
use warnings;
use File::Temp qw(tempdir);
use JSON::PP qw(decode_json);
use POSIX qw(:sys_wait_h);
use Test::More;
use Time::HiRes qw(sleep time);

my $program = $ENV{SKIPJACK} // 'build/skipjack';
-x $program or plan skip_all => "$program is not built";

my $folder = tempdir('skipjack-cold-XXXXXX', TMPDIR => 1, CLEANUP => 1);
$ENV{TMPDIR} = "$folder/tmp";
mkdir $ENV{TMPDIR};

sub read_file {
    open my $file, '<', $_[0] or return '';
    local $/;
    return scalar(<$file>) // '';
}

# Writes the file that --cold reads.
sub request {
    my ($text) = @_;
    open my $file, '>', "$folder/cold.json" or die $!;
    print $file $text;
    close $file;
    return "$folder/cold.json";
}

# Returns standard output, standard error and exit status.
sub run {
    my $output = `timeout 300 '$program' worker @_ 2>'$folder/errors'`;
    return ($output, read_file("$folder/errors"), $? >> 8);
}

my $small = '8-8-8-3x3-8-8-8-1-1x1-1x1-1x1-0-NCHW-FP32-F';
sub layer {
    my ($problem, $config, $runs) = @_;
    return qq({"problem":"$problem","solver":"ConvDirectNaive","config":"$config","runs":$runs});
}

my $good = layer($small, '', 3);
my ($output, $errors, $status) = run('--cold', request(qq({"layers":[$good,$good]})));
is $status, 0, 'a cold start ends with 0' or diag $errors;
my $times = decode_json($output);
is $times->{kernels}, 1, 'a kernel of two layers is compiled once';
cmp_ok $times->{$_}, '>', 0, "$_ were measured"
    for qw(compile_seconds load_seconds first_seconds second_seconds);

for my $case (
    [qr/cannot use '\S+cold\.json', layer 2: .*ConvDirectNaive/, layer($small, '7', 1)],
    [qr/layer 2: there is no solver 'ConvNowhere'/, layer($small, '', 1) =~ s/DirectNaive/Nowhere/r],
    [qr/layer 2: .*nonsense/, layer('nonsense', '', 1)],
    [qr/layer 2: it needs problem, solver and config.*: .*config/, '{"problem":"","solver":""}'],
    [qr/layer 2: runs is 0; it is at least 1/, layer($small, '', 0)],
    [qr/layer 2: runs is -1;/, layer($small, '', -1)],
    [qr/layer 2: runs is 600000000; .*at most 1000000/, layer($small, '', 600000000)]) {
    my ($expected, $layer) = @$case;
    (undef, $errors, $status) = run('--cold', request(qq({"layers":[$good,$layer]})));
    is $status, 1, "'$layer' is refused";
    like $errors, $expected, 'by the file, the layer and the reason';
    unlike $errors, qr/compiled \d/, 'before anything is compiled';
}

for my $case (
    [qr/cannot use '\S+': it lists no layers/, '{}'],
    [qr/cannot read '\S+', line 2: /, "{\n}}"]) {
    my ($expected, $text) = @$case;
    (undef, $errors, $status) = run('--cold', request($text));
    is $status, 1, 'such a file is refused';
    like $errors, $expected, 'and named';
}
(undef, $errors) = run('--cold', "$folder/absent.json");
like $errors, qr/^worker: cannot read '\S+absent\.json': /, 'as is one that is not there';

# A layer with few operations has a short limit, and so many launches take a second on any machine.
my $launches = join ',', (layer('1-1-1-1x1-1-1-1-1-0x0-1x1-1x1-0-NCHW-FP32-F', '', 1000)) x 50;
(undef, $errors, $status) =
    run('--run-timeout', '0.0001', '--cold', request(qq({"layers":[$launches]})));
is $status, 1, 'a run past its limit ends with 1';
like $errors, qr/cannot run on the device: .*did not answer in time/, 'and says why';

for my $case (
    [qr/--lease means nothing beside --cold/, '--lease', 60],
    [qr/--build means nothing beside --cold/, '--build', 2],
    [qr/--until-empty means nothing beside --probe/, '--probe', '--until-empty'],
    [qr/--run-timeout means nothing beside --probe/, '--probe', '--run-timeout', 60],
    [qr/--cold means nothing beside --probe/, '--probe', '--cold', "$folder/cold.json"],
    [qr/--eval takes one number/, '--eval', '0,1'],
    [qr/'00' is listed twice/, '--probe', '--eval', '0,00'],
    [qr/it takes options only, not '1'/, '--probe', '--eval', '0', '1'],
    [qr/a timeout takes .* at most/, '--run-timeout', 'inf'],
    [qr/a timeout takes .* at most/, '--compile-timeout', '1e300'],
    [qr/a timeout takes more than 0/, '--run-timeout', 'nan'],
    [qr/--eval none leaves it none/, '--probe', '--eval', 'none']) {
    my ($expected, @options) = @$case;
    push @options, '--cold', "$folder/cold.json" if $options[0] ne '--probe';
    (undef, $errors, $status) = run(@options);
    is $status, 2, "'@options' is wrong usage";
    like $errors, $expected, 'and says why';
}

# This request would run for hours.
my $long = layer('64-56-56-3x3-64-56-56-8-1x1-1x1-1x1-0-NCHW-FP32-F', '', 1000000);
my $path = request(qq({"layers":[$long]}));
my $pid = fork // die $!;
if ($pid == 0) {
    open STDOUT, '>', '/dev/null';
    open STDERR, '>', "$folder/stopped";
    exec $program, 'worker', '--cold', $path;
    exit 127;
}
my $deadline = time + 300;
sleep 0.05 until read_file("$folder/stopped") =~ /compiled 1 of 1/ || time > $deadline;
kill 'INT', $pid;
$deadline = time + 300;
my $ended = 0;
sleep 0.05 until ($ended = waitpid $pid, WNOHANG) || time > $deadline;
is $ended, $pid, 'Ctrl-C ends it' or kill 'KILL', $pid;
is $? >> 8, 130, 'with 130';
is_deeply [glob "$ENV{TMPDIR}/*"], [], 'and leaves no folder behind';

done_testing;
