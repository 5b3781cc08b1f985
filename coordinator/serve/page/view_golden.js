// Golden versions, the difference of two of them, and a campaign against one.
import {h, panel, figures, link} from './dom.js';
import {pathOf, readAll, readOffsets} from './api.js';
import {table} from './table.js';
import {addressOf} from './address.js';
import * as format from './format.js';
import {campaignLink, cutNote, heading, problemLink, selection, stateTag, unixTime} from './parts.js';

const changes = [['', 'all'], ['slower'], ['faster'], ['gained'], ['lost'], ['equal']];

/** Time now over time then, as people say it. */
function ratioWords(ratio) {
    if (ratio === null || ratio === undefined) return '–';
    const part = ratio - 1;
    return Math.abs(part) < 0.0005 ? 'as before' : `${part > 0 ? '+' : '−'}${format.percent(Math.abs(part))}`;
}

export async function comparison({id, values, signal}) {
    const wanted = {version: values.get('version'), change: values.get('change')};
    const path = ['campaigns', id, 'golden'];
    const {first, items, more} = await readOffsets(pathOf(...path), wanted, signal);
    const list = table([
        {label: 'Problem', value: (i) => i.problem, show: (i) => problemLink(i.problem, first.target), key: true},
        {label: 'Change', value: (i) => i.change, show: (i) => stateTag(i.change)},
        {label: 'Golden', number: true, value: (i) => i.old_ms, show: (i) => format.milliseconds(i.old_ms)},
        {label: 'Campaign', number: true, value: (i) => i.new_ms, show: (i) => format.milliseconds(i.new_ms)},
        {label: 'Time', number: true, value: (i) => i.ratio, show: (i) => ratioWords(i.ratio)},
        {label: 'Saved in all', number: true, value: (i) => i.saved_ms, show: (i) => format.milliseconds(i.saved_ms)},
        {label: 'Golden solver', value: (i) => i.old_solver, show: (i) => [i.old_solver ?? '–', h('div', {class: 'muted mono'}, i.old_config ?? '')], wrap: true},
        {label: 'Campaign’s solver', value: (i) => i.new_solver, show: (i) => [i.new_solver ?? '–', h('div', {class: 'muted mono'}, i.new_config ?? '')], wrap: true},
    ], items, {caption: `Campaign ${id} against golden version ${first.version} of ${first.target}`, id: (i) => i.problem, filter: 'Filter', name: 'list', sort: [5, true],
        empty: 'No problem is like that.', tools: selection('Change', 'change', changes, wanted.change, {path, values: wanted})});
    return {
        title: `Campaign ${id} against golden`,
        body: [heading('Against golden', [['#/campaigns', 'Campaigns'], [addressOf(['campaigns', id]), `Campaign ${id}`]]),
            figures(['faster', 'slower', 'equal', 'gained', 'lost'].map((name) => [name, format.count(first.counts[name])])),
            cutNote(more, items.length, 'Choose a change to see others.'), panel(`${first.target}, version ${first.version}`, list)],
    };
}

export async function golden({values, signal}) {
    const {items, more} = await readAll('golden', {target: values.get('target')}, signal);
    const list = table([
        {label: 'Version', value: (g) => `${g.target} ${g.version}`, show: (g) => link(addressOf(['golden', g.target, g.base, g.version]), `${g.target} ${g.version}`)},
        {label: 'State', value: (g) => g.state, show: (g) => stateTag(g.state)},
        {label: 'Kind', value: (g) => g.kind, show: (g) => (g.kind === 'rollback' ? `rollback to ${g.restores}` : `on ${g.base || 'nothing'}`)},
        {label: 'Campaign', value: (g) => g.campaign, show: (g) => (g.campaign ? campaignLink(g.campaign, `${g.campaign} ${g.campaign_name}`) : '–')},
        {label: 'Entries', value: (g) => Object.values(g.counts).reduce((a, b) => a + b, 0), wrap: true,
            show: (g) => Object.entries(g.counts).map(([name, count]) => `${name.replaceAll('_', ' ')} ${format.count(count)}`).join(', ') || '–'},
        {label: 'Proposed', value: (g) => g.proposed_unix, show: (g) => [unixTime(g.proposed_unix), ` by ${g.proposed_by}`]},
        {label: 'Approved', value: (g) => g.approved_unix, show: (g) => (g.approved_unix ? [unixTime(g.approved_unix), ` by ${g.approved_by}`] : '–')},
        {label: 'Note', value: (g) => g.note, wrap: true},
    ], items, {caption: 'Golden versions', id: (g) => `${g.target} ${g.version}`, filter: 'Filter', name: 'list',
        empty: ['Nothing was released yet. ', h('code', null, 'skipjack golden propose'), ' makes a version of a campaign’s results.']});
    return {title: 'Golden versions', body: [heading('Golden versions'), cutNote(more, items.length, 'The address takes ?target=.'), panel('Versions', list)]};
}

export async function goldenDiff({target, from, to, signal}) {
    const {first, items, more} = await readOffsets(pathOf('golden', target, 'diff'), {from, to}, signal);
    const list = table([
        {label: 'Problem', value: (i) => i.problem, show: (i) => problemLink(i.problem, target), key: true},
        {label: 'Solver', value: (i) => i.solver}, {label: 'Change', value: (i) => i.change, show: (i) => stateTag(i.change)},
        {label: 'Before', number: true, value: (i) => i.old_ms, show: (i) => format.milliseconds(i.old_ms)},
        {label: 'After', number: true, value: (i) => i.new_ms, show: (i) => format.milliseconds(i.new_ms)},
        {label: 'Time', number: true, value: (i) => i.ratio, show: (i) => ratioWords(i.ratio)},
        {label: 'Config before', value: (i) => i.old_config, wrap: true}, {label: 'Config after', value: (i) => i.new_config, wrap: true},
        {label: 'Why', value: (i) => i.reason, wrap: true},
    ], items, {caption: `From version ${from} to version ${to} of ${target}`, id: (i) => `${i.problem} ${i.solver}`, filter: 'Filter', name: 'list', sort: [5, true],
        empty: 'The two versions are equal.'});
    return {
        title: `${target}: ${from} to ${to}`,
        body: [heading(`${target}: from version ${from} to ${to}`, [['#/golden', 'Golden versions']]),
            h('p', {class: 'muted'}, `${format.count(first.total)} entries differ.`), cutNote(more, items.length, 'The largest changes come first.'), panel('Differences', list)],
    };
}
