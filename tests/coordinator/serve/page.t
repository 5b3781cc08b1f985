#!/usr/bin/perl
# The dashboard in a real Chromium, served by a real `skipjack serve` over a farm's database. Views show the right
# figures, changes arrive without a reload, and the page reports a wrong token and a lost server. Keyboard, screen
# readers, phones and both colour schemes are covered. The page asks no other host and logs no error.
#
# SKIPJACK_SCREENSHOTS=FOLDER (make screenshots): writes the images of coordinator/serve/DASHBOARD.md there.
use strict;
use warnings;
use utf8;
use Cwd qw(abs_path);
use Digest::SHA;
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use IPC::Open2;
use JSON::PP;
use POSIX qw(WNOHANG);
use Test::More;
use Time::HiRes qw(sleep time);
use lib 'tests/support';
use Chromium;
use Exposition qw(get wait_for);

binmode $_, ':utf8' for map { Test::More->builder->$_ } qw(output failure_output todo_output);

my $program = abs_path($ENV{SKIPJACK} // 'build/skipjack');
-x $program or plan skip_all => "$program is not built";
my $farm_program = dirname($program) . '/tests/coordinator/serve/page_farm';
-x $farm_program or plan skip_all => "$farm_program is not built";
Chromium::program() or plan skip_all => 'chromium is not installed';

my $folder = tempdir('skipjack-page-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $folder;
delete @ENV{qw(SKIPJACK_DB SKIPJACK_HOME SKIPJACK_LOG SKIPJACK_LOG_LEVEL SKIPJACK_NODE)};
my ($browser, $serve, $farm, $owner) = (undef, 0, 0, $$);
END {
    if ($owner == $$) {
        local $?;
        $browser->stop if $browser;
        for my $pid (grep { $_ } $serve, $farm) {
            kill 'TERM', $pid;
            waitpid $pid, 0;
        }
    }
}

# ---- The farm.

$farm = open2(my $farm_says, my $farm_told, $farm_program);
my ($url, $finished, $open, $night) = split ' ', scalar(<$farm_says>) // '';
ok $night, 'a farm with nights, campaigns and golden versions' or BAIL_OUT 'there is no farm';
$ENV{SKIPJACK_DB} = $url;

sub work { print {$farm_told} "work\n"; $farm_told->flush; return scalar <$farm_says> }
sub skipjack { my $out = qx('$program' @_ 2>'$folder/errors.log'); return wantarray ? ($out, $? >> 8) : $out }
sub json { return JSON::PP->new->utf8->decode(scalar skipjack(@_, '--json')) }

sub write_file {
    my ($path, $text) = @_;
    open my $file, '>', $path or die "$path: $!";
    print $file $text;
    close $file;
}

sub read_file {
    my ($path) = @_;
    open my $file, '<', $path or return '';
    local $/;
    return scalar(<$file>) // '';
}

my @keys = ('64-56-56-3x3-64-56-56-1-1x1-1x1-1x1-0-NCHW-FP32-F', '256-14-14-1x1-512-14-14-2-0x0-1x1-1x1-0-NCHW-FP32-F',
    '128-28-28-3x3-64-56-56-4-1x1-2x2-1x1-0-NCHW-FP32-B');
write_file("$folder/tiny.txt", join '', map { "$_\n" } @keys);
skipjack("import --network tiny '$folder/tiny.txt'");
skipjack("golden propose --campaign $finished --by ann");
skipjack('golden approve --by bob');
my (undef, $exported) = skipjack("export --golden latest -o '$folder/exports'");
is $exported, 0, 'a released version, exported' or diag read_file("$folder/errors.log");
write_file("$folder/statement.sql", <<"END");
SET search_path = skipjack;
INSERT INTO quarantine (solver_id, problem_id, target, config, failure, detail)
SELECT DISTINCT ON (solver_id) solver_id, problem_id, 'cpu-znver4_2', '{4,2}', 7, 'it crashed with signal 11' FROM jobs WHERE campaign_id = $finished;
INSERT INTO farm_samples SELECT now() - n * interval '10 seconds', 5 * (30 - n), 40 * (30 - n), 90 * (30 - n) FROM generate_series(1, 29) AS n;
INSERT INTO events (kind, worker_id, detail) SELECT 'worker failed', max(id), 'cannot open device 1: the driver has reset it' FROM workers;
UPDATE workers SET beat_at = now() + interval '10 minutes';
UPDATE worker_devices SET out_since = now() - interval '9 minutes', out_reason = 'it failed 5 times in a row' WHERE place = 1;
END
is system("'$program' db psql -q -v ON_ERROR_STOP=1 -f '$folder/statement.sql' >'$folder/psql.log' 2>&1"), 0, 'troubles of all kinds'
    or diag read_file("$folder/psql.log");
chomp(my $token = skipjack('db token create page --role coordinator') // '');
isnt $token, '', 'a token';

sub start_serve {
    my ($listen, @words) = @_;
    my $log = "$folder/serve.log";
    my $pid = fork // die $!;
    if (!$pid) {
        open STDERR, '>', $log or die $!;
        exec $program, 'serve', '--listen', $listen, '--upkeep', '0', '--exports', "$folder/exports", @words or POSIX::_exit(127);
    }
    return $pid;
}

sub end_serve {
    kill 'TERM', $serve;
    waitpid $serve, 0;
    $serve = 0;
}

$serve = start_serve('0');
my $at = wait_for(sub { read_file("$folder/serve.log") =~ m{(http://127\.0\.0\.1:\d+)} && $1 });
ok wait_for(sub { ((get($at, '/health'))[0] // 0) == 200 }), 'serve answers' or BAIL_OUT read_file("$folder/serve.log");

# ---- The browser.

$browser = Chromium->start($folder);
$browser->window(1200, 900);
my $shown = 'document.querySelector("main h1") && !document.querySelector("main[aria-busy]")'
    . ' && document.querySelector("main").dataset.shows.split("?")[0] === location.hash.split("?")[0]';

# Goes to a view as a link does.
sub view {
    my ($address) = @_;
    $browser->eval('location.hash = ' . Chromium::quote($address));
    return $browser->until("location.hash === " . Chromium::quote($address) . " && $shown");
}
sub text { return $browser->text($_[0] // 'main') }
sub count { return $browser->eval('document.querySelectorAll(' . Chromium::quote($_[0]) . ').length') }
# The texts of a table's column, of the page of rows that is shown.
sub column {
    my ($caption, $number) = @_;
    return @{$browser->eval('[...document.querySelectorAll("table")].find((t) => t.caption.textContent === ' . Chromium::quote($caption)
        . ")?.querySelectorAll('tbody tr') ?? []") ? $browser->eval('[...[...document.querySelectorAll("table")].find((t) => t.caption.textContent === '
        . Chromium::quote($caption) . ").querySelectorAll('tbody tr')].map((r) => r.children[$number].innerText.trim())") : []};
}
sub no_problems {
    my ($where) = @_;
    is_deeply [$browser->problems], [], "$where: no error, warning or refused content";
}
# Small images: a page has several. Width, height and scheme are those of the image.
sub picture {
    my ($name, @window) = @_;
    my $place = $ENV{SKIPJACK_SCREENSHOTS} or return;
    $browser->window(@window ? @window : (1160, 690));
    $browser->eval('scrollTo(0, 0), new Promise((done) => setTimeout(done, 200))');
    $browser->screenshot("$place/$name.png");
    $browser->window(1200, 900);
}

is $browser->goto("$at/"), undef, 'the page loads';
ok $browser->until("$shown && document.getElementById('live-text').textContent === 'live'"), 'and is live' or diag text('body');
no_problems('the first load');

# ---- The overview.

like text('#farm-figures'), qr/Campaigns\s+2\b/, 'the overview counts campaigns';
like text('#farm-figures'), qr/Devices\s+2\s+1 out of service/, 'and devices, and those out of service';
is_deeply [(column('Active and paused campaigns', 0))[0]], ["$open fleet 2026-11-18"], 'it lists the campaigns under way, the newest first';
is_deeply [sort(column('Devices', 2))], ['idle', "out of service\nit failed 5 times in a row"], 'and each device with its state';
ok scalar(grep { /1350–1700 MHz/ } column('Devices', 4)), 'its clocks';
ok scalar(grep { /61 °C/ } column('Devices', 5)), 'and its heat';
like text(), qr/cannot open device 1: the driver has reset it/, 'the newest events';
like text(), qr/fleet, 2026-11-18.*tuning/s, 'and the last night';

# Changes arrive by themselves: the document is still the same.
$browser->eval('window.isTheSame = true');
my $ended = "document.querySelector('main progress[aria-label^=\"Campaign $open:\"]').value";
my $before = $browser->eval($ended);
work();
ok $browser->until("$ended > $before"), 'two more jobs show without a reload';
ok $browser->eval('window.isTheSame === true'), 'in the same document';
my ($row) = grep { $_->{id} == $open } @{json('campaign list')};
is $browser->eval($ended), $row->{jobs_done} + $row->{jobs_failed}, 'with the right number';
no_problems('the overview');

# ---- A campaign, changed with a token.

ok view("#/campaigns/$open"), 'a campaign';
$browser->click('.head button');
ok $browser->until('document.activeElement.id === "token-field"'), 'a change asks for a token, with the focus in the field';
$browser->type('7.0123456789abcdef');
$browser->press('Enter');
ok $browser->until('document.querySelector("#token-wrong:not([hidden])")'), 'a wrong token is refused';
like text('#token-wrong'), qr/refuses this token/, 'which the page says';
is $browser->eval('sessionStorage.length'), 0, 'and does not keep';
$browser->type($token);
$browser->press('Enter');
ok $browser->until('[...document.querySelectorAll(".head button")].some((b) => b.textContent === "Resume")'), 'the right one pauses the campaign';
is json("campaign show $open")->{state}, 'paused', 'really';
like text('main .note.good'), qr/\S/, 'and the page says so';
$browser->problems; # the browser itself notes the 401
$browser->click('.head button');
ok $browser->until('[...document.querySelectorAll(".head button")].some((b) => b.textContent === "Pause")'), 'it goes on without asking again';
$browser->eval('document.getElementById("set-priority").value = "7", document.getElementById("set-budget").value = "1.5"');
$browser->click('#campaign-setting button');
ok $browser->until('document.querySelector("main .facts").innerText.includes("7, share")'), 'priority and budget can be set';
is skipjack("db psql -Atc 'SELECT priority FROM skipjack.campaigns WHERE id = $open'"), "7\n", 'really';
like text('main .facts'), qr/of 1 h 30 min/, 'both';
$browser->click('#token');
is $browser->eval('sessionStorage.length'), 0, 'a token can be forgotten';
$browser->eval('[...document.querySelectorAll(".head button")].find((b) => b.textContent === "Cancel").click()');
ok $browser->until('document.querySelector("dialog[open]")'), 'cancelling asks first';
$browser->press('Escape');
ok $browser->until('!document.querySelector("dialog[open]")'), 'Escape leaves it';
is json("campaign show $open")->{state}, 'active', 'and the campaign as it was';
no_problems('a campaign');

# ---- Down to one config's log and the command that repeats it.

ok view("#/campaigns/$finished"), 'a campaign with refused configs';
like text(), qr/Configs by outcome.*wrong result/s, 'counts them by reason';
is count('#campaign-setting form'), 0, 'what has ended cannot be set';
picture('campaign');
$browser->eval('[...document.querySelectorAll("main a")].find((a) => a.textContent === "wrong result").click()');
ok $browser->until("location.hash.includes('rejections') && $shown"), 'a reason leads to its configs';
$browser->click('tbody details summary');
ok $browser->until('document.querySelector("tbody details[open] pre")'), 'each with its log';
like text('tbody details[open] pre'), qr/expected 1\.25, got 1\.5625/, 'that says what was wrong';
like text('tbody details[open] .command'), qr/skipjack .*worker/, 'and the command that repeats it';
like text('tbody details[open]'), qr/does not check the result/, 'and what it does not do';
$browser->call_browser('Browser.grantPermissions', permissions => ['clipboardReadWrite', 'clipboardSanitizedWrite'], origin => $at);
$browser->click('tbody details[open] .command button');
ok $browser->until('document.querySelector("tbody details[open] .command button").textContent === "Copied"'), 'which can be copied';
no_problems('refused configs');

# ---- A problem.

ok view("#/problems/$keys[0]"), 'a problem';
my $key_path = $keys[0];
my $configs = $browser->eval("fetch('api/v1/problems/$key_path/configs?limit=1000&target=cpu-znver4_2').then((a) => a.json()).then((a) => a.items)");
my ($winner) = grep { $_->{is_winner} } @$configs;
ok $winner, 'has a winner';
like text('.figures'), qr/Winner\s+\Q$winner->{solver}\E/, 'which the page names';
like text('.figures'), qr/Configs\s+@{[scalar @$configs]}\b/, 'and the number of configs';
my $dots = $browser->eval('document.querySelector("canvas[aria-label^=\"Every measured\"]").getAttribute("aria-label")');
my $timed = grep { defined $_->{median_ms} } @$configs;
like $dots, qr/\b$timed configs of \d+ solvers; the winner is \Q$winner->{solver}\E/, 'every timed config is a dot';
like join(' ', column('Every config', 5)), qr/slower|its|wrong|over/i, 'why each lost';
my $history = $browser->eval('document.querySelector("canvas[aria-label^=\"The winner\"]")?.getAttribute("aria-label")');
like $history // '', qr/\b8 nights.*the software changed 1 times/, 'the history has every night and the change of software';
picture('problem');
no_problems('a problem');

# ---- Tables: sorted, filtered, kept in the address.

ok view("#/problems/$keys[0]"), 'a table';
my $table = 'Solvers of the newest campaign';
my $head = '[...document.querySelectorAll("table")].find((t) => t.caption.textContent === ' . Chromium::quote($table) . ').querySelector("thead th")';
my @names = sort { lc $a cmp lc $b } map { s/\s.*//sr } column($table, 0);
$browser->eval("$head.querySelector('button').click()") for 1 .. 2;
is_deeply [map { s/\s.*//sr } column($table, 0)], [reverse @names], 'is sorted by its head, downwards at the second click';
is $browser->eval("$head.getAttribute('aria-sort')"), 'descending', 'which screen readers are told';
like $browser->eval('location.hash'), qr/solvers=/, 'and the address keeps';
ok view('#/quarantine'), 'another view';
$browser->eval('history.back()');
ok $browser->until("location.hash.includes('solvers=') && $shown"), 'back leads to the table';
is_deeply [map { s/\s.*//sr } column($table, 0)], [reverse @names], 'as it was';

# ---- The other views.

ok view("#/campaigns/$finished/golden"), 'a campaign against golden';
is scalar(column("Campaign $finished against golden version 1 of cpu-znver4_2", 0)), 3, 'has a row for each problem';
like text('.figures'), qr/equal\s+3/, 'and counts them';
ok view('#/usage'), 'usage';
like text(), qr/golden.*cpu-znver4_2/s, 'of the newest golden version';
my ($share) = $browser->eval('document.querySelector("canvas[aria-label^=\"Share of\"]").getAttribute("aria-label")') =~ /([\d.]+) %/;
cmp_ok $share // 0, '>', 0, 'with shares of time';
is_deeply [column('Networks', 0)], ['tiny'], 'of the networks that were imported';
ok view('#/usage?without=each&smallest=5'), 'usage without solvers';
ok scalar(column('What is lost without each solver alone', 0)), 'says what each is worth';
like text(), qr/The smallest set within 5 %\s+\d+ of \d+ solvers: Conv/, 'and which would do';
picture('usage');
ok view('#/networks'), 'networks';
like join(' ', column('Networks', 0)), qr/tiny/, 'with the one that was imported';
ok view("#/nights/$night"), 'a night';
like text(), qr/new problem/, 'with its reasons';
like join(' ', column('What got better or worse', 0)), qr/\Q$keys[0]\E/, 'and its findings';
write_file("$folder/statement.sql", "UPDATE skipjack.night_steps SET detail = 'a new word' WHERE night_id = $night; INSERT INTO skipjack.night_steps (night_id, step, detail) SELECT $night, 'exporting', 'a new word' WHERE NOT EXISTS (SELECT FROM skipjack.night_steps WHERE night_id = $night)");
is system("'$program' db psql -q -v ON_ERROR_STOP=1 -f '$folder/statement.sql' >'$folder/psql.log' 2>&1"), 0, 'a night goes on' or diag read_file("$folder/psql.log");
ok $browser->until('document.querySelector("main").innerText.includes("a new word")'), 'and the page follows';
picture('night');
ok view('#/quarantine'), 'quarantine';
like text(), qr/it crashed with signal 11/, 'with reasons';
ok view('#/nodes'), 'nodes';
like text(), qr/gpu-node-1.*Instinct MI210/s, 'with their devices';
ok view('#/golden'), 'golden versions';
like text(), qr/cpu-znver4_2 1.*approved/s, 'with their state';
ok view('#/exports'), 'exports';
my %sums = map { $_->[0] => $_->[1] } @{$browser->until('(() => { const rows = [...document.querySelectorAll("tbody tr")].map((r) => [r.children[0].innerText, r.children[3].innerText]);'
    . 'return rows.length && rows.every((r) => /^[0-9a-f]{64}$/.test(r[1])) ? rows : null; })()') // []};
my ($name) = sort keys %sums;
is $sums{$name // ''}, $name && Digest::SHA->new(256)->addfile("$folder/exports/$name")->hexdigest, 'with the right checksums';
is $browser->eval('fetch(document.querySelector("tbody a").href).then((a) => a.arrayBuffer()).then((b) => b.byteLength)'),
    $name && -s "$folder/exports/" . $browser->text('tbody a'), 'and whole files';
no_problems('the other views');
ok view('#/no/such/view'), 'an address of no view';
like text(), qr/There is no such view/, 'is told';
ok view('#/campaigns/999999'), 'a campaign that does not exist';
like text('.note.bad'), qr/no such campaign/, 'is told in words';
$browser->problems; # the browser itself notes the 404

# ---- Promises of every view, in both schemes and on a phone.

my @views = ('#/', "#/campaigns", "#/campaigns/$finished", "#/campaigns/$finished/jobs", "#/campaigns/$finished/rejections",
    "#/campaigns/$finished/golden", '#/nodes', '#/nights', "#/nights/$night", '#/problems', "#/problems/$keys[0]", '#/networks', '#/networks/tiny',
    '#/usage', '#/golden', '#/golden/cpu-znver4_2/0/1', '#/exports', '#/quarantine', '#/log');

# Texts with less contrast than WCAG 2.2 asks at level AA: 4.5, or 3 for large ones. Backgrounds are opaque here.
my $contrast = <<'END';
(() => {
    const parse = (text) => text.match(/[\d.]+/g).map(Number);
    const linear = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
    const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    const ground = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
    const bad = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const e = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !e.checkVisibility() || e.closest('.only-heard, .skip, noscript, button:disabled')) continue;
        const style = getComputedStyle(e), size = parseFloat(style.fontSize);
        const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
        const [a, b] = [luminance(parse(style.color)), luminance(ground(e))].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        if (ratio < (large ? 3 : 4.5)) bad.add(`${e.tagName}.${e.className} "${walker.currentNode.data.trim().slice(0, 30)}" ${ratio.toFixed(2)}`);
    }
    return [...bad];
})()
END
# Faults of the structure that a screen reader's user would meet.
my $structure = <<'END';
(() => {
    const bad = [];
    const levels = [...document.querySelectorAll('main h1, main h2, main h3')].map((h) => Number(h.tagName[1]));
    if (levels.filter((l) => l === 1).length !== 1) bad.push('not one h1');
    levels.forEach((l, i) => { if (i && l > levels[i - 1] + 1) bad.push('a level of headings is left out'); });
    for (const t of document.querySelectorAll('table')) {
        if (!t.caption?.textContent) bad.push('a table without a caption');
        if ([...t.querySelectorAll('th')].some((h) => !h.scope)) bad.push(`a head without scope in ${t.caption.textContent}`);
        if ([...t.querySelectorAll('tbody tr')].some((r) => r.querySelectorAll('th[scope=row]').length !== 1)) bad.push(`a row without a head in ${t.caption.textContent}`);
    }
    for (const c of document.querySelectorAll('canvas')) if (!c.closest('.chart').nextElementSibling?.querySelector('table')) bad.push('a chart without a table');
    for (const i of document.querySelectorAll('[id]')) if (document.querySelectorAll(`[id="${i.id}"]`).length > 1) bad.push(`id ${i.id} twice`);
    if (document.querySelectorAll('main, nav, header.bar').length < 3) bad.push('a landmark is missing');
    if (!document.title.endsWith('– Skipjack')) bad.push('no title');
    return bad;
})()
END
my %named = map { $_ => 1 } qw(button link textbox searchbox combobox progressbar image img table region dialog navigation checkbox);
my $wide = 'Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)';
for my $address (@views) {
    $browser->window(1200, 900, 'light');
    ok view($address), "view $address" or diag text('body');
    is_deeply $browser->eval($structure), [], '... has headings, landmarks, and tables with captions and heads';
    is_deeply [map { "$_->{role} $_->{node}" } grep { $named{$_->{role}} && $_->{name} !~ /\S/ } $browser->accessible], [], '... every control has a name';
    is_deeply $browser->eval($contrast), [], '... contrast of AA in the light scheme';
    $browser->window(1200, 900, 'dark');
    is_deeply $browser->eval($contrast), [], '... and in the dark one';
    $browser->window(360, 740, 'dark', 1);
    cmp_ok $browser->eval($wide), '<=', 360, '... fits 360 pixels'
        or diag join ' ', @{$browser->eval('[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > 360 && !e.closest(".frame")).map((e) => `${e.tagName}.${e.className}`)')};
}
no_problems('all views');
$browser->window(1200, 900);
view('#/');
picture('phone', 360, 660);
view("#/problems/$keys[0]");
picture('dark', 360, 660, 'dark');

# ---- By keyboard alone.

$browser->goto('about:blank');
$browser->goto("$at/#/campaigns");
$browser->until($shown);
$browser->press('Tab');
like $browser->eval('document.activeElement.className'), qr/skip/, 'the first Tab is at the link that skips the bar';
$browser->press('Enter');
is $browser->eval('document.activeElement.id'), 'main', 'which leads to the content';
$browser->goto('about:blank');
$browser->goto("$at/#/campaigns/$finished");
$browser->until($shown);
my $reachable = $browser->eval('[...document.querySelectorAll("a[href], button:not(:disabled), input, select, summary, [tabindex=\'0\']")]'
    . '.filter((e) => e.checkVisibility({contentVisibilityAuto: true, visibilityProperty: true})).length');
my (%reached, $unseen);
for (1 .. $reachable + 20) {
    $browser->press('Tab');
    my $focus = $browser->eval('(() => { const e = document.activeElement; window.places ??= new Map(); if (e === document.body) return ["", true];'
        . 'if (!window.places.has(e)) window.places.set(e, window.places.size + 1); const s = getComputedStyle(e);'
        . 'return [window.places.get(e), e.matches(":focus-visible") && s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0]; })()');
    $unseen ||= !$focus->[1] && $focus->[0];
    last if $focus->[0] ne '' && $reached{$focus->[0]}++ || $focus->[0] eq '' && %reached;
}
is scalar(keys %reached), $reachable, 'Tab reaches every control of a campaign, and leaves each';
ok !$unseen, 'and each shows that it has the focus';
$browser->eval('[...document.querySelectorAll("#views a")].find((a) => a.textContent === "Problems").focus()');
$browser->press('Enter');
ok $browser->until("location.hash === '#/problems' && $shown && document.activeElement.tagName === 'H1'"), 'Enter follows a link, to the heading of its view';
no_problems('the keyboard');

# ---- The server is lost, and comes back.

view('#/');
picture('overview');
my ($port) = $at =~ /:(\d+)$/;
$browser->eval('window.isTheSame = true');
end_serve();
ok $browser->until('!document.getElementById("banner").hidden'), 'a lost server is told';
like text('#banner-text'), qr/does not answer.*is from \d\d:\d\d:\d\d/, 'with the time of what is shown';
is text('#live-text'), 'server lost', 'beside the token, too';
$before = $browser->eval($ended);
work();
$serve = start_serve("127.0.0.1:$port");
ok $browser->until('document.getElementById("banner").hidden && document.getElementById("live-text").textContent === "live"'), 'it comes back by itself';
ok $browser->until("$ended > $before"), 'and what came meanwhile shows';
ok $browser->eval('window.isTheSame === true'), 'without a reload';
$browser->problems; # the browser itself notes refused connections

# ---- A server that shows nothing without a token.

end_serve();
$serve = start_serve("127.0.0.1:$port", '--require-token');
ok $browser->until('document.querySelectorAll("dialog[open]").length === 1'), 'a server that wants a token to read makes the page ask for it';
$browser->type($token);
$browser->press('Enter');
ok $browser->until('document.getElementById("live-text").textContent === "live"'), 'and the page is live again';
ok view('#/networks'), 'views are shown';
like join(' ', column('Networks', 0)), qr/tiny/, 'with their content';
$browser->problems; # the browser itself notes the 401

is_deeply [grep { !m{^\Q$at\E/|^about:|^data:|^blob:\Q$at\E/} } $browser->requests], [], 'no other host was ever asked';
end_serve();
$browser->stop;
close $farm_told;
waitpid $farm, 0;
is $?, 0, 'the farm ends in order';
$farm = 0;
done_testing;
