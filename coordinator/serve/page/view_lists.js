// Exports to download, configs in quarantine, the event log.
import {h, panel} from './dom.js';
import {address, changeButton, heldToken, headers, errorOf, readAll} from './api.js';
import {table} from './table.js';
import * as format from './format.js';
import {campaignLink, cutNote, heading, jobLink, logColumns, problemLink, unixTime} from './parts.js';

/** With a token a file is fetched by the script, since a plain link sends none. */
function downloadLink(file, said) {
    const url = address('exports/file', {path: file.path}).href;
    const name = file.path.split('/').pop();
    return h('a', {href: url, download: name, onclick: async (event) => {
        if (!heldToken()) return;
        event.preventDefault();
        const answer = await fetch(url, {headers: headers(), credentials: 'omit'}).catch(() => null);
        if (!answer?.ok) {
            said.replaceChildren(h('p', {class: 'note bad', role: 'alert'}, answer ? (await errorOf(answer)).message : 'The server does not answer'));
            return;
        }
        const link = h('a', {href: URL.createObjectURL(await answer.blob()), download: name});
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    }}, file.path);
}

export async function downloads({signal}) {
    let {items, more} = await readAll('exports', {}, signal);
    const said = h('div');
    const list = table([
        {label: 'File', value: (f) => f.path, show: (f) => downloadLink(f, said), wrap: true},
        {label: 'Size', number: true, value: (f) => f.bytes, show: (f) => format.bytes(f.bytes)}, {label: 'Written', value: (f) => f.modified_unix, show: (f) => unixTime(f.modified_unix)},
        {label: 'SHA-256', value: (f) => f.sha256, show: (f) => f.sha256 ?? 'being computed', key: true},
    ], items, {caption: 'Files to download', id: (f) => f.path, filter: 'Filter', name: 'list',
        empty: ['There is nothing to download. ', h('code', null, 'skipjack serve --exports FOLDER'), ' offers the files of a folder, ', h('code', null, 'skipjack export -o FOLDER'), ' writes them.']});
    return {
        title: 'Exports',
        body: [heading('Exports'), said, cutNote(more, items.length, 'Older ones are in the folder.'), panel('Files', [
            h('p', {class: 'muted'}, 'Check a file by ', h('code', null, 'sha256sum FILE'), '.'), list])],
        async refresh() {
            ({items, more} = await readAll('exports', {}, signal));
            list.update(items);
        },
    };
}

export async function quarantine({values, signal}) {
    const wanted = {target: values.get('target'), solver: values.get('solver')};
    const said = h('div');
    let {items, more} = await readAll('quarantine', wanted, signal);
    const list = table([
        {label: 'Config', value: (q) => q.config, key: true}, {label: 'Solver', value: (q) => q.solver}, {label: 'Target', value: (q) => q.target},
        {label: 'Problem', value: (q) => q.problem, show: (q) => problemLink(q.problem, q.target), key: true},
        {label: 'Reason', value: (q) => q.failure, wrap: true, show: (q) => [h('strong', null, q.failure), q.detail ? `: ${q.detail}` : '']},
        {label: 'Since', value: (q) => q.since_unix, show: (q) => unixTime(q.since_unix)}, {label: 'Node', value: (q) => q.node},
        {label: 'Campaign', number: true, value: (q) => q.campaign, show: (q) => (q.campaign ? campaignLink(q.campaign) : '–')},
        {label: 'Job', number: true, value: (q) => q.job, show: (q) => (q.job && q.campaign ? jobLink(q.campaign, q.job) : '–')},
    ], items, {caption: 'Configs out of service', id: (q) => `${q.solver} ${q.problem} ${q.target} ${q.config}`, filter: 'Filter', name: 'list', empty: 'No config is in quarantine.'});
    async function load() {
        ({items, more} = await readAll('quarantine', wanted, signal));
        list.update(items);
        drawTools();
    }
    const tools = h('div', {class: 'tools'});
    function drawTools() {
        const targets = [...new Set(items.map((q) => q.target))].sort();
        tools.replaceChildren(...targets.map((target) => changeButton(`Put ${target} back`, {path: 'quarantine/clear', body: {target}, place: said, done: load,
            ask: [`Put the configs of ${target} back into service?`, 'Configs that crashed or hung are tried again by the next search.', 'Put them back']})));
    }
    drawTools();
    return {
        title: 'Quarantine',
        body: [heading('Quarantine', null, tools), said, h('p', {class: 'muted'}, 'Configs that crash or hang twice are not tried again until they are put back.'),
            cutNote(more, items.length, 'The address takes ?target= and ?solver=.'), panel('Configs out of service', list)],
        refresh: load,
    };
}

export async function log({values, signal}) {
    const wanted = {campaign: values.get('campaign'), kind: values.get('kind')};
    let {items, more} = await readAll('log', wanted, signal, 1000);
    const list = table(logColumns, items, {caption: 'Event log, the newest first', id: (l) => l.id, filter: 'Filter', name: 'list', page: 50, empty: 'The event log has no such line.'});
    return {
        title: 'Log',
        body: [heading(wanted.campaign ? `Log of campaign ${wanted.campaign}` : 'Log'), cutNote(more, items.length, 'Lines stay for 90 days.'), panel('Events', list)],
        events: {log: (line) => {
            if ((wanted.campaign && String(line.campaign) !== wanted.campaign) || (wanted.kind && line.kind !== wanted.kind)) return;
            items = [line, ...items.filter((l) => l.id !== line.id)];
            list.update(items);
        }},
        async refresh() {
            ({items, more} = await readAll('log', wanted, signal, 1000));
            list.update(items);
        },
    };
}
