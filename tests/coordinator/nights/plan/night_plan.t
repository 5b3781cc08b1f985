#!/usr/bin/perl
# `skipjack run NIGHT` with --dry-run, --why and --schema, and what it says to wrong files. This machine's device tunes
# two problems with two solvers; a list is behind a web server on loopback, which is then gone.
use strict;
use warnings;
use lib 'tests/support';
use IO::Socket::INET;
use JSON::PP qw(decode_json encode_json);
use ScratchProgram qw($folder run json_of write_file);
use Test::More;

my $key = '8-8-8-1x1-8-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F';
my $second = '16-8-8-1x1-8-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F';
my %night = (
    name => 'small',
    targets => ['local'],
    problems => [{file => 'list.txt', runs => 10}],
    solvers => ['ConvDirectNaive', 'ConvCpuGemm'],
    search => {configs => 1},
    again => {sample => 0, noisy_spread => 100},
);

sub describe {
    write_file("$folder/night.json", encode_json({%night, @_}));
    return "$folder/night.json";
}

# ---- without a database ----
{
    my ($out, $errors, $status) = run('run', '--schema');
    is($status, 0, '--schema needs no file');
    my $schema = decode_json($out);
    is($schema->{'$schema'}, 'https://json-schema.org/draft/2020-12/schema', 'it is a JSON Schema');
    ok($schema->{properties}{targets}, 'of nights');
}
for (
    [{again => {sample => 3}}, 'again.sample: takes a number from 0 to 1, not 3'],
    [{problems => [{file => 'x', bach => 1}]}, "problems\\[0\\].bach: there is no such field; did you mean 'batch'"],
    [{solvers => ['ConvNothing']}, "solvers: there is no solver .*'ConvNothing'"],
) {
    my ($change, $message) = @$_;
    my ($out, $errors, $status) = run('run', '--dry-run', describe(%$change));
    is($status, 2, 'a wrong description is wrong usage');
    like($errors, qr/cannot read the night '\Q$folder\E\/night.json': $message/, 'and its field is named');
}
write_file("$folder/broken.json", "{\n\"targets\": [],\n}\n");
write_file("$folder/array.json", '[{"targets": ["local"]}]');
write_file("$folder/empty.json", '');
for (["$folder/broken.json", qr/line 3/], ["$folder/none.json", qr/none.json/], ["$folder/array.json", qr/an object is expected/],
    ["$folder/empty.json", qr/empty.json', line 1/]) {
    my ($out, $errors, $status) = run('run', '--dry-run', $_->[0]);
    isnt($status, 0, 'a file that cannot be read fails');
    like($errors, $_->[1], 'and it is said why');
}
write_file("$folder/campaign.json", '{"target": "local", "problems": "list.txt"}');
for ('--dry-run', '--json', "--why $key", '--night 2026-11-23') {
    my ($out, $errors, $status) = run('run', $_, "$folder/campaign.json");
    is($status, 2, "$_ of one campaign is wrong usage");
    like($errors, qr/belongs to nights/, 'which is said');
}
is((run('run'))[2], 2, 'run needs a file');
like((run('run', '--dry-run', '--night', '2999-01-01', describe()))[1], qr/nights before it do not count what it measures/,
    'a night of the future is warned of');
for (['--night', 'tonight'], ['--why', 'this']) {
    my ($out, $errors, $status) = run('run', '--dry-run', @$_, describe());
    is($status, 2, "$_->[0] $_->[1] is wrong usage");
    like($errors, qr/$_->[0]/, 'and the option is named');
}

# ---- a night before and after its problems are tuned ----
write_file("$folder/list.txt", "$key\n");
sub planned { return json_of('run', '--dry-run', describe(@_)) }
sub reasons { return {map { $_->{reason} => $_->{pairs} } @{$_[0]{targets}[0]{reasons}}} }

my $plan = planned();
is($plan->{name}, 'small', 'the plan names the night');
like($plan->{night}, qr/^\d{4}-\d\d-\d\d$/, 'and its date');
is_deeply(reasons($plan), {'new problem' => 2}, 'each job of a new problem has that reason');
is($plan->{targets}[0]{estimate}{jobs_by}{guess}, 2, 'without history the estimate is a guess');
ok($plan->{targets}[0]{estimate}{gpu_hours} > 0, 'in hours of the device');
is(scalar @{$plan->{targets}[0]{job_list}}, 2, 'all jobs are listed');
is_deeply(json_of('campaign', 'list'), [], 'a dry run makes no campaign');
is_deeply(json_of('problems'), [], 'and stores no problem');

my ($out, $errors, $status) = run('run', '--dry-run', describe(budget => {node_hours => 0.0000001}));
is($status, 0, 'a dry run is for people, too');
like($out, qr/^new problem +1 +2 /m, 'with a row for each reason');
like($out, qr/about 0 of 2 jobs fit/, 'and what fits into the budget');

is((run('tune', "$folder/list.txt", '--solvers', 'ConvDirectNaive,ConvCpuGemm', '--configs', 1,
        '--allow-drift', '-o', "$folder/out"))[2], 0, 'the problem is tuned');
is((run('db', 'collect'))[2], 0, 'and upkeep gathers its history');
$plan = planned();
is_deeply(reasons($plan), {unchanged => 2}, 'then nothing is left to do');
is($plan->{caps}{jobs}, 0, 'and nothing is planned');
write_file("$folder/list.txt", "$key\n$second\n");
$plan = planned();
is_deeply(reasons($plan), {unchanged => 2, 'new problem' => 2}, 'a problem that comes in is planned alone');
is($plan->{targets}[0]{estimate}{jobs_by}{guess}, 2, 'few configs are no measure of a rate')
    or diag(encode_json($plan->{targets}[0]{estimate}));

# ---- why ----
my $why = json_of('run', '--why', $key, describe());
ok($why->{in_night}, 'the night has the problem');
my %of = map { $_->{solver} => $_ } @{$why->{solvers}};
is($of{ConvCpuGemm}{reason}, 'unchanged', 'a solver that was measured is unchanged');
like($of{ConvCpuGemm}{detail}, qr/^measured in the night \d{4}-\d\d-\d\d with /, 'since when, and with which software');
is($of{ConvFft}{reason}, 'not applicable', 'another one does not serve the problem');
ok($of{ConvFft}{detail}, 'for a reason');
is($of{ConvDirectTiled}{detail}, "the description's solvers leave it out", 'a third one was not asked for');
$why = json_of('run', '--why', '8-9-9-1x1-8-9-9-1-0x0-1x1-1x1-0-NCHW-FP32-F', describe());
ok(!$why->{in_night}, 'any problem can be asked about');

# ---- a list behind HTTP ----
my $server = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1', ReuseAddr => 1) or die $!;
my $port = $server->sockport;
my $pid = fork // die $!;
if ($pid == 0) {
    while (my $client = $server->accept) {
        while (defined(my $line = <$client>)) { last if $line =~ /^\r?$/ }
        my $body = "$key\n$second\n";
        print $client "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nConnection: close\r\nContent-Length: "
            . length($body) . "\r\n\r\n$body";
        close $client;
    }
    require POSIX;
    POSIX::_exit(0);
}
close $server;
my @url = (problems => [{url => "http://127.0.0.1:$port/today.txt", runs => 2}]);
$plan = planned(@url);
is($plan->{problems}, 2, 'a list is read from a server');
ok(!$plan->{sources}[0]{stale}, 'which answered');
kill 'KILL', $pid;
waitpid $pid, 0;
$plan = planned(@url);
is($plan->{problems}, 2, 'without the server the last copy is used');
ok($plan->{sources}[0]{stale}, 'and the plan says so');
($out) = run('run', '--dry-run', describe(@url));
like($out, qr/the copy of \d{4}-/, 'to people, too');

# ---- a night whose solvers serve nothing ----
($out, $errors, $status) = run('run', describe(targets => ['gfx90a68'], solvers => ['ConvCpuGemm']));
is($status, 0, 'a night without work ends at once');
like($errors, qr/0 jobs; no solver serves \d+ problems on gfx90a68/, 'and says that no solver serves its problems');

done_testing;
