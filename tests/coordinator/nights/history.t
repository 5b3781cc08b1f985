#!/usr/bin/perl
# `skipjack history`: a problem's winner by night, what changed, how much history there is and how long it stays.
use strict;
use warnings;
use lib 'tests/support';
use ScratchProgram qw($folder run json_of write_file);
use Test::More;

my $line = './bin/MIOpenDriver conv -n 1 -c 8 -H 8 -W 8 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1';
my $key = '8-8-8-3x3-8-8-8-1-1x1-1x1-1x1-0-NCHW-FP32-F';
write_file("$folder/list.txt", "$line\n");
is((run('import', "$folder/list.txt"))[2], 0, 'a problem is known');

# Points as gathering stores them: solver, target, night, revision, stack, config, ms, failure.
my @points = (
    [qw(ConvFast gfx90a68 2027-03-01 3), 'clang 15; driver 535', '4,4', 1.0, 0],
    [qw(ConvSlow gfx90a68 2027-03-01 1), 'clang 15; driver 535', '8', 1.5, 0],
    [qw(ConvFast gfx90a68 2027-03-02 3), 'clang 15; driver 550', '4,4', 1.2, 0],
    [qw(ConvFast gfx90a68 2027-03-03 4), 'clang 15; driver 550', '4,8', 1.1, 0],
    [qw(ConvFast gfx90a68 2027-03-04 4), 'clang 15; driver 550', '', 0, 9],
    [qw(ConvSlow gfx942_38 2027-03-04 1), 'clang 15; driver 550', '8', 0.5, 0],
);
my $sql = 'SET search_path = skipjack;';
for my $p (@points) {
    my ($solver, $target, $night, $revision, $stack, $config, $ms, $failure) = @$p;
    $sql .= <<"END";
INSERT INTO solvers (provider, name, revision, hash, algorithm, dynamic, tunable)
VALUES ('us', '$solver', $revision, 'h$revision', 'direct', false, true) ON CONFLICT DO NOTHING;
INSERT INTO history_versions (solver_id) SELECT id FROM solvers ON CONFLICT DO NOTHING;
INSERT INTO history_series (target, problem_id, solver) SELECT '$target', id, '$solver' FROM problems ON CONFLICT DO NOTHING;
INSERT INTO history_texts (text) VALUES ('$stack'), ('$config'), ('node1') ON CONFLICT DO NOTHING;
INSERT INTO history (series, night, campaign_id, version, config, stack, node, median_ms, spread, fastest_ms,
                     slowest_ms, drift, n, sm_mhz_min, sm_mhz_max, throttle, failure, older)
SELECT s.id, '$night', 7, v.id, c.id, k.id, n.id, $ms, 0.1, $ms, $ms, 1, 100, 0, 0, 0, $failure, false
FROM history_series s, history_versions v JOIN solvers o ON o.id = v.solver_id, history_texts c, history_texts k, history_texts n
WHERE s.solver = '$solver' AND s.target = '$target' AND o.name = '$solver' AND o.revision = $revision
  AND c.text = '$config' AND k.text = '$stack' AND n.text = 'node1';
END
}
write_file("$folder/points.sql", $sql);
is((run('db', 'psql', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$folder/points.sql"))[2], 0, 'nights have measured it');

my $rows = json_of('history', $key, '--target', 'gfx90a68');
is_deeply [map { "$_->{night} $_->{solver} " . ($_->{median_ms} // '-') } @$rows],
    ['2027-03-01 ConvFast 1', '2027-03-02 ConvFast 1.2', '2027-03-03 ConvFast 1.1', '2027-03-04 ConvSlow 1.5'],
    'each night has its winner; after a failure the runner-up wins with its newest time';
is $rows->[3]{measured}, '2027-03-01', 'which says when it was measured';
is $rows->[0]{changed}, undef, 'nothing changed before the first night';
like $rows->[1]{changed}, qr/driver 535 -> 550/, 'a new driver is marked';
like $rows->[2]{changed}, qr/revision 3 -> 4/, 'and so is a new revision';
like $rows->[3]{changed}, qr/ConvFast won before/, 'and another winner';
is sprintf('%.4f %.4f', @{$rows->[0]}{qw(low_ms high_ms)}), '0.9843 1.0157', 'the interval is 1.57 IQR / sqrt(n)';
is scalar(@{json_of('history', $key)}), 5, 'without --target all targets are listed';
is_deeply [map { $_->{failure} } @{json_of('history', $key, '--solver', 'ConvFast')}], [undef, undef, undef, 'wrong result'],
    'a solver has its failures';
is_deeply [map { $_->{night} } @{json_of('history', $key, '--nights', 2, '--target', 'gfx90a68')}],
    ['2027-03-03', '2027-03-04'], '--nights takes the newest';
{
    my ($out, $errors, $status) = run('history', $key, '--target', 'gfx90');
    is $status, 2, 'a target that none can be is wrong usage';
    like $errors, qr/unknown target 'gfx90'/, 'which is said';
    ($out, $errors, $status) = run('history', $key, '--target', 'local');
    like $errors, qr/has measured '\Q$key\E' on cpu-/, 'local is the target of this machine';
}
my $since = json_of('history', $key, '--since', '2027-03-02', '--target', 'gfx90a68');
is scalar(@$since), 3, '--since takes those from a night on';
like $since->[0]{changed}, qr/driver/, 'compared with the night before';
is_deeply json_of('history', "'$line'"), json_of('history', $key), 'a driver line names the problem, too';
like((run('history', $key))[0], qr/^night +target +winner +config .*\n2027-03-01 .* ConvFast +4,4 +1\.000 /, 'people get a table');

my ($text, $errors, $status) = run('history', 'nonsense');
is $status, 2, 'a word that is no key is wrong usage';
like $errors, qr/'nonsense' is neither a problem's key .* nor a driver line/, 'and named';
(undef, $errors, $status) = run('history', '9-9-9-3x3-9-9-9-1-1x1-1x1-1x1-0-NCHW-FP32-F');
is $status, 1, 'an unknown problem fails';
(undef, $errors, $status) = run('history', $key, '--since', '2027-02-30');
is $status, 2, 'a day that does not exist is wrong usage';
is((run('history'))[2], 2, 'so is no problem at all');

my $size = json_of('history', '--size');
is_deeply [@$size{qw(points series problems targets first last dense_days weekly_days)}],
    [6, 3, 1, 2, '2027-03-01', '2027-03-04', 90, 730], '--size counts';
cmp_ok $size->{bytes}, '>', 0, 'and weighs';
like((run('history', '--size'))[0], qr/^6 points, .*\n1 problems on 2 targets, 3 with solvers\nfrom 2027-03-01 to 2027-03-04\nevery night stays for 90 days/,
    'also in words');
is((run('history', '--retention', '30,365'))[2], 0, 'the retention can be set');
is_deeply [@{json_of('history', '--size')}{qw(dense_days weekly_days)}], [30, 365], 'and stays';
for my $wrong ('3,365', '30', '365,30', '30,365x', 'x') {
    (undef, $errors, $status) = run('history', '--retention', $wrong);
    is $status, 2, "--retention $wrong is wrong usage";
}
done_testing;
