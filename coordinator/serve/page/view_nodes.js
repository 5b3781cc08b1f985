// Nodes with their devices and workers.
import {h, panel} from './dom.js';
import {changeButton, read} from './api.js';
import {table} from './table.js';
import * as format from './format.js';
import {campaignLink, deviceColumns, devicesOf, heading, stateTag} from './parts.js';

export async function nodes({signal}) {
    const all = new Map();
    const said = h('div');
    async function load() {
        const {items} = await read('nodes', {}, signal);
        all.clear();
        items.forEach((each) => all.set(each.node, each));
    }
    await load();

    const deviceTable = table(deviceColumns, [], {caption: 'Devices of running workers', id: (d) => `${d.worker}/${d.device}`, filter: 'Filter', name: 'devices',
        empty: ['No worker with a device is running. ', h('code', null, 'skipjack worker'), ' starts one on a node.']});
    const campaignsOf = (w) => w.campaigns.split(',').filter(Boolean).flatMap((id, index) => [index ? ', ' : '', campaignLink(id)]);
    const workerTable = table([
        {label: 'Worker', value: (w) => w.id}, {label: 'Node', value: (w) => w.node}, {label: 'State', value: (w) => w.state, show: (w) => stateTag(w.state)},
        {label: 'Target', value: (w) => w.target}, {label: 'Pools', value: (w) => w.pools}, {label: 'Jobs', number: true, value: (w) => w.jobs},
        {label: 'Campaigns', value: (w) => w.campaigns, show: (w) => (w.campaigns ? campaignsOf(w) : '–')},
        {label: 'Heartbeat', number: true, value: (w) => w.beat_age_seconds, show: (w) => format.ago(w.beat_age_seconds)},
        {label: 'Configs that failed', value: (w) => w.failures.reduce((sum, f) => sum + (f.reason === 'ok' ? 0 : f.configs), 0), wrap: true,
            show: (w) => w.failures.filter((f) => f.reason !== 'ok').map((f) => `${f.reason}: ${format.count(f.configs)}`).join(', ') || 'none'},
        {label: 'Not admitted by', value: (w) => w.refusals.length, wrap: true,
            show: (w) => w.refusals.map((r) => h('div', null, campaignLink(r.campaign, `campaign ${r.campaign}`), `: ${r.reason}`))},
        {label: 'Drain', fixed: true, value: () => null, show: (w) => (w.state === 'draining' || w.state === 'lost' ? '–' : changeButton('Drain', {
            path: `nodes/${encodeURIComponent(w.node)}/drain`, place: said,
            ask: [`Drain ${w.node}?`, `All workers of ${w.node} finish what they measure, give back their other jobs, and end.`, 'Drain the node']}))},
    ], [], {caption: 'Workers', id: (w) => w.id, filter: 'Filter', name: 'workers', empty: 'No worker has sent a heartbeat within a day.'});

    function draw() {
        const list = [...all.values()];
        deviceTable.update(devicesOf(list));
        workerTable.update(list.flatMap((node) => node.workers.map((worker) => ({node: node.node, ...worker}))));
    }
    draw();
    return {
        title: 'Nodes',
        body: [heading('Nodes'), said, panel('Devices', deviceTable), panel('Workers', workerTable)],
        events: {
            node: (data) => { all.set(data.node, data); draw(); },
            'node-gone': (data) => { all.delete(data.node); draw(); },
        },
        async refresh() { await load(); draw(); },
    };
}
