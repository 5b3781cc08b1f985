#!/usr/bin/perl
# `worker --pipeline`: a small network is run whole, its outputs are those of the formula, and a plan that breaks a rule
# of coordinator/network/plan/PLAN.md is refused with the place and the rule.
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use File::Temp qw(tempdir);
use JSON::PP qw(decode_json encode_json);
use Test::More;

my $program = $ENV{SKIPJACK} // 'build/skipjack';
-x $program or plan skip_all => "$program is not built";

my $folder = tempdir('skipjack-pipeline-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my ($n, $c, $k, $size) = (2, 3, 4, 6);
my $first  = "$c-$size-$size-3x3-$k-$size-$size-$n-1x1-1x1-1x1-0-NCHW-FP32-F";
my $second = "$k-$size-$size-1x1-$k-$size-$size-$n-0x0-1x1-1x1-0-NCHW-FP32-F";

sub write_file {
    my ($name, $bytes) = @_;
    open my $file, '>:raw', "$folder/$name" or die $!;
    print $file $bytes;
    close $file;
    return "$folder/$name";
}

sub numbers {
    my ($count, $step) = @_;
    return map { (($_ * $step) % 17 - 8) / 8 } 1 .. $count;
}

my @x  = numbers($n * $c * $size**2, 5);
my @w1 = numbers($k * $c * 9,        7);
my @w2 = numbers($k * $k,            3);
my $w1 = pack 'f<*', @w1;
my $weights = $w1 . "\0" x (-length($w1) % 256) . pack 'f<*', @w2;
write_file('net.weights', $weights);
write_file('x.f32', pack 'f<*', @x);

sub buffer {
    my ($name, $kind, $dims, $first, $last, %more) = @_;
    my ($bytes, @strides) = (4);
    for my $dim (reverse @$dims) {
        unshift @strides, $bytes / 4;
        $bytes *= $dim;
    }
    return {name => $name, kind => $kind, bytes => $bytes, type => 'FP32', dims => $dims,
        strides => \@strides, first => $first, last => $last, %more};
}

# A 3x3 convolution, then a 1x1 one into the back half of a buffer that is twice as large.
sub network {
    my $place = sub { return {buffer => $_[0], offset => $_[1] // 0} };
    my $whole = [$n, $k, $size, $size];
    return {
        skipjack_plan => 1, network => 'small', batch => $n, knobs => {},
        weights => {file => 'net.weights', bytes => length $weights,
            sha256 => sha256_hex($weights), seed => undef},
        buffers => [
            buffer('x', 'input', [$n, $c, $size, $size], 0, 0),
            buffer('w1', 'weight', [$k, $c, 3, 3], 0, 0, offset => 0,
                sha256 => sha256_hex($w1), generated => JSON::PP::false),
            buffer('a', 'activation', $whole, 0, 1),
            buffer('w2', 'weight', [$k, $k, 1, 1], 1, 1, offset => 512,
                sha256 => 'unused', generated => JSON::PP::false),
            buffer('y', 'output', [2, @$whole], 1, 1),
            buffer('y2', 'output', $whole, 1, 1, alias_of => 4,
                alias_offset => 4 * $n * $k * $size**2),
        ],
        inputs => [0], outputs => [5],
        steps => [
            {name => 'one', nodes => ['one'], problem => $first, alone => $first, group => 0,
                operands => {x => $place->(0), w => $place->(1), y => $place->(2)}},
            {name => 'two', nodes => ['two'], problem => $second, alone => $second, group => 1,
                operands => {x => $place->(2), w => $place->(3), y => $place->(5)}},
        ],
    };
}

# Returns what the command prints, its errors and its exit status.
sub run_plan {
    my ($plan, %request) = @_;
    my $plan_file = write_file('net.json', ref $plan ? encode_json($plan) : $plan);
    my $naive = {solver => 'ConvDirectNaive', config => ''};
    my $file = write_file('request.json', encode_json({plan => $plan_file,
        steps => [$naive, $naive], input => "$folder/x.f32", output => "$folder/y.f32",
        sample_seconds => 0.02, %request}));
    my $output = `timeout 300 '$program' worker --pipeline $file 2>'$folder/errors'`;
    my $status = $? >> 8;
    open my $errors, '<', "$folder/errors" or die $!;
    local $/;
    return ($output, scalar <$errors>, $status);
}

sub expected {
    my (@a, @y);
    for my $i (0 .. $n - 1) {
        for my $out (0 .. $k - 1) {
            for my $h (0 .. $size - 1) {
                for my $v (0 .. $size - 1) {
                    my $sum = 0;
                    for my $in (0 .. $c - 1) {
                        for my $f (0 .. 8) {
                            my ($ih, $iw) = ($h + int($f / 3) - 1, $v + $f % 3 - 1);
                            next if $ih < 0 || $iw < 0 || $ih >= $size || $iw >= $size;
                            $sum += $x[(($i * $c + $in) * $size + $ih) * $size + $iw]
                                * $w1[($out * $c + $in) * 9 + $f];
                        }
                    }
                    push @a, $sum;
                }
            }
        }
    }
    my $plane = $size**2;
    for my $i (0 .. $n - 1) {
        for my $out (0 .. $k - 1) {
            for my $p (0 .. $plane - 1) {
                my $sum = 0;
                $sum += $a[($i * $k + $_) * $plane + $p] * $w2[$out * $k + $_] for 0 .. $k - 1;
                push @y, $sum;
            }
        }
    }
    return @y;
}

my ($output, $errors, $status) = run_plan(network());
is $status, 0, 'a network runs' or diag $errors;
my $answer = decode_json($output);
my @got = unpack 'f<*', do { open my $f, '<:raw', "$folder/y.f32" or die $!; local $/; <$f> };
my @right = expected();
is scalar @got, scalar @right, 'its outputs are as many as the plan says';
is scalar(grep { abs($got[$_] - $right[$_]) > 1e-4 } 0 .. $#right), 0, 'and those of the formula';
is scalar @{$answer->{steps}}, 2, 'each step has a time';
cmp_ok $answer->{launches}{median_ms}, '>', 0, 'and so has the whole';
is $answer->{stray}, undef, 'no step wrote where it must not';
is $answer->{graph}, undef, 'this device has no graphs of launches';
cmp_ok $answer->{arena}{bytes}, '>=', $answer->{arena}{bound_bytes}, 'the arena has its bound';

# A filter that is an input of the network is there only when the network runs: a solver that packs it packs it anew.
my $dynamic = network();
@{$dynamic->{buffers}[1]}{qw(kind first last)} = ('input', 0, 0);
$dynamic->{inputs} = [0, 1];
my $packing = {solver => 'ConvCpuBlocked', config => '8,1,8,256'};
(undef, $errors, $status) = run_plan($dynamic,
    steps => [$packing, {solver => 'ConvDirectNaive', config => ''}],
    input => write_file('xw.f32', pack 'f<*', @x, @w1));
is $status, 0, 'a network whose filter is an input runs' or diag $errors;
@got = unpack 'f<*', do { open my $f, '<:raw', "$folder/y.f32" or die $!; local $/; <$f> };
is scalar(grep { abs($got[$_] - $right[$_]) > 1e-4 } 0 .. $#right), 0,
    'and its outputs are those of that filter';

# Both results are parts of one tensor of 2k channels, which lie between one another: the second step reads the one part
# and writes the other.
my $joined = network();
my $plane = $size**2;
my @apart = (2 * $k * $plane, $plane, 0, $size, 1);
my $strides = join 'x', @apart;
$joined->{buffers}[4] = buffer('y', 'output', [$n, 2 * $k, $size, $size], 0, 1);
$joined->{buffers}[5] = {%{buffer('y2', 'output', [$n, $k, $size, $size], 0, 1, alias_of => 4,
    alias_offset => 4 * $k * $plane)}, strides => [@apart[0, 1, 3, 4]],
    bytes => 4 * ($n * 2 * $k - $k) * $plane};
$joined->{steps}[0]{problem} = "${first}_sy$strides";
$joined->{steps}[0]{operands}{y} = {buffer => 4, offset => 0};
$joined->{steps}[1]{problem} = "${second}_sx${strides}_sy$strides";
$joined->{steps}[1]{operands}{x} = {buffer => 4, offset => 0};
(undef, $errors, $status) = run_plan($joined);
is $status, 0, 'a step may read and write parts of one tensor' or diag $errors;
@got = unpack 'f<*', do { open my $f, '<:raw', "$folder/y.f32" or die $!; local $/; <$f> };
is scalar(grep { abs($got[$_] - $right[$_]) > 1e-4 } 0 .. $#right), 0, 'and its result is right';

# --- several networks in turns ---

my $naive = {solver => 'ConvDirectNaive', config => ''};
sub part {
    my ($plan, $name) = @_;
    return {plan => write_file("$name.json", encode_json($plan)), steps => [$naive, $naive],
        input => "$folder/x.f32", output => "$folder/$name.f32"};
}
my @parts = map { part(network(), "turn$_") } 1 .. 3;
($output, $errors, $status) = run_plan(network(), pipelines => \@parts);
is $status, 0, 'several networks run together' or diag $errors;
$answer = decode_json($output);
is $answer->{no_room}, undef, 'all are in memory at once';
is scalar @{$answer->{pipelines}}, 3, 'each has its answer';
my $turns = @{$answer->{pipelines}[0]{launches}{turns_ms}};
cmp_ok $turns, '>=', 15, 'turns are so many that three disturbed ones do not matter';
is join(' ', @{$answer->{order}}), join(' ', map { my $t = $_; map { ($t + $_) % 3 } 0 .. 2 } 0 .. $turns - 1),
    'they take turns, and another one begins each turn';
for my $one (@{$answer->{pipelines}}) {
    is join(' ', map { scalar @{$_->{turns_ms}} } $one->{launches}, @{$one->{steps}}), "$turns $turns $turns",
        'each turn times the whole and each step';
}
@got = unpack 'f<*', do { open my $f, '<:raw', "$folder/turn3.f32" or die $!; local $/; <$f> };
is scalar(grep { abs($got[$_] - $right[$_]) > 1e-4 } 0 .. $#right), 0, 'and the outputs are right';

for my $case (
    [qr/'pipelines' must be a list of at least one/, []],
    [qr/cannot use '.*', pipeline 2: 'plan' must name/, [$parts[0], {steps => []}]],
    [qr/request\.json', pipeline 2, step 1 \('one'\): there is no solver 'ConvNowhere'/,
        [$parts[0], {%{$parts[1]}, steps => [({solver => 'ConvNowhere', config => ''}) x 2]}]],
) {
    my ($words, $list) = @$case;
    (undef, $errors, $status) = run_plan(network(), pipelines => $list);
    is $status, 1, "refused: $words";
    like $errors, $words, 'with the reason';
}

# Each case changes a plan that is right in one place.
my @cases = (
    [qr/skipjack_plan' must be .* from 1 to 1/, sub { $_[0]{skipjack_plan} = 2 }],
    [qr/'network' is missing/, sub { delete $_[0]{network} }],
    [qr/no member of a plan is called 'colour'/, sub { $_[0]{colour} = 1 }],
    [qr/buffers\[1\]: another buffer is called 'x'/, sub { $_[0]{buffers}[1]{name} = 'x' }],
    [qr/buffers\[2\]: 'kind' must be/, sub { $_[0]{buffers}[2]{kind} = 'scratch' }],
    [qr/buffers\[0\]: 'type' is 'FP31'/, sub { $_[0]{buffers}[0]{type} = 'FP31' }],
    [qr/buffers\[0\]: axis 1 is out of range/, sub { $_[0]{buffers}[0]{dims}[1] = 0 }],
    [qr/buffers\[0\]: its elements reach behind/, sub { $_[0]{buffers}[0]{bytes} -= 4 }],
    [qr/buffers\[5\]: it reaches behind the buffer 'y'/,
        sub { $_[0]{buffers}[5]{alias_offset} += 4 }],
    [qr/buffers\[2\]: it is an alias of an alias/,
        sub { @{$_[0]{buffers}[2]}{qw(alias_of alias_offset)} = (5, 0) }],
    [qr/steps\[0\]: 'problem' is no valid key/, sub { $_[0]{steps}[0]{problem} = 'nonsense' }],
    [qr/steps\[0\]\.operands\.x: \d+ bytes from byte 4 on reach behind the buffer 'x'/,
        sub { $_[0]{steps}[0]{operands}{x}{offset} = 4 }],
    [qr/steps\[0\]\.operands\.w: it begins within an element/,
        sub { $_[0]{buffers}[1]{bytes} += 16; $_[0]{steps}[0]{operands}{w}{offset} = 2 }],
    [qr/steps\[0\]\.operands\.x: an operand of a convolution begins at a multiple of 16 bytes/,
        sub { $_[0]{buffers}[0]{bytes} += 16; $_[0]{steps}[0]{operands}{x}{offset} = 8 }],
    [qr/steps\[1\]\.operands\.y: it begins within an element/,
        sub { $_[0]{buffers}[5]{alias_offset} -= 2 }],
    [qr/steps\[0\]\.operands: the problem has no operand 'bias'/,
        sub { $_[0]{steps}[0]{operands}{bias} = {buffer => 1, offset => 0} }],
    [qr/steps\[1\]\.operands: the problem has an operand 'w'/,
        sub { delete $_[0]{steps}[1]{operands}{w} }],
    [qr/steps\[0\]: it reads 'a', which no earlier step writes/,
        sub { @{$_[0]{steps}} = reverse @{$_[0]{steps}} }],
    [qr/steps\[1\]: its operand 'x' overlaps 'y', which it writes/,
        sub { $_[0]{buffers}[2]{bytes} += 16;
              $_[0]{steps}[1]{operands}{y} = {buffer => 2, offset => 16} }],
    [qr/steps\[1\]: it writes 'w1', which is an input or a weight/,
        sub { $_[0]{steps}[1]{operands}{y} = {buffer => 1, offset => 0};
              $_[0]{buffers}[1]{bytes} = 4096 }],
    [qr/weights: .*has another SHA-256/, sub { $_[0]{weights}{sha256} =~ tr/0-9a-f/1-9a-f0/ }],
    [qr/weights: .*the plan says 7/, sub { $_[0]{weights}{bytes} = 7 }],
    [qr/weights: 'file' must be the name of a file beside the plan/,
        sub { $_[0]{weights}{file} = '../net.weights' }],
    [qr/the weight 'w2' is not within the weights' file, at a multiple of 256/,
        sub { $_[0]{buffers}[3]{offset} = 516 }],
);
for my $case (@cases) {
    my ($words, $change) = @$case;
    my $plan = network();
    $change->($plan);
    (undef, $errors, $status) = run_plan($plan);
    is $status, 1, "refused: $words";
    like $errors, $words, 'with the reason';
}
(undef, $errors, $status) = run_plan('{"skipjack_plan": 1,');
like $errors, qr/cannot use the plan '.*net\.json': line 1/, 'a file that is no JSON is named';

for my $case (
    [qr/'steps' has 1 elements, the plan has 2 steps/, steps => [{solver => 'X', config => ''}]],
    [qr/step 1 \('one'\): there is no solver 'ConvNowhere'/,
        steps => [map { {solver => 'ConvNowhere', config => ''} } 1 .. 2]],
    [qr/step 1 \('one'\): .*ConvDirectNaive/,
        steps => [map { {solver => 'ConvDirectNaive', config => '7'} } 1 .. 2]],
    [qr/x\.short' has 4 bytes; the inputs of 'small' as FP32 have 864/,
        input => write_file('x.short', 'abcd')],
    [qr/cannot use '.*request\.json': 'plan' must name/, plan => 7],
) {
    my ($words, %request) = @$case;
    (undef, $errors, $status) = run_plan(network(), %request);
    is $status, 1, "a request is refused: $words";
    like $errors, $words, 'with the reason';
}

done_testing;
