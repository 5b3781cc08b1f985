# Small convolutional networks in ONNX, written byte by byte: conv 3x3 with bias, relu, conv 1x1, the sum of both, relu,
# and the mean of each channel. Field numbers are those of onnx.proto.
package SmallModel;
use strict;
use warnings;
use Exporter 'import';
our @EXPORT = qw(small_model tiny_model);

sub varint {
    my ($value) = @_;
    my $bytes = '';
    while ($value >= 128) {
        $bytes .= chr($value & 127 | 128);
        $value >>= 7;
    }
    return $bytes . chr $value;
}
sub number { return varint($_[0] << 3) . varint($_[1]) }
sub bytes  { return varint($_[0] << 3 | 2) . varint(length $_[1]) . $_[1] }

sub value_info {
    my ($name, @dims) = @_;
    my $shape = join '', map { bytes(1, /^\d+$/ ? number(1, $_) : bytes(2, $_)) } @dims;
    return bytes(1, $name) . bytes(2, bytes(1, number(1, 1) . bytes(2, $shape)));
}

sub tensor {
    my ($name, $dims, @values) = @_;
    return join('', map { number(1, $_) } @$dims) . number(2, 1) . bytes(8, $name)
        . bytes(9, pack 'f<*', @values);
}

sub ints {
    my ($name, @values) = @_;
    return bytes(5, bytes(1, $name) . join('', map { number(8, $_) } @values) . number(20, 7));
}

sub node {
    my ($type, $name, $inputs, @attributes) = @_;
    return join('', map { bytes(1, $_) } @$inputs) . bytes(2, $name) . bytes(3, $name)
        . bytes(4, $type) . join '', @attributes;
}

sub values_of {
    my ($count, $step, $scale) = @_;
    return map { (($_ * $step) % 19 - 9) * $scale } 1 .. $count;
}

# The model's bytes. size: of its square input of 3 channels; seed changes the weights; height: its name where the model
# leaves it open.
sub small_model {
    my ($size, $seed, $height) = @_;
    my @nodes = (
        node('Conv', 'first', [qw(x w1 b1)], ints('pads', 1, 1, 1, 1)),
        node('Relu', 'bent', ['first']),
        node('Conv', 'second', [qw(bent w2)]),
        node('Add', 'sum', [qw(second bent)]),
        node('Relu', 'y', ['sum']),
        node('GlobalAveragePool', 'mean', ['y']),
    );
    my @weights = (
        tensor('w1', [8, 3, 3, 3], values_of(8 * 27, 5 + $seed, 0.05)),
        tensor('b1', [8], values_of(8, 3, 0.1)),
        tensor('w2', [8, 8, 1, 1], values_of(64, 7, 0.05)),
    );
    return model_of('small', \@nodes, \@weights, value_info('x', 1, 3, $height // $size, $size),
        value_info('mean', 1, 8, 1, 1));
}

# The first two nodes alone: conv 3x3 with bias, relu.
sub tiny_model {
    my @nodes = (node('Conv', 'first', [qw(x w1 b1)], ints('pads', 1, 1, 1, 1)), node('Relu', 'y', ['first']));
    my @weights = (tensor('w1', [8, 3, 3, 3], values_of(8 * 27, 5, 0.05)), tensor('b1', [8], values_of(8, 3, 0.1)));
    return model_of('tiny', \@nodes, \@weights, value_info('x', 1, 3, 4, 4), value_info('y', 1, 8, 4, 4));
}

sub model_of {
    my ($name, $nodes, $weights, $input, $output) = @_;
    my $graph = join('', map { bytes(1, $_) } @$nodes) . bytes(2, $name)
        . join('', map { bytes(5, $_) } @$weights) . bytes(11, $input) . bytes(12, $output);
    return number(1, 8) . bytes(7, $graph) . bytes(8, bytes(1, '') . number(2, 13));
}

1;
