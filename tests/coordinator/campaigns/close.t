#!/usr/bin/perl
# A solver close to its problem's best time tries more configs than one that is far behind. A real worker does both on this
# machine's own device.
use strict;
use warnings;
use lib 'tests/support';
use ScratchProgram qw($folder run json_of write_file sql);
use Test::More;

write_file("$folder/one.txt", "./bin/MIOpenDriver conv -n 1 -c 32 -k 32 -H 28 -W 28 -p 1 -q 1 -y 3 -x 3 -F 1\n");

my @create = ('campaign', 'create', '--target', 'local', '--problems', "$folder/one.txt", '--final-seconds', 0);
my ($output, $errors, $status) = run(@create, '--configs', 4, '--close-configs', 3);
is $status, 2, 'fewer configs are refused';
like $errors, qr/--close-configs 3 is fewer than any job may try, 4; .*0 is the default/, 'with the limit of all jobs';
($output, $errors, $status) = run(@create, '--configs', 0, '--close-configs', 3);
is $status, 2, 'so is a limit where others have none';
like $errors, qr/--close-configs needs a limit of configs/, 'which is said';

# The direct solver takes several times as long as the blocked one in each of its configs.
my $id = json_of(@create, '--solvers', 'ConvCpuDirect,ConvDirectTiled', '--configs', 3, '--close-configs', 5)->{id};
like((run('campaign', 'show', $id))[0], qr/at most 3 configs a job \(0: all\), or 5 within 10 % of the problem's best/,
    'the campaign says both limits');
is((run('worker', '--embedded', '--sample-seconds', '0.05', '--until-empty'))[2], 0, 'a worker does its jobs');

my %best = split /[|\n]/, sql("SELECT s.name, min(r.median_ms) FROM results r JOIN jobs j ON j.id = r.job_id"
                             . " JOIN solvers s ON s.id = j.solver_id WHERE r.rank = 0 GROUP BY 1");
my %tried = split /[|\n]/, sql("SELECT s.name, count(DISTINCT v.config) FROM rounds r JOIN jobs j ON j.id = r.job_id"
                              . " JOIN solvers s ON s.id = j.solver_id"
                              . " CROSS JOIN LATERAL configs_of(r.config_counts, r.config_values) AS v GROUP BY 1");
my ($first, $second) = sort { $best{$a} <=> $best{$b} } keys %best;
diag "$first $best{$first} ms, $second $best{$second} ms";
is $tried{$first}, 5, 'the fastest solver tried as many as a close one may';
is $tried{$second}, 3, 'the other one ended before';
is sql("SELECT string_agg(DISTINCT search_end, ',') FROM job_ends"), 'tries', 'both ended by their tries';

done_testing;
