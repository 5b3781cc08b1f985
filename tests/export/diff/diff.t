#!/usr/bin/perl
# `skipjack diff` of two folders: compares files of the same name, counts equal files, and names each file that only one
# folder has.
use strict;
use warnings;
use File::Temp qw(tempdir);
use JSON::PP qw(decode_json);
use Test::More;

my $program = $ENV{SKIPJACK} // 'build/skipjack';
-x $program or plan skip_all => "$program is not built";
my $folder = tempdir(CLEANUP => 1);
my $key = '8-14-14-3x3-16-14-14-1-1x1-1x1-1x1-0-NCHW-FP32-F';
my ($a, $b, $none) = map { "$folder/$_" } qw(a b none);
mkdir $_ or die "$_: $!" for $a, $b, $none;

sub put {
    my ($path, $text) = @_;
    open my $file, '>', $path or die "$path: $!";
    print $file $text;
    close $file;
}

# Returns standard output, standard error and exit status.
sub run {
    my $output = `'$program' diff @_ 2>'$folder/errors'`;
    my $status = $? >> 8;
    open my $file, '<', "$folder/errors" or die $!;
    local $/;
    return ($output, scalar(<$file>) // '', $status);
}

sub find_db {
    my ($ms) = @_;
    return "$key=ConvDirectNaive:$ms,0,miopenConvolutionFwdAlgoDirect\n";
}

put("$_/gfx90a68.HIP.fdb.txt", find_db('1.0')) for $a, $b;
put("$_/gfx942130.HIP.fdb.txt", find_db('1.0')) for $a, $b;
my ($output, $errors, $status) = run($a, $b);
is $status, 0, 'folders with equal files are equal';
is $output, "2 of 2 files in both folders have equal bytes\n", 'which are counted alone';

put("$b/gfx942130.HIP.fdb.txt", find_db('1.01'));
is((run($a, $b))[2], 0, 'a difference within noise is none');
is((run($a, $b, '--noise 0.1'))[2], 1, 'unless less counts as noise');
($output, undef, $status) = run($a, $b, '--noise 0.1', '--json');
my @said = map { decode_json($_) } split /\n/, $output;
is scalar(@said), 2, 'JSON has an object for the file that differs, and one for both folders';
is_deeply [@{$said[1]}{qw(compared equal_bytes)}, map { scalar @$_ } @{$said[1]}{qw(only_first only_second)}],
    [2, 1, 0, 0], 'which counts';

put("$a/gfx900_56.HIP.fdb.txt", find_db('1.0'));
put("$b/gfx1030_36.HIP.fdb.txt", find_db('1.0'));
put("$b/notes.txt", "no database\n");
($output, undef, $status) = run($a, $b);
is $status, 1, 'a file that only one folder has is a difference';
like $output, qr/^only in \Q$a\E: gfx900_56\.HIP\.fdb\.txt\nonly in \Q$b\E: gfx1030_36\.HIP\.fdb\.txt$/m, 'and is named';
unlike $output, qr/notes/, 'what is no database is passed over';
($output, $errors) = run($a, $b, '--json');
my $both = decode_json((split /\n/, $output)[-1]);
is_deeply [@{$both}{qw(only_first only_second)}], [['gfx900_56.HIP.fdb.txt'], ['gfx1030_36.HIP.fdb.txt']], 'in JSON, too';
ok !$both->{equal}, 'where the folders differ';
is $errors, '', 'and nothing is left to standard error';

($output, $errors, $status) = run($none, $none);
is $status, 1, 'folders without a database cannot be compared';
like $errors, qr/neither '.*' nor '.*' holds a file that can be compared/, 'which is said';
done_testing;
