# What scripts that run the program share: a folder and a home of their own, whose database ends with them, and what
# the program says. Where it is not built the script is skipped.
package ScratchProgram;
use strict;
use warnings;
use Exporter 'import';
use File::Temp qw(tempdir);
use JSON::PP qw(decode_json);
use Patience qw($patience);
use POSIX qw(WNOHANG);
use Test::More;
use Time::HiRes qw(sleep time);
our @EXPORT_OK = qw($program $folder $patience run json_of write_file read_file finish sql);

our $program = $ENV{SKIPJACK} // 'build/skipjack';
-x $program or plan skip_all => "$program is not built";

# Not in a folder that only root may enter: as root PostgreSQL runs as another user.
our $folder = tempdir('skipjack-test-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $folder;
$ENV{SKIPJACK_HOME} = "$folder/home";
delete $ENV{SKIPJACK_DB};

# The home's database is a copy of the one that `make test` made, which is there sooner than a new one. A script that runs
# by itself makes a new one, and so does a user who may not read that one.
my $made = $ENV{SKIPJACK_TEST_CLUSTER} // '';
if (-r "$made/data/PG_VERSION") {
    mkdir "$folder/home" or die "$folder/home: $!";
    chmod 0755, "$folder/home";
    system('cp', '-a', $made, "$folder/home/postgres") == 0 or die "$made: cannot be copied";
}
END { system "'$program' db stop >/dev/null 2>&1" if $program && -x $program; }

sub write_file {
    my ($path, $text) = @_;
    open my $file, '>', $path or die "$path: $!";
    print $file $text;
    close $file;
}

# The file's text, '' where there is no such file.
sub read_file {
    my ($path) = @_;
    open my $file, '<', $path or return '';
    local $/;
    return scalar(<$file>) // '';
}

# Waits for the process. Its exit status, or -1 when it was not over in time and had to be killed.
sub finish {
    my ($pid) = @_;
    my $deadline = time + $patience;
    while (time < $deadline) {
        return $? & 127 ? 128 + ($? & 127) : $? >> 8 if waitpid($pid, WNOHANG) == $pid;
        sleep 0.05;
    }
    kill 'KILL', $pid;
    waitpid $pid, 0;
    return -1;
}

# Standard output, standard error, exit status.
sub run {
    my $output = `timeout 600 '$program' @_ 2>'$folder/errors'`;
    my $status = $? >> 8;
    open my $file, '<', "$folder/errors" or die $!;
    local $/;
    return ($output, scalar(<$file>) // '', $status);
}

# The answer of the home's database to a statement, its rows by lines and its columns by '|'.
sub sql {
    my ($statement) = @_;
    open my $psql, '-|', $program, 'db', 'psql', '-qAtc', "SET search_path = skipjack; $statement" or die $!;
    local $/;
    my $answer = <$psql> // '';
    return $answer =~ s/\n\z//r;
}

# What it prints with --json.
sub json_of {
    my ($output, $errors, $status) = run(@_, '--json');
    is $status, 0, "'@_' ends with 0" or diag $errors;
    return decode_json($output);
}

1;
