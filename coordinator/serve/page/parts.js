// What several views show: campaigns, devices, failures, log lines, and notes on lists that were cut.
import {h, link, tag} from './dom.js';
import {addressOf} from './address.js';
import * as format from './format.js';

export const unixDate = (unix) => (unix === null || unix === undefined ? null : new Date(unix * 1000));
export const unixTime = (unix) => (unix === null || unix === undefined ? '–' : h('time', {datetime: unixDate(unix).toISOString()}, format.when(unixDate(unix))));

const kinds = {
    active: 'good', done: 'muted', paused: 'warn', cancelled: 'muted', overdue: 'warn', failed: 'bad', evaluating: 'good', building: 'good', built: 'good',
    working: 'good', busy: 'good', idle: 'muted', draining: 'warn', lost: 'bad', 'out of service': 'bad', approved: 'good', proposed: 'warn',
    slower: 'bad', faster: 'good', gained: 'good', changed: 'warn', confirmed: 'bad', suspect: 'warn', ok: 'good',
};
/** A state's word; its colour repeats what the word says. */
export const stateTag = (state) => tag(state, kinds[state]);

/** A config's outcome: "ok", or why it was refused. */
export const outcomeTag = (failure) => tag(failure, failure === 'ok' ? 'good' : 'bad');

export const problemLink = (key, target) => link(addressOf(['problems', key], {target}), key);
export const campaignLink = (id, words) => link(addressOf(['campaigns', id]), words ?? `${id}`);
export const jobLink = (campaign, id) => link(addressOf(['campaigns', campaign, 'jobs', id]), `${id}`);

/** How many of its jobs have ended, as a bar with words. */
export function progressBar(campaign, id) {
    const ended = campaign.jobs_done + campaign.jobs_failed;
    return h('progress', {id, max: Math.max(1, campaign.jobs), value: ended,
        'aria-label': `Campaign ${campaign.id}: ${ended} of ${campaign.jobs} jobs ended`}, `${ended} of ${campaign.jobs}`);
}

export function eta(campaign) {
    if (campaign.state === 'done' || campaign.state === 'cancelled') return campaign.state;
    if (campaign.state === 'paused') return 'paused';
    if (campaign.jobs_open === 0) return 'ending';
    return campaign.eta_seconds === null ? 'no forecast yet' : format.duration(campaign.eta_seconds);
}

export const campaignColumns = [
    {label: 'Campaign', value: (c) => c.id, show: (c) => campaignLink(c.id, `${c.id} ${c.name}`)},
    {label: 'Target', value: (c) => c.target},
    {label: 'State', value: (c) => c.state, show: (c) => stateTag(c.state)},
    {label: 'Progress', line: true, value: (c) => (c.jobs ? (c.jobs_done + c.jobs_failed) / c.jobs : 0),
        show: (c) => [progressBar(c), h('span', {class: 'muted'}, ` ${format.percent(c.jobs ? (c.jobs_done + c.jobs_failed) / c.jobs : 0)}`)]},
    {label: 'Jobs', number: true, value: (c) => c.jobs, show: (c) => format.count(c.jobs)},
    {label: 'Failed', number: true, value: (c) => c.jobs_failed, show: (c) => (c.jobs_failed
        ? link(addressOf(['campaigns', c.id, 'jobs'], {state: 'failed'}), format.count(c.jobs_failed)) : '0')},
    {label: 'Workers', number: true, value: (c) => c.workers},
    {label: 'Left', value: (c) => c.eta_seconds ?? (c.jobs_open ? 1e12 : 0), show: eta},
    {label: 'Spent', number: true, value: (c) => c.spent_seconds, show: (c) => format.duration(c.spent_seconds)
        + (c.budget_seconds ? ` of ${format.duration(c.budget_seconds)}` : '')},
];

const range = (low, high, unit) => (low === null || low === undefined ? '–' : low === high ? `${low} ${unit}` : `${low}–${high} ${unit}`);
export function clocks(conditions) {
    if (!conditions) return '–';
    return range(conditions.sm_mhz_min, conditions.sm_mhz_max, 'MHz') + (conditions.locked_mhz ? ' locked' : '');
}

export const deviceColumns = [
    {label: 'Node', line: true, value: (d) => d.node},
    {label: 'Device', value: (d) => d.device, show: (d) => `${d.device} ${d.name}`, wrap: true},
    {label: 'State', value: (d) => d.state, show: (d) => [stateTag(d.state), d.out_reason ? h('div', {class: 'bad'}, d.out_reason) : null]},
    {label: 'Target', value: (d) => d.target},
    {label: 'Clock', number: true, value: (d) => d.conditions?.sm_mhz_max, show: (d) => clocks(d.conditions)},
    {label: 'Heat', number: true, value: (d) => d.conditions?.temperature_c, show: (d) => (d.conditions?.temperature_c === null || !d.conditions ? '–' : `${d.conditions.temperature_c} °C`)},
    {label: 'Power', number: true, value: (d) => d.conditions?.power_w, show: (d) => (d.conditions?.power_w === null || !d.conditions ? '–' : `${format.number(d.conditions.power_w)} W`)},
    {label: 'Clocks lowered for', value: (d) => d.conditions?.throttle.join(', ') || null, wrap: true},
    {label: 'Software', value: (d) => d.stack, wrap: true},
];
export const devicesOf = (nodes) => nodes.flatMap((node) => node.devices.map((device) => ({node: node.node, ...device})));

export const logColumns = [
    {label: 'When', value: (l) => l.at_unix, show: (l) => unixTime(l.at_unix)},
    {label: 'What', value: (l) => l.kind},
    {label: 'Detail', value: (l) => l.detail, wrap: true},
    {label: 'Campaign', value: (l) => l.campaign, show: (l) => (l.campaign ? campaignLink(l.campaign) : '–')},
    {label: 'Job', value: (l) => l.job, show: (l) => (l.job && l.campaign ? jobLink(l.campaign, l.job) : '–')},
    {label: 'Node', value: (l) => l.node},
];

/** A list that was cut says so, and how to see the others. */
export function cutNote(more, shown, how) {
    return more ? h('p', {class: 'note warn'}, `The first ${format.count(shown)} are here. ${how}`) : null;
}

/** A selection in the address: #...?NAME=VALUE. */
let selections = 0;
export function selection(label, name, choices, current, words) {
    const id = `select-${++selections}`;
    return h('span', {class: 'field'}, h('label', {for: id}, label), h('select', {id, onchange: (event) => {
        const values = {...words.values, [name]: event.target.value};
        location.hash = addressOf(words.path, values);
    }}, choices.map(([value, shown]) => h('option', {value, selected: String(value) === String(current ?? '')}, shown ?? value))));
}

/** A heading with what leads to it. */
export function heading(title, above, ...right) {
    return h('div', {class: 'head'}, h('div', null,
        above ? h('nav', {class: 'crumbs', 'aria-label': 'Above'}, above.flatMap(([href, words], index) => [index ? ' › ' : null, link(href, words)])) : null,
        h('h1', {tabindex: '-1'}, title)), h('div', {class: 'tools'}, right));
}

/** Runs at most once in so many ms, the last call included. */
export function seldom(milliseconds, run) {
    let timer = null;
    let next = 0;
    return () => {
        if (timer) return;
        timer = setTimeout(() => {
            timer = null;
            next = Date.now() + milliseconds;
            run();
        }, Math.max(0, next - Date.now()));
    };
}
