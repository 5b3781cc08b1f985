#!/usr/bin/perl
# A simulated year of nights: build/skipjack-year has solvers whose revisions this script sets, and its worker hands in
# times of a model. Each night exactly the right jobs run, for the reason named. A slow-down is found and attributed;
# noise is not reported; a gain is proposed, and the export differs just there; the webhook arrives at a receiver.
use strict;
use warnings;
use lib 'tests/support';
use Digest::SHA qw(hmac_sha256_hex);
use IO::Socket::INET;
use JSON::PP qw(decode_json encode_json);
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep time);

BEGIN { $ENV{SKIPJACK} = $ENV{SKIPJACK_YEARS} // 'build/skipjack-year' }
use ScratchProgram qw($program $folder $patience run json_of write_file read_file finish);

(my $worker = $program) =~ s/skipjack-year$/year-worker/;
-x $worker or plan skip_all => "$worker is not built";
my $problems = 12;
my $secret = 'a secret of the simulated year';
my $target = 'gfx90a68';
my %pids;
END { my $status = $?; kill 'KILL', keys %pids; waitpid $_, 0 for keys %pids; $? = $status }

# ---- the receiver of webhooks: keeps each request as a line of JSON

my $inbox = "$folder/inbox";
my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 8) or die "no socket: $!";
my $port = $listener->sockport;

sub receive {
    while (my $client = $listener->accept) {
        my ($first, %headers) = (scalar <$client>);
        while (defined(my $line = <$client>)) {
            $line =~ s/\r?\n$//;
            last if $line eq '';
            $headers{lc $1} = $2 if $line =~ /^([^:]+): *(.*)/;
        }
        read $client, my $body, $headers{'content-length'} // 0;
        open my $file, '>>', $inbox or die $!;
        print $file encode_json({headers => \%headers, body => $body}), "\n";
        close $file;
        print $client "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
        close $client;
    }
}
my $receiver = fork // die $!;
if (!$receiver) { %pids = (); receive(); POSIX::_exit(0) }
$pids{$receiver} = 1;

# The messages that arrived since the last call.
my $read = 0;
sub messages {
    my @lines = split /^/, read_file($inbox);
    my @new = map { decode_json($_) } @lines[$read .. $#lines];
    $read = @lines;
    return @new;
}

# ---- the farm

my (%model, %revisions) = (night => 0);
my $driver = '6.10.5';

# Writes the model that workers read: $model{'solver ConvRising'} = 1.2.
sub set_model {
    my (%changes) = @_;
    %model = (%model, %changes);
    write_file("$folder/model.new", join '', map { "$_ $model{$_}\n" } sort keys %model);
    rename "$folder/model.new", "$folder/model" or die $!;
}

sub set_revisions {
    my (%changes) = @_;
    %revisions = (%revisions, %changes);
    $ENV{SKIPJACK_YEAR} = join ' ', map { "$_=$revisions{$_}" } sort keys %revisions;
    restart_workers();
}

my @workers;
sub restart_workers {
    for my $pid (@workers) {
        kill 'KILL', $pid;
        waitpid $pid, 0;
        delete $pids{$pid};
    }
    sql('UPDATE skipjack.workers SET ended_at = now() WHERE ended_at IS NULL') if @workers;
    chomp(my $url = (run('db', 'url'))[0]);
    @workers = map {
        my $node = $_;
        my $pid = fork // die $!;
        if (!$pid) {
            %pids = ();
            open STDOUT, '>', "$folder/$node.out" or die $!;
            exec $worker, $url, $node, 'clang 15.0.6', "hip 6.2; driver $driver", "$folder/model" or die $!;
        }
        $pids{$pid} = 1;
        $pid;
    } qw(node1 node2);
    my $deadline = time + $patience;
    sleep 0.02 while time < $deadline && grep { read_file("$folder/$_.out") eq '' } qw(node1 node2);
    unlink map { "$folder/$_.out" } qw(node1 node2);
}

sub sql {
    my ($statement) = @_;
    my ($output, $errors, $status) = run('db', 'psql', '-At', '-F', "' '", '-c', "\"$statement\"");
    die $errors if $status;
    chomp $output;
    return $output;
}

# ---- nights

my $description = {
    name => 'year',
    targets => [$target],
    problems => [{network => 'net', runs => 10}],
    solvers => [qw(ConvSteady ConvRising ConvFalling ConvLate)],
    search => {strategy => 'exhaustive', configs => 0, final_seconds => 0}, # its workers make no second measurements
    again => {older_than_days => 120, sample => 0, noisy_spread => 0.05, retries => 2},
    golden => {propose => JSON::PP::true, approve => JSON::PP::true},
    regressions => {percent => 3, alpha => 0.05, nodes => 2},
    export => {folder => "$folder/releases", what => 'golden'},
    report => {folder => "$folder/reports"},
    tell => [{webhook => "http://127.0.0.1:$port/hook", secret_file => "$folder/secret",
              on => ['regression', 'gain']}],
};

# Returns the plan's reasons that have jobs: "REASON: JOBS, ...".
sub planned {
    my ($date) = @_;
    my $plan = json_of('run', "$folder/nightly.json", '--night', $date, '--dry-run');
    return join ', ', map { "$_->{reason}: $_->{estimate}{jobs}" }
        grep { $_->{estimate}{jobs} > 0 } @{$plan->{targets}[0]{reasons}};
}

# Runs a night. Returns its exit status and what was said.
sub night {
    my ($date) = @_;
    set_model(night => $model{night} + 1);
    my ($output, $errors, $status) = run('run', "$folder/nightly.json", '--night', $date);
    diag "$date ended with $status: $errors $output" if $status != 0 && $status != 1;
    return ($status, $output . $errors);
}

# The points that the night measured, by solver: "ConvRising 12".
sub measured {
    my ($date) = @_;
    return join ', ', split /\n/, sql("SELECT solver, count(*) FROM skipjack.history_points"
        . " WHERE night = '$date' AND NOT older GROUP BY solver ORDER BY solver");
}

# Findings of the night in this state: hashes as regressions_to_json() makes them.
sub findings {
    my ($date, $kind, $state) = @_;
    my $judged = decode_json(sql("SELECT t.judged FROM skipjack.night_targets t JOIN skipjack.nights n"
        . " ON n.id = t.night_id WHERE n.name = 'year' AND n.night = '$date'"));
    return grep { $_->{kind} eq $kind && $_->{state} eq $state } @{$judged->{findings} // []};
}

# The release that a night wrote.
sub release {
    my ($date) = @_;
    my ($path) = grep { -d } glob "$folder/releases/*$date*";
    return $path // '';
}

# The entries of a find-db: {"KEY SOLVER" => ms}.
sub entries {
    my ($find_db) = @_;
    my %ms;
    for my $line (split /\n/, $find_db) {
        my ($key, $rest) = split /=/, $line, 2;
        $ms{"$key $1"} = $2 while $rest =~ /(\w+):([0-9.]+),/g;
    }
    return \%ms;
}

# The newest approved golden version.
sub golden { return sql("SELECT coalesce(max(version), 0) FROM skipjack.golden_versions WHERE approved_at IS NOT NULL") }

sub quiet_night {
    my ($date) = @_;
    my $before = golden();
    is planned($date), '', "$date: nothing changed, so nothing is planned";
    my ($status) = night($date);
    is $status, 0, "$date: and the night ends well";
    is measured($date), '', "$date: nothing is measured";
    is golden(), $before, "$date: nothing is proposed";
    is scalar(messages()), 0, "$date: nobody is told";
}

write_file("$folder/secret", $secret);
chmod 0600, "$folder/secret";
write_file("$folder/nightly.json", JSON::PP->new->pretty->encode($description));
write_file("$folder/list.txt", join '',
    map { "./bin/MIOpenDriver conv -n 1 -c @{[8 * $_]} -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1\n" } 1 .. $problems);
is((run('import', "$folder/list.txt", '--network', 'net'))[2], 0, 'a network is known');
set_model();
set_revisions(ConvLate => 0);

# ---- night one: all is new; it is proposed, approved and exported

my $date = '2027-01-10';
is planned($date), 'new problem: ' . 3 * $problems, 'night one: each problem is new with three solvers';
my ($status, $said) = night($date);
is $status, 0, 'and ends well' or BAIL_OUT("nights do not run: $said");
is measured($date), "ConvFalling $problems, ConvRising $problems, ConvSteady $problems", 'each pair has a point';
is golden(), 1, 'the first golden version is approved';
my $first = release($date);
ok -s "$first/$target.HIP.fdb.txt", 'and exported';
messages();

quiet_night('2027-01-11');

# ---- a solver got slower with its new revision

$date = '2027-02-14';
set_revisions(ConvSteady => 2);
set_model('solver ConvSteady' => 1.3);
is planned($date), "solver revision: $problems", 'a new revision: only its solver is planned';
($status, $said) = night($date);
is $status, 1, 'a slow-down is a finding';
is measured($date), "ConvSteady $problems", 'only that solver was measured';
my @slow = findings($date, 'slower', 'confirmed');
is_deeply [sort { $a cmp $b } keys %{{map { $_->{solver} => 1 } @slow}}], ['ConvSteady'], 'it is found in that solver alone';
my %keys = map { $_->{key} => 1 } @slow;
is scalar(keys %keys), $problems, 'for each of its problems';
is scalar(grep { $_->{percent} > 20 && $_->{percent} < 40 } @slow), scalar(@slow), 'by about 30 %';
is scalar(grep { ($_->{causes}[0]{cause} // '') eq 'solver revision' } @slow), scalar(@slow), 'the revision is named as the cause';
my @told = messages();
is scalar(@told), 1, 'the receiver is told once';
SKIP: {
    skip 'no message came', 4 unless @told;
    my ($body, $headers) = @{$told[0]}{qw(body headers)};
    my ($time, $signature) = map { $headers->{"x-skipjack-$_"} // '' } qw(timestamp signature);
    is $signature, 'v1=' . hmac_sha256_hex("$time.$body", $secret), 'the message is signed with the secret';
    my $message = decode_json($body);
    like $message->{text}, qr/ConvSteady|slower/i, 'its text names what got slower';
    ok $message->{id}, 'it has an id';
    like $headers->{'content-type'}, qr{application/json}, 'and is JSON';
}

# ---- a solver got faster

$date = '2027-03-20';
set_revisions(ConvFalling => 2);
set_model('solver ConvFalling' => 0.6);
my $before = golden();
is planned($date), "solver revision: $problems", 'a new revision of another solver: only that one is planned';
my $last = release('2027-02-14') || $first;
($status, $said) = night($date);
is $status, 0, 'a gain is no trouble';
is measured($date), "ConvFalling $problems", 'only that solver was measured';
is golden(), $before + 1, 'the gain is proposed and approved';
my $gain = release($date);
my ($old, $new) = map { entries(read_file("$_/$target.HIP.fdb.txt")) } $last, $gain;
is_deeply [sort keys %$new], [sort keys %$old], 'the export has the same entries';
# The former winner was measured again beside the new one, so its time moved by noise.
my @moved = grep { abs($new->{$_} / $old->{$_} - 1) > 0.03 } sort keys %$old;
is scalar(@moved), $problems, 'it differs';
is_deeply [grep { !/ConvFalling$/ } @moved], [], 'and just in the solver that got faster';
@told = messages();
is scalar(@told), 1, 'the receiver is told of the gain';
like $told[0]{body} // '', qr/faster|gain/i, 'in words';

quiet_night('2027-03-21');

# ---- a solver is added

$date = '2027-04-25';
set_revisions(ConvLate => 1);
is planned($date), "new solver: $problems", 'a new solver: its backfill is planned, nothing else';
($status, $said) = night($date);
is $status, 0, 'it ends well';
my $deadline = time + $patience;
sleep 0.1 while time < $deadline
    && sql("SELECT count(*) FROM skipjack.campaigns WHERE state = 'active'") > 0;
run('db', 'collect');
is measured($date), "ConvLate $problems", 'the new solver has points, though its campaign may have ended after the night';
messages();

# ---- the driver changed

$date = '2027-06-01';
$driver = '6.12.0';
restart_workers();
is planned($date), 'driver: ' . 4 * $problems, 'a new driver: everything is tuned again';
($status, $said) = night($date);
is $status, 0, 'which changes no time';
is measured($date), join(', ', map { "$_ $problems" } qw(ConvFalling ConvLate ConvRising ConvSteady)),
    'nothing was taken over from the old driver';
is sql("SELECT count(*) FROM skipjack.history_points WHERE night = '$date' AND stack NOT LIKE '%driver 6.12.0%'"), 0,
    'each point has the new driver';
messages();
quiet_night('2027-06-02');

# ---- a node became noisy; points are too old

$date = '2027-10-15';
set_model('noise node2' => 6);
is planned($date), 'too old: ' . 4 * $problems, 'after 120 days all is measured again';
($status, $said) = night($date);
is scalar(findings($date, 'slower', 'confirmed')), 0, 'noise is not reported as a slow-down';
is $status, 0, 'so the night ends well' or diag $said;
is measured($date), join(', ', map { "$_ $problems" } qw(ConvFalling ConvLate ConvRising ConvSteady)), 'all was measured';
is scalar(grep { $_->{body} =~ /slower/i } messages()), 0, 'and nobody is told of noise';

$date = '2027-10-16';
set_model('noise node2' => 0.5);
my $noisy = sql("SELECT count(*) FROM skipjack.history_points WHERE night = '2027-10-15' AND spread >= 0.05");
is planned($date), $noisy > 0 ? "noisy: $noisy" : '', 'what scattered is measured again the next night';
($status, $said) = night($date);
is $status, 0, 'it ends well' or diag $said;
is sql("SELECT count(*) FROM skipjack.history_points WHERE night = '$date' AND NOT older"), $noisy, 'just those';
messages();

# ---- the year, looked back at

quiet_night('2027-10-20');
my $key = $slow[0]{key} // '8-28-28-3x3-64-28-28-1-1x1-1x1-1x1-0-NCHW-FP32-F';
my $history = json_of('history', $key);
my %winners = map { $_->{night} => $_->{solver} } @$history;
is_deeply [@winners{'2027-01-10', '2027-02-14', '2027-03-20', '2027-06-01'}],
    [qw(ConvSteady ConvRising ConvFalling ConvFalling)], 'the history names the winners of the year';
my ($slower) = grep { $_->{night} eq '2027-02-14' } @{json_of('history', $key, '--solver', 'ConvSteady')};
like $slower->{changed} // '', qr/revision 1 -> 2/, 'and what changed';
# Nights can be repeated: what a night did is not done twice.
($status) = night('2027-10-20');
is $status, 0, 'a night that is over may be run again';
is sql("SELECT count(*) FROM skipjack.nights"), 11, 'and is not another night';
my $points = sql('SELECT count(*) FROM skipjack.history');
run('campaign', 'drop', $_->{id}, '--yes') for @{json_of('campaign', 'list')};
is sql('SELECT count(*) FROM skipjack.campaigns'), 0, 'all campaigns are dropped';
is sql('SELECT count(*) FROM skipjack.history'), $points, 'and no point of the year is lost';
done_testing;
