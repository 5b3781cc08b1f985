#!/usr/bin/perl
# `skipjack lookup`: a problem's entries and a file's contents, read from the small database of the fuzz corpus.
use strict;
use warnings;
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use JSON::PP qw(decode_json);
use Test::More;

my $program = $ENV{SKIPJACK} // 'build/skipjack';
-x $program or plan skip_all => "$program is not built";
my $db = 'tests/fuzz/corpus/sjdb/small';
my $key = '64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F';

# Returns the output (with errors) and the exit status.
sub run {
    my $output = qx('$program' lookup @_ 2>&1);
    return ($output, $? >> 8);
}

my ($text, $status) = run($db, $key);
is $status, 0, 'a problem that is held';
like $text, qr/^\* ConvC<2> +0\.333333 +65536/m, 'the fastest is marked';
like $text, qr/^  GemmB +12\.25 +4096/m, 'the other is not';

($text) = run('--json', $db, $key);
my $answer = decode_json($text);
is $answer->{key}, $key, 'JSON has the key';
is_deeply [map { $_->{solver} } @{$answer->{entries}}], ['GemmB', 'ConvC<2>'], 'the entries in the order of the file';
is_deeply [map { $_->{best} ? 1 : 0 } @{$answer->{entries}}], [0, 1], 'and which is the best';
is $answer->{entries}[0]{dynamic}, undef, 'what is not known of a solver is null';
is $answer->{entries}[0]{low_ms}, undef, 'nor is there an interval of a time that was measured once';

($text) = run('--json', '--workspace', 4096, $db, $key);
is_deeply [map { "$_->{solver} $_->{best}" } @{decode_json($text)->{entries}}], ['GemmB 1'], 'a limit of workspace';
($text, $status) = run('--workspace', 4095, $db, $key);
is $status, 1, 'nothing within the limit';
like $text, qr/holds the problem, but no entry within/, 'is said';
($text, $status) = run('--dynamic', $db, $key);
is $status, 1, 'no dynamic solver';
like $text, qr/holds the problem, but no entry within/, 'is said';
(my $absent = $key) =~ s/-F\b.*/-W/;
($text, $status) = run($db, $absent);
is $status, 1, 'a problem that is not there';
like $text, qr/does not hold the problem/, 'is named as such';

# Another file of the corpus has intervals of times.
my ($timed, $twice) = ('tests/fuzz/corpus/sjdb/intervals', '64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F');
like +(run($timed, $twice))[0], qr/^\* ConvA +0\.05 .*\n    measured a second time: 0\.049 to 0\.0515 ms$/m,
    'a time with the interval of its second measurement';
is_deeply [@{decode_json((run('--json', $timed, $twice))[0])->{entries}[0]}{qw(low_ms high_ms)}], [0.049, 0.0515], 'in JSON, too';
like +(run('--choose', $timed, $twice))[0], qr/^ +interval +0\.049 to 0\.0515 ms$/m, 'and chosen';
is decode_json((run('--stats', '--json', $timed))[0])->{intervals}, 10, 'and counted';

($text, $status) = run('--stats', '--json', $db);
my $stats = decode_json($text);
is $status, 0, 'stats';
is "$stats->{problems} $stats->{perf_rows} $stats->{perf_entries} $stats->{solutions} $stats->{kernels}", '10 2 3 2 3',
    'count what is there';
my $sum = 0;
$sum += $_->{problems} for @{$stats->{coverage}};
is $sum, 10, 'coverage has every problem once';
$sum = 0;
$sum += $_->{wins} for @{$stats->{solvers}};
is $sum, 10, 'every problem has a winner';
cmp_ok $stats->{bytes}, '<', -s $db, 'the sections are in the file';
ok((grep { $_->{name} eq 'find payload' && $_->{items} > 40 } @{$stats->{sections}}), 'sections have names');
($text) = run('--stats', $db);
like $text, qr/^10 problems, 15 entries, 0 of them measured a second time; 2 perf rows, 3 params; 2 solutions of 2 problems; 3 kernels$/m, 'and in words';

my $solved = '64-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F';
($text) = run($db, $solved);
like $text, qr/^\* ConvA .*8,16\n    conv\.cl\.o other, 192000x2x1 in 64x1x1 \(y, workspace \+ 0, 64, -64, 0\.5, stride x\.C = 3136\)\n/m,
    'a solution: its params, and a line a launch';
($text) = run('--json', $db, $solved);
my $launches = decode_json($text)->{entries}[0]{launches};
is scalar @$launches, 2, 'in JSON the launches';
is_deeply [@{$launches->[1]}{qw(kernel options entry grid block local_bytes)}],
    ['conv.cl.o', '', 'other', [192000, 2, 1], [64, 1, 1], 0], 'with what is launched';
is_deeply $launches->[1]{args}, [{kind => 'tensor', tensor => 'y'}, {kind => 'workspace', value => 512},
    {kind => 'int32', value => 64}, {kind => 'int64', value => -64}, {kind => 'float', value => 0.5},
    {kind => 'stride', tensor => 'x', axis => 'C', factor => 1, value => 3136}], 'and each argument';
is $answer->{entries}[0]{launches}, undef, 'null where the file does not say how';

($text, $status) = run($db, '1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-W');
is $status, 1, 'a problem that is not held';
($text, $status) = run($0, $key);
is $status, 1, 'a file that is no database';
like $text, qr/cannot read '\Q$0\E': the file is no \.sjdb/, 'is named with the reason';
($text, $status) = run('none', $key);
like $text, qr/No such file/, 'a file that is not there';
like +(run($db, '1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-W'))[0], qr/--choose asks near problems/,
    '--choose is named as the other way';

# Returns the answers of `lookup --choose --json`.
sub answers { return decode_json((run('--choose', '--json', @_))[0])->{answers} }

my $near = '64-56-56-3x3-64-56-56-64-1x1-1x1-1x1-0-NCHW-FP32-F';
my ($chosen) = @{answers($db, $key)};
is "$chosen->{how} $chosen->{solver} $chosen->{time} $chosen->{database}", 'exact ConvC<2> measured small', 'what is held';
ok $chosen->{checked}, 'needs no check';
($chosen) = @{answers($db, $near)};
is "$chosen->{how} $chosen->{problem} $chosen->{time}", "nearest problem $key scaled", 'near problems are asked';
ok !$chosen->{checked}, 'is not checked where the target is not known';
($text, $status) = run('--choose', $db, $near);
is $status, 0, 'in words';
like $text, qr/^run +ConvC<2>\n +found +nearest problem \Q$key\E, distance 1\.00, in small\n/, 'the solver and its problem';
like $text, qr/^ +workspace +131072 bytes, scaled\n +unchecked/m, 'with what is scaled and what is not known';

($chosen) = @{answers($db, '3-56-56-3x3-64-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F+bias+relu')};
is "$chosen->{how} $chosen->{solver} $chosen->{time}", 'exact ConvA unknown', 'launches without times';
ok $chosen->{ready}, 'are ready to run';
is scalar @{$chosen->{launches}}, 2, 'and told';

my $folder = tempdir(CLEANUP => 1);
copy($db, "$folder/$_.sjdb") for qw(gfx90a68 gfx90878 sm_90_132_80g);
($chosen) = @{answers('--target', 'gfx90a6e', $folder, $key)};
is "$chosen->{how} $chosen->{database}", 'other target gfx90a68.sjdb', 'a folder, the nearest target first';
($chosen) = @{answers('--target', 'gfx908_40', "$folder/gfx90a68.sjdb", "$folder/gfx90878.sjdb", $key)};
is $chosen->{database}, 'gfx90878.sjdb', 'files, likewise';
my $unheard = '16-28-28-3x3-32-28-28-4-1x1-1x1-1x1-0-NCHW-FP64-F';
($chosen) = @{answers("$folder/gfx90a68.sjdb", $unheard)};
is $chosen->{how}, 'estimate', 'nothing near: our own solvers estimate';
ok $chosen->{checked}, 'and say that they are applicable';
like $chosen->{algorithm}, qr/^miopenConvolutionFwdAlgo/, 'as which algorithm';
is answers('--mode', 'fast', "$folder/gfx90a68.sjdb", $key)->[0]{dynamic}, JSON::PP::true, 'dynamic solvers alone';
is_deeply [map { "$_->{role} $_->{how}" } @{answers('--mode', 'hybrid', "$folder/gfx90a68.sjdb", $key)}],
    ['run nearest problem', 'compile exact'], 'one to run now, and one to compile';
($chosen) = @{answers('--workspace', 0, "$folder/gfx90a68.sjdb", $key)};
is $chosen->{workspace_bytes}, 0, 'a limit of workspace';

copy($0, "$folder/gfx90a40.sjdb");
($text, $status) = run('--choose', '--target', 'gfx90a68', $folder, $key);
is $status, 1, 'a folder with a file that is no database';
like $text, qr{cannot read '\Q$folder\E/gfx90a40\.sjdb'.*^run +ConvC<2>}ms, 'is answered from the others';
($text, $status) = run('--choose', $folder, $key);
like $text, qr/--target says/, 'a folder needs a target';
is $status, 1, 'and has none';
($text, $status) = run('--choose', '--target', 'gfx90a68', $db, $key);
like $text, qr/'small' is named after no target/, 'so do file names';
($text, $status) = run('--choose', $db, $unheard);
is $status, 1, 'no answer at all';
like $text, qr/nothing near/, 'is said';

# ---- a list of problems

open my $list, '>', "$folder/list.txt" or die $!;
print $list "2\t$key\n$unheard\n";
close $list;
($text, $status) = run('--choose', "$folder/gfx90a68.sjdb", '--problems', "$folder/list.txt");
like $text, qr/^ +2  \Q$key\E +\S+ +exact /m, 'a list is answered line by line';
like $text, qr/^1 exact$/m, 'and it is counted how answers were found';
my $whole = decode_json((run('--choose', '--json', "$folder/gfx90a68.sjdb", '--problems', "$folder/list.txt"))[0]);
is_deeply [map { "$_->{multiplicity} $_->{key}" } @{$whole->{problems}}], ["2 $key", "1 $unheard"], 'as JSON, too';
(undef, $status) = run('--problems', "$folder/list.txt", $db, $key);
is $status, 2, '--problems belongs to --choose';
($text, $status) = run('--choose', $db, '--problems', "$folder/none.txt");
is $status, 1, 'a list that is not there fails';

for my $wrong (['nothing'], ['a key', $db], ['no key', $db, 'no-key'], ['a key too many', '--stats', $db, $key],
    ['a mode that is none', '--choose', '--mode', 'slow', $db, $key], ['a mode without --choose', '--mode', 'fast', $db, $key],
    ['a target that is none', '--choose', '--target', 'mine', $db, $key], ['--choose without a key', '--choose', $db],
    ['--choose with --dynamic', '--choose', '--dynamic', $db, $key], ['two files', $db, $db, $key],
    ['a limit with --stats', '--stats', '--dynamic', $db], ['a limit below 0', '--workspace', -2, $db, $key]) {
    my ($label, @words) = @$wrong;
    (undef, $status) = run(@words);
    is $status, 2, "wrong usage: $label";
}
done_testing;
