#!/usr/bin/perl
# Builds four problems for two AMD GPUs that are not here, and exports them as .sjdb files whose solutions are marked as
# never measured: what lookup, check, merge, diff, usage and golden make of them, and what the example program says it
# would launch, linked without any device. Kernels in AMD's assembly are run on an interpreter, from the file alone.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Copy qw(copy);
use JSON::PP qw(decode_json);
use lib 'tests/support';
use ScratchProgram qw($program $folder run json_of);
use Test::More;

grep { -x "$_/clang-19" } split /:/, $ENV{PATH} or plan skip_all => 'clang-19 is not on this machine';
my $root = abs_path(dirname($0) . '/../../..');

my $plain = '8-8-8-3x3-16-8-8-1-1x1-1x1-1x1-0-NCHW-FP32-F';
my $halves = '16-8-8-1x1-16-8-8-1-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F';
my $fused = '8-8-8-3x3-16-8-8-1-1x1-1x1-1x1-0-NCHW-FP32-F+bias+relu';
my $whole = '64-14-14-1x1-64-14-14-1-0x0-1x1-1x1-0-NCHW-FP32-F';
my %solvers = (gfx942130 => 'ConvMfma', gfx1100_48 => 'ConvWmma');
my %arch = (gfx942130 => 'gfx942', gfx1100_48 => 'gfx1100');

open my $list, '>', "$folder/keys.txt" or die $!;
print $list "$_\n" for $plain, $halves, $fused, $whole;
close $list;

my %campaigns;
for my $target (sort keys %solvers) {
    my ($id) = run('campaign', 'create', '--target', $target, '--problems', "$folder/keys.txt", '--build-only',
        '--configs', '3', '--solvers', "ConvDirectNaive,ConvSimt,ConvGemm1x1,ConvAsm1x1,$solvers{$target}");
    chomp($campaigns{$target} = $id);
}
my (undef, $errors, $status) = run('worker', '--eval', 'none', '--build', '2', '--embedded', '--until-empty');
is $status, 0, 'a worker without a device builds for both targets' or diag $errors;

# The example program, linked without any device.
my $prefix = "$folder/usr";
my $installed = `env -u MAKEFLAGS -u MAKELEVEL make -s -C '$root' DEPS=true install-reader PREFIX='$prefix' 2>&1`;
is $?, 0, 'libskipjackdb is installed' or diag $installed;
my $sources = join ' ', map { "'$root/export/sjdb/reader/examples/$_.c'" } qw(run_convolution run_check run_print run_none);
my $cc = $ENV{CC} // 'cc';
$ENV{PKG_CONFIG_PATH} = "$prefix/lib/pkgconfig";
$ENV{LD_LIBRARY_PATH} = "$prefix/lib";
my $compiled = `$cc -Wall -Wextra -Werror -O1 -o '$folder/run' $sources \$(pkg-config --cflags --libs skipjackdb) -lm 2>&1`;
is $?, 0, 'and the example is built on it' or diag $compiled;

# Returns what the example says and its exit status.
sub example {
    my $output = qx('$folder/run' @_ 2>&1);
    return ($output, $? >> 8);
}

sub sjdb { return "$folder/$_[0]/$_[0].sjdb" }

sub entries_of {
    my ($file, $key) = @_;
    return @{json_of('lookup', $file, $key)->{entries}};
}

sub check_target {
    my ($target) = @_;
    my $file = sjdb($target);
    my ($output, $why, $code) = run('export', '--campaign', $campaigns{$target}, '-o', "$folder/$target");
    is $code, 0, "$target: what was built is exported" or diag $why;
    like $output, qr/of 4 problems$/m, 'all four problems';
    like $output, qr/^find-db, perf-db: not written/m, 'and not the files that state times';
    like $output, qr/for the \.sjdb alone \(1 with an epilogue\)/, 'one of which only the .sjdb can name';
    is((run('check', $file))[2], 0, 'check finds nothing');
    my $stats = json_of('lookup', $file, '--stats');
    is $stats->{entries} + $stats->{solutions} + $stats->{problems}, 0, 'nothing in it passes for a measurement';
    is $stats->{unmeasured_problems}, 4, 'the problems are there as never measured';
    ok $stats->{meta}{build_only}, 'and the file says so itself';
    open my $manifest, '<', "$folder/$target/$target.export.json" or die $!;
    ok decode_json(join '', <$manifest>)->{build_only}, 'as its manifest does';

    for my $key ($plain, $halves, $fused, $whole) {
        my @entries = entries_of($file, $key);
        cmp_ok scalar(@entries), '>=', 2, "$key has its configs";
        is scalar(grep { $_->{measured} || defined $_->{time_ms} || $_->{best} } @entries), 0, 'without any time';
        is scalar(grep { @{$_->{launches}} > 0 } @entries), scalar(@entries), 'each with its launches';
        my %seen;
        is scalar(grep { $seen{"$_->{solver} " . ($_->{params} // '')}++ } @entries), 0, 'each config once';
        my ($said, $done) = example("'$file' '$key' --dry-run --json");
        is $done, 0, 'the example says what it would launch' or diag $said;
        my $plan = decode_json($said);
        ok !$plan->{measured} && !defined $plan->{recorded_ms}, 'as never measured';
        is "$plan->{solver} $plan->{params}", "$entries[0]{solver} " . ($entries[0]{params} // ''), 'the first one';
        is_deeply [map { $_->{entry} } @{$plan->{launches}}], [map { $_->{entry} } @{$entries[0]{launches}}],
            'with the launches that lookup shows';
        is scalar(grep { $_->{target} eq $arch{$target} && $_->{code_bytes} > 500 } @{$plan->{launches}}),
            scalar(@{$plan->{launches}}), 'each by code of its target';
        my @args = map { @{$_->{args}} } @{$plan->{launches}};
        is scalar(grep { $_->{kind} eq 'tensor' && $_->{bytes} > 0 } @args),
            scalar(grep { $_->{kind} eq 'tensor' } @args), 'and pointers of known sizes';
    }
    my @tuned = grep { $_->{solver} eq $solvers{$target} } entries_of($file, $halves);
    is scalar(@tuned), 3, "$solvers{$target} has every config that was built";

    my ($none, $without, $answered) = run('lookup', '--choose', $file, $halves, '--json');
    unlike $none, qr/never measured/, 'choose gives none of them unasked';
    my $chosen = json_of('lookup', '--choose', '--unmeasured', $file, $halves)->{answers}[0];
    is $chosen->{how}, 'never measured', 'and one if it is asked for';
    ok !$chosen->{measured} && $chosen->{ready} && @{$chosen->{launches}} > 0, 'with its launches and no time';
    is $chosen->{time_ms}, 0, 'no time at all';
    ($none, $without, $answered) = run('usage', '--db', $file, '--json');
    is $answered, 1, 'usage counts times, so it refuses the file';
    like $without, qr/is a build-only export/, 'and says why';
}

check_target($_) for sort keys %solvers;

# ---- the example's words

my $amd = sjdb('gfx942130');
my ($text, $code) = example("'$amd' '$halves' --dry-run --solver ConvMfma");
is $code, 0, 'a solver can be named';
like $text, qr/^ConvMfma \[.+\], \d+ launches, \d+ bytes of workspace/m, 'and is shown';
like $text, qr/built and never measured/, 'with what is not known of it';
like $text, qr/^  code +\d+ bytes for gfx942, /m, 'its code';
like $text, qr/^  grid +\d+ x \d+ x \d+ work-items, \d+ x \d+ x \d+ workgroups/m, 'its grid';
like $text, qr/^  block +\d+ x \d+ x \d+ work-items/m, 'its workgroup';
like $text, qr/^  local memory \d+ bytes/m, 'its local memory';
like $text, qr/^  argument \d+ +pointer to x, 2048 bytes/m, 'and its arguments';
my ($params) = map { $_->{params} } (grep { $_->{solver} eq 'ConvMfma' } entries_of($amd, $halves))[2];
($text, $code) = example("'$amd' '$halves' --dry-run --solver ConvMfma --params '$params'");
like $text, qr/^ConvMfma \[\Q$params\E\]/m, 'a config can be named, too';
($text, $code) = example("'$amd' '$halves'");
is $code, 1, 'nothing of it runs by itself';
like $text, qr/built and never measured: --unmeasured runs it/, 'which the program says';
($text, $code) = example("'$amd' '$halves' --unmeasured");
like $text, qr/built without a device/, 'and without a device nothing runs at all';
is $code, 1, 'which is a failure';
($text, $code) = example("'$amd' '$halves' --dry-run --params 1");
is $code, 2, 'params without a solver are wrong usage';

# ---- tried on an interpreter of gfx9 instructions

(my $emulator = $program) =~ s{skipjack$}{tests/coordinator/campaigns/sjdb_emulated};
SKIP: {
    -x $emulator or skip 'the interpreter is not built', 2;
    my $run = qx('$emulator' '$amd' '$whole' ConvAsm1x1 2>&1);
    is $?, 0, 'the file holds all that running a kernel takes' or diag $run;
    my @right = $run =~ /^ConvAsm1x1 \[.*\]: right$/mg;
    is scalar(@right), scalar(grep { $_->{solver} eq 'ConvAsm1x1' } entries_of($amd, $whole)),
        'and every config of the assembly kernel computes what it should';
    note $run;
}

# ---- what is golden was measured; files with times are not written

(undef, $errors, $status) = run('golden', 'propose', '--campaign', $campaigns{gfx942130});
is $status, 1, 'golden refuses the campaign';
like $errors, qr/is build-only: nothing of it was ever measured/, 'and says why';
(undef, $errors, $status) = run('export', '--campaign', $campaigns{gfx942130}, '--find', '-o', "$folder/none");
is $status, 1, 'a find-db is refused';
like $errors, qr/no time for a find-db/, 'since it states times';

# ---- merged with what was measured

mkdir "$folder/measured";
open my $find, '>', "$folder/measured/gfx942130.HIP.fdb.txt" or die $!;
print $find "$plain=ConvDirectNaive:1.5,0,miopenConvolutionFwdAlgoDirect\n";
close $find;
is((run('merge', "$folder/measured/gfx942130.HIP.fdb.txt", '-o', "$folder/measured/gfx942130.sjdb"))[2], 0,
    'somebody measured one of the solvers');
my $before = grep { $_->{solver} eq 'ConvDirectNaive' } entries_of($amd, $plain);
cmp_ok $before, '>=', 1, 'that was built, too';
mkdir "$folder/both";
my @measured = ("$folder/measured/gfx942130.sjdb", "$folder/measured/gfx942130.HIP.fdb.txt");
for my $order (map { ([$amd, $_], [$_, $amd]) } @measured) {
    my $report = json_of('merge', @$order, '-o', "$folder/both/gfx942130.sjdb");
    is $report->{unmeasured_gave_way}, $before, 'what was built of it gives way';
    my @merged = entries_of("$folder/both/gfx942130.sjdb", $plain);
    my @naive = grep { $_->{solver} eq 'ConvDirectNaive' } @merged;
    is scalar(@naive), 1, 'to the one measured entry';
    ok $naive[0]{measured} && $naive[0]{best} && $naive[0]{time_ms} == 1.5, 'with its time';
    is scalar(grep { !$_->{measured} } @merged), scalar(@merged) - 1, 'before those that nobody measured';
    my $answer = json_of('lookup', '--choose', '--unmeasured', "$folder/both/gfx942130.sjdb", $plain)->{answers}[0];
    is $answer->{how}, 'exact', 'and choose takes what was measured';
}
($text, $errors, $status) = run('check', "$folder/both/gfx942130.sjdb");
is $status, 1, 'such a mixed file is not fit to ship';
like "$text$errors", qr/never measured/, 'check says why';
like((run('merge', $amd, '-o', "$folder/gfx942130.HIP.fdb.txt"))[1], qr/solutions that were never measured/,
    'a find-db cannot have them');
is((run('merge', $amd, '-o', "$folder/again.sjdb"))[2], 0, 'a build-only export is merged alone');
is system("cmp -s '$amd' '$folder/again.sjdb'"), 0, 'to itself';

# ---- compared

my $same = json_of('diff', $amd, "$folder/again.sjdb");
ok $same->{equal}, 'diff finds it equal';
my $report = decode_json((run('diff', '--json', "$folder/measured/gfx942130.sjdb", $amd))[0]);
is scalar(grep { $_->{what} eq 'gained' && $_->{second} =~ /never measured, the first/ } @{$report->{differences}}), 4,
    'and names never-measured problems that one file lacks';

done_testing;
