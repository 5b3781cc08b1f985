// Data tables: sortable by each column, filtered by a word, paged, and updated in place: a live update moves neither the
// focus nor the page that somebody reads.
import {h, fill} from './dom.js';
import {readState, writeState} from './address.js';

const naturally = new Intl.Collator('en', {numeric: true, sensitivity: 'base'}).compare;
const fewRows = 8; /* a shorter table needs no filter */
let filters = 0;

/** Unknown values come last in both directions. */
function compare(a, b, down) {
    const left = a === null || a === undefined || Number.isNaN(a);
    const right = b === null || b === undefined || Number.isNaN(b);
    if (left || right) return left - right;
    const order = typeof a === 'number' && typeof b === 'number' ? a - b : naturally(String(a), String(b));
    return down ? -order : order;
}

/**
 * A table. columns: {label, value(row), show(row), number, wrap, key, line, fixed}: `value` is what sorts and is searched, `show` a
 * text, an element or a list of them instead of it; `fixed` columns cannot be sorted. The first column heads its row.
 * options: caption; empty: what to show without rows, a text or elements; page: rows on a page; filter: the label of a field
 * that filters; sort: [column, down]; name: keeps order, page and filter in the address under this name; id(row): tells
 * rows apart between updates.
 */
export function table(columns, rows, options) {
    const size = options.page ?? 25;
    const id = options.id ?? ((row) => columns[0].value(row));
    const [column, down] = options.sort ?? [null, false];
    const state = {column, down, page: 0, words: '', ...(options.name ? readState(options.name) : {})};
    let all = rows;

    const body = h('tbody');
    const heads = columns.map((each, index) => {
        const label = h('span', null, each.label);
        const arrow = h('span', {class: 'arrow', 'aria-hidden': 'true'});
        const inside = each.fixed ? label : h('button', {type: 'button', onclick: () => sortBy(index)}, label, arrow);
        return {arrow, cell: h('th', {scope: 'col', class: classOf(each)}, inside)};
    });
    const caption = h('caption', {class: 'only-heard'}, options.caption);
    const frame = h('div', {class: 'frame', role: 'region', 'aria-label': options.caption, tabindex: '0'},
        h('table', null, caption, h('thead', null, h('tr', null, heads.map((head) => head.cell))), body));
    const tools = h('div', {class: 'tools'});
    const field = h('span', {class: 'field'});
    const previous = h('button', {type: 'button', onclick: () => turn(-1)}, 'Previous');
    const next = h('button', {type: 'button', onclick: () => turn(1)}, 'Next');
    const where = h('span', {role: 'status'});
    const pager = h('div', {class: 'pager', role: 'group', 'aria-label': `Pages of: ${options.caption}`}, previous, next, where);
    const nothing = h('div', {class: 'empty'});
    if (options.filter) {
        const fieldId = `filter-${++filters}`;
        field.append(h('label', {for: fieldId}, options.filter),
            h('input', {id: fieldId, type: 'search', value: state.words, autocomplete: 'off', oninput: search}));
        tools.append(field);
    }
    if (options.tools) tools.append(...[options.tools].flat());
    const whole = h('div', null, tools, nothing, frame, pager);

    function classOf(each) {
        return [each.number && 'number', each.wrap && 'wrap', each.key && 'key', each.line && 'line'].filter(Boolean).join(' ') || null;
    }

    function keep() {
        if (options.name) writeState(options.name, state, {column, down, page: 0, words: ''});
        draw();
    }

    function sortBy(index) {
        state.down = state.column === index ? !state.down : Boolean(columns[index].number);
        state.column = index;
        state.page = 0;
        keep();
    }

    function turn(pages) {
        state.page += pages;
        keep();
    }

    function search(event) {
        state.words = event.target.value;
        state.page = 0;
        keep();
    }

    function chosen() {
        const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
        const kept = words.length === 0 ? [...all] : all.filter((row) => {
            const text = columns.map((each) => `${each.value(row) ?? ''} ${typeof each.show?.(row) === 'string' ? each.show(row) : ''}`).join(' ').toLowerCase();
            return words.every((word) => text.includes(word));
        });
        if (state.column !== null && columns[state.column]) {
            const {value} = columns[state.column];
            kept.sort((a, b) => compare(value(a), value(b), state.down));
        }
        return kept;
    }

    function content(each, row) {
        const shown = each.show ? each.show(row) : each.value(row);
        return [shown === '' ? '–' : shown ?? '–'].flat(Infinity).filter((part) => part !== null && part !== undefined && part !== false);
    }

    // Cells whose content is the same stay, so that the focus, a marked text and what somebody opened stay.
    const drawn = new WeakMap();
    function drawCell(cell, parts) {
        const text = h('td', null, parts).innerHTML;
        if (text !== drawn.get(cell)) {
            const held = cell.contains(document.activeElement);
            fill(cell, parts);
            drawn.set(cell, text);
            if (held) cell.querySelector('a, button')?.focus();
        }
    }

    function drawRow(old, row) {
        const line = old ?? h('tr', null, columns.map((each, index) => index === 0
            ? h('th', {scope: 'row', class: classOf(each)}) : h('td', {class: classOf(each)})));
        columns.forEach((each, index) => drawCell(line.children[index], content(each, row)));
        return line;
    }

    let lines = new Map();
    function draw() {
        const kept = chosen();
        const pages = Math.max(1, Math.ceil(kept.length / size));
        state.page = Math.min(Math.max(0, state.page), pages - 1);
        const shown = kept.slice(state.page * size, (state.page + 1) * size);
        const now = new Map(shown.map((row, index) => {
            const key = id(row) ?? index;
            return [key, drawRow(lines.get(key), row)];
        }));
        const wanted = [...now.values()];
        if (wanted.length !== body.children.length || wanted.some((line, index) => line !== body.children[index])) {
            const focused = body.contains(document.activeElement) ? document.activeElement : null;
            body.replaceChildren(...wanted);
            if (focused?.isConnected) focused.focus({preventScroll: true});
        }
        lines = now;
        heads.forEach((head, index) => {
            const sorted = state.column === index;
            head.arrow.textContent = sorted ? (state.down ? '▾' : '▴') : '';
            if (sorted) head.cell.setAttribute('aria-sort', state.down ? 'descending' : 'ascending');
            else head.cell.removeAttribute('aria-sort');
        });
        frame.hidden = kept.length === 0;
        nothing.hidden = kept.length > 0;
        fill(nothing, all.length > 0 ? `No row holds “${state.words}”.` : options.empty ?? 'Nothing here.');
        field.hidden = all.length <= fewRows && state.words === '';
        tools.hidden = field.hidden && !options.tools;
        pager.hidden = pages < 2;
        previous.disabled = state.page === 0;
        next.disabled = state.page === pages - 1;
        where.textContent = `Page ${state.page + 1} of ${pages}, ${kept.length.toLocaleString('en-US')} rows`;
    }

    whole.update = (newRows) => {
        all = newRows;
        draw();
    };
    draw();
    return whole;
}
