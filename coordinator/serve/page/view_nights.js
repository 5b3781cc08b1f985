// Nights: the plan with its reasons, the steps, and what got better or worse.
import {h, fill, panel, facts, figures, link, tag} from './dom.js';
import {pathOf, read, readAll} from './api.js';
import {table} from './table.js';
import {chart, colour} from './charts.js';
import {addressOf} from './address.js';
import * as format from './format.js';
import {campaignLink, cutNote, heading, jobLink, problemLink, seldom, selection, stateTag, unixTime} from './parts.js';

const redOrNot = (n) => (n.is_red ? h('strong', {class: 'bad'}, 'regressions or failures') : n.ended_unix ? 'good' : n.is_running ? 'under way' : 'waits for its next run');

const nightMs = 5000; /* between two looks: nights have no events of their own */

/** "confirmed slower", "faster" ...: the colour repeats what the words say. */
const verdictTag = (verdict) => tag(verdict, /slow|fail/.test(verdict) ? 'bad' : /fast/.test(verdict) ? 'good' : 'warn');

export async function nights({values, signal}) {
    let {items, more} = await readAll('nights', {name: values.get('name')}, signal);
    async function load() {
        ({items, more} = await readAll('nights', {name: values.get('name')}, signal));
        list.update(items);
    }
    const list = table([
        {label: 'Night', value: (n) => n.night, show: (n) => link(addressOf(['nights', n.id]), n.night)}, {label: 'Name', value: (n) => n.name},
        {label: 'State', value: (n) => n.state, show: (n) => stateTag(n.state)}, {label: 'Result', value: (n) => (n.is_red ? 1 : 0), show: redOrNot},
        {label: 'Jobs', number: true, value: (n) => n.jobs, show: (n) => format.count(n.jobs)}, {label: 'Findings', number: true, value: (n) => n.findings, show: (n) => format.count(n.findings)},
        {label: 'Began', value: (n) => n.begun_unix, show: (n) => unixTime(n.begun_unix)}, {label: 'Ended', value: (n) => n.ended_unix, show: (n) => unixTime(n.ended_unix)},
        {label: 'Deadline', value: (n) => n.deadline_unix, show: (n) => unixTime(n.deadline_unix)},
    ], items, {caption: 'Nights', id: (n) => n.id, filter: 'Filter', name: 'list', sort: [0, true],
        empty: ['No night has run yet. ', h('code', null, 'skipjack run nightly.json'), ' runs one; ', h('code', null, '--dry-run'), ' shows its plan first.']});
    return {
        title: 'Nights',
        body: [heading('Nights'), cutNote(more, items.length, 'The address takes ?name=.'), panel('Nights', list)],
        events: {farm: seldom(nightMs, () => load().catch(() => {}))},
        refresh: load,
    };
}

function reasonChart(reasons) {
    const sums = new Map();
    reasons.forEach((r) => sums.set(r.reason, (sums.get(r.reason) ?? 0) + r.jobs));
    const rows = [...sums].map(([reason, jobs]) => ({reason, jobs})).sort((a, b) => b.jobs - a.jobs);
    return chart({
        name: 'Planned jobs by reason',
        describe: () => rows.map((r) => `${r.reason} ${r.jobs}`).join(', ') || 'none',
        height: 60 + rows.length * 26,
        make: () => ({type: 'bar', data: {labels: rows.map((r) => r.reason), datasets: [{data: rows.map((r) => r.jobs), backgroundColor: colour(0), maxBarThickness: 20}]},
            options: {indexAxis: 'y', scales: {x: {beginAtZero: true, ticks: {precision: 0}}, y: {ticks: {autoSkip: false}}}}}),
        columns: [{label: 'Reason', value: (r) => r.reason}, {label: 'Target', value: (r) => r.target}, {label: 'Jobs', number: true, value: (r) => r.jobs}],
        rows: () => reasons,
    });
}

export async function night({id, values, signal}) {
    const path = pathOf('nights', id);
    const reason = values.get('reason');
    const ask = () => Promise.all([read(path, {}, signal), readAll(`${path}/jobs`, {reason}, signal), readAll(`${path}/findings`, {}, signal)]);
    let [n, planned, found] = await ask();
    const reasons = [...new Set(n.reasons.map((r) => r.reason))];
    const findings = table([
        {label: 'Problem', value: (f) => f.problem, show: (f) => problemLink(f.problem, f.target), key: true}, {label: 'Solver', value: (f) => f.solver},
        {label: 'Verdict', value: (f) => f.verdict, show: (f) => verdictTag(f.verdict)}, {label: 'Against', value: (f) => f.against},
        {label: 'Before', number: true, value: (f) => f.old_ms, show: (f) => format.milliseconds(f.old_ms)}, {label: 'Tonight', number: true, value: (f) => f.new_ms, show: (f) => format.milliseconds(f.new_ms)},
        {label: 'Time', number: true, value: (f) => f.ratio, show: (f) => (f.ratio === null ? '–' : `${f.ratio >= 1 ? '+' : '−'}${format.percent(Math.abs(f.ratio - 1))}`)},
        {label: 'Cause', value: (f) => f.detail || f.cause, wrap: true}, {label: 'Target', line: true, value: (f) => f.target},
    ], found.items, {caption: 'What got better or worse', id: (f) => `${f.target} ${f.problem} ${f.solver} ${f.against}`, filter: 'Filter', name: 'findings',
        get empty() { return n.ended_unix ? 'Nothing got better or worse by more than noise.' : 'The night has not been judged yet.'; }});
    const jobs = table([
        {label: 'Problem', value: (j) => j.problem, show: (j) => problemLink(j.problem, j.target), key: true}, {label: 'Solver', value: (j) => j.solver},
        {label: 'Reason', value: (j) => j.reason, show: (j) => j.reason + (j.backfill ? ' (backfill)' : '')}, {label: 'Detail', value: (j) => j.detail, wrap: true},
        {label: 'State', value: (j) => j.state, show: (j) => stateTag(j.state)}, {label: 'Job', number: true, value: (j) => j.job, show: (j) => jobLink(j.campaign, j.job)},
        {label: 'Target', value: (j) => j.target},
    ], planned.items, {caption: 'What the night works on', id: (j) => j.job, filter: 'Filter', name: 'jobs', empty: 'The night has nothing to work on.',
        tools: selection('Reason', 'reason', [['', 'all'], ...reasons.map((r) => [r])], reason, {path: ['nights', id], values: {}})});
    const steps = table([
        {label: 'Step', value: (s) => s.step, show: (s) => [s.step, s.tries > 1 ? ` (try ${s.tries})` : '', s.failed ? [' ', tag('failed', 'bad')] : null]},
        {label: 'Began', value: (s) => s.begun_unix, show: (s) => unixTime(s.begun_unix)},
        {label: 'Took', number: true, value: (s) => (s.ended_unix === null ? null : s.ended_unix - s.begun_unix), show: (s) => (s.ended_unix === null ? 'under way' : format.duration(s.ended_unix - s.begun_unix))},
        {label: 'Detail', value: (s) => s.detail, wrap: true},
    ], n.steps, {caption: 'Steps', id: (s) => s.step, page: 15, empty: 'No step has begun yet.'});
    const targets = () => n.targets.map((t) => facts([['Target', t.target], ['Compared with', t.baseline ? link(addressOf(['golden'], {target: t.target}), `golden version ${t.baseline}`) : 'the last night'],
        ['Campaigns', n.campaigns.filter((c) => c.target === t.target).flatMap((c, index) => [index ? ', ' : '', campaignLink(c.campaign, `${c.campaign}${c.backfill ? ' (backfill)' : ''}`)])],
        ['Software', t.stack]]));
    const top = h('div');
    const state = h('span');
    const plan = h('div');
    const about = h('div');
    function draw() {
        fill(state, stateTag(n.state));
        fill(top, n.is_red ? h('p', {class: 'note bad'}, 'The night has confirmed regressions or failures.') : null,
            figures([['Jobs', format.count(n.jobs), `${format.count(n.jobs_done)} done, ${format.count(n.jobs_failed)} failed, ${format.count(n.jobs_open + n.jobs_unfinished)} open or cut`], ['Findings', format.count(n.findings)], ['Began', unixTime(n.begun_unix)], ['Ended', n.ended_unix ? unixTime(n.ended_unix) : n.is_running ? 'under way' : 'not yet', n.by],
                ['Exports at', n.deadline_unix ? unixTime(n.deadline_unix) : 'the end']]));
        if (JSON.stringify(n.reasons) !== drawnReasons) fill(plan, reasonChart(n.reasons));
        drawnReasons = JSON.stringify(n.reasons);
        fill(about, targets());
        findings.update(found.items);
        steps.update(n.steps);
        jobs.update(planned.items);
    }
    let drawnReasons = '';
    draw();
    async function load() {
        [n, planned, found] = await ask();
        draw();
    }
    return {
        title: `Night ${n.night}`,
        body: [heading(`${n.name}, night ${n.night}`, [['#/nights', 'Nights']], state), top,
            panel('Findings', findings),
            h('div', {class: 'columns'}, panel('The plan and its reasons', plan),
                panel('Steps', [steps, about])),
            cutNote(planned.more, planned.items.length, 'Choose a reason to see others.'), panel('Jobs', jobs)],
        events: {farm: seldom(nightMs, () => (n.ended_unix ? null : load().catch(() => {})))},
        refresh: load,
    };
}
