# How long scripts wait for what usually comes at once; tests/support/patience.h says why.
package Patience;
use strict;
use warnings;
use Exporter 'import';
our @EXPORT_OK = qw($patience);

our $patience = 300; # seconds

1;
