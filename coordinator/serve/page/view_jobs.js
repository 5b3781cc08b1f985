// A campaign's jobs, one job with its rounds and logs, and the configs that a campaign refused.
import {h, panel, facts, figures, empty, link, commandLine} from './dom.js';
import {read, readAll} from './api.js';
import {table} from './table.js';
import {addressOf} from './address.js';
import * as format from './format.js';
import {clocks, cutNote, heading, jobLink, outcomeTag, problemLink, selection, stateTag, unixTime} from './parts.js';

const above = (id) => [['#/campaigns', 'Campaigns'], [addressOf(['campaigns', id]), `Campaign ${id}`]];

export async function jobs({id, values, signal}) {
    const wanted = Object.fromEntries(['state', 'failure', 'solver', 'search'].map((name) => [name, values.get(name)]));
    let {items, more} = await readAll(`campaigns/${encodeURIComponent(id)}/jobs`, wanted, signal);
    const asked = Object.entries(wanted).filter(([name, value]) => value && name !== 'state');
    const list = table([
        {label: 'Job', value: (j) => j.id, show: (j) => jobLink(id, j.id)},
        {label: 'Problem', value: (j) => j.problem, show: (j) => problemLink(j.problem), key: true},
        {label: 'Solver', value: (j) => j.solver}, {label: 'State', value: (j) => j.state, show: (j) => stateTag(j.state)},
        {label: 'Rounds', number: true, value: (j) => j.rounds}, {label: 'Strikes', number: true, value: (j) => j.strikes},
        {label: 'Search ended by', value: (j) => j.search_end}, {label: 'Times in the networks', number: true, value: (j) => j.multiplicity},
        {label: 'Failure', value: (j) => j.failure, wrap: true, show: (j) => (j.failure ? [h('strong', null, j.failure), j.detail ? `: ${j.detail}` : ''] : j.reused ? 'taken over' : '–')},
    ], items, {caption: `Jobs of campaign ${id}`, id: (j) => j.id, filter: 'Filter', name: 'list', empty: 'The campaign has no such job.',
        tools: selection('State', 'state', [['', 'all'], ['ready'], ['building'], ['built'], ['evaluating'], ['done'], ['failed'], ['cancelled']], wanted.state,
            {path: ['campaigns', id, 'jobs'], values: wanted})});
    return {
        title: `Jobs of campaign ${id}`,
        body: [heading('Jobs', above(id)),
            asked.length ? h('p', null, `Only with ${asked.map(([name, value]) => `${name} “${value}”`).join(', ')}. `,
                link(addressOf(['campaigns', id, 'jobs'], {state: wanted.state}), 'Without this')) : null,
            cutNote(more, items.length, 'Choose a state to see others.'), panel('Jobs', list)],
        async refresh() {
            ({items, more} = await readAll(`campaigns/${encodeURIComponent(id)}/jobs`, wanted, signal));
            list.update(items);
        },
    };
}

/** A config that was refused, or measured: its log and the command that repeats it. */
function configDetail(config) {
    return h('details', null, h('summary', null, 'Log and command', h('span', {class: 'only-heard'}, ` of ${config.config}`)),
        config.detail ? h('pre', null, config.detail) : empty('It left no log.'),
        config.replay ? [h('h3', null, 'To repeat it'), commandLine(config.replay, `the command that repeats ${config.config}`),
            h('p', {class: 'muted'}, 'It compiles, loads and runs the config on the first device of the machine, and prints times. It does not check the result: ',
                'a wrong result shows only when a worker measures the config again (', h('code', null, 'skipjack campaign retry'), ', ', h('code', null, 'skipjack tune'), ').')] : null);
}

function roundPanel(round) {
    const {conditions} = round;
    const list = table([
        {label: 'Config', value: (c) => c.config, key: true, show: (c) => c.config || '(no config)'},
        {label: 'Outcome', value: (c) => c.failure, show: (c) => outcomeTag(c.failure)},
        {label: 'Median', number: true, value: (c) => c.median_ms, show: (c) => format.milliseconds(c.median_ms)},
        {label: 'Least', number: true, value: (c) => c.min_ms, show: (c) => format.milliseconds(c.min_ms)},
        {label: 'Spread', number: true, value: (c) => c.spread, show: (c) => format.percent(c.spread)},
        {label: 'Runs', number: true, value: (c) => c.n},
        {label: 'Error', number: true, value: (c) => c.error, show: (c) => format.number(c.error)},
        {label: 'Compiled in', number: true, value: (c) => c.build_seconds, show: (c) => format.duration(c.build_seconds)},
        {label: 'Log', value: (c) => c.detail, wrap: true, show: configDetail},
    ], round.configs, {caption: `Configs of round ${round.number}`, id: (c) => c.config, empty: 'Its configs are being built or measured.'});
    return panel(`Round ${round.number}${round.is_open ? ', under way' : ''}`, [facts([
        ['Node', round.node], ['Handed in', round.delivered_unix ? unixTime(round.delivered_unix) : null], ['Software', round.stack],
        ['Drift', format.percent(round.drift)],
        ['Clock', conditions ? clocks(conditions) : null],
        ['Heat', conditions?.temperature_c !== null && conditions ? `${conditions.temperature_c} °C` : null],
        ['Clocks lowered for', conditions?.throttle.join(', ')],
    ]), list]);
}

export async function job({id, job: number, signal}) {
    const j = await read(`campaigns/${encodeURIComponent(id)}/jobs/${encodeURIComponent(number)}`, {}, signal);
    const kept = table([
        {label: 'Rank', number: true, value: (k) => k.rank}, {label: 'Config', value: (k) => k.config, key: true, show: (k) => (k.config ? k.config + (k.is_default ? ' (default)' : '') : '(no config)')},
        {label: 'Median', number: true, value: (k) => k.median_ms, show: (k) => format.milliseconds(k.median_ms)},
        {label: 'Spread', number: true, value: (k) => k.spread, show: (k) => format.percent(k.spread)},
        {label: 'GFLOP/s', number: true, value: (k) => k.gflops, show: (k) => format.number(k.gflops)},
        {label: 'Workspace', number: true, value: (k) => k.workspace_bytes, show: (k) => format.bytes(k.workspace_bytes)},
        {label: 'Packing', number: true, value: (k) => k.pack_ms, show: (k) => format.milliseconds(k.pack_ms)},
        {label: 'Packed filter', number: true, value: (k) => k.packed_bytes, show: (k) => format.bytes(k.packed_bytes)},
        {label: 'Software', value: (k) => k.stack, wrap: true},
    ], j.kept, {caption: 'Results kept, the fastest first', id: (k) => k.rank, empty: 'No config of this job is kept.'});
    return {
        title: `Job ${number}`,
        body: [heading(`Job ${number}: ${j.solver}`, above(id)),
            h('p', null, problemLink(j.problem), ' ', stateTag(j.state)),
            j.failure ? h('div', {class: 'note bad'}, h('strong', null, j.failure), j.detail ? h('pre', null, j.detail) : null) : null,
            figures([['Rounds', format.count(j.rounds)], ['Best', format.milliseconds(j.kept[0]?.median_ms)],
                ['Configs kept', format.count(j.kept.length)], ['Strikes', format.count(j.strikes), 'lost workers'], ['Revision', format.count(j.revision)],
                ['Search ended by', j.search_end ?? '–']]),
            panel('Results', kept), j.rounds_of.map(roundPanel),
            j.faults.length ? panel('Device faults', h('ul', {class: 'plain'}, j.faults.map((f) => h('li', null, f.device, ' ', unixTime(f.at_unix))))) : null],
    };
}

export async function rejections({id, values, signal}) {
    const wanted = {failure: values.get('failure'), solver: values.get('solver')};
    const path = ['campaigns', id, 'rejections'];
    const {items, more} = await readAll(`campaigns/${encodeURIComponent(id)}/rejections`, wanted, signal, 2000);
    const list = table([
        {label: 'Config', value: (r) => r.config, key: true, show: (r) => r.config || '(no config)'},
        {label: 'Solver', value: (r) => r.solver, show: (r) => link(addressOf(path, {...wanted, solver: r.solver}), r.solver)},
        {label: 'Reason', value: (r) => r.failure, show: (r) => link(addressOf(path, {...wanted, failure: r.failure}), r.failure)},
        {label: 'Problem', value: (r) => r.problem, show: (r) => problemLink(r.problem), key: true},
        {label: 'Job', number: true, value: (r) => r.job, show: (r) => jobLink(id, r.job)},
        {label: 'Log', value: (r) => r.detail, wrap: true, show: configDetail},
    ], items, {caption: 'Configs that were refused', id: (r) => `${r.job} ${r.round} ${r.config}`, filter: 'Filter', name: 'list', page: 15,
        empty: 'No such config was refused.'});
    const only = Object.entries(wanted).filter(([, value]) => value);
    return {
        title: `Rejected configs of campaign ${id}`,
        body: [heading('Rejected configs', above(id)),
            only.length ? h('p', null, `Only ${only.map(([name, value]) => `${name === 'failure' ? 'reason' : name} “${value}”`).join(', ')}. `, link(addressOf(path), 'All of them')) : null,
            cutNote(more, items.length, 'Follow a reason or a solver to see others.'), panel('Refused, with the command that repeats each', list)],
    };
}
