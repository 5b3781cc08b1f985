#!/usr/bin/perl
# A campaign takes over the configs that another campaign measured before its budget ended: each config once, without
# measuring it again. The plan says of each job why it is tuned again.
use strict;
use warnings;
use lib 'tests/support';
use ScratchProgram qw($program $folder run json_of);
use Test::More;

sub layers {
    my ($name, @channels) = @_;
    open my $file, '>', "$folder/$name" or die $!;
    print $file "./bin/MIOpenDriver conv -n 1 -c $_ -H 8 -W 8 -k 16 -y 3 -x 3 -p 1 -q 1 -F 1\n" for @channels;
    close $file;
    return "$folder/$name";
}

my $runs = 0;
sub rows { return split /\n/, (run('db', 'psql', '-qAtc', '"' . shift . '"'))[0] }

sub tune {
    my ($output, $errors, $status) = run('tune', @_, '--solvers', 'ConvCpuDirect', '--configs', '5', '--final-seconds', '0',
        '--json', '-o', "$folder/out" . ++$runs);
    isnt $output, '', "tune @_" or diag $errors;
    return (JSON::PP::decode_json($output), $errors);
}

# The budget ends after every job's first round. On a busy machine some configs are unstable, or their device drifts:
# tune measures these again in a round of their own, and the newest measurement counts.
my ($first) = tune(layers('two.txt', 8), '--budget', '0.001');
my @measured = rows("SELECT r.number FROM skipjack.rounds r JOIN skipjack.outcomes o USING (campaign_id, job_id, number)"
        . " JOIN skipjack.jobs j ON j.id = r.job_id JOIN skipjack.solvers s ON s.id = j.solver_id"
        . " LEFT JOIN skipjack.remeasures a ON a.job_id = r.job_id AND a.number = r.number"
        . " WHERE s.name = 'ConvCpuDirect' AND a.job_id IS NULL");
is scalar(@measured), 1, 'a budget of next to nothing cuts the job of the tunable solver after a round';
my $settled = "f.failure IN (1, 2, 9, 10, 17) OR (f.failure IN (0, 16) AND (o.drift = 0 OR o.drift BETWEEN 1 / 1.15 AND 1.15))";
my $configs = " FROM skipjack.rounds r JOIN skipjack.outcomes o USING (campaign_id, job_id, number)"
        . " CROSS JOIN LATERAL skipjack.configs_of(r.config_counts, r.config_values) AS v"
        . " CROSS JOIN LATERAL (SELECT o.failures[v.at] AS failure) AS f";
my ($known) = rows("SELECT count(*) FILTER (WHERE m.settled) FROM (SELECT DISTINCT ON (r.job_id, v.config) $settled AS settled"
        . "$configs ORDER BY r.job_id, v.config, r.number DESC) AS m");

my (undef, $still) = tune("$folder/two.txt", '--budget', '0.002');
like $still, qr/is done already: it has worked \d.*, and its budget is 0 s/, 'a budget that is spent, too, is said to be';

my (undef, $notices) = tune("$folder/two.txt", '--budget', '0.002', '--allow-drift', '-q'); # else a drifted round is refused, and said to be
is $notices, '', 'with -q tune prints its result alone';

my ($second, $words) = tune(layers('three.txt', 8, 16), '--budget', '600', '--seed', '3');
my $reasons = $second->{this_run}{reasons};
is $reasons->{'new problem'}, 1, 'another seed and a layer more: the plan counts its jobs by reason';
my ($cut, $failed) = map { $reasons->{$_} // 0 } 'budget cut', 'failed before';
is $cut + $failed, 1, 'what was tuned before among them';
like $words, qr/jobs to tune: .*1 new problem/, 'and says so';
is $second->{this_run}{configs_taken}, $known, 'all that was measured is taken over';

# The default config, the first of each round, is measured in every round as its baseline, so it may appear twice.
my @twice = rows("WITH m AS (SELECT DISTINCT ON (r.campaign_id, r.job_id, r.fence > 0, v.config) r.campaign_id, r.fence, j.problem_id,"
        . " j.solver_id, v.at, v.config, $settled AS settled$configs"
        . " JOIN skipjack.jobs j ON j.campaign_id = r.campaign_id AND j.id = r.job_id"
        . " ORDER BY r.campaign_id, r.job_id, r.fence > 0, v.config, r.number DESC)"
        . " SELECT a.problem_id, a.config FROM m a JOIN m b USING (problem_id, solver_id, config)"
        . " WHERE a.campaign_id = $first->{campaign} AND a.settled AND b.campaign_id = $second->{campaign}"
        . " AND b.fence > 0 AND b.at > 1");
is_deeply \@twice, [], 'nothing is measured twice';

my $shown = json_of('campaign', 'show', $second->{campaign}, '--jobs');
my $sum = 0;
$sum += $_->{configs_taken} for @{$shown->{job_list}};
is $sum, $second->{this_run}{configs_taken}, 'each job says what it took over';
my @of_first = grep { ($_->{source} // 0) == $first->{campaign} } @{$shown->{job_list}};
is scalar(@of_first), 1, 'and from which campaign';
is scalar(grep { $_->{reason} eq 'budget cut' } @of_first), $cut, 'and why it is tuned';
like((run('campaign', 'show', $second->{campaign}, '--jobs'))[0], qr/ new problem /, 'also as a table');

my $created = json_of('campaign', 'create', '--target', 'local', '--problems', "$folder/two.txt", '--solvers',
    'ConvCpuDirect', '--strategy', 'exhaustive', '--configs', '0');
my $created_sum = 0;
$created_sum += $_ for values %{$created->{reasons}};
is $created_sum, 1, 'campaign create --json has the reasons';
is scalar(@{$created->{job_list}}), 1, 'and the jobs';

done_testing;
