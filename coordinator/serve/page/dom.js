// Elements made of words: h('a', {href: '#/'}, 'Overview'). Text is always text, so nothing from the server becomes markup.

/** An element. Attributes: `on...` are listeners, true an empty attribute, false, null and undefined none. */
export function h(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) {
        if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
        else if (value === true) element.setAttribute(name, '');
        else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
    }
    fill(element, ...children);
    return element;
}

/** Replaces the element's content; children that are null or false are left out. */
export function fill(element, ...children) {
    element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
    return element;
}

/** A panel with a heading that names it. `extra` stands at the right of the heading. */
let panels = 0;
export function panel(title, body, extra) {
    const id = `panel-${++panels}`;
    return h('section', {class: 'panel', 'aria-labelledby': id}, h('header', null, h('h2', {id}, title), extra), body);
}

/** Figures in a row: [name, value, remark] each. */
export function figures(rows) {
    return h('dl', {class: 'figures'}, rows.map(([name, value, remark]) =>
        h('div', null, h('dt', null, name), h('dd', {class: typeof value === 'string' && value.length > 14 ? 'words' : null}, value, remark ? h('small', null, remark) : null))));
}

/** Names and values below each other; rows without a value are left out. */
export function facts(rows) {
    return h('dl', {class: 'facts'}, rows.filter(([, value]) => value !== null && value !== undefined && value !== '')
        .map(([name, value]) => [h('dt', null, name), h('dd', null, value)]));
}

export const link = (href, ...words) => h('a', {href}, ...words);
export const empty = (...words) => h('p', {class: 'empty'}, ...words);
export const tag = (words, kind) => h('span', {class: `tag ${kind ?? 'muted'}`}, words);

/** Says a sentence to screen readers without moving the focus. */
export function announce(words) {
    const place = document.getElementById('heard');
    place.textContent = '';
    setTimeout(() => { place.textContent = words; }, 50);
}

/** A command line with a button that copies it. */
export function commandLine(text, name) {
    const shown = h('pre', null, h('code', null, text));
    const button = h('button', {type: 'button', 'aria-label': `Copy ${name ?? 'the command'}`, onclick: copy}, 'Copy');
    async function copy() {
        let done = true;
        try {
            await navigator.clipboard.writeText(text);
        } catch { // Pages that come over plain HTTP from another host have no clipboard: the text is marked instead.
            const range = document.createRange();
            range.selectNodeContents(shown);
            getSelection().removeAllRanges();
            getSelection().addRange(range);
            done = document.execCommand('copy');
        }
        button.textContent = done ? 'Copied' : 'Marked: press Ctrl-C';
        announce(button.textContent);
        setTimeout(() => { button.textContent = 'Copy'; }, 2500);
    }
    return h('div', {class: 'command'}, shown, button);
}
