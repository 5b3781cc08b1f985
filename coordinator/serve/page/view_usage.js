// Which solvers networks use: wins and share of time, of a golden version or a campaign.
import {h, panel, figures, empty, link} from './dom.js';
import {read} from './api.js';
import {table} from './table.js';
import {axisName, chart, colour} from './charts.js';
import {addressOf} from './address.js';
import * as format from './format.js';
import {heading} from './parts.js';

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

export async function usage({values, signal}) {
    const all = await sources(signal);
    const wanted = values.get('campaign') ? {campaign: values.get('campaign')} : values.get('target') ? {target: values.get('target'), version: values.get('version')} : all[0]?.[2];
    const top = (choice) => heading('Usage', null, choice);
    if (!wanted) {
        return {title: 'Usage', body: [top(), panel('Usage', empty('There are no times yet. Usage is computed of a golden version or of a campaign with finished jobs; ',
            h('code', null, 'skipjack usage --db FILE'), ' reads other databases.'))]};
    }
    const [u, known] = await Promise.all([read('usage', wanted, signal), read('networks', {}, signal)]);
    const names = new Set(known.items.map((n) => n.name));
    const current = wanted.campaign ? `campaign ${wanted.campaign}` : `target ${wanted.target}`;
    const choice = h('span', {class: 'field'}, h('label', {for: 'usage-of'}, 'Of'), h('select', {id: 'usage-of', onchange: (event) => {
        location.hash = addressOf(['usage'], all.find(([value]) => value === event.target.value)[2]);
    }}, (all.some(([value]) => value === current) ? all : [[current, u.source, wanted], ...all]).map(([value, words]) => h('option', {value, selected: value === current}, words))));
    const time = u.networks.reduce((sum, n) => sum + n.time_ms, 0);
    return {
        title: 'Usage',
        body: [top(choice), h('p', {class: 'muted'}, `${u.source}, computed ${format.when(new Date(u.made_unix * 1000))}.`),
            figures([['Networks', format.count(u.networks.length)], ['Solvers that win', format.count(u.solvers.filter((s) => s.wins > 0).length)],
                ['Problems', format.count(u.networks.reduce((sum, n) => sum + n.problems, 0))], ['Without an entry', format.count(u.networks.reduce((sum, n) => sum + n.uncovered, 0))],
                ['Time of all', format.milliseconds(time)]]),
            u.solvers.length === 0 ? panel('Solvers', empty('No problem has a time.')) : [
                h('div', {class: 'columns-wide'}, panel('Share of time', shareChart(u.solvers)), panel('Networks', networkChart(u.networks, u.solvers))),
                panel('Solvers', table(solverColumns, u.solvers, {caption: 'Solvers by their share of time', id: (s) => s.solver, sort: [4, true], filter: 'Filter', name: 'solvers'}))],
            panel('Coverage', table([
                {label: 'Network', value: (n) => n.network, show: (n) => (names.has(n.network.replace(/@\d+$/, '')) ? link(addressOf(['networks', n.network]), n.network) : n.network)},
                {label: 'Problems', number: true, value: (n) => n.problems}, {label: 'Layers', number: true, value: (n) => n.layers},
                {label: 'Without an entry', number: true, value: (n) => n.uncovered, show: (n) => (n.uncovered ? h('strong', {class: 'bad'}, format.count(n.uncovered)) : '0')},
                {label: 'Time', number: true, value: (n) => n.time_ms, show: (n) => format.milliseconds(n.time_ms)},
                {label: 'Most of it', value: (n) => n.solvers[0]?.solver, wrap: true, show: (n) => (n.solvers[0] ? `${n.solvers[0].solver} ${format.percent(n.solvers[0].time_share)}` : '–')},
            ], u.networks, {caption: 'Networks', id: (n) => `${n.network} ${n.target}`, filter: 'Filter', name: 'networks', empty: 'No network has these problems.'}))],
    };
}
