#!/usr/bin/perl
# One farm begins with the results of another: the first farm's export is imported by the second, which tries the
# imported configs first. Both farms run on this machine's own device.
use strict;
use warnings;
use File::Temp qw(tempdir);
use JSON::PP qw(decode_json);
use Test::More;

my $program = $ENV{SKIPJACK} // 'build/skipjack';
-x $program or plan skip_all => "$program is not built";

my $folder = tempdir('skipjack-prior-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $folder;
delete $ENV{SKIPJACK_DB};
END {
    for my $farm ('first', 'second') {
        local $ENV{SKIPJACK_HOME} = "$folder/$farm";
        system "'$program' db stop >/dev/null 2>&1" if $folder && -d "$folder/$farm";
    }
}

# Returns standard output; asserts that the command succeeds.
sub run {
    my $output = `timeout 300 '$program' @_ 2>'$folder/errors'`;
    is $? >> 8, 0, "'$_[0] $_[1]' ends with 0" or diag `cat '$folder/errors'`;
    return $output;
}

sub write_problems {
    my ($name, @channels) = @_;
    open my $file, '>', "$folder/$name.txt" or die $!;
    print $file "$_-10-10-1x1-24-10-10-1-0x0-1x1-1x1-0-NCHW-FP32-F\n" for @channels;
    close $file;
    return "$folder/$name.txt";
}

my $solver = 'ConvCpuGemm';
my @limits = ('--solvers', $solver, '--configs', '3', '--final-seconds', '0');
# The first two configs of each job's first round, ordered by channels.
my $rounds = <<'SQL';
SELECT json_agg(json_build_object('channels', p.c, 'default', r.config_values[1:r.config_counts[1]],
    'second', r.config_values[r.config_counts[1] + 1:r.config_counts[1] + r.config_counts[2]]) ORDER BY p.c)
FROM skipjack.rounds r JOIN skipjack.jobs j ON j.campaign_id = r.campaign_id AND j.id = r.job_id
JOIN skipjack.problems p ON p.id = j.problem_id
WHERE r.number = 0 AND r.campaign_id = (SELECT max(id) FROM skipjack.campaigns)
SQL
$rounds =~ s/\n/ /g;

sub first_rounds { return decode_json(run('db', 'psql', '-At', '-c', qq("$rounds"))) }

# The second config is made the winner in the first farm's export: the measured winner may be the default config, which
# is tried first anyway.
$ENV{SKIPJACK_HOME} = "$folder/first";
my $problems = write_problems('first', 8);
run('tune', $problems, @limits, '--allow-drift', '-o', "$folder/out");
my $winner = join ',', @{first_rounds()->[0]{second}};
my ($perf_db) = glob "$folder/out/*.db.txt";
my ($find_db) = glob "$folder/out/*.fdb.txt";
open my $file, '<', $perf_db or die "$perf_db: $!";
my $rows = join '', <$file>;
ok $rows =~ s/\Q$solver\E:[-0-9,]+/$solver:$winner/, 'the first farm ships a config';
open $file, '>', $perf_db or die "$perf_db: $!";
print $file $rows;
close $file;

$ENV{SKIPJACK_HOME} = "$folder/second";
run('import', '--foreign', $perf_db, $find_db);
my $wanted = write_problems('second', 8, 9);
my $id = decode_json(run('campaign', 'create', '--target', 'local', '--problems', $wanted, @limits,
                         '--seed', '5', '--json'))->{id};
run('worker', '--embedded', '--until-empty', '--sample-seconds', '0.05');
my $begun = first_rounds();
is scalar(@$begun), 2, 'the second farm tuned that problem and another';
is join(',', @{$_->{second}}), $winner, "of $_->{channels} channels: after the default comes what won"
    for @$begun;
my $shown = decode_json(run('campaign', 'show', $id, '--json'));
is $shown->{priors}, 2, 'campaign show tells how many began so';

done_testing;
