// Networks and their layers.
import {h, panel, link} from './dom.js';
import {pathOf, read} from './api.js';
import {table} from './table.js';
import {addressOf} from './address.js';
import * as format from './format.js';
import {heading, problemLink, unixTime} from './parts.js';

export async function networks({values, signal}) {
    const all = values.get('all');
    const {items} = await read('networks', {all}, signal);
    const name = (n) => (n.current ? n.name : `${n.name}@${n.version}`);
    const list = table([
        {label: 'Network', value: (n) => n.name, show: (n) => link(addressOf(['networks', name(n)]), n.name)},
        {label: 'Version', number: true, value: (n) => n.version}, {label: 'Layers', number: true, value: (n) => n.layers, show: (n) => format.count(n.layers)},
        {label: 'Problems', number: true, value: (n) => n.problems, show: (n) => link(addressOf(['problems'], {network: n.name}), format.count(n.problems))},
        {label: 'GMACs', number: true, value: (n) => n.gmacs, show: (n) => format.number(n.gmacs)},
        {label: 'Campaigns', number: true, value: (n) => n.campaigns}, {label: 'Imported', value: (n) => n.created_unix, show: (n) => unixTime(n.created_unix)},
    ], items, {caption: 'Networks', id: name, filter: 'Filter', name: 'list', empty: ['No network is known. ', h('code', null, 'skipjack import coordinator/networks/resnet50-v1.5.csv'), ' imports one.']});
    return {
        title: 'Networks',
        body: [heading('Networks', null, all ? link('#/networks', 'Only newest versions') : link(addressOf(['networks'], {all: 'true'}), 'All versions')), panel('Networks', list)],
    };
}

export async function network({name, signal}) {
    const n = await read(pathOf('networks', name), {}, signal);
    const list = table([
        {label: 'Layer', value: (l) => l.name}, {label: 'Times', number: true, value: (l) => l.multiplicity},
        {label: 'Problem', value: (l) => l.problem, show: (l) => problemLink(l.problem), key: true},
    ], n.layers, {caption: `Layers of ${n.name}`, id: (l) => `${l.name} ${l.problem}`, filter: 'Filter', name: 'list', page: 50});
    return {title: n.name, body: [heading(n.name, [['#/networks', 'Networks']]), panel('Layers', list)]};
}
