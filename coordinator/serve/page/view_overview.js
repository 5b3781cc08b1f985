// The farm at a glance: figures, campaigns, devices, rates, troubles, events and the last night.
import {h, fill, panel, figures, empty, link} from './dom.js';
import {read, readAll} from './api.js';
import {table} from './table.js';
import {chart, colour, dash, point} from './charts.js';
import {addressOf} from './address.js';
import * as format from './format.js';
import {campaignColumns, deviceColumns, devicesOf, heading, logColumns, seldom, stateTag, unixDate} from './parts.js';

const lines = 12; /* of the event log */
const ratesMinutes = 60;
const nightMs = 15000; /* between two looks at the last night */

async function lastNight(signal) {
    const {items} = await read('nights', {limit: 1}, signal);
    return items[0] ? read(`nights/${items[0].id}`, {}, signal) : null;
}

function farmFigures(farm) {
    const {jobs, workers, devices, rates} = farm;
    const open = jobs.ready + jobs.building + jobs.built + jobs.evaluating;
    const minute = (rate) => format.number(rate * 60);
    return figures([
        ['Campaigns', format.count(farm.campaigns.active), farm.campaigns.paused ? `${farm.campaigns.paused} paused` : 'active'],
        ['Jobs open', format.count(open), `${format.count(jobs.building)} building, ${format.count(jobs.evaluating)} measuring`],
        ['Jobs done', format.count(jobs.done), `${format.count(jobs.failed)} failed`],
        ['Left', format.duration(farm.eta_seconds), farm.eta_seconds === null ? 'no forecast' : 'forecast of all'],
        ['Workers', format.count(workers.working + workers.idle + workers.draining),
            `${workers.working} working, ${workers.idle} idle${workers.lost ? `, ${workers.lost} lost` : ''}`],
        ['Devices', format.count(devices.known), devices.out_of_service ? `${devices.out_of_service} out of service` : 'all in service'],
        ['Configs a minute', minute(rates.configs), `${minute(rates.jobs)} jobs`],
        ['Kernels a minute', minute(rates.kernels), 'compiled'],
    ]);
}

function troubleRows(farm) {
    return [
        ...farm.troubles.map((t) => ({what: t.kind, which: t.name, count: t.count, detail: t.detail, age: t.age_seconds})),
        ...farm.refusals.map((r) => ({what: 'worker not admitted', which: r.node, count: 1, detail: `campaign ${r.campaign}: ${r.reason}`, age: null})),
    ];
}

function reasonSums(night) {
    const sums = {};
    night.reasons.forEach((each) => { sums[each.reason] = (sums[each.reason] ?? 0) + each.jobs; });
    return sums;
}

function nightBody(night) {
    if (!night) return empty('No night has run yet. ', h('code', null, 'skipjack run nightly.json'), ' runs one; with ', h('code', null, '--dry-run'), ' it shows what it would do.');
    return h('div', null,
        h('p', null, link(addressOf(['nights', night.id]), `${night.name}, ${night.night}`), ' ', stateTag(night.state), ' ',
            night.is_red ? h('strong', {class: 'bad'}, 'regressions or failures') : null),
        figures([['Jobs', format.count(night.jobs), `${format.count(night.jobs_done)} done, ${format.count(night.jobs_failed)} failed`], ['Findings', format.count(night.findings)],
            ['Took', format.duration(((night.ended_unix ?? Date.now() / 1000) - night.begun_unix)), night.ended_unix ? null : 'so far']]),
        h('p', {class: 'muted'}, Object.entries(reasonSums(night)).map(([reason, jobs]) => `${reason} ${format.count(jobs)}`).join(', ')));
}

export function ratesChart(points) {
    const series = [['Configs', 'configs'], ['Kernels', 'kernels'], ['Jobs', 'jobs']];
    const minute = (p, name) => p[name] * 60;
    return chart({
        name: 'Rates a minute over the last hour',
        describe: () => (points.length ? `Now: ${series.map(([words, name]) => `${format.number(minute(points.at(-1), name))} ${words.toLowerCase()}`).join(', ')}` : 'No figures yet'),
        height: 210,
        make: () => ({
            type: 'line',
            data: {datasets: series.map(([words, name], index) => ({label: words, data: points.map((p) => ({x: p.at_unix, y: minute(p, name)})),
                borderColor: colour(index), backgroundColor: colour(index), borderDash: dash(index), pointStyle: point(index), borderWidth: 2,
                pointRadius: points.length < 10 ? 3 : 0, tension: 0}))},
            options: {
                interaction: {mode: 'index', intersect: false},
                scales: {x: {type: 'linear', ticks: {maxTicksLimit: 6, maxRotation: 0, callback: (unix) => format.clock(unixDate(unix)).slice(0, points.length > 1 && points.at(-1).at_unix - points[0].at_unix > 900 ? 5 : 8)}},
                    y: {beginAtZero: true, words: 'a minute'}},
                plugins: {legend: {display: true, position: 'bottom', labels: {usePointStyle: true}},
                    tooltip: {callbacks: {title: (items) => format.clock(unixDate(items[0].parsed.x))}}},
            },
        }),
        columns: [
            {label: 'At', value: (p) => p.at_unix, show: (p) => format.clock(unixDate(p.at_unix))},
            ...series.map(([words, name]) => ({label: `${words} a minute`, number: true, value: (p) => p[name], show: (p) => format.number(minute(p, name))})),
            {label: 'Workers working', number: true, value: (p) => p.working},
            {label: 'idle', number: true, value: (p) => p.idle},
        ],
        rows: () => [...points].reverse(),
    });
}

export async function overview({signal}) {
    let farm;
    let night;
    const campaigns = new Map();
    const nodes = new Map();
    let points;
    let log;

    async function load() {
        const answers = await Promise.all([read('farm', {}, signal), readAll('campaigns', {state: 'active'}, signal), readAll('campaigns', {state: 'paused'}, signal),
            read('nodes', {}, signal), read('rates', {minutes: ratesMinutes}, signal), read('log', {limit: lines}, signal), lastNight(signal)]);
        farm = answers[0];
        campaigns.clear();
        [...answers[1].items, ...answers[2].items].forEach((each) => campaigns.set(each.id, each));
        nodes.clear();
        answers[3].items.forEach((each) => nodes.set(each.node, each));
        points = answers[4].points;
        log = answers[5].items;
        night = answers[6];
    }
    await load();

    const top = h('div', {id: 'farm-figures'});
    const campaignTable = table(campaignColumns, [], {caption: 'Active and paused campaigns', id: (c) => c.id, sort: [0, true], page: 10,
        empty: ['No campaign is active or paused. ', h('code', null, 'skipjack campaign create'), ' makes one; ', h('a', {href: '#/campaigns'}, 'all campaigns'), '.']});
    const deviceTable = table(deviceColumns, [], {caption: 'Devices', id: (d) => `${d.worker}/${d.device}`, page: 12,
        empty: ['No worker with a device is running. ', h('code', null, 'skipjack worker'), ' starts one on a node.']});
    const rates = h('div');
    const failureTable = table([
        {label: 'Reason', value: (f) => f.reason}, {label: 'Jobs', number: true, value: (f) => f.jobs}, {label: 'Configs', number: true, value: (f) => f.configs},
    ], [], {caption: 'Failures of active campaigns, by reason', id: (f) => f.reason, sort: [2, true], page: 8, empty: 'No job or config of an active campaign has failed.'});
    const troubleTable = table([
        {label: 'What', value: (t) => t.what}, {label: 'Which', value: (t) => t.which, wrap: true}, {label: 'Count', number: true, value: (t) => t.count},
        {label: 'Detail', value: (t) => t.detail, wrap: true}, {label: 'Last', number: true, value: (t) => t.age, show: (t) => format.ago(t.age)},
    ], [], {caption: 'Out of service and not admitted', id: (t) => `${t.what} ${t.which} ${t.detail}`, page: 8, empty: 'Everything is in service.'});
    const logTable = table(logColumns, [], {caption: 'The newest lines of the event log', id: (l) => l.id, page: lines, empty: 'The event log is empty.'});
    const nightPlace = h('div');

    const rateChart = ratesChart(points);
    fill(rates, rateChart);

    function draw() {
        fill(top, farmFigures(farm));
        campaignTable.update([...campaigns.values()]);
        deviceTable.update(devicesOf([...nodes.values()]));
        failureTable.update(farm.failures.filter((f) => f.reason !== 'ok'));
        troubleTable.update(troubleRows(farm));
        logTable.update(log);
    }
    draw();
    fill(nightPlace, nightBody(night));
    const soon = seldom(250, draw);
    // Nights have no events of their own: while one runs, its campaigns and the farm's state change.
    const nightSoon = seldom(nightMs, async () => {
        try {
            night = await lastNight(signal);
            fill(nightPlace, nightBody(night));
        } catch { /* The banner says that the server is lost. */ }
    });

    return {
        title: 'Overview',
        body: [heading('Overview'), top,
            panel('Active and paused campaigns', campaignTable, link('#/campaigns', 'All campaigns')),
            h('div', {class: 'columns'}, panel('Rates', rates), panel('Last night', nightPlace, link('#/nights', 'All nights'))),
            panel('Nodes and GPUs', deviceTable, link('#/nodes', 'All nodes')),
            h('div', {class: 'columns'}, panel('Failures of active campaigns', failureTable), panel('Out of service', troubleTable, link('#/quarantine', 'Quarantine'))),
            panel('Events', logTable, link('#/log', 'The whole log'))],
        events: {
            farm: (data) => { farm = data; soon(); nightSoon(); },
            campaign: (data) => { campaigns.set(data.id, data); soon(); },
            'campaign-gone': (data) => { campaigns.delete(data.id); soon(); },
            node: (data) => { nodes.set(data.node, data); soon(); },
            'node-gone': (data) => { nodes.delete(data.node); soon(); },
            log: (data) => { log = [data, ...log.filter((l) => l.id !== data.id)].slice(0, lines); soon(); },
            rate: (data) => {
                const oldest = data.at_unix - ratesMinutes * 60;
                if (points.at(-1)?.at_unix === data.at_unix) return;
                points.push(data);
                while (points[0].at_unix < oldest) points.shift();
                rateChart.update();
            },
        },
        async refresh() {
            const before = points;
            await load();
            before.splice(0, before.length, ...points);
            points = before;
            rateChart.update();
            draw();
            fill(nightPlace, nightBody(night));
        },
    };
}
