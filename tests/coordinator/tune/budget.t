#!/usr/bin/perl
# A tune whose budget is much too small: each layer gets one verified config, the other jobs end untried and are said to, and
# a larger budget lets them go on.
use strict;
use warnings;
use JSON::PP qw(decode_json);
use lib 'tests/support';
use ScratchProgram qw($folder run json_of write_file read_file);
use Test::More;

my $head = './bin/MIOpenDriver conv -n 1 -H 8 -W 8 -p 1 -q 1 -y 3 -x 3 -F 1';
write_file("$folder/tiny.txt", join '', map { "$head -c $_ -k 16\n" } 8, 16, 24, 32);
my ($output, $errors) = run('tune', "$folder/tiny.txt", '--budget', '0.001', '--configs', '3', '--solvers',
    'ConvDirectNaive,ConvCpuDirect', '--final-seconds', '0', '--allow-drift', '--json', '-o', "$folder/tiny");
my $report = decode_json($output);
like $errors, qr/Once it is spent, each problem without a winner gets one config .*\(4 problems: /, 'what a small budget means is said before';

my $work = $report->{work};
is "$work->{jobs} $work->{done} $work->{failed}", '8 8 0', 'all jobs end, and none fails';
is $work->{untried}, 4, 'one of each problem is not tried';
is $work->{search_ends}{budget} // 0, $work->{jobs} - ($work->{search_ends}{tries} + $work->{search_ends}{space}), 'the budget ended what did not end by itself';
is $report->{totals}{without_winner}, 0, 'each problem has a winner';
like read_file("$folder/tiny/report.txt"), qr/Work: 8 jobs \(4 done, 0 failed, 4 ended untried: the budget was spent\)/, 'the report says so';
like read_file("$folder/tiny/report.txt"), qr/ConvDirectNaive +\S+ +not measured: the campaign's budget was spent/, 'and why there is no time of the naive solver';

my ($manifest) = glob "$folder/tiny/*.export.json";
$manifest = decode_json(read_file($manifest));
is "$manifest->{jobs_ended} $manifest->{jobs_untried}", '8 4', 'and so does the manifest';
ok $manifest->{complete}, 'for which the campaign is complete';

my $shown = json_of('campaign', 'show', 1, '--jobs');
is $shown->{untried}, 4, 'campaign show counts them';
is scalar(grep { $_->{state} eq 'done' && $_->{rounds} == 0 && $_->{search_end} eq 'budget' } @{$shown->{job_list}}), 4, 'and names them';
like((run('campaign', 'show', 1))[0], qr/jobs 8 of 8, 4 of them ended untried by the budget/, 'also in words');

is +(run('campaign', 'set', 1, '--budget', '0'))[2], 0, 'a campaign whose budget is lifted';
$shown = json_of('campaign', 'show', 1);
is $shown->{untried}, 0, 'has no job any more that the budget ended';
is $shown->{state}, 'active', 'and goes on';
my ($campaign) = @{json_of('status')->{campaigns}};
is $campaign->{jobs_untried}, 0, 'status counts the same';

done_testing;
