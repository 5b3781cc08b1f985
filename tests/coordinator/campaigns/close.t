#!/usr/bin/perl
# A solver close to its problem's best time tries more configs than one that is far behind. A real worker does both on this
# machine's own device.
use strict;
use warnings;
use JSON::PP qw(decode_json);
use lib 'tests/support';
use ScratchProgram qw($program $folder $patience);
use Test::More;

# Returns standard output; asserts the exit status.
sub run {
    my ($expected, @words) = @_;
    my $output = qx(timeout $patience '$program' @words 2>'$folder/errors');
    is $? >> 8, $expected, "'@words[0, 1]' ends with $expected" or diag $output, qx(cat '$folder/errors');
    return $output;
}

sub errors { return qx(cat '$folder/errors'); }

sub sql {
    my ($text) = @_;
    open my $psql, '-|', $program, 'db', 'psql', '-qAtc', "SET search_path = skipjack; $text" or die $!;
    local $/;
    my $answer = <$psql> // '';
    return $answer =~ s/\n\z//r;
}

open my $file, '>', "$folder/one.txt" or die $!;
print $file "./bin/MIOpenDriver conv -n 1 -c 32 -k 32 -H 28 -W 28 -p 1 -q 1 -y 3 -x 3 -F 1\n";
close $file;

my @create = ('campaign', 'create', '--target', 'local', '--problems', "$folder/one.txt", '--final-seconds', 0);
run(2, @create, '--configs', 4, '--close-configs', 3);
like errors(), qr/--close-configs 3 is fewer than any job may try, 4; .*0 is the default/, 'fewer configs are refused';
run(2, @create, '--configs', 0, '--close-configs', 3);
like errors(), qr/--close-configs needs a limit of configs/, 'and more than all';

# The direct solver takes several times as long as the blocked one in each of its configs.
my $id = decode_json(run(0, @create, '--solvers', 'ConvCpuDirect,ConvDirectTiled', '--configs', 3, '--close-configs', 5,
                         '--json'))->{id};
like run(0, 'campaign', 'show', $id), qr/at most 3 configs a job \(0: all\), or 5 within 10 % of the problem's best/,
    'the campaign says both limits';
run(0, 'worker', '--embedded', '--sample-seconds', '0.05', '--until-empty');

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
