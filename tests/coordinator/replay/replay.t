#!/usr/bin/perl
# `skipjack replay` as a user meets it: what --json says is what the trace says when it is counted again; wrong command
# lines; a campaign that tried whole spaces, recorded and replayed.
use strict;
use warnings;
use IO::Uncompress::Gunzip qw(gunzip);
use JSON::PP qw(decode_json encode_json);
use lib 'tests/support';
use ScratchProgram qw($program $folder run json_of write_file read_file);
use Test::More;

# A recorded space of 60 configs, and one of another device with another optimum.
sub cache {
    my ($best) = @_;
    my %cache;
    for my $x (0 .. 9) {
        for my $y ('a' .. 'f') {
            my $far = abs($x - $best) + abs(ord($y) - ord('c'));
            my $time = $far == 3 ? 'RuntimeFailedConfig' : 2 + 0.5 * $far;
            $cache{"$x,$y"} = {X => $x, Y => $y, time => $time, compile_time => 100, benchmark_time => 20,
                $far == 3 ? () : (times => [map { $time + $_ / 50 } -2 .. 2])};
        }
    }
    return encode_json({kernel_name => 'bowl', device_name => "device $best", problem_size => [1],
        tune_params_keys => ['X', 'Y'], tune_params => {}, cache => \%cache});
}
write_file("$folder/one.json", cache(2));
write_file("$folder/other.json", cache(3));

# ---- figures and trace

my $said = json_of('replay', "$folder/one.json", '--prior', "$folder/other.json", '--seeds', 20, '--trace',
    "$folder/trace");
is $said->{space}{configs}, 60, 'every config is there';
is $said->{space}{best_ms}, 2, 'the fastest is known';
my @strategies = sort keys %{$said->{strategies}};
ok @strategies >= 6, 'every strategy is replayed';

my (%tries, $known);
for my $line (split /\n/, read_file("$folder/trace")) {
    my $try = decode_json($line);
    push @{$tries{$try->{strategy}}{$try->{seed}}}, $try;
}
$known = decode_json(cache(2))->{cache};

# The median and the 95th percentile of the tries until one is as fast.
sub count_again {
    my ($searches, $factor) = @_;
    my @counts;
    for my $seed (0 .. 19) {
        my $count = 0;
        for my $try (@{$searches->{$seed}}) {
            $count++;
            is $try->{try}, $count, 'tries are in order' if $try->{try} != $count;
            my $recorded = $known->{"$try->{config}{X},$try->{config}{Y}"}{time};
            is $try->{failure} // $try->{time_ms}, $recorded, 'a try has the recorded result'
                if ($try->{failure} // $try->{time_ms}) ne $recorded;
            last if $recorded =~ /^\d/ && $recorded <= 2 * $factor;
        }
        push @counts, $count;
    }
    @counts = sort { $a <=> $b } @counts;
    return (($counts[9] + $counts[10]) / 2, $counts[18]);
}
for my $strategy (@strategies) {
    my $figures = $said->{strategies}{$strategy};
    for my $mark (['to_5pct', 1.05], ['to_1pct', 1.01], ['to_optimum', 1]) {
        my ($median, $p95) = count_again($tries{$strategy}, $mark->[1]);
        is_deeply [@{$figures->{$mark->[0]}}{qw(median p95 reached)}], [$median, $p95, 20],
            "$strategy $mark->[0] is what the trace says";
    }
}
cmp_ok $said->{strategies}{prior}{to_5pct}{median}, '<', $said->{strategies}{local}{to_5pct}{median},
    'a prior of a near device helps';

my ($table) = run('replay', "$folder/one.json", '--strategy', 'local', '--seeds', 3);
like $table, qr/^bowl on device 2: 60 configs, \d+ failed, the fastest 2 ms.*\nstrategy +to 5 %.*\nlocal /, 'for people it is a table';
# The smaller the gain that a search waits for, the longer it goes on.
my @ends;
for my $gain (50, 5, 0) {
    json_of('replay', "$folder/one.json", '-s', 'random', '--seeds', 1, '--gain', $gain, '--trace', "$folder/gain.jsonl");
    open my $lines, '<', "$folder/gain.jsonl" or die;
    push @ends, scalar(my @all = <$lines>);
}
ok $ends[0] >= 8 && $ends[0] <= $ends[1] && $ends[1] <= $ends[2], "searches end after @ends tries";

my $short = json_of('replay', "$folder/one.json", '-s', 'exhaustive', '--seeds', 2, '--tries', 3);
is_deeply $short->{strategies}{exhaustive}{to_optimum}, {median => undef, p95 => undef, reached => 0,
    seconds => {median => undef, p95 => undef}}, 'what was not reached is null';

# T4 results say neither kernel nor device.
my @results = map { {configuration => {X => $_, Y => 'a'}, times => {compilation => 10, runtimes => [2 + $_]}, correctness => 1,
    invalidity => $_ == 3 ? 'runtime' : 'correct'} } 1 .. 9;
write_file("$folder/t4.json", encode_json({schema_version => '1.0.0', results => \@results}));
my $t4 = json_of('replay', "$folder/t4.json", '-s', 'exhaustive', '--seeds', 2);
is_deeply [@{$t4->{space}}{qw(configs failed best_ms device)}], [9, 1, 3, ''], 'T4 results are replayed, too';

# ---- wrong use

write_file("$folder/cut.json", substr(cache(2), 0, 900));
write_file("$folder/alien.json", '{"tune_params_keys": ["Z"], "cache": {"1": {"Z": 1, "time": 1}, "2": {"Z": 2, "time": 2}}}');
for my $wrong (
    [[], 2, qr/name a recorded space/],
    [["$folder/one.json", "$folder/other.json"], 2, qr/one space is replayed at a time/],
    [["$folder/one.json", '--strategy', 'luck'], 2, qr/there is no strategy 'luck': there are prior, /],
    [["$folder/one.json", '--seeds', 0], 2, qr/--seeds takes/],
    [["$folder/one.json", '--output', 'x'], 2, qr/go with --record/],
    [['--record', 1], 2, qr/name it with --output/],
    [["$folder/none.json"], 1, qr/none\.json/],
    [["$folder/cut.json"], 1, qr/cut\.json': line \d+, column \d+/],
    [["$folder/one.json", '--prior', "$folder/alien.json"], 1, qr/alien\.json' has no parameter 'X'/],
    [["$folder/one.json", '--trace', "$folder/no/such"], 1, qr{cannot write '.*no/such'}])
{
    my ($words, $status, $says) = @$wrong;
    my (undef, $errors, $code) = run('replay', @$words);
    is $code, $status, "replay @$words";
    like $errors, $says, 'and the message says why';
}

# ---- recording

SKIP: {
    my (undef, undef, $probe) = run('worker', '--probe', '--eval', 'local');
    skip 'there is no OpenCL device here', 4 if $probe != 0;
    write_file("$folder/list", "8-4-4-1x1-16-4-4-1-0x0-1x1-1x1-0-NCHW-FP32-F\n");
    my ($id, $errors) = run('campaign', 'create', '--target', 'local', '--problems', "$folder/list", '--strategy',
        'exhaustive', '--configs', 0, '--solvers', 'ConvCpuBlocked');
    chomp $id;
    (undef, $errors, my $status) = run('replay', '--record', $id, '-o', "$folder/spaces");
    is $status, 0, 'a campaign without outcomes has no files' or diag $errors;
    run('worker', '--embedded', '--until-empty', '--campaign', $id, '--sample-seconds', 0.001);
    (undef, $errors, $status) = run('replay', '--record', $id, '-o', "$folder/spaces", '--note', "'as a test'");
    is $status, 0, 'one that has tried its whole space has' or diag $errors;
    my ($file) = glob "$folder/spaces/*.json.gz";
    gunzip $file => \my $text;
    my $space = decode_json($text);
    is scalar(@{$space->{configs}}), $space->{space_configs}, 'every config of the space is in the file';
    my $schema = decode_json(read_file('coordinator/replay/recorded_space.schema.json'));
    is_deeply [sort keys %$space], [sort @{$schema->{required}}], 'its members are those of the schema';
    my $again = json_of('replay', $file, '--seeds', 5, '-s', 'local');
    is $again->{strategies}{local}{to_optimum}{reached}, 5, 'the file can be replayed';
}

done_testing;
