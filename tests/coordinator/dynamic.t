#!/usr/bin/perl
# What dynamism costs, of two tiny layers that are really tuned and really started cold on
# this machine's own device.
use strict;
use warnings;
use File::Temp qw(tempdir);
use JSON::PP qw(decode_json);
use Test::More;

my $program = $ENV{SKIPJACK} // 'build/skipjack';
-x $program or plan skip_all => "$program is not built";

# Not in a folder that only root may enter: as root PostgreSQL runs as another user.
my $folder = tempdir('skipjack-dynamic-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $folder;
$ENV{SKIPJACK_HOME} = "$folder/home";
delete $ENV{SKIPJACK_DB};
END { system "'$program' db stop >/dev/null 2>&1" if $program && -x $program; }

# Standard output, standard error, exit status.
sub run {
    my $output = `timeout 120 '$program' @_ 2>'$folder/errors'`;
    my $status = $? >> 8;
    open my $file, '<', "$folder/errors" or die $!;
    local $/;
    return ($output, scalar(<$file>) // '', $status);
}

sub json_of {
    my ($output, $errors, $status) = run(@_, '--json');
    is $status, 0, "'@_' ends with 0" or diag $errors;
    return decode_json($output);
}

my (undef, $errors, $status) = run('report', '--dynamic');
is $status, 1, 'without a campaign it ends with 1';
like $errors, qr/no campaign yet; skipjack tune/, 'and says what to do';

my $head = './bin/MIOpenDriver conv -n 1 -H 8 -W 8 -p 1 -q 1 -y 3 -x 3 -F 1';
open my $file, '>', "$folder/net.txt" or die $!;
print $file "$head -c 8 -k 8\n$head -c 16 -k 16\n$head -c 8 -k 8\n";
close $file;
my @tune = ('tune', "$folder/net.txt", '--configs', '2', '-o', "$folder/out");

run(@tune, '--solvers', 'ConvDirectNaive');
my $report = json_of('report', '--dynamic');
is_deeply $report->{forms}, {static => 0, dynamic => 2, partial => 0}, 'the naive solver is dynamic';
is_deeply [grep { /static solver was measured.*--solvers \S*ConvCpuDirect/ } @{$report->{notes}}],
    [$report->{notes}[0]], 'a form without results is named, with what measures it';

run(@tune, '--solvers', 'ConvCpuDirect');
$report = json_of('report', '--dynamic', '--cold');
is scalar(@{$report->{campaigns}}), 2, 'campaigns of one target are taken together';
is scalar(@{$report->{networks}}), 1, 'a network of the file';
my $net = $report->{networks}[0];
is "$net->{problems} $net->{layers}", '2 3', 'with its problems and layers';
my %policies = %{$net->{policies}};
is join(' ', sort keys %policies), 'dynamic mixed partial static', 'and the four policies';
is $policies{static}{covered}, 2, 'all problems have a static config';
is $policies{partial}{covered}, 0, 'and none a partly specialised one';
cmp_ok $policies{static}{kernels}, '>=', 2, 'a static kernel serves one problem';
cmp_ok $policies{mixed}{run_ms}, '<=', $policies{dynamic}{run_ms} * 1.000001,
    'mixed is no slower than dynamic';
for my $name (sort keys %policies) {
    my ($policy, $cold) = ($policies{$name}, $policies{$name}{cold});
    cmp_ok $policy->{bytes}, '>', 1000, "$name: kernels have bytes";
    cmp_ok $policy->{compile_seconds}, '>', 0, "$name: and took time to compile";
    is $cold->{kernels}, $policy->{kernels}, "$name: all were compiled for the cold start";
    cmp_ok $cold->{bytes}, '>', 1000, "$name: to code";
    cmp_ok $cold->{$_}, '>', 0, "$name: $_ were measured"
        for qw(compile_seconds load_seconds first_seconds second_seconds);
}
my %parameters = map { $_->{parameter} => $_ } @{$report->{parameters}};
is $parameters{channels}{values}, 2, 'two values of channels';
is $parameters{filter}{compilations}, 1, 'one of the filter';
is $report->{kinds}, 1, 'one kernel would do with nothing compiled in';

# The first configs of the space differ in what is compiled in: the last parameters vary fastest.
run('tune', "$folder/net.txt", '--configs', '5', '--strategy', 'exhaustive', '-o', "$folder/out",
    '--solvers', 'ConvImplicitGemmPartial');
$report = json_of('report', '--dynamic');
is $report->{networks}[0]{policies}{partial}{covered}, 2, 'a partly specialised config for each';
%parameters = map { $_->{parameter} => $_ } @{$report->{parameters}};
ok $parameters{$_}{choice}, "$_ is a choice" for qw(filter conv channels image batch);
for my $name (qw(image batch)) {
    is $parameters{$name}{problems}, 2, "$name: the gain of both problems";
    is $parameters{$name}{pairs}, 4, 'from the pairs among them';
    cmp_ok $parameters{$name}{gain}, '>', 0, 'is a factor';
}

my ($output) = run('report', '--dynamic', '--within', '1e9');
like $output, qr/^net\S* +mixed +2 of 2 +0 +2 +0 /m, 'whatever is close, the dynamic kernels stay';
is scalar(grep { length > 120 } split /\n/, $output), 0, 'lines are short';

for my $case (
    [qr/two reports/, '--dynamic', '--rejected'],
    [qr/belong to --dynamic/, '--cold'],
    [qr/--within cannot/, '--dynamic', '--within', '-1'],
    [qr/--compile-share is a part/, '--dynamic', '--compile-share', '2']) {
    my ($expected, @arguments) = @$case;
    (undef, $errors, $status) = run('report', @arguments);
    is $status, 2, "'report @arguments' is wrong usage";
    like $errors, $expected, 'and says why';
}

done_testing;
