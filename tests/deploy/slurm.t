#!/usr/bin/perl
# A real Slurm on this machine alone, in a network and a process namespace of its own
# (its daemons, and everything they start, are gone when the test ends), and a real
# PostgreSQL reached over TCP with a password. deploy/slurm/submit runs a tiny campaign
# to its end while its tasks are requeued and cancelled.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use JSON::PP qw(decode_json);
use POSIX qw(setuid setgid);
use Socket;
use Test::More;
use Time::HiRes qw(sleep time);
use lib 'tests/support';
use Patience qw($patience);

my $program = abs_path($ENV{SKIPJACK} // 'build/skipjack');
my $deploy = abs_path('deploy');
my ($postgres) = sort { $b cmp $a } glob '/usr/lib/postgresql/*/bin';

sub in_path {
    my ($name) = @_;
    return grep { -x "$_/$name" } split(/:/, $ENV{PATH}), '/usr/sbin', '/sbin';
}

# Enters the namespaces first; the rest of the test runs in them.
if (!$ENV{SKIPJACK_SLURM_INSIDE}) {
    -x $program or plan skip_all => "$program is not built";
    $> == 0 or plan skip_all => 'Slurm is started as root';
    for my $name (qw(munged slurmctld slurmd sbatch scontrol unshare)) {
        in_path($name) or plan skip_all => "$name is not installed";
    }
    $postgres or plan skip_all => 'PostgreSQL is not installed';
    my @namespaces = qw(unshare --net --pid --fork --kill-child --mount-proc);
    my $words = qx(@namespaces true 2>&1);
    $? == 0 or plan skip_all => "no namespaces can be made here: $words";
    $ENV{SKIPJACK_SLURM_INSIDE} = 1;
    # The first process of a process namespace inherits orphans: bash reaps them.
    exec @namespaces, 'bash', '-c', '"$@"; exit $?', 'slurm.t', $^X, $0;
}

my $folder = tempdir('skipjack-slurm-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $folder;
$ENV{PATH} .= ':/usr/sbin:/sbin';
$ENV{SLURM_CONF} = "$folder/slurm.conf";
$ENV{SKIPJACK} = $program;
$ENV{SKIPJACK_PAUSE} = 1;
$ENV{SKIPJACK_HOME} = "$folder/none";
# A worker removes folders that dead workers left in its temporary folder. Seen from another process namespace, every
# other worker looks dead: so the test has its own folder.
$ENV{TMPDIR} = $folder;

sub write_file {
    my ($path, $text, $mode) = @_;
    open my $file, '>', $path or die "$path: $!";
    print $file $text;
    close $file;
    chmod $mode, $path if defined $mode;
}

sub read_file {
    open my $file, '<', $_[0] or return '';
    local $/;
    return scalar(<$file>) // '';
}

# Polls until the code returns true; returns false when the time is over.
sub until_true {
    my ($code, $seconds) = @_;
    my $deadline = time + ($seconds // $patience);
    until ($code->()) {
        return 0 if time > $deadline;
        sleep 0.1;
    }
    return 1;
}

# In a new network namespace the loopback is down. Slurm looks addresses up with AI_ADDRCONFIG, which requires an
# address outside 127/8: the loopback gets one of the range for documentation. The ioctls are SIOCSIFADDR and
# SIOCSIFFLAGS with IFF_UP; struct ifreq has 40 bytes.
sub loopback_up {
    socket my $any, AF_INET, SOCK_DGRAM, 0 or die "socket: $!";
    my $up = pack 'a16 s x22', 'lo', 1;
    my $address = pack 'a16 a16 x8', 'lo:1', pack_sockaddr_in(0, inet_aton('192.0.2.1'));
    ioctl $any, 0x8914, $up or die "lo: $!";
    ioctl $any, 0x8916, $address or die "lo:1: $!";
}

# Starts a program in the background, with its output in a file.
sub start {
    my ($name, @command) = @_;
    my $pid = fork // die $!;
    return $pid if $pid;
    open STDOUT, '>', "$folder/$name.log";
    open STDERR, '>&', \*STDOUT;
    exec @command or POSIX::_exit(127);
}

sub output {
    my (@command) = @_;
    open my $pipe, '-|', @command or die "$command[0]: $!";
    local $/;
    my $text = <$pipe> // '';
    close $pipe;
    return $text;
}

# ---- PostgreSQL on loopback, with a password.

my $port = 5432;
my $url = "postgresql://skipjack\@127.0.0.1:$port/skipjack";

# PostgreSQL refuses to run as root.
sub as_postgres {
    my (@command) = @_;
    my (undef, undef, $user, $group) = getpwnam('postgres');
    my $pid = fork // die $!;
    if ($pid == 0) {
        ($(, $)) = ($group, "$group $group");
        setuid($user);
        chdir '/';
        open STDOUT, '>>', "$folder/postgres.log";
        open STDERR, '>&', \*STDOUT;
        exec @command or POSIX::_exit(127);
    }
    waitpid $pid, 0;
    return $? == 0;
}

sub start_postgres {
    my $data = "$folder/pg";
    my (undef, undef, $user, $group) = getpwnam('postgres');
    mkdir $data;
    chown $user, $group, $data;
    write_file("$folder/secret", "wave-4711\n", 0444);
    write_file("$folder/postgres.log", '', 0666);
    write_file("$folder/pgpass", "127.0.0.1:$port:*:skipjack:wave-4711\n", 0600);
    as_postgres("$postgres/initdb", '-D', $data, '-U', 'skipjack', '--auth=scram-sha-256',
        '--pwfile', "$folder/secret", '--no-sync') or return 0;
    as_postgres("$postgres/pg_ctl", '-D', $data, '-l', "$data/log", '-w', 'start',
        '-o', "-c listen_addresses=127.0.0.1 -p $port -k ''") or return 0;
    $ENV{PGPASSFILE} = "$folder/pgpass";
    $ENV{SKIPJACK_DB} = $url;
    return system("$postgres/createdb", '-h', '127.0.0.1', '-p', $port, '-U', 'skipjack', '-w',
        'skipjack') == 0 && system("'$program' db migrate >'$folder/migrate.log' 2>&1") == 0;
}

sub sql {
    my ($statement) = @_;
    my $text = output("$postgres/psql", $url, '-w', '-AtX', '-c', $statement);
    chomp $text;
    return $text;
}

# ---- Slurm, without cgroups.

my $host = (split /\./, (POSIX::uname())[1])[0];

sub start_slurm {
    mkdir "$folder/$_", 0755 for qw(munge state spool);
    write_file("$folder/munge/key", join('', map { chr int rand 256 } 1 .. 64), 0400);
    write_file("$folder/gres.conf", "Name=gpu File=/dev/null\n");
    write_file("$folder/slurm.conf", <<"END");
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$folder/munge/socket,cred_expire=5
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=1,sched_interval=2,bf_interval=2
GresTypes=gpu
MpiDefault=none
ReturnToService=2
KillWait=60
MinJobAge=3600
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000 Gres=gpu:1
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE
END
    my $munge = "$folder/munge";
    start('munged', 'munged', '--foreground', '--force', "--key-file=$munge/key",
        "--socket=$munge/socket", "--pid-file=$munge/pid", "--log-file=$munge/log",
        "--seed-file=$munge/seed");
    until_true(sub { -S "$munge/socket" }, 60) or return 0;
    start('slurmctld', 'slurmctld', '-D');
    start('slurmd', 'slurmd', '-D', '-N', $host);
    return until_true(sub { output("sinfo -h -o '%T' 2>/dev/null") =~ /^idle/ }, 120);
}

# Returns a task's fields as Slurm reports them.
sub task {
    my ($id) = @_;
    my %task = output("scontrol -o show job $id 2>/dev/null") =~ /(\w+)=(\S+)/g;
    return \%task;
}

sub state_is {
    my ($id, $pattern) = @_;
    return until_true(sub { (task($id)->{JobState} // '') =~ $pattern });
}

# ---- The run.

loopback_up();
start_postgres() or plan skip_all => 'PostgreSQL does not start here: ' . read_file("$folder/postgres.log");
start_slurm() or plan skip_all => 'Slurm does not start here: '
    . substr(read_file("$folder/slurmctld.log") . read_file("$folder/slurmd.log"), -500) =~ s/\n/; /gr;

my $layer = './bin/MIOpenDriver conv -n 1 -H 8 -W 8 -p 1 -q 1 -y 3 -x 3 -F 1';
write_file("$folder/two.txt", "$layer -c 8 -k 8\n$layer -c 16 -k 16\n");
is system("'$program' import '$folder/two.txt' --tag two >/dev/null 2>&1"), 0, 'two problems are imported';
my $json = output("'$program' campaign create --target local --tag two --configs 6 "
    . "--solvers ConvCpuDirect,ConvCpuBlocked,ConvCpuGemm --json 2>'$folder/create.log'");
my $campaign = decode_json($json)->{id};
my $jobs = decode_json($json)->{jobs};
cmp_ok $jobs, '>=', 2, 'and make a campaign';

chdir $folder;
my @submitted = output("$deploy/slurm/submit", '--build', 2, '--cpus', 1, '--eval', 1, '--eval-cpus', 1,
    $campaign, '--', '--lease', 10) =~ /^(build|eval) (\d+)$/mg;
is "@submitted[0, 2]", 'build eval', 'submit names an array a pool';
my ($build, $eval) = @submitted[1, 3];

sub log_of {
    return read_file("$folder/skipjack-$campaign-$_[0]-$_[1]_$_[2].log");
}

ok until_true(sub { log_of('build', $build, 1) =~ /worker --build 1/ }), 'a build task starts';
system "scancel ${build}_2";
ok state_is("${build}_2", qr/CANCELLED/), 'the other is cancelled';

ok until_true(sub { log_of('eval', $eval, 1) =~ /round 0:/ }),
    'the eval task measures';
system "scontrol requeue ${eval}_1";
ok until_true(sub { log_of('eval', $eval, 1) =~ /stopped, nothing is lost/ }),
    'a task that is requeued finishes what it measures';
ok until_true(sub { log_of('eval', $eval, 1) =~ /restart 1: worker/ }), 'and starts again';

# USR1 is the signal that Slurm sends to the batch shell ahead of the time limit.
system "scancel --batch --signal=USR1 ${build}_1";
ok until_true(sub { (task("${build}_1")->{Restarts} // 0) == 1 }),
    'a task near its time limit queues itself again';

ok until_true(sub { sql("SELECT state FROM campaigns") eq 'done' }), 'the campaign comes to its end';
for my $id ("${build}_1", "${eval}_1") {
    ok state_is($id, qr/COMPLETED/), "task $id ends with it";
    is task($id)->{ExitCode}, '0:0', 'and with 0';
}
# A job all of whose configs were unstable on a busy machine counts as done, too.
my $shown = decode_json(output("'$program' campaign show $campaign --json 2>/dev/null"));
my $whole = 0;
$whole += $_->{jobs} for grep { $_->{state} eq 'done' } @{$shown->{jobs}};
$whole += $_->{jobs} for grep { $_->{reason} eq 'unstable' } @{$shown->{failures}};
is $whole, $jobs, 'every job came to its own end';
is sql("SELECT string_agg(kind || ': ' || detail, '; ' ORDER BY id) FROM events "
    . "WHERE kind NOT IN ('left out', 'job failed')"), '', 'nothing was lost, and nothing crashed, on the way';
is sql("SELECT count(*) - count(DISTINCT (job_id, number)) FROM rounds"), 0, 'no round is there twice';

if (!Test::More->builder->is_passing) {
    diag "$_:\n" . read_file($_) for glob("$folder/skipjack-*.log"), "$folder/slurmd.log";
}
system "scontrol shutdown >/dev/null 2>&1";
as_postgres("$postgres/pg_ctl", '-D', "$folder/pg", '-m', 'fast', '-w', 'stop');
done_testing;
