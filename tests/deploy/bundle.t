#!/usr/bin/perl
# make bundle, unpacked in a root that has only a shell and libc: the program runs there, also after the bundle was
# moved; a bundle with PostgreSQL runs the embedded database, too.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;

$> == 0 or plan skip_all => 'chroot needs root';
my $words = qx(unshare --mount --pid --fork --kill-child true 2>&1);
$? == 0 or plan skip_all => "no namespaces can be made here: $words";

my $folder = tempdir('skipjack-bundle-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $folder;
my $postgres = -x '/usr/lib/postgresql/15/bin/postgres' && grep { -x "$_/patchelf" } split /:/, $ENV{PATH};
# The bundle is made under a private umask, and must be readable for all users of the host.
umask 022;
my $made = system("umask 077; make -s DEPS=true bundle BUNDLE='$folder/sj.tar.gz' BUNDLE_POSTGRESQL="
    . ($postgres ? 1 : '') . " >'$folder/make.log' 2>&1");
is $made, 0, 'make bundle' or diag qx(tail -n 5 '$folder/make.log');

# Makes a host: a root with libc's libraries and a shell.
sub copy {
    my ($path, $place) = @_;
    system('cp', '-L', $path, "$folder/root$place") == 0 or die "cannot copy $path";
}
system 'mkdir', '-p', map { "$folder/root/$_" } qw(bin lib64 opt proc dev etc tmp lib/x86_64-linux-gnu);
my ($loader) = qx(ldd /bin/sh) =~ m{(/\S*ld-linux\S*)};
copy('/bin/sh', '/bin/sh');
copy($loader, $loader);
for my $path (qx(dpkg -L libc6) =~ m{^(\S+/lib[^/\s]*\.so\.\d+)$}mg) {
    copy($path, '/lib/x86_64-linux-gnu/') if -e $path;
}
system "echo nobody:x:65534:65534:nobody:/:/bin/sh >'$folder/root/etc/passwd'";
system 'chmod', '1777', "$folder/root/tmp";

is system("tar -xzf '$folder/sj.tar.gz' -C '$folder/root/opt'"), 0, 'it unpacks';

# Runs a command in that root, with its own /proc and the devices that every host has. Returns the exit status and all
# output.
sub inside {
    my ($command) = @_;
    my $text = qx(unshare --mount --pid --fork --kill-child sh -c '
        mount -t proc proc "$folder/root/proc" && mount --rbind /dev "$folder/root/dev" &&
        exec env -i PATH=/usr/sbin:/sbin:/usr/bin:/bin SKIPJACK_HOME=/tmp/home chroot "$folder/root" /bin/sh -c "\$1"' sh '$command' 2>&1);
    return ($? >> 8, $text);
}

my ($status, $text) = inside('/opt/sj/skipjack --version');
is $status, 0, 'it runs without any library of this machine' or diag $text;
like $text, qr/^skipjack \d/, 'and says its version';
rename "$folder/root/opt/sj", "$folder/root/moved";
($status, $text) = inside('cd /moved && ./skipjack worker --probe --help');
is $status, 0, 'it runs from another place' or diag $text;
like $text, qr/--until-empty/, 'and helps';
($status, $text) = inside('/moved/skipjack solvers');
is $status, 0, 'it lists its solvers' or diag $text;
($status, $text) = inside('/moved/skipjack worker --probe');
isnt $status, 0, 'without a device there is nothing to probe';
like $text, qr/no usable device 0.*opencl: 0/, 'and it says so, with the OpenCL loader that it brought';

like qx(cat '$folder/root/moved/share/man/man1/skipjack-tune.1'), qr/^\.TH SKIPJACK\\-TUNE 1/mi, 'it has man pages';
is qx(bash --norc -c '. "$folder/root/moved/share/bash-completion/completions/skipjack" && complete -p skipjack' 2>&1),
    "complete -F _skipjack_complete skipjack\n", 'and the completion for bash';

open my $needs, '<', "$folder/root/moved/GLIBC" or die $!;
like scalar(<$needs>), qr/^2\.\d+$/, 'it says which libc it needs';

SKIP: {
    skip 'PostgreSQL 15 or patchelf is not installed', 3 if !$postgres;
    ($status, $text) = inside('/moved/skipjack db start && /moved/skipjack db status && /moved/skipjack db stop');
    is $status, 0, 'the embedded database starts and stops' or diag $text;
    like $text, qr{/tmp/home}, 'in its home';
    like $text, qr/is stopped/, 'and is gone';
}
done_testing;
