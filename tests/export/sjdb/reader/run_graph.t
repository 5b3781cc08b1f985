#!/usr/bin/perl
# The example run_convolution on a GPU whose library is a double: --graph records a run of several launches, checks what a
# replay writes, and measures both ways. Replays that leave out a launch are found. A device without graphs refuses them.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use JSON::PP qw(decode_json);
use Test::More;

my $root = abs_path(dirname($0) . '/../../../..');
my $built = dirname($ENV{SKIPJACK} // "$root/build/skipjack");
my $double = $ENV{SKIPJACK_GPU_DOUBLE} // "$built/tests/gpu_double.so";
my $writer = "$built/tests/export/sjdb/reader/graph_sjdb";
-x $writer && -e $double or plan skip_all => 'the tests are not built';
my $cc = $ENV{CC} // 'cc';
my $folder = tempdir('skipjack-graph-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $examples = "$root/export/sjdb/reader/examples";
my $compile = "$cc -Wall -Wextra -Werror -O1 -I'$examples/..'";
# For CUDA a large input that few outputs read: two times the cache of the double are 161 copies of it, and a measurement of
# some 200 runs writes each of them. run_hip.c takes 256 MiB for the cache: copies of a small input fit the double's memory.
my %keys = (cuda => '1-640-256-3x3-2-40-16-1-1x1-16x16-1x1-0-NCHW-FP32-F',
    hip => '4-6-5-3x3-3-6-5-1-1x1-1x1-1x1-0-NCHW-FP32-F');
delete @ENV{qw(GPU_DOUBLE GPU_DOUBLE_FILE)};

# Returns the output (with errors) and the exit status.
sub run {
    my $output = qx(@_ 2>&1);
    return ($output, $? >> 8);
}

# Links the example with its file for a device, and returns the program.
sub example {
    my ($name, $device, @libraries) = @_;
    my ($said, $failed) = run("$compile -o '$folder/$name' '$folder'/run_*.o '$examples/$device.c'",
        "'$built/libexport.a' @libraries -lzstd -lm");
    is $failed, 0, "the example is built with $device for $name" or diag $said;
    return "'$folder/$name'";
}

my $sources = join ' ', map { "'$examples/$_.c'" } qw(run_convolution run_check run_print);
my ($text, $status) = run("cd '$folder' && $compile -c $sources");
is $status, 0, 'what all devices share is compiled' or diag $text;
my %programs = (cuda => example('cuda', 'run_cuda', "'$double'"), hip => example('hip', 'run_hip', "'$double'"));
for my $name (sort keys %programs) {
    my $program = "$programs{$name} '$folder/$name.sjdb' $keys{$name}";
    ($text, $status) = run("'$writer' '$folder/$name.sjdb' $keys{$name}");
    is $status, 0, 'a file with a solution of four launches is written' or diag $text;
    ($text, $status) = run("$program --json");
    is $status, 0, "$name: launch by launch the result is right" or diag $text;
    my $report = eval { decode_json($text) } // {};
    ok $report->{correct} && exists $report->{graph} && !defined $report->{graph}, 'and nothing is said of a graph';

    ($text, $status) = run("$program --json --graph");
    is $status, 0, "$name: the replay of a graph is right, too" or diag $text;
    $report = eval { decode_json($text) } // {};
    ok $report->{correct} && $report->{graph}{correct}, 'both are said to be';
    # By the double's clock a copy takes 1 ms, the convolution 0.3 ms; launches that pack the filter are in neither time.
    cmp_ok abs($report->{measured_ms} - 2.3), '<', 0.05, "the time launch by launch is that of a run's three launches";
    cmp_ok abs($report->{graph}{measured_ms} - 2.3), '<', 0.05, 'and so is the time as a graph';

    for (['no-first', 'first'], ['no-last', 'last']) {
        my ($fault, $which) = @$_;
        ($text, $status) = run("GPU_DOUBLE=$fault $program --json --graph");
        is $status, 1, "$name: a replay without the $which launch is found";
        $report = eval { decode_json($text) } // {};
        ok $report->{correct} && !$report->{graph}{correct}, 'and is told from the launches one by one, which are right';
        cmp_ok abs($report->{measured_ms} - $report->{graph}{measured_ms} - 1), '<', 0.05, 'and take as long as ever';
        like +(run("GPU_DOUBLE=$fault $program --graph"))[0],
            qr/^right: .*\n.*\nWRONG as a graph: .*\nas a graph [\d.]+ ms, [\d.]+ times as long as launch by launch\n\z/m,
            'in words, too';
    }

    ($text, $status) = run("$program --json --graph --unchecked");
    $report = eval { decode_json($text) } // {};
    ok $status == 0 && exists $report->{graph}{correct} && !defined $report->{graph}{correct},
        "$name: an unchecked replay does not say that it is right" or diag $text;
}
($text, $status) = run("$programs{cuda} '$folder/cuda.sjdb' $keys{cuda} --graph --dry-run");
is $status, 2, 'a dry run has no graph';

# A driver without graphs: the program starts on it.
($text, $status) = run("$cc -D_GNU_SOURCE -DcuGraphLaunch=not_there -shared -fPIC -I'$root' -o '$folder/libold.so'",
    "'$root'/tests/support/doubles/gpu_double*.c -lm");
is $status, 0, 'a double of an older driver is built' or diag $text;
my $old = example('old', 'run_cuda', "'$folder/libold.so'");
($text, $status) = run("$old '$folder/cuda.sjdb' $keys{cuda}");
is $status, 0, 'launch by launch it runs' or diag $text;

my @refusals = ([$old, 'this driver is older than CUDA 11.4 and cannot make graphs'],
    [example('none', 'run_none'), 'this program was built without a device (run_none.c): it has --dry-run alone']);
push @refusals, [example('opencl', 'run_opencl', '-l:libOpenCL.so.1'),
    'OpenCL 1.2 has no graphs; programs linked with run_cuda.c or run_hip.c make them'] if -e '/usr/include/CL/cl.h';
for (@refusals) {
    my ($program, $why) = @$_;
    ($text, $status) = run("$program '$folder/no such file' $keys{cuda} --graph");
    is $status, 1, 'a graph is refused where there are none';
    is $text, "run_convolution: --graph: $why\n", 'with the reason, before the file is opened';
}
done_testing;
