#!/usr/bin/perl
# The installed units: systemd reads them without a warning, and rates their exposure as low. And the coordinator's
# timer: a campaign that has ended is published once, completely, and again if it went on after that.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $program = abs_path($ENV{SKIPJACK} // 'build/skipjack');
-x $program or plan skip_all => "$program is not built";

my $folder = tempdir('skipjack-units-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $folder;
$ENV{SKIPJACK} = $program;
$ENV{SKIPJACK_HOME} = "$folder/home";
delete $ENV{SKIPJACK_DB};
END { system "'$program' db stop >/dev/null 2>&1" if $folder; }

sub output {
    my ($command) = @_;
    my $text = qx($command 2>&1);
    return $text;
}

# make mutations leaves a copy of the tree in build/, whose pages are not installed.
my $copy = 'build/tests/copy';
mkdir $_ for 'build', 'build/tests', $copy;
open my $page, '>', "$copy/COPY.md" or die $!;
close $page;
# The unit must be readable for all users, whatever the umask of the installing user.
is system("umask 077; make -s DEPS=true install PREFIX='$folder/usr' >'$folder/make.log' 2>&1"), 0, 'make install';
my $private = qx(find '$folder/usr' ! -type l ! -perm -004);
is $private, '', 'everybody may read it';
# `make install` also installs each file that an installed page links to.
my $pages = "$folder/usr/share/doc/skipjack";
my @broken;
for my $page (split /\n/, `find '$pages' -name '*.md'`) {
    my $dir = $page =~ s{/[^/]*$}{}r;
    open my $file, '<', $page or die $!;
    while (<$file>) {
        push @broken, map { "$page: $_" } grep { !-e "$dir/$_" } /\]\(([^):#]+)\)/g;
    }
}
unlink "$copy/COPY.md" and rmdir $copy;
ok -e "$pages/README.md", 'the pages are installed';
ok !-e "$pages/build", 'but no pages of build/';
ok -e "$folder/usr/share/skipjack/$_", "$_ is installed" for 'prometheus/skipjack.rules.yml', 'grafana/skipjack.json';
is_deeply \@broken, [], 'and each of their links works there';
my $units = "$folder/usr/lib/systemd/system";
my @units = map { s{.*/}{}r } glob "$units/*";
is scalar(@units), 6, 'four services and two timers are installed';

# The unit can use the folder of locks, so it and a user who measures by hand on the same GPU exclude each other.
like output("cat '$units/skipjack-worker.service'"), qr{^ReadWritePaths=-/run/lock$}m,
    'the worker shares the locks of the host';

SKIP: {
    qx(systemd-analyze --version 2>/dev/null) =~ /^systemd (\d+)/
        or skip 'systemd-analyze is not installed', 6;
    $1 >= 250 or skip "systemd $1 reads no units offline", 6;

    is output("cd '$units' && systemd-analyze verify --man=no @{[map { qq(./'$_') } @units]}"), '',
        'systemd reads every unit and misses nothing';
    # The exposure (of 100 points) that systemd-analyze may give each service.
    my %allowed = ('skipjack-worker.service' => 25, 'skipjack-coordinator.service' => 15,
        'skipjack-nightly@.service' => 15, 'skipjack-serve.service' => 15);
    for my $unit (sort keys %allowed) {
        my $said = output("cd '$units' && systemd-analyze security --offline=yes "
            . "--threshold=$allowed{$unit} --no-pager './$unit'");
        is $?, 0, "$unit may do little" or diag $said;
    }
    is output("systemd-analyze calendar '*-*-* 21:00'") =~ /Next elapse/ ? 1 : 0, 1, 'the night has a beginning';
}

# ---- publish

my $publish = "$folder/usr/share/skipjack/systemd/publish";
my $published = "$folder/published";
my $layer = './bin/MIOpenDriver conv -n 1 -H 8 -W 8 -p 1 -q 1 -y 3 -x 3 -F 1 -c 8 -k 8';
open my $file, '>', "$folder/one.txt" or die $!;
print $file "$layer\n";
close $file;

# Several configs, since on a busy machine one of them may be unstable.
is system("'$program' tune '$folder/one.txt' --solvers ConvCpuDirect,ConvCpuGemm --configs 6 "
    . "--allow-drift -o '$folder/tuned' >'$folder/tune.log' 2>&1"), 0, 'a campaign is finished'
    or diag qx(tail -n 5 '$folder/tune.log');
is system("'$program' db psql -qc 'UPDATE skipjack.outcomes SET drift = 0' >'$folder/psql.log' 2>&1"), 0,
    'whatever else ran beside it';
is system("'$program' campaign create --target local --problems '$folder/one.txt' --solvers "
    . "ConvCpuBlocked --configs 1 >'$folder/create.log' 2>&1"), 0, 'and another one is not';
like output("'$publish' '$published'"), qr/campaign 1 is in /, 'the first is published';
is join(' ', map { s{.*/}{}r } glob "$published/*"), 'campaign-1', 'the other is not';
is system("'$program' check '$published/campaign-1' >/dev/null"), 0, 'what is published is good';
my $first = readlink "$published/campaign-1";
unlike output("'$publish' '$published'"), qr/campaign 1/, 'it is published once';

is system("'$program' db psql -qc 'SELECT skipjack.add_spent(1, 1)' >'$folder/psql.log' 2>&1"), 0,
    'it goes on';
like output("'$publish' '$published'"), qr/campaign 1 is in /, 'and is published again';
isnt readlink("$published/campaign-1"), $first, 'in the place of what was there';
ok !-e "$published/$first", 'which is gone';

# A campaign that has ended without any result is not published.
is system("'$program' db psql -qc \"UPDATE skipjack.campaigns SET state = 'done' WHERE id = 2\" "
    . ">'$folder/psql.log' 2>&1"), 0, 'the other one ends';
like output("'$publish' '$published'"), qr/^publish: campaign 2 found nothing$/, 'and found nothing';
is output("'$publish' '$published'"), '', 'which is said once';
ok !-e "$published/campaign-2", 'and has no link';

$ENV{SKIPJACK_DB} = 'postgresql://nobody@127.0.0.1:1/none';
isnt system("'$publish' '$published' >/dev/null 2>&1"), 0, 'without a database it fails';
delete $ENV{SKIPJACK_DB};
done_testing;
