#!/usr/bin/perl
# Problems that MIOpen's keys cannot name, from a list of keys through a real tune on this machine to a .sjdb that answers
# for them: strided tensors, an epilogue with a bias and a residual, a pool.
use strict;
use warnings;
use JSON::PP qw(decode_json);
use lib 'tests/support';
use ScratchProgram qw($program $folder write_file read_file);
use Test::More;

my $plain   = '4-8-8-3x3-8-8-8-2-1x1-1x1-1x1-0-NCHW-FP32-F';
my $strided = "${plain}_sx300x64x0x8x1";
my $fused   = "$plain+bias+add(FP32,NCHW)+relu";
my $pool    = 'pool(max)-4-9-9-2x2-4-5-5-2-0x0-2x2-1x1-0-NCHW-FP32-F';

# The program's status; its output is in "$folder/out", its messages in "$folder/err".
sub status_of {
    my @words = map { "'$_'" } @_;
    return system("'$program' @words >'$folder/out' 2>'$folder/err'") >> 8;
}

sub output_of {
    my $status = status_of(@_);
    diag read_file("$folder/err") if $status != 0;
    return read_file("$folder/out");
}

write_file("$folder/keys", join '', map { "$_\n" } $plain, $strided, $fused, $pool);

# --- import ---

is status_of('import', "$folder/keys", '--tag', 'mine'), 0, 'keys of every form are imported';
like read_file("$folder/out"), qr/^4 lines: 4 operators, 4 shapes, 4 problems; 0 cannot be used$/m, 'and counted';
unlike read_file("$folder/err"), qr/no solver serves/, 'and solvers serve all of them';
my $problems = output_of('problems', '--tag', 'mine');
like $problems, qr/ F 4x8x8 k8 3x3 p1 n2 strides x 300\/64\/0\/8\/1 .*\Q$strided\E$/m, 'strides are shown in words';
like $problems, qr/ F 4x8x8 k8 3x3 p1 n2 \+bias\+add\(FP32,NCHW\)\+relu /, 'steps of an epilogue too';
like $problems, qr/ pool\(max\) 4x9x9 2x2 s2 to 5x5 n2 /, 'and an operator with its output';

write_file("$folder/odd", "pool(least)-4-8-8-2x2-4-4-4-2-0x0-2x2-1x1-0-NCHW-FP32-F\n"
    . "lrn(5,0.0001,0.75,1)-4-8-8-1x1-4-8-8-2-0x0-1x1-1x1-0-NCHW-FP8-F\n");
status_of('import', '--dry-run', "$folder/odd");
like read_file("$folder/err"), qr/'least' is no mode of pool/, 'an unknown mode is named';
like read_file("$folder/err"), qr/no solver serves 1 of the problems.*\n.*: Lrn\w+ needs /, 'and what the solver of an operator lacks';

# --- tune ---

my $out = "$folder/tuned";
is status_of('tune', "$folder/keys", '--configs', 1, '--solvers', 'ConvDirectNaive,PoolNaive', '--allow-drift',
    '--json', '-o', $out), 0, 'they are tuned' or diag read_file("$folder/err");
my %solver = map { $_->{key} => $_->{solver} } @{decode_json(read_file("$folder/out"))->{problems}};
is $solver{$strided}, 'ConvDirectNaive', 'the naive solver computes strided tensors';
is $solver{$fused}, 'ConvDirectNaive', 'and the epilogue';
is $solver{$pool}, 'PoolNaive', 'a pool has solvers of its own';

# --- the files ---

my ($db) = glob "$out/*.sjdb";
my ($find) = glob "$out/*.fdb.txt";
is_deeply [read_file($find) =~ /^([^=]+)=/mg], [$plain], 'a find-db has the problem that MIOpen can name';
my ($perf) = glob "$out/*.db.txt";
unlike defined $perf ? read_file($perf) : '', qr/pool|relu|_sx/, 'and a perf-db nothing of the others';
my $check = output_of('check', '--json', $out);
ok !(grep { !decode_json($_)->{clean} } split /\n/, $check), 'all files are fit to ship';
status_of('export', '--campaign', 1, '--allow-drift', '--json', '-o', "$folder/again");
my $summary = decode_json(read_file("$folder/out"));
is $summary->{inexpressible}, 3, 'an export counts what no key of MIOpen names';
is_deeply $summary->{inexpressible_by}, {operator => 1, strides => 1, epilogue => 1, tf32 => 0}, 'by its reason';

# --- lookup ---

sub launches {
    my ($rows) = @_;
    return map { @{$_->{launches}} } grep { defined $_->{launches} } @$rows;
}

my $rows = decode_json(output_of('lookup', '--json', $db, $fused))->{entries};
my @tensors = map { $_->{tensor} } grep { $_->{kind} eq 'tensor' } map { @{$_->{args}} } launches($rows);
is_deeply [sort @tensors], [qw(bias residual w x y)], 'the fused solution names its operands';

$rows = decode_json(output_of('lookup', '--json', $db, $strided))->{entries};
my %strides = map { $_->{axis} => $_->{value} / $_->{factor} }
    grep { $_->{kind} eq 'stride' && $_->{tensor} eq 'x' } map { @{$_->{args}} } launches($rows);
is $strides{N}, 300, 'the strided one runs with its own strides';

like output_of('lookup', $db, $pool), qr/^\* PoolNaive/m, 'the pool is found';

my $other = "${plain}_sx999x64x0x8x1";
is status_of('lookup', $db, $other), 1, 'other strides are another problem';
my ($answer) = @{decode_json(output_of('lookup', '--json', '--choose', $db, $other))->{answers}};
is "$answer->{how} $answer->{solver}", 'packed tensors ConvDirectNaive',
    'which the solver of any strides answers, as measured with packed tensors';
ok $answer->{ready}, 'with launches that are ready';
%strides = map { $_->{axis} => $_->{value} / $_->{factor} }
    grep { $_->{kind} eq 'stride' && $_->{tensor} eq 'x' } map { @{$_->{args}} } @{$answer->{launches}};
is $strides{N}, 999, 'and take the strides that were asked for';

# --- merge ---

my %lost = map { $_->{what} => $_->{count} }
    @{decode_json(output_of('merge', '--json', '-o', "$folder/merged.fdb.txt", $db))->{not_expressible}};
is $lost{'keys of operators other than convolutions'}, 1, 'a find-db made of the .sjdb says which operators it cannot hold';
is $lost{'keys with strided tensors'}, 1, 'strides';
is $lost{'keys with an epilogue'}, 1, 'and epilogues';
output_of('merge', '-o', "$folder/merged.sjdb", $db);
ok read_file("$folder/merged.sjdb") eq read_file($db), 'a .sjdb holds all of it';

system("'$program' db stop >/dev/null 2>&1");
done_testing;
