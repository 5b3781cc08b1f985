#!/usr/bin/perl
# Builds two layers for two AMD GPUs on a machine that may have neither: a release without measurements is made so. One
# of the build workers is killed.
use strict;
use warnings;
use IO::Uncompress::Bunzip2 qw(bunzip2);
use lib 'tests/support';
use ScratchProgram qw($program $folder run json_of);
use Test::More;
use Time::HiRes qw(sleep time);

grep { -x "$_/clang-19" } split /:/, $ENV{PATH} or plan skip_all => 'clang-19 is not on this machine';

my $head = './bin/MIOpenDriver conv -n 1 -H 8 -W 8 -F 1 -k 16';
open my $file, '>', "$folder/net.txt" or die $!;
print $file "$head -c 8 -y 3 -x 3 -p 1 -q 1\n";
(my $halves = $head) =~ s/conv/convfp16/;
print $file "$halves -c 16 -y 1 -x 1 --in_layout NHWC --fil_layout NHWC --out_layout NHWC\n";
close $file;

my @worker = ('worker', '--eval', 'none', '--build', '2', '--embedded', '--until-empty');

sub create {
    my ($target) = @_;
    my ($id) = run('campaign', 'create', '--target', $target, '--problems', "$folder/net.txt",
        '--build-only', '--configs', '5', '--solvers', 'ConvDirectNaive,ConvGemm1x1,ConvMfma');
    chomp $id;
    return $id;
}

# The file's code objects by name.
sub objects_of {
    my ($path) = @_;
    my %objects;
    for (`sqlite3 '$path' 'SELECT kernel_name || kernel_args, uncompressed_size, hex(kernel_blob) FROM kern_db'`) {
        my ($name, $size, $hex) = /^(.*)\|(\d+)\|([0-9A-F]+)$/ or next;
        my ($packed, $code) = (pack 'H*', $hex);
        $size > 0 ? bunzip2(\$packed => \$code) : ($code = $packed);
        $objects{$name} = $code;
    }
    return %objects;
}

# The header of an ELF file: machine 224 means AMD's GPUs, and the lowest byte of the flags is the GPU's number.
my %machines = (gfx90a68 => 0x3f, gfx942130 => 0x4c);

sub check_release {
    my ($id, $target) = @_;
    my ($output, $errors, $status) = run('export', '--campaign', $id, '-o', "$folder/$target");
    is $status, 0, "$target: its kernels are exported" or diag $errors;
    like $output, qr/^built, not measured: 17 configs of 2 problems$/m, 'of all configs';
    is_deeply [glob "$folder/$target/*"], [map { "$folder/$target/$target.$_" } 'export.json', 'kdb', 'sjdb'],
        'into a kernel-db and a .sjdb alone, beside the record of the export';
    my %objects = objects_of("$folder/$target/$target.kdb");
    cmp_ok scalar(keys %objects), ">=", 4, 'with the kernels of all solvers';
    my @wrong = grep {
        my ($magic, $machine, $flags) = unpack 'a4 x14 v x28 V', $objects{$_};
        $magic ne "\x7fELF" || $machine != 224 || ($flags & 0xff) != $machines{$target};
    } keys %objects;
    is_deeply \@wrong, [], "each is an ELF file for the GPU";
    is((run('check', $_))[2], 0, 'and check finds nothing')
        for "$folder/$target/$target.kdb", "$folder/$target/$target.sjdb", "$folder/$target";
    my $stats = json_of('lookup', "$folder/$target/$target.sjdb", '--stats');
    is $stats->{unmeasured_solutions}, 17, 'the .sjdb has each config';
    is $stats->{kernels}, scalar(keys %objects), 'and all kernels';

    my $report = json_of('report', '--campaign', $id);
    is $report->{built}{configs}, 17, 'the report counts them too';
    is $report->{built}{kernels}, scalar(keys %objects), 'and its kernels are those of the file';
    my $kernels = json_of('report', '--kernels', '--campaign', $id);
    is scalar(@$kernels), $report->{built}{kernels}, 'which are all in the table of kernels';
    is scalar(grep { $_->{registers} > 0 && $_->{scalar_registers} > 0 && $_->{waves} >= 1
            && $_->{accumulation_registers} >= 0 && $_->{spills} == 0 && $_->{local_bytes} >= 0
            && $_->{scratch_bytes} == 0 && $_->{code_bytes} > 1000 && $_->{build_seconds} > 0 }
        @$kernels), scalar(@$kernels), "with their compiler's facts";
    my @matrix = grep { $_->{instruction} =~ /^v_mfma_f32_\d+x\d+x\d+_?f16$/ && $_->{count} >= $_->{kernels} }
        @{$report->{built}{matrix_instructions}};
    cmp_ok scalar(@matrix), '>=', 1, 'instructions of matrix units are counted by type';
    unlike((run('report', '--kernels', '--json', '--campaign', $id))[0], qr/registers": \d+\./,
        'and counts are whole numbers');
    is scalar(grep { $_->{instructions}{total} > 20 } @$kernels), scalar(@$kernels),
        'and their instructions';
}

# ---- the first target, as it should be

my $first = create('gfx90a68');
my (undef, $errors, $status) = run(@worker);
is $status, 0, 'a worker without a device builds and ends' or diag $errors;
like((run('campaign', 'show', $first))[0], qr/gfx90a68, done, build only.*configs 17 built, not measured/s,
    'the campaign is done by itself');
like((run('report', '--campaign', $first))[0], qr/done: built, not measured.*ConvGemm1x1 +1 +5 +0$/sm,
    'and its report says what is built');
check_release($first, 'gfx90a68');

for my $case (['--find'], ['--perf', '--compact'], ['--kernels', '--workspace', '0']) {
    my (undef, $why, $wrong) = run('export', '--campaign', $first, @$case, '-o', "$folder/none");
    is $wrong, 1, "there is nothing for '@$case'";
    like $why, qr/build-only: nothing of it was measured/, 'as is said';
}

# ---- the second target, with a worker killed in the middle

sub stored { return (run('db', 'psql', '-Atqc', "\"SELECT count(*) FROM kernels WHERE arch = 'gfx942'\""))[0] + 0 }

my $second = create('gfx942130');
my $pid = fork // die $!;
if ($pid == 0) {
    open STDERR, '>', "$folder/killed";
    exec $program, @worker;
    exit 127;
}
my $deadline = time + 300;
sleep 0.05 until stored() >= 2 || time > $deadline;
kill 'KILL', $pid;
waitpid $pid, 0;
my $kept = stored();
cmp_ok $kept, '>=', 2, 'a worker is killed when it has stored kernels';
(undef, $errors, $status) = run(@worker);
is $status, 0, 'another one goes on' or diag $errors;
my ($again) = run('db', 'psql', '-Atqc',
    "\"SELECT count(*) FROM kernels WHERE arch = 'gfx942' AND built_by = (SELECT max(id) FROM workers)\"");
# Kernels that the first worker had sent when it was killed may have arrived after the count.
cmp_ok stored() - $again, '>=', $kept, 'and compiles nothing that was stored';
check_release($second, 'gfx942130');

done_testing;
