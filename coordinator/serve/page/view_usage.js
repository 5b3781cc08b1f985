// Which solvers networks use: wins and share of time, of a golden version or a campaign.
import {h, panel, figures, empty, link} from './dom.js';
import {read} from './api.js';
import {table} from './table.js';
import {axisName, chart, colour} from './charts.js';
import {addressOf} from './address.js';
import * as format from './format.js';
import {heading, selection} from './parts.js';

const drawn = 12; /* solvers in the chart, the largest first; the table has all */

/** What can be asked: golden versions of targets, then the newest campaigns. */
async function sources(signal) {
    const [targets, campaigns] = await Promise.all([read('targets', {}, signal), read('campaigns', {limit: 30}, signal)]);
    return [
        ...targets.items.filter((t) => t.golden !== null).map((t) => [`target ${t.id}`, `golden ${t.golden} of ${t.id}`, {target: t.id}]),
        ...campaigns.items.filter((c) => !c.build_only && c.jobs_done > 0).map((c) => [`campaign ${c.id}`, `campaign ${c.id} ${c.name} (${c.target})`, {campaign: c.id}]),
    ];
}

function shareChart(solvers) {
    const rows = [...solvers].sort((a, b) => b.time_share - a.time_share);
    const most = rows.slice(0, drawn);
    return chart({
        name: 'Share of the networks’ time by solver',
        describe: () => most.map((s) => `${s.solver} ${format.percent(s.time_share)}`).join(', '),
        height: 60 + most.length * 26,
        make: () => ({type: 'bar', data: {labels: most.map((s) => s.solver), datasets: [{data: most.map((s) => s.time_share * 100), backgroundColor: colour(0), maxBarThickness: 20}]},
            options: {indexAxis: 'y', scales: {x: {beginAtZero: true, words: '% of the time'}, y: {ticks: {autoSkip: false, callback(_, index) { return axisName(most[index].solver, this.chart); }}}}}}),
        columns: solverColumns, rows: () => rows,
    });
}

/** Each network as a bar of its solvers' shares. */
function networkChart(networks, solvers) {
    const order = [...solvers].sort((a, b) => b.time_share - a.time_share).slice(0, 7).map((s) => s.solver);
    const share = (n, name) => (n.solvers.find((s) => s.solver === name)?.time_share ?? 0) * 100;
    const rest = (n) => n.solvers.filter((s) => !order.includes(s.solver)).reduce((sum, s) => sum + s.time_share * 100, 0);
    const shown = networks.slice(0, 25);
    return chart({
        name: 'Share of time by solver in each network',
        describe: () => shown.map((n) => `${n.network}: ${n.solvers[0] ? `${n.solvers[0].solver} ${format.percent(n.solvers[0].time_share)}` : 'nothing'}`).join('; '),
        height: 110 + shown.length * 26,
        make: () => ({type: 'bar', data: {labels: shown.map((n) => n.network), datasets: [
            ...order.map((name, index) => ({label: name, data: shown.map((n) => share(n, name)), backgroundColor: colour(index), maxBarThickness: 20})),
            ...(shown.some((n) => rest(n) > 0) ? [{label: 'others', data: shown.map(rest), backgroundColor: colour(7), maxBarThickness: 20}] : []),
        ]}, options: {indexAxis: 'y', scales: {x: {stacked: true, max: 100, words: '% of the time'}, y: {stacked: true, ticks: {autoSkip: false}}},
            plugins: {legend: {display: true, position: 'bottom'}}}}),
        columns: [{label: 'Network', value: (r) => r.network}, {label: 'Solver', value: (r) => r.solver}, {label: 'Wins', number: true, value: (r) => r.wins},
            {label: 'Share of time', number: true, value: (r) => r.time_share, show: (r) => format.percent(r.time_share)},
            {label: 'Time', number: true, value: (r) => r.time_ms, show: (r) => format.milliseconds(r.time_ms)}],
        rows: () => networks.flatMap((n) => n.solvers.map((s) => ({network: n.network, ...s}))),
    });
}

const solverColumns = [
    {label: 'Solver', value: (s) => s.solver}, {label: 'Wins', number: true, value: (s) => s.wins, show: (s) => format.count(s.wins)},
    {label: 'Layers', number: true, value: (s) => s.layers, show: (s) => format.count(s.layers)},
    {label: 'Time', number: true, value: (s) => s.time_ms, show: (s) => format.milliseconds(s.time_ms)},
    {label: 'Share of time', number: true, value: (s) => s.time_share, show: (s) => format.percent(s.time_share)},
    {label: 'Networks', number: true, value: (s) => s.networks},
];

/** What networks lose without a solver, or what would be lost without each one. */
function withoutPanel(found, words) {
    if (!found) return null;
    const each = found.rows.length > 0 && found.rows[0].solver !== undefined;
    const columns = [
        each ? {label: 'Solver', value: (r) => r.solver} : {label: 'Network', value: (r) => r.network},
        {label: 'Time', number: true, value: (r) => r.time_ms, show: (r) => format.milliseconds(r.time_ms)},
        {label: 'Without', number: true, value: (r) => r.without_ms, show: (r) => format.milliseconds(r.without_ms)},
        {label: 'Loss', number: true, value: (r) => r.loss_ms, show: (r) => `${format.milliseconds(r.loss_ms)} (${format.percent(r.loss_percent / 100)})`},
        {label: 'Take their next solver', number: true, value: (r) => r.moved, show: (r) => format.count(r.moved)},
        {label: 'Left without any', number: true, value: (r) => r.left, show: (r) => (r.left ? h('strong', {class: 'bad'}, format.count(r.left)) : '0')},
    ];
    return panel(each ? 'Without one solver' : `Without ${words}`, table(columns, found.rows, {caption: each ? 'What is lost without each solver alone' : `What networks lose without ${words}`,
        id: (r) => (each ? r.solver : `${r.network} ${r.target}`), sort: [3, true], name: 'without', empty: 'No network has a time.'}));
}

/** The smallest set of solvers within so much of the best. */
function smallestPanel(found, percent) {
    if (!found) return null;
    return panel(`The smallest set within ${percent} %`, [
        h('p', null, `${format.count(found.solvers.length)} of ${format.count(found.of)} solvers: `, h('strong', null, found.solvers.join(', ') || 'none'), '. ',
            found.optimal ? 'No smaller set will do.' : `A set needs ${format.count(found.lower_bound)} solvers at least; whether a smaller one will do was not found out.`),
        table([
            {label: 'Network', value: (r) => r.network}, {label: 'Time', number: true, value: (r) => r.time_ms, show: (r) => format.milliseconds(r.time_ms)},
            {label: 'With the set', number: true, value: (r) => r.with_set_ms, show: (r) => format.milliseconds(r.with_set_ms)},
            {label: 'Loss', number: true, value: (r) => r.loss_percent, show: (r) => format.percent(r.loss_percent / 100)},
        ], found.rows, {caption: 'Networks with the smallest set', id: (r) => `${r.network} ${r.target}`, sort: [3, true], name: 'smallest', empty: 'No network has a time.'})]);
}

const percents = [['', 'not asked'], ...[0, 1, 2, 5, 10, 20].map((percent) => [String(percent), `within ${percent} %`])];

export async function usage({values, signal}) {
    const all = await sources(signal);
    const {items: imported} = await read('networks', {}, signal);
    const source = values.get('campaign') ? {campaign: values.get('campaign')} : values.get('target') ? {target: values.get('target'), version: values.get('version')} : all[0]?.[2];
    // A golden version knows no networks: those that were imported are asked, unless the reader wants its own problems.
    const networks = values.get('networks') ?? (source?.target && imported.length ? 'all' : 'own');
    const asked = {without: values.get('without'), smallest: values.get('smallest')};
    const wanted = source && {...source, ...asked, all_networks: networks === 'all' ? true : null};
    const kept = {...source, ...asked, networks: values.get('networks')};
    const top = (choice) => heading('Usage', null, choice);
    if (!wanted) {
        return {title: 'Usage', body: [top(), panel('Usage', empty('There are no times yet. Usage is computed of a golden version or of a campaign with finished jobs; ',
            h('code', null, 'skipjack usage --db FILE'), ' reads other databases.'))]};
    }
    const u = await read('usage', wanted, signal);
    const names = new Set(imported.map((n) => n.name));
    const current = source.campaign ? `campaign ${source.campaign}` : `target ${source.target}`;
    const choose = (label, name, choices, value) => selection(label, name, choices, value, {path: ['usage'], values: kept});
    const others = [
        imported.length ? choose('Networks', 'networks', [['all', 'all that were imported'], ['own', source.campaign ? 'the campaign’s' : 'its own problems']], networks) : null,
        choose('Without', 'without', [['', 'not asked'], ['each', 'each solver alone'], ...[...new Set([...u.solvers.map((s) => s.solver), asked.without])]
            .filter((name) => name && name !== 'each').sort().map((name) => [name])], asked.without ?? ''),
        choose('Smallest set', 'smallest', percents, asked.smallest ?? ''),
    ];
    const choice = h('span', {class: 'field'}, h('label', {for: 'usage-of'}, 'Of'), h('select', {id: 'usage-of', onchange: (event) => {
        location.hash = addressOf(['usage'], {...asked, networks: values.get('networks'), ...all.find(([value]) => value === event.target.value)[2]});
    }}, (all.some(([value]) => value === current) ? all : [[current, u.source, source], ...all]).map(([value, words]) => h('option', {value, selected: value === current}, words))));
    const time = u.networks.reduce((sum, n) => sum + n.time_ms, 0);
    return {
        title: 'Usage',
        body: [top([choice, ...others]), h('p', {class: 'muted'}, `${u.source}, computed ${format.when(new Date(u.made_unix * 1000))}.`),
            figures([['Networks', format.count(u.networks.length)], ['Solvers that win', format.count(u.solvers.filter((s) => s.wins > 0).length)],
                ['Problems', format.count(u.networks.reduce((sum, n) => sum + n.problems, 0))], ['Without an entry', format.count(u.networks.reduce((sum, n) => sum + n.uncovered, 0))],
                ['Time of all', format.milliseconds(time)]]),
            u.solvers.length === 0 ? panel('Solvers', empty('No problem has a time.')) : [
                h('div', {class: 'columns-wide'}, panel('Share of time', shareChart(u.solvers)), panel('Networks', networkChart(u.networks, u.solvers))),
                panel('Solvers', table(solverColumns, u.solvers, {caption: 'Solvers by their share of time', id: (s) => s.solver, sort: [4, true], filter: 'Filter', name: 'solvers'}))],
            withoutPanel(u.without, asked.without), smallestPanel(u.smallest, asked.smallest),
            panel('Coverage', table([
                {label: 'Network', value: (n) => n.network, show: (n) => (names.has(n.network.replace(/@\d+$/, '')) ? link(addressOf(['networks', n.network]), n.network) : n.network)},
                {label: 'Problems', number: true, value: (n) => n.problems}, {label: 'Layers', number: true, value: (n) => n.layers},
                {label: 'Without an entry', number: true, value: (n) => n.uncovered, show: (n) => (n.uncovered ? h('strong', {class: 'bad'}, format.count(n.uncovered)) : '0')},
                {label: 'Time', number: true, value: (n) => n.time_ms, show: (n) => format.milliseconds(n.time_ms)},
                {label: 'Most of it', value: (n) => n.solvers[0]?.solver, wrap: true, show: (n) => (n.solvers[0] ? `${n.solvers[0].solver} ${format.percent(n.solvers[0].time_share)}` : '–')},
            ], u.networks, {caption: 'Networks', id: (n) => `${n.network} ${n.target}`, filter: 'Filter', name: 'networks', empty: 'No network has these problems.'}))],
    };
}
