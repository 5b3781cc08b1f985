#!/usr/bin/perl
# Campaigns created from layer tables: values that options add to a table, and mistakes for which a table is refused.
use strict;
use warnings;
use lib 'tests/support';
use ScratchProgram qw($program $folder run json_of);
use Test::More;

sub write_file {
    my ($name, $text) = @_;
    open my $file, '>', "$folder/$name" or die $!;
    print $file $text;
    close $file;
    return "$folder/$name";
}

my $head = 'in_channels,out_channels,in_size,kernel_size,padding';
my $table = write_file('layers.csv', "$head\n8,8,8,3,1\n");
my @create = ('campaign', 'create', '--target', 'gfx90a68', '--build-only', '--solvers', 'ConvDirectNaive');

my ($campaign, $errors, $status) = run(@create, '--problems', $table, '--batch', '1,64', '--dtype', 'half', '--layout',
    'NHWC', '--network', 'net');
is $status, 0, 'a campaign is made of a table and what it leaves out' or diag $errors;
chomp $campaign;
is_deeply [map { $_->{key} } @{json_of('problems', '--campaign', $campaign)}],
    [map { "8-8-8-3x3-8-8-8-$_-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F" } 1, 64], 'it has every layer for each batch size';
is json_of('campaign', 'show', $campaign)->{name}, 'net', 'and the name of the network';

my $description = write_file('campaign.json', qq({"target": "gfx90a68", "problems": "layers.csv", "batch": [1, 64],
    "dtype": "FP16", "layout": "nhwc", "network": "net", "build_only": true, "solvers": ["ConvDirectNaive"]}));
my $pid = open my $watch, '-|', "exec '$program' run '$description' 2>&1" or die $!;
like scalar(<$watch>), qr/the same was asked for before: campaign $campaign /, 'a description asks for the same';
kill INT => $pid;
close $watch;

($campaign, $errors, $status) = run(@create, '--problems', 'alexnet', '--batch', '2');
is $status, 0, 'a network that comes with the program is taken by its name' or diag $errors;
chomp $campaign;
is scalar(@{json_of('problems', '--campaign', $campaign)}), 5, 'it has its layers';
is json_of('campaign', 'show', $campaign)->{name}, 'alexnet', 'and its name';
run('import', 'alexnet', '--batch', '2', '--runs', '7', '--framework', 'mine');
my ($network) = grep { $_->{network} eq 'alexnet' } @{json_of('networks')};
is "$network->{framework} $network->{model} $network->{model_version} $network->{batch} $network->{runs}",
    'mine alexnet 0.15 2 7', 'networks shows the facts of the table and of the options';
cmp_ok scalar(grep { $_->{framework} && $_->{source} } @{json_of('networks', '--shipped')}), '>=', 24,
    'networks --shipped lists the networks with their facts';
is scalar(@{json_of('networks', '--shipped', 'vgg16')}), 13, 'or the layers of one';
(undef, $errors, $status) = run('networks', '--shipped', 'vgg17');
is $status, 1, 'a name that none has fails';
like $errors, qr/networks --shipped/, 'and says where the names are';
(undef, $errors, $status) = run('import', '--dry-run', 'alexnett');
like $errors, qr/networks --shipped/, 'a name that is neither says where the names are';
write_file('alexnet', "$head\n8,8,8,3,1\n");
($campaign) = `cd $folder && '$program' import --dry-run alexnet`;
like $campaign, qr/ 1 convolutions/, 'a file of that name comes first';

my $mistyped = write_file('mistyped.csv', "$head,strid\n8,8,8,3,1,2\n");
for my $command ([@create, '--problems', $mistyped], ['tune', $mistyped]) {
    (undef, $errors, $status) = run(@$command);
    is $status, 1, "$command->[0] refuses a table of which a column is not understood";
    like $errors, qr/mistyped\.csv', line 1: .* not understood: 'strid' \(stride\?\)/, 'and names the column';
}
(undef, $errors, $status) = run(@create, '--problems', write_file('batch.csv', "$head,n\n8,8,8,3,1,4\n"), '--batch', '8');
is $status, 1, 'so does one that says another batch size than --batch';
like $errors, qr/line 2: it says the batch size itself \(column 'n' is '4'\)/, 'by its line and column';
(undef, $errors, $status) = run(@create, '--problems', write_file('clamped.csv', "$head\n8,8,2,9,1\n"));
is $status, 1, 'a layer whose filter is larger than its padded input is left out';
like $errors, qr/clamped\.csv:2: not used: its filter is 9x9, larger than its padded input, 4x4/, 'and named';
is scalar(@{json_of('problems')}), 7, 'nothing else was stored';

done_testing;
