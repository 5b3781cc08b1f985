#!/usr/bin/perl
# `autotune` and `run-network` on a small model: the knobs are tried, the file says what came of each, a second run tunes
# nothing, the file is applied, and one that does not fit is refused with the reason.
use strict;
use warnings;
use JSON::PP qw(decode_json encode_json);
use lib 'tests/support';
use Exposition qw(wait_for);
use ScratchProgram qw($program $folder write_file read_file);
use SmallModel;
use Test::More;

my $model = "$folder/small.onnx";
my $tuned = "$folder/tuned.json";
write_file($model, small_model(10, 0));

# The program's status; its output is in "$folder/out", its messages in "$folder/err".
sub status_of {
    my @words = map { "'$_'" } @_;
    return system("timeout 500 '$program' @words >'$folder/out' 2>'$folder/err'") >> 8;
}
sub printed { return read_file("$folder/out") }
sub said    { return read_file("$folder/err") }

my @quick = ('--configs', 1, '--final-seconds', 0, '--seconds', '0.02', '--solvers',
    'ConvCpuDirect,ConvDirectNaive,PointwisePieces,PoolGlobal,PoolNaive');

# --- what would be done ---

is status_of('autotune', $model, '--fusion', 'pick_global', '--dry-run'), 0, 'a dry run ends well' or diag said();
like printed(), qr/fusion=none: 7 steps, 6 problems/, 'it counts steps and problems';
like printed(), qr/fusion=all: 3 steps, 1 problems that no combination above has/,
    'what combinations share counts once';
ok !-e $tuned, 'and writes nothing';

# --- tuning ---

is status_of('autotune', $model, '--fusion', 'pick_global', '--no-prune', '-o', $tuned, @quick), 0,
    'a network is tuned for all levels of fusion' or diag said();
like printed(), qr/^\* FP32\s+NCHW/m, 'a winner is marked';
my $file = decode_json(read_file($tuned));
is scalar @{$file->{combinations}}, 3, 'the file has the combinations';
is scalar(grep { $_->{state} eq 'measured' } @{$file->{combinations}}), 3, 'all of them measured';
my ($all) = grep { $_->{fusion} eq 'all' } @{$file->{combinations}};
is scalar @{$all->{steps}}, 3, 'fused there are three steps';
is scalar(grep { $_->{problem} =~ /\+bias\+relu$/ } @{$all->{steps}}), 1, 'one with bias and activation';
is scalar(grep { $_->{problem} =~ /\+add\(FP32,NCHW\)\+relu$/ } @{$all->{steps}}), 1,
    'one with the residual and activation';
cmp_ok $all->{max_error}, '<', 1e-5, 'the outputs are those of the network in FP32';
# The place of the combination that has to win: by the second measurement, else by the first.
sub place_of_best {
    my ($list) = @_;
    my $key = (grep { $_->{final_ms} } @$list) ? 'final_ms' : 'pipeline_ms';
    my ($best) = sort { $list->[$a]{$key} <=> $list->[$b]{$key} } grep { $list->[$_]{$key} } 0 .. $#$list;
    return $best;
}
is $file->{winner}, place_of_best($file->{combinations}), 'the winner has the shortest pipeline';
ok !$all->{graph}, 'a CPU has no graphs of launches';

is status_of('autotune', $model, '--fusion', 'pick_global', '-o', $tuned, @quick), 0, 'a second run ends well';
like said(), qr/3 of the combinations are in '.*tuned\.json' already/, 'and tunes nothing again';

# --- Ctrl-C ---

my @slow = ('autotune', $model, '--no-prune', '--configs', 64, '--all-solvers', '--seconds', '0.02', '-o',
    "$folder/stopped.json");
my $stopped = fork // die $!;
if ($stopped == 0) {
    open STDOUT, '>', "$folder/out";
    open STDERR, '>', "$folder/err";
    exec $program, @slow;
    exit 127;
}
wait_for(sub { said() =~ /^campaign /m });
kill INT => $stopped;
waitpid $stopped, 0;
is $? >> 8, 130, 'Ctrl-C is said by the status' or diag said();
like said(), qr/the same command goes on where it was/, 'and how to go on';
ok !-e "$folder/stopped.json", 'no file is written before a combination is done';
is status_of(@slow, '--budget', 1, @quick), 0, 'the same command goes on' or diag said();

# --- applying ---

is status_of('run-network', $model, '--apply', $tuned, '--seconds', '0.02', '--layers'), 0, 'the file is applied'
    or diag said();
like printed(), qr/each of \d steps verified/, 'each step is verified';
like printed(), qr/top class equal in 100 %/, 'and the top class is that of FP32';
is status_of('run-network', $model, '--apply', $tuned, '--seconds', '0.02', '--json'), 0, 'as JSON, too';
is decode_json(printed())->{combinations}[0]{state}, 'measured', 'in the same form';

sub changed {
    my ($change) = @_;
    my $copy = decode_json(read_file($tuned));
    $change->($copy);
    write_file("$folder/changed.json", encode_json($copy));
    return "$folder/changed.json";
}
for my $case (
    [qr/it is for the target gfx942130, this is cpu-/, sub { $_[0]{target} = 'gfx942130' }],
    [qr/it is for the batch 2, this is 1/, sub { $_[0]{batch} = 2 }, '--batch', 1],
    [qr/for revision 99 of \w+, this program has revision \d+; tune again/,
        sub { $_->{revision} = 99 for map { @{$_->{steps}} } @{$_[0]{combinations}} }],
    [qr/there the step is .*, here it is/,
        sub { $_->{problem} =~ s/-F/-B/ for map { @{$_->{steps}} } @{$_[0]{combinations}} }],
    [qr/it has \d steps, the network has \d here/,
        sub { pop @{$_->{steps}} for @{$_[0]{combinations}} }],
    [qr/has no winner/, sub { $_[0]{winner} = -1 }],
    [qr/winner is 7, which is no measured combination/, sub { $_[0]{winner} = 7 }],
    [qr/combinations\[0\]\.dtype: .*FP31/, sub { $_[0]{combinations}[0]{dtype} = 'FP31' }],
    [qr/skipjack_tuned/, sub { $_[0]{skipjack_tuned} = 2 }],
) {
    my ($words, $change, @more) = @$case;
    isnt status_of('run-network', $model, '--apply', changed($change), @more), 0, "refused: $words";
    like said(), $words, 'with the reason';
}
write_file("$folder/other.onnx", small_model(10, 1));
isnt status_of('run-network', "$folder/other.onnx", '--apply', $tuned), 0, 'another model is refused';
like said(), qr/it is for a model with the SHA-256 [0-9a-f]{64}, this is [0-9a-f]{64}; tune again/, 'by its sum';
write_file("$folder/no.json", '{"skipjack_tuned": 1,');
isnt status_of('run-network', $model, '--apply', "$folder/no.json"), 0, 'no JSON is refused';
like said(), qr/cannot read '.*no\.json', line 1/, 'with the line';

# --- all knobs at once ---

my $tiny = "$folder/tiny.onnx";
write_file($tiny, tiny_model());
is status_of('autotune', $tiny, '-o', "$folder/picked.json", (map { ("--$_", 'pick_global') } qw(dtype layout fusion)),
    qw(--knob ConvDirectNaive= --knob PointwiseNaive= --no-prune --seconds 0.005 --final-seconds 0)), 0, 'all knobs are picked by measuring'
    or diag said();
$file = decode_json(read_file("$folder/picked.json"));
my %seen = map { join(' ', @$_{qw(dtype layout fusion)}) => $_->{state} } @{$file->{combinations}};
is scalar keys %seen, 3 * 2 * 3, 'each type with each layout and each level of fusion';
is join(' ', grep { $seen{$_} ne 'measured' } sort keys %seen), '', 'was measured';
is $file->{winner}, place_of_best($file->{combinations}), 'and the quickest of all wins';

# In INT8 the kernels do bias and activation with any fusion: this network is the same unfused.
$file->{combinations} = [grep { $_->{dtype} eq 'INT8' && $_->{layout} eq 'NCHW' } @{$file->{combinations}}];
$file->{winner} = -1;
write_file("$folder/picked8.json", encode_json($file));
is status_of('report', '--fusion', "$folder/picked8.json"), 0, 'a network in which nothing is fused has a report' or diag said();
like printed(), qr/'all' and 'none' make the same steps of this network, so there is nothing to compare. In INT8/,
    'which says why it is empty';
unlike said(), qr/running/, 'and runs nothing';

# --- the end: configs are exchanged, the quickest measured again ---

# Two combinations that are equally quick, of which one has no good config.
my $again = changed(sub {
    my $list = $_[0]{combinations};
    @$list = grep { $_->{fusion} ne 'activation' } @$list;
    for my $one (@$list) {
        @$one{qw(pipeline_ms final_ms)} = (1, 0);
        next if $one->{fusion} ne 'all';
        for my $step (grep { $_->{solver} =~ /^Conv/ } @{$one->{steps}}) {
            delete $step->{config};
            @$step{qw(solver revision)} = ('ConvDirectNaive', 2);
        }
    }
    $_[0]{winner} = 0;
});
is status_of('autotune', $model, '--fusion', 'all', '-o', $again, @quick), 0, 'a file is taken up at its end' or diag said();
like said(), qr/fusion=$_: trying configs that won in other combinations\n  \d of [12] problems? take/,
    "configs of the other are tried with fusion $_" for qw(none all);
like said(), qr/measuring the quickest 2 in turns/, 'and both are measured again';
like printed(), qr/the quickest again, in \d+ turns/, 'which is reported';
$file = decode_json(read_file($again));
is $file->{winner}, place_of_best($file->{combinations}), 'by that the winner is chosen';
is scalar(grep { $_->{final_ms} > 0 && $_->{final_turns} >= 15 && $_->{final_low} <= $_->{final_ratio}
            && $_->{final_ratio} <= $_->{final_high} } @{$file->{combinations}}), 2, 'with an interval for each';
is $file->{combinations}[$file->{winner}]{final_ratio}, 1, 'of the ratio to the winner';
my ($fused) = grep { $_->{fusion} eq 'all' } @{$file->{combinations}};
is join(' ', map { !!$_->{exchanged} } @{$fused->{steps}}),
    join(' ', map { $_->{solver} eq 'ConvCpuDirect' } @{$fused->{steps}}), 'the steps that took a config say so';
is status_of('autotune', $model, '--fusion', 'all', '-o', $again, @quick), 0, 'a file that is complete ends at once';
unlike said(), qr/in turns|trying configs/, 'and nothing is measured again';
is status_of('run-network', $model, '--apply', $again, '--seconds', '0.02'), 0, 'it is applied like any other' or diag said();

# --- what fusing gains ---

is status_of('report', '--fusion', $tuned), 0, 'fusion is reported' or diag said();
like printed(), qr/^2 subgraphs; \d winners differ/m, 'for its two subgraphs';
like printed(), qr/^pipeline: unfused [\d.]+ ms, fused with configs tuned alone [\d.]+ ms/m, 'and the whole';
like printed(), qr/^  tuned fused against tuned alone: [\d.]+ \([\d.]+ to [\d.]+\) of the time/m, 'with the interval of the ratio';
like printed(), qr/^Times are medians of \d+ turns, in each of which all three ran/m, 'since the three took turns';
is status_of('report', '--fusion', $tuned, '--json'), 0, 'as JSON, too' or diag said();
my ($fusion) = @{decode_json(printed())};
cmp_ok $fusion->{turns}, '>=', 7, 'with the number of turns';
for my $ratio (map { $fusion->{$_} } qw(alone_over_unfused fused_over_unfused fused_over_alone)) {
    ok $ratio->{low} <= $ratio->{median} && $ratio->{median} <= $ratio->{high}, 'a ratio lies in its interval';
    is !!$ratio->{within_noise}, $ratio->{low} <= 1 && $ratio->{high} >= 1, 'which says whether it is noise';
}
isnt status_of('report', '--fusion', 'resnet51'), 0, 'a network of which nothing was tuned is refused';
like said(), qr/no file of autotune in this folder is of a network of this name; make one: skipjack autotune/,
    'with what to do';

# --- pins, types, samples ---

# No solver that is asked for serves the last step, a pool.
my @one = ('--no-prune', '--configs', 1, '--final-seconds', 0, '--seconds', '0.02', '--solvers', 'ConvCpuDirect', '-o', "$folder/pinned.json");
is status_of('autotune', $model, '--knob', 'ConvDirectNaive=', @one), 0, 'a solver is pinned' or diag said();
like said(), qr/step 'mean' is untuned: no config of any solver was measured for it; Pool\w+.* does it, by its estimate/,
    'a step that was not tuned is done by estimate, and named';
$file = decode_json(read_file("$folder/pinned.json"));
is join(' ', map { $_->{name} } grep { $_->{estimated} && !$_->{pinned} } @{$file->{combinations}[0]{steps}}), 'mean',
    'in the file, too';
is scalar(grep { $_->{pinned} && $_->{solver} eq 'ConvDirectNaive' } @{$file->{combinations}[0]{steps}}), 2,
    'where it fits';
isnt status_of('autotune', $model, '--knob', 'ConvNowhere=1'), 0, 'an unknown solver is refused';
like said(), qr/there is no solver 'ConvNowhere'/, 'by its name';
# No solver of a CPU computes in TF32: those of FP32 serve it.
is status_of('autotune', $model, '--dtype', 'tf32', '--no-prune', @quick, '-o', "$folder/tf32.json"), 0, 'TF32 is permitted' or diag said();
$file = decode_json(read_file("$folder/tf32.json"));
is join(' ', map { "$_->{dtype} $_->{state}" } @{$file->{combinations}}), 'TF32 measured', 'a combination of its own, with right outputs';
cmp_ok $file->{combinations}[0]{cosine}, '>', 0.9999, 'which are those of the network';
is scalar(grep { $_->{problem} =~ /_cxTF32/ } @{$file->{combinations}[0]{steps}}), 2, 'the convolutions are in TF32';
is status_of('run-network', $model, '--apply', "$folder/tf32.json", '--seconds', '0.02'), 0, 'its pipeline runs' or diag said();

for my $pin ('step:first=PoolNaive:', 'step:nowhere=ConvDirectNaive:') {
    isnt status_of('autotune', $model, '--knob', $pin, '--dry-run'), 0, "a pin that fits nowhere is refused: $pin";
    like said(), qr/can do no step/, 'with the reason';
}
isnt status_of('autotune', $model, '--target', 'gfx90a68', '--dry-run'), 0, 'another target is refused';
like said(), qr/this machine is cpu-\S+, not gfx90a68; autotune works on its own machine/, 'with the way to it';
write_file("$folder/mine.txt", "mine\n");
isnt status_of('autotune', $model, '-o', "$folder/mine.txt", @quick), 0, 'a file of another kind is not overwritten';
like said(), qr/mine\.txt' is in the way, name another file with -o or remove it/, 'it is named';
is read_file("$folder/mine.txt"), "mine\n", 'and stays';

my $open = "$folder/open.onnx";
my @int8 = ('--dtype', 'INT8', '--dim', 'H=10', '--no-prune', @quick, '-o', "$folder/int8.json");
write_file($open, small_model(10, 0, 'H'));
is status_of('autotune', $open, '--fusion', 'none', @int8), 0, 'INT8 is calibrated' or diag said();
is status_of('autotune', $open, '--fusion', 'all', @int8), 0, 'and another combination added to the file' or diag said();
like said(), qr/1 of the combinations are in '.*int8\.json' already/, 'which keeps what it has';
$file = decode_json(read_file("$folder/int8.json"));
$all = $file->{combinations}[-1];
is $all->{fusion}, 'all', 'the last is the new one';
like join(' ', map { $_->{problem} } @{$all->{steps}}), qr/\+requant\(INT8,channel\)/, 'it requantises in the kernels';
cmp_ok $all->{cosine}, '>', 0.99, 'its outputs are near those of FP32';
is $file->{dims}, 'H=10', 'the file says the sizes of open dimensions';
is status_of('run-network', $open, '--apply', "$folder/int8.json", '--seconds', '0.02'), 0,
    'so it is applied without them' or diag said();
isnt status_of('run-network', $open, '--apply', "$folder/int8.json", '--dim', 'H=12'), 0, 'other sizes are refused';
like said(), qr/it is for the --dim H=10, this is H=12; tune again/, 'with both';

my $report = "timeout 500 '$program' report --fusion $file->{network} >'$folder/out' 2>'$folder/err'";
isnt system("cd '$folder' && $report"), 0, 'a network that several files are of is refused';
like said(), qr/\d files of autotune in this folder are of the network '\w+', such as '\w+\.json'.*: name one of them/,
    'with their names';
mkdir "$folder/named" or die $!;
rename "$folder/int8.json", "$folder/named/int8.json" or die $!;
is system("cd '$folder/named' && $report"), 0, 'fusion is reported for a network by its name' or diag said();
like said(), qr/the network '$file->{network}' is in 'int8\.json'/, 'whose file is found';
like printed(), qr/^1 subgraphs; \d winners differ .*, 0 of which cannot be run fused/m,
    'INT8 has what was tuned alone, and its quantising steps belong to the one fused subgraph';

write_file("$folder/x.f32", pack 'f<*', map { $_ % 7 / 7 } 1 .. 300);
is status_of('run-network', $model, '--input', "$folder/x.f32", '--output', "$folder/y.f32", '--seconds', '0.02'),
    0, 'an untuned network runs on a given input' or diag said();
is -s "$folder/y.f32", 8 * 4, 'and its outputs are written';
unlike printed(), qr/alone with cold caches/, 'nothing is said of times alone, which nobody measured';
isnt status_of('run-network', $model, '--input', "$folder/y.f32"), 0, 'an input of another size is refused';
like said(), qr/y\.f32' has 8 elements; input 1 is float32\[1,3,10,10\], 300/, 'with both sizes';

# The bytes of a .npy file of these sizes.
sub npy {
    my ($sizes, @values) = @_;
    my $header = "{'descr': '<f4', 'fortran_order': False, 'shape': ($sizes), }\n";
    return "\x93NUMPY\x01\x00" . pack('v', length $header) . $header . pack 'f<*', @values;
}
my @values = map { $_ % 5 / 5 } 1 .. 300;
for my $sizes ('1, 3, 10, 10', '3, 10, 10', '300,') {
    write_file("$folder/x.npy", npy($sizes, @values));
    is status_of('run-network', $model, '--input', "$folder/x.npy", '--seconds', '0.02'), 0, "an input of ($sizes)"
        or diag said();
}
write_file("$folder/x.npy", npy('1, 10, 10, 3', @values));
isnt status_of('run-network', $model, '--input', "$folder/x.npy"), 0, 'an input in another order is refused';
like said(), qr/has 1 x 10 x 10 x 3 elements; input 1 is float32\[1,3,10,10\]/, 'with both';
write_file("$folder/x.npy", npy('300,', 'nan', @values[1 .. 299]));
isnt status_of('run-network', $model, '--input', "$folder/x.npy"), 0, 'a NaN is refused';
like said(), qr/element 0 is no finite number/, 'with its place';

# --- the schema ---

is status_of('autotune', '--schema'), 0, 'the schema is printed';
is printed(), read_file('coordinator/network/autotune/tuned.schema.json'), 'as it is in the tree (make tuned-schema)';

status_of('db', 'stop');
done_testing;
