// Campaigns, and one campaign: progress, jobs by state, failures by reason, what may be done with it.
import {h, fill, panel, facts, figures, empty, link, commandLine} from './dom.js';
import {change, changeButton, read, readAll} from './api.js';
import {table} from './table.js';
import {chart, colour, shade} from './charts.js';
import {addressOf} from './address.js';
import * as format from './format.js';
import {campaignColumns, cutNote, eta, heading, progressBar, seldom, selection, stateTag, unixTime} from './parts.js';

export async function campaigns({values, signal}) {
    const wanted = {state: values.get('state'), target: values.get('target'), search: values.get('search')};
    const all = new Map();
    let more = false;
    async function load() {
        const answer = await readAll('campaigns', wanted, signal);
        all.clear();
        answer.items.forEach((each) => all.set(each.id, each));
        more = answer.more;
    }
    await load();
    const columns = [...campaignColumns, {label: 'Made', number: true, value: (c) => c.created_unix, show: (c) => unixTime(c.created_unix)}];
    const list = table(columns, [...all.values()], {caption: 'Campaigns', id: (c) => c.id, sort: [0, true], filter: 'Filter', name: 'list',
        empty: wanted.state || wanted.search || wanted.target ? 'No campaign is like that.'
            : ['There is no campaign yet. ', h('code', null, 'skipjack tune FILE'), ' or ', h('code', null, 'skipjack campaign create'), ' makes one.'],
        tools: selection('State', 'state', [['', 'all'], ['active'], ['paused'], ['overdue'], ['done'], ['cancelled']], wanted.state, {path: ['campaigns'], values: {...wanted}})});
    const draw = () => list.update([...all.values()]);
    return {
        title: 'Campaigns',
        body: [heading('Campaigns'), cutNote(more, all.size, 'Choose a state to see others.'), panel('All campaigns', list)],
        events: {campaign: (data) => {
            if (all.has(data.id) || !wanted.state) {
                all.set(data.id, data);
                draw();
            }
        }},
        async refresh() { await load(); draw(); },
    };
}

const states = ['ready', 'building', 'built', 'evaluating', 'done', 'failed'];
function jobsByState(campaign) {
    return states.map((state) => ({state, jobs: state === 'done' ? campaign.jobs_done : state === 'failed' ? campaign.jobs_failed : campaign.progress[state]}));
}

function stateChart(get) {
    return chart({
        name: 'Jobs by state',
        describe: () => jobsByState(get()).map((row) => `${row.state} ${row.jobs}`).join(', '),
        height: 190,
        make: () => ({
            type: 'bar',
            data: {labels: states, datasets: [{data: jobsByState(get()).map((row) => row.jobs),
                backgroundColor: states.map((state) => (state === 'failed' ? shade('bad') : state === 'done' ? shade('good') : colour(0))), maxBarThickness: 22}]},
            options: {indexAxis: 'y', scales: {x: {beginAtZero: true, ticks: {precision: 0}}, y: {}}},
        }),
        columns: [{label: 'State', value: (row) => row.state,
            show: (row) => link(addressOf(['campaigns', get().id, 'jobs'], {state: row.state}), row.state)},
        {label: 'Jobs', number: true, value: (row) => row.jobs, show: (row) => format.count(row.jobs)}],
        rows: () => jobsByState(get()),
    });
}

function actions(campaign, said, reload) {
    const button = (words, verb, more) => changeButton(words, {path: `campaigns/${campaign.id}/${verb}`, place: said, done: reload, ...more});
    const open = ['active', 'paused', 'overdue'].includes(campaign.state);
    return [
        campaign.state === 'active' || campaign.state === 'overdue' ? button('Pause', 'pause') : null,
        campaign.state === 'paused' ? button('Resume', 'resume', {kind: 'first'}) : null,
        campaign.jobs_failed > 0 && campaign.state !== 'cancelled' ? button('Retry failed jobs', 'retry') : null,
        open ? button('Cancel', 'cancel', {kind: 'danger', ask: [`Cancel campaign ${campaign.id}?`,
            `${format.count(campaign.jobs_open)} open jobs will not be tuned. Results so far stay. A cancelled campaign cannot go on.`, 'Cancel the campaign']}) : null,
    ];
}

/** Priority and budget, which may be changed while the campaign is open. */
function changeForm(campaign, said, reload) {
    const number = (id, words, attributes) => h('span', {class: 'field'}, h('label', {for: id}, words), h('input', {id, type: 'number', ...attributes}));
    const priority = number('set-priority', 'Priority', {min: -1000000, max: 1000000, step: 1, required: true, value: campaign.priority});
    const budget = number('set-budget', 'Budget in working hours, 0 for none', {min: 0, step: 'any', required: true, value: campaign.budget_seconds / 3600});
    const submit = h('button', {type: 'submit', class: 'first'}, 'Set');
    const valueOf = (field) => field.querySelector('input').valueAsNumber;
    return h('form', {class: 'tools', 'aria-label': 'Priority and budget', onsubmit: async (event) => {
        event.preventDefault();
        submit.disabled = true;
        try {
            const words = await change('PATCH', `campaigns/${campaign.id}`, {priority: valueOf(priority), budget_seconds: valueOf(budget) * 3600});
            if (words !== null) {
                fill(said, h('p', {class: 'note good', role: 'status'}, words));
                await reload();
            }
        } catch (error) {
            fill(said, h('p', {class: 'note bad', role: 'alert'}, error.message));
        } finally {
            submit.disabled = false;
        }
    }}, priority, budget, submit);
}

/** What ends the search of a job, in words. */
function searchEnd(c) {
    const ends = [c.configs_limit ? `after ${format.count(c.configs_limit)} configs` : 'when every config was tried'];
    if (c.close_configs) ends[0] += ` (${format.count(c.close_configs)} within 10 % of the problem's best)`;
    if (c.search_seconds) ends.push(`after ${format.duration(c.search_seconds)} of its device`);
    if (c.min_gain) ends.push(`when it expects to gain less than ${format.number(c.min_gain)} %`);
    return ends.join(', ');
}

function factRows(c) {
    return [
        ['State', stateTag(c.state)], ['Target', c.target], ['Networks', c.networks.join(', ')], ['Solvers', c.solvers || 'all'],
        ['Strategy', `${c.strategy}, seed ${c.seed}`],
        ['A job’s search ends', searchEnd(c)],
        ['Working time', format.duration(c.spent_seconds) + (c.budget_seconds ? ` of ${format.duration(c.budget_seconds)}` : ', no budget')],
        ['Deadline', c.deadline_unix ? unixTime(c.deadline_unix) : null], ['Priority', `${c.priority}, share ${format.number(c.share)}`], ['Pool', c.pool],
        ['Software', c.stack], ['Trusts code of', c.trusted.join(', ')], ['Made', unixTime(c.created_unix)],
        ['Compiled', `${format.count(c.progress.kernels_built)} kernels in ${format.duration(c.progress.compile_seconds)}`],
        ['Measured', `${format.count(c.progress.configs_done)} configs in ${format.duration(c.progress.eval_seconds)}`],
    ];
}

export async function campaign({id, signal}) {
    const path = `campaigns/${encodeURIComponent(id)}`;
    let c = await read(path, {}, signal);
    const said = h('div');
    const tools = h('div', {class: 'tools'});
    const top = h('div');
    const about = h('div');
    const setting = h('div', {id: 'campaign-setting'});
    const byState = stateChart(() => c);
    const failures = table([
        {label: 'Reason', value: (f) => f.reason, show: (f) => link(addressOf(['campaigns', id, 'jobs'], {state: 'failed', failure: f.reason}), f.reason)},
        {label: 'Jobs', number: true, value: (f) => f.jobs}, {label: 'The last one', value: (f) => f.detail, wrap: true},
    ], [], {caption: 'Failed jobs by reason', id: (f) => f.reason, sort: [1, true], page: 10, empty: 'No job has failed.'});
    const outcomes = table([
        {label: 'Outcome', value: (o) => o.reason, show: (o) => (o.reason === 'ok' ? 'ok'
            : link(addressOf(['campaigns', id, 'rejections'], {failure: o.reason}), o.reason))},
        {label: 'Configs', number: true, value: (o) => o.configs, show: (o) => format.count(o.configs)},
    ], [], {caption: 'Configs by outcome', id: (o) => o.reason, sort: [1, true], page: 10, empty: 'No config has been measured yet.'});
    const origins = table([{label: 'Reason', value: (o) => o.reason}, {label: 'Jobs', number: true, value: (o) => o.jobs}], [],
        {caption: 'Why its jobs are tuned', id: (o) => o.reason, sort: [1, true], page: 10, empty: 'No reasons are kept for it.'});
    const ends = table([{label: 'Reason', value: (e) => e.reason, wrap: true}, {label: 'Jobs', number: true, value: (e) => e.jobs}], [],
        {caption: 'Why searches ended', id: (e) => e.name, sort: [1, true], page: 10, empty: 'No search of it has ended.'});
    let drawnState = '';

    function draw() {
        const key = `${c.state} ${c.jobs_failed > 0}`;
        if (key !== drawnState) {
            fill(tools, actions(c, said, reload));
            fill(setting, ['active', 'paused', 'overdue'].includes(c.state) ? changeForm(c, said, reload) : null);
        }
        drawnState = key;
        fill(top, progressBar(c, 'campaign-progress'), figures([
            ['Ended', format.percent(c.jobs ? (c.jobs_done + c.jobs_failed) / c.jobs : 0), `${format.count(c.jobs_done + c.jobs_failed)} of ${format.count(c.jobs)} jobs`],
            ['Left', eta(c), `${format.count(c.jobs_open)} jobs open`],
            ['Failed', format.count(c.jobs_failed), 'jobs'],
            ['Configs', format.count(c.progress.configs_done), `${format.count(c.progress.configs_open)} open, ${format.count(c.progress.configs_taken)} taken over`],
            ['Workers', format.count(c.workers), 'hold jobs of it'],
        ]));
        fill(about, facts(factRows(c)));
        byState.update();
        failures.update(c.failures);
        outcomes.update(c.outcomes);
        origins.update(c.origins);
        ends.update(c.search_ends);
    }
    async function reload() {
        c = await read(path, {}, signal);
        draw();
    }
    draw();
    const soon = seldom(2000, () => reload().catch(() => {}));
    return {
        title: `Campaign ${id}`,
        body: [heading(`Campaign ${c.id}: ${c.name}`, [['#/campaigns', 'Campaigns']], tools), said, top,
            h('p', null, link(addressOf(['campaigns', id, 'jobs']), 'Jobs'), ' · ', link(addressOf(['campaigns', id, 'rejections']), 'Rejected configs'), ' · ',
                link(addressOf(['campaigns', id, 'golden']), 'Against golden'), ' · ', link(addressOf(['usage'], {campaign: id}), 'Usage'), ' · ',
                link(addressOf(['log'], {campaign: id}), 'Log')),
            h('div', {class: 'columns'}, panel('Jobs by state', byState), panel('About', [about, setting])),
            h('div', {class: 'columns'}, panel('Failed jobs by reason', failures), panel('Configs by outcome', outcomes), panel('Why its jobs are tuned', origins), panel('Why searches ended', ends)),
            panel('In a terminal', c.commands.length ? c.commands.map((command) => commandLine(command)) : empty('No command goes on with it.'))],
        events: {
            campaign: (data) => { if (data.id === c.id) { c = {...c, ...data}; draw(); soon(); } },
            'campaign-gone': (data) => { if (data.id === c.id) soon(); },
        },
        refresh: reload,
    };
}
