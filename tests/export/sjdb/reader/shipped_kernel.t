#!/usr/bin/perl
# Runs shipped kernels as somebody else would: layers of all directions are tuned on this machine's CPU and exported as
# one .sjdb. The example program, which uses only libskipjackdb and OpenCL, runs each entry and compares it with a
# convolution that it computes. The test asserts that a time is printed, not how long it is.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use JSON::PP qw(decode_json);
use Test::More;

my $root = abs_path(dirname($0) . '/../../../..');
my $program = $ENV{SKIPJACK} // "$root/build/skipjack";
-x $program or plan skip_all => "$program is not built";
-e '/usr/include/CL/cl.h' or plan skip_all => "OpenCL's headers are not here";
my $cc = $ENV{CC} // 'cc';

# A folder that other users can read: run by root, PostgreSQL runs as another user.
my $folder = tempdir('skipjack-shipped-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $folder;
$ENV{SKIPJACK_HOME} = "$folder/home";
$ENV{POCL_CACHE_DIR} = "$folder/pocl";
delete $ENV{SKIPJACK_DB};
END { system "'$program' db stop >/dev/null 2>&1" if $program && -x $program; }

# Returns the output (with errors) and the exit status.
sub run {
    my $output = qx(@_ 2>&1);
    return ($output, $? >> 8);
}

my @layers = (
    'conv -n 2 -c 8 -k 12 -H 9 -W 10 -y 3 -x 3 -p 1 -q 1 -F 0',
    'conv -n 1 -c 8 -k 16 -H 12 -W 11 -y 3 -x 3 -u 2 -v 2 -l 1 -j 2 -g 4 -F 1',
    'conv --spatial_dim 3 -n 1 -c 3 -k 4 -! 5 -H 6 -W 7 -@ 3 -y 3 -x 3 -$ 1 -p 1 -q 1 -# 1 -^ 1 -F 1',
    'convfp16 -n 1 -c 8 -k 8 -H 8 -W 8 -y 1 -x 1 -I NHWC -O NHWC -f NHWC -F 2',
    'convint8 -n 1 -c 8 -k 8 -H 8 -W 8 -y 3 -x 3 -p 1 -q 1 -F 1',
);
open my $list, '>', "$folder/layers.txt" or die $!;
print $list "./bin/MIOpenDriver $_\n" for @layers;
close $list;

my ($text, $status) = run("'$program' tune '$folder/layers.txt' -o '$folder/tuned' --configs 2 --final-seconds 0 --budget 600 --allow-drift",
    '--solvers ConvDirectNaive,ConvIm2ColGemm,ConvCpuDirect');
is $status, 0, 'the layers are tuned' or diag $text;
($text, $status) = run("'$program' export --campaign 1 --compact --allow-drift -o '$folder/out'");
is $status, 0, 'and exported as one file' or diag $text;
my ($db) = glob "$folder/out/*.sjdb";
BAIL_OUT('there is no .sjdb') if !defined $db;

($text, $status) = run("'$program' check '$db'");
is $status, 0, 'which is fit to ship' or diag $text;
($text, $status) = run("'$program' merge -o '$folder/again.sjdb' '$db'");
is $status, 0, 'and can be merged' or diag $text;
is system("cmp -s '$db' '$folder/again.sjdb'"), 0, 'to itself, with how it is run';

my $prefix = "$folder/usr";
($text, $status) = run("env -u MAKEFLAGS -u MAKELEVEL make -s -C '$root' DEPS=true install-reader PREFIX='$prefix'");
is $status, 0, 'libskipjackdb is installed' or diag $text;
$ENV{PKG_CONFIG_PATH} = "$prefix/lib/pkgconfig";
$ENV{LD_LIBRARY_PATH} = "$prefix/lib";
my $sources = join ' ', map { "'$root/export/sjdb/reader/examples/$_.c'" } qw(run_convolution run_check run_print run_opencl);
($text, $status) = run("$cc -Wall -Wextra -Werror -O2 -o '$folder/run' $sources",
    '$(pkg-config --cflags --libs skipjackdb) -l:libOpenCL.so.1 -lm');
is $status, 0, 'the example is built by what was installed' or diag $text;

# Keys that the find-db of the same campaign holds.
my %keys;
for my $file (glob "$folder/tuned/*.fdb.txt") {
    open my $find, '<', $file or die $!;
    while (<$find>) { $keys{$1} = 1 if /^([^=]+)=/; }
}
is scalar keys %keys, 7, 'every direction of every layer is there';

sub run_one {
    my ($key, $solver, $entry) = @_;
    my ($out, $code) = run("'$folder/run' '$db' '$key' --json", $solver ? "--solver '$solver'" : '');
    my $name = $key . ($solver ? " by $solver" : '');
    is $code, 0, "$name is right" or diag $out;
    my $report = eval { decode_json($out) } // {};
    ok $report->{correct}, 'it says so';
    cmp_ok $report->{measured_ms} // 0, '>', 0, 'it takes time';
    is $report->{recorded_ms}, $entry->{time_ms}, 'beside what was recorded' if $entry;
    note "measured $report->{measured_ms} ms, $report->{ratio} times what was recorded" if $report->{ratio};
    return $report;
}

for my $key (sort keys %keys) {
    my ($out) = run("'$program' lookup --json '$db' '$key'");
    my @entries = @{decode_json($out)->{entries}};
    my ($best) = grep { $_->{best} } @entries;
    is run_one($key, undef, $best)->{solver}, $best->{solver}, 'by the fastest solver';
    run_one($key, $_->{solver}) for grep { !$_->{best} } @entries;
}

# The same layers built for this machine and never measured: here somebody does run them, and they are right.
{
    (my $target = $db) =~ s{.*/(.*)\.sjdb}{$1};
    my ($id, $created) = run("'$program' campaign create --target '$target' --problems '$folder/layers.txt' --build-only",
        "--configs 2 --solvers ConvDirectNaive,ConvCpuDirect");
    is $created, 0, 'they are planned once more, to be built only' or diag $id;
    ($id) = $id =~ /^(\d+)$/m;
    ($text, $status) = run("'$program' worker --eval none --embedded --until-empty");
    is $status, 0, 'and built' or diag $text;
    ($text, $status) = run("'$program' export --campaign $id -o '$folder/built'");
    is $status, 0, 'and exported' or diag $text;
    my $built = "$folder/built/$target.sjdb";
    for my $key (sort keys %keys) {
        my ($said, $code) = run("'$folder/run' '$built' '$key' --unmeasured --json");
        is $code, 0, "$key is right, though nobody had run it" or diag $said;
        my $report = eval { decode_json($said) } // {};
        ok $report->{correct} && !defined $report->{recorded_ms} && $report->{measured_ms} > 0, 'with no time recorded';
    }
}

my ($one) = sort keys %keys;
($text, $status) = run("'$folder/run' '$db' '$one' --json --unchecked");
my $unchecked = eval { decode_json($text) } // {};
ok $status == 0 && exists $unchecked->{correct} && !defined $unchecked->{correct}, 'an unchecked run does not say that it is right';
cmp_ok $unchecked->{measured_ms} // 0, '>', 0, 'it is measured';
{
    my ($said, $done) = run("'$folder/run' '$db' '$one' --dry-run --json");
    is $done, 0, 'what would be launched is said, too' or diag $said;
    my $plan = eval { decode_json($said) } // {};
    my ($held) = run("'$program' lookup --json '$db' '$one'");
    my ($best) = grep { $_->{best} } @{decode_json($held)->{entries}};
    ok $plan->{measured} && $best->{measured}, 'as measured';
    is_deeply [$plan->{solver}, $plan->{recorded_ms}, $plan->{workspace_bytes}],
        [@{$best}{qw(solver time_ms workspace_bytes)}], 'for the fastest entry, with its time';
    is_deeply [map { my $l = $_; [map { $l->{$_} } qw(kernel options entry grid block local_bytes)] } @{$plan->{launches}}],
        [map { my $l = $_; [map { $l->{$_} } qw(kernel options entry grid block local_bytes)] } @{$best->{launches}}],
        'with the launches that lookup shows';
    like +(run("'$folder/run' '$db' '$one' --dry-run"))[0], qr/^recorded .* ms$/m, 'and in words';
    ($said, $done) = run("'$folder/run' '$db' '$one' --unmeasured --dry-run");
    is $done, 1, 'nothing in this file was built only';
}
($text, $status) = run("'$folder/run' '$db' '$one' --solver None");
is $status, 1, 'a solver that the file has no entry of';
like $text, qr/no entry of None/, 'is named';
($text, $status) = run("'$folder/run' '$db' 1-1-1-1x1-1-1-1-1-0x0-1x1-1x1-0-NCHW-FP32-F");
is $status, 1, 'a problem that is not held';
# A key and solver whose entry needs a workspace.
my ($needy, $hungry);
for my $key (sort keys %keys) {
    my ($out) = run("'$program' lookup --json '$db' '$key'");
    for (grep { $_->{workspace_bytes} > 0 } @{decode_json($out)->{entries}}) { ($needy, $hungry) = ($key, $_->{solver}) }
}
($text, $status) = run("'$folder/run' '$db' '$needy' --solver '$hungry' --workspace 0");
is $status, 1, 'a solver that needs more workspace than there is';
like $text, qr/no entry of $hungry within the workspace/, 'is no answer';
for my $words ('', "'$one' --workspace 1e9", "'$one' --workspace -1", "'$one' --workspace ''", "'$one' --device first") {
    ($text, $status) = run("'$folder/run' '$db' $words");
    is $status, 2, "wrong usage: $words";
}
done_testing;
