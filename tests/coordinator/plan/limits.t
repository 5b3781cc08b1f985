#!/usr/bin/perl
# A campaign's limits, from the command line to the release: what is planned, what workers build and measure, what
# is exported, and which campaign the same request finds.
use strict;
use warnings;
use lib 'tests/support';
use ScratchProgram qw($folder run json_of);
use JSON::PP;
use Test::More;

my $key = '8-28-28-3x3-16-28-28-4-1x1-1x1-1x1-0-NCHW-FP32-W';
open my $file, '>', "$folder/problems.txt" or die $!;
print $file "$key\n";
close $file;
my @create = ('campaign', 'create', '--target', 'local', '--problems', "$folder/problems.txt",
    '--configs', 3, '--strategy', 'random');

sub create {
    my ($output, $errors, $status) = run(@create, @_, '--json');
    is $status, 0, "a campaign with '@_'" or diag $errors;
    return decode_json($output);
}

# ---- Solvers.

my %applies = map { $_->{solver} => $_ } @{json_of('solvers', '--problem', $key, '--target',
    'cpu-znver4_2', '--workspace-limit', '64k', '--dynamic-only', '--tunable-only')};
ok $applies{ConvImplicitGemm}{applicable}, 'a solver that can do with less workspace applies';
cmp_ok $applies{ConvImplicitGemm}{workspace_bytes}, '<=', 65536, 'and says how much it takes then';
like $applies{ConvWinograd}{reason}, qr/more workspace than the limit/, 'another one says why it does not';
like $applies{ConvImplicitGemmStatic}{reason}, qr/only dynamic kernels are asked for/, 'a static one, too';
like $applies{ConvDirectNaive}{reason}, qr/only tunable solvers are asked for/, 'and the naive one';
for (['--workspace-limit', '5X'], ['--workspace-limit', '-1'], ['--solvers', 'winogrand']) {
    my (undef, $errors, $status) = run(@create, @$_);
    is $status, 2, "'@$_' is wrong usage";
    like $errors, qr/\Q$_->[1]\E/, 'and named';
}
my (undef, $errors, $status) = run('solvers', '--dynamic-only');
is $status, 2, 'limits alone ask for nothing' or diag $errors;

(undef, $errors, $status) = run(@create, '--solvers', 'winograd', '--workspace-limit', 0);
is $status, 1, 'limits under which no solver serves a problem make no campaign';
like $errors, qr/skipjack solvers --problem KEY --target \S+ --workspace-limit 0 says why/, 'and it is said how to see why';

# ---- Campaigns.

my @limits = ('--workspace-limit', '0', '--dynamic-only', '--deterministic', '--tunable-only',
    '--solvers', 'winograd,ImplicitGEMM');
my $limited = create(@limits);
is $limited->{jobs}, 1, 'one solver of the two families has no workspace, and one binary for all sizes';
is create(@limits)->{id}, $limited->{id}, 'the same limits are the same campaign';
my %other = map { ("@$_" => create(@$_)->{id}) } ['--solvers', 'winograd,ImplicitGEMM'],
    ['--solvers', 'winograd,ImplicitGEMM', '--workspace-limit', '1TiB'],
    ['--solvers', 'winograd,ImplicitGEMM', '--deterministic'];
is scalar(keys %{{map { $_ => 1 } values %other, $limited->{id}}}), 4, 'other limits are other campaigns';
for my $id (values %other) {
    run('campaign', 'drop', $id, '--yes');
}
my ($shown) = run('campaign', 'show', $limited->{id});
like $shown, qr/^limits: no workspace, dynamic kernels alone, equal results from run to run, tunable solvers alone$/m,
    'show prints the limits';
like $shown, qr/^solvers: winograd,ImplicitGEMM$/m, 'and the solvers asked for';
my $object = json_of('campaign', 'show', $limited->{id});
is_deeply [@$object{qw(workspace_limit dynamic_only deterministic tunable_only solvers)}],
    [0, JSON::PP::true, JSON::PP::true, JSON::PP::true, 'winograd,ImplicitGEMM'], 'so does its JSON';

open $file, '>', "$folder/campaign.json" or die $!;
print $file encode_json({target => 'local', problems => 'problems.txt', configs => 3, strategy => 'random',
    solvers => ['winograd', 'ImplicitGEMM'], workspace_limit => '0', dynamic_only => JSON::PP::true,
    deterministic => JSON::PP::true, tunable_only => JSON::PP::true});
close $file;

# ---- Work, and what comes out.

(undef, $errors, $status) = run('worker', '--embedded', '--until-empty', '--sample-seconds', '0.02');
is $status, 0, 'a worker works on it' or diag $errors;
(undef, $errors, $status) = run('run', "$folder/campaign.json");
is $status, 0, 'a description with these limits finds the campaign, which is done' or diag $errors;
like $errors, qr/the same was asked for before: campaign $limited->{id} /, 'and no other';
$object = json_of('campaign', 'show', $limited->{id});
my $report = json_of('report', '--campaign', $limited->{id});
is_deeply [@$report{qw(workspace_limit dynamic_only deterministic tunable_only solvers)}],
    [0, JSON::PP::true, JSON::PP::true, JSON::PP::true, 'winograd,ImplicitGEMM'], 'its report has the limits';
like +(run('report', '--campaign', $limited->{id}))[0],
    qr/^Solvers that were asked for: winograd,ImplicitGEMM\nLimits: no workspace, dynamic kernels alone, .*$/m,
    'in words, too';
is join(' ', map { "$_->{state} $_->{jobs}" } grep { $_->{jobs} } @{$object->{jobs}}), 'done 1', 'all is done';
(undef, $errors, $status) = run('export', '--campaign', $limited->{id}, '--allow-drift', '-o', "$folder/out");
is $status, 0, 'its results are exported' or diag $errors;
my ($find) = glob("$folder/out/*.fdb.txt");
open $file, '<', $find or die $!;
my @entries = map { /=(.*)/ ? split /;/, $1 : () } <$file>;
cmp_ok scalar(@entries), '>', 0, 'as entries of a find-db';
is_deeply [grep { !/^ConvImplicitGemm:[\d.e+-]+,0,/ } @entries], [], 'without workspace';
(undef, $errors, $status) = run('check', "$folder/out");
is $status, 0, 'which pass their checks' or diag $errors;

done_testing;
