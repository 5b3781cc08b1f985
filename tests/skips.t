#!/usr/bin/perl
# prove lists skipped tests with their reasons above its summary. With CI=true a skip that tests/skips does not
# allow fails.
use strict;
use warnings;
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use Test::More;

my $folder = tempdir(CLEANUP => 1);
make_path("$folder/tests/worker");
system('cp', '-r', 'tests/one', 'tests/support', "$folder/tests") == 0 or die;

sub write_file {
    my ($path, $text) = @_;
    open my $file, '>', "$folder/$path" or die "$path: $!";
    print $file $text;
    close $file;
    chmod 0755, "$folder/$path";
}

write_file('tests/worker/one_of_two', "#!/bin/sh\necho 'ok 1 - disk # SKIP there is no disk'\necho 'ok 2'\necho '1..2'\n");
write_file('tests/worker/whole', "#!/bin/sh\necho '1..0 # SKIP no clang here'\n");
write_file('tests/worker/allowed', "#!/bin/sh\necho 'ok 1 # skip there is no GPU here'\necho '1..1'\n");

# The report of prove, and its exit status.
sub report {
    my ($ci, $allowed) = @_;
    write_file('tests/skips', "# Comment\n\ntests/worker/\\w+ | $allowed | machines differ\n");
    my $text = qx(cd '$folder' && CI=$ci PERL5LIB=tests/support prove --formatter SkipReport \\
        -e 'tests/one 20' tests/worker/* 2>&1);
    return ($text, $? >> 8);
}

my ($text, $status) = report('', 'GPU');
is $status, 0, 'skips do not fail by hand';
like $text, qr{
^Skipped, and why
----------------
tests/worker/allowed: 1: there is no GPU here
tests/worker/one_of_two: 1: there is no disk
tests/worker/whole: all: no clang here

All tests successful.
Files=3, Tests=3, .*
Result: PASS
\z}m, 'the list of skips comes before the summary, which closes the report';

($text, $status) = report('true', 'GPU');
isnt $status, 0, 'in CI skips fail that are not allowed';
like $text, qr{^Skipped, and why\n-+\ntests/worker/allowed: 1: there is no GPU here\n\n}m, 'an allowed skip is listed';
like $text, qr{^tests/worker/one_of_two .*\n  Failed test:  1$}m, 'a test that skips has failed';
like $text, qr{^tests/worker/whole .*\n  Failed test:  1$}m, 'a program that skips all has failed';
like $text, qr{tests/worker/one_of_two skips a test, .* tests/skips .*: there is no disk$}m, 'the reason is printed';

($text, $status) = report('true', 'GPU|disk|clang');
is $status, 0, 'in CI skips do not fail that are all allowed';
done_testing;
