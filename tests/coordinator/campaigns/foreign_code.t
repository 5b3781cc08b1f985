#!/usr/bin/perl
# Workers of two logins work on a CPU campaign. A worker does not run what another login's worker built: it builds that
# code again, unless the campaign trusts the login.
use strict;
use warnings;
use File::Temp qw(tempdir);
use JSON::PP qw(decode_json);
use Test::More;

my $program = $ENV{SKIPJACK} // 'build/skipjack';
-x $program or plan skip_all => "$program is not built";
my $probe = `'$program' worker --probe 2>&1`;
$probe =~ /"id": *"cpu-/ or plan skip_all => 'this machine has no OpenCL CPU device';

my $folder = tempdir('skipjack-foreign-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $folder;
$ENV{SKIPJACK_HOME} = "$folder/home";
my $address = sprintf '127.%d.%d.%d', 1 + int rand 250, int rand 250, 1 + int rand 250;
$ENV{SKIPJACK_DB_SETTINGS} = "listen_addresses=$address";
delete @ENV{qw(SKIPJACK_DB PGPASSWORD PGPASSFILE SKIPJACK_JUDGE)};
END {
    delete $ENV{SKIPJACK_DB};
    system "'$program' db stop >/dev/null 2>&1" if $program && -x $program;
}

my $login = '';

sub write_file {
    my ($path, $text) = @_;
    open my $file, '>', $path or die "$path: $!";
    print $file $text;
    close $file;
    chmod 0600, $path;
}

# Runs the program as the login $login, or as the owner if $login is empty.
sub run {
    local $ENV{SKIPJACK_DB} = "postgresql://$login:geheim\@$address/skipjack";
    delete local $ENV{SKIPJACK_DB} if !$login;
    my $pid = fork // die $!;
    if ($pid == 0) {
        open STDIN, '<', '/dev/null';
        open STDOUT, '>', "$folder/out";
        open STDERR, '>&', \*STDOUT;
        exec $program, @_;
        exit 127;
    }
    waitpid $pid, 0;
    my $status = $? >> 8;
    open my $file, '<', "$folder/out" or die $!;
    local $/;
    return ($status, scalar <$file> // '');
}

sub as_login {
    ($login, my @words) = @_;
    my @result = run(@words);
    $login = '';
    return @result;
}

sub sql {
    my ($status, $text) = run(qw(db psql -qAtc), $_[0]);
    chomp $text;
    return $text;
}

my ($status, $text) = run('db', 'start');
is $status, 0, 'the server starts' or diag $text;
run(qw(db migrate));
my $hba = sql('SHOW hba_file');
$hba =~ s/.*\n//s;
open my $file, '>>', $hba or plan skip_all => "cannot write $hba";
print $file "host all all 127.0.0.0/8 scram-sha-256\n";
close $file;
sql('SELECT pg_reload_conf()');
write_file("$folder/pw", "geheim\n");
for (['builder', 'worker'], ['measurer', 'worker'], ['boss', 'coordinator']) {
    ($status, $text) = run(qw(db roles --login), $_->[0], '--role', $_->[1], '--password-file', "$folder/pw");
    is $status, 0, "db roles makes $_->[0]" or diag $text;
}

# Creates a campaign for the layer, and lets the login "builder" build its code. tamper() then appends a byte that no
# compiler wrote, as a worker of that login could.
sub campaign_built_by_another {
    my ($channels, @options) = @_;
    write_file("$folder/layers.txt", "$channels-5-5-1x1-32-5-5-1-0x0-1x1-1x1-0-NCHW-FP32-F\n");
    my @create = (qw(campaign create --target local --configs 1 --solvers ConvDirectNaive --json),
        '--problems', "$folder/layers.txt");
    ($status, $text) = as_login('boss', @create, @options);
    is $status, 0, 'a campaign is created' or diag $text;
    my ($id) = $text =~ /"id": *(\d+)/;
    ($status, $text) = as_login('builder', qw(worker --until-empty --build 1 --eval none --campaign), $id);
    is $status, 0, 'another login builds for it' or diag $text;
    return $id;
}

sub tamper {
    sql("UPDATE kernels SET code = code || '\\x00'::bytea, code_bytes = code_bytes + 1;"
            . " UPDATE kernels SET code_sha256 = encode(sha256(code), 'hex') WHERE code IS NOT NULL");
}

my $id = campaign_built_by_another(64);
tamper();
my $forged = sql('SELECT min(code_sha256) FROM kernels WHERE code IS NOT NULL');
($status, $text) = as_login('measurer', qw(worker --until-empty --build 0 --campaign), $id);
like $text, qr/built by login builder on node .* does not trust.*--trust builder/,
    'a worker that builds nothing does not run it, and says whose it is and what helps';
is sql("SELECT count(*) FROM quarantine"), 0, 'nothing is quarantined for it';
is sql("SELECT count(*) FROM results_$id"), 0, 'and nothing was measured';

($status, $text) = as_login('boss', qw(campaign set), $id, qw(--trust nobody-there));
is $status, 1, 'a login that is not there cannot be trusted';
like $text, qr/no such login/, 'which is said';

$id = campaign_built_by_another(48);
tamper();
$forged = sql('SELECT min(code_sha256) FROM kernels k WHERE code IS NOT NULL');
($status, $text) = as_login('measurer', qw(worker --until-empty --build 1 --campaign), $id);
is $status, 0, 'a worker that builds goes on' or diag $text;
like $text, qr/login builder on node .* was built here again, with other code/, 'with its own code';
is sql("SELECT count(*) FROM results_$id"), 1, 'which it measured';
is sql("SELECT count(*) FROM quarantine"), 0, 'nothing is quarantined';
is sql("SELECT DISTINCT n.login FROM kernels k JOIN worker_names n ON n.worker_id = k.built_by"
        . " JOIN results_$id r ON k.key = ANY (string_to_array(r.kernel_keys, ','))"), 'measurer',
    'the code that ships is the one that was measured';
like sql("SELECT detail FROM events WHERE kind = 'code replaced'"), qr/login builder .*sha256/,
    'the event log says whose code it was';

$id = campaign_built_by_another(40, '--trust', 'builder');
($status, $text) = as_login('boss', qw(campaign show), $id);
like $text, qr/trusted to build code for CPUs: builder/, 'a campaign shows whom it trusts';
($status, $text) = as_login('measurer', qw(worker --until-empty --build 0 --campaign), $id);
is $status, 0, 'code of a trusted login is run' or diag $text;
is sql("SELECT count(*) FROM results_$id"), 1, 'and measured' or diag $text;

done_testing;
