// Problems, and one problem: all solvers, every config as a dot of time, why each lost, and the history over nights.
import {h, panel, facts, figures, empty, link, commandLine, tag} from './dom.js';
import {pathOf, read, readAll} from './api.js';
import {table} from './table.js';
import {axisName, chart, colour, marks, shade} from './charts.js';
import {addressOf} from './address.js';
import * as format from './format.js';
import {campaignLink, clocks, cutNote, heading, jobLink, outcomeTag, problemLink, selection, stateTag} from './parts.js';

export async function problems({values, signal}) {
    const wanted = {search: values.get('search'), network: values.get('network'), tag: values.get('tag')};
    const {items, more} = await readAll('problems', wanted, signal, 2000);
    const field = h('input', {id: 'problem-search', type: 'search', value: wanted.search ?? '', autocomplete: 'off'});
    const form = h('form', {role: 'search', class: 'tools', onsubmit: (event) => {
        event.preventDefault();
        location.hash = addressOf(['problems'], {...wanted, search: field.value.trim()});
    }}, h('span', {class: 'field'}, h('label', {for: 'problem-search'}, 'Part of the key'), field), h('button', {type: 'submit'}, 'Search'));
    const list = table([
        {label: 'Problem', value: (p) => p.key, show: (p) => problemLink(p.key), key: true},
        {label: 'Networks', value: (p) => p.networks.join(', ') || null, wrap: true,
            show: (p) => (p.networks.length ? p.networks.flatMap((name, index) => [index ? ', ' : '', link(addressOf(['networks', name]), name)]) : '–')},
        {label: 'Tags', value: (p) => p.tags.join(', ') || null},
    ], items, {caption: 'Problems', id: (p) => p.id, name: 'list', filter: 'Filter these',
        empty: wanted.search || wanted.network || wanted.tag ? 'No problem is like that.' : ['There is no problem yet. ', h('code', null, 'skipjack import FILE'), ' reads them.']});
    return {
        title: 'Problems',
        body: [heading('Problems'), form,
            wanted.network || wanted.tag ? h('p', null, `Only of ${wanted.network ? `network “${wanted.network}”` : `tag “${wanted.tag}”`}. `, link('#/problems', 'All problems')) : null,
            cutNote(more, items.length, 'Search for a part of the key to see others.'), panel('Problems', list)],
    };
}

/** Every measured config as a dot: its solver, and its time by a logarithmic axis; the winner is a star. */
function dotsChart(dots) {
    const timed = dots.filter((d) => d.median_ms !== null);
    const best = new Map();
    timed.forEach((d) => best.set(d.solver, Math.min(best.get(d.solver) ?? Infinity, d.median_ms)));
    const solvers = [...best.keys()].sort((a, b) => best.get(a) - best.get(b));
    const winner = timed.find((d) => d.is_winner);
    // Dots of a solver are spread over the height of its line, in the order in which they were measured.
    const dot = (d, index) => ({x: d.median_ms, y: solvers.indexOf(d.solver) + (d.is_winner ? 0 : ((index * 7) % 11 - 5) / 16), dot: d});
    return chart({
        name: 'Every measured config by solver and time',
        describe: () => (winner ? `${timed.length} configs of ${solvers.length} solvers; the winner is ${winner.solver} ${winner.config} with ${format.milliseconds(winner.median_ms)}`
            : `${timed.length} configs of ${solvers.length} solvers`),
        height: 70 + Math.max(3, solvers.length) * 30,
        make: () => ({
            type: 'scatter',
            data: {datasets: [
                {label: 'Winner', data: timed.filter((d) => d.is_winner).map(dot), pointStyle: 'star', radius: 9, hoverRadius: 11, borderWidth: 2.5, borderColor: shade('bad'), backgroundColor: shade('bad')},
                {label: 'Configs', data: timed.filter((d) => !d.is_winner).map(dot), pointStyle: 'circle', radius: 3.5, backgroundColor: `${colour(0)}aa`, borderColor: colour(0)},
            ]},
            options: {
                scales: {
                    x: {type: 'logarithmic', min: best.get(solvers[0]) * 0.8, words: 'median time in ms', ticks: {maxTicksLimit: 8, maxRotation: 0, callback(value) {
                        const kept = this.chart.width < 480 ? /^[15]/ : /^[125]/;
                        return kept.test(Number(value).toExponential()) ? format.number(value) : null;
                    }}},
                    y: {type: 'linear', min: -0.6, max: solvers.length - 0.4, reverse: true, grid: {display: false}, afterBuildTicks: (axis) => { axis.ticks = solvers.map((_, value) => ({value})); },
                        ticks: {autoSkip: false, callback(value) { return solvers[value] && axisName(solvers[value], this.chart); }}},
                },
                plugins: {legend: {display: true, position: 'bottom', labels: {usePointStyle: true}},
                    tooltip: {callbacks: {label: ({raw}) => `${raw.dot.solver} ${raw.dot.config}: ${format.milliseconds(raw.dot.median_ms)}`}}},
            },
        }),
        columns: dotColumns,
        rows: () => [...timed].sort((a, b) => a.median_ms - b.median_ms),
    });
}

const dotColumns = [
    {label: 'Config', value: (d) => d.config, key: true, show: (d) => [d.config || '(no config)', d.is_winner ? [' ', tag('winner', 'good')] : null]},
    {label: 'Solver', value: (d) => d.solver},
    {label: 'Median', number: true, value: (d) => d.median_ms, show: (d) => format.milliseconds(d.median_ms)},
    {label: 'Spread', number: true, value: (d) => d.spread, show: (d) => format.percent(d.spread)},
    {label: 'Outcome', value: (d) => d.failure, show: (d) => outcomeTag(d.failure)},
    {label: 'Why it lost', value: (d) => d.why, wrap: true, show: (d) => (d.is_winner ? 'it won' : d.why || '–')},
];

function configTable(dots, all) {
    return table([...dotColumns,
        {label: 'Round', number: true, value: (d) => d.round},
        {label: 'Job', number: true, value: (d) => d.job, show: (d) => jobLink(d.campaign, d.job)},
        {label: 'Repeat', fixed: true, wrap: true, value: () => null, show: (d) => (d.replay ? h('details', null, h('summary', null, 'Command',
            h('span', {class: 'only-heard'}, ` that repeats ${d.config}`)), d.detail ? h('pre', null, d.detail) : null, commandLine(d.replay, `the command that repeats ${d.config}`)) : '–')},
    ], dots, {caption: 'Every config', id: (d) => `${d.job} ${d.round} ${d.config}`, filter: 'Filter', name: 'configs', sort: [2, false], page: 20,
        empty: all ? 'No config of it has been measured yet.' : 'No config is like that.'});
}

/** Points where the software differs from the night before. */
function stackChanges(points) {
    return points.flatMap((p, index) => (index > 0 && p.stack !== points[index - 1].stack ? [{at: index, night: p.night, words: stackWords(points[index - 1].stack, p.stack)}] : []));
}

/** The parts of a stack that are new in it. */
function stackWords(before, now) {
    const parts = (text) => text.split(/[;,]\s*/).filter(Boolean);
    const old = new Set(parts(before));
    const fresh = parts(now).filter((part) => !old.has(part));
    return fresh.length ? fresh.join(', ') : 'software changed';
}

function historyChart(points, target) {
    const changes = stackChanges(points);
    const timed = (name) => points.map((p) => p[name]);
    return chart({
        name: `The winner’s time over the nights on ${target}`,
        describe: () => {
            const known = points.filter((p) => p.median_ms !== null);
            return `${points.length} nights, from ${format.milliseconds(known[0]?.median_ms)} to ${format.milliseconds(known.at(-1)?.median_ms)}; the software changed ${changes.length} times`;
        },
        height: 260,
        make: () => ({
            type: 'line',
            data: {labels: points.map((p) => p.night), datasets: [
                {label: 'high', data: timed('high_ms'), borderWidth: 0, pointRadius: 0, fill: '+1', backgroundColor: `${colour(0)}33`},
                {label: 'low', data: timed('low_ms'), borderWidth: 0, pointRadius: 0},
                {label: 'median', data: timed('median_ms'), borderColor: colour(0), backgroundColor: colour(0), borderWidth: 2, pointRadius: 4,
                    pointStyle: points.map((p, index) => (index > 0 && p.solver !== points[index - 1].solver ? 'rectRot' : 'circle')),
                    radius: points.map((p, index) => (index > 0 && p.solver !== points[index - 1].solver ? 7 : 4))},
            ]},
            options: {
                scales: {x: {ticks: {maxTicksLimit: 7, maxRotation: 0, callback: (_, index) => points[index].night.slice(5)}}, y: {words: 'ms'}},
                plugins: {marks: {list: changes}, tooltip: {filter: (item) => item.datasetIndex === 2,
                    callbacks: {label: ({dataIndex}) => { const p = points[dataIndex]; return `${p.solver} ${p.config ?? ''}: ${format.milliseconds(p.median_ms)} (${format.milliseconds(p.low_ms)} to ${format.milliseconds(p.high_ms)})`; }}}},
            },
            plugins: [marks],
        }),
        columns: historyColumns,
        rows: () => [...points].reverse(),
    });
}

const historyColumns = [
    {label: 'Night', value: (p) => p.night}, {label: 'Solver', value: (p) => p.solver}, {label: 'Config', value: (p) => p.config, key: true},
    {label: 'Median', number: true, value: (p) => p.median_ms, show: (p) => (p.failure ? h('span', {class: 'bad'}, p.failure) : format.milliseconds(p.median_ms) + (p.is_older ? ' (of an earlier night)' : ''))},
    {label: 'Interval', number: true, value: (p) => p.low_ms, show: (p) => (p.low_ms === null ? '–' : `${format.milliseconds(p.low_ms)} to ${format.milliseconds(p.high_ms)}`)},
    {label: 'Runs', number: true, value: (p) => p.n}, {label: 'Revision', number: true, value: (p) => p.revision}, {label: 'Node', value: (p) => p.node},
    {label: 'Clock', number: true, value: (p) => p.sm_mhz_max, show: (p) => clocks(p)},
    {label: 'Software', value: (p) => p.stack, wrap: true},
    {label: 'Campaign', number: true, value: (p) => p.campaign, show: (p) => (p.campaign ? campaignLink(p.campaign) : '–')},
];

function historyPanel(points, target) {
    // The newest comes first; a night's point is its winner's.
    const own = points.filter((p) => p.target === target && p.is_winner).reverse();
    if (own.length === 0) return panel('History', empty('No night has measured it yet. History begins when a campaign with it ends.'));
    const legend = h('p', {class: 'muted'}, 'The band is the interval of the median. A dashed line: other software than the night before. A diamond: another solver won.');
    return panel(`History on ${target}`, [legend, historyChart(own, target)]);
}

/** The target that is shown where the address names none: the one with most configs. */
function usualTarget(targets, configs) {
    const counts = new Map(targets.map((t) => [t, 0]));
    configs.forEach((c) => counts.set(c.target, (counts.get(c.target) ?? 0) + 1));
    return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0];
}

export async function problem({key, values, signal}) {
    const path = pathOf('problems', key);
    const [p, configs, history] = await Promise.all([read(path, {}, signal), readAll(`${path}/configs`, {target: values.get('target'), solver: values.get('solver')}, signal),
        readAll(`${path}/history`, {}, signal)]);
    const target = values.get('target') ?? usualTarget(p.targets, configs.items);
    const dots = configs.items.filter((d) => d.target === target);
    const solvers = p.solvers.filter((s) => s.target === target);
    const winner = solvers.find((s) => s.is_winner);
    const solverTable = table([
        {label: 'Solver', value: (s) => s.solver, show: (s) => [s.solver, s.is_winner ? [' ', tag('winner', 'good')] : null]},
        {label: 'Best', number: true, value: (s) => s.best_ms, show: (s) => format.milliseconds(s.best_ms)},
        {label: 'Behind', number: true, value: (s) => s.behind, show: (s) => (s.is_winner ? 'winner' : s.behind === null ? '–' : `${s.behind < 0 ? '' : '+'}${format.percent(s.behind)}`)},
        {label: 'Measured again', number: true, value: (s) => s.best_low_ms, show: (s) => (s.is_second ? `${format.milliseconds(s.best_low_ms)} to ${format.milliseconds(s.best_high_ms)}` : '–')},
        {label: 'Config', value: (s) => s.best_config, key: true, show: (s) => (s.best_config === null ? '–' : (s.best_config ? `${s.best_config}${s.is_default ? ' (default)' : ''}` : '(no config)'))},
        {label: 'Spread', number: true, value: (s) => s.best_spread, show: (s) => format.percent(s.best_spread)},
        {label: 'State', value: (s) => s.state, show: (s) => [stateTag(s.state), s.failure ? h('div', {class: 'bad'}, `${s.failure}${s.detail ? `: ${s.detail}` : ''}`) : null], wrap: true},
        {label: 'Rounds', number: true, value: (s) => s.rounds},
        {label: 'Job', number: true, value: (s) => s.job, show: (s) => jobLink(s.campaign, s.job)},
    ], solvers, {caption: 'Solvers of the newest campaign', id: (s) => `${s.target} ${s.solver} ${s.job}`, sort: [1, false], name: 'solvers',
        empty: ['No campaign has tuned it. ', h('code', null, 'skipjack campaign create --problems FILE'), ' does.']});
    const goldenTable = table([
        {label: 'Target', value: (g) => g.target, show: (g) => link(addressOf(['golden'], {target: g.target}), g.target)}, {label: 'Version', number: true, value: (g) => g.version},
        {label: 'Solver', value: (g) => g.solver}, {label: 'Config', value: (g) => g.config, key: true},
        {label: 'Median', number: true, value: (g) => g.median_ms, show: (g) => format.milliseconds(g.median_ms)},
    ], p.golden, {caption: 'What the golden versions ship', id: (g) => g.target, empty: 'No golden version has it.'});
    const networkTable = table([
        {label: 'Network', value: (n) => n.network, show: (n) => link(addressOf(['networks', n.network]), n.network)}, {label: 'Layer', value: (n) => n.layer},
        {label: 'Times', number: true, value: (n) => n.multiplicity},
    ], p.networks, {caption: 'Networks that have it', id: (n) => `${n.network} ${n.layer}`, page: 10, empty: 'No network has it.'});
    const measured = dots.filter((d) => d.median_ms !== null);
    return {
        title: key,
        body: [heading(key, [['#/problems', 'Problems']], p.targets.length > 1 ? selection('Target', 'target', p.targets.map((t) => [t]), target, {path: ['problems', key], values: {}}) : null),
            figures([['Winner', winner ? winner.solver : '–', winner ? `${winner.best_config ?? ''}` : 'not measured yet'], ['Its time', format.milliseconds(winner?.best_ms), target],
                ['Solvers', format.count(solvers.length)], ['Configs', format.count(dots.length), `${format.count(measured.length)} timed`],
                ['GMACs', format.number(p.gmacs)]]),
            h('div', {class: 'columns-wide'},
                panel('Configs by time', measured.length ? dotsChart(dots) : empty('No config of it has been timed yet.')),
                historyPanel(history.items, target)),
            panel('Solvers', solverTable),
            cutNote(configs.more, configs.items.length, 'A job’s page has all of its own.'),
            panel('Configs, and why each lost', configTable(dots, !values.get('solver'))),
            h('div', {class: 'columns'}, panel('Golden', goldenTable), panel('Networks', networkTable),
                panel('About', [facts([['Tags', p.tags.join(', ')], ['Quarantined configs', p.quarantined ? link('#/quarantine', format.count(p.quarantined)) : 'none']]),
                    h('h3', null, 'Driver line'), commandLine(p.driver, 'the driver line')]))],
    };
}
